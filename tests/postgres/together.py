"""What two front ends on one database must agree on, immediately and without exception."""

import base64
import os
import re
import subprocess
import threading
import time
import uuid

from lazuli import Client, StorageClient, entity_path, ticks


def check(response, status, what):
    if response.status != status:
        raise SystemExit(f"{what}: {response.status} {response.text}, expected {status}")
    return response


def run(ends):
    with Client(ends.servers[0]) as one, Client(ends.servers[1]) as two:
        tables(one, two)
        versions(one, two)
        properties(one, two)
    with StorageClient(ends.servers[0].at("blob")) as one, StorageClient(ends.servers[1].at("blob")) as two:
        containers(one, two)
        uploads(one, two)
        leases(one, two)
        appends(one, two)
    with StorageClient(ends.servers[0].at("queue")) as one, StorageClient(ends.servers[1].at("queue")) as two:
        queues(one, two)
        receipts(one, two)
    messages(ends)
    accounts(ends)
    health(ends)


def tables(one, two):
    """A table that is deleted and created again is never mistaken for the old one (OP-05, OP-18)."""
    name = "t" + uuid.uuid4().hex
    for turn in range(40):
        a, b = (one, two) if turn % 2 else (two, one)
        check(a.ask("POST", "/Tables", {"TableName": name}), 204, "create")
        check(b.ask("POST", "/Tables", {"TableName": name}), 409, "create again elsewhere")
        row = {"PartitionKey": "p", "RowKey": str(turn), "n": turn}
        check(b.ask("POST", f"/{name}", row), 204, "insert elsewhere")
        found = check(a.ask("GET", f"/{name}()"), 200, "query").json["value"]
        if [row["n"] for row in found] != [turn]:
            raise SystemExit(f"turn {turn}: the table has {found}")
        check(a.ask("DELETE", f"/Tables('{name}')"), 204, "delete")
        check(b.ask("POST", f"/{name}", row), 404, "insert into a deleted table elsewhere")
        check(b.ask("GET", entity_path(name, "p", str(turn))), 404, "read from a deleted table elsewhere")


def versions(one, two):
    """ETags of an entity increase whichever front end writes, and each front end accepts the other's (WR-12, CC-06)."""
    name = "t" + uuid.uuid4().hex
    check(one.ask("POST", "/Tables", {"TableName": name}), 204, "create")
    path = entity_path(name, "p", "r")
    etag, last = "*", 0
    check(one.ask("PUT", path, {"n": -1}), 204, "upsert")
    for turn in range(60):
        client = (one, two)[turn % 2]
        response = check(client.ask("PUT", path, {"n": turn}, {"If-Match": etag}), 204, "update")
        etag = response.headers["ETag"]
        if ticks(etag) <= last:
            raise SystemExit(f"the version went from {last} to {ticks(etag)}")
        last = ticks(etag)
    check(one.ask("PUT", path, {"n": 0}, {"If-Match": etag}), 204, "update")
    check(two.ask("PUT", path, {"n": 0}, {"If-Match": etag}), 412, "update by an old version")
    check(two.ask("DELETE", f"/Tables('{name}')"), 204, "delete")


def properties(one, two):
    """CORS rules apply at both as soon as one has accepted them."""
    for turn in range(10):
        a, b = (one, two) if turn % 2 else (two, one)
        origin = f"https://{turn}.example.org"
        rule = (f"<CorsRule><AllowedOrigins>{origin}</AllowedOrigins><AllowedMethods>GET</AllowedMethods><MaxAgeInSeconds>5"
                "</MaxAgeInSeconds><ExposedHeaders>*</ExposedHeaders><AllowedHeaders>*</AllowedHeaders></CorsRule>")
        body = f'<?xml version="1.0" encoding="utf-8"?><StorageServiceProperties><Cors>{rule}</Cors></StorageServiceProperties>'
        check(a.ask("PUT", "/?restype=service&comp=properties", body, {"Content-Type": "application/xml"}), 202, "set properties")
        preflight = {"Origin": origin, "Access-Control-Request-Method": "GET"}
        check(b.ask("OPTIONS", "/Tables", headers=preflight), 200, "a preflight at the other one")


