#!/usr/bin/env python3
"""Ends the server at every crash point that changes of tables, messages and blobs pass, and checks that nothing is lost or partial.

    tests/crash/points.py --binary target/release/lazuli

Each run has a store of its own: with tables, rows and messages, stopped or killed. The server is started with `LAZULI_CRASH_AT` for
the n-th pass of one crash point (see crates/store/src/crash_point.rs). The run uploads, appends to, writes pages of, copies, tags and
deletes blobs; puts, gets, changes, moves and deletes messages; and creates, fills and deletes tables, until the server ends there.
This is repeated for every n. Then `lazuli check` must find no problems, and the next start must have every acknowledged change, no
change that was not sent, and the change in progress completely or not at all. A table that was deleted and created again never has a
row of the old one.

Other runs overwrite, delete, restore, archive and protect blobs, in an account that keeps versions or in one that keeps deleted
blobs (kept.py). There the next start also delivers the event of every change. The last kind of run changes a website (website.py).

Crash points of background work or of several concurrent writers are in crates/store/tests/store/crash.rs, backups in backup.py.
"""

import argparse
import concurrent.futures
import functools
import http.client
import os
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from lazuli import HANG_SECONDS, Client, NotStarted, Server, all_rows, entity_path  # noqa: E402
from blobs import Blobs  # noqa: E402
from kept import ENVIRONMENT, RETAINED, SITE, VERSIONED, flags  # noqa: E402
from messages import Messages  # noqa: E402
from protected import Protected  # noqa: E402
from website import Website  # noqa: E402
from writer import envelope  # noqa: E402

KEPT, DOOMED, MADE = "kept", "doomed", "made"
# No run passes one crash point this often.
PASSES_MAX = 100
# Number of concurrent runs.
AT_ONCE = 8
# Crash points that every change passes; those that deleted rows pass, in the background and in one group; the clean stop.
OF_CHANGES = ("before-append", "after-append", "after-sync", "before-reply", "before-catalog", "after-catalog")
# Those that content passes on its way to the disk.
OF_CONTENT = ("content-reserved", "content-written", "before-content-sync", "after-content-sync", "before-content-entry",
              "after-content-entry")
# Crash points for changes of protected blobs and of a website: in one account the change is lost, in the other it is applied
# without a response. The other crash points are the same for every change.
OF_PROTECTED = (("before-append", VERSIONED), ("before-reply", RETAINED), ("before-append", SITE))
OF_ERASING = ("before-erase", "after-erase")
OF_THE_END = ("closing",)


class Run:
    def __init__(self, binary, place, was_stopped):
        self.binary, self.place, self.was_stopped = binary, place, was_stopped
        self.data = tempfile.mkdtemp(prefix="lazuli-points-")
        # The possible contents of each table, its rows with their numbers, or None if it does not exist: one state, or
        # two.
        self.tables = {KEPT: [None], DOOMED: [None], MADE: [None]}
        self.messages, self.blobs = Messages(0, 1), Blobs(0, 1)

    def server(self, **options):
        return Server(self.binary, "--location", self.data, **options)

    # --- changes: each names the state of the table after it

    def change(self, client, table, after, *request):
        """False when the outcome is unknown."""
        before = self.tables[table][0]
        self.tables[table] = [before, after]
        try:
            response = client.ask(*request)
        except (OSError, http.client.HTTPException):
            return False
        if response.status not in (202, 204) or "HTTP/1.1 4" in response.text:
            raise RuntimeError(f"{request[:2]} got {response.status} {response.text}")
        self.tables[table] = [after]
        return True

    def create(self, client, table):
        return self.change(client, table, {}, "POST", "/Tables", {"TableName": table})

    def drop(self, client, table):
        return self.change(client, table, None, "DELETE", f"/Tables('{table}')")

    def put(self, client, table, row, number):
        after = self.tables[table][0] | {row: number}
        return self.change(client, table, after, "PUT", entity_path(table, "p", row), {"N": number})

    def batch(self, client, table, rows, number):
        after = self.tables[table][0] | dict.fromkeys(rows, number)
        operations = [
            f"PUT http://localhost/{client.account}{entity_path(table, 'p', row)} HTTP/1.1\r\n"
            f"Content-Type: application/json\r\n\r\n{{\"N\":{number}}}" for row in rows]
        return self.change(client, table, after, "POST", "/$batch", envelope(operations),
                           {"Content-Type": "multipart/mixed; boundary=batch_b"})

    def begin(self):
        """The state before."""
        with self.server() as server, Client(server) as client:
            done = (self.create(client, KEPT) and self.batch(client, KEPT, "abc", 1) and self.create(client, DOOMED)
                    and self.batch(client, DOOMED, "abcdefgh", 2) and self.put(client, DOOMED, "i", 3)
                    and self.messages.work(server, [self.messages.put] * 4 + [self.messages.get])
                    and self.blobs.work(server, self.blobs.each()))
            if not done or self.was_stopped and server.stop() != 0:
                raise RuntimeError(f"the preparation failed: {server.said()}")
            server.kill()

    def work(self, server, client):
        """All changes, until one gets no response. Tables come last: they are deleted at the end."""
        return (self.blobs.work(server, self.blobs.each()) and self.messages.work(server, self.messages.each())
                and self.put(client, KEPT, "a", 10) and self.batch(client, KEPT, "abd", 11) and self.create(client, MADE)
                and self.batch(client, MADE, "xy", 12) and self.drop(client, DOOMED) and self.create(client, DOOMED)
                and self.put(client, DOOMED, "z", 13) and self.drop(client, MADE))

    # --- the crash, and what is left

    def crash(self):
        """Returns whether the crash point was passed."""
        with self.server(env={"LAZULI_CRASH_AT": self.place}, wait=False) as server:
            try:
                server.wait_until_ready()
            except NotStarted:
                # The background work passes some crash points, on a slow machine before the server is ready.
                if server.process.returncode != -signal.SIGABRT:
                    raise
                return True
            with Client(server) as client:
                is_over = self.work(server, client)
            if self.place.startswith(OF_THE_END):
                server.process.send_signal(signal.SIGTERM)
            if not is_over or self.place.startswith(OF_ERASING + OF_THE_END):
                server.wait()
            server.kill()
            return server.process.returncode == -signal.SIGABRT

    def problems(self):
        done = subprocess.run([self.binary, "check", "--location", self.data], capture_output=True, text=True, timeout=HANG_SECONDS)
        if done.returncode != 0:
            return [f"check ended with {done.returncode}: {done.stdout}{done.stderr}"]
        with self.server() as server, Client(server) as client:
            problems = self.compare(server, client)
            if server.stop() != 0 or "panicked" in server.said():
                problems.append(f"the server did not stop cleanly: {server.said()}")
        return problems

    def compare(self, server, client):
        problems = []
        there = {row["TableName"] for row in all_rows(client, "/Tables")}
        for table, states in self.tables.items():
            found = {row["RowKey"]: row["N"] for row in all_rows(client, f"/{table}()")} if table in there else None
            if found not in states:
                problems.append(f"{table} is {found}, wanted {' or '.join(map(str, states))}")
            if found is None and not (self.create(client, table) and list(all_rows(client, f"/{table}()")) == []):
                problems.append(f"{table} cannot be created again, or is not empty then")
        return problems + self.messages.verify(server) + self.messages.take_problems() + self.blobs.verify(server)


