"""`lazuli engine migrate`, `lazuli engine copy`, `backup` and `restore`: in both directions, interrupted, rejected."""

import base64
import hashlib
import os
import re
import signal
import subprocess
import tempfile
import time

from lazuli import Client, Server, StorageClient, all_rows

TABLES = {"Small": 30, "Large": 3000}
# Sizes of blobs: in their row, in chunks of a database, in one object or piece, in several.
BLOBS = [0, 100, 60_000, 70_000, 1_000_000, 9_000_000]
MESSAGES = 50


def bytes_of(seed, size):
    """Bytes without repetition, derived from a number."""
    blocks = (hashlib.sha256(f"{seed} {block}".encode()).digest() for block in range(-(-size // 32)))
    return b"".join(blocks)[:size]


def run(postgres, binary):
    with tempfile.TemporaryDirectory() as directory:
        Copying(postgres, binary, directory).run()


class Copying:
    def __init__(self, postgres, binary, directory, content=None):
        """`content`: the object store for the content of the database, if not the database itself."""
        self.postgres, self.binary, self.directory = postgres, binary, directory
        self.database = "copied_objects" if content else "copied"
        self.serve = ("--content", content) if content else ()
        self.to, self.back = [[f"--{end}-content={content}"] if content else [] for end in ("to", "from")]

    def engine(self, *args, good=True):
        return self.command("engine", *args, good=good)

    def fill(self, server):
        with Client(server) as client:
            for table, count in TABLES.items():
                client.ask("POST", "/Tables", {"TableName": table})
                for number in range(count):
                    long = "%E4%B8%80" * 900 if number % 500 == 7 else ""
                    path = f"/{table}(PartitionKey='{number % 7}{long}',RowKey='{number:05}{long}')"
                    response = client.ask("PUT", path, {"n": number, "text": "x" * (number % 2000)})
                    if response.status != 204:
                        raise SystemExit(f"{path[:80]}: {response.status} {response.text}")

        self.fill_queue(server)
        self.fill_container(server)

    def fill_queue(self, server):
        with StorageClient(server.at("queue")) as client:
            self.good(client.ask("PUT", "/jobs", headers={"Content-Length": 0, "x-ms-meta-kind": "copied"}))
            for number in range(MESSAGES):
                body = f"<QueueMessage><MessageText>{number}</MessageText></QueueMessage>"
                self.good(client.ask("POST", "/jobs/messages", body))

    def fill_container(self, server):
        with StorageClient(server.at("blob")) as client:
            self.good(client.ask("PUT", "/files?restype=container", headers={"Content-Length": 0}))
            for size in BLOBS:
                headers = {"x-ms-blob-type": "BlockBlob", "x-ms-meta-size": size}
                self.good(client.ask("PUT", f"/files/block{size}", bytes_of(size, size), headers))
            for number in range(3):
                block = base64.b64encode(b"%04d" % number).decode()
                self.good(client.ask("PUT", f"/files/staged?comp=block&blockid={block}", bytes_of(number, 300_000)))
            blocks = [base64.b64encode(b"%04d" % number).decode() for number in range(4)]
            for number, block in enumerate(blocks):
                self.good(client.ask("PUT", f"/files/listed?comp=block&blockid={block}", bytes_of(number, 400_000)))
            body = "<BlockList>" + "".join(f"<Latest>{block}</Latest>" for block in blocks) + "</BlockList>"
            self.good(client.ask("PUT", "/files/listed?comp=blocklist", body))
            self.good(client.ask("PUT", "/files/log", headers={"x-ms-blob-type": "AppendBlob", "Content-Length": 0}))
            for number in range(5):
                self.good(client.ask("PUT", "/files/log?comp=appendblock", bytes_of(number, 40_000)))
            pages = {"x-ms-blob-type": "PageBlob", "x-ms-blob-content-length": 1 << 20, "Content-Length": 0}
            self.good(client.ask("PUT", "/files/disk", headers=pages))
            page = {"x-ms-page-write": "update", "x-ms-range": "bytes=65536-131071"}
            self.good(client.ask("PUT", "/files/disk?comp=page", bytes_of(7, 65_536), page))
            self.good(client.ask("PUT", "/files/log?comp=snapshot", headers={"Content-Length": 0}))
            lease = {"x-ms-lease-action": "acquire", "x-ms-lease-duration": -1, "Content-Length": 0,
                     "x-ms-proposed-lease-id": "1f812371-a41d-49e6-b123-f4b542e851c5"}
            self.good(client.ask("PUT", "/files/disk?comp=lease", headers=lease))

    @staticmethod
    def good(response):
        if response.status >= 300:
            raise SystemExit(f"{response.status} {response.text}")
        return response

    def content(self, server):
        with Client(server) as client:
            found = {table: [(row["PartitionKey"], row["RowKey"], row["odata.etag"], row["n"])
                             for row in all_rows(client, f"/{table}()")] for table in TABLES}
        with StorageClient(server.at("queue")) as client:
            peeked = self.good(client.ask("GET", "/jobs/messages?peekonly=true&numofmessages=32")).text
            found["first messages"] = re.findall("<MessageId>([^<]*)|<MessageText>([^<]*)", peeked)
            queue = self.good(client.ask("GET", "/jobs?comp=metadata")).headers
            found["queue"] = queue["x-ms-approximate-messages-count"], queue["x-ms-meta-kind"]
        with StorageClient(server.at("blob")) as client:
            listed = self.good(client.ask("GET", "/files?restype=container&comp=list&include=snapshots,metadata,uncommittedblobs"))
            found["listing"] = re.sub(r"http://[0-9.:]+", "", listed.text)
            names = [f"block{size}" for size in BLOBS] + ["log", "disk", "listed"]
            found["blobs"] = [hashlib.sha256(self.good(client.ask("GET", f"/files/{name}")).body).hexdigest() for name in names]
            blocks = self.good(client.ask("GET", "/files/staged?comp=blocklist&blocklisttype=all"))
            found["blocks"] = re.findall("<Name>([^<]*)</Name><Size>([^<]*)", blocks.text)
        return found

    def run(self):
        source, back = os.path.join(self.directory, "source"), os.path.join(self.directory, "back")
        with Server(self.binary, "--location", source) as server:
            self.fill(server)
            wanted = self.content(server)
            server.stop()
        database = self.postgres.database(self.database)
        if "created" not in self.engine("migrate", database) or "nothing to do" not in self.engine("migrate", database):
            raise SystemExit("migrate does not say what it did")
        self.interrupt(source, database)
        said = self.engine("copy", f"file:{source}", database, *self.to)
        if "verified" not in said:
            raise SystemExit(f"not verified: {said}")
        with Server(self.binary, "--engine", database, *self.serve) as server:
            if self.content(server) != wanted:
                raise SystemExit("the copy in the database differs")
            self.goes_on(server)
            wanted = self.content(server)
            if "servers use this database" not in self.engine("copy", f"file:{source}", database, *self.to, good=False):
                raise SystemExit("a database in use is not rejected for that reason")
            server.stop()
        if "never overwritten" not in self.engine("copy", f"file:{source}", database, *self.to, good=False):
            raise SystemExit("a database with rows is not rejected")
        self.engine("copy", database, f"file:{back}", *self.back)
        with Server(self.binary, "--location", back) as server:
            if self.content(server) != wanted:
                raise SystemExit("the copy in the directory differs")
            self.goes_on(server)
            server.stop()
        self.backups(database)

    def backups(self, database):
        """`lazuli backup` of a database while a server uses it, and `lazuli restore` into another one and into a directory."""
        backup, restored = os.path.join(self.directory, "backup"), os.path.join(self.directory, "restored")
        environment = os.environ | {"LAZULI_ENGINE": database} | ({"LAZULI_CONTENT": self.serve[1]} if self.serve else {})
        with Server(self.binary, "--engine", database, *self.serve) as server:
            wanted = self.content(server)
            self.command("backup", "--engine", database, *self.serve, backup)
            self.command("backup", "-q", backup + "2", env=environment)
            self.command("check", "-q", backup)
            self.command("check", "-q", backup + "2")
            server.stop()
        said = self.command("restore", backup, "--engine", database, *self.serve, good=False)
        if "never overwritten" not in said:
            raise SystemExit(f"a restore into a database with rows: {said}")
        self.command("restore", "-q", backup, "--location", restored)
        fresh = self.postgres.database(self.database + "_restored")
        content = ("--content", self.serve[1].replace("?", "-restored?", 1)) if self.serve else ()
        self.command("restore", backup, "--engine", fresh, *content)
        for arguments in (["--location", restored], ["--engine", fresh, *content]):
            with Server(self.binary, *arguments) as server:
                if self.content(server) != wanted:
                    raise SystemExit(f"what was restored differs: {arguments[0]}")
                self.goes_on(server)
                server.stop()

    def command(self, *args, good=True, env=None):
        done = subprocess.run([self.binary, *args], capture_output=True, text=True, env=env)
        if (done.returncode == 0) != good:
            raise SystemExit(f"lazuli {' '.join(args)}: {done.returncode} {done.stdout} {done.stderr}")
        return done.stdout + done.stderr

    def interrupt(self, source, database):
        """Kills a copy half-way, and checks that no server starts with the partial copy."""
        copying = subprocess.Popen([self.binary, "engine", "copy", "-q", f"file:{source}", database, *self.to])
        while copying.poll() is None:
            if int(self.postgres.sql("SELECT count(*) FROM lazuli_row", self.database)) > 0:
                copying.send_signal(signal.SIGKILL)
                copying.wait()
            time.sleep(0.005)
        if copying.returncode != -signal.SIGKILL:
            raise SystemExit("the copy was over before it could be interrupted")
        served = subprocess.run([self.binary, "serve", "--engine", database, "--table-port", "0", *self.serve], capture_output=True, text=True)
        if served.returncode == 0 or "not complete" not in served.stderr:
            raise SystemExit(f"half a copy is served: {served.stderr}")
        # The process that was killed left its slot behind.
        self.postgres.sql("UPDATE lazuli_writer SET holder = ''", self.database)

    @staticmethod
    def goes_on(server):
        """New versions are above all old ones, and new tables have rows of their own."""
        with Client(server) as client:
            found = client.ask("GET", "/Small(PartitionKey='0',RowKey='00000')")
            old = found.headers["ETag"]
            new = client.ask("PUT", "/Small(PartitionKey='0',RowKey='00000')", {"n": 0}, {"If-Match": old})
            if new.status != 204 or new.headers["ETag"] <= old:
                raise SystemExit(f"a copied row cannot be changed: {new.status} {old} {new.headers['ETag']}")
            client.ask("POST", "/Tables", {"TableName": "Fresh"})
            if client.ask("GET", "/Fresh()").json["value"]:
                raise SystemExit("a new table has rows of an old one")
            client.ask("DELETE", "/Tables('Fresh')")
        with StorageClient(server.at("blob")) as client:
            held = {"x-ms-page-write": "update", "x-ms-range": "bytes=0-511"}
            if client.ask("PUT", "/files/disk?comp=page", b"x" * 512, held).status != 412:
                raise SystemExit("a lease was not copied")
            for size in (500, 100_000):
                put = client.ask("PUT", f"/files/new{size}", bytes_of(1, size), {"x-ms-blob-type": "BlockBlob"})
                got = client.ask("GET", f"/files/new{size}")
                if (put.status, got.body) != (201, bytes_of(1, size)):
                    raise SystemExit(f"a new blob is not kept: {put.status} {put.text}")