def expect(found, wanted, what):
    if found != wanted:
        raise SystemExit(f"{what}: {found!r}, expected {wanted!r}")


def container_on(client):
    name = "c" + uuid.uuid4().hex
    check(client.ask("PUT", f"/{name}?restype=container", headers={"Content-Length": 0}), 201, "create a container")
    return name


def containers(one, two):
    """A container that is deleted and created again is empty at both, immediately."""
    name = container_on(one)
    for turn in range(20):
        a, b = (one, two) if turn % 2 else (two, one)
        check(a.ask("PUT", f"/{name}/blob", b"x" * turn, {"x-ms-blob-type": "BlockBlob"}), 201, "put")
        expect(check(b.ask("GET", f"/{name}/blob"), 200, "read elsewhere").body, b"x" * turn, "the blob")
        check(b.ask("DELETE", f"/{name}?restype=container"), 202, "delete the container")
        check(a.ask("GET", f"/{name}/blob"), 404, "read from a deleted container elsewhere")
        check(a.ask("PUT", f"/{name}?restype=container", headers={"Content-Length": 0}), 201, "create again elsewhere")
        check(b.ask("GET", f"/{name}/blob"), 404, "a blob of the container before")
    check(one.ask("DELETE", f"/{name}?restype=container"), 202, "delete the container")


def uploads(one, two):
    """An upload that one front end began is committed by the other, and read, replaced and deleted by both."""
    name = container_on(one)
    for turn, size in enumerate([10, 70_000, 300_000, 3_000_000]):
        path = f"/{name}/blob{turn}"
        blocks = [(base64.b64encode(f"{n:04}".encode()).decode(), os.urandom(size)) for n in range(4)]
        for number, (block, content) in enumerate(blocks):
            client = (one, two)[number % 2]
            check(client.ask("PUT", f"{path}?comp=block&blockid={block}", content), 201, "put a block")
        listed = check(two.ask("GET", f"{path}?comp=blocklist&blocklisttype=uncommitted"), 200, "list blocks").text
        expect(listed.count("<Block>"), len(blocks), "blocks that both have staged")
        body = "<BlockList>" + "".join(f"<Latest>{block}</Latest>" for block, _ in blocks) + "</BlockList>"
        a, b = (one, two) if turn % 2 else (two, one)
        etag = check(a.ask("PUT", f"{path}?comp=blocklist", body), 201, "commit").headers["ETag"]
        whole = b"".join(content for _, content in blocks)
        found = check(b.ask("GET", path), 200, "read elsewhere")
        expect((found.headers["ETag"], found.body == whole), (etag, True), "the blob that was committed elsewhere")
        part = check(a.ask("GET", path, headers={"x-ms-range": f"bytes={size - 5}-{size + 4}"}), 206, "read a range")
        expect(part.body, whole[size - 5:size + 5], "a range over two blocks")
        check(b.ask("PUT", path, b"new", {"x-ms-blob-type": "BlockBlob", "If-Match": etag}), 201, "replace elsewhere")
        check(a.ask("PUT", path, b"late", {"x-ms-blob-type": "BlockBlob", "If-Match": etag}), 412, "replace by an old ETag")
        expect(check(a.ask("GET", path), 200, "read").body, b"new", "the blob that was replaced elsewhere")
        check(b.ask("DELETE", path), 202, "delete elsewhere")
        check(a.ask("GET", path), 404, "read what was deleted elsewhere")
    check(one.ask("DELETE", f"/{name}?restype=container"), 202, "delete the container")


