"""Clients of the attacks: heads that are signed by hand, and the memory that the server reports."""

import base64
import email.utils
import hashlib
import hmac
import http.client
import re
import socket
import urllib.parse

from lazuli import ACCOUNT, HANG_SECONDS, KEY


class BlobClient:
    """Signs requests to the Blob or Queue service, and streams bodies in both directions."""

    def __init__(self, server, service="Blob"):
        self.service = service
        address = re.search(service + r"Endpoint=http://([^/;]+)/", server.output).group(1)
        self.host, port = address.rsplit(":", 1)
        self.port = int(port)

    def head(self, method, path, length=None, fields=None, content_type=""):
        fields = {"x-ms-date": email.utils.formatdate(usegmt=True), "x-ms-version": "2021-12-02", **(fields or {})}
        if method == "PUT" and "?" not in path and self.service == "Blob":
            fields.setdefault("x-ms-blob-type", "BlockBlob")
        name, _, query = path.partition("?")
        pairs = sorted(urllib.parse.unquote(pair).replace("=", ":", 1) for pair in query.split("&") if pair)
        resource_lines = [f"/{ACCOUNT}/{ACCOUNT}{name}", *pairs]
        canonical = [f"{key}:{fields[key]}" for key in sorted(fields)]
        text = "\n".join([method, "", "", str(length or ""), "", content_type, *[""] * 6, *canonical, *resource_lines])
        signature = hmac.new(base64.b64decode(KEY), text.encode(), hashlib.sha256).digest()
        fields["Authorization"] = f"SharedKey {ACCOUNT}:{base64.b64encode(signature).decode()}"
        fields |= {"Host": f"{self.host}:{self.port}", "Content-Length": str(length or 0)}
        if content_type:
            fields["Content-Type"] = content_type
        lines = [f"{method} /{ACCOUNT}{path} HTTP/1.1", *(f"{key}: {value}" for key, value in fields.items())]
        return ("\r\n".join(lines) + "\r\n\r\n").encode()

    def ask(self, method, path, length=None, pieces=(), fields=None):
        """Sends a request piece by piece. Returns the status and the number of bytes of the response's body."""
        with socket.create_connection((self.host, self.port), timeout=HANG_SECONDS) as sock:
            sock.sendall(self.head(method, path, length, fields))
            for piece in pieces:
                sock.sendall(piece)
            response = http.client.HTTPResponse(sock, method=method)
            response.begin()
            received = 0
            while piece := response.read(256 * 1024):
                received += len(piece)
            return response.status, received


def texts(blob, path, name):
    """The texts of all elements of this name in a document of the server."""
    with socket.create_connection((blob.host, blob.port), timeout=HANG_SECONDS) as sock:
        sock.sendall(blob.head("GET", path))
        response = http.client.HTTPResponse(sock)
        response.begin()
        return re.findall(f"<{name}>(.*?)</{name}>", response.read().decode())


def metrics(server):
    """What the admin listener reports, as text."""
    host, port = server.admin.rsplit(":", 1)
    connection = http.client.HTTPConnection(host, int(port), timeout=HANG_SECONDS)
    try:
        connection.request("GET", "/metrics")
        return connection.getresponse().read().decode()
    finally:
        connection.close()


def reported_bound(server):
    """The bound that the server computes by the formula of docs/operate.md."""
    return int(re.search(r"^lazuli_memory_max_bytes (\d+)$", metrics(server), re.MULTILINE).group(1))


def peak(server):
    """The peak memory of the server, and how it was measured: by its allocator, in a build that counts, or else by the
    system."""
    counted = re.search(r"^lazuli_allocated_peak_bytes (\d+)$", metrics(server), re.MULTILINE)
    return (int(counted.group(1)), "allocated") if counted else (memory(server), "resident")


def resident(server):
    """The memory that the process has now."""
    with open(f"/proc/{server.process.pid}/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmRSS:"))


def memory(server):
    """The peak memory of the process."""
    with open(f"/proc/{server.process.pid}/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM:"))


def signed_head(client, method, path, length, content_type="application/json"):
    """A head with a good signature; a body of this length, or in chunks."""
    date, target = email.utils.formatdate(usegmt=True), f"/{client.account}{path}"
    framing = "Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}"
    return (f"{method} {target} HTTP/1.1\r\nHost: localhost\r\nx-ms-date: {date}\r\nx-ms-version: 2019-02-02\r\n"
            f"Authorization: {client.sign(target, date)}\r\nAccept: application/json;odata=nometadata\r\n"
            f"Content-Type: {content_type}\r\n{framing}\r\n\r\n").encode()


def exchange(server, request):
    """Sends a whole request on a connection of its own and reads the response. Returns its status."""
    with socket.create_connection((server.host, server.port), timeout=10 * HANG_SECONDS) as sock:
        try:
            sock.sendall(request)
        except (BrokenPipeError, ConnectionResetError):
            # The server has sent its response early and reads no more.
            pass
        response = http.client.HTTPResponse(sock)
        response.begin()
        while response.read(256 * 1024):
            pass
        return response.status
