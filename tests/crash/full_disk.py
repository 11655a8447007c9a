#!/usr/bin/env python3
"""Fills a small disk through the server, and turns another read-only: writes are rejected, reads continue, nothing acknowledged
is lost.

    tests/crash/full_disk.py --binary target/release/lazuli [--size-mib 160]

CS-06. The disk is a file system of its own: ext4 in a file, or else one in memory. Mounting needs root; where it is not
possible the test says so and ends with 77. Only ext4 can be told to turn read-only as it does after an error.
"""

import argparse
import http.client
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from lazuli import Client, NotStarted, Server, all_rows, entity_path  # noqa: E402

TABLE = "full"
VALUE_BYTES = 30_000
BALLAST_MIB = 32
WRITERS = 8
MIB = 1024 * 1024
EXT4 = "ext4 in a file"
# The exit code of a test that could not run.
SKIPPED = 77


class Disk:
    """A small file system with a ballast in it that can be dropped to make room."""

    def __init__(self, size_mib):
        self.directory = tempfile.mkdtemp(prefix="lazuli-disk-")
        self.mount_point = os.path.join(self.directory, "disk")
        os.mkdir(self.mount_point)
        self.kind = self.mount(size_mib)
        self.ballast = os.path.join(self.mount_point, "ballast")

    def mount(self, size_mib):
        image = os.path.join(self.directory, "image")
        with open(image, "wb") as file:
            file.truncate(size_mib * MIB)
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        ways = [
            (EXT4, [["mkfs.ext4", "-q", "-F", "-m", "0", image],
                                ["mount", "-o", "loop", image, self.mount_point]]),
            ("in memory", [["mount", "-t", "tmpfs", "-o", f"size={size_mib}m", "tmpfs", self.mount_point]]),
        ]
        for kind, commands in ways:
            if all(shutil.which(command[0]) and subprocess.run(command, **quiet).returncode == 0
                   for command in commands):
                return kind
        shutil.rmtree(self.directory)
        return None

    def load(self):
        with open(self.ballast, "wb") as file:
            file.write(b"\0" * BALLAST_MIB * MIB)
            os.fsync(file.fileno())

    def fill(self):
        """Uses up the free space to the last byte."""
        with open(os.path.join(self.mount_point, "rest"), "ab", buffering=0) as file:
            for size in (MIB, 4096, 1):
                try:
                    while file.write(b"\0" * size):
                        pass
                except OSError:
                    pass

    def relieve(self):
        for name in ("ballast", "rest"):
            if os.path.exists(os.path.join(self.mount_point, name)):
                os.remove(os.path.join(self.mount_point, name))

    def turn_read_only(self):
        """What the file system does by itself when the disk fails under it, whoever writes."""
        subprocess.run(["mount", "-o", "remount,abort", self.mount_point], check=True)

    def repair(self):
        """As after a restart of the machine. The tool says with 1 that it has repaired something."""
        image = os.path.join(self.directory, "image")
        subprocess.run(["umount", self.mount_point], check=True)
        repaired = subprocess.run(["e2fsck", "-y", image], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        assert repaired.returncode in (0, 1), repaired
        subprocess.run(["mount", "-o", "loop", image, self.mount_point], check=True)

    def close(self):
        subprocess.run(["umount", self.mount_point], check=True)
        shutil.rmtree(self.directory)


class Story:
    """What was acknowledged, and what is expected of it."""

    def __init__(self, binary, disk):
        self.binary, self.disk = binary, disk
        self.data = os.path.join(disk.mount_point, "data")
        self.acknowledged, self.unknown = {}, {}
        self.lock, self.next = threading.Lock(), 0
        self.random = random.Random(1)
        self.passed = self.failed = 0

    def check(self, what, fine, detail=""):
        print(f"{'ok' if fine else 'FAILED'}: {what}" + (f": {detail}" if detail and not fine else ""), flush=True)
        self.passed, self.failed = self.passed + bool(fine), self.failed + (not fine)

    def start(self):
        return Server(self.binary, "--location", self.data)

    def insert(self, client, size=VALUE_BYTES):
        """Inserts a row; returns the response, and remembers what it promised."""
        with self.lock:
            row, self.next = f"{self.next:06}", self.next + 1
            text = "%x" % self.random.getrandbits(4 * size)
        response = client.ask("POST", f"/{TABLE}", {"PartitionKey": "p", "RowKey": row, "Text": text})
        with self.lock:
            (self.acknowledged if response.status == 204 else self.unknown)[row] = text
        return response

    def insert_until_rejected(self, server):
        """Several writers at once, each until it is rejected; returns their last responses."""
        rejections = []

        def write():
            with Client(server) as client:
                while True:
                    response = self.insert(client)
                    if response.status != 204:
                        rejections.append(response)
                        return

        threads = [threading.Thread(target=write) for _ in range(WRITERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return rejections

    def rejected(self, response):
        """Writes whose log entry failed have an unknown outcome; the others do not. Their order is random."""
        return response.status == 500 and ("InternalError" in response.text or "OperationTimedOut" in response.text)

    def differences(self, client):
        """Compares everything with what was acknowledged; a row of unknown outcome may be there, and if so, whole."""
        found = {row["RowKey"]: row["Text"] for row in all_rows(client, f"/{TABLE}()")}
        lost = [row for row, text in self.acknowledged.items() if found.get(row) != text]
        wrong = [row for row, text in found.items()
                 if row not in self.acknowledged and self.unknown.get(row) != text]
        for row in self.unknown.keys() & found.keys():
            self.acknowledged[row] = self.unknown.pop(row)
        return f"lost {lost[:5]}, wrong {wrong[:5]}" if lost or wrong else ""

    def run(self):
        self.disk.load()
        with self.start() as server, Client(server) as client:
            self.check("a table is made", client.ask("POST", "/Tables", {"TableName": TABLE}).status == 204)
            rejections = self.insert_until_rejected(server)
            print(f"    {len(self.acknowledged)} rows acknowledged before the disk was full")
            told = len(rejections) == WRITERS and all(map(self.rejected, rejections))
            self.check("a full disk is reported as 500", told, [response.text for response in rejections])
            self.check("this many rows fit", len(self.acknowledged) > 100)
            self.disk.fill()
            responses = [self.insert(client, size) for size in (10, 1000, VALUE_BYTES) for _ in range(5)]
            self.check("further writes are rejected, or kept", all(a.status in (204, 500) for a in responses))
            self.check("reads continue", not self.differences(client), self.differences(client))
            row = self.random.choice(list(self.acknowledged))
            self.check("reads by key continue", client.ask("GET", entity_path(TABLE, "p", row)).status == 200)
            self.check("the reason is in the log", "space" in server.said().lower(), server.said()[-500:])
            self.check("no panic", "panicked" not in server.said(), server.said()[-2000:])
            server.kill()
        self.restart_while_full()
        self.disk.relieve()
        self.restart_with_room()

    def run_read_only(self):
        """The file system turns read-only while the server writes."""
        with self.start() as server, Client(server) as client:
            self.check("a table is made", client.ask("POST", "/Tables", {"TableName": TABLE}).status == 204)
            responses = [self.insert(client) for _ in range(50)]
            self.check("rows are taken", all(a.status == 204 for a in responses))
            self.disk.turn_read_only()
            responses = [self.insert(client, size) for size in (10, VALUE_BYTES) for _ in range(3)]
            self.check("writes to a read-only disk are rejected", all(map(self.rejected, responses)), [a.text for a in responses])
            self.check("reads continue", not self.differences(client), self.differences(client))
            said = server.said()
            self.check("the reason is in the log", "read-only" in said.lower() and "panicked" not in said, said[-1000:])
            server.kill()
        self.disk.repair()
        self.restart_with_room()

    def restart_while_full(self):
        """Without room the server may serve reads or say why it does not start; it must not make anything worse."""
        try:
            with self.start() as server, Client(server) as client:
                self.check("started on a full disk, everything is there", not self.differences(client),
                           self.differences(client))
                responses = [self.insert(client) for _ in range(3)]
                self.check("writes are rejected, or kept", all(a.status in (204, 500) for a in responses))
                server.stop()
        except NotStarted as rejection:
            self.check("a start on a full disk fails with a reason", "space" in str(rejection).lower(), str(rejection))

    def restart_with_room(self):
        for how in ("kill", "stop", "stop"):
            with self.start() as server, Client(server) as client:
                difference = self.differences(client)
                self.check("with room again, everything acknowledged is there", not difference, difference)
                responses = [self.insert(client) for _ in range(20)]
                self.check("and writes are taken", all(a.status == 204 for a in responses), responses[-1].text)
                if how == "kill":
                    server.kill()
                else:
                    self.check("and it stops in order", server.stop() == 0, server.said())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", required=True)
    parser.add_argument("--size-mib", type=int, default=160)
    args = parser.parse_args()
    passed = failed = 0
    for chapter in ("run", "run_read_only"):
        disk = Disk(args.size_mib)
        if not disk.kind:
            print("skipped: a small file system cannot be mounted here (root is needed)")
            return SKIPPED
        if chapter == "run_read_only" and disk.kind != EXT4:
            print("skipped: only ext4 can be told to turn read-only")
            disk.close()
            continue
        print(f"-- {chapter}: {args.size_mib} MiB, {disk.kind}", flush=True)
        story = Story(args.binary, disk)
        try:
            getattr(story, chapter)()
        except (NotStarted, OSError, http.client.HTTPException, RuntimeError, subprocess.CalledProcessError) as error:
            story.check("the run", False, repr(error))
        finally:
            disk.close()
        passed, failed = passed + story.passed, failed + story.failed
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
