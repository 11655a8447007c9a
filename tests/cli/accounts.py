"""Accounts in the store, in the environment and on a running server, and the admin listener that commands query."""

import base64
import json
import os
import stat

from common import contains, equal, run, serve, serve_memory, status
from lazuli import ACCOUNT as DEVELOPMENT
from lazuli import KEY, Client

ONE, TWO, THREE = (base64.b64encode(bytes([n]) * 64).decode() for n in (1, 2, 3))


def account(binary, directory, *args, code=0):
    """Runs `lazuli account`; returns what it prints: JSON, or the error."""
    found, output, errors = run(binary, directory, "account", *args, "-l", "data", "--json")
    equal(found, code, f"account {args}: {output}{errors}")
    return json.loads(output) if code == 0 else errors


def test_accounts_on_a_store_that_nobody_has_open(binary, directory):
    shop = account(binary, directory, "add", "shop")
    equal((shop["name"], len(shop["keys"])), ("shop", 2))
    for key in shop["keys"]:
        equal(len(base64.b64decode(key)), 64)
    equal(account(binary, directory, "add", "given", "--key1", ONE, "--key2", TWO)["keys"], [ONE, TWO])
    assert all("keys" not in a for a in account(binary, directory, "list")["accounts"])
    listed = account(binary, directory, "list", "--show-keys")["accounts"]
    equal([(a["name"], a["keys"]) for a in listed], [("given", [ONE, TWO]), ("shop", shop["keys"])])
    rotated = account(binary, directory, "rotate-key", "given", "--key", "2")["keys"]
    assert rotated[0] == ONE and rotated[1] != TWO, rotated
    with serve(binary, directory) as server:
        for name, key, wanted in [("shop", shop["keys"][0], 200), ("shop", shop["keys"][1], 200), ("given", ONE, 200),
                                  ("given", rotated[1], 200), ("given", TWO, 403), ("nobody", ONE, 403)]:
            equal(status(server, account=name, key=key), wanted, name)
        # The development account is served as well.
        equal(status(server), 200)
        server.stop()
    account(binary, directory, "remove", "given")
    with serve(binary, directory) as server:
        equal(status(server, account="given", key=ONE), 403)


def test_accounts_are_shown_to_people(binary, directory):
    code, output, _ = run(binary, directory, "account", "add", "shop", "-l", "data")
    equal(code, 0)
    contains(output, "shop", "key1 ", "key2 ")
    listed = run(binary, directory, "account", "list", "--show-keys", "-l", "data")[1]
    assert output.startswith(listed), (output, listed)
    equal(run(binary, directory, "account", "list", "-l", "data")[1], listed.splitlines(True)[0])
    contains(run(binary, directory, "account", "remove", "shop", "-l", "data")[1], "removed shop")
    contains(run(binary, directory, "account", "list", "-l", "data")[1], "no accounts")


def connection(output):
    """The parts of the connection string, which is printed on a line of its own."""
    line = next(line for line in output.splitlines() if line.startswith("DefaultEndpointsProtocol="))
    return dict(part.split("=", 1) for part in line.rstrip(";").split(";"))


def test_a_new_account_comes_with_its_connection_string(binary, directory):
    def add(name, *flags):
        code, output, errors = run(binary, directory, "account", "add", name, "-l", "data", *flags)
        equal(code, 0, errors)
        return output

    output = add("early")
    contains(output, "on its default ports")
    equal(connection(output)["TableEndpoint"], "http://127.0.0.1:10002/early")
    for flags, scheme in (((), "http"), (("--host", "0.0.0.0", "--self-signed"), "https")):
        with serve(binary, directory, *flags) as server:
            output = add("shop" + scheme)
            parts = connection(output)
            equal((parts["DefaultEndpointsProtocol"], parts["TableEndpoint"]),
                  (scheme, f"{scheme}://127.0.0.1:{server.port}/shop{scheme}"))
            if scheme == "http":
                equal(status(server, account=parts["AccountName"], key=parts["AccountKey"]), 200)
            parts = connection(add("strict" + scheme, "--https-only"))
            host = "HOST-OF-Table" if scheme == "http" else f"127.0.0.1:{server.port}"
            equal(parts["TableEndpoint"], f"https://{host}/strict{scheme}", "a front that speaks https, or the server")
            equal(account(binary, directory, "add", "json" + scheme)["endpoints"]["table"],
                  f"{scheme}://127.0.0.1:{server.port}/json{scheme}")


