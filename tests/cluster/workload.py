"""Clients that write and read while things break, and what they must never see.

Each writer owns a partition of a few rows that all hold the same number. It puts a greater number into all of them in
one transaction, under their ETags. Readers query whole partitions. Held to: an acknowledged number is never lost (CS-06),
rows of a partition never differ (TX-11), and no read shows less than was acknowledged before it began (CS-02).
"""

import bisect
import collections
import http.client
import json
import os
import sys
import threading
import time
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

from lazuli import Client  # noqa: E402

TABLE = "ring"
ROWS = 4
WRITERS = 6
# A request that takes longer is given up: its outcome is unknown.
TIMEOUT = 20
# How long front ends may need at the end until they respond.
RECOVERY_TIMEOUT = 60
# Violations are counted; this many examples are shown.
EXAMPLES_MAX = 8
# Who writes, and reads at front ends that know all machines.
USUAL = "usual"


class Wrong(Exception):
    """A response that no fault explains."""


class Endpoints:
    """Front ends; a client that fails continues with the next."""

    def __init__(self, servers, number):
        self.servers, self.at, self.client = servers, number, None

    def ask(self, *args, **options):
        if self.client is None:
            self.at += 1
            self.client = Client(self.servers[self.at % len(self.servers)], timeout=TIMEOUT)
        try:
            response = self.client.ask(*args, **options)
        except (OSError, http.client.HTTPException):
            self.drop()
            raise
        if response.status >= 500:
            self.drop()
        return response

    def drop(self):
        if self.client:
            self.client.close()
        self.client = None


def batch_body(partition, number, etags):
    """A transaction that sets all rows of a partition."""
    batch, changes = f"batch_{uuid.uuid4()}", f"changeset_{uuid.uuid4()}"
    lines = [f"--{batch}", f"Content-Type: multipart/mixed; boundary={changes}", ""]
    for row in range(ROWS):
        condition = [f"If-Match: {etags[row]}"] if etags else []
        lines += [f"--{changes}", "Content-Type: application/http", "Content-Transfer-Encoding: binary", "",
                  f"PUT http://x/devstoreaccount1/{TABLE}(PartitionKey='{partition}',RowKey='{row}') HTTP/1.1",
                  "Content-Type: application/json", "Accept: application/json;odata=nometadata", *condition, "",
                  json.dumps({"PartitionKey": partition, "RowKey": str(row), "n": number}), ""]
    lines += [f"--{changes}--", f"--{batch}--", ""]
    return "\r\n".join(lines), {"Content-Type": f"multipart/mixed; boundary={batch}"}


