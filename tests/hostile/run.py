#!/usr/bin/env python3
"""Clients that want all of the server's memory: it stays within the bound of docs/operate.md, and good clients are served.

    tests/hostile/run.py --binary target/release/lazuli [--connections 10000] [ATTACK...]
    tests/hostile/run.py --binary target/release/lazuli --engine memory: [ATTACK...]
    tests/hostile/run.py --binary target/release/lazuli --engine postgres [ATTACK...]

Each attack stays active while a good client writes and reads; then the largest amount of memory that the process ever had during
it is compared with the bound. By default that is its resident memory (VmHWM), which includes what the allocator keeps. A binary
that was built with `--features counting-allocator` reports the most bytes that were allocated at a time, and these are compared.
The responses to single requests of these kinds are tested in crates/server/tests/server.
"""

import argparse
import base64
import gzip
import http.client
import json
import os
import re
import resource
import select
import socket
import sys
import tempfile
import time
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from lazuli import HANG_SECONDS, Client, Server, entity_path  # noqa: E402
from postgres import Postgres  # noqa: E402

from clients import BlobClient, memory, peak, reported_bound, resident, signed_head  # noqa: E402
from kept import KEPT_ATTACKS, Deaf, Kept, kept_flags  # noqa: E402
from writes import WRITE_ATTACKS, Writes  # noqa: E402

MIB = 1024 * 1024
TABLE = "hostile"
# Settings of the server: small, so that the bound is small.
CACHE_MIB, IN_FLIGHT_MIB = 64, 32
# For attacks that depend on the number of pages built at a time.
LARGE_RESPONSES_IN_FLIGHT_MIB = 256
# Blobs of large_listings: their metadata is more than a page holds.
LISTED_BLOBS = 1600
# Connections of an attack that is not about their number: its bound stays small.
CLIENTS_MAX = 2000
# The memory engine takes a row for this many times the bytes of its values: the old one is freed only when the new one is there.
STORED_FACTOR = 2
# Clients besides the crowd, and file handles besides connections.
GUESTS, HANDLES_SPARE = 16, 300
# Long enough that no client is disconnected during an attack.
LONG_TIMEOUTS = ("--head-timeout", 600, "--body-timeout", 600, "--idle-timeout", 600, "--request-timeout", 600)
# A round without any progress in this time is the last one.
QUIET_SECONDS = 0.5
LARGE_ROWS, LARGE_TEXT = 64, "v" * 30_000
# A page of the longest keys, each character of which takes nine in an address.
SWOLLEN_ROWS, LONG_KEY = 1000, "\uffee" * 512


class Crowd:
    """Connections that each send something, as much as the server accepts, and stay open."""

    def __init__(self, server, count, start):
        self.sockets, self.left = [], {}
        for index in range(count):
            try:
                sock = socket.create_connection((server.host, server.port), timeout=60)
            except OSError:
                break
            sock.setblocking(False)
            self.sockets.append(sock)
            self.left[sock] = memoryview(start(index))
        self.push()

    def push(self):
        """Sends until nothing more is taken. Those that the server has closed are left alone."""
        poll = select.poll()
        by_number = {sock.fileno(): sock for sock in self.sockets}
        for sock, left in self.left.items():
            if left:
                poll.register(sock, select.POLLOUT)
        while ready := poll.poll(QUIET_SECONDS * 1000):
            for number, _ in ready:
                sock = by_number[number]
                try:
                    self.left[sock] = self.left[sock][sock.send(self.left[sock][:256 * 1024]):]
                except BlockingIOError:
                    continue
                except OSError:
                    self.left[sock] = memoryview(b"")
                if not self.left[sock]:
                    poll.unregister(sock)

    def count(self):
        """How many clients have no response yet, have one, got a 503, are disconnected."""
        counts = {"silent": 0, "served": 0, "busy": 0, "gone": 0}
        for sock in self.sockets:
            try:
                heard = sock.recv(64, socket.MSG_PEEK)
                kind = "gone" if not heard else "busy" if heard.startswith(b"HTTP/1.1 503 ") else "served"
            except BlockingIOError:
                kind = "silent"
            except OSError:
                kind = "gone"
            counts[kind] += 1
        return counts

    def wait_until(self, fits):
        """Polls until the counts are as expected, or a generous timeout passes; returns the last counts."""
        deadline = time.monotonic() + HANG_SECONDS
        while not fits(counts := self.count()) and time.monotonic() < deadline:
            select.select([], [], [], QUIET_SECONDS)
        return counts

    def close(self):
        for sock in self.sockets:
            sock.close()


