"""A database that is slow, or silent for a while: health checks succeed, and nothing is lost or stays broken."""

import http.client
import os
import re
import select
import socket
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from lazuli import HANG_SECONDS, Client, Server, entity_path  # noqa: E402

TABLE = "slow"
WRITES = 20
# Additional delay of every message, in each direction.
DELAY_SECONDS = 0.03
# After a silence, a front end finds out within this number of requests that its database is back.
ATTEMPTS_MAX = 200


class Proxy:
    """Passes bytes on between front ends and the database; slowly, or not at all while it is held."""

    def __init__(self, port):
        self.target, self.delay = ("127.0.0.1", port), 0
        self.flows, self.waits = threading.Event(), threading.Event()
        self.flows.set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
                server = socket.create_connection(self.target)
            except OSError:
                return
            for one, other in ((client, server), (server, client)):
                threading.Thread(target=self.pump, args=(one, other), daemon=True).start()

    def pump(self, one, other):
        try:
            while piece := one.recv(65536):
                if self.delay:
                    select.select([], [], [], self.delay)
                if not self.flows.is_set():
                    self.waits.set()
                    self.flows.wait()
                other.sendall(piece)
        except OSError:
            pass
        one.close()
        other.close()

    def hold(self):
        """From now on nothing passes."""
        self.waits.clear()
        self.flows.clear()

    def close(self):
        self.flows.set()
        self.listener.close()


def status_of(address, path):
    connection = http.client.HTTPConnection(*address, timeout=HANG_SECONDS)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        response.read()
        return response.status
    finally:
        connection.close()


def health(server):
    """The statuses of everything that load balancers and monitoring ask for."""
    admin = re.search(r"http://([\d.]+):(\d+)/readyz", server.output)
    admin = (admin.group(1), int(admin.group(2)))
    return [status_of((server.host, server.port), "/-/health"), status_of(admin, "/readyz"), status_of(admin, "/metrics")]


def put(client, row):
    try:
        return client.ask("PUT", entity_path(TABLE, "p", row), {"N": row}).status
    except (OSError, http.client.HTTPException):
        return 0


def run(postgres, binary):
    postgres.database("slow")
    proxy = Proxy(postgres.port)
    with Server(binary, "--engine", postgres.url("slow", port=proxy.port) + "?pool=4") as server, Client(server) as client:
        assert client.ask("POST", "/Tables", {"TableName": TABLE}).status == 204
        proxy.delay = DELAY_SECONDS
        statuses = [put(client, row) for row in range(WRITES)]
        assert statuses == [204] * WRITES, statuses
        assert health(server) == [200, 200, 200]
        proxy.delay = 0

        proxy.hold()
        results = []
        writer = threading.Thread(target=lambda: results.append(put(Client(server), "held")))
        writer.start()
        proxy.waits.wait(HANG_SECONDS)
        found = health(server)
        assert found == [503, 503, 200], f"while the database is silent: {found}"
        assert writer.is_alive(), "health checks took longer than the longest request"
        proxy.flows.set()
        writer.join(HANG_SECONDS)
        assert results and results[0] in (204, 500, 503), results

        for _ in range(ATTEMPTS_MAX):
            if put(client, "after") == 204:
                break
        else:
            raise AssertionError("the front end does not recover")
        for row in range(WRITES):
            assert client.ask("GET", entity_path(TABLE, "p", row)).status == 200, row
        if results[0] == 204:
            assert client.ask("GET", entity_path(TABLE, "p", "held")).status == 200
        assert server.stop() == 0, server.said()
        assert "panicked" not in server.said(), server.said()
    proxy.close()