class Workload:
    """Writers and readers that run until they are stopped.

    `groups`: further readers, by name, with the only front ends that they ask. They are counted apart."""

    def __init__(self, servers, readers=4, groups=None):
        self.servers = servers
        # Of each partition: what was acknowledged, in order, and the greatest number that was sent.
        self.acked = [[0] for _ in range(WRITERS)]
        self.tried = [0] * WRITERS
        self.counts = collections.defaultdict(collections.Counter)
        self.times, self.read_times = [], []
        self.wrong, self.examples = [], []
        self.over = threading.Event()
        self.prepare()
        jobs = [(self.write, n) for n in range(WRITERS)] + [(self.read, n, servers, USUAL) for n in range(readers)]
        for name, ends in (groups or {}).items():
            jobs += [(self.read, n, ends, name) for n in range(len(ends))]
        self.threads = [threading.Thread(target=self.guard, args=job, daemon=True) for job in jobs]
        for thread in self.threads:
            thread.start()

    def prepare(self):
        first = Endpoints(self.servers, 0)
        created = first.ask("POST", "/Tables", {"TableName": TABLE})
        if created.status not in (201, 204, 409):
            raise SystemExit(f"no table: {created.status} {created.text}")
        for writer in range(WRITERS):
            body, headers = batch_body(f"p{writer}", 0, None)
            response = first.ask("POST", "/$batch", body, headers)
            if response.status != 202 or "HTTP/1.1 204" not in response.text:
                raise SystemExit(f"no rows: {response.status} {response.text}")

    def guard(self, job, number, *args):
        try:
            job(number, *args)
        except Exception as error:
            self.wrong.append(f"{job.__name__} {number}: {type(error).__name__}: {error}")
            self.over.set()

    def note(self, group, what, example, count=1):
        """Counts something that must not be."""
        self.counts[group][what] += count
        if len(self.examples) < EXAMPLES_MAX:
            self.examples.append(f"{group}: {what}: {example}")

    def look(self, ends, partition, group=USUAL):
        """Number and ETags of a partition, or None if there was no response or they cannot be determined."""
        floor = self.acked[partition][-1]
        try:
            response = ends.ask("GET", f"/{TABLE}()?$filter=PartitionKey%20eq%20'p{partition}'",
                              headers={"Accept": "application/json;odata=fullmetadata"})
        except (OSError, http.client.HTTPException):
            return None
        if response.status >= 500:
            return None
        if response.status != 200:
            raise Wrong(f"a query was rejected: {response.status} {response.text}")
        rows = response.json["value"]
        numbers = {row["n"] for row in rows}
        if len(rows) != ROWS or len(numbers) != 1:
            self.note(group, "torn", f"p{partition} has {len(rows)} rows with {numbers}")
            return None
        number = numbers.pop()
        if number > self.tried[partition]:
            raise Wrong(f"p{partition} has {number}, which nobody wrote")
        if number < floor:
            self.note(group, "stale", f"p{partition} had {number} after {floor} was acknowledged")
        return number, [row["odata.etag"] for row in rows]

    def write(self, partition):
        ends, counts = Endpoints(self.servers, partition), self.counts[USUAL]
        while not self.over.is_set():
            seen = self.look(ends, partition)
            if seen is None:
                counts["reads without a response"] += 1
                self.over.wait(0.1)
                continue
            base, etags = seen
            number = self.tried[partition] = self.tried[partition] + 1
            body, headers = batch_body(f"p{partition}", number, etags)
            try:
                response = ends.ask("POST", "/$batch", body, headers)
            except (OSError, http.client.HTTPException):
                counts["unknown"] += 1
                continue
            if response.status == 202 and response.text.count("HTTP/1.1 204") == ROWS:
                self.lose_above(partition, base)
                self.acked[partition].append(number)
                counts["acknowledged"] += 1
                self.times.append(time.monotonic())
            elif response.status >= 500 or "HTTP/1.1 50" in response.text:
                counts["unknown"] += 1
            elif "HTTP/1.1 412" in response.text:
                # Only this writer writes here: a change of its own, whose outcome it did not learn, came through.
                counts["rejected"] += 1
            else:
                raise Wrong(f"a transaction was rejected: {response.status} {response.text}")

    def lose_above(self, partition, number):
        """What the partition holds came after this number and nothing else: what was acknowledged above it is lost."""
        acked = self.acked[partition]
        kept = bisect.bisect_right(acked, number)
        if kept < len(acked):
            self.note(USUAL, "lost", f"p{partition} continues after {number}, but {acked[-1]} was acknowledged", len(acked) - kept)
            # What is left is at least the number that was there before everything.
            del acked[max(kept, 1):]

    def read(self, number, servers, group):
        ends, counts = Endpoints(servers, number), self.counts[group]
        turn = number
        while not self.over.is_set():
            turn += 1
            if self.look(ends, turn % WRITERS, group) is None:
                counts["reads without a response"] += 1
                self.over.wait(0.1)
                continue
            counts["reads"] += 1
            if group == USUAL:
                self.read_times.append(time.monotonic())

    def last_write(self):
        return self.times[-1] if self.times else 0

    def finish(self, another):
        """Stops everyone, and looks once more at all that was acknowledged. `another` starts a front end that has seen
        nothing yet: it tells what is there where the others refuse to."""
        self.over.set()
        for thread in self.threads:
            thread.join(2 * TIMEOUT)
        ends = Endpoints(self.servers, 0)
        if self.look_until(ends, 0, time.monotonic() + RECOVERY_TIMEOUT) is None:
            self.wrong.append("the front ends do not respond at the end")
            ends = Endpoints([another()], 0)
        end = time.monotonic() + RECOVERY_TIMEOUT
        for partition in range(WRITERS):
            seen = self.look_until(ends, partition, end)
            if seen is None:
                self.wrong.append(f"p{partition} cannot be read at the end")
            else:
                self.lose_above(partition, seen[0])

    def look_until(self, ends, partition, end):
        """The content of a partition, unless no front end responds before the end."""
        while True:
            seen = self.look(ends, partition)
            if seen or time.monotonic() > end:
                return seen
            time.sleep(0.2)

    @staticmethod
    def longest_gap(times, since):
        moments = [since] + [moment for moment in times if moment >= since]
        return max((b - a for a, b in zip(moments, moments[1:])), default=0)
