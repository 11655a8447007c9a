"""Starting: what is printed, where the data goes, what prevents the server from starting."""

import os
import re
import socket
import statistics
import subprocess
import tempfile
import time

from common import contains, equal, free_port, run, serve, serve_memory, status
from lazuli import ACCOUNT, KEY, Client, NotStarted, Server

START_MAX_MS = 50


def test_the_greeting_has_a_connection_string_that_works(binary, directory):
    with serve(binary, directory) as server:
        found = re.search(r"^DefaultEndpointsProtocol=http;AccountName=(\w+);AccountKey=([^;]+);"
                          r"BlobEndpoint=[^;]+;QueueEndpoint=[^;]+;TableEndpoint=http://127\.0\.0\.1:(\d+)/(\w+);$", server.output, re.M)
        assert found, server.output
        name, key, port, path = found.groups()
        equal((name, key, int(port), path), (ACCOUNT, KEY, server.port, ACCOUNT))
        equal(status(server, account=name, key=key), 200)
        contains(server.output, f"http://127.0.0.1:{port}", "every change is on disk before it is acknowledged")


def test_port_0_picks_a_free_port_and_prints_it(binary, directory):
    with serve_memory(binary, directory) as one, serve_memory(binary, directory) as other:
        assert one.port != other.port
        for server in (one, other):
            equal(status(server), 200)


def test_quiet_prints_nothing(binary, directory):
    for flag in ("--quiet", "-q", "--silent", "-s"):
        port = free_port()
        server = Server(binary, "--engine", "memory:", "--table-port", port, flag, wait=False, command=("serve",))
        with server:
            server.port = port
            while True:
                try:
                    equal(status(server), 200)
                    break
                except ConnectionRefusedError:
                    assert server.process.poll() is None, server.said()
            equal(server.stop(), 0)
            equal((server.output, server.said()), ("", ""), flag)


def test_a_memory_engine_leaves_nothing_behind(binary, directory):
    for args in (["--engine", "memory:"], ["--inMemoryPersistence"]):
        for _ in range(2):
            with Server(binary, *args, directory=directory) as server:
                contains(server.output, "in memory")
                equal(status(server, "POST", "/Tables", {"TableName": "gone"}), 204)
                equal(server.stop(), 0)
    equal(os.listdir(directory), [])


def test_the_data_goes_to_lazuli_data(binary, directory):
    """Bare flags mean `serve`; without a location the data is in ./lazuli-data."""
    with Server(binary, directory=directory, command=("--table-port", "0")) as server:
        equal(status(server, "POST", "/Tables", {"TableName": "kept"}), 204)
        equal(server.stop(), 0)
    equal(os.listdir(directory), ["lazuli-data"])
    with Server(binary, "--engine", "file:lazuli-data", directory=directory) as server:
        equal(status(server, "POST", "/Tables", {"TableName": "kept"}), 409)
    with Server(binary, "-l", "lazuli-data", directory=directory) as server:
        equal(status(server, "POST", "/Tables", {"TableName": "kept"}), 409)


def test_a_second_server_on_the_same_directory_is_rejected(binary, directory):
    with serve(binary, directory) as first:
        code, output, errors = run(binary, directory, "serve", "-l", "data", "--table-port", "0")
        equal((code, output), (1, ""))
        contains(errors, "data is in use", f"process {first.process.pid}")
        equal(len(errors.splitlines()), 1, errors)
        equal(status(first), 200)
        # The rejected one has not touched the data of the first.
        equal(run(binary, directory, "account", "list", "-l", "data")[0], 0)


def test_a_port_that_is_taken_is_reported(binary, directory):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        code, _, errors = run(binary, directory, "serve", "-l", "data", "--table-port", port)
        equal(code, 1)
        contains(errors, f"127.0.0.1:{port} for tables", "in use", "pass --table-port to choose another")
        assert "--admin-port" not in errors, errors
        code, _, errors = run(binary, directory, "serve", "-l", "data", "--table-port", "0", "--admin-port", port)
        equal(code, 1)
        contains(errors, f"127.0.0.1:{port} for the admin listener", "in use", "pass --admin-port to choose another")
        assert "--table-port" not in errors, errors
    code, _, errors = run(binary, directory, "serve", "-l", "data", "--host", "192.0.2.1", "--dev-account")
    equal(code, 1)
    contains(errors, "192.0.2.1:10000 for blobs", "an address of this machine with --host")


