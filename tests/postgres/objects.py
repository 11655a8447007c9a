"""Content of blobs in an S3 store, a real SeaweedFS: what front ends promise, and what they promise while the store fails."""

import hashlib
import os
import re
import subprocess
import tempfile
import threading
import uuid

import copying
import together
from fault_proxy import FaultProxy
from lazuli import Client, NotStarted, Server, StorageClient
from seaweedfs import SECRET_KEY, SeaweedFs

# In a row, in one object, in one object with several blocks, in two objects.
SIZES = [1_000, 70_000, 900_000, 9_000_000]


def run(postgres, binary, front_ends, languages):
    """`front_ends` makes two front ends on a database; `languages` are those of the SDKs."""
    with SeaweedFs(postgres.names()) as store, FaultProxy("127.0.0.1", store.port("s3")) as proxy:
        os.environ.update(store.environment)
        content = store.url("shared", proxy.endpoint)
        with front_ends(postgres, binary, "objects", arguments=("--content", content)) as ends:
            clients(binary, ends.endpoints, languages)
            with StorageClient(ends.servers[0].at("blob")) as one, StorageClient(ends.servers[1].at("blob")) as two:
                together.containers(one, two)
                together.uploads(one, two)
                together.leases(one, two)
                together.appends(one, two)
            Faults(store, proxy, ends).run()
            verified(binary, ends.url, content)
            said = "".join(server.said() for server in ends.servers)
        if SECRET_KEY in said:
            raise SystemExit("a secret is in the log")
        checks(binary, store, ends.url, content)
        rejections(postgres, binary, store, ends.url)
        with tempfile.TemporaryDirectory() as directory:
            copying.Copying(postgres, binary, directory, store.url("copied")).run()
        subprocess.run([binary, "trial", "histories", "--service", "blob", "--count", "3", "--kill", "--engine",
                        postgres.database("objects_trial"), "--content", store.url("trial")], check=True)


def clients(binary, endpoints, languages):
    """Golden transcripts and the suites of official SDKs, of the services that came with content; Go and Java run all their tests."""
    env = os.environ | {f"LAZULI_{service.upper()}_ENDPOINT": endpoint for service, endpoint in endpoints.items()}
    for service in ("queue", "blob"):
        subprocess.run([binary, "conformance", "--service", service, "--endpoint", endpoints[service]], check=True)
    for language in languages:
        suite = os.path.join(os.path.dirname(__file__), "..", "sdk", language, "run.sh")
        for words in (["queue"], ["blob"]) if language in ("python", "js") else ([],):
            subprocess.run([suite, *words], check=True, env=env)


class Faults:
    """Clients that write and read while the store fails."""

    def __init__(self, store, proxy, ends):
        self.store, self.proxy, self.ends = store, proxy, ends
        self.container = "f" + uuid.uuid4().hex
        self.kept = {}
        with StorageClient(ends.servers[0].at("blob")) as client:
            together.check(client.ask("PUT", f"/{self.container}?restype=container", headers={"Content-Length": 0}), 201, "create")

    def run(self):
        self.write("before", True)
        # Clients do not notice a few failures.
        for name, fault in {"500": {"status": 500}, "503": {"status": 503}, "request cut": {"cut": "request"},
                            "response cut": {"cut": "response"}, "response lost": {"cut": "lost"}, "slow": {"delay": 0.3}}.items():
            for methods in (["PUT"], ["GET"]):
                self.proxy.faults.set(**fault, methods=methods, count=2)
                self.write(f"{name} {methods[0]}", True)
                self.read(True)
                if self.proxy.faults.hits == 0:
                    raise SystemExit(f"{name}: no {methods[0]} met the fault")
        # They notice many failures: as errors, never as wrong bytes.
        for name, fault in {"no permission": {"status": 403}, "read-only": {"status": 403, "methods": ["PUT", "DELETE"]}}.items():
            self.proxy.faults.set(**fault)
            self.write(name, False)
            self.read(name == "read-only")
            self.others()
        self.proxy.faults.clear()
        self.read(True)
        self.silence()
        self.components()
        self.read(True)

    def write(self, name, must_succeed):
        """Writes a blob of each size, some in blocks through both front ends."""
        for number, size in enumerate(SIZES):
            path, content = f"/{self.container}/{name.replace(' ', '-')}-{size}", copying.bytes_of(name + str(size), size)
            with StorageClient(self.ends.servers[number % 2].at("blob")) as client:
                response = client.ask("PUT", path, content, {"x-ms-blob-type": "BlockBlob"})
            is_in_row = size < 65_536
            if response.status == 201:
                self.kept[path] = hashlib.sha256(content).digest()
            if (response.status == 201) != (must_succeed or is_in_row) or response.status not in (201, 500, 503):
                raise SystemExit(f"{name}: a write of {size} bytes: {response.status} {response.text}")

    def read(self, must_succeed):
        """Every acknowledged blob is read as it was written, through the other front end, or not at all."""
        for number, (path, digest) in enumerate(self.kept.items()):
            with StorageClient(self.ends.servers[(number + 1) % 2].at("blob")) as client:
                response = client.ask("GET", path)
            if response.status == 200:
                if hashlib.sha256(response.body).digest() != digest:
                    raise SystemExit(f"{path} has other bytes")
            elif must_succeed or response.status < 500:
                raise SystemExit(f"{path}: {response.status} {response.text}")

    def others(self):
        """Tables and queues, which need no content."""
        for server in self.ends.servers:
            with Client(server) as client, StorageClient(server.at("queue")) as queue:
                table, name = "t" + uuid.uuid4().hex, "q" + uuid.uuid4().hex
                together.check(client.ask("POST", "/Tables", {"TableName": table}), 204, "create a table")
                together.check(client.ask("POST", f"/{table}", {"PartitionKey": "p", "RowKey": "r"}), 204, "insert")
                together.check(client.ask("GET", f"/{table}()"), 200, "query")
                together.check(queue.ask("PUT", f"/{name}", headers={"Content-Length": 0}), 201, "create a queue")
                together.check(queue.ask("POST", f"/{name}/messages", together.message("x")), 201, "put a message")
                together.check(queue.ask("GET", f"/{name}/messages"), 200, "get a message")

    def silence(self):
        """A store that does not respond stalls uploads, and nothing else. When it responds again, uploads succeed."""
        self.proxy.faults.set(is_silent=True)
        responses = []

        def upload(number):
            with StorageClient(self.ends.servers[number % 2].at("blob"), timeout=120) as client:
                content = copying.bytes_of(number, 400_000)
                path = f"/{self.container}/silent-{number}"
                response = client.ask("PUT", path, content, {"x-ms-blob-type": "BlockBlob"})
                responses.append((path, response.status, hashlib.sha256(content).digest()))

        threads = [threading.Thread(target=upload, args=(number,)) for number in range(24)]
        for each in threads:
            each.start()
        for _ in range(3):
            self.others()
        stalled = sum(each.is_alive() for each in threads)
        self.proxy.faults.clear()
        for each in threads:
            each.join()
        if stalled == 0:
            raise SystemExit("no upload was stalled, so nothing was shown")
        for path, status, digest in responses:
            # An upload that waited for longer than the server repeats requests has failed.
            if status not in (201, 500, 503):
                raise SystemExit(f"{path}: {status}")
            if status == 201:
                self.kept[path] = digest
        self.write("after silence", True)

    def components(self):
        """Each component of the store is killed and started again, while clients write and read."""
        for name in ("s3", "filer", "volume1"):
            self.store.kill(name)
            with StorageClient(self.ends.servers[0].at("blob"), timeout=120) as client:
                path, content = f"/{self.container}/kill-{name}", copying.bytes_of(name, 500_000)
                restart = threading.Timer(1.0, self.store.start, [name])
                restart.start()
                response = client.ask("PUT", path, content, {"x-ms-blob-type": "BlockBlob"})
                restart.join()
            if response.status == 201:
                self.kept[path] = hashlib.sha256(content).digest()
            elif response.status not in (500, 503):
                raise SystemExit(f"{name} was killed: {response.status} {response.text}")
            self.others()
            self.write(f"after {name}", True)


