"""`lazuli sas`: the tokens that it creates permit what they state, and it explains them: SA-01 to SA-06."""

import http.client
import json
import os
import subprocess

from common import contains, equal, run, serve_memory
from lazuli import KEY, Client

OTHER = "AAAA" + KEY[4:]


def sas(binary, directory, *args, code=0):
    """Runs `lazuli sas`; returns what it prints."""
    found, output, errors = run(binary, directory, "sas", *args)
    equal(found, code, f"sas {args}: {output}{errors}")
    return output + errors


def token(binary, directory, *args):
    found, output, errors = run(binary, directory, "sas", *args, "--json")
    equal(found, 0, f"sas {args}: {output}{errors}")
    return json.loads(output)["token"]


def ask(server, method, path, signature, body=None):
    """A request that only the token authenticates; its status."""
    connection = http.client.HTTPConnection(server.host, server.port, timeout=60)
    separator = "&" if "?" in path else "?"
    headers = {"Accept": "application/json", "Content-Type": "application/json", "x-ms-version": "2019-02-02"}
    connection.request(method, f"/devstoreaccount1{path}{separator}{signature}", json.dumps(body) if body else None, headers)
    response = connection.getresponse()
    return response.status, response.read().decode()


def people(server):
    """A table with two partitions."""
    with Client(server) as client:
        equal(client.ask("POST", "/Tables", {"TableName": "people"}).status, 204)
        for partition in ("alice", "bob"):
            equal(client.ask("POST", "/people", {"PartitionKey": partition, "RowKey": "1", "N": partition}).status, 204)


def test_tokens_of_tables_permit_what_they_state(binary, directory):
    with serve_memory(binary, directory) as server:
        people(server)
        make = lambda *args: token(binary, directory, "table", "people", *args)
        new = {"PartitionKey": "alice", "RowKey": "2"}
        for letters, method, path, body, wanted in [
                ("r", "GET", "/people()", None, 200), ("a", "GET", "/people()", None, 403),
                ("a", "POST", "/people", new, 201), ("rud", "POST", "/people", new, 403),
                ("d", "GET", "/Tables", None, 403)]:
            equal(ask(server, method, path, make("-p", letters), body)[0], wanted, (letters, method))
        own = make("-p", "raud", "--first-partition", "alice", "--last-partition", "alice")
        status, text = ask(server, "GET", "/people()", own)
        equal((status, "alice" in text, "bob" in text), (200, True, False))
        equal(ask(server, "POST", "/people", own, {"PartitionKey": "bob", "RowKey": "2"})[0], 403)
        for terms, wanted in [(["--expires", "2020-01-01"], 403), (["--starts", "1h", "--expires", "2h"], 403),
                              (["--ip", "1.2.3.4"], 403), (["--ip", "127.0.0.1-127.0.0.9"], 200), (["--https-only"], 403),
                              (["--expires", "90s"], 200), (["--sv", "2013-08-15"], 200), (["--sv", "2020-12-06"], 200),
                              (["--key", OTHER], 403)]:
            equal(ask(server, "GET", "/people()", make("-p", "r", *terms))[0], wanted, terms)


def test_tokens_of_accounts(binary, directory):
    with serve_memory(binary, directory) as server:
        people(server)
        make = lambda resources, letters: token(binary, directory, "account", "-r", resources, "-p", letters)
        equal(ask(server, "GET", "/people()", make("o", "r"))[0], 200)
        equal(ask(server, "GET", "/Tables", make("o", "rl"))[0], 403)
        equal(ask(server, "GET", "/Tables", make("c", "l"))[0], 200)
        equal(ask(server, "POST", "/Tables", make("c", "c"), {"TableName": "more"})[0], 201)
        equal(ask(server, "GET", "/?restype=service&comp=properties", make("s", "r"))[0], 200)


def test_the_url_can_be_requested_as_is(binary, directory):
    """The second line is a URL; it has the default address of a server."""
    with serve_memory(binary, directory) as server:
        people(server)
        first, second = sas(binary, directory, "table", "people", "-p", "r").splitlines()
        equal(second, f"http://127.0.0.1:10002/devstoreaccount1/people?{first}")
        equal(ask(server, "GET", second.removeprefix("http://127.0.0.1:10002/devstoreaccount1").split("?")[0], first)[0], 200)


def test_the_connection_string_variable_signs_as_well(binary, directory):
    env = {"AZURE_STORAGE_CONNECTION_STRING": f"AccountName=shop;AccountKey={OTHER};TableEndpoint=http://127.0.0.1:7/shop"}
    code, output, errors = run(binary, directory, "sas", "table", "people", "-p", "r", env=env)
    equal(code, 0, errors)
    first, second = output.splitlines()
    equal(second, f"http://127.0.0.1:7/shop/people?{first}")
    for given in (first, second):
        code, output, errors = run(binary, directory, "sas", "explain", given, env=env)
        equal(code, 0, errors)
        contains(output, "in account 'shop'", "signature  good")
    foreign = token(binary, directory, "table", "people", "-p", "r", "--account", "cafe", "--key", KEY)
    code, output, errors = run(binary, directory, "sas", "explain", foreign, env=env)
    equal(code, 0, "its account is unknown, so it is not rejected")