def test_commands_find_the_store_where_serve_would(binary, directory):
    """An account that was added while the server used another location silently went into a new store."""
    def ask(*args, env=None):
        code, output, errors = run(binary, directory, *args, env=env)
        equal(code, 0, (args, errors))
        return output, errors

    contains(ask("account", "add", "here")[1], "created a store in ", "lazuli-data")
    equal(ask("account", "add", "again")[1], "")
    with open(os.path.join(directory, "lazuli.toml"), "w") as file:
        file.write('location = "data"\n')
    with serve(binary, directory) as server:
        parts = connection(ask("account", "add", "shop")[0])
        equal(status(server, account="shop", key=parts["AccountKey"]), 200)
        contains(ask("account", "list")[0], "shop")
        ask("backup", "copied")
        equal(server.stop(), 0)
    contains(ask("check")[0], "1 account")
    contains(ask("check", env={"LAZULI_LOCATION": "lazuli-data"})[0], "2 accounts")
    code, _, errors = run(binary, directory, "backup", "other", env={"LAZULI_ENGINE": "memory:"})
    equal(code, 1)
    contains(errors, "--location")


def test_mistakes_with_accounts_are_reported(binary, directory):
    def check(where):
        account(binary, directory, "add", "shop")
        contains(account(binary, directory, "add", "shop", code=1), "already exists")
        for bad in ("ab", "Shop", "shop-1", "x" * 25, "sh/op", "sh op", "sh?op", "..", "shöp", ""):
            contains(account(binary, directory, "add", bad, code=2), "not an account name")
        contains(account(binary, directory, "add", "keys", "--key1", "***", "--key2", ONE, code=1), "Base64")
        contains(account(binary, directory, "rotate-key", "nobody", "--key", "1", code=1), "no account 'nobody'")
        contains(account(binary, directory, "remove", "nobody", code=1), "no account 'nobody'")
        equal([a["name"] for a in account(binary, directory, "list")["accounts"]], ["shop"], where)
        account(binary, directory, "remove", "shop")

    check("on the store")
    with serve(binary, directory):
        check("on a server")


def test_queries_do_not_create_a_store(binary, directory):
    for args in (["list"], ["remove", "shop"], ["rotate-key", "shop", "--key", "1"]):
        contains(account(binary, directory, *args, code=1), "data")
    equal(os.listdir(directory), [])


def test_accounts_of_a_running_server_change_at_once(binary, directory):
    with serve(binary, directory) as server:
        equal(status(server, account="shop", key=ONE), 403)
        account(binary, directory, "add", "shop", "--key1", ONE, "--key2", TWO)
        with Client(server, "shop", ONE) as first, Client(server, "shop", TWO) as second:
            equal((first.ask("GET", "/Tables").status, second.ask("GET", "/Tables").status), (200, 200))
            new = account(binary, directory, "rotate-key", "shop", "--key", "1")["keys"][0]
            # The connections are the same as before: a key is checked with each request.
            equal((first.ask("GET", "/Tables").status, second.ask("GET", "/Tables").status), (403, 200))
            equal(status(server, account="shop", key=new), 200)
            equal(second.ask("POST", "/Tables", {"TableName": "goods"}).status, 204)
            contains(account(binary, directory, "remove", "shop", code=1), "still has tables")
            equal(second.ask("DELETE", "/Tables('goods')").status, 204)
            account(binary, directory, "remove", "shop")
            equal(second.ask("GET", "/Tables").status, 403)
        equal(account(binary, directory, "list")["accounts"], [])
        contains(account(binary, directory, "add", "devstoreaccount1", code=1), "already exists")
        contains(account(binary, directory, "rotate-key", "devstoreaccount1", "--key", "1", code=1), "is set at startup")
        account(binary, directory, "add", "stays", "--key1", ONE, "--key2", TWO)
        server.kill()
    # The file that the killed server left is ignored: nobody holds the store, so the command opens it.
    equal([a["name"] for a in account(binary, directory, "list")["accounts"]], ["stays"])
    with serve(binary, directory) as server:
        equal(status(server, account="stays", key=TWO), 200)


