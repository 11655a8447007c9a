#!/usr/bin/env python3
"""Backs a server up while it is written to, kills the server or the backup at random, restores, and checks whether the copy is a
state that the store really had.

    tests/crash/backup.py --binary target/release/lazuli --cycles 8 --writers 8

CS-01, CS-03, TX-09. A restored backup has a version V, its clock. For every commit that was acknowledged with version v: if v <= V,
it is present completely, unless a later commit with a version <= V has replaced it; if v > V, nothing of it is present. The sum of
each partition, which no commit changes, stays the same. A killed backup or restore is rejected, never mistaken for a complete one;
the server continues, and everything acknowledged is present after its own kill. Exit code 1 if anything is wrong.
"""

import argparse
import http.client
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from lazuli import HANG_SECONDS, Client, Server, all_rows, ticks  # noqa: E402

TABLE = "bank"
# Rows of each partition: money goes from one to another, so that the sum stays. The filler makes a backup take several blocks.
ROWS = 6
SUM = ROWS * 100
FILLER = "x" * 6000
# Acknowledged transfers before a backup is begun, at most.
BEFORE_MAX = 300
# Restores that are checked row by row; every backup is checked by the command.
KILLS = ("none", "none", "server", "backup", "backup-sealed", "dump-page", "restore-rows", "restore-loaded")


