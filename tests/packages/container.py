"""Runs in a network namespace of its own: starts a container's command in its root directory and checks it over the loopback.

    unshare --net python3 container.py TASK     as JSON, from image.py

Not a module with tests: image.py starts it. The container's ports are fixed, so they need a network where they are free.
"""

import base64
import email.utils
import fcntl
import hashlib
import hmac
import http.client
import json
import os
import pathlib
import socket
import struct
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))

from lazuli import ACCOUNT, KEY  # noqa: E402 - the path comes first

DEADLINE_SECONDS = 90
VERSION = "2019-02-02"
PORTS = {"blob": 10000, "queue": 10001, "table": 10002}
SIOCSIFFLAGS, IFF_UP, IFF_RUNNING = 0x8914, 1, 64


def loopback_up():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sh", b"lo", IFF_UP | IFF_RUNNING))


def inside(task, command):
    """A command line that runs in the container's root, as its user."""
    user, group = task["user"].split(":")
    search = task["environment"]["PATH"].split(":")
    program = command[0] if command[0].startswith("/") else next(
        f"{folder}/{command[0]}" for folder in search if os.path.lexists(f"{task['root']}{folder}/{command[0]}"))

    def enter():
        os.chroot(task["root"])
        os.chdir(task["directory"])
        os.setgroups([])
        os.setgid(int(group))
        os.setuid(int(user))

    return {"args": [command[0], *command[1:]], "executable": program, "env": task["environment"], "preexec_fn": enter}


def wait_until_healthy(task, process):
    """The health check of the image, as a runtime repeats it."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while True:
        checked = subprocess.run(**inside(task, task["health"]), capture_output=True, text=True)
        if checked.returncode == 0:
            return
        if process.poll() is not None or time.monotonic() > deadline:
            raise SystemExit(f"the container is not healthy: {checked.stdout}{checked.stderr}")
        time.sleep(0.05)


def status_of(service, port):
    """The status of a listing that is signed with the public key of the development account."""
    date, path = email.utils.formatdate(usegmt=True), f"/{ACCOUNT}/Tables" if service == "table" else f"/{ACCOUNT}?comp=list"
    resource = f"/{ACCOUNT}{path}"
    signed = f"{date}\n{resource}" if service == "table" else f"GET\n\n\n\nx-ms-date:{date}\nx-ms-version:{VERSION}\n{resource}"
    signature = base64.b64encode(hmac.new(base64.b64decode(KEY), signed.encode(), hashlib.sha256).digest()).decode()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE_SECONDS)
    try:
        connection.request("GET", path, headers={"x-ms-date": date, "x-ms-version": VERSION, "Accept": "application/json",
                                                 "Authorization": f"SharedKeyLite {ACCOUNT}:{signature}"})
        return connection.getresponse().status
    finally:
        connection.close()


def check(task):
    """The public key opens every service, or none."""
    wanted = 200 if task["accounts"] == "development" else 403
    for service, port in PORTS.items():
        status = status_of(service, port)
        if status != wanted:
            raise SystemExit(f"{service}: status {status}, wanted {wanted}")


def main():
    task = json.loads(sys.argv[1])
    loopback_up()
    process = subprocess.Popen(**inside(task, task["command"]))
    try:
        wait_until_healthy(task, process)
        check(task)
        process.terminate()
        if process.wait(DEADLINE_SECONDS) != 0:
            raise SystemExit(f"the container ended with {process.returncode}")
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    print("all ports serve")


if __name__ == "__main__":
    main()
