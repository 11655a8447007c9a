"""Flags: those of other programs, absurd ones, limits, the log."""

import http.client
import json
import os
import socket

from common import contains, equal, run, serve, serve_memory, status
from lazuli import HANG_SECONDS, Client, NotStarted, Server

HUGE = str(2**64 - 1)


def test_help_teaches(binary, directory):
    for args in (["--help"], ["serve", "--help"], ["account", "--help"], ["help"], ["--version"]):
        code, output, errors = run(binary, directory, *args)
        equal((code, errors), (0, ""), args)
        assert output
    flags = ["--host", "--table-port", "--location", "--engine", "--quiet", "--durability", "--dev-account",
             "--public-scheme", "--trusted-proxy", "--max-head-kib", "--max-body-kib", "--max-connections",
             "--head-timeout", "--body-timeout", "--idle-timeout", "--request-timeout", "--table-name-hold"]
    contains(run(binary, directory, "serve", "--help")[1], "10002", "lazuli-data", "Azurite", *flags)
    equal(os.listdir(directory), [])


def test_mistakes_are_reported(binary, directory):
    for args in (["--no-such-flag"], ["serve", "--table-port", "65536"], ["serve", "--host", "nowhere"],
                 ["serve", "--engine", "redis://x"], ["serve", "--durability", "none"], ["no-such-command"],
                 ["account", "add"], ["account", "rotate-key", "abc"], ["account", "add", "ABC"],
                 ["account", "rotate-key", "abc", "--key", "3"], ["serve", "-l", "a", "--engine", "memory:"],
                 ["serve", "--events", "Shop=queue:changes"]):
        code, output, errors = run(binary, directory, *args)
        equal((code, output), (2, ""), args)
        contains(errors, "error: ")
    equal(run(binary, directory, "account")[:2], (2, ""))
    twice = ("serve", "--events", "shop=queue:one", "--events", "shop=queue:two")
    contains(run(binary, directory, *twice)[2], "--events: account shop has two targets")
    contains(run(binary, directory, "tabel", "list")[2], "unrecognized subcommand 'tabel'", "'table'")
    errors = run(binary, directory, "postgres://me:hunter2@db/x")[2]
    assert "hunter2" not in errors, errors
    equal(os.listdir(directory), [])


def test_absurd_numbers_do_no_harm(binary, directory):
    """A number is either rejected with an error, or the server starts with it."""
    for flag in ("--max-head-kib", "--max-body-kib", "--max-connections", "--head-timeout", "--body-timeout",
                 "--idle-timeout", "--request-timeout", "--table-name-hold", "--query-time", "--cache-mib"):
        for number in ("0", "1", HUGE, "-1", "1e3"):
            server = serve_memory(binary, directory, f"{flag}={number}", wait=False)
            with server:
                try:
                    server.wait_until_ready()
                except NotStarted:
                    equal(server.process.returncode, 2, f"{flag} {number}: {server.said()}")
                    contains(server.said(), "error: ", flag)
                else:
                    equal(status(server), 200, f"{flag} {number}")
                    equal(server.stop(), 0, f"{flag} {number}")
                assert "panicked" not in server.said(), server.said()


def test_arguments_that_are_not_text(binary, directory):
    code, _, errors = run(binary, directory, "serve", "--engine", b"\xff\xfe")
    equal(code, 2)
    assert "panicked" not in errors, errors
    server = Server(binary, directory=directory, command=("serve", "--table-port", "0", "-l", b"\xff\xfe"))
    with server:
        equal(status(server), 200)


def test_flags_of_azurite(binary, directory):
    flags = ["--tableHost", "127.0.0.1", "--tablePort", "0", "--skipApiVersionCheck", "--loose", "--disableTelemetry",
             "--disableProductStyleUrl", "-l", "data", "-d", "debug.log", "--extentMemoryLimit", "64"]
    with Server(binary, *flags, directory=directory, command=()) as server:
        equal(status(server), 200)
    assert os.path.isdir(os.path.join(directory, "data"))
    with Server(binary, "--inMemoryPersistence", "--tablePort", "0", directory=directory, command=()) as server:
        equal(status(server), 200)


def test_flags_of_azurite_for_https_and_oauth(binary, directory):
    with Server(binary, "--inMemoryPersistence", "--tablePort", "0", "--self-signed=certs", directory=directory, command=()):
        pass
    flags = ["--inMemoryPersistence", "--tablePort", "0", "--cert", "certs/self-signed.pem", "--key", "certs/self-signed-key.pem"]
    with Server(binary, *flags, directory=directory, command=()) as server:
        contains(server.output, "https://")
    for oauth in (["--oauth", "basic"], ["--oauth"]):
        with Server(binary, *flags, *oauth, directory=directory, command=()) as server:
            contains(server.output, "https://")
    code, output, errors = run(binary, directory, "serve", "--engine", "memory:", "--pwd", "hunter2")
    equal((code, output), (2, ""))
    contains(errors, "--tls-cert")
    assert "hunter2" not in errors, errors