def test_a_stored_development_account_rejects_the_public_key(binary, directory):
    """Data that was created with private keys was accessible with the public key, on loopback."""
    account(binary, directory, "add", DEVELOPMENT, "--key1", ONE, "--key2", TWO)
    with serve(binary, directory) as server:
        equal([status(server, key=key) for key in (ONE, TWO, KEY)], [200, 200, 403])
        contains(server.said(), "has an account devstoreaccount1", "the public one is not")
        assert KEY not in server.output, server.output
        new = account(binary, directory, "rotate-key", DEVELOPMENT, "--key", "1")["keys"][0]
        equal([status(server, key=key) for key in (ONE, TWO, new, KEY)], [403, 200, 200, 403])
        equal(status(server, "POST", "/Tables", {"TableName": "mine"}, key=TWO), 204)
        contains(account(binary, directory, "remove", DEVELOPMENT, code=1), "still has tables")
        equal(status(server, "DELETE", "/Tables('mine')", key=TWO), 204)
        account(binary, directory, "remove", DEVELOPMENT)
        equal([status(server, key=key) for key in (TWO, KEY)], [403, 200])
        server.stop()
    with serve(binary, directory) as server:
        equal(status(server), 200)
        equal(server.said(), "")


def test_accounts_of_the_environment(binary, directory):
    def check(environment, wanted):
        with serve_memory(binary, directory, env=environment) as server:
            for name, key, status_wanted in wanted:
                equal(status(server, account=name, key=key), status_wanted, f"{environment} {name}")
            equal(status(server), 403, "the development account is replaced")
            assert not any(key in server.output + server.said() for key in (ONE, TWO, THREE)), "keys are secrets"
            for name in {name for name, _, code in wanted if code == 200}:
                contains(server.output, f"http://127.0.0.1:{server.port}/{name}")

    check({"LAZULI_ACCOUNTS": f"one:{ONE};two:{ONE}:{TWO}"},
          [("one", ONE, 200), ("one", TWO, 403), ("two", ONE, 200), ("two", TWO, 200)])
    check({"AZURITE_ACCOUNTS": f"one:{ONE};"}, [("one", ONE, 200)])
    check({"LAZULI_ACCOUNTS": f"one:{ONE}", "AZURITE_ACCOUNTS": f"two:{TWO}"}, [("one", ONE, 200), ("two", TWO, 403)])
    check({"AZURITE_ACCOUNTS": f"devstoreaccount1:{THREE}"}, [("devstoreaccount1", THREE, 200)])


def test_an_empty_variable_counts_as_unset(binary, directory):
    """A CI file may pass on a variable that is not set."""
    with serve_memory(binary, directory, env={"LAZULI_ACCOUNTS": "", "AZURITE_ACCOUNTS": ""}) as server:
        equal(status(server), 200)
    with serve_memory(binary, directory, env={"LAZULI_ACCOUNTS": "", "AZURITE_ACCOUNTS": f"one:{ONE}"}) as server:
        equal((status(server), status(server, account="one", key=ONE)), (403, 200))


def test_mistakes_in_the_environment_are_reported(binary, directory):
    for text in ("one", "one:", "one:***", "o:" + ONE, f"one:{ONE}:{ONE}:{ONE}", ";", f"one:{ONE};one:{TWO}"):
        code, output, errors = run(binary, directory, "serve", "--engine", "memory:", "--table-port", "0",
                                   env={"LAZULI_ACCOUNTS": text})
        equal((code, output), (1, ""), text)
        contains(errors, "LAZULI_ACCOUNTS")
        assert ONE not in errors, "keys are secrets"