def test_a_port_that_is_taken_leaves_no_store_behind(binary, directory):
    """The store was opened first: a server that could not listen left an empty one."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for flags in (("--table-port", port), ("--table-port", "0", "--admin-port", port),
                      ("--table-port", port, "--self-signed")):
            equal(run(binary, directory, "serve", "-l", "data", *flags)[0], 1, flags)
            equal(os.listdir(directory), [], flags)


def test_directories_that_are_no_store_are_rejected(binary, directory):
    with open(os.path.join(directory, "notes.txt"), "w") as file:
        file.write("mine")
    os.mkdir(os.path.join(directory, "other"))
    with open(os.path.join(directory, "other", "format"), "w") as file:
        file.write("lazuli store\nformat 999\n")
    for location in (".", "notes.txt", "notes.txt/below", "/proc/1/nowhere", "other"):
        code, output, errors = run(binary, directory, "serve", "-l", location, "--table-port", "0")
        equal((code, output), (1, ""), location)
        assert errors.startswith("lazuli: ") and "panicked" not in errors, errors
    with open(os.path.join(directory, "notes.txt")) as file:
        equal(file.read(), "mine")


def test_a_closed_standard_output_does_not_end_the_server(binary, directory):
    port = free_port()
    process = subprocess.Popen([binary, "serve", "--engine", "memory:", "--table-port", str(port)],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    process.stdout.close()
    try:
        server = type("Address", (), {"host": "127.0.0.1", "port": port})
        while True:
            try:
                equal(status(server), 200)
                break
            except ConnectionRefusedError:
                assert process.poll() is None, "the server has ended"
        process.terminate()
        equal(process.wait(), 0)
    finally:
        process.kill()
        process.wait()


def start_times(binary, directory):
    """Milliseconds from exec to the first response, on new stores and on empty ones that were closed cleanly."""
    new, again = [], []
    for index in range(15):
        for times in (new, again):
            began = time.monotonic()
            with Server(binary, "-l", os.path.join(directory, str(index))) as server:
                equal(status(server), 200)
                times.append((time.monotonic() - began) * 1000)
                equal(server.stop(), 0)
    return new, again


def test_the_start_is_quick(binary, directory):
    """Only the program's own time counts, so it is measured on a file system in memory; the time of the disk is shown,
    too."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as memory:
        for where, place in (("in memory", memory), ("on disk", directory)):
            new, again = start_times(binary, place)
            print(f"    first response {where}: new store {min(new):.0f} ms at best, {statistics.median(new):.0f} ms "
                  f"median; empty store {min(again):.0f} and {statistics.median(again):.0f} ms")
            assert place != memory or min(new + again) < START_MAX_MS, (new, again)


def test_data_survives_an_orderly_stop_and_a_kill(binary, directory):
    for end in ("stop", "kill", "stop"):
        with serve(binary, directory) as server, Client(server) as client:
            created = client.ask("POST", "/Tables", {"TableName": "kept"}).status
            assert created in (204, 409), created
            equal(client.ask("PUT", "/kept(PartitionKey='p',RowKey='r')", {"End": end}).status, 204)
            getattr(server, end)()
        with serve(binary, directory) as server, Client(server) as client:
            equal(client.ask("GET", "/kept(PartitionKey='p',RowKey='r')").json["End"], end)


def test_a_store_that_cannot_be_read_is_rejected(binary, directory):
    with serve(binary, directory) as server:
        server.stop()
    with open(os.path.join(directory, "data", "format"), "w") as file:
        file.write("\0\0\0")
    try:
        serve(binary, directory)
        raise AssertionError("it started")
    except NotStarted as rejection:
        contains(str(rejection), "lazuli: ", "is not a store")
