"""Numbers that only grow, in the rows of a table and in blobs: writers and readers, and the rules for their results.

Each writer owns a register. It puts a greater number into it under the ETags that it read. Readers read all of them. Rules: an
acknowledged number is never lost (CS-06), a register is never torn (TX-11), and no read shows less than was acknowledged before
it began (CS-02).
"""

import bisect
import time

from load import BROKEN, RECOVERY_TIMEOUT, USUAL, Endpoints, Load, Wrong

# The outcomes of a change, as far as its writer knows them.
ACKNOWLEDGED, UNKNOWN, REJECTED = "acknowledged", "unknown", "rejected"


class Torn(Exception):
    """Parts of a register are of different numbers."""


class Registers(Load):
    """`kind` knows how numbers are stored. `groups`: further readers, by name, with the only front ends that they use. They are counted
    separately."""

    def __init__(self, kind, servers, readers, groups=None):
        super().__init__(servers)
        self.kind = kind
        # Of each register: what was acknowledged, in order, and the greatest number that was sent.
        self.acked = [[0] for _ in range(kind.count)]
        self.tried = [0] * kind.count
        self.read_times = []
        kind.prepare(Endpoints(servers, 0, kind.service))
        jobs = [(self.write, n) for n in range(kind.count)] + [(self.read, n, servers, USUAL) for n in range(readers)]
        for name, ends in (groups or {}).items():
            jobs += [(self.read, n, ends, name) for n in range(len(ends))]
        self.start(jobs)

    def look(self, ends, register, group=USUAL):
        """Number and ETags of a register, or None if there was no response or they cannot be determined."""
        floor = self.acked[register][-1]
        try:
            found = self.kind.read(ends, register)
        except BROKEN:
            return None
        except Torn as error:
            self.note(group, "torn", error)
            return None
        if found is None:
            return None
        number = found[0]
        if number > self.tried[register]:
            raise Wrong(f"{self.kind.service} {register} has {number}, which nobody wrote")
        if number < floor:
            self.note(group, "stale", f"{self.kind.service} {register} had {number} after {floor} was acknowledged")
        return found

    def write(self, register):
        # The second is another front end, for changes that need several requests.
        ends = [Endpoints(self.servers, register + n, self.kind.service) for n in range(2)]
        counts = self.counts[USUAL]
        while not self.over.is_set():
            seen = self.look(ends[0], register)
            if seen is None:
                counts["reads without a response"] += 1
                self.over.wait(0.1)
                continue
            base, etags = seen
            number = self.tried[register] = self.tried[register] + 1
            try:
                outcome = self.kind.write(ends, register, number, etags)
            except BROKEN:
                outcome = UNKNOWN
            if outcome == ACKNOWLEDGED:
                self.lose_above(register, base)
                self.acked[register].append(number)
                self.acknowledge()
            else:
                # Only this writer writes here: if it is rejected, an earlier change of its own, with an unknown outcome, was
                # applied.
                counts[outcome] += 1

    def lose_above(self, register, number):
        """The content of the register followed directly after this number: all acknowledged numbers above it are
        lost."""
        acked = self.acked[register]
        kept = bisect.bisect_right(acked, number)
        if kept < len(acked):
            self.note(USUAL, "lost", f"{self.kind.service} {register} continues after {number}, but {acked[-1]} was acknowledged", len(acked) - kept)
            # Keep at least the initial number.
            del acked[max(kept, 1):]

    def read(self, number, servers, group):
        ends, counts = Endpoints(servers, number, self.kind.service), self.counts[group]
        turn = number
        while not self.over.is_set():
            turn += 1
            if self.look(ends, turn % self.kind.count, group) is None:
                counts["reads without a response"] += 1
                self.over.wait(0.1)
                continue
            counts["reads"] += 1
            if group == USUAL:
                self.read_times.append(time.monotonic())

    def finish(self, another):
        """Stops all threads, and checks once more everything that was acknowledged. `another` starts a front end that
        has seen nothing yet: it returns the data even if the others reject an older history."""
        self.join()
        ends = Endpoints(self.servers, 0, self.kind.service)
        if self.look_until(ends, 0, time.monotonic() + RECOVERY_TIMEOUT) is None:
            self.wrong.append(f"{self.kind.service}: the front ends do not respond at the end")
            ends = Endpoints([another()], 0, self.kind.service)
        end = time.monotonic() + RECOVERY_TIMEOUT
        for register in range(self.kind.count):
            seen = self.look_until(ends, register, end)
            if seen is None:
                self.wrong.append(f"{self.kind.service} {register} cannot be read at the end")
            else:
                self.lose_above(register, seen[0])

    def look_until(self, ends, register, end):
        """The content of a register, unless no front end responds before the end."""
        while True:
            seen = self.look(ends, register)
            if seen or time.monotonic() > end:
                return seen
            time.sleep(0.2)
