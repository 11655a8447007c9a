#!/usr/bin/env python3
"""Slows the disk down, or stops it for a while, and checks that only the requests that need it wait.

    tests/faults/slow.py --binary target/release/lazuli

Each run starts the server on existing data, reads a row, a message and a blob so that they are in memory, and blocks the disk for one kind of call: every call is held
(`stall`) or takes longer (`slow`; see shim/src/lib.rs). Requests that need the disk (rows, messages and contents of blobs) must wait while health checks, metrics and reads
from memory are served. A health check says 503 if the engine does not respond within a second. When the disk responds again, health checks succeed, the waiting requests
succeed, and nothing that was acknowledged is lost by a kill.
"""

import argparse
import http.client
import json
import os
import shutil
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
from lazuli import HANG_SECONDS, Client, Server, StorageClient, entity_path  # noqa: E402
from run import build_shim  # noqa: E402

TABLE = QUEUE = CONTAINER = "slow"
HOT = "hot"
# Rows beyond what the small cache of the server holds, and contents of blobs, so that reading them needs the disk.
COLD_ROWS, COLD_BYTES = 120, 60_000
# Clients that need the disk at the same time: more than the server has threads for connections.
CLIENTS = 12
# What each kind of call holds up: new writes, or reads of rows that are not in memory.
KINDS = {"sync-stall": "write", "sync-slow": "write", "write-stall": "write", "write-slow": "write",
         "read-stall": "read", "read-slow": "read"}


def write(server, number):
    """A new row, message or blob, durable when it is acknowledged. Returns the status."""
    if number % 3 == 0:
        with Client(server) as client:
            return client.ask("PUT", entity_path(TABLE, "new", number), {"N": number}).status
    service = "queue" if number % 3 == 1 else "blob"
    with StorageClient(server.at(service)) as client:
        return (put_message if service == "queue" else put_blob)(client, f"new-{number}").status