class Story(Kept, Writes):
    def __init__(self, args):
        self.args, self.failed = args, 0
        # The database server of `--engine postgres`.
        self.postgres = None
        # Bytes that an attack has stored: the memory engine holds them besides what its bound counts.
        self.stored = 0

    def check(self, what, fine, detail=""):
        print(f"{'ok' if fine else 'FAILED'}: {what}" + (f": {detail}" if detail else ""), flush=True)
        self.failed += not fine

    # --- attacks: each returns the connections that keep it active

    def idle(self, server, client):
        """Nothing, a part of a head, a part of a body, or a complete request, and then nothing more."""
        # Not a request without a signature: failed authentication has a rate limit.
        whole = f"GET /-/health HTTP/1.1\r\nHost: {server.host}\r\n\r\n".encode()
        starts = [b"", b"GET /devstoreaccount1/", signed_head(client, "POST", f"/{TABLE}", 5) + b"12", whole]
        crowd = Crowd(server, self.args.connections, lambda index: starts[index % len(starts)])
        served = self.args.connections // len(starts)
        wanted = {"silent": self.args.connections - served, "served": served, "busy": 0, "gone": 0}
        # A busy machine needs time to respond to this many.
        counts = crowd.wait_until(lambda counts: counts == wanted)
        self.check(f"{self.args.connections} idle connections are kept", counts == wanted, counts)
        return crowd

    def free_heads(self, server, client):
        """Heads of the largest size that needs no memory from the budget, from every client."""
        head = b"GET / HTTP/1.1\r\nX: " + b"x" * (15 * 1024)
        crowd = Crowd(server, self.args.connections, lambda _: head)
        self.check("heads of 15 KiB are kept", crowd.count()["silent"] == self.args.connections, crowd.count())
        return crowd

    def large_heads(self, server, client):
        """Heads that never end; there is room for some of them."""
        return self.pressing(server, 2000, lambda _: b"GET / HTTP/1.1\r\nX: " + b"x" * (60 * 1024))

    def large_bodies(self, server, client):
        """Signed bodies of 4 MiB without their last byte: ten times what there is room for."""
        body = b" " * (4 * MIB - 1)
        return self.pressing(server, 20 * IN_FLIGHT_MIB // 4, lambda _: signed_head(client, "POST", f"/{TABLE}", len(body) + 1) + body)

    def chunked_bodies(self, server, client):
        """The same in chunks, whose total length is not announced."""
        head = signed_head(client, "POST", f"/{TABLE}", None)
        chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
        return self.pressing(server, 20 * IN_FLIGHT_MIB // 4, lambda _: head + chunk * 63)

    def unread_responses(self, server, client):
        """Queries for pages of 4 MiB, of which the client reads nothing."""
        crowd = Crowd(server, 300, lambda _: signed_head(client, "GET", f"/{TABLE}()", 0) * 50)
        # The kernel may take the first page of each, so whether some get a 503 depends on the machine.
        counts = crowd.wait_until(lambda counts: not counts["silent"])
        self.check("each gets a response", not counts["silent"], counts)
        return crowd

    def large_responses(self, server, client):
        """The same for entities whose addresses, in the response, are many times longer than their keys are stored."""
        for row in range(SWOLLEN_ROWS):
            keys = {"PartitionKey": LONG_KEY, "RowKey": LONG_KEY[:-4] + f"{row:04}"}
            assert client.ask("POST", f"/{TABLE}", keys).status == 204
        path = f"/{TABLE}()?$filter=PartitionKey%20ne%20'large'"
        head = signed_head(client, "GET", path, 0).replace(b"odata=nometadata", b"odata=fullmetadata")
        crowd = self.pressing(server, 300, lambda _: head * 50)
        # The maximum is reached before every client has received something.
        counts = crowd.wait_until(lambda counts: not counts["silent"])
        self.check("each gets a response", not counts["silent"], counts)
        return crowd

    def bad_bodies(self, server, client):
        """Bodies of the maximum size that cost much work if they are processed."""
        keys = '"PartitionKey":"p","RowKey":"r"'
        names = ",".join(f'"a{n:x}":1' for n in range(350_000))
        same = '"a":1,' * 600_000
        part = "--c\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nGET /x HTTP/1.1\r\n\r\n\r\n"
        batch = "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n" + part * 35_000 + "--c--\r\n--b--\r\n"
        xml = '<?xml version="1.0"?><entry xmlns="http://www.w3.org/2005/Atom">' + "<a>" * 1_000_000
        json_type, atom_type = {"Content-Type": "application/json"}, {
            "Content-Type": "application/atom+xml", "Accept": "application/atom+xml", "x-ms-version": "2011-08-18"}
        packed = gzip.compress(b" " * 200 * MIB)
        for what, path, body, fields in [
            ("deep arrays", f"/{TABLE}", "{" + keys + ',"a":' + "[" * (4 * MIB - 100), json_type),
            ("deep objects", f"/{TABLE}", "{" + keys + ',"a":' + '{"a":' * 800_000, json_type),
            ("many names", f"/{TABLE}", "{" + keys + "," + names + "}", json_type),
            ("one name many times", f"/{TABLE}", "{" + same + keys + "}", json_type),
            ("many operations", "/$batch", batch, {"Content-Type": "multipart/mixed; boundary=b"}),
            ("deep elements", f"/{TABLE}", xml, atom_type),
            ("a compressed body", f"/{TABLE}", packed, json_type | {"Content-Encoding": "gzip"}),
        ]:
            codes = set()
            for _ in range(5):
                response = client.ask("POST", path, body, fields)
                # The response to a batch is always 202; the outcomes are inside.
                inner = response.text.split("HTTP/1.1 ")[-1][:3] if response.status == 202 else str(response.status)
                codes.add(inner)
            self.check(f"{what} in {len(body) // 1024} KiB: rejected", all(code.startswith("4") for code in codes), codes)

    def bad_filters(self, server, client):
        """Filters that are deep, long, or hard to plan."""
        one = "(PartitionKey%20eq%20'{0}'%20or%20RowKey%20eq%20'{0}')"
        for what, text in [
            ("deep", "(" * 30_000),
            ("deep not", "not%20(" * 4_000),
            ("too long", "%20and%20".join(one.format(n) for n in range(700))),
            ("hard", "%20and%20".join(one.format(n) for n in range(250))),
            ("many names", "%20or%20".join(f"a{n:x}%20eq%201" for n in range(2500))),
        ]:
            statuses = set()
            for _ in range(5):
                statuses.add(client.ask("GET", f"/{TABLE}()?$filter={text}&$top=1&$select=RowKey").status)
            self.check(f"{what} filter of {len(text) // 1024} KiB: responds", statuses <= {200, 400}, statuses)

    def large_transfers(self, server, client):
        """One upload and one download of a large blob: memory stays within 64 MiB of what it was."""
        blob = BlobClient(server)
        assert blob.ask("PUT", "/hostile?restype=container")[0] == 201
        before, size = resident(server), self.args.large_mib * MIB
        piece = os.urandom(MIB)
        status, _ = blob.ask("PUT", "/hostile/large", size, (piece for _ in range(self.args.large_mib)))
        self.check(f"an upload of {self.args.large_mib} MiB", status == 201, status)
        status, received = blob.ask("GET", "/hostile/large")
        self.check(f"a download of {self.args.large_mib} MiB", (status, received) == (200, size), (status, received))
        grown = memory(server) - before
        self.check(f"memory grew by {grown // MIB} MiB, 64 are allowed", grown <= 64 * MIB)

    def stalled_transfers(self, server, client):
        """Uploads that stop half way, and downloads that nobody reads: each holds its window at most."""
        blob, size = BlobClient(server), 8 * MIB
        assert blob.ask("PUT", "/hostile?restype=container")[0] == 201
        assert blob.ask("PUT", "/hostile/stalled", size, [bytes(size)])[0] == 201
        uploads = [blob.head("PUT", f"/hostile/upload{n}", size) + bytes(size // 2) for n in range(4)]
        download = blob.head("GET", "/hostile/stalled")
        starts = [*uploads, download, download, download, download]
        crowd = Crowd(blob, self.args.stalled, lambda index: starts[index % len(starts)])
        # Every upload waits for its client, and every download has begun.
        wanted = {"silent": self.args.stalled // 2, "served": self.args.stalled // 2, "busy": 0, "gone": 0}
        counts = crowd.wait_until(lambda counts: counts == wanted)
        self.check(f"{self.args.stalled} stalled transfers are held", counts == wanted, counts)
        return crowd

    def large_listings(self, server, client):
        """Listings of blobs with long names and much metadata, and of many blocks, that nobody reads."""
        blob = BlobClient(server)
        assert blob.ask("PUT", "/hostile?restype=container")[0] == 201
        metadata = {f"x-ms-meta-m{n}": "m" * 2000 for n in range(4)}
        for number in range(LISTED_BLOBS):
            assert blob.ask("PUT", f"/hostile/{number:0900}", 0, fields=metadata)[0] == 201
        block = base64.b64encode(b"b" * 64).decode()
        assert blob.ask("PUT", f"/hostile/blocks?blockid={urllib.parse.quote(block)}&comp=block", 4, [b"four"])[0] == 201
        body = ("<BlockList>" + f"<Latest>{block}</Latest>" * 50_000 + "</BlockList>").encode()
        assert blob.ask("PUT", "/hostile/blocks?comp=blocklist", len(body), [body])[0] == 201
        list_blobs = blob.head("GET", "/hostile?comp=list&include=metadata&restype=container")
        list_blocks = blob.head("GET", "/hostile/blocks?blocklisttype=all&comp=blocklist")
        commit = blob.head("PUT", "/hostile/again?comp=blocklist", len(body)) + body
        starts = [list_blobs * 20, list_blocks * 20, commit]
        return self.unread(blob, 300, starts)

    def large_messages(self, server, client):
        """Messages of the maximum size, 32 at a time, that the client does not read."""
        queue = BlobClient(server, "Queue")
        assert queue.ask("PUT", "/hostile")[0] == 201
        text = ("<QueueMessage><MessageText>" + "&amp;" * 26_000 + "</MessageText></QueueMessage>").encode()
        for _ in range(64):
            assert queue.ask("POST", "/hostile/messages", len(text), [text])[0] == 201
        peek = queue.head("GET", "/hostile/messages?numofmessages=32&peekonly=true")
        return self.unread(queue, 300, [peek * 20])

    # --- around them

    def unread(self, server, count, starts):
        """Clients that read nothing: each gets a response."""
        crowd = Crowd(server, count, lambda index: starts[index % len(starts)])
        counts = crowd.wait_until(lambda counts: not counts["silent"])
        self.check("each gets a response", not counts["silent"], counts)
        return crowd

    def pressing(self, server, count, start):
        """Clients that together request more than the limit: some must get a 503, otherwise the attack did not reach the limit."""
        crowd = Crowd(server, count, start)
        # Some get it immediately, some after they have waited for a permit.
        counts = crowd.wait_until(lambda counts: counts["busy"])
        self.check("some get a 503", counts["busy"] > 0, counts)
        return crowd

    def good_client(self, server, name):
        """Twenty times: a new client connects, writes and reads. The crowd may delay a page, but neither a row nor a
        write."""
        statuses = []
        for number in range(20):
            with Client(server) as client:
                path = entity_path(TABLE, "good", f"{name}{number}")
                statuses.append(client.ask("PUT", path, {"N": number}).status)
                response = client.ask("GET", path)
                statuses.append(response.status if response.json["N"] == number else "wrong")
        self.check("a good client is served", statuses == [204, 200] * 20, set(statuses))

    def run(self, attack):
        print(f"-- {attack}: {getattr(self, attack).__doc__.split(chr(10))[0]}", flush=True)
        self.stored = LARGE_ROWS * 2 * len(LARGE_TEXT)
        with tempfile.TemporaryDirectory(prefix="lazuli-hostile-") as directory:
            in_flight = LARGE_RESPONSES_IN_FLIGHT_MIB if attack == "large_responses" else IN_FLIGHT_MIB
            wanted = max(CLIENTS_MAX, self.args.stalled) if attack == "stalled_transfers" else CLIENTS_MAX
            most_clients = self.args.connections if attack in CROWDED else min(wanted, self.args.connections)
            limits = ("--max-connections", most_clients + GUESTS, "--max-in-flight-mib", in_flight)
            deaf = Deaf()
            more = kept_flags(deaf) if attack in KEPT_ATTACKS else ()
            server = Server(self.args.binary, *self.place(directory), "--admin-port", 0, "--cache-mib", CACHE_MIB, *limits, *LONG_TIMEOUTS, *more)
            with deaf, server, Client(server) as client:
                server.admin = admin_address(server, directory)
                assert client.ask("POST", "/Tables", {"TableName": TABLE}).status == 204
                for row in range(LARGE_ROWS):
                    body = {"PartitionKey": "large", "RowKey": str(row), "A": LARGE_TEXT, "B": LARGE_TEXT}
                    assert client.ask("POST", f"/{TABLE}", body).status == 204
                before = peak(server)[0]
                crowd = getattr(self, attack)(server, client)
                client.close()
                self.good_client(server, attack)
                self.check_memory(server, before)
                if crowd:
                    crowd.close()
                self.good_client(server, attack)
                fine = server.stop() == 0 and "panicked" not in server.said()
                self.check("it stops cleanly, without a panic", fine, "" if fine else server.said()[-2000:])

    def place(self, directory):
        """The flags that choose the engine. On PostgreSQL each attack has a database of its own."""
        if self.args.engine == "postgres":
            self.postgres = self.postgres or Postgres()
            return "--engine", self.postgres.database(os.path.basename(directory).replace("-", "_").lower())
        return ("--engine", self.args.engine) if self.args.engine else ("--location", directory)

    def close(self):
        if self.postgres:
            self.postgres.close()

    def check_memory(self, server, before):
        """Compares the memory of the process with the bound that the server reports for its settings."""
        (most, measure), bound = peak(server), reported_bound(server)
        if self.args.engine == "memory:":
            bound += STORED_FACTOR * self.stored
        self.check(f"{measure} memory {before // MIB} to {most // MIB} MiB, the bound is {bound // MIB}", most <= bound)


ATTACKS = ["idle", "free_heads", "large_heads", "large_bodies", "chunked_bodies", "unread_responses", "large_responses", "bad_bodies",
           "bad_filters", "large_transfers", "stalled_transfers", "large_listings", "large_messages", *WRITE_ATTACKS, *KEPT_ATTACKS]
# Where the number of connections is the attack.
CROWDED = {"idle", "free_heads"}


def admin_address(server, directory):
    """The admin listener: in a file if there is a data directory, otherwise in the greeting."""
    path = os.path.join(directory, "admin.json")
    if os.path.exists(path):
        with open(path) as file:
            return json.load(file)["address"]
    return re.search(r"health and metrics: http://([^/]+)/", server.output).group(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", required=True)
    parser.add_argument("--connections", type=int, default=10_000)
    parser.add_argument("--large-mib", type=int, default=128, help="size of large_transfers; the long form is 1024")
    parser.add_argument("--stalled", type=int, default=200, help="connections of stalled_transfers; the long form is 10000")
    parser.add_argument("--engine", help="memory:, postgres (starts one), or the URL of an engine; a store in a new directory otherwise")
    parser.add_argument("attack", nargs="*", default=ATTACKS)
    args = parser.parse_args()
    wanted, most = args.connections + GUESTS + HANDLES_SPARE, resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if most != resource.RLIM_INFINITY and most < wanted:
        args.connections -= wanted - most
        print(f"the system allows {most} open files: {args.connections} connections")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(wanted if most == resource.RLIM_INFINITY else min(wanted, most), 256), most))
    story = Story(args)
    try:
        for attack in args.attack:
            try:
                story.run(attack)
            except (OSError, http.client.HTTPException, RuntimeError, AssertionError) as error:
                story.check(attack, False, repr(error))
    finally:
        story.close()
    print("passed" if not story.failed else f"{story.failed} failed")
    return 1 if story.failed else 0


if __name__ == "__main__":
    sys.exit(main())
