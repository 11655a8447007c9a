"""Shared by all workloads: threads that run until they are stopped, counts of their observations, and clients that survive the loss
of a front end."""

import collections
import http.client
import os
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

from lazuli import Client, StorageClient  # noqa: E402

# A request that takes longer is abandoned: its outcome is unknown.
TIMEOUT = 20
# How long front ends may need at the end until they respond.
RECOVERY_TIMEOUT = 60
# Violations are counted; this many examples are shown.
EXAMPLES_MAX = 8
# Threads that write, and readers at front ends that know all machines.
USUAL = "usual"
# How a request fails that may have been applied.
BROKEN = (OSError, http.client.HTTPException)


class Wrong(Exception):
    """A response that no fault explains."""


class Endpoints:
    """Front ends; after a failure, a client continues with the next one."""

    def __init__(self, servers, number, service="table"):
        self.servers, self.at, self.service, self.client = servers, number, service, None

    def ask(self, *args, **options):
        if self.client is None:
            self.at += 1
            kind = Client if self.service == "table" else StorageClient
            self.client = kind(self.servers[self.at % len(self.servers)].at(self.service), timeout=TIMEOUT)
        try:
            response = self.client.ask(*args, **options)
        except BROKEN:
            self.drop()
            raise
        if response.status >= 500:
            self.drop()
        return response

    def drop(self):
        if self.client:
            self.client.close()
        self.client = None


class Load:
    """Threads that run until they are stopped or observe a violation."""

    def __init__(self, servers):
        self.servers = servers
        self.counts = collections.defaultdict(collections.Counter)
        # When something was acknowledged.
        self.times = []
        self.wrong, self.examples = [], []
        self.over = threading.Event()
        self.threads = []

    def start(self, jobs):
        """Each job is a function and its arguments, the first of which is a number."""
        self.threads = [threading.Thread(target=self.guard, args=job, daemon=True) for job in jobs]
        for thread in self.threads:
            thread.start()

    def guard(self, job, number, *args):
        try:
            job(number, *args)
        except Exception as error:
            self.wrong.append(f"{job.__name__} {number}: {type(error).__name__}: {error}")
            self.over.set()

    def note(self, group, what, example, count=1):
        """Counts a violation."""
        self.counts[group][what] += count
        if len(self.examples) < EXAMPLES_MAX:
            self.examples.append(f"{group}: {what}: {example}")

    def acknowledge(self):
        self.counts[USUAL]["acknowledged"] += 1
        self.times.append(time.monotonic())

    def since(self, moment):
        """Number of acknowledgements since a moment."""
        return sum(time > moment for time in self.times)

    def join(self):
        self.over.set()
        for thread in self.threads:
            thread.join(3 * TIMEOUT)

    @staticmethod
    def longest_gap(times, since):
        moments = [since] + sorted(moment for moment in times if moment >= since)
        return max((b - a for a, b in zip(moments, moments[1:])), default=0)
