"""A Lazuli server process for tests: data in memory, free ports, gone when it is stopped."""

import os
import subprocess
import tempfile
import threading
import uuid

import lazuli_storage

# A start takes milliseconds. Beyond this, the server hangs.
START_SECONDS = 60
STOP_SECONDS = 30


class Lazuli:
    """A running server with the development account. It is ready when the constructor returns."""

    def __init__(self, binary=None):
        binary = binary or os.environ.get("LAZULI_BINARY") or lazuli_storage.binary()
        # Settings of the machine must not change what tests see.
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(("LAZULI_", "AZURITE_"))}
        ports = [word for service in ("blob", "queue", "table") for word in (f"--{service}-port", "0")]
        self._errors = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            [binary, "serve", "--config", os.devnull, "--engine", "memory:", *ports],
            env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self._errors, text=True)
        #: The connection string of the development account, with the ports of this server.
        self.connection_string = self._ready()
        settings = dict(part.split("=", 1) for part in self.connection_string.split(";") if part)
        #: The name of the account.
        self.account = settings["AccountName"]
        #: The key of the account, in base64.
        self.key = settings["AccountKey"]
        #: The address of each service, with the account name.
        self.blob_endpoint = settings["BlobEndpoint"]
        self.queue_endpoint = settings["QueueEndpoint"]
        self.table_endpoint = settings["TableEndpoint"]

    def _ready(self):
        """Reads the greeting up to the connection string, which the server prints when it is ready."""
        timer = threading.Timer(START_SECONDS, self._process.kill)
        timer.start()
        try:
            for line in self._process.stdout:
                if line.startswith("DefaultEndpointsProtocol="):
                    return line.strip()
        finally:
            timer.cancel()
        self.stop()
        raise RuntimeError(f"the Lazuli server did not start: {self._message}")

    def name(self, prefix="t"):
        """A name that no other test uses, valid for a table, a queue and a container. The prefix has lower-case letters only."""
        if not (prefix.isascii() and prefix.isalpha() and prefix.islower()):
            raise ValueError(f"invalid prefix {prefix!r}; expected lower-case letters")
        return prefix + uuid.uuid4().hex[:16]

    def stop(self):
        """Stops the server and forgets its data. Does nothing if it is stopped."""
        if self._process.poll() is None:
            self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        if not self._errors.closed:
            self._errors.seek(0)
            self._message = self._errors.read().decode(errors="replace").strip()
            self._errors.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
