"""`lazuli engine migrate` and `lazuli engine copy`: there and back again, interrupted, refused."""

import os
import signal
import subprocess
import tempfile
import time

from lazuli import Client, Server, all_rows

TABLES = {"Small": 30, "Large": 3000}


def run(postgres, binary):
    with tempfile.TemporaryDirectory() as directory:
        Copying(postgres, binary, directory).run()


class Copying:
    def __init__(self, postgres, binary, directory):
        self.postgres, self.binary, self.directory = postgres, binary, directory

    def engine(self, *args, good=True):
        done = subprocess.run([self.binary, "engine", *args], capture_output=True, text=True)
        if (done.returncode == 0) != good:
            raise SystemExit(f"lazuli engine {' '.join(args)}: {done.returncode} {done.stdout} {done.stderr}")
        return done.stdout + done.stderr

    def fill(self, server):
        with Client(server) as client:
            for table, count in TABLES.items():
                client.ask("POST", "/Tables", {"TableName": table})
                for number in range(count):
                    long = "%E4%B8%80" * 900 if number % 500 == 7 else ""
                    path = f"/{table}(PartitionKey='{number % 7}{long}',RowKey='{number:05}{long}')"
                    answer = client.ask("PUT", path, {"n": number, "text": "x" * (number % 2000)})
                    if answer.status != 204:
                        raise SystemExit(f"{path[:80]}: {answer.status} {answer.text}")

    def content(self, server):
        with Client(server) as client:
            return {table: [(row["PartitionKey"], row["RowKey"], row["odata.etag"], row["n"])
                            for row in all_rows(client, f"/{table}()")] for table in TABLES}

    def run(self):
        source, back = os.path.join(self.directory, "source"), os.path.join(self.directory, "back")
        with Server(self.binary, "--location", source) as server:
            self.fill(server)
            wanted = self.content(server)
            server.stop()
        database = self.postgres.database("copied")
        if "made" not in self.engine("migrate", database) or "nothing to do" not in self.engine("migrate", database):
            raise SystemExit("migrate does not say what it did")
        self.interrupt(source, database)
        said = self.engine("copy", f"file:{source}", database)
        if "verified" not in said:
            raise SystemExit(f"not verified: {said}")
        with Server(self.binary, "--engine", database) as server:
            if self.content(server) != wanted:
                raise SystemExit("the copy in the database differs")
            self.goes_on(server)
            wanted = self.content(server)
            if "servers use this database" not in self.engine("copy", f"file:{source}", database, good=False):
                raise SystemExit("a database in use is not refused for that reason")
            server.stop()
        if "never overwritten" not in self.engine("copy", f"file:{source}", database, good=False):
            raise SystemExit("a database with rows is not refused")
        self.engine("copy", database, f"file:{back}")
        with Server(self.binary, "--location", back) as server:
            if self.content(server) != wanted:
                raise SystemExit("the copy in the directory differs")
            self.goes_on(server)
            server.stop()

    def interrupt(self, source, database):
        """Kills a copy half-way, and sees that nobody serves what is there."""
        copying = subprocess.Popen([self.binary, "engine", "copy", "-q", f"file:{source}", database])
        while copying.poll() is None:
            if int(self.postgres.sql("SELECT count(*) FROM lazuli_row", "copied")) > 0:
                copying.send_signal(signal.SIGKILL)
                copying.wait()
            time.sleep(0.005)
        if copying.returncode != -signal.SIGKILL:
            raise SystemExit("the copy was over before it could be interrupted")
        served = subprocess.run([self.binary, "serve", "--engine", database, "--table-port", "0"], capture_output=True, text=True)
        if served.returncode == 0 or "not complete" not in served.stderr:
            raise SystemExit(f"half a copy is served: {served.stderr}")
        # The process that was killed left its slot behind.
        self.postgres.sql("UPDATE lazuli_writer SET holder = ''", "copied")

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
