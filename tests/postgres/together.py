"""What two front ends on one database must agree on, at once and without exception."""

import base64
import re
import subprocess
import uuid

from lazuli import Client, entity_path, ticks


def check(answer, status, what):
    if answer.status != status:
        raise SystemExit(f"{what}: {answer.status} {answer.text}, expected {status}")
    return answer


def run(ends):
    with Client(ends.servers[0]) as one, Client(ends.servers[1]) as two:
        tables(one, two)
        versions(one, two)
        properties(one, two)
    accounts(ends)
    health(ends)


def tables(one, two):
    """A table that is deleted and made again is never taken for the old one (OP-05, OP-18)."""
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
    """ETags of an entity increase, whichever front end writes; and one knows those of the other (WR-12, CC-06)."""
    name = "t" + uuid.uuid4().hex
    check(one.ask("POST", "/Tables", {"TableName": name}), 204, "create")
    path = entity_path(name, "p", "r")
    etag, last = "*", 0
    check(one.ask("PUT", path, {"n": -1}), 204, "upsert")
    for turn in range(60):
        client = (one, two)[turn % 2]
        answer = check(client.ask("PUT", path, {"n": turn}, {"If-Match": etag}), 204, "update")
        etag = answer.headers["ETag"]
        if ticks(etag) <= last:
            raise SystemExit(f"the version went from {last} to {ticks(etag)}")
        last = ticks(etag)
    check(one.ask("PUT", path, {"n": 0}, {"If-Match": etag}), 204, "update")
    check(two.ask("PUT", path, {"n": 0}, {"If-Match": etag}), 412, "update by an old version")
    check(two.ask("DELETE", f"/Tables('{name}')"), 204, "delete")


def properties(one, two):
    """Rules for web pages hold at both as soon as one has taken them."""
    for turn in range(10):
        a, b = (one, two) if turn % 2 else (two, one)
        origin = f"https://{turn}.example.org"
        rule = (f"<CorsRule><AllowedOrigins>{origin}</AllowedOrigins><AllowedMethods>GET</AllowedMethods><MaxAgeInSeconds>5"
                "</MaxAgeInSeconds><ExposedHeaders>*</ExposedHeaders><AllowedHeaders>*</AllowedHeaders></CorsRule>")
        body = f'<?xml version="1.0" encoding="utf-8"?><StorageServiceProperties><Cors>{rule}</Cors></StorageServiceProperties>'
        check(a.ask("PUT", "/?restype=service&comp=properties", body, {"Content-Type": "application/xml"}), 202, "set properties")
        preflight = {"Origin": origin, "Access-Control-Request-Method": "GET"}
        check(b.ask("OPTIONS", "/Tables", headers=preflight), 200, "a preflight at the other one")


def accounts(ends):
    """An account that a command adds, changes or removes is served, or not, by both at once."""
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
    """Without a data directory a server says where it can be asked, and there it answers."""
    binary = ends.servers[0].process.args[0]
    places = [re.search(r"health and metrics: (http://[0-9.:]+)/readyz", server.output).group(1) for server in ends.servers]
    if len(set(places)) != len(ends.servers):
        raise SystemExit(f"servers of one machine share a place: {places}")
    for place in places:
        said = subprocess.run([binary, "health", "--url", place], check=True, capture_output=True, text=True).stdout
        if said != "ready\n":
            raise SystemExit(f"{place} says {said!r}")
