#!/usr/bin/env python3
"""Throughput of all services with 1, 2 and 4 front ends on one PostgreSQL and one SeaweedFS, next to what these achieve by
themselves.

    tests/postgres/throughput.py --binary target/release/lazuli [--seconds 4] [--rounds 3] [--only put-4m]
    tests/postgres/throughput.py --cost        what an operation of the engine costs compared with plain SQL, in one process

Everything runs on this machine, so that more front ends share the same processors: it shows what they cost, not what more
machines would bring. All take turns; medians of the rounds count. A ratio is that of rates: to pgbench with the same rows, and to the same
requests, by the same client (wrk), to the gateway of the object store. The shares are those of the processor's time that
was spent in the slice: they name the bottleneck. Content up to 64 KiB is stored in its row, so that it has both ratios.
"""

import argparse
import os
import signal
import statistics
import subprocess
import sys
import uuid

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, "tests", "support"), HERE]

from baselines import PlainSql  # noqa: E402
from lazuli import ACCOUNT, Client, StorageClient  # noqa: E402
from postgres import Postgres  # noqa: E402
from run import FrontEnds  # noqa: E402
from seaweedfs import SeaweedFs  # noqa: E402

COUNTS = (1, 2, 4)
TICKS = os.sysconf("SC_CLK_TCK")
# Per front end; pgbench has as many as one.
POOL = 16
TABLE, QUEUE, CONTAINER = "bench", "bench", "bench"
BLOBS = 16
# Operations: the kind of request, the service, bytes of a value, and the number of requests at a time.
WORK = {
    "read": ("read", "table", 1_000, 32),
    "insert": ("insert", "table", 1_000, 32),
    "put-message": ("put-message", "queue", 200, 32),
    "get-message": ("get-message", "queue", 200, 32),
    "put-64k": ("put", "blob", 65_536, 16),
    "get-64k": ("get", "blob", 65_536, 16),
    "put-4m": ("put", "blob", 4 << 20, 4),
    "get-4m": ("get", "blob", 4 << 20, 4),
}
# What docs/scale-out.md advises: plans for large partitions.
HINT = "ALTER TABLE lazuli_row ALTER COLUMN tbl SET (n_distinct = 1), ALTER COLUMN pk SET (n_distinct = 1)"
IN_ROWS = ("read", "insert", "put-message", "get-message", "put-64k", "get-64k")