def test_policies(binary, directory):
    with serve_memory(binary, directory) as server:
        people(server)
        by_policy = token(binary, directory, "table", "people", "--policy", "readers")
        equal(ask(server, "GET", "/people()", by_policy)[0], 403)
        policy = ("<SignedIdentifiers><SignedIdentifier><Id>readers</Id><AccessPolicy><Expiry>2099-01-01T00:00:00Z</Expiry>"
                  "<Permission>r</Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>")
        with Client(server) as client:
            equal(client.ask("PUT", "/people?comp=acl", policy, {"Content-Type": "application/xml"}).status, 204)
        equal(ask(server, "GET", "/people()", by_policy)[0], 200)


def test_explaining(binary, directory):
    given = token(binary, directory, "table", "people", "-p", "ra", "--expires", "7d", "--first-partition", "a",
                  "--last-partition", "f", "--ip", "10.0.0.1-10.0.0.9", "--https-only")
    text = sas(binary, directory, "explain", given)
    contains(text, "the entities of table 'people' in account 'devstoreaccount1'", "allows", "query", "in 6d",
             "from partition 'a' to partition 'f'", "address 10.0.0.1-10.0.0.9", "signature  good")
    changed = given.replace("sp=ra", "sp=raud")
    local = "http://127.0.0.1:10002/devstoreaccount1/people?"
    contains(sas(binary, directory, "explain", local + given), "signature  good")
    contains(sas(binary, directory, "explain", local + changed, code=1), "rejected", "parameter was changed")
    alone = sas(binary, directory, "explain", changed)
    contains(alone, "the development account did not sign it", "--account")
    assert "devstoreaccount1" not in alone, alone
    contains(sas(binary, directory, "explain", given, "--key", KEY), "signature  good")
    contains(sas(binary, directory, "explain", given, "--key", OTHER, code=1), "rejected", "another key")
    contains(sas(binary, directory, "explain", given.replace("sp=ra", "sp=raud"), "--key", KEY, code=1), "parameter was changed")
    url = f"https://shop.table.core.windows.net/people?{given}"
    contains(sas(binary, directory, "explain", url), "in account 'shop'")
    told = json.loads(sas(binary, directory, "explain", given, "--json"))
    equal(told["problems"], [])
    contains(told["terms"]["for"], "people")
    for bad, why in [("sv=2019-02-02&tn=people&sp=r&se=2020-01-01&sig=x", "it expired"),
                     ("sv=2019-02-02&tn=people&sp=r&sig=x", "neither an expiry time"),
                     ("sv=2019-02-02&sp=r&se=2099-01-01&sig=x", "neither for a table"),
                     ("sv=2019-02-02&tn=people", "no signature"), ("", "no signature")]:
        contains(sas(binary, directory, "explain", bad, code=1), why)


def test_mistakes_are_reported(binary, directory):
    for args, why in [(["table", "people", "-p", "x"], "expected letters from"), (["table", "p", "-p", "r"], "table"),
                      (["table", "people", "-p", "r", "--expires", "soon"], "expected a time"),
                      (["table", "people", "-p", "r", "--ip", "here"], "neither an address"),
                      (["table", "people", "-p", "r", "--ip", "10.0.0.1", "--sv", "2014-02-14"], "--sv 2015-04-05"),
                      (["table", "people", "-p", "r", "--https-only", "--sv", "2014-02-14"], "--sv 2015-04-05"),
                      (["table", "people", "-p", "r", "--starts", "2h"], "before it starts"),
                      (["table", "people", "-p", "r", "--first-partition", "b", "--last-partition", "a"], "contains no key"),
                      (["account", "-r", "o", "-p", "r", "--starts", "2h", "--expires", "1h"], "before it starts"),
                      (["account", "-r", "x", "-p", "r"], "expected letters from")]:
        contains(sas(binary, directory, *args, code=1), why)
    code, _, errors = run(binary, directory, "sas", "table", "people", "-p", "r", "--expires", "2020-01-01")
    equal(code, 0, "it is made")
    contains(errors, "warning", "it expired at 2020-01-01")
    for args in (["table", "people"], ["table"], ["account", "-p", "r"], []):
        contains(sas(binary, directory, *args, code=2), "Usage")


def test_output_that_cannot_be_written(binary, directory):
    """A closed pipe is no error; a full disk is reported. Neither causes a panic."""
    command = [os.path.abspath(binary), "sas", "table", "people", "--permissions", "r"]
    reader, writer = os.pipe()
    os.close(reader)
    gone = subprocess.run(command, cwd=directory, stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    equal((gone.returncode, "panicked" in gone.stderr), (0, False), gone.stderr)
    with open("/dev/full", "w") as full:
        lost = subprocess.run(command, cwd=directory, stdout=full, stderr=subprocess.PIPE, text=True)
    equal((lost.returncode, "panicked" in lost.stderr), (1, False), lost.stderr)
