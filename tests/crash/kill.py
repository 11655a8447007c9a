#!/usr/bin/env python3
"""Kills the server with -9 under load, starts it again, and checks that everything acknowledged is present.

    tests/crash/kill.py --binary target/release/lazuli --cycles 200 --writers 16

CS-01, CS-06, TX-09, ER-06: acknowledged data is present with its last value and ETag; a batch is present completely or not at all; a
change in progress when the server died is applied or not, and nothing else has changed; versions of an entity never decrease. The
same holds for messages, with their order and receipts (messages.py), for blobs with their contents, tags and snapshots (blobs.py),
for versions, deleted blobs and containers, tiers and holds (kept.py), and for a website and request logs (website.py). After the last
start, every change in kept.py has had its event (events.py). With `--shim` (see tests/faults), most kills are a loss of power too:
unsynced contents and names are reverted. The seed makes the writers' choices repeatable, not the moment of the kill. Exit code 1 if
anything is lost or wrong.
"""

import argparse
import http.client
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time

for folder in ("support", "faults"):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", folder))
from lazuli import HANG_SECONDS, Client, NotStarted, Server, all_rows, entity_path, ticks  # noqa: E402
from undo import lose_power  # noqa: E402
from blobs import Blobs  # noqa: E402
from kept import ENVIRONMENT, KEEPING, flags  # noqa: E402
from messages import Messages  # noqa: E402
from protected import Protected  # noqa: E402
from website import Website  # noqa: E402
from writer import TABLE, Writer  # noqa: E402

# A cycle ends after at most this many acknowledgements; the number is drawn so that early kills are as likely as late ones.
ACKNOWLEDGED_MAX = 3000
# Between the chosen acknowledgement and the kill, so that the kill meets other writers at any point.
AFTER_MAX_SECONDS = 0.005
# The share of restarts that are themselves interrupted, at a moment within the time that a start takes.
INTERRUPTED = 0.2
START_MAX_SECONDS = 0.06
# The share of cycles that end with SIGTERM: then only rejected requests may have an unknown outcome.
GRACEFUL = 0.1
# The share of kills with the library below that leave the power on: the next start finds the unsynced data, and builds on it.
POWER_STAYS = 0.25
# Blobs leave the archive later than the request, and often after the next start.
REHYDRATE_SECONDS = 1
# The share of starts that deliver no events: these wait for a later start.
UNDELIVERED = 0.4
# Writers for each client of queues and of blobs.
WRITERS_PER_CLIENT = 4
# The share of cycles after which `lazuli check` reads the store before it is opened, and must find no problems.
CHECKED = 0.2


