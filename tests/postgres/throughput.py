#!/usr/bin/env python3
"""Throughput with 1, 2 and 4 front ends on one PostgreSQL, and the cost of an operation compared with plain SQL.

    tests/postgres/throughput.py --binary target/release/lazuli [--seconds 4] [--rounds 3]

Everything runs on this machine, so that more front ends share the same processors: it shows what they cost, not what more
machines would bring. The numbers of front ends take turns; medians of the rounds count. The processor's time per operation
is that of front ends and database together, which says the same on a machine that does other things as well.
"""

import argparse
import os
import signal
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, "tests", "support"), HERE]

from postgres import Postgres  # noqa: E402
from run import FrontEnds  # noqa: E402

COUNTS = (1, 2, 4)
TICKS = os.sysconf("SC_CLK_TCK")


def programs():
    """Builds what makes the load; the paths of both."""
    subprocess.run(["cargo", "build", "--release", "--quiet", "-p", "lazuli-postgres", "-p", "lazuli-bench", "--example", "cost",
                    "--example", "endpoints"], check=True, cwd=ROOT)
    target = os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target"))
    return [os.path.join(target, "release", "examples", name) for name in ("cost", "endpoints")]


def spent(pid, children=False):
    """Seconds of processor's time of a process, and of its children that have ended."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return sum(map(int, fields[11:15 if children else 13])) / TICKS


def spent_by(postgres, servers):
    """Seconds of processor's time of the database and the front ends."""
    with open(os.path.join(postgres.data, "postmaster.pid")) as file:
        postmaster = int(file.readline())
    total = sum(spent(server.process.pid) for server in servers) + spent(postmaster, children=True)
    with open(f"/proc/{postmaster}/task/{postmaster}/children") as file:
        for child in file.read().split():
            try:
                total += spent(child)
            except FileNotFoundError:
                pass
    return total


def front_ends(postgres, binary, load, options):
    with FrontEnds(postgres, binary, "ends", max(COUNTS)) as ends:
        def run(work, servers):
            addresses = [f"{server.host}:{server.port}" for server in servers]
            done = subprocess.run([load, work, str(options.seconds), *addresses], check=True, capture_output=True, text=True)
            return int(done.stdout)
        run("fill", ends.servers)
        found = {}
        for _ in range(options.rounds):
            for work in ("get", "upsert"):
                for count in COUNTS:
                    before, begun = spent_by(postgres, ends.servers), time.monotonic()
                    done = run(work, ends.servers[:count])
                    seconds = time.monotonic() - begun
                    rate, cost = done / seconds, (spent_by(postgres, ends.servers) - before) / done * 1e6
                    found.setdefault((work, count), []).append((rate, cost))
        for (work, count), rounds in found.items():
            rate, cost = (statistics.median(column) for column in zip(*rounds))
            print(f"{work}: {count} front end(s): {rate:.0f} /s at {cost:.0f} µs", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--seconds", type=int, default=4, help="how long a slice takes")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    cost, load = programs()
    # So that no server is left behind when it is terminated.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("told to end"))
    with Postgres() as postgres:
        subprocess.run([cost, postgres.database("cost")], check=True)
        front_ends(postgres, os.path.abspath(options.binary), load, options)


if __name__ == "__main__":
    main()
