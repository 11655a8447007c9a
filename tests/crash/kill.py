#!/usr/bin/env python3
"""Kills the server again and again while it is being written to, and checks what is there afterwards.

    tests/crash/kill.py --binary target/release/lazuli --cycles 200 --writers 16

Each writer knows what was acknowledged, and what it does not know the fate of. After each restart:
everything acknowledged is there with its value (CS-06); every transaction is there wholly or not at all (TX-09); what
is unknown is there in its old or its new form and in no other (ER-06); no Timestamp has gone back.
"""
import argparse
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import threading

from client import Client, Lost

TABLE = "Crash"
ROWS_PER_BATCH = 5
PAD = "x" * 300


class Server:
    """The server under test, on a directory of its own."""

    def __init__(self, binary, directory):
        self.process = subprocess.Popen(
            [binary, "serve", "--location", directory, "--table-port", "0"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )
        self.port = None
        for line in self.process.stdout:
            found = re.search(r"TableEndpoint=http://127.0.0.1:(\d+)/", line)
            if found:
                self.port = int(found.group(1))
                break
        if self.port is None:
            raise SystemExit(f"the server did not start: exit {self.process.wait()}")
        threading.Thread(target=lambda: [None for _ in self.process.stdout], daemon=True).start()

    def kill(self):
        self.process.kill()
        self.process.wait()


class Writer:
    """Changes entities of its own partition, one after the other, and remembers what it was told."""

    def __init__(self, name, seed):
        self.partition = f"w{name:02}"
        self.random = random.Random(seed)
        self.known = {}      # row -> value that was acknowledged, or None for a deletion
        self.unknown = {}    # row -> value whose fate is not known
        self.batch = 0       # number of the last transaction acknowledged
        self.batch_unknown = None
        self.count = 0
        self.acknowledged = 0
        self.wrong = []

    def work(self, port):
        client = Client(port)
        try:
            while True:
                self.step(client)
        except Lost:
            return
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a failure of the test
            self.wrong.append(("wrong answer", self.partition, repr(error)))

    def step(self, client):
        self.count += 1
        if self.random.random() < 0.3:
            self.transaction(client)
            return
        row = f"r{self.random.randrange(40):02}"
        exists = self.known.get(row) is not None
        kind = self.random.choice(["put", "merge", "delete"] if exists else ["insert", "put", "merge"])
        value = None if kind == "delete" else self.count
        entity = {"PartitionKey": self.partition, "RowKey": row, "Value": self.count, "Pad": PAD}
        self.unknown[row] = value
        if kind == "insert":
            status = client.insert(TABLE, entity)[0]
        elif kind == "delete":
            status = client.delete(TABLE, entity)[0]
        else:
            status = client.update(TABLE, entity, merge=kind == "merge")[0]
        assert status == 204, (kind, status)
        self.known[row] = value
        del self.unknown[row]
        self.acknowledged += 1

    def transaction(self, client):
        number = self.count
        self.batch_unknown = number
        entities = [
            {"PartitionKey": self.partition, "RowKey": f"b{index}", "Value": number, "Pad": PAD}
            for index in range(ROWS_PER_BATCH)
        ]
        assert client.batch(TABLE, entities) == 204
        self.batch, self.batch_unknown = number, None
        self.acknowledged += 1

    def check(self, rows, failures):
        """Compares what is there with what was told, and takes it for known from here on."""
        found = {row["RowKey"]: row["Value"] for row in rows}
        batch = [found.pop(f"b{index}", 0) for index in range(ROWS_PER_BATCH)]
        if len(set(batch)) != 1:
            failures.append(("torn", self.partition, batch))
        if batch[0] not in (self.batch, self.batch_unknown):
            failures.append(("lost", self.partition, f"transaction {self.batch}", batch))
        self.batch, self.batch_unknown = batch[0], None
        for row in set(found) | set(self.known) | set(self.unknown):
            allowed = [self.known.get(row)] + ([self.unknown[row]] if row in self.unknown else [])
            if found.get(row) not in allowed:
                failures.append(("lost", self.partition, row, f"{found.get(row)} is none of {allowed}"))
        failures += self.wrong
        unknown = len(self.unknown)
        self.known, self.unknown = dict(found), {}
        return unknown


def stamps_went_back(rows, stamps, failures):
    for row in rows:
        key = (row["PartitionKey"], row["RowKey"])
        if row["Timestamp"] < stamps.get(key, ""):
            failures.append(("went back", key, stamps[key], row["Timestamp"]))
        stamps[key] = row["Timestamp"]


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--binary", required=True)
    arguments.add_argument("--cycles", type=int, default=200)
    arguments.add_argument("--writers", type=int, default=16)
    arguments.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    options = arguments.parse_args()
    chance = random.Random(options.seed)
    writers = [Writer(name, chance.random()) for name in range(options.writers)]
    stamps, failures, unknown = {}, [], 0
    print(f"seed {options.seed}")
    with tempfile.TemporaryDirectory() as directory:
        binary = str(pathlib.Path(options.binary).resolve())
        server = Server(binary, directory)
        Client(server.port).create_table(TABLE)
        for cycle in range(1, options.cycles + 1):
            threads = [threading.Thread(target=writer.work, args=(server.port,)) for writer in writers]
            goal = sum(writer.acknowledged for writer in writers) + chance.randrange(20, 400)
            for thread in threads:
                thread.start()
            while sum(writer.acknowledged for writer in writers) < goal:
                threads[0].join(0.001)
                if not any(thread.is_alive() for thread in threads):
                    raise SystemExit("every writer has stopped")
            server.kill()
            for thread in threads:
                thread.join()
            server = Server(binary, directory)
            rows = Client(server.port).read_all(TABLE)
            stamps_went_back(rows, stamps, failures)
            for writer in writers:
                unknown += writer.check([row for row in rows if row["PartitionKey"] == writer.partition], failures)
            if failures:
                break
        server.kill()
    acknowledged = sum(writer.acknowledged for writer in writers)
    for failure in failures[:20]:
        print("FAILED", *failure)
    print(f"{cycle} cycles, {acknowledged} acknowledged, {unknown} of unknown fate, {len(failures)} lost, torn or wrong")
    print(f"{cycle - bool(failures)} passed, {int(bool(failures))} failed")
    return 1 if failures else 0


sys.exit(main())
