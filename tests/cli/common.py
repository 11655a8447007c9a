"""Helpers of the tests of the command line."""

import json
import os
import re
import socket
import subprocess

from lazuli import HANG_SECONDS, Client, Server

TABLES = "/Tables"


def serve(binary, directory, *args, **options):
    """A server with its data in the test's directory."""
    return Server(binary, "--location", os.path.join(directory, "data"), *args, directory=directory, **options)


def serve_memory(binary, directory, *args, **options):
    return Server(binary, "--engine", "memory:", *args, directory=directory, **options)


def run(binary, directory, *args, env=None, stdin=None):
    """Runs a command to its end; returns exit code, standard output and standard error."""
    environment = {k: v for k, v in os.environ.items() if not k.endswith("_ACCOUNTS")} | (env or {})
    done = subprocess.run([binary, *args], cwd=directory, env=environment, input=stdin, stdin=None if stdin is not None else subprocess.DEVNULL,
                          capture_output=True, timeout=HANG_SECONDS)
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


class Shell:
    """Runs commands on one server, or on one store."""

    def __init__(self, binary, directory, server=None, store=None):
        self.binary, self.directory, self.store = binary, directory, store
        self.env = {"AZURE_STORAGE_CONNECTION_STRING": connection_string(server) if server else ""}

    def __call__(self, *args, code=0, stdin=None):
        if self.store:
            args = (*args, "--location", self.store)
        found, output, errors = run(self.binary, self.directory, *args, env=self.env, stdin=stdin)
        equal(found, code, f"{args}: {output}{errors}")
        self.errors = errors
        return output if code == 0 else output + errors

    def rows(self, *args):
        return [json.loads(line) for line in self(*args).splitlines()]


def connection_string(server):
    """The connection string that the server prints."""
    return re.search(r"^DefaultEndpointsProtocol.*$", server.output, re.MULTILINE)[0]
