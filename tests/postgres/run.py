#!/usr/bin/env python3
"""The server on PostgreSQL: starts one, runs the engine's tests on it, then everything that clients do through two front
ends at once.

    tests/postgres/run.py --binary target/release/lazuli [--long] [PART...]

Parts: engine (cargo test), wire (golden transcripts), python, js, go and java (the official SDKs; go and java only if named, or with --long), together (what two front ends
must agree on), objects (content of blobs in an S3 store, with faults), trial (random work beside the model, histories and bank, with
kills), copy (lazuli engine migrate and copy), tls, history (a database that went back in time), slow (a database that is slow or silent).
"""

import argparse
import os
import signal
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, "tests", "support"), HERE]

from balancer import Balancer  # noqa: E402
from lazuli import ACCOUNT, Server  # noqa: E402
from postgres import Postgres  # noqa: E402

LONG = ["go", "java"]
PARTS = ["engine", "wire", "python", "js", "together", "objects", "trial", "copy", "tls", "history", "slow"]


def engine(postgres, _):
    """Conformance at two isolation levels, long keys, versions, connections cut at every step."""
    command = ["cargo", "test", "--quiet", "-p", "lazuli-postgres", "--features", "server-tests"]
    env = os.environ | {"LAZULI_TEST_POSTGRES": postgres.url()}
    subprocess.run(command, check=True, cwd=ROOT, env=env)


SERVICES = ["table", "queue", "blob"]


class FrontEnds:
    """Two front ends on a database of their own, and for each service one address for both."""

    def __init__(self, postgres, binary, name, count=2, parameters="pool=8", arguments=()):
        self.url = f"{postgres.database(name)}?{parameters}"
        self.servers = [Server(binary, "--engine", self.url, *arguments) for _ in range(count)]
        self.balancers = {name: Balancer([server.addresses[name] for server in self.servers]) for name in SERVICES}
        self.endpoints = {name: f"http://127.0.0.1:{each.port}/{ACCOUNT}" for name, each in self.balancers.items()}

    def __enter__(self):
        return self

    def __exit__(self, failed, *_):
        for balancer in self.balancers.values():
            balancer.close()
        for server in self.servers:
            code = server.stop()
            if code and not failed:
                raise SystemExit(f"a front end ended with {code}: {server.said()}")
            if failed:
                print(server.said(), file=sys.stderr)


def wire(postgres, binary):
    """Every golden transcript, each request by another front end."""
    with FrontEnds(postgres, binary, "wire") as ends:
        for service, endpoint in ends.endpoints.items():
            subprocess.run([binary, "conformance", "--service", service, "--endpoint", endpoint], check=True)


def sdk(postgres, binary, name):
    """The suite of an official SDK, each request by another front end."""
    with FrontEnds(postgres, binary, name) as ends:
        endpoints = {f"LAZULI_{service.upper()}_ENDPOINT": endpoint for service, endpoint in ends.endpoints.items()}
        subprocess.run([os.path.join(ROOT, "tests", "sdk", "run.sh"), name], check=True, env=os.environ | endpoints)


def python(postgres, binary):
    sdk(postgres, binary, "python")


def js(postgres, binary):
    sdk(postgres, binary, "js")


def go(postgres, binary):
    sdk(postgres, binary, "go")


def java(postgres, binary):
    sdk(postgres, binary, "java")


def together(postgres, binary):
    import together as cases
    with FrontEnds(postgres, binary, "together") as ends:
        cases.run(ends)


def objects(postgres, binary, languages=("python", "js")):
    import objects as cases
    cases.run(postgres, binary, FrontEnds, languages)


def trial(postgres, binary):
    """The trials of the durable engine: every response compared with the model, histories and invariants, the front end killed."""
    for number, words in enumerate((["sequences", "--count", "15"], ["histories", "--count", "20"],
                                    ["histories", "--count", "10", "--kill"], ["bank", "--seconds", "4", "--kills", "2"],
                                    ["histories", "--service", "queue", "--count", "2", "--kill"],
                                    ["histories", "--service", "blob", "--count", "5", "--kill"])):
        subprocess.run([binary, "trial", *words, "--engine", postgres.database(f"trial{number}")], check=True)


def copy(postgres, binary):
    import copying
    copying.run(postgres, binary)


def tls(_, binary):
    import encrypted
    encrypted.run(binary)


def history(_, binary):
    import history as cases
    cases.run(binary)


def slow(postgres, binary):
    """Health checks succeed while the database is slow or silent."""
    import slow as cases
    cases.run(postgres, binary)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--long", action="store_true", help="all SDKs, with content in the database and in an object store")
    parser.add_argument("part", nargs="*", help="all parts by default")
    options = parser.parse_args()
    binary = os.path.abspath(options.binary)
    # Leaves no server behind when this script is terminated.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("told to end"))
    with Postgres() as postgres:
        for part in options.part or PARTS + (LONG if options.long else []):
            print(f"-- {part}", flush=True)
            if part == "objects" and options.long:
                objects(postgres, binary, ("python", "js", *LONG))
            else:
                globals()[part](postgres, binary)


if __name__ == "__main__":
    main()