def leases(one, two):
    """A lease applies at both front ends as soon as one has granted it, and ends at both."""
    name = container_on(one)
    path = f"/{name}/blob"
    check(one.ask("PUT", path, b"x", {"x-ms-blob-type": "BlockBlob"}), 201, "put")
    for turn in range(15):
        a, b = (one, two) if turn % 2 else (two, one)
        granted = a.ask("PUT", f"{path}?comp=lease", headers={"x-ms-lease-action": "acquire", "x-ms-lease-duration": -1, "Content-Length": 0})
        lease = check(granted, 201, "acquire").headers["x-ms-lease-id"]
        again = {"x-ms-lease-action": "acquire", "x-ms-lease-duration": 15, "Content-Length": 0}
        check(b.ask("PUT", f"{path}?comp=lease", headers=again), 409, "acquire what is leased elsewhere")
        check(b.ask("PUT", path, b"y", {"x-ms-blob-type": "BlockBlob"}), 412, "write without the lease elsewhere")
        held = {"x-ms-blob-type": "BlockBlob", "x-ms-lease-id": lease}
        check(b.ask("PUT", path, b"z", held), 201, "write with the lease elsewhere")
        ends = {"x-ms-lease-action": "release", "x-ms-lease-id": lease, "Content-Length": 0}
        check(b.ask("PUT", f"{path}?comp=lease", headers=ends), 200, "release elsewhere")
        check(a.ask("PUT", path, b"held", held), 412, "write with a lease that was released elsewhere")
        check(a.ask("PUT", path, b"x", {"x-ms-blob-type": "BlockBlob"}), 201, "write after the release")
    check(one.ask("DELETE", f"/{name}?restype=container"), 202, "delete the container")


def appends(one, two):
    """Blocks that two front ends append at the same time are all present, each once and complete."""
    name = container_on(one)
    path = f"/{name}/log"
    check(one.ask("PUT", path, headers={"x-ms-blob-type": "AppendBlob", "Content-Length": 0}), 201, "create")
    sizes = [100, 5_000, 90_000]

    def append(client, letter):
        for number in range(20):
            check(client.ask("PUT", f"{path}?comp=appendblock", letter * sizes[number % 3]), 201, "append")

    both = [threading.Thread(target=append, args=(client, letter)) for client, letter in ((one, b"a"), (two, b"b"))]
    for each in both:
        each.start()
    for each in both:
        each.join()
    found = check(two.ask("GET", path), 200, "read").body
    wanted = sum(sizes[number % 3] for number in range(20))
    expect((found.count(b"a"), found.count(b"b")), (wanted, wanted), "bytes of both")
    check(one.ask("DELETE", f"/{name}?restype=container"), 202, "delete the container")


def message(text):
    return f"<QueueMessage><MessageText>{text}</MessageText></QueueMessage>"


def queue_on(client):
    name = "q" + uuid.uuid4().hex
    check(client.ask("PUT", f"/{name}", headers={"Content-Length": 0}), 201, "create a queue")
    return name


def queues(one, two):
    """A queue that is cleared, or deleted and created again, is empty at both, immediately."""
    name = queue_on(one)
    for turn in range(20):
        a, b = (one, two) if turn % 2 else (two, one)
        check(a.ask("POST", f"/{name}/messages", message(turn)), 201, "put a message")
        seen = check(b.ask("GET", f"/{name}/messages?peekonly=true"), 200, "peek elsewhere").text
        expect(re.findall("<MessageText>([^<]*)", seen), [str(turn)], "the message")
        if turn % 3:
            check(b.ask("DELETE", f"/{name}/messages"), 204, "clear elsewhere")
        else:
            check(b.ask("DELETE", f"/{name}"), 204, "delete the queue elsewhere")
            check(a.ask("POST", f"/{name}/messages", message(turn)), 404, "put into a deleted queue")
            check(a.ask("PUT", f"/{name}", headers={"Content-Length": 0}), 201, "create again")
        for client in (a, b):
            seen = check(client.ask("GET", f"/{name}/messages"), 200, "get").text
            expect("<QueueMessage>" in seen, False, "a message that is gone")
    check(one.ask("DELETE", f"/{name}"), 204, "delete the queue")