def verified(binary, url, content, *arguments, good=True):
    """`lazuli check` of the database and the object store; what it prints."""
    done = subprocess.run([binary, "check", "--engine", url, "--content", content, *arguments], capture_output=True, text=True)
    if (done.returncode == 0) != good or ("no problems found" in done.stdout) != good:
        raise SystemExit(f"check: {done.returncode} {done.stdout} {done.stderr}")
    return done.stdout


def checks(binary, store, url, content):
    """A check lists orphans without removing them, and finds an object that is gone."""
    pieces = store.objects("shared")
    first = min(pieces)
    stream, _ = first.split("/")
    orphan = f"shared/{stream}/00fffff000"
    store.put(orphan, bytes(5_000))
    for _ in range(2):
        said = verified(binary, url, content, "--orphans")
        if f"orphan: {int(stream, 16)}/{0xfffff000}, " not in said:
            raise SystemExit(f"an orphan is not listed: {said}")
    end = copying.bytes_of("before900000", 900_000)[-1000:]
    piece = next(f"shared/{piece}" for piece in pieces if store.get(f"shared/{piece}").endswith(end))
    kept = store.get(piece)
    store.delete(piece)
    said = verified(binary, url, content, good=False)
    if "is not stored" not in said:
        raise SystemExit(f"a missing object is not found: {said}")
    store.put(piece, kept)
    verified(binary, url, content)


def rejections(postgres, binary, store, url):
    """Rows and content that do not belong together are not served, and keys are not shown."""

    def rejected(words, *arguments, env=None):
        try:
            Server(binary, *arguments, env=env).close()
        except NotStarted as error:
            if not re.search(words, str(error)) or SECRET_KEY in str(error):
                raise SystemExit(f"expected {words!r}, not {error}") from error
        else:
            raise SystemExit(f"a server starts with {arguments}")

    other = postgres.database("objects_other")
    rejected("in an object store; pass it with --content", "--engine", url)
    rejected("not in the bucket", "--engine", url, "--content", store.url("elsewhere"))
    rejected("content of another database", "--engine", other, "--content", store.url("shared"))
    rejected("denied permission", "--engine", other, "--content", store.url("new"), env={"AWS_SECRET_ACCESS_KEY": "wrong"})
    rejected("cannot be reached", "--engine", other, "--content", store.url("new", "http://127.0.0.1:1"))
    rejected("needs --engine postgres", "--content", store.url("new"))
    with Server(binary, "--engine", other) as server, StorageClient(server.at("blob")) as client:
        together.check(client.ask("PUT", "/files?restype=container", headers={"Content-Length": 0}), 201, "create")
        together.check(client.ask("PUT", "/files/large", bytes(100_000), {"x-ms-blob-type": "BlockBlob"}), 201, "put")
        server.stop()
    rejected("in the database itself", "--engine", other, "--content", store.url("new"))
