"""A server process and a client that signs by hand, for suites that need nothing but Python."""

import base64
import email.utils
import hashlib
import hmac
import http.client
import json
import os
import re
import signal
import subprocess
import tempfile
import types

ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
# Nothing here takes this long unless it hangs.
HANG_SECONDS = 60


class NotStarted(Exception):
    """The server ended before it was ready; the text is its output."""


class Server:
    """A server process. It is ready when the constructor returns."""

    def __init__(self, binary, *args, env=None, wait=True, directory=None, command=("serve", "--table-port", "0"), prefix=()):
        environment = {k: v for k, v in os.environ.items() if not k.endswith("_ACCOUNTS")} | (env or {})
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [*prefix, os.path.abspath(binary), *command, *map(str, args)], env=environment, cwd=directory,
            stdout=subprocess.PIPE, stderr=self.errors)
        self.output = ""
        self.host, self.port = "127.0.0.1", None
        # Where each service listens: table, queue and blob.
        self.addresses = {}
        if wait:
            self.wait_until_ready()

    def wait_until_ready(self):
        """Reads the greeting, which comes in one piece when the server is ready."""
        while True:
            piece = os.read(self.process.stdout.fileno(), 65536).decode(errors="replace")
            if not piece:
                self.wait()
                raise NotStarted(self.said())
            self.output += piece
            for name, host, port in re.findall(r"(\w+)s on https?://(\[?[0-9a-f.:]+\]?):(\d+)", self.output):
                host = host.strip("[]")
                self.addresses[name] = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host), int(port)
            if "table" in self.addresses and piece.endswith("\n"):
                self.host, self.port = self.addresses["table"]
                return self

    def at(self, service):
        """The address of a service, in the form in which clients accept a server."""
        host, port = self.addresses[service]
        return types.SimpleNamespace(host=host, port=port)

    def said(self):
        """Everything printed so far to standard error."""
        # The server writes at the position of this file: seeking in order to read would make it overwrite its earlier
        # output.
        file = self.errors.fileno()
        return os.pread(file, os.fstat(file).st_size, 0).decode(errors="replace")

    def kill(self):
        """kill -9."""
        self.process.kill()
        self.close()

    def stop(self, how=signal.SIGTERM):
        """Asks the server to stop; returns its exit code."""
        self.process.send_signal(how)
        return self.wait()

    def wait(self):
        """Waits for the process to end by itself; returns its exit code."""
        try:
            return self.process.wait(HANG_SECONDS)
        finally:
            self.close()

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        if not self.process.stdout.closed:
            self.output += self.process.stdout.read().decode(errors="replace")
            self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
        self.errors.close()


class Response:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()

    @property
    def text(self):
        return self.body.decode()

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def code(self):
        return self.headers.get("x-ms-error-code", "")


class Client:
    """One connection, reopened when it breaks. Not for use by several threads."""

    def __init__(self, server, account=ACCOUNT, key=KEY, timeout=HANG_SECONDS):
        self.account, self.key = account, base64.b64decode(key)
        self.connection = http.client.HTTPConnection(server.host, server.port, timeout=timeout)

    def sign(self, path, date):
        """SharedKeyLite: the date and the resource, of whose parameters only `comp` counts."""
        comp = re.search(r"[?&](comp=\w+)", path)
        text = f"{date}\n/{self.account}{path.split('?')[0]}{'?' + comp[1] if comp else ''}"
        digest = hmac.new(self.key, text.encode(), hashlib.sha256).digest()
        return f"SharedKeyLite {self.account}:{base64.b64encode(digest).decode()}"

    def ask(self, method, path, body=None, headers=None, host_style=False):
        """Sends a signed request to a path of the account. Raises OSError or HTTPException when the connection breaks."""
        target = path if host_style else f"/{self.account}{path}"
        date = email.utils.formatdate(usegmt=True)
        fields = {
            "x-ms-date": date, "x-ms-version": "2019-02-02", "Authorization": self.sign(target, date),
            "Accept": "application/json;odata=nometadata", "Prefer": "return-no-content"}
        if isinstance(body, dict):
            body = json.dumps(body)
            fields["Content-Type"] = "application/json"
        fields |= headers or {}
        try:
            self.connection.request(method, target, body, fields)
            return Response(self.connection.getresponse())
        except BaseException:
            self.connection.close()
            raise

    def close(self):
        self.connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class StorageClient(Client):
    """A client for queues and blobs, which sign more of a request than tables do."""

    def ask(self, method, path, body=None, headers=None):
        """Sends a signed request to a path of the account. Raises OSError or HTTPException when the connection breaks."""
        target = f"/{self.account}{path}"
        fields = {"x-ms-date": email.utils.formatdate(usegmt=True), "x-ms-version": "2021-12-02"} | (headers or {})
        fields = {name.lower(): str(value) for name, value in fields.items()}
        signed = "".join(f"{name}:{fields[name]}\n" for name in sorted(fields) if name.startswith("x-ms-"))
        comp = re.search(r"[?&](comp=\w+)", path)
        resource = f"/{self.account}{target.split('?')[0]}{'?' + comp[1] if comp else ''}"
        text = "\n".join([method, fields.get("content-md5", ""), fields.get("content-type", ""), "", signed + resource])
        digest = hmac.new(self.key, text.encode(), hashlib.sha256).digest()
        fields["authorization"] = f"SharedKeyLite {self.account}:{base64.b64encode(digest).decode()}"
        try:
            self.connection.request(method, target, body, fields)
            return Response(self.connection.getresponse())
        except BaseException:
            self.connection.close()
            raise


def entity_path(table, partition, row):
    return f"/{table}(PartitionKey='{partition}',RowKey='{row}')"


def ticks(etag):
    """The version that an ETag stands for, as a number that can be compared."""
    found = re.fullmatch(r"W/\"datetime'(\d+-\d+-\d+T\d+%3A\d+%3A\d+)(?:\.(\d+))?Z'\"", etag)
    if not found:
        raise ValueError(f"not an ETag: {etag}")
    return int(re.sub(r"\D|%3A", "", found.group(1).replace("%3A", "")) + (found.group(2) or "").ljust(7, "0"))


def all_rows(client, path):
    """All entities of a query, following continuations, with their ETags."""
    after = ""
    while True:
        separator = "&" if "?" in path else "?"
        response = client.ask("GET", path + (separator + after if after else ""),
                            headers={"Accept": "application/json;odata=fullmetadata"})
        if response.status != 200:
            raise RuntimeError(f"{path}: {response.status} {response.text}")
        yield from response.json["value"]
        tokens = [(name, response.headers.get(f"x-ms-continuation-{name}"))
                  for name in ("NextPartitionKey", "NextRowKey", "NextTableName")]
        after = "&".join(f"{name}={token}" for name, token in tokens if token)
        if not after:
            return