class Run:
    def __init__(self, args, folder):
        self.args = args
        # The server makes the directory and the one above it.
        self.disk, self.undo = os.path.join(folder, "disk"), os.path.join(folder, "undo")
        self.directory = os.path.join(self.disk, "new", "data")
        for made in (self.disk, self.undo):
            os.mkdir(made)
        self.number = 0
        self.random = random.Random(args.seed)
        self.tally = threading.Condition()
        self.acknowledged = 0
        self.writers = [Writer(index, args.seed, self.count) for index in range(args.writers)]
        self.clients = [kind(index, args.seed, self.count) for kind in (Messages, Blobs)
                        for index in range(args.writers // WRITERS_PER_CLIENT)]
        self.keepers = [Protected(index, args.seed, account, self.count) for index, account in enumerate(KEEPING)]
        self.website = Website(0, args.seed, self.count)
        self.clients += [*self.keepers, self.website]
        self.kills = self.early_kills = self.stops = self.checks = 0
        self.losses = self.lost_writes = self.lost_names = 0
        self.problems = []
        self.starts = []

    def count(self):
        with self.tally:
            self.acknowledged += 1
            self.tally.notify_all()

    def server(self, delivers, **options):
        env = ENVIRONMENT
        if self.args.shim:
            env = env | {"LD_PRELOAD": os.path.abspath(self.args.shim), "LAZULI_FAULTS_DIR": self.disk,
                         "LAZULI_FAULTS_UNDO": self.undo}
        return Server(self.args.binary, "--location", self.directory, *flags(REHYDRATE_SECONDS, delivers), env=env, **options)

    def lose_power(self, wholly=False):
        """Reverts everything that was not synced or, half of the time, only the latest part of it."""
        if not self.args.shim or not wholly and self.random.random() < POWER_STAYS:
            return
        chance = self.random if not wholly and self.random.random() < 0.5 else None
        loss = lose_power(self.undo, self.disk, chance)
        self.losses += 1
        self.lost_writes += loss.lost_writes
        self.lost_names += loss.lost_names

    def start(self, is_last=False):
        delivers = is_last or self.random.random() >= UNDELIVERED
        while self.random.random() < INTERRUPTED:
            server = self.server(delivers, wait=False)
            threading.Event().wait(self.random.uniform(0, START_MAX_SECONDS))
            server.kill()
            self.lose_power()
            self.early_kills += 1
        began = time.monotonic()
        server = self.server(delivers)
        self.starts.append(time.monotonic() - began)
        return server

    def cycle(self):
        """Load, kill, restart, verify. Returns the problems found."""
        server = self.start()
        with server:
            problems = self.verify(server)
            # The first three cycles cover cases that chance could miss in a short run: a new store, a stop, and the first kill
            # after it.
            self.number += 1
            graceful = self.random.random() < GRACEFUL if self.number > 3 else self.number == 2
            enough = self.acknowledged + int(ACKNOWLEDGED_MAX ** self.random.random())
            threads = [threading.Thread(target=worker.run, args=(server,)) for worker in self.writers + self.clients]
            for thread in threads:
                thread.start()
            with self.tally:
                busy = lambda: any(thread.is_alive() for thread in threads)  # noqa: E731
                while self.acknowledged < enough and busy():
                    self.tally.wait(1)
            threading.Event().wait(self.random.uniform(0, AFTER_MAX_SECONDS))
            if graceful:
                code = server.stop()
                self.stops += 1
                if code != 0:
                    problems.append(f"wrong: the server stopped with exit code {code}: {server.said()}")
            else:
                server.kill()
                self.kills += 1
            self.lose_power(wholly=self.number <= 3)
            for thread in threads:
                thread.join()
            if graceful:
                self.website.is_stopped()
            for worker in self.writers + self.clients:
                problems += worker.take_problems()
            if "panicked" in server.said():
                problems.append(f"wrong: the server panicked: {server.said()}")
        if self.random.random() < CHECKED:
            problems += self.check()
        return problems

    def check(self):
        """An unfinished batch after a crash is not damage; after a loss of power, nor is a hole in the last batch."""
        self.checks += 1
        done = subprocess.run([self.args.binary, "check", "--location", self.directory], capture_output=True, text=True,
                              timeout=HANG_SECONDS)
        said = done.stdout + done.stderr
        is_hole = self.args.shim and "1 problem found" in said and "has holes" in said
        return [] if done.returncode == 0 or is_hole else [f"wrong: check ended with {done.returncode}: {said}"]

    def verify(self, server, everything=False):
        problems = self.verify_tables(server, everything)
        for client in self.clients:
            problems += client.verify(server)
        return problems

    def finish(self, server):
        """The last verification: of everything, including deleted states, and of all events."""
        problems = self.verify(server, everything=True)
        for client in self.keepers:
            problems += client.finish(server, self.directory)
        return problems

    def verify_tables(self, server, everything):
        with Client(server) as client:
            created = client.ask("POST", "/Tables", {"TableName": TABLE})
            if created.status not in (204, 409):
                return [f"wrong: creating the table got {created.status} {created.text}"]
            tables = {row["TableName"] for row in all_rows(client, "/Tables")}
            rows = {}
            for row in all_rows(client, f"/{TABLE}()?$filter=PartitionKey%20lt%20'log'"):
                rows[row["PartitionKey"], row["RowKey"]] = row
            for row in all_rows(client, f"/{TABLE}()?$filter=PartitionKey%20gt%20'm'"):
                rows[row["PartitionKey"], row["RowKey"]] = row
            for writer in self.writers if everything else self.random.sample(self.writers, 2):
                writer.log_seen = None
                for row in all_rows(client, f"/{TABLE}()?$filter=PartitionKey%20eq%20'log{writer.index:03}'"):
                    rows[row["PartitionKey"], row["RowKey"]] = row
                writer.log_seen = True
            problems = []
            for writer in self.writers:
                problems += writer.verify(tables, rows)
            known = {key for writer in self.writers for key in writer.keys()}
            problems += [f"wrong: nobody wrote {key}" for key in rows if key not in known]
            # A read by key returns the same row as a scan.
            for key in self.random.sample(sorted(rows), min(20, len(rows))):
                response = client.ask("GET", entity_path(TABLE, *key))
                if response.status != 200 or ticks(response.headers["ETag"]) != ticks(rows[key]["odata.etag"]):
                    problems.append(f"wrong: {key} by key is {response.status} {response.headers.get('ETag')}")
            return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", required=True)
    parser.add_argument("--cycles", type=int, default=200)
    parser.add_argument("--writers", type=int, default=16)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--shim", help="the preloaded library of tests/faults: every kill is a loss of power too")
    args = parser.parse_args()
    print(f"kill: {args.cycles} cycles, {args.writers} writers, --seed {args.seed}", flush=True)
    directory = tempfile.mkdtemp(prefix="lazuli-kill-")
    run = Run(args, directory)
    passed = failed = 0
    for number in range(args.cycles + 1):
        try:
            if number < args.cycles:
                problems = run.cycle()
            else:
                with run.start(is_last=True) as server:
                    problems = run.finish(server)
                    server.stop()
                problems += run.check()
        except (NotStarted, OSError, http.client.HTTPException, RuntimeError, subprocess.TimeoutExpired) as error:
            problems = [f"wrong: {error!r}"]
        passed, failed = passed + (not problems), failed + bool(problems)
        for problem in problems:
            print(f"cycle {number}: {problem}", flush=True)
        run.problems += problems
        if problems or number % 20 == 19:
            print(f"cycle {number + 1}: {run.acknowledged} acknowledged", flush=True)
        if failed > 3:
            break
    unknown = sum(worker.unknown for worker in run.writers + run.clients)
    of_messages, of_blobs = (sum(client.number for client in run.clients if isinstance(client, kind)) for kind in (Messages, Blobs))
    events = [client.events for client in run.keepers]
    applied = sum(writer.applied for writer in run.writers)
    batches = sum(writer.batches for writer in run.writers)
    count = lambda word: sum(problem.startswith(word) for problem in run.problems)  # noqa: E731
    print(f"kills {run.kills}, kills while starting {run.early_kills}, orderly stops {run.stops}, checks {run.checks}")
    print(f"acknowledged {run.acknowledged} (batches {batches}; texts of messages {of_messages}, of blobs {of_blobs}), "
          f"unknown {unknown} (of these applied {applied}), "
          f"lost {count('lost')}, torn {count('torn')}, wrong {count('wrong')}")
    # A run in which no kill hit a request, or no request got a response, proves nothing.
    is_idle = run.clients and not (of_messages and of_blobs) or not all(one.ids for one in events)
    if not run.acknowledged or not batches or is_idle or run.kills and not unknown:
        run.problems.append("wrong: nothing was acknowledged, or no kill hit a change in progress")
        print(run.problems[-1])
        failed += 1
    if args.shim:
        print(f"losses of power {run.losses}: unsynced writes reverted {run.lost_writes}, names {run.lost_names}")
        if not run.lost_writes or not run.lost_names:
            run.problems.append("wrong: no write, or no name, was ever reverted; is the library loaded?")
            print(run.problems[-1])
            failed += 1
    print(f"events {sum(len(one.ids) for one in events)}, of these {sum(one.again for one in events)} arrived again")
    print(f"start after a kill: {sorted(run.starts)[len(run.starts) // 2] * 1000:.0f} ms median, "
          f"{max(run.starts) * 1000:.0f} ms at most")
    print(f"{passed} passed, {failed} failed")
    if failed:
        print(f"the store is left in {directory}")
        return 1
    shutil.rmtree(directory)
    return 0


if __name__ == "__main__":
    sys.exit(main())