def read(server, number):
    """A row that is not in memory, or the content of a blob. Returns the status."""
    if number % 2 == 0:
        with Client(server) as client:
            return client.ask("GET", entity_path(TABLE, "cold", number * (COLD_ROWS // CLIENTS))).status
    with StorageClient(server.at("blob")) as client:
        response = client.ask("GET", f"/{CONTAINER}/cold-{number}")
        return response.status if response.body == content(f"cold-{number}") else f"{response.status} with other content"


def put_message(client, text):
    return client.ask("POST", f"/{QUEUE}/messages?messagettl=-1", f"<QueueMessage><MessageText>{text}</MessageText></QueueMessage>")


def put_blob(client, name, body=None):
    return client.ask("PUT", f"/{CONTAINER}/{name}", content(name) if body is None else body, {"x-ms-blob-type": "BlockBlob"})


def content(name):
    """More than the server keeps in a row."""
    return f"{name} ".encode() * 20_000


def is_there(server, number):
    """Whether what `write` wrote can be read."""
    if number % 3 == 0:
        with Client(server) as client:
            return client.ask("GET", entity_path(TABLE, "new", number)).status == 200
    service = "queue" if number % 3 == 1 else "blob"
    with StorageClient(server.at(service)) as client:
        if service == "blob":
            return client.ask("GET", f"/{CONTAINER}/new-{number}").body == content(f"new-{number}")
        return f">new-{number}<" in client.ask("GET", f"/{QUEUE}/messages?peekonly=true&numofmessages=32").text


class Waiting:
    """Requests in threads of their own, each of which needs the disk."""

    def __init__(self, server, need):
        self.statuses, self.threads = {}, []
        for number in range(CLIENTS):
            thread = threading.Thread(target=self.run, args=(server, need, number))
            self.threads.append(thread)
            thread.start()

    def run(self, server, need, number):
        try:
            self.statuses[number] = (write if need == "write" else read)(server, number)
        except (OSError, http.client.HTTPException) as error:
            self.statuses[number] = repr(error)

    def are_done(self):
        return not any(thread.is_alive() for thread in self.threads)

    def finish(self):
        for thread in self.threads:
            thread.join(HANG_SECONDS)
        return self.statuses


def fill(binary, data):
    """A store whose rows are in sorted files, with a queue and a container."""
    with Server(binary, "--location", data) as server, Client(server) as client:
        assert client.ask("POST", "/Tables", {"TableName": TABLE}).status == 204
        for row in range(COLD_ROWS):
            body = {"Text": f"{row:04}" * (COLD_BYTES // 8)}
            assert client.ask("PUT", entity_path(TABLE, "cold", row), body).status == 204
        assert client.ask("PUT", entity_path(TABLE, HOT, 0), {"N": 0}).status == 204
        with StorageClient(server.at("queue")) as queues, StorageClient(server.at("blob")) as blobs:
            assert queues.ask("PUT", f"/{QUEUE}").status == 201 and put_message(queues, HOT).status == 201
            assert blobs.ask("PUT", f"/{CONTAINER}?restype=container").status == 201
            assert put_blob(blobs, HOT, b"small").status == 201
            for number in range(1, CLIENTS, 2):
                assert put_blob(blobs, f"cold-{number}").status == 201
        assert server.stop() == 0


def plain_get(host, port, path):
    """The status and the text of a response, or the reason why there is none."""
    connection = http.client.HTTPConnection(host, port, timeout=HANG_SECONDS)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read().decode()
    except OSError as error:
        return repr(error), ""
    finally:
        connection.close()


def unaffected(server, admin_port, is_stalled=False):
    """Requests that must be served without the disk. Returns those that are not."""
    problems = []
    for port, path in ((server.port, "/-/health"), (admin_port, "/healthz"), (admin_port, "/readyz"), (admin_port, "/metrics")):
        status, text = plain_get(server.host, port, path)
        says_so = is_stalled and status == 503 and ("stalled" in text or "has not responded" in text)
        if status != 200 and not says_so:
            problems.append(f"{path}: {status} {text}")
    with Client(server) as client:
        response = client.ask("GET", entity_path(TABLE, HOT, 0))
        if response.status != 200:
            problems.append(f"a row in memory: {response.status}")
    for service, path in (("queue", f"/{QUEUE}/messages?peekonly=true"), ("blob", f"/{CONTAINER}/{HOT}")):
        with StorageClient(server.at(service)) as client:
            response = client.ask("GET", path)
            if response.status != 200 or response.body != b"small" and f">{HOT}<" not in response.text:
                problems.append(f"a {service} in memory: {response.status} {response.text}")
    return problems


def is_stalled(server):
    return "stalled" in plain_get(server.host, server.port, "/-/health")[1]


def try_kind(args, shim, kind):
    """One kind of delay. Returns the problems."""
    folder = tempfile.mkdtemp(prefix="lazuli-slow-")
    disk, gate, seen = (os.path.join(folder, name) for name in ("disk", "gate", "seen"))
    os.mkdir(disk)
    data = os.path.join(disk, "data")
    fill(args.binary, data)
    env = {"LD_PRELOAD": shim, "LAZULI_FAULTS": f"{kind}@1+", "LAZULI_FAULTS_DIR": disk, "LAZULI_FAULTS_GATE": gate,
           "LAZULI_FAULTS_SEEN": seen}
    with Server(args.binary, "--location", data, "--cache-mib", "1", "--request-timeout", "600", env=env) as server:
        with open(os.path.join(data, "admin.json")) as file:
            admin_port = int(json.load(file)["address"].rsplit(":", 1)[1])
        problems = unaffected(server, admin_port)
        open(gate, "w").close()
        waiting = Waiting(server, KINDS[kind])
        while not os.path.exists(seen) and not waiting.are_done():
            pass
        if not os.path.exists(seen):
            problems.append("no call was held: the test has no effect")
        stalls = kind.endswith("stall")
        for _ in range(3):
            problems += unaffected(server, admin_port, stalls)
        if stalls and len(waiting.statuses) == CLIENTS:
            problems.append(f"nothing waited for the disk: {waiting.statuses}")
        os.remove(gate)
        statuses = waiting.finish()
        if any(status not in (200, 201, 204) for status in statuses.values()) or len(statuses) != CLIENTS:
            problems.append(f"requests that waited got {statuses}")
        # A probe of the engine that began before may still be in progress.
        while is_stalled(server):
            pass
        problems += unaffected(server, admin_port)
        server.kill()
        if "panicked" in server.said():
            problems.append(server.said())
    with Server(args.binary, "--location", data) as server:
        for number in range(CLIENTS if KINDS[kind] == "write" else 0):
            if not is_there(server, number):
                problems.append(f"lost: write {number} was acknowledged")
        server.stop()
    shutil.rmtree(folder)
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", required=True)
    parser.add_argument("kind", nargs="*", default=list(KINDS))
    args = parser.parse_args()
    shim, failed = build_shim(), 0
    for kind in args.kind:
        problems = try_kind(args, shim, kind)
        print(f"{'FAILED' if problems else 'ok'}: {kind}", *problems, sep="\n  ", flush=True)
        failed += bool(problems)
    print("passed" if not failed else f"{failed} kinds of delay failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
