#!/usr/bin/env python3
"""Runs the examples of README.md as they are printed, against a server of its own: WR-15, and docs that run.

    tests/readme.py --binary target/release/lazuli --venv DIR --modules DIR [NAME...]

The Python ones need the official SDKs in the venv, the JavaScript ones below the modules folder. The binary may be the command of
a package. Names select examples.
"""
import argparse
import contextlib
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def block(language, containing):
    """The code block of README that contains a word."""
    for text in re.findall(rf"```{language}\n(.*?)```", (ROOT / "README.md").read_text(), re.S):
        if containing in text:
            return text
    raise SystemExit(f"README.md has no {language} example with {containing}")


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def run(name, command, expected, cwd):
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=120)
    if done.returncode == 0 and expected in done.stdout:
        print(f"ok      {name}")
        return True
    print(f"FAILED  {name}: exit {done.returncode}, wanted {expected!r}\n{done.stdout}{done.stderr}")
    return False


@contextlib.contextmanager
def started(binary):
    """A server, by its connection string. It stops whatever happens."""
    with subprocess.Popen([os.path.abspath(binary), "serve", "--engine", "memory:", "--table-port", "0"], stdout=subprocess.PIPE,
                          text=True) as server:
        try:
            yield next(line.strip() for line in server.stdout if "TableEndpoint=" in line)
        finally:
            server.terminate()


def examples(options, connection, folder):
    """The examples: a name, a command, and a part of what it must print."""
    endpoints = {usual: re.search(rf"{service}Endpoint=http://([^/]+)/", connection).group(1)
                 for service, usual in [("Blob", 10000), ("Queue", 10001), ("Table", 10002)]}
    path = f"PATH={os.path.dirname(os.path.abspath(options.binary))}:$PATH\n"

    def local(text):
        for usual, address in endpoints.items():
            text = text.replace(f"127.0.0.1:{usual}", address)
        return text

    def python(word):
        return [f"{options.venv}/bin/python", "-c", local(block("python", word))]

    def shell(text, flags="-c"):
        return ["bash", flags, path + text]

    # The accounts are added to a server that runs. The second server runs until it has printed where it listens.
    accounts = ("trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\nlazuli serve --table-port 0 > shop.log &\nuntil grep -q TableEndpoint= shop.log; do sleep 0.05; done\n"
                + block("sh", "LAZULI_ACCOUNTS=").rstrip()
                + " > blog.log &\nuntil grep 'endpoint of account blog' blog.log; do sleep 0.05; done\nkill $(jobs -p); wait")
    tokens = block("sh", "lazuli token").replace("11000", str(free_port())) + "wait"
    daily = f"export AZURE_STORAGE_CONNECTION_STRING='{connection}'\n" + block("sh", "lazuli table create")

    yield "curl", ["bash", "-c", local(block("sh", "curl -sS"))], '"Name":"Tom"'
    yield "daily work", shell(daily, "-ec"), '"Name":"Bubo"'
    yield "accounts", shell(accounts, "-ec"), "endpoint of account blog"
    yield "tokens", shell(tokens, "-ec"), "<Containers"
    yield "sas", shell(block("sh", "lazuli sas table")), "allows     query"
    yield "python", python("TableServiceClient"), "Ada"
    yield "python queue", python("QueueClient"), "water the plants"
    yield "python blob", python("BlobServiceClient"), "hello.txt 12"
    yield "curl queue", shell(local(block("sh", "jobs-curl"))), "water the plants"
    yield "curl blob", shell(local(block("sh", "files-curl"))), "hello, curl"
    (pathlib.Path(folder) / "node_modules").symlink_to(os.path.abspath(options.modules))
    for word, expected in [("TableClient", "Ada"), ("QueueServiceClient", "water"), ("BlobServiceClient", "hello")]:
        script = pathlib.Path(folder) / f"{word}.mjs"
        script.write_text(local(block("js", word)))
        yield f"javascript {word}", ["node", str(script)], expected


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--binary", required=True)
    arguments.add_argument("--venv", default="none")
    arguments.add_argument("--modules", default="none")
    arguments.add_argument("names", nargs="*")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder, started(options.binary) as connection:
        chosen = [example for example in examples(options, connection, folder) if not options.names or example[0] in options.names]
        results = [run(*example, cwd=folder) for example in chosen]
    print(f"{results.count(True)} passed, {results.count(False)} failed")
    return 0 if results and all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