class ProtectedRun(Run):
    """The same with changes of protected blobs or of a website only, in one of these accounts."""

    def __init__(self, account, *args):
        super().__init__(*args)
        self.protected = Website(0, 1) if account == SITE else Protected(0, 1, account)

    def server(self, env=None, **options):
        return Server(self.binary, "--location", self.data, *flags(), env=ENVIRONMENT | (env or {}), **options)

    def begin(self):
        with self.server() as server:
            if not self.work(server, None) or self.was_stopped and server.stop() != 0:
                raise RuntimeError(f"the preparation failed: {server.said()}")
            server.kill()

    def work(self, server, _):
        return self.protected.work(server, self.protected.each())

    def compare(self, server, _):
        return self.protected.finish(server, self.data)


def run_at(kind, binary, place, was_stopped):
    """Returns whether the crash point was passed, and the problems."""
    run = kind(binary, place, was_stopped)
    try:
        run.begin()
        is_passed, problems = run.crash(), run.problems()
    except (NotStarted, OSError, http.client.HTTPException, RuntimeError, subprocess.TimeoutExpired) as error:
        is_passed, problems = True, [repr(error)]
    if problems:
        problems.append(f"the store is left in {run.data}")
    else:
        shutil.rmtree(run.data)
    return is_passed, problems


def try_point(pool, binary, point, kind=Run, name="everything"):
    """Returns the number of passes at which something was wrong."""
    passed = wrong = 0
    many = point in OF_CHANGES + OF_CONTENT
    for first in range(1, PASSES_MAX if many else 2, AT_ONCE):
        places = [f"{point}:{number}" for number in range(first, first + (AT_ONCE if many else 1))]
        outcomes = list(pool.map(lambda place: run_at(kind, binary, place, was_stopped=is_stopped(place)), places))
        for place, (is_passed, problems) in zip(places, outcomes):
            passed, wrong = passed + is_passed, wrong + bool(problems)
            for problem in problems:
                print(f"{place}: {problem}", flush=True)
        if not all(is_passed for is_passed, _ in outcomes):
            break
    print(f"{point}, {name}: {passed} passes, problems at {wrong}", flush=True)
    if not passed:
        print(f"{point}, {name}: never passed")
    return wrong + (not passed)


def is_stopped(place):
    """Every second store was stopped cleanly, the others were killed."""
    return int(place.split(":")[1]) % 2 == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", required=True)
    args = parser.parse_args()
    binary = os.path.abspath(args.binary)
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        failed = sum(try_point(pool, binary, point) for point in OF_CHANGES + OF_CONTENT + OF_ERASING + OF_THE_END)
        failed += sum(try_point(pool, binary, point, functools.partial(ProtectedRun, account), account)
                      for point, account in OF_PROTECTED)
    print("passed" if not failed else f"{failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
