"""Every command's help has examples, and they run as they are printed.

An example is a line under "Examples:" that starts with two spaces and a command; what follows after three spaces is a remark. A
line that ends in a backslash continues on the next one. It runs in a directory with a server whose data is in ./lazuli-data, as if
that server were at the default port. Commands that take long are shortened with flags of the same command.
"""

import json
import os
import re
import shutil
import signal
import subprocess

from common import connection_string, contains, equal, run, serve
from tls import openssl_certificate
from lazuli import HANG_SECONDS, KEY, Client, Server

# Flags that make an example short, by its first words: they replace the example's values, or are added.
SHORT = {
    "lazuli bench": "--slice 0.1 --rounds 1 --entities 100 --connections 2 --deep 1000 --stock 64 --workload get",
    "lazuli conformance": "--filter etags",
    "lazuli soak": "--minutes 0.05 --workers 2",
    "lazuli trial sequences": "--count 3",
    "lazuli trial histories": "--count 3",
    "lazuli trial bank": "--seconds 1 --kills 1",
    "lazuli trial ring": "--seconds 1 --kills 1",
}
# Examples that are not run, by a part of them, each with the requirement that is missing here.
NOT_RUN = {
    "--ca-file front.pem": "a front that speaks TLS for another name",
    "postgres://": "a database",
    "lazuli bench --growth": "minutes, for hundreds of thousands of entities",
    "--follow": "it runs until it is stopped; watching.py tests it",
    "lazuli azurite": "it prints other ready lines; azurite.py waits for those",
    "lazuli blob undelete": "an account that keeps deleted blobs",
    "--from-azurite": "data of Azurite; tests/client/migrate.py makes some",
    "--ca-file certs/ca.pem": "a server with that certificate; tls.py starts one",
    "curl -H": "a server with --oauth dev; bearer.py starts one",
    "lazuli logs -l": "a stopped server; accounts.py stops one",
}
# Help texts whose examples create the queues and containers that they use.
EMPTY = {("queue",), ("queue", "create"), ("container",), ("container", "create"), ("blob",)}
# Commands that work on a store that no server has open.
STOPPED = {"check"}


def helps(binary, directory, path=()):
    """The help of a command and of all commands below it."""
    text = run(binary, directory, *path, "--help")[1]
    commands = re.search(r"^Commands:\n((?:  .*\n|\n)*)", text, re.M)
    names = re.findall(r"^  ([a-z][a-z-]*)", commands.group(1), re.M) if commands else []
    yield path, text
    for name in names:
        if name != "help":
            yield from helps(binary, directory, (*path, name))


def examples(text):
    """The commands under "Examples:"."""
    section = re.search(r"^Examples:\n((?:  .*\n)+)", text, re.M)
    lines = section.group(1).splitlines() if section else []
    found = []
    for line in lines:
        if found and found[-1].endswith("\\"):
            found[-1] += "\n" + line
            continue
        assert re.match(r"  (lazuli|[A-Z_]+=\S+ lazuli|kill|curl)\b", line), f"neither a command nor the rest of one: {line!r}"
        found.append(re.split(r" {3,}", line.strip())[0])
    return found


# A key of an issuer, as the standard's own example has it.
PUBLIC_KEY = {"kty": "EC", "crv": "P-256", "use": "sig", "kid": "1", "x": "MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4",
              "y": "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"}


