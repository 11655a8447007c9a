#!/usr/bin/env python3
"""Throughput with 1, 2 and 4 front ends on one PostgreSQL, and what an operation costs beside plain SQL.

    tests/postgres/throughput.py --binary target/release/lazuli

Everything runs on this machine, so that more front ends share the same processors: it shows what they cost, not what more
machines would bring.
"""

import argparse
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, "tests", "support"), HERE]

from postgres import Postgres  # noqa: E402
from run import FrontEnds  # noqa: E402


def example(package, name, *args):
    command = ["cargo", "run", "--release", "--quiet", "-p", package, "--example", name, "--", *args]
    subprocess.run(command, check=True, cwd=ROOT)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--seconds", default="4")
    options = parser.parse_args()
    with Postgres() as postgres:
        example("lazuli-postgres", "cost", postgres.database("cost"))
        for count in (1, 2, 4):
            with FrontEnds(postgres, os.path.abspath(options.binary), f"ends{count}", count) as ends:
                servers = [f"{server.host}:{server.port}" for server in ends.servers]
                example("lazuli-bench", "endpoints", options.seconds, *servers)


if __name__ == "__main__":
    main()