class Writer:
    """Moves money between the rows of a partition of its own, in batches, and keeps a list of what was acknowledged."""

    def __init__(self, index, seed, count):
        self.partition, self.random, self.count = f"w{index:02}", random.Random(seed * 100 + index), count
        self.balances = None
        # The balances after each acknowledged version; and the change with an unknown outcome.
        self.history = {}
        self.unknown = None
        self.stop = threading.Event()

    def batch(self, client, balances, names, verb):
        """One commit: each of the named rows, and one that counts."""
        lines = []
        for name in names:
            body = json.dumps({"PartitionKey": self.partition, "RowKey": name, "Balance": balances[name], "Filler": FILLER})
            lines += ["--c", "Content-Type: application/http", "Content-Transfer-Encoding: binary", "",
                      f"{verb} http://x/{client.account}/{TABLE}(PartitionKey='{self.partition}',RowKey='{name}') HTTP/1.1",
                      "Content-Type: application/json", "Accept: application/json;odata=nometadata", "", body]
        text = "\r\n".join(["--b", "Content-Type: multipart/mixed; boundary=c", "", *lines, "--c--", "--b--", ""])
        response = client.ask("POST", "/$batch", text, {"Content-Type": "multipart/mixed; boundary=b"})
        etags = [line[6:] for line in response.text.split("\r\n") if line.lower().startswith("etag: ")]
        if response.status != 202 or len(etags) != len(names):
            raise RuntimeError(f"a batch got {response.status} {response.text}")
        return max(ticks(etag) for etag in etags)

    def run(self, server):
        """Writes until it is stopped or an outcome is unknown."""
        names = [f"{n}" for n in range(ROWS)]
        try:
            with Client(server) as client:
                if self.balances is None:
                    start = dict.fromkeys(names, SUM // ROWS)
                    self.unknown = start
                    self.acknowledge(self.batch(client, start, names, "PUT"), start)
                while not self.stop.is_set():
                    one, other = self.random.sample(names, 2)
                    amount = self.random.randrange(1, 50)
                    after = self.balances | {one: self.balances[one] - amount, other: self.balances[other] + amount}
                    self.unknown = after
                    self.acknowledge(self.batch(client, after, [one, other], "PUT"), after)
        except (OSError, http.client.HTTPException):
            pass

    def acknowledge(self, version, balances):
        self.history[version] = self.balances = balances
        self.unknown = None
        self.count()

    def settle(self, rows):
        """After a restart: the data shows which of the two it was."""
        if self.unknown is not None and {name: row["Balance"] for name, row in rows.items()} == self.unknown:
            self.history[max(ticks(row["odata.etag"]) for row in rows.values())] = self.balances = self.unknown
        self.unknown = None

    def verify(self, rows, version):
        """The rows of a copy whose clock shows `version` (as an ETag's number; None for the present)."""
        found = {name: row["Balance"] for name, row in rows.items()}
        if found and sum(found.values()) != SUM:
            return [f"wrong: {self.partition} has a sum of {sum(found.values())}"]
        late = [row for row in rows.values() if version is not None and ticks(row["odata.etag"]) > version]
        if late:
            return [f"wrong: {self.partition} has rows of the future"]
        past = [v for v in self.history if version is None or v <= version]
        wanted = self.history[max(past)] if past else {}
        # A commit that was not acknowledged may have a version that is in the copy.
        if found == wanted or self.unknown is not None and found == self.unknown:
            return []
        return [f"lost: {self.partition} is {found}, wanted {wanted}"]


class Run:
    def __init__(self, args, root):
        self.args, self.root, self.random = args, root, random.Random(args.seed)
        self.data = os.path.join(root, "data")
        self.tally, self.acknowledged = threading.Condition(), 0
        self.writers = [Writer(index, args.seed, self.count) for index in range(args.writers)]
        self.counts = dict.fromkeys(("backups", "restores", "server kills", "backup kills", "restore kills", "amid writes"), 0)

    def count(self):
        with self.tally:
            self.acknowledged += 1
            self.tally.notify_all()

    def command(self, *args, crash_at=None):
        environment = os.environ | ({"LAZULI_CRASH_AT": crash_at} if crash_at else {})
        done = subprocess.run([self.args.binary, *args], env=environment, capture_output=True, text=True, timeout=HANG_SECONDS)
        return done.returncode, done.stdout + done.stderr

    def cycle(self, number, kill):
        target, problems = os.path.join(self.root, f"backup-{number}"), []
        # The first page has all rows, the second is the end.
        environment = {"LAZULI_CRASH_AT": f"dump-page:{self.random.randrange(1, 3)}"} if kill == "dump-page" else {}
        with Server(self.args.binary, "--location", self.data, env=environment) as server:
            with Client(server) as client:
                client.ask("POST", "/Tables", {"TableName": TABLE})
                problems += self.verify(client, None, settle=True)
            threads = [threading.Thread(target=self.load, args=(writer, server)) for writer in self.writers]
            for thread in threads:
                thread.start()
            self.wait_for(self.acknowledged + self.args.writers + self.random.randrange(BEFORE_MAX), threads)
            begun = self.acknowledged
            problems += self.back_up(server, target, kill)
            if kill == "dump-page" and server.process.wait(HANG_SECONDS) != -signal.SIGABRT:
                problems.append(f"wrong: {environment} was not passed")
            self.counts["amid writes"] += self.acknowledged > begun
            # Some more, which the copy must not have.
            self.wait_for(self.acknowledged + self.args.writers, threads)
            for writer in self.writers:
                writer.stop.set()
            if kill in ("server", "dump-page"):
                server.kill()
                self.counts["server kills"] += 1
            for thread in threads:
                thread.join()
            if server.process.poll() is None and server.stop() != 0:
                problems.append(f"wrong: the server did not stop cleanly: {server.said()}")
        if not problems and os.path.exists(os.path.join(target, "manifest.json")):
            problems += self.restore(target, os.path.join(self.root, f"copy-{number}"), kill)
        return problems

    def load(self, writer, server):
        writer.stop.clear()
        writer.run(server)

    def wait_for(self, count, threads):
        with self.tally:
            while self.acknowledged < count and any(thread.is_alive() for thread in threads):
                self.tally.wait(1)

    def back_up(self, server, target, kill):
        if kill in ("backup", "server"):
            return self.back_up_and_kill(server, target, kill)
        point = "backup-sealed" if kill == "backup-sealed" else None
        code, said = self.command("backup", target, "--location", self.data, crash_at=point)
        if point or kill == "dump-page":
            self.counts["backup kills"] += 1
            if point and code != -signal.SIGABRT:
                return [f"wrong: {point} was not passed: {code} {said}"]
            return self.is_rejected(target, code, said)
        self.counts["backups"] += 1
        if code != 0:
            return [f"wrong: the backup failed: {said}"]
        return []

    def back_up_and_kill(self, server, target, kill):
        """Ends the backup, or the server, when the first bytes of the copy exist."""
        process = subprocess.Popen([self.args.binary, "backup", target, "--location", self.data],
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        while process.poll() is None and not (os.path.isdir(target) and os.listdir(target)):
            pass
        threading.Event().wait(self.random.uniform(0, 0.01))
        (server if kill == "server" else process).kill()
        said = process.communicate(timeout=HANG_SECONDS)[0]
        self.counts["backup kills"] += 1
        return self.is_rejected(target, process.returncode, said)

    def is_rejected(self, target, code, said):
        """A copy without a manifest is not a copy; it may also have finished before the kill."""
        if os.path.exists(os.path.join(target, "manifest.json")):
            return []
        if code == 0:
            return [f"wrong: an unfinished backup was reported as complete: {said}"]
        for args in (["check", target], ["restore", target, "--location", os.path.join(self.root, "never")]):
            code, said = self.command(*args)
            if code != 1 or "panicked" in said or os.path.exists(os.path.join(self.root, "never")):
                return [f"wrong: an unfinished backup was not rejected by {args[0]}: {code} {said}"]
        return []

    def restore(self, target, copy, kill):
        code, said = self.command("check", target)
        if code != 0:
            return [f"wrong: the backup is damaged: {said}"]
        if kill.startswith("restore"):
            self.counts["restore kills"] += 1
            code, said = self.command("restore", target, "--location", copy, crash_at=kill)
            rejected = self.command("serve", "--location", copy, "--table-port", "0")
            if code != -signal.SIGABRT or rejected[0] != 1 or "interrupted" not in rejected[1]:
                return [f"wrong: half a store: {code} {said} {rejected}"]
            shutil.rmtree(copy)
        for args in (["restore", target, "--location", copy], ["check", "--location", copy]):
            code, said = self.command(*args)
            if code != 0:
                return [f"wrong: {args[0]}: {said}"]
        self.counts["restores"] += 1
        with open(os.path.join(target, "manifest.json")) as file:
            version = etag_number(int(json.load(file)["last_version"]))
        with Server(self.args.binary, "--location", copy) as server, Client(server) as client:
            problems = self.verify(client, version)
        shutil.rmtree(copy)
        shutil.rmtree(target)
        return problems

    def verify(self, client, version, settle=False):
        rows = {writer.partition: {} for writer in self.writers}
        for row in all_rows(client, f"/{TABLE}()"):
            rows[row["PartitionKey"]][row["RowKey"]] = row
        problems = []
        for writer in self.writers:
            problems += writer.verify(rows[writer.partition], version)
            if settle:
                writer.settle(rows[writer.partition])
        return problems


def etag_number(version):
    """A version in ticks since the year 1 as `ticks` reads it from an ETag: the digits of the time."""
    import datetime
    seconds, rest = divmod(version, 10_000_000)
    moment = datetime.datetime(1, 1, 1) + datetime.timedelta(seconds=seconds)
    return int(moment.strftime("%Y%m%d%H%M%S") + f"{rest:07}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", required=True)
    parser.add_argument("--cycles", type=int, default=len(KILLS))
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    args = parser.parse_args()
    args.binary = os.path.abspath(args.binary)
    print(f"backup: {args.cycles} cycles, {args.writers} writers, --seed {args.seed}", flush=True)
    root = tempfile.mkdtemp(prefix="lazuli-backup-")
    run, failed = Run(args, root), 0
    for number in range(args.cycles):
        kill = KILLS[number % len(KILLS)]
        problems = run.cycle(number, kill)
        failed += bool(problems)
        for problem in problems:
            print(f"cycle {number} ({kill}): {problem}", flush=True)
    print(", ".join(f"{name} {count}" for name, count in run.counts.items()) + f", acknowledged {run.acknowledged}")
    if not run.counts["restores"] or not run.counts["amid writes"]:
        print("wrong: no backup was taken amid writes and restored")
        failed += 1
    print(f"{args.cycles - failed} passed, {failed} failed")
    if failed:
        print(f"the files are left in {root}")
        return 1
    shutil.rmtree(root)
    return 0


if __name__ == "__main__":
    sys.exit(main())