def test_services_can_be_left_out(binary, directory):
    with serve_memory(binary, directory, "--services", "table") as server:
        equal(status(server), 200)
        assert "BlobEndpoint" not in server.output and "queues on" not in server.output, server.output
    with serve_memory(binary, directory, "--blobHost", "127.0.0.1", "--queueHost", "127.0.0.1") as server:
        contains(server.output, "BlobEndpoint=", "QueueEndpoint=", "TableEndpoint=")
        equal(server.said(), "")


def test_relaxed_durability_is_reported(binary, directory):
    with serve(binary, directory, "--durability", "relaxed") as server:
        contains(server.output + server.said(), "RELAXED")
        equal(status(server, "POST", "/Tables", {"TableName": "relaxed"}), 204)
        server.stop()
    with serve(binary, directory, "--durability", "full") as server:
        assert "RELAXED" not in server.output + server.said()
        equal(status(server, "POST", "/Tables", {"TableName": "relaxed"}), 409)


def test_limits_are_flags(binary, directory):
    flags = ["--max-body-kib", "1", "--max-head-kib", "2"]
    with serve_memory(binary, directory, *flags) as server, Client(server) as client:
        equal(client.ask("POST", "/Tables", {"TableName": "limits"}).status, 204)
        entity = {"PartitionKey": "p", "RowKey": "r", "Text": "x" * 2000}
        equal(client.ask("POST", "/limits", entity).status, 413)
        equal(client.ask("GET", "/Tables", headers={"X-Padding": "x" * 3000}).status, 431)
        equal(client.ask("GET", "/Tables").status, 200)


def test_a_deleted_name_stays_blocked_for_the_configured_time(binary, directory):
    for hold, wanted in (("0", (204, "")), ("3600", (409, "TableBeingDeleted"))):
        with serve_memory(binary, directory, "--table-name-hold", hold) as server, Client(server) as client:
            equal(client.ask("POST", "/Tables", {"TableName": "held"}).status, 204)
            equal(client.ask("DELETE", "/Tables('held')").status, 204)
            again = client.ask("POST", "/Tables", {"TableName": "held"})
            equal((again.status, "TableBeingDeleted" if "TableBeingDeleted" in again.text else ""), wanted)


def test_requests_are_logged_without_secrets(binary, directory):
    """ER-03: with the id that the response has."""
    with serve_memory(binary, directory, "--log-requests", "--log-format", "json") as server, Client(server) as client:
        responses = [client.ask("GET", "/Tables?sig=SECRET"), client.ask("POST", "/Tables", {"TableName": "logged"})]
        client.key = b"another"
        responses.append(client.ask("GET", "/Tables"))
        equal(server.stop(), 0)
        lines = [json.loads(line) for line in server.said().splitlines() if line.startswith("{")]
        for response, line in zip(responses, lines, strict=True):
            equal(line["request_id"], response.headers["x-ms-request-id"])
            equal((line["status"], line["account"]), (response.status, "devstoreaccount1"))
            assert {"operation", "rows_read", "bytes", "micros"} <= line.keys(), line
        for secret in ("SECRET", "SharedKey", "sig="):
            assert secret not in server.said(), server.said()
    with serve_memory(binary, directory) as server:
        equal(status(server), 200)
        equal(server.stop(), 0)
        assert "request_id" not in server.said()


def test_the_connection_limit_is_a_flag(binary, directory):
    with serve_memory(binary, directory, "--max-connections", "1") as server, Client(server) as client:
        equal(client.ask("GET", "/Tables").status, 200)
        try:
            # It gets an error, if there is a connection left for that.
            equal(status(server), 503)
        except (OSError, http.client.HTTPException):
            pass
        equal(client.ask("GET", "/Tables").status, 200)


def test_connections_leave_files_to_the_store(binary, directory):
    """Where the system allows few open files, a crowd of clients must not take those that the store needs."""
    script = f"ulimit -n 200; exec {binary} serve --table-port 0 -l data"
    with Server("/bin/sh", directory=directory, command=("-c", script)) as server:
        contains(server.said(), "allows fewer connections")
        with Client(server) as client:
            equal(client.ask("POST", "/Tables", {"TableName": "crowded"}).status, 204)
            crowd = []
            try:
                while len(crowd) < 300:
                    crowd.append(socket.create_connection((server.host, server.port), HANG_SECONDS))
                # Enough for the store to write files of its own.
                for row in range(800):
                    path = f"/crowded(PartitionKey='p',RowKey='{row}')"
                    equal(client.ask("PUT", path, {"Text": "x" * 30_000}).status, 204, row)
            finally:
                for connection in crowd:
                    connection.close()
        equal(server.stop(), 0, server.said())