def test_keys_that_can_be_guessed_are_rejected(binary, directory):
    short, least = (base64.b64encode(bytes(n)).decode() for n in (31, 32))
    for keys in (("YQ==", ONE), (ONE, "YQ=="), (short, short)):
        why = account(binary, directory, "add", "shop", "--key1", keys[0], "--key2", keys[1], code=1)
        contains(why, "at least 32")
        assert short not in why, "keys are secrets"
    equal(account(binary, directory, "add", "shop", "--key1", least, "--key2", ONE)["keys"], [least, ONE])
    equal(account(binary, directory, "add", DEVELOPMENT, "--key1", KEY, "--key2", KEY)["keys"], [KEY, KEY])
    with serve_memory(binary, directory, env={"LAZULI_ACCOUNTS": f"one:YQ==;two:{ONE}"}) as server:
        equal((status(server, account="one", key="YQ=="), status(server, account="two", key=ONE)), (200, 200))
        contains(server.said(), "a key of account 'one'")
        assert "'two'" not in server.said() and "YQ==" not in server.said(), server.said()


def admin_call(server, directory, path, token=None, method="GET", asked=None):
    import http.client
    with open(os.path.join(directory, "data", "admin.json")) as file:
        known = json.load(file)
    host, port = known["address"].split(":")
    equal(host, "127.0.0.1")
    connection = http.client.HTTPConnection(host, int(port), timeout=60)
    token = known["token"] if token == "right" else token
    headers = {"Authorization": f"Bearer {token}"} if token is not None else {}
    connection.request(method, path, headers=headers | ({"Host": asked} if asked else {}))
    response = connection.getresponse()
    return response.status, response.read().decode()


def test_the_admin_listener_requires_the_token(binary, directory):
    for host in ("127.0.0.1", "0.0.0.0"):
        with serve(binary, directory, "--host", host, "--dev-account") as server:
            path = os.path.join(directory, "data", "admin.json")
            equal(stat.S_IMODE(os.stat(path).st_mode), 0o600)
            for token, wanted in ((None, 401), ("", 401), ("wrong", 401), ("right", 200)):
                equal(admin_call(server, directory, "/accounts", token)[0], wanted, token)
            for method, call in (("POST", "/accounts/shop"), ("DELETE", "/accounts/shop"),
                                 ("POST", "/accounts/shop/keys/1"), ("GET", "/nothing")):
                equal(admin_call(server, directory, call, "wrong", method)[0], 401, call)
            equal(admin_call(server, directory, "/healthz")[0], 200)
            equal(admin_call(server, directory, "/nothing", "right")[0], 404)
            equal(server.stop(), 0)
            assert not os.path.exists(path)


def test_health_and_metrics_are_for_all_on_this_machine(binary, directory):
    """HEAD was rejected; a web page whose name resolves to loopback could read the metrics."""
    with serve(binary, directory) as server:
        for path in ("/healthz", "/readyz", "/metrics"):
            equal(admin_call(server, directory, path, method="HEAD"), (200, ""), path)
            for asked, wanted in (("localhost", 200), ("localhost:10009", 200), ("127.0.0.1:1", 200), ("[::1]:1", 200),
                                  ("rebound.example", 421), ("rebound.example:10009", 421)):
                equal(admin_call(server, directory, path, asked=asked)[0], wanted, (path, asked))
        equal(admin_call(server, directory, "/metrics", "right", asked="rebound.example")[0], 200, "the token is enough")


def test_tokens_differ(binary, directory):
    tokens = set()
    for _ in range(3):
        with serve(binary, directory):
            with open(os.path.join(directory, "data", "admin.json")) as file:
                tokens.add(json.load(file)["token"])
    equal(len(tokens), 3)
