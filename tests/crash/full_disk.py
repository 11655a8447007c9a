#!/usr/bin/env python3
"""Fills a small disk through the server, and turns another read-only: writes are rejected, reads continue, nothing acknowledged
is lost.

    tests/crash/full_disk.py --binary target/release/lazuli [--size-mib 160]

CS-06. Rows, messages and blobs are written in turn. The disk is a file system of its own: ext4 in a file, or else one in memory. Mounting needs root; where it is not
possible the test says so and ends with 77. Only ext4 can be told to turn read-only as it does after an error.
"""

import argparse
import http.client
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from contextlib import ExitStack

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from lazuli import Client, NotStarted, Server, StorageClient, all_rows, entity_path  # noqa: E402

TABLE = CONTAINER = "full"
VALUE_BYTES = 30_000
# Of the values of blobs: larger than what is kept in a row.
BLOB_FACTOR = 4
# One response can show this many messages of a queue without changing them.
QUEUE_MESSAGES = 32
BALLAST_MIB = 32
WRITERS = 8
MIB = 1024 * 1024
EXT4 = "ext4 in a file"
# The statuses of writes that are acknowledged.
DONE = (201, 204)
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
        """Makes the file system read-only, as it does by itself when the disk fails."""
        subprocess.run(["mount", "-o", "remount,abort", self.mount_point], check=True)

    def repair(self):
        """As after a restart of the machine. Exit code 1 of the tool means that it has repaired something."""
        image = os.path.join(self.directory, "image")
        subprocess.run(["umount", self.mount_point], check=True)
        repaired = subprocess.run(["e2fsck", "-y", image], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        assert repaired.returncode in (0, 1), repaired
        subprocess.run(["mount", "-o", "loop", image, self.mount_point], check=True)

    def close(self):
        subprocess.run(["umount", self.mount_point], check=True)
        shutil.rmtree(self.directory)


class Clients:
    """A connection to each service."""

    def __init__(self, server):
        self.table, self.queue, self.blob = Client(server), StorageClient(server.at("queue")), StorageClient(server.at("blob"))

    def __enter__(self):
        self.stack = ExitStack()
        for client in (self.table, self.queue, self.blob):
            self.stack.enter_context(client)
        return self

    def __exit__(self, *_):
        self.stack.close()


# --- The services: each writes a value under a number, and reads all values.

def put_row(clients, number, text):
    return clients.table.ask("POST", f"/{TABLE}", {"PartitionKey": "p", "RowKey": f"{number:06}", "Text": text})


def rows(clients, _):
    return {int(row["RowKey"]): row["Text"] for row in all_rows(clients.table, f"/{TABLE}()")}


def queue_name(number):
    """Every third number is a message."""
    return f"full-{number // (3 * QUEUE_MESSAGES)}"


def put_message(clients, number, text):
    """Creating a queue that exists changes nothing."""
    created = clients.queue.ask("PUT", f"/{queue_name(number)}")
    if created.status not in (201, 204):
        return created
    body = f"<QueueMessage><MessageText>{number} {text}</MessageText></QueueMessage>"
    return clients.queue.ask("POST", f"/{queue_name(number)}/messages?messagettl=-1", body)


def messages(clients, numbers_max):
    found = {}
    for name in dict.fromkeys(map(queue_name, range(numbers_max))):
        response = clients.queue.ask("GET", f"/{name}/messages?peekonly=true&numofmessages={QUEUE_MESSAGES}")
        if response.status not in (200, 404):
            raise RuntimeError(f"{name}: {response.status} {response.text}")
        found |= {int(number): text for number, text in re.findall(r"<MessageText>(\d+) (\w*)</MessageText>", response.text)}
    return found


def put_blob(clients, number, text):
    return clients.blob.ask("PUT", f"/{CONTAINER}/{number:06}", text * BLOB_FACTOR, {"x-ms-blob-type": "BlockBlob"})


def blobs(clients, _):
    page = clients.blob.ask("GET", f"/{CONTAINER}?restype=container&comp=list")
    if page.status != 200 or "<NextMarker />" not in page.text:
        raise RuntimeError(f"the list of blobs: {page.status} {page.text[-500:]}")
    found = {}
    for name in re.findall(r"<Name>(\d+)</Name>", page.text):
        response = clients.blob.ask("GET", f"/{CONTAINER}/{name}")
        text = response.text[:len(response.text) // BLOB_FACTOR]
        found[int(name)] = text if response.text == text * BLOB_FACTOR else f"{response.status} {response.text[:200]}"
    return found


SERVICES = ((put_row, rows), (put_message, messages), (put_blob, blobs))


class Story:
    """The acknowledged values, and the expectations about them."""

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

    def create(self, clients):
        table = clients.table.ask("POST", "/Tables", {"TableName": TABLE}).status
        self.check("a table and a container are made", (table, clients.blob.ask("PUT", f"/{CONTAINER}?restype=container").status) == (204, 201))

    def insert(self, clients, size=VALUE_BYTES):
        """Writes a value with the next service; returns the response, and records whether it was acknowledged."""
        with self.lock:
            number, self.next = self.next, self.next + 1
            text = "%x" % self.random.getrandbits(4 * size)
        response = SERVICES[number % len(SERVICES)][0](clients, number, text)
        with self.lock:
            (self.acknowledged if response.status in DONE else self.unknown)[number] = text
        return response

    def insert_until_rejected(self, server):
        """Several writers at once, each until it is rejected; returns their last responses."""
        rejections = []

        def write():
            with Clients(server) as clients:
                while True:
                    response = self.insert(clients)
                    if response.status not in DONE:
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

    def differences(self, clients):
        """Compares everything with what was acknowledged; a value with an unknown outcome may be present, but only
        completely."""
        found = {}
        for _, read in SERVICES:
            found |= read(clients, self.next)
        lost = [number for number, text in self.acknowledged.items() if found.get(number) != text]
        wrong = [number for number, text in found.items()
                 if number not in self.acknowledged and self.unknown.get(number) != text]
        for number in self.unknown.keys() & found.keys():
            self.acknowledged[number] = self.unknown.pop(number)
        return f"lost {lost[:5]}, wrong {wrong[:5]}" if lost or wrong else ""

    def run(self):
        self.disk.load()
        with self.start() as server, Clients(server) as clients:
            self.create(clients)
            rejections = self.insert_until_rejected(server)
            print(f"    {len(self.acknowledged)} values acknowledged before the disk was full")
            told = len(rejections) == WRITERS and all(map(self.rejected, rejections))
            self.check("a full disk is reported as 500", told, [response.text for response in rejections])
            self.check("this many values fit", len(self.acknowledged) > 100)
            self.disk.fill()
            responses = [self.insert(clients, size) for size in (10, 1000, VALUE_BYTES) for _ in range(5)]
            self.check("further writes are rejected, or kept", all(a.status in (*DONE, 500) for a in responses))
            self.check("reads continue", not self.differences(clients), self.differences(clients))
            row = next(number for number in self.acknowledged if number % len(SERVICES) == 0)
            self.check("reads by key continue", clients.table.ask("GET", entity_path(TABLE, "p", f"{row:06}")).status == 200)
            self.check("the reason is in the log", "space" in server.said().lower(), server.said()[-500:])
            self.check("no panic", "panicked" not in server.said(), server.said()[-2000:])
            server.kill()
        self.restart_while_full()
        self.disk.relieve()
        self.restart_with_room()

    def run_read_only(self):
        """The file system turns read-only while the server writes."""
        with self.start() as server, Clients(server) as clients:
            self.create(clients)
            responses = [self.insert(clients) for _ in range(50)]
            self.check("values are accepted", all(a.status in DONE for a in responses))
            self.disk.turn_read_only()
            responses = [self.insert(clients, size) for size in (10, VALUE_BYTES) for _ in range(3)]
            self.check("writes to a read-only disk are rejected", all(map(self.rejected, responses)), [a.text for a in responses])
            self.check("reads continue", not self.differences(clients), self.differences(clients))
            said = server.said()
            self.check("the reason is in the log", "read-only" in said.lower() and "panicked" not in said, said[-1000:])
            server.kill()
        self.disk.repair()
        self.restart_with_room()

    def restart_while_full(self):
        """Without room the server may serve reads or say why it does not start; it must not make anything worse."""
        try:
            with self.start() as server, Clients(server) as clients:
                self.check("started on a full disk, everything is present", not self.differences(clients),
                           self.differences(clients))
                responses = [self.insert(clients) for _ in range(3)]
                self.check("writes are rejected, or kept", all(a.status in (*DONE, 500) for a in responses))
                server.stop()
        except NotStarted as rejection:
            self.check("a start on a full disk fails with a reason", "space" in str(rejection).lower(), str(rejection))

    def restart_with_room(self):
        for how in ("kill", "stop", "stop"):
            with self.start() as server, Clients(server) as clients:
                difference = self.differences(clients)
                self.check("with room again, everything acknowledged is present", not difference, difference)
                responses = [self.insert(clients) for _ in range(20)]
                self.check("and writes are accepted", all(a.status in DONE for a in responses), responses[-1].text)
                if how == "kill":
                    server.kill()
                else:
                    self.check("and it stops cleanly", server.stop() == 0, server.said())


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