def receipts(one, two):
    """A message that one front end delivers is hidden at the other, which accepts its receipt, once."""
    name = queue_on(one)
    for turn in range(15):
        a, b = (one, two) if turn % 2 else (two, one)
        check(a.ask("POST", f"/{name}/messages", message(turn)), 201, "put a message")
        got = check(b.ask("GET", f"/{name}/messages?visibilitytimeout=60"), 200, "get elsewhere").text
        identity, receipt = re.search("<MessageId>([^<]*)", got)[1], re.search("<PopReceipt>([^<]*)", got)[1]
        hidden = check(a.ask("GET", f"/{name}/messages"), 200, "get what is hidden elsewhere").text
        expect("<QueueMessage>" in hidden, False, "a message with two holders")
        path = f"/{name}/messages/{identity}?popreceipt={receipt.replace('+', '%2B').replace('=', '%3D').replace('/', '%2F')}"
        check(a.ask("DELETE", path), 204, "delete by a receipt of the other")
        check(b.ask("DELETE", path), 404, "delete again elsewhere")
    check(one.ask("DELETE", f"/{name}"), 204, "delete the queue")


def messages(ends):
    """Consumers of all front ends get each message once, however many of them ask at the same time."""
    count, consumers = 400, 6
    with StorageClient(ends.servers[0].at("queue")) as client:
        name = queue_on(client)
        for number in range(count):
            check(client.ask("POST", f"/{name}/messages", message(number)), 201, "put a message")
    received, lock, deadline = [], threading.Lock(), time.monotonic() + 60

    def consume(server):
        with StorageClient(server.at("queue")) as client:
            while len(received) < count and time.monotonic() < deadline:
                text = check(client.ask("GET", f"/{name}/messages?numofmessages=7&visibilitytimeout=3600"), 200, "get").text
                with lock:
                    received.extend(re.findall("<MessageText>([^<]*)", text))

    threads = [threading.Thread(target=consume, args=(ends.servers[n % len(ends.servers)],)) for n in range(consumers)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    expect(sorted(map(int, received)), list(range(count)), "messages that were delivered")


def accounts(ends):
    """An account that a command adds, changes or removes is served, or not, by both immediately."""
    binary = ends.servers[0].process.args[0]

    def account(*args):
        return subprocess.run([binary, "account", "--engine", ends.url, "--json", *args], check=True, capture_output=True, text=True).stdout

    keys = [base64.b64encode(bytes([n]) * 64).decode() for n in (1, 2)]
    account("add", "shared", "--key1", keys[0], "--key2", keys[1])
    clients = [Client(server, "shared", keys[0]) for server in ends.servers]
    for client in clients:
        check(client.ask("GET", "/Tables"), 200, "a new account")
    account("rotate-key", "shared", "--key", "1")
    for client in clients:
        check(client.ask("GET", "/Tables"), 403, "a key that was replaced")
    account("remove", "shared")
    for client in (Client(server, "shared", keys[1]) for server in ends.servers):
        check(client.ask("GET", "/Tables"), 403, "an account that was removed")


def health(ends):
    """Without a data directory a server prints the address of its admin listener, which responds there."""
    binary = ends.servers[0].process.args[0]
    places = [re.search(r"health and metrics: (http://[0-9.:]+)/readyz", server.output).group(1) for server in ends.servers]
    if len(set(places)) != len(ends.servers):
        raise SystemExit(f"servers of one machine share an admin address: {places}")
    for place in places:
        said = subprocess.run([binary, "health", "--url", place], check=True, capture_output=True, text=True).stdout
        if said != "ready\n":
            raise SystemExit(f"{place} says {said!r}")
