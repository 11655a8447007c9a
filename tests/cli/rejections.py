"""Rejections, and information that they must not reveal; output that cannot be written."""

import os
import signal
import subprocess
import types

from common import TABLES, contains, equal, run, serve, serve_memory, status
from lazuli import HANG_SECONDS, Client
from sas import ask, people, token


def test_a_token_for_no_entities_does_not_learn_which_tables_exist(binary, directory):
    """SA-02. A mistake in the options was reported only for an existing table."""
    with serve_memory(binary, directory) as server:
        people(server)
        make = lambda *args: token(binary, directory, "account", "-r", *args)
        for resources, letters in (("s", "raud"), ("c", "cl"), ("o", "l")):
            signature = make(resources, "-p", letters)
            for path in ("/%s()?$top=abc", "/%s()?$filter=)", "/%s(PartitionKey='a')"):
                there, missing = (ask(server, "GET", path % name, signature) for name in ("people", "nobody"))
                equal(there[0], missing[0], (resources, letters, path))
            equal(ask(server, "POST", "/$batch", signature, {"no": "batch"})[0], 403, "before the body is checked")
        # A caller that may read gets the error about the table first, as always; others get only a permission error.
        for letters, statuses in (("r", [400, 404]), ("a", [403, 403])):
            signature = make("o", "-p", letters)
            equal([ask(server, "GET", f"/{name}()?$top=abc", signature)[0] for name in ("people", "nobody")], statuses, letters)


def test_a_configuration_must_be_a_file_of_limited_size(binary, directory):
    os.mkfifo(os.path.join(directory, "pipe.toml"))
    os.symlink("pipe.toml", os.path.join(directory, "link.toml"))
    for name, why in (("pipe.toml", "regular file"), ("link.toml", "regular file"), (".", "regular file"),
                      ("/dev/zero", "larger than")):
        code, _, errors = run(binary, directory, "config", "check", name)
        equal(code, 1, name)
        contains(errors, name, why)
        code, _, errors = run(binary, directory, "serve", env={"LAZULI_CONFIG": name})
        equal(code, 2, name)
        contains(errors, name, why)
    equal(run(binary, directory, "config", "check", "/dev/null")[0], 0)
    done = subprocess.run([os.path.abspath(binary), "config", "check", "/dev/stdin"], input=b"tabel-port = 1\n",
                          capture_output=True, timeout=HANG_SECONDS, cwd=directory)
    equal(done.returncode, 1)
    contains(done.stdout.decode(), "line 1", "table-port")


def test_a_password_in_an_invalid_url_is_not_repeated(binary, directory):
    for url in ("postgres:u:HUNTER2@db/x", "postgres://u:HUNTER2", "postgres://u:HUN?HUNTER2@db/x",
                "postgres://u:HUN?a&HUNTER2&b@db/x", "file:postgres://u:HUNTER2@db",
                "postgres://127.0.0.1:1/x?user=u&pass%77ord=HUNTER2"):
        with open(os.path.join(directory, "lazuli.toml"), "w") as file:
            file.write(f'engine = "{url}"\n')
        for args in (("config", "check"), ("config", "show"), ("serve", "--table-port", "0")):
            _, output, errors = run(binary, directory, *args)
            assert "HUNTER2" not in output + errors and "panicked" not in errors, (url, args, output, errors)
    os.remove(os.path.join(directory, "lazuli.toml"))
    code, output, errors = run(binary, directory, "serve", "--table-port", "0", "--location", "postgres://u:HUNTER2@db/x")
    equal((code, "HUNTER2" in output + errors), (1, False), errors)
    equal(os.listdir(directory), [])


def test_a_backup_does_not_restrict_existing_directories(binary, directory):
    with serve(binary, directory) as server:
        equal(status(server, "POST", TABLES, {"TableName": "people"}), 204)
        equal(server.stop(), 0)
    for name, mode in (("shared", 0o1777), ("open", 0o755)):
        os.mkdir(os.path.join(directory, name))
        os.chmod(os.path.join(directory, name), mode)
    code, _, errors = run(binary, directory, "backup", "shared", "-l", "data")
    equal(code, 1)
    contains(errors, "is shared")
    equal(os.stat(os.path.join(directory, "shared")).st_mode & 0o7777, 0o1777)
    code, _, errors = run(binary, directory, "backup", "open", "-l", "data")
    equal(code, 0, errors)
    contains(errors, "changed the mode from 755")
    code, _, errors = run(binary, directory, "backup", "shared/of-mine", "-l", "data")
    equal((code, errors), (0, ""))


def test_a_full_disk_under_the_log_stops_no_server(binary, directory):
    """Output at the start, about requests and at the end cannot be written."""
    command = [os.path.abspath(binary), "serve", "--engine", "memory:", "--table-port", "0", "--blobPort", "1", "--log-requests"]
    environment = os.environ | {"LAZULI_ACCOUNTS": "shop:AAAA"}
    with open("/dev/full", "w") as full, subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=full, cwd=directory, env=environment) as process:
        try:
            greeting = process.stdout.readline().decode()
            contains(greeting, "tables on ")
            server = types.SimpleNamespace(host="127.0.0.1", port=int(greeting.strip().rsplit(":", 1)[1]))
            with Client(server, account="shop", key="AAAA") as client:
                equal([client.ask("GET", TABLES).status for _ in range(3)], [200] * 3)
            process.send_signal(signal.SIGHUP)
            process.send_signal(signal.SIGTERM)
            equal(process.wait(HANG_SECONDS), 0)
        finally:
            process.kill()
    with open("/dev/full", "w") as full:
        for args, code in ((("backup", "x", "-l", "missing"), 1), (("serve", "--config", "missing"), 2),
                           (("table", "list", "--location", "missing"), 1)):
            done = subprocess.run([os.path.abspath(binary), *args], stdout=subprocess.DEVNULL, stderr=full, cwd=directory,
                                  timeout=HANG_SECONDS)
            equal(done.returncode, code, args)
