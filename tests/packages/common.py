"""Shared by the tests of the packages: the packages, skips, and a server that a package starts."""

import http.client
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CACHE = pathlib.Path(os.environ.get("LAZULI_TEST_CACHE", ROOT / "target" / "test-deps"))
# Nothing here takes this long unless it hangs.
HANG_SECONDS = 600
# Compiling everything, while other suites run.
LONG_SECONDS = 3600
# The ready lines of Lazuli, and those of Azurite.
LISTENS = re.compile(r"(blob|queue|table)(?:s on| service is successfully listening at) http://([\d.]+):(\d+)", re.I)


class Skip(Exception):
    """The test cannot run here. The text says why."""


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            raise Skip(f"{program} is not installed")


def need_root():
    if os.geteuid() != 0:
        raise Skip("only root can change the root directory")


def run(*command, code=0, **options):
    """Runs a command to its end, expects an exit code, and returns both of its outputs together."""
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", **{"env": environment(), "timeout": HANG_SECONDS, **options})
    assert done.returncode == code, f"{command}: exit {done.returncode}, wanted {code}\n{done.stdout}"
    return done.stdout


def environment(**more):
    """The environment without settings of a server."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("LAZULI_", "AZURITE_"))} | more


class Packages:
    """The packages of one binary, each format built when a test first asks for it."""

    def __init__(self, binary, scratch):
        self.scratch, self.built = scratch, {}
        self.binary = scratch / "binary" / "lazuli"
        run(ROOT / "packaging" / "build-binary", scratch / "binary", "--from", os.path.abspath(binary))
        # Beside the binary, it would be packaged too, which takes long.
        self.debug = self.binary.with_name("lazuli.debug").rename(scratch / "lazuli.debug")
        self.version = run(self.binary, "--version").split()[1]

    def build(self, form, **options):
        """Builds one format into a directory of its own; returns the paths of the packages."""
        return self.once((form, *options.items()), lambda out: build(form, self.binary, out, **options))

    def once(self, key, make):
        """The result of a function that runs in an empty directory, and only once."""
        if key not in self.built:
            self.built[key] = make(pathlib.Path(tempfile.mkdtemp(dir=self.scratch)))
        return self.built[key]


def build(form, binary, out, env=None, **options):
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    shown = run(ROOT / "packaging" / f"build-{form}", "--binary", binary, "--out", out, *words, env=env or environment())
    paths = [pathlib.Path(line) for line in shown.splitlines()]
    assert paths and all(path.parent == out and path.is_file() for path in paths), shown
    return paths


class Started:
    """A server started by a command of a package. It is ready when the constructor returns."""

    def __init__(self, *command, services=3, **options):
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=self.errors, text=True,
                                        **{"env": environment(), **options})
        self.output, self.addresses, self.services = "", {}, services
        timer = threading.Timer(HANG_SECONDS, self.process.kill)
        timer.start()
        try:
            while not self.is_ready():
                line = self.process.stdout.readline()
                assert line, f"{command} ended before it was ready: {self.output}{self.said()}"
                self.output += line
                for service, host, port in LISTENS.findall(line):
                    self.addresses[service.lower()] = (host.replace("0.0.0.0", "127.0.0.1"), int(port))
        finally:
            timer.cancel()

    def is_ready(self):
        return len(self.addresses) == self.services

    def said(self):
        size = os.fstat(self.errors.fileno()).st_size
        return os.pread(self.errors.fileno(), size, 0).decode(errors="replace")

    def status(self, service, path="/devstoreaccount1?comp=list"):
        """The status of a request without a signature: 403 comes from a server that speaks the protocol."""
        connection = http.client.HTTPConnection(*self.addresses[service], timeout=HANG_SECONDS)
        try:
            connection.request("GET", path, headers={"x-ms-version": "2019-02-02"})
            response = connection.getresponse()
            return response.status, response.getheader("Server", "")
        finally:
            connection.close()

    def check_services(self):
        for service in self.addresses:
            status, server = self.status(service)
            assert status in (401, 403, 404) and server, f"{service}: {status} from {server!r}"

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        return self.process.wait(HANG_SECONDS)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.errors.close()


MEMORY = ["--inMemoryPersistence", "--blobPort", "0", "--queuePort", "0", "--tablePort", "0"]
