"""One fault, from a whole cluster to a whole cluster, with clients of all services at work."""

import contextlib
import sys
import time

from blobs import Blobs
from cluster import TTL
from faults import DEPOSED, FAULTS, HANGS, LEADER, NO_UPLOADS, PROXY, RESUMED, Setting
from holders import Leases, Messages
from lazuli import Server
from load import USUAL
from machine import wait_for
from registers import Registers
from rows import Rows

# Seconds before a fault, and after writes resume.
CALM = 3
# Minimum seconds of a fault that no election ends: shorter, and longer, than a front end repeats requests to the object store.
HOLD, LONG_HOLD = 5, 30
# The progress that tables and queues must make while the object store is broken.
PROGRESS = 20
# Seconds within which service resumes after a leader, its etcd or the standby that confirms is lost: a term, an election, and the search for the new leader. In addition, what
# a machine may take longer on which everything shares two processors with other programs.
RESUMES, SLACK = 30, 15
# Readers at a front end that knows the leader only.
LOYAL = 2
ROW_READERS, BLOB_READERS = 4, 2


class Trial:
    def __init__(self, site, name, reads, hold=HOLD):
        self.site, self.name, self.reads, self.hold = site, name, reads, hold
        self.cluster, self.servers = site.cluster, []

    def start(self, reads, nodes=None, front=0):
        place = self.site.fronts[front]
        endpoint = self.site.proxy.endpoint if self.name in PROXY else None
        self.servers.append(Server(
            self.site.binary, "--host", place.address, "--dev-account", "--queue-port", 0, "--blob-port", 0, "--engine",
            self.cluster.url(self.site.database, f"pool=8&reads={reads}", nodes), "--content", self.site.store.url("cluster", endpoint), prefix=place.prefix))
        return self.servers[-1]

    def run(self):
        """The metrics; exits if a rule was violated."""
        try:
            figures = self.strike()
            self.judge(figures)
            return figures
        except BaseException:
            for server in self.servers:
                print(server.said(), file=sys.stderr)
            raise
        finally:
            for server in self.servers:
                server.close()

    def strike(self):
        usual = [self.start(self.reads, front=number) for number in range(len(self.site.fronts))]
        leader = self.cluster.leader()
        groups = {}
        if self.name in DEPOSED:
            groups = {"loyal": [self.start("linearizable", [leader])] * LOYAL, "control": [self.start("primary", [leader])] * LOYAL}
        self.rows = Registers(Rows(), usual, ROW_READERS, groups)
        self.blobs = Registers(Blobs(), usual, BLOB_READERS)
        self.messages, self.leases = Messages(usual), Leases(usual)
        self.loads = {"rows": self.rows, "blobs": self.blobs, "messages": self.messages, "leases": self.leases}
        time.sleep(CALM)
        heal = FAULTS[self.name](Setting(self.cluster, leader, usual, self.site.fronts, self.site.store, self.site.proxy))
        struck = time.monotonic()
        with contextlib.ExitStack() as healing:
            healing.callback(heal)
            self.wait_in_fault(leader, struck)
        healed = time.monotonic()
        self.wait_for_all("after the fault", healed)
        if not self.is_over():
            self.cluster.wait_until_whole()
            time.sleep(CALM)
        for load in (self.rows, self.blobs):
            load.finish(lambda: self.start(self.reads))
        self.messages.finish()
        self.leases.finish()
        return self.figures(struck, healed)

    def is_over(self):
        return any(load.over.is_set() for load in self.loads.values())

    def wait_in_fault(self, leader, struck):
        if self.name in LEADER:
            # A deposed leader that has not noticed continues until its term is over: only then is there an effect.
            wait_for("another leader", lambda: self.cluster.leader().name != leader.name or self.is_over(), 6 * TTL)
            self.wait_for_all("another leader leads", time.monotonic() + 2, without="blobs" if self.name in HANGS else None)
            time.sleep(CALM)
        else:
            # A broken object store does not stop tables and queues.
            for name in ("rows", "messages", "leases"):
                wait_for(f"{name} continue", lambda name=name: self.is_over() or self.loads[name].since(struck) >= PROGRESS, 3 * TTL)
            time.sleep(self.hold)

    def wait_for_all(self, what, moment, without=None):
        for name, load in self.loads.items():
            if name == without:
                continue
            wait_for(f"{name} continue: {what}", lambda load=load: self.is_over() or load.since(moment) > 0, 6 * TTL)

    def figures(self, struck, healed):
        counts = {name: load.counts for name, load in self.loads.items()}
        every = [count for groups in counts.values() for group, count in groups.items() if group != "control"]
        rows = counts["rows"]
        found = {name: count[USUAL]["acknowledged"] for name, count in counts.items()}
        found |= {what: sum(count[what] for count in every) for what in ("lost", "torn", "stale", "two holders", "put twice", "unknown", "reads")}
        # A torn read is a violation, even at a front end that may return old data.
        found["torn"] += rows["control"]["torn"]
        for name, load in self.loads.items():
            found[f"no {name} s"] = round(load.longest_gap(load.times, struck), 1)
        for name, load in (("rows", self.rows), ("blobs", self.blobs)):
            found[f"no reads of {name} s"] = round(load.longest_gap(load.read_times, struck), 1)
        if self.name not in LEADER:
            found["fault s"] = round(healed - struck, 1)
        if self.name in DEPOSED:
            found["control stale"] = rows["control"]["stale"]
        return found

    def judge(self, figures):
        print(f"{self.name:12} " + ", ".join(f"{what} {figure}" for what, figure in figures.items()), flush=True)
        wrong = [each for load in self.loads.values() for each in load.wrong]
        never = ["lost", "torn", "two holders", "put twice"] + (["stale"] if self.reads == "linearizable" else [])
        wrong += [f"{figures[what]} {what}" for what in never if figures[what]]
        if self.name == "stop" and not figures.get("control stale"):
            wrong.append("no stale read at the front end that may have them: the check proves nothing")
        if self.name in NO_UPLOADS and figures["no blobs s"] < self.hold / 2:
            wrong.append("uploads succeeded throughout: the fault had no effect")
        if self.name in RESUMED:
            resumed = ["rows", "messages", "leases", "reads of rows"] + ([] if self.name in HANGS else ["blobs", "reads of blobs"])
            gaps = {what: figures[f"no {what} s"] for what in resumed}
            wrong += [f"no {what} for {gap} s" for what, gap in gaps.items() if gap > RESUMES + SLACK]
        if wrong:
            raise SystemExit("WRONG: " + "; ".join(wrong + [each for load in self.loads.values() for each in load.examples]))
