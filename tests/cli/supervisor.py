"""Service managers: the server tells systemd when it is ready, that it is alive, and that it stops."""

import os
import socket

from common import equal, serve_memory, status
from lazuli import HANG_SECONDS


def manager(address):
    """The socket of a service manager, at a path or at an abstract address."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    listener.bind(address)
    listener.settimeout(HANG_SECONDS)
    return listener


def test_the_manager_is_notified_of_every_stage(binary, directory):
    path = os.path.join(directory, "notify")
    abstract = f"lazuli-{os.getpid()}"
    for variable, address in ((path, path), (f"@{abstract}", f"\0{abstract}")):
        with manager(address) as listener:
            env = {"NOTIFY_SOCKET": variable, "WATCHDOG_USEC": "20000"}
            with serve_memory(binary, directory, env=env) as server:
                equal(listener.recv(100), b"READY=1", variable)
                equal(status(server), 200)
                for _ in range(3):
                    equal(listener.recv(100), b"WATCHDOG=1")
                server.process.terminate()
                heard = b"WATCHDOG=1"
                while heard == b"WATCHDOG=1":
                    heard = listener.recv(100)
                equal(heard, b"STOPPING=1")
                equal(server.wait(), 0)


def test_a_watchdog_of_another_process_gets_no_notifications(binary, directory):
    path = os.path.join(directory, "notify")
    with manager(path) as listener:
        env = {"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "1", "WATCHDOG_PID": "1"}
        with serve_memory(binary, directory, env=env) as server:
            equal(server.stop(), 0)
        equal([listener.recv(100), listener.recv(100)], [b"READY=1", b"STOPPING=1"])


def test_a_manager_that_is_gone_does_not_stop_the_server(binary, directory):
    with serve_memory(binary, directory, env={"NOTIFY_SOCKET": os.path.join(directory, "nobody")}) as server:
        equal(status(server), 200)
        equal(server.stop(), 0)
        assert "failed to notify the service manager (READY=1)" in server.said(), server.said()
