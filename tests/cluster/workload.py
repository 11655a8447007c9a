"""Clients that write and read while things break, and what they must never see.

Each writer owns a partition of a few rows that all hold the same number. It adds one to all of them in one transaction,
under their ETags. Readers query whole partitions. Held to: an acknowledged number is never lost (CS-06), rows of a
partition never differ (TX-11), and no read shows less than was acknowledged before it began (CS-02).
"""

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
# A request that takes longer is given up: its outcome is unknown.
TIMEOUT = 20


class Wrong(Exception):
    """Something that must never happen."""


class Endpoints:
    """Front ends; a client that fails goes on with the next."""

    def __init__(self, servers, number):
        self.servers, self.at, self.client = servers, number, None

    def ask(self, *args, **options):
        if self.client is None:
            self.at += 1
            self.client = Client(self.servers[self.at % len(self.servers)], timeout=TIMEOUT)
        try:
            answer = self.client.ask(*args, **options)
        except (OSError, http.client.HTTPException):
            self.drop()
            raise
        if answer.status >= 500:
            self.drop()
        return answer

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
    """Writers and readers that run until they are stopped."""

    def __init__(self, servers, writers=6, readers=4):
        self.servers = servers
        self.acked = [0] * writers
        self.tried = [0] * writers
        self.counts = collections.Counter()
        self.times = []
        self.read_times = []
        self.wrong = []
        self.over = threading.Event()
        first = Endpoints(servers, 0)
        created = first.ask("POST", "/Tables", {"TableName": TABLE})
        if created.status not in (201, 204, 409):
            raise SystemExit(f"no table: {created.status} {created.text}")
        for writer in range(writers):
            body, headers = batch_body(f"p{writer}", 0, None)
            answer = first.ask("POST", "/$batch", body, headers)
            if answer.status != 202 or "HTTP/1.1 204" not in answer.text:
                raise SystemExit(f"no rows: {answer.status} {answer.text}")
        jobs = [(self.write, n) for n in range(writers)] + [(self.read, n) for n in range(readers)]
        self.threads = [threading.Thread(target=self.guard, args=job, daemon=True) for job in jobs]
        for thread in self.threads:
            thread.start()

    def guard(self, job, number):
        try:
            job(number)
        except Exception as error:
            self.wrong.append(f"{job.__name__} {number}: {type(error).__name__}: {error}")
            self.over.set()

    def look(self, ends, partition):
        """Number and ETags of a partition, or None if nobody answered."""
        floor = self.acked[partition]
        try:
            answer = ends.ask("GET", f"/{TABLE}()?$filter=PartitionKey%20eq%20'p{partition}'",
                              headers={"Accept": "application/json;odata=fullmetadata"})
        except (OSError, http.client.HTTPException):
            return None
        if answer.status >= 500:
            return None
        if answer.status != 200:
            raise Wrong(f"a query is refused: {answer.status} {answer.text}")
        rows = answer.json["value"]
        numbers = {row["n"] for row in rows}
        if len(rows) != ROWS or len(numbers) != 1:
            raise Wrong(f"part of a transaction in p{partition}: {numbers}, {len(rows)} rows")
        number = numbers.pop()
        if number < floor:
            raise Wrong(f"a stale read of p{partition}: {number}, after {floor} was acknowledged")
        if number > self.tried[partition]:
            raise Wrong(f"p{partition} has {number}, which nobody wrote")
        return number, [row["odata.etag"] for row in rows]

    def write(self, partition):
        ends = Endpoints(self.servers, partition)
        while not self.over.is_set():
            seen = self.look(ends, partition)
            if seen is None:
                self.counts["reads not answered"] += 1
                self.over.wait(0.1)
                continue
            number, etags = seen
            self.tried[partition] = number + 1
            body, headers = batch_body(f"p{partition}", number + 1, etags)
            try:
                answer = ends.ask("POST", "/$batch", body, headers)
            except (OSError, http.client.HTTPException):
                self.counts["writes unknown"] += 1
                continue
            if answer.status == 202 and answer.text.count("HTTP/1.1 204") == ROWS:
                self.acked[partition] = number + 1
                self.counts["writes acknowledged"] += 1
                self.times.append(time.monotonic())
            elif answer.status >= 500 or "HTTP/1.1 50" in answer.text:
                self.counts["writes unknown"] += 1
            elif "HTTP/1.1 412" in answer.text:
                # Only this writer writes here: a change of its own, whose outcome it did not learn, came through.
                self.counts["writes refused"] += 1
            else:
                raise Wrong(f"a transaction is refused: {answer.status} {answer.text}")

    def read(self, number):
        ends = Endpoints(self.servers, number)
        turn = number
        while not self.over.is_set():
            turn += 1
            if self.look(ends, turn % len(self.acked)) is None:
                self.counts["reads not answered"] += 1
                self.over.wait(0.1)
            else:
                self.counts["reads"] += 1
                self.read_times.append(time.monotonic())

    def last_write(self):
        return self.times[-1] if self.times else 0

    def finish(self):
        """Stops everyone, and looks once more at all that was acknowledged."""
        self.over.set()
        for thread in self.threads:
            thread.join(2 * TIMEOUT)
        ends = Endpoints(self.servers, 0)
        for partition in range(len(self.acked)):
            for _ in range(100):
                seen = self.look(ends, partition)
                if seen:
                    break
                time.sleep(0.2)
            else:
                self.wrong.append(f"p{partition} cannot be read at the end")
        if self.wrong:
            raise SystemExit("WRONG: " + "; ".join(self.wrong))

    @staticmethod
    def longest_gap(times, since):
        moments = [since] + [moment for moment in times if moment >= since]
        return max((b - a for a, b in zip(moments, moments[1:])), default=0)