def spent(pid):
    """Seconds of processor's time of a process and of its children that have ended."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
    except FileNotFoundError:
        return 0
    return sum(map(int, fields[11:15])) / TICKS


class Bench:
    def __init__(self, postgres, store, ends, options):
        self.postgres, self.store, self.ends, self.options = postgres, store, ends, options
        words = ["sas", "account", "--services", "tbq", "--resources", "sco", "--permissions", "rwdlacup", "--expires", "1d", "--sv", "2021-12-02"]
        self.sas = subprocess.run([options.binary, *words], check=True, capture_output=True, text=True).stdout.splitlines()[0]
        self.plain = PlainSql(postgres, {name: size for name, (_, _, size, _) in WORK.items()})

    def fill(self):
        """What is read."""
        server = self.ends.servers[0]
        with Client(server) as table, StorageClient(server.at("queue")) as queue, StorageClient(server.at("blob")) as blob:
            table.ask("POST", "/Tables", {"TableName": TABLE})
            for row in range(1_000):
                table.ask("POST", f"/{TABLE}", {"PartitionKey": f"p{row % 10}", "RowKey": f"{row:04}", "v": "x" * 1_000})
            queue.ask("PUT", f"/{QUEUE}", headers={"Content-Length": 0})
            blob.ask("PUT", f"/{CONTAINER}?restype=container", headers={"Content-Length": 0})
            for name in ("get-64k", "get-4m"):
                for number in range(BLOBS):
                    content = os.urandom(WORK[name][2])
                    blob.ask("PUT", f"/{CONTAINER}/{name}-{number}", content, {"x-ms-blob-type": "BlockBlob"})
                    self.store.put(f"plain/{name}-{number}", content)

    def processes(self, servers):
        """Ids by component."""
        with open(os.path.join(self.postgres.data, "postmaster.pid")) as file:
            postmaster = int(file.readline())
        with open(f"/proc/{postmaster}/task/{postmaster}/children") as file:
            database = [postmaster, *map(int, file.read().split())]
        return {"front ends": [server.process.pid for server in servers], "PostgreSQL": database,
                "SeaweedFS": [process.pid for process in self.store.processes.values()]}

    def wrk(self, name, addresses, prefix, query, seconds):
        """Operations per second, by clients that share these addresses."""
        kind, _, size, connections = WORK[name]
        share = max(1, connections // len(addresses))
        running = [subprocess.Popen(["wrk", "-t1", f"-c{share}", f"-d{seconds}s", "--timeout", "30s", "-s", os.path.join(HERE, "throughput.lua"),
                                     f"http://{host}:{port}", "--", kind, prefix, query, str(size), uuid.uuid4().hex[:8]],
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for host, port in addresses]
        rate = 0
        for process in running:
            said = process.communicate()[0]
            found = [line.split() for line in said.splitlines() if line.startswith("RESULT ")]
            if not found or int(found[0][3]) or int(found[0][4]):
                raise SystemExit(f"{name}: {said}")
            rate += int(found[0][1]) / (int(found[0][2]) / 1e6)
        return rate

    def front_ends(self, name, count, seconds=None):
        servers = self.ends.servers[:count]
        kind, service, _, _ = WORK[name]
        prefix = {"table": f"/{ACCOUNT}/{TABLE}", "queue": f"/{ACCOUNT}/{QUEUE}/messages", "blob": f"/{ACCOUNT}/{CONTAINER}/{name}"}[service]
        return self.wrk(name, [server.addresses[service] for server in servers], prefix, self.sas, seconds or self.options.seconds)

    def slice(self, name, count):
        """Rate, and shares of the processor's time."""
        if name == "get-message":
            # So that there are enough of them.
            self.front_ends("put-message", count, 2 * self.options.seconds)
        groups = self.processes(self.ends.servers)
        before, idle = {group: sum(map(spent, pids)) for group, pids in groups.items()}, processor()
        rate = self.front_ends(name, count)
        groups = self.processes(self.ends.servers)
        used = {group: sum(map(spent, pids)) - before[group] for group, pids in groups.items()}
        total = processor() - idle
        return rate, {group: seconds / total for group, seconds in used.items()}

    def object_store(self, name):
        address = (self.store.host("open"), self.store.port("open"))
        return self.wrk(name, [address], f"/{self.store.bucket}/plain/{name}", "x=1", self.options.seconds)

    def run(self):
        found = {}
        names = self.options.only or list(WORK)
        for number in range(self.options.rounds):
            for name in names:
                if name in IN_ROWS:
                    found.setdefault((name, "pgbench"), []).append(self.plain.rate(name, POOL, self.options.seconds))
                if WORK[name][1] == "blob":
                    found.setdefault((name, "object store"), []).append(self.object_store(name))
                for count in COUNTS:
                    found.setdefault((name, count), []).append(self.slice(name, count))
            print(f"round {number + 1}: load {os.getloadavg()[0]:.1f}", flush=True)
        for name in names:
            self.report(name, found)

    @staticmethod
    def report(name, found):
        own = {other: statistics.median(found[name, other]) for other in ("pgbench", "object store") if (name, other) in found}
        print(f"{name}: " + ", ".join(f"{other} {rate:.0f} /s" for other, rate in own.items()))
        for count in COUNTS:
            rate = statistics.median(rate for rate, _ in found[name, count])
            ratios = ", ".join(f"{rate / other:.2f} of {kind}" for kind, other in own.items())
            shares = {group: statistics.median(shares[group] for _, shares in found[name, count]) for group in found[name, count][0][1]}
            print(f"  {count} front end(s): {rate:.0f} /s, {ratios}; processor: " + ", ".join(f"{group} {share:.0%}" for group, share in shares.items()), flush=True)


def processor():
    """Seconds of both processors that were not idle, of all programs."""
    with open("/proc/stat") as file:
        fields = list(map(int, file.readline().split()[1:9]))
    return (sum(fields) - fields[3] - fields[4]) / TICKS


def cost(postgres):
    """The engine compared with plain SQL in one process."""
    subprocess.run(["cargo", "build", "--release", "--quiet", "-p", "lazuli-postgres", "--example", "cost"], check=True, cwd=ROOT)
    target = os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target"))
    subprocess.run([os.path.join(target, "release", "examples", "cost"), postgres.database("cost")], check=True)


class OpenStore(SeaweedFs):
    """With a second gateway that requires no signature, for a client that does not sign."""

    def prepare(self, names):
        super().prepare(names)
        self.commands["open"] = [*self.commands["s3"][:1], f"-port={self.port('open')}", f"-port.grpc={self.port('open grpc')}",
                                 *(word for word in self.commands["s3"][3:] if not word.startswith("-config"))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", help="the server; without it only --cost")
    parser.add_argument("--seconds", type=int, default=4, help="how long a slice takes")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", action="append", choices=WORK, help="these operations only")
    parser.add_argument("--planner", default="new", choices=("new", "analyzed", "hint"),
                        help="what it knows: nothing yet, statistics, or in addition that partitions are large")
    parser.add_argument("--cost", action="store_true")
    options = parser.parse_args()
    # Leaves no server behind when this script is terminated.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("told to end"))
    with Postgres() as postgres:
        if options.cost:
            cost(postgres)
        if options.binary:
            options.binary = os.path.abspath(options.binary)
            with OpenStore(postgres.names()) as store:
                os.environ.update(store.environment)
                arguments = ("--content", store.url("ends"))
                with FrontEnds(postgres, options.binary, "ends", max(COUNTS), f"pool={POOL}", arguments) as ends:
                    bench = Bench(postgres, store, ends, options)
                    bench.fill()
                    if options.planner == "hint":
                        postgres.sql(HINT, "ends")
                    if options.planner != "new":
                        postgres.sql("ANALYZE lazuli_row", "ends")
                    bench.run()


if __name__ == "__main__":
    main()