class Sandbox:
    """A directory, a server with some data, and a shell."""

    def __init__(self, binary, directory, path):
        command = path[0] if path else None
        self.binary, self.directory, self.server, self.data = binary, directory, None, "lazuli-data"
        os.mkdir(directory)
        for folder in ("bin", "backups"):
            os.mkdir(os.path.join(directory, folder))
        os.symlink(binary, os.path.join(directory, "bin", "lazuli"))
        if command == "serve":
            self.data = "elsewhere"
            certificate, key = openssl_certificate(directory, "chain")
            shutil.copy(key, os.path.join(directory, "key.pem"))
            with open(os.path.join(directory, "jwks.json"), "w") as file:
                json.dump({"keys": [PUBLIC_KEY]}, file)
        if command == "config":
            with open(os.path.join(directory, "lazuli.toml"), "w") as file:
                file.write("quiet = true\nmax-connections = 500\n")
        if command in ("serve", "config", "bench", "trial", "soak", "completions", "man"):
            return
        self.server = Server(binary, *(("--events", "queue:changes") if command == "events" else ()), directory=directory)
        if command != "account":
            equal(run(binary, directory, "account", "add", "shop", "--key1", KEY, "--key2", KEY)[0], 0)
        if command != "conformance":
            self.fill()
        if command in ("queue", "message", "container", "blob", None):
            self.fill_storage(path)
        if "export" in path and command != "message":
            self.run("lazuli export people --directory seed && lazuli import seed/people.jsonl --location stopped")
            self.data = "stopped"
        if command in ("check", "restore"):
            self.run("lazuli backup /backups/monday")
        if command in STOPPED:
            self.close()
            self.server = None

    def fill(self):
        with Client(self.server) as client:
            equal(client.ask("POST", "/Tables", {"TableName": "people"}).status, 204)
            for row, name in enumerate(("Ada", "Alan", "Barbara")):
                entity = {"PartitionKey": name[0].lower(), "RowKey": str(row), "Name": name, "Age": 30 + row}
                equal(client.ask("POST", "/people", entity).status, 204)

    def fill_storage(self, path):
        for name, text in (("report.pdf", "report"), ("site/index.html", "<html>"), ("work.txt", "one\ntwo\n"), ("data.tar", "data"),
                           ("work.jsonl", '"one"\n'), ("today.log", "line\n"), ("disk.vhd", "x" * 512)):
            os.makedirs(os.path.join(self.directory, os.path.dirname(name)), exist_ok=True)
            with open(os.path.join(self.directory, name), "w") as file:
                file.write(text)
        if path in EMPTY:
            return
        for queue in ("jobs", "jobs-poison", "other"):
            self.run(f"lazuli queue create {queue} && lazuli message put {queue} one two three")
        for container in ("files", "archive", "backups", "site-content"):
            self.run(f"lazuli container create {container}")
        if path and path != ("blob", "upload"):
            for blob in ("files/report.pdf", "files/2025/old.pdf", "files/2026/january.pdf", "backups/data.tar"):
                self.run(f"lazuli blob upload report.pdf {blob}")
            os.remove(os.path.join(self.directory, "report.pdf"))
        if path == ("blob", "pages"):
            self.run("lazuli blob upload disk.vhd files --type page")
        if path == ("blob", "rehydrate"):
            self.run("lazuli blob tier files/report.pdf Archive")

    def printed(self, command):
        done = subprocess.run(["bash", "-c", command], cwd=self.directory, env=self.environment(), capture_output=True,
                              timeout=HANG_SECONDS, text=True)
        equal(done.returncode, 0, f"{command}\n{done.stderr}")
        return done.stdout

    def local(self, text):
        """The example, adapted to this sandbox."""
        for shown, here in [("BASE64KEY", KEY), ("/var/lib/lazuli", f"{self.directory}/{self.data}"), ("/var/tmp", self.directory),
                            ("/backups", f"{self.directory}/backups"), ("/etc/lazuli", self.directory)]:
            text = text.replace(shown, here)
        if "node_modules/.bin/azurite" in text:
            text = text.replace("node_modules/.bin/azurite", self.peer())
        if " ID RECEIPT" in text:
            held = json.loads(self.printed("lazuli message get jobs"))
            text = text.replace(" ID RECEIPT", f" {held['MessageId']} {held['PopReceipt']}")
        if "--snapshot TIME" in text:
            text = text.replace("TIME", self.printed("lazuli blob snapshot files/report.pdf").strip())
        if "--since TIME" in text:
            text = text.replace("TIME", self.printed("lazuli blob snapshot files/disk.vhd").strip())
        if self.server:
            text = text.replace("'UseDevelopmentStorage=true'", f"'{self.connection_string()}'")
            text = text.replace("10019", self.admin_port())
            text = text.replace("127.0.0.1:10002", f"127.0.0.1:{self.server.port}").replace("PID", str(self.server.process.pid))
        return text

    def admin_port(self):
        """The port that the server has chosen."""
        path = os.path.join(self.directory, "lazuli-data", "admin.json")
        if not os.path.exists(path):
            return "10019"
        with open(path) as file:
            return json.load(file)["address"].rsplit(":", 1)[1]

    def connection_string(self):
        return connection_string(self.server)

    def peer(self):
        """Our program under the name `azurite`, whose flags it accepts."""
        path = os.path.join(self.directory, "bin", "azurite")
        with open(path, "w") as file:
            file.write(f'#!/bin/sh\nexec {self.binary} "$@"\n')
        os.chmod(path, 0o755)
        return path

    def environment(self):
        environment = {k: v for k, v in os.environ.items() if not k.endswith("_ACCOUNTS") and not k.startswith("AZURE_")}
        environment["PATH"] = os.path.join(self.directory, "bin") + os.pathsep + environment["PATH"]
        if self.server:
            environment["AZURE_STORAGE_CONNECTION_STRING"] = self.connection_string()
        return environment

    def run(self, example):
        command = shortened(self.local(example))
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", command], cwd=self.directory, env=self.environment(),
                              capture_output=True, timeout=HANG_SECONDS, text=True)
        equal(done.returncode, 0, f"{command}\n{done.stdout}{done.stderr}")

    def signal(self, example):
        """A signal to a server with files that it reads again."""
        with serve(self.binary, self.directory, "--tls-cert", "chain.pem", "--tls-key", "key.pem") as self.server:
            self.run(example)
            self.close()
        self.server = None

    def serve(self, example):
        """An example that runs until it is stopped: it starts on a free port, and it stops."""
        command = self.local(example)
        command += "" if "--table-port" in command else " --table-port 0"
        command += "" if "--admin-port" in command or "--engine" in command else " --admin-port 0"
        command += f" --location {self.directory}/elsewhere" if self.server and "--location" not in command else ""
        command = re.sub(r"\blazuli\b(?=( |$))", "exec lazuli", command, count=1)
        process = subprocess.Popen(["bash", "-c", command], cwd=self.directory, env=self.environment(),
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        said = ""
        for line in process.stdout:
            said += line
            if "tables on" in line:
                process.send_signal(signal.SIGTERM)
                break
        said += process.stdout.read()
        equal(process.wait(HANG_SECONDS), 0, f"{command}\n{said}")
        contains(said, "tables on")

    def close(self):
        if self.server:
            equal(self.server.stop(), 0)


def shortened(command):
    """The command with the flags that make it short."""
    for start, flags in SHORT.items():
        for flag, value in re.findall(r"(--\S+) (\S+)", flags) if command.startswith(start) else ():
            command = re.sub(rf" {flag} \S+", "", command) + f" {flag} {value}"
    return command


def serves(example):
    """Does it run until it is stopped?"""
    return "--help" not in example and re.search(r"(^| )lazuli( serve\b|( --?\S.*)?$)", example) is not None


def test_examples_of_every_help_run(binary, directory):
    missing, run_count, not_run = [], 0, set()
    for number, (path, text) in enumerate(helps(binary, directory)):
        found = examples(text)
        if not found:
            missing.append(" ".join(path))
        sandbox = Sandbox(binary, os.path.join(directory, str(number)), path)
        # The help of one of several commands may rely on the effect of another one.
        if len(path) == 2 and path[0] == "account" and path[1] != "add":
            sandbox.run("lazuli account add shop")
        for example in found:
            reasons = [part for part in NOT_RUN if part in example]
            not_run.update(reasons)
            if reasons:
                continue
            run_one = sandbox.signal if example.startswith("kill") else sandbox.serve if serves(example) else sandbox.run
            run_one(example)
            run_count += 1
        sandbox.close()
        shutil.rmtree(sandbox.directory)
    equal(missing, [], "commands whose help has no example")
    equal(set(NOT_RUN) - not_run, set(), "reasons not to run an example that is gone")
    assert run_count > 20, run_count


def test_how_examples_are_read(_binary, _directory):
    text = "Usage: x\n\nExamples:\n  lazuli a b   remark\n  A=1 lazuli c \\\n      --d   # no remark\n  lazuli e\n\nMore: f\n"
    equal(examples(text), ["lazuli a b", "A=1 lazuli c \\\n      --d   # no remark", "lazuli e"])
    for example, wanted in [("lazuli", True), ("lazuli serve -l x", True), ("A=1 lazuli serve", True), ("lazuli --loose", True),
                            ("lazuli sas table serve", False), ("lazuli serve --help", False), ("lazuli account list", False)]:
        equal(serves(example), wanted, example)
    equal(shortened("lazuli soak --minutes 60 --seed 1"), "lazuli soak --seed 1 --minutes 0.05 --workers 2")
