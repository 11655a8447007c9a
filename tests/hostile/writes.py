"""Attacks that make the server hold memory while it changes data: the memory that a change reads, computes and waits with must be
bounded."""

import base64
import json
import threading
import urllib.parse

from lazuli import ACCOUNT

from clients import BlobClient, exchange, signed_head

MIB = 1024 * 1024
KIB = 1024
TABLE = "hostile"
# Entities of almost a MiB: each property has the largest size.
LARGE_PROPERTIES, PROPERTY_BYTES, LARGE_ENTITIES = 15, 64 * KIB, 100
ENTITY_BYTES = LARGE_PROPERTIES * PROPERTY_BYTES
# Clients that send such changes at the same time, and how often each does.
WRITERS, ROUNDS = 16, 2
# Clients that send batches whose decoded form is much larger than their text.
DECODERS = 60
# The most properties that an entity may have besides its keys.
PROPERTIES_MAX = 252


class Writes:
    """The attacks, as a part of the test in run.py. Each returns nothing: it ends when every client has its
    response."""

    def large_entities(self, client):
        """Stores the entities that `merges` and `conditions` change."""
        value = base64.b64encode(bytes(PROPERTY_BYTES)).decode()
        entity = {f"P{n}": value for n in range(LARGE_PROPERTIES)} | {f"P{n}@odata.type": "Edm.Binary" for n in range(LARGE_PROPERTIES)}
        for row in range(LARGE_ENTITIES):
            body = json.dumps({"PartitionKey": "huge", "RowKey": f"{row:03}", **entity})
            status = client.ask("POST", f"/{TABLE}", body, {"Content-Type": "application/json"}).status
            assert status == 204, status
        self.stored += LARGE_ENTITIES * ENTITY_BYTES

    def merges(self, server, client):
        """Batches of 100 MERGEs, each a few bytes, of entities of almost a MiB."""
        self.large_entities(client)
        body = batch([("MERGE", f"huge',RowKey='{row:03}", '{"N":1}', "If-Match: *\r\n") for row in range(LARGE_ENTITIES)])
        self.write_together(server, client, WRITERS, body)

    def conditions(self, server, client):
        """Conditional deletes and inserts of large entities: their rows are read, and the changes rejected."""
        self.large_entities(client)
        old = "If-Match: W/\"datetime'2020-01-01T00%3A00%3A00.0000000Z'\"\r\n"
        deletes = batch([("DELETE", f"huge',RowKey='{row:03}", "", old) for row in range(LARGE_ENTITIES)])
        inserts = batch([("POST", None, json.dumps({"PartitionKey": "huge", "RowKey": f"{row:03}"}), "") for row in range(LARGE_ENTITIES)])
        self.write_together(server, client, WRITERS, deletes, inserts)

    def replacements(self, server, client):
        """Batches of almost 4 MiB that replace entities, more of them at a time than the queue of commits has room for."""
        value = "v" * 30_000
        bodies = []
        for writer in range(4):
            rows = [("PUT", f"w{writer}',RowKey='{row:03}", json.dumps({"A": value}), "") for row in range(100)]
            bodies.append(batch(rows))
        # The memory engine keeps what was written last.
        self.stored += sum(map(len, bodies))
        self.write_together(server, client, 4 * WRITERS, *bodies)

    def decoded_batches(self, server, client):
        """Batches whose decoded form is many times as large as their text: 100 entities of 252 properties."""
        names = ",".join(f'"{chr(97 + n % 26)}{n:x}":1' for n in range(PROPERTIES_MAX))
        rows = [("PUT", f"wide',RowKey='{row:03}", "{" + names + "}", "") for row in range(100)]
        body = batch(rows)
        self.stored += 4 * len(body)
        self.write_together(server, client, DECODERS, body)

    def large_puts(self, server, client):
        """Messages as large as may be, put and changed by many at once."""
        queue = BlobClient(server, "Queue")
        assert queue.ask("PUT", "/writes")[0] == 201
        text = ("<QueueMessage><MessageText>" + "m" * 64 * KIB + "</MessageText></QueueMessage>").encode()
        put = queue.head("POST", "/writes/messages", len(text)) + text
        get = queue.head("GET", "/writes/messages?numofmessages=32&visibilitytimeout=1")
        count = 10 * WRITERS
        self.stored += count * ROUNDS * len(text)
        self.all_together(queue, [put if index % 4 else get for index in range(count)], {200, 201, 503})

    def blob_changes(self, server, client):
        """Appends, pages, block lists and metadata, all together."""
        blob = BlobClient(server)
        assert blob.ask("PUT", "/writes?restype=container")[0] == 201
        for name, kind, extra in [("pages", "PageBlob", {"x-ms-blob-content-length": str(64 * MIB)}), ("log", "AppendBlob", {})]:
            assert blob.ask("PUT", f"/writes/{name}", 0, fields={"x-ms-blob-type": kind, **extra})[0] == 201
        block = base64.b64encode(b"b" * 64).decode()
        assert blob.ask("PUT", f"/writes/blocks?blockid={urllib.parse.quote(block)}&comp=block", 4, [b"four"])[0] == 201
        listed = ("<BlockList>" + f"<Latest>{block}</Latest>" * 50_000 + "</BlockList>").encode()
        assert blob.ask("PUT", "/writes/blocks?comp=blocklist", len(listed), [listed])[0] == 201
        piece = bytes(4 * MIB)
        metadata = {f"x-ms-meta-m{n}": "m" * 2000 for n in range(4)}
        starts = [
            blob.head("PUT", "/writes/log?comp=appendblock", len(piece)) + piece,
            blob.head("PUT", "/writes/pages?comp=page", len(piece), {"x-ms-page-write": "update", "x-ms-range": f"bytes=0-{len(piece) - 1}"}) + piece,
            blob.head("PUT", "/writes/blocks?comp=blocklist", len(listed)) + listed,
            blob.head("PUT", "/writes/blocks?comp=metadata", 0, metadata),
        ]
        count = 4 * WRITERS
        self.stored += count * ROUNDS * len(piece)
        self.all_together(blob, [starts[index % len(starts)] for index in range(count)], {200, 201, 503})

    # --- around them

    def write_together(self, server, client, count, *bodies):
        heads = [signed_head(client, "POST", "/$batch", len(body), "multipart/mixed; boundary=b") for body in bodies]
        starts = [heads[index % len(heads)] + bodies[index % len(bodies)] for index in range(count)]
        self.all_together(server, starts, {202, 503})

    def all_together(self, server, starts, expected, rounds=ROUNDS):
        """Every client sends its request and reads the response, at the same time as all others, several times."""
        statuses = []

        def send(request):
            for _ in range(rounds):
                statuses.append(exchange(server, request))

        threads = [threading.Thread(target=send, args=(request,)) for request in starts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        counts = {status: statuses.count(status) for status in sorted(set(statuses))}
        fine = len(statuses) == rounds * len(starts) and set(statuses) <= expected and any(s < 300 for s in statuses)
        self.check(f"{len(starts)} clients get {rounds} responses each", fine, counts)


def batch(changes):
    """A transaction: method, keys as they are in an address (none for an insert), body, more headers."""
    parts = ["--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n"]
    for method, keys, body, fields in changes:
        address = f"{TABLE}(PartitionKey='{keys}')" if keys else TABLE
        parts.append(
            "--c\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n"
            f"{method} http://localhost/{ACCOUNT}/{address} HTTP/1.1\r\nAccept: application/json;odata=nometadata\r\n"
            f"Prefer: return-no-content\r\n{fields}Content-Type: application/json\r\n\r\n{body}\r\n")
    parts.append("--c--\r\n--b--\r\n")
    return "".join(parts).encode()


WRITE_ATTACKS = ["merges", "conditions", "replacements", "decoded_batches", "large_puts", "blob_changes"]
