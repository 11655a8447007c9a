"""Signals: requests in flight are finished; a second signal does not wait."""

import json
import os
import signal
import socket
import threading
import time

from bearer import AUDIENCE, ISSUER, Issuer
from common import contains, equal, run, serve, serve_memory, status
from lazuli import ACCOUNT, HANG_SECONDS, Client, entity_path

BODY = json.dumps({"Text": "in flight"}).encode()


def request_in_flight(server):
    """A connection with a request of which the server has seen the head and waits for the body."""
    with Client(server) as client:
        created = client.ask("POST", "/Tables", {"TableName": "flight"}).status
        assert created in (204, 409), created
    target = f"/{ACCOUNT}{entity_path('flight', 'p', 'r')}"
    import email.utils
    date = email.utils.formatdate(usegmt=True)
    head = (f"PUT {target} HTTP/1.1\r\nHost: {server.host}\r\nx-ms-date: {date}\r\nx-ms-version: 2019-02-02\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(BODY)}\r\nExpect: 100-continue\r\n"
            f"Authorization: {Client(server).sign(target, date)}\r\n\r\n")
    connection = socket.create_connection((server.host, server.port), HANG_SECONDS)
    connection.sendall(head.encode())
    response = connection.recv(65536)
    assert response.startswith(b"HTTP/1.1 100 "), response
    return connection


def wait_until_it_has_stopped_listening(server):
    while True:
        try:
            socket.create_connection((server.host, server.port), HANG_SECONDS).close()
        except ConnectionRefusedError:
            return
        except ConnectionResetError:
            pass


def test_requests_in_flight_are_finished(binary, directory):
    for how in (signal.SIGTERM, signal.SIGINT):
        with serve(binary, directory) as server:
            connection = request_in_flight(server)
            server.process.send_signal(how)
            wait_until_it_has_stopped_listening(server)
            assert server.process.poll() is None, "the server waits for the request"
            connection.sendall(BODY)
            response = connection.recv(65536)
            assert response.startswith(b"HTTP/1.1 204 ") and b"\r\nConnection: close\r\n" in response, response
            equal(connection.recv(65536), b"", "the connection is closed")
            connection.close()
            equal(server.wait(), 0, how)
        with serve(binary, directory) as server, Client(server) as client:
            equal(client.ask("GET", entity_path("flight", "p", "r")).json["Text"], "in flight")
            equal(client.ask("DELETE", entity_path("flight", "p", "r"), None, {"If-Match": "*"}).status, 204)


def test_a_second_signal_stops_at_once(binary, directory):
    for first, second in ((signal.SIGTERM, signal.SIGTERM), (signal.SIGINT, signal.SIGINT),
                          (signal.SIGTERM, signal.SIGINT)):
        with serve(binary, directory) as server:
            with Client(server) as client:
                created = client.ask("POST", "/Tables", {"TableName": "kept"}).status
                assert created in (204, 409), created
            connection = request_in_flight(server)
            server.process.send_signal(first)
            wait_until_it_has_stopped_listening(server)
            assert server.process.poll() is None, "the server waits for the request"
            server.process.send_signal(second)
            equal(server.wait(), 130)
            connection.close()
        with serve(binary, directory) as server:
            equal(status(server, "POST", "/Tables", {"TableName": "kept"}), 409)


def test_a_hangup_never_stops_a_server(binary, directory):
    """A SIGHUP with nothing to reload is logged."""
    with serve(binary, directory) as server:
        for times in (1, 2):
            server.process.send_signal(signal.SIGHUP)
            while server.said().count("nothing to reload") < times:
                assert server.process.poll() is None, server.said()
        equal(status(server), 200)
        equal(server.stop(), 0)
    contains(run(binary, directory, "serve", "--help")[1], "it never stops the server")


class SilentIssuer:
    """Publishes its keys once; further requests get no response."""

    def __init__(self, keys):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.keys, self.asked_again = json.dumps({"keys": keys}).encode(), threading.Event()
        threading.Thread(target=self.listen, daemon=True).start()

    def url(self):
        return f"http://127.0.0.1:{self.listener.getsockname()[1]}/keys"

    def listen(self):
        with self.listener.accept()[0] as first:
            first.recv(65536)
            first.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(self.keys) + self.keys)
        waiting = []
        while True:
            waiting.append(self.listener.accept()[0])
            self.asked_again.set()


def test_a_signal_is_handled_while_keys_are_reloaded(binary, directory):
    """An issuer that did not respond prevented the server from handling a signal to stop."""
    issuer = SilentIssuer([Issuer(directory, "key").jwk()])
    flags = ("--oauth-issuer", ISSUER, "--oauth-audience", AUDIENCE, "--oauth-jwks", issuer.url())
    with serve_memory(binary, directory, *flags) as server:
        for _ in range(3):
            server.process.send_signal(signal.SIGHUP)
        assert issuer.asked_again.wait(HANG_SECONDS), server.said()
        equal(status(server), 200, "requests are served meanwhile")
        equal(server.stop(), 0)
        assert "failed to reload" not in server.said(), "the server waited for the reload"


def test_a_certificate_that_has_become_a_pipe_is_not_waited_for(binary, directory):
    with serve_memory(binary, directory, f"--self-signed={directory}/tls") as server:
        files = os.listdir(os.path.join(directory, "tls"))
        assert files, "the certificate exists"
        for file in files:
            os.remove(os.path.join(directory, "tls", file))
            os.mkfifo(os.path.join(directory, "tls", file))
        server.process.send_signal(signal.SIGHUP)
        given_up = time.monotonic() + HANG_SECONDS
        while "not a regular file" not in server.said():
            assert server.process.poll() is None and time.monotonic() < given_up, server.said()
        equal(server.stop(), 0)


def test_an_idle_server_stops(binary, directory):
    for how in (signal.SIGTERM, signal.SIGINT):
        with serve(binary, directory) as server:
            idle = [socket.create_connection((server.host, server.port), HANG_SECONDS) for _ in range(50)]
            client = Client(server)
            equal(client.ask("GET", "/Tables").status, 200)
            equal(server.stop(how), 0)
            for connection in idle:
                connection.close()


def test_a_signal_at_any_moment_of_the_start(binary, directory):
    """However early the signal comes, the server ends, and the next one starts."""
    for _ in range(20):
        server = serve(binary, directory, wait=False)
        with server:
            server.process.send_signal(signal.SIGTERM)
            code = server.wait()
            assert code in (0, -signal.SIGTERM), (code, server.said())
    with serve(binary, directory) as server:
        equal(status(server), 200)
