"""What the tests of the command line share."""

import os
import socket
import subprocess

from lazuli import HANG_SECONDS, Client, Server

TABLES = "/Tables"


def serve(binary, directory, *args, **options):
    """A server with its data in the test's directory."""
    return Server(binary, "--location", os.path.join(directory, "data"), *args, directory=directory, **options)


def serve_memory(binary, directory, *args, **options):
    return Server(binary, "--engine", "memory:", *args, directory=directory, **options)


def run(binary, directory, *args, env=None):
    """Runs a command to its end; returns exit code, standard output and standard error."""
    environment = {k: v for k, v in os.environ.items() if not k.endswith("_ACCOUNTS")} | (env or {})
    done = subprocess.run([binary, *args], cwd=directory, env=environment, capture_output=True, timeout=HANG_SECONDS)
    return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


def status(server, method="GET", path=TABLES, body=None, headers=None, **client):
    """The status of one request on a connection of its own."""
    with Client(server, **client) as connection:
        return connection.ask(method, path, body, headers).status


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def equal(found, wanted, what=""):
    assert found == wanted, f"{what}: found {found!r}, wanted {wanted!r}"


def contains(text, *parts):
    for part in parts:
        assert part in text, f"{part!r} is not in {text!r}"
