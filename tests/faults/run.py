#!/usr/bin/env python3
"""Makes the n-th call on the disk fail, for every n, and checks whether anything is lost or silently wrong.

    tests/faults/run.py --binary target/release/lazuli            a sample of the places, for the test command
    tests/faults/run.py --binary target/release/lazuli --all      every place

Each run starts the server on its data with one planned fault (see shim/src/lib.rs), changes blobs and messages (../crash/blobs.py,
protected.py, website.py and messages.py), writes and reads rows, and kills it. The promise: a fault is reported (a failed start that says why,
or 5xx), or changes nothing. Never: a wrong response, a panic, a hang, something acknowledged or shown to a reader that is gone when the disk
works again, an event that is missing then, or an event without its change.

After a failed sync of a file with rows, nothing more is acknowledged. After a failed sync of a pack, which holds content of blobs, the
uploads that need it fail, and the pack is abandoned: later rows and uploads are accepted, and are present when the disk works again.
"""

import argparse
import http.client
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
sys.path.insert(0, os.path.join(HERE, "..", "crash"))
from lazuli import Client, NotStarted, Server, StorageClient, all_rows, entity_path  # noqa: E402
from undo import lose_power  # noqa: E402
from blobs import Blobs  # noqa: E402
from kept import ENVIRONMENT, KEEPING, flags  # noqa: E402
from messages import Messages  # noqa: E402
from protected import Protected  # noqa: E402
from website import Website  # noqa: E402
from writer import envelope  # noqa: E402

TABLE = "faults"
WRITES = 12
# Changes of blobs and messages before the writes to the table. Some are more than one commit.
EARLIER_CHANGES = 51
# Content that is too large for a row.
UPLOAD_BYTES = 20_000
BATCH_ROWS = 5
# No run of the scenario makes more calls of one kind.
CALLS_MAX = 2000
# Number of calls of each kind that the short form lets fail: SAMPLE counted from the start of the process, SAMPLE_READY from
# when it is ready. Every change of the scenario writes and syncs, so all of the latter calls occur.
SAMPLE, SAMPLE_READY = 6, 4
# Rows that make a store write a sorted file when it is closed, so that they are read from there.
BULK_ROWS, BULK_BYTES = 40, 40_000
# Permanent faults stay; a single failed read may succeed the next time.
KINDS = ["sync-eio@{}", "sync-eio@{}+", "write-eio@{}", "write-enospc@{}+", "write-erofs@{}+", "write-short@{}",
         "read-eio@{}", "read-flip@{}", "write-kill@{}", "sync-kill@{}"]


def build_shim():
    target = os.environ.get("LAZULI_TEST_CACHE", os.path.join(HERE, "..", "..", "target", "test-deps"))
    target = os.path.abspath(os.path.join(target, "faults"))
    subprocess.run(["cargo", "build", "--release", "--quiet", "--manifest-path", os.path.join(HERE, "shim", "Cargo.toml"),
                    "--target-dir", target], check=True)
    return os.path.join(target, "release", "liblazuli_faults.so")


class Knowledge:
    """The expected data: the value of each row, or several values where the outcome is unknown."""

    def __init__(self):
        self.rows = {}
        self.batches = {}
        self.table = [False]
        self.bulk = 0
        self.number = 0
        # The latest number of each row that a reader was shown: it never goes back, not even after a loss of power.
        self.shown = {}
        # Numbers of the uploads that were acknowledged after a failed sync of a pack.
        self.uploads = []

    def next(self):
        self.number += 1
        return self.number


def write_all(client, known, problems):
    """Writes; returns how many writes were acknowledged after the first one that was not."""
    late, rejected = 0, False

    def send(*request):
        nonlocal rejected
        try:
            response = client.ask(*request)
        except (OSError, http.client.HTTPException):
            rejected = True
            return None
        if response.status >= 500:
            rejected = True
            return None
        return response

    if not known.table[0]:
        known.table = [False, True]
        response = send("POST", "/Tables", {"TableName": TABLE})
        if response is None:
            return late
        if response.status not in (204, 409):
            problems.append(f"wrong: creating the table got {response.status} {response.text}")
        known.table = [True]
    for index in range(WRITES):
        number, key = known.next(), f"row{index % 4}"
        was_rejected = rejected
        if index % 3 == 2:
            group = f"group{index % 2}"
            known.batches[group] = [known.batches.get(group, [None])[0], number]
            operations = [
                f"PUT http://localhost/{client.account}{entity_path(TABLE, group, n)} HTTP/1.1\r\n"
                f"Content-Type: application/json\r\n\r\n{{\"N\":{number}}}" for n in range(BATCH_ROWS)]
            response = send("POST", "/$batch", envelope(operations), {"Content-Type": "multipart/mixed; boundary=batch_b"})
            if response is None:
                # Another write to this group would make three possible states out of two.
                break
            if re.findall(r"^HTTP/1.1 (\d+)", response.text, re.M) != ["204"] * BATCH_ROWS:
                problems.append(f"wrong: a batch got {response.status} {response.text}")
            known.batches[group] = [number]
        else:
            known.rows[key] = [known.rows.get(key, [None])[0], number]
            response = send("PUT", entity_path(TABLE, "p", key), {"N": number, "Text": "x" * 2000})
            if response is None:
                break
            if response.status != 204:
                problems.append(f"wrong: a write got {response.status} {response.text}")
            known.rows[key] = [number]
        late += was_rejected
    return late


def bulk_text(row):
    return f"{row} " * (BULK_BYTES // 4)


def write_bulk(client, known):
    for row in range(BULK_ROWS):
        body = {"N": 0, "Text": bulk_text(row)}
        assert client.ask("PUT", entity_path(TABLE, "bulk", row), body).status == 204
    known.bulk = BULK_ROWS


def still_rejects(client, known):
    """After a failed sync nothing more is acknowledged until the store is opened again."""
    known.rows["late"] = [known.rows.get("late", [None])[0], known.next()]
    try:
        # A table whose creation failed does not exist: 404 acknowledges nothing either.
        return client.ask("PUT", entity_path(TABLE, "p", "late"), {"N": known.number}).status >= 400
    except (OSError, http.client.HTTPException):
        return True


def still_accepts(server, client, known):
    """A failed sync of a pack costs only the uploads that wait for it. Returns the problems."""
    problems, number = [], known.next()
    if known.table == [True]:
        known.rows["late"] = [known.rows.get("late", [None])[0], number]
        status = client.ask("PUT", entity_path(TABLE, "p", "late"), {"N": number}).status
        if status == 204:
            known.rows["late"] = [number]
        else:
            problems.append(f"wrong: after a failed sync of a pack a write to the table got {status}")
    with StorageClient(server.at("blob")) as blobs:
        blobs.ask("PUT", "/late?restype=container")
        status = blobs.ask("PUT", f"/late/{number}", upload(number), {"x-ms-blob-type": "BlockBlob"}).status
    if status == 201:
        known.uploads.append(number)
    else:
        problems.append(f"wrong: after a failed sync of a pack the next upload got {status}")
    return problems


def upload(number):
    return random.Random(number).randbytes(UPLOAD_BYTES)


def verify_uploads(server, known):
    with StorageClient(server.at("blob")) as blobs:
        found = {number: blobs.ask("GET", f"/late/{number}") for number in known.uploads}
    return [f"lost: upload {number} is {response.status} with {len(response.body)} bytes" for number, response in found.items()
            if response.status != 200 or response.body != upload(number)]


def verify(client, known, settle):
    """Everything known is present, or the server reports that it cannot tell."""
    problems, rows, bulk = [], {}, 0
    try:
        response = client.ask("GET", f"/Tables('{TABLE}')")
        if response.status >= 500:
            return []
        if (response.status == 200) not in known.table:
            return [f"lost: the table is there: {response.status == 200}, wanted {known.table}"]
        if response.status != 200:
            known.table = [False]
            return []
        for row in all_rows(client, f"/{TABLE}()"):
            rows[row["PartitionKey"], row["RowKey"]] = row["N"]
            bulk += row["PartitionKey"] == "bulk" and row["Text"] == bulk_text(row["RowKey"])
        for key, states in known.rows.items():
            response = client.ask("GET", entity_path(TABLE, "p", key))
            found = response.json["N"] if response.status == 200 else None
            if response.status < 500 and found not in states:
                problems.append(f"wrong: {key} by key is {response.status} {response.text[:200]}, wanted {states}")
    except (OSError, http.client.HTTPException, RuntimeError) as error:
        return [f"wrong: {error!r}"] if settle else []
    for key, number in rows.items():
        known.shown[key] = max(number, known.shown.get(key, 0))
    for key, number in known.shown.items():
        if rows.get(key, 0) < number:
            problems.append(f"lost: {key} is {rows.get(key)}, but a reader was shown {number}")
    if bulk != known.bulk:
        problems.append(f"lost: {bulk} of {known.bulk} large rows are as they were")
    for key, states in known.rows.items():
        if rows.get(("p", key)) not in states:
            problems.append(f"lost: {key} is {rows.get(('p', key))}, wanted {states}")
        if settle:
            known.rows[key] = [rows.get(("p", key))]
    for group, states in known.batches.items():
        found = [rows.get((group, str(n))) for n in range(BATCH_ROWS)]
        if len(set(found)) > 1:
            problems.append(f"torn: {group} is {found}")
        if found[0] not in states:
            problems.append(f"lost: {group} is {found[0]}, wanted {states}")
        if settle:
            known.batches[group] = [found[0]]
    if settle:
        known.table = [True]
    return problems


def read(server, *clients):
    return [problem for one in clients for problem in one.read(server)]


class Run:
    def __init__(self, binary, shim):
        self.binary, self.shim = binary, shim
        self.folder = tempfile.mkdtemp(prefix="lazuli-faults-")
        self.disk, self.undo = os.path.join(self.folder, "disk"), os.path.join(self.folder, "undo")
        self.data = os.path.join(self.disk, "data")
        for made in (self.disk, self.undo):
            os.mkdir(made)
        self.seen = os.path.join(self.folder, "seen")
        self.gate = os.path.join(self.folder, "gate")
        self.known = Knowledge()
        self.blobs, self.messages = Blobs(0, 1), Messages(0, 1)
        self.keepers = [*(Protected(index, 1, account) for index, account in enumerate(KEEPING)), Website(0, 1)]
        self.rejected_starts = 0
        # Runs in which the sync of a pack failed.
        self.pack_faults = 0

    def server(self, fault=None, when_ready=False):
        env = dict(ENVIRONMENT)
        if fault is not None:
            env |= {"LAZULI_FAULTS_GATE": self.gate} if when_ready else {}
            env |= {"LD_PRELOAD": self.shim, "LAZULI_FAULTS": fault, "LAZULI_FAULTS_DIR": self.disk,
                   "LAZULI_FAULTS_UNDO": self.undo, "LAZULI_FAULTS_SEEN": self.seen}
        return Server(self.binary, "--location", self.data, *flags(), env=env)

    def write(self, server, client, problems):
        """Changes blobs, messages and rows, as far as the disk works."""
        for one in (self.blobs, *self.keepers, self.messages):
            try:
                one.work(server, one.each())
            except RuntimeError as error:
                problems.append(f"wrong: {error}")
            problems += one.take_problems()
        write_all(client, self.known, problems)

    def failed_syncs(self):
        """The number of failed syncs so far, of files with rows and of files with content.

        The directory of the data is synced after the start only when the first pack gets a directory.
        """
        if not os.path.exists(self.seen):
            return 0, 0
        with open(self.seen) as seen:
            paths = [line.rstrip("\n").split(" ", 2)[2] for line in seen if line.startswith("sync-eio")]
        content = os.path.join(self.data, "content")
        of_content = [path for path in paths if path == self.data or path == content or path.startswith(content + os.sep)]
        return len(paths) - len(of_content), len(of_content)

    def faulty(self, fault, when_ready=False, **loss):
        """One run with a fault, or with the library alone. Returns whether the fault happened, and the problems."""
        problems = []
        for path in filter(os.path.exists, (self.seen, self.gate)):
            os.remove(path)
        try:
            with self.server(fault, when_ready) as server, Client(server) as client:
                open(self.gate, "w").close()
                # A start may continue after a fault in work that it does not need: the sorted store merges files by itself,
                # and may leave that undone.
                needless = os.path.exists(self.seen)
                problems += verify(client, self.known, settle=False) + read(server, self.blobs, *self.keepers)
                self.write(server, client, problems)
                of_rows, of_content = self.failed_syncs()
                if of_rows and not needless and not still_rejects(client, self.known):
                    problems.append("wrong: a write was acknowledged after a failed sync")
                if of_content and not of_rows and not fault.endswith("+"):
                    problems += still_accepts(server, client, self.known)
                    self.pack_faults += 1
                problems += verify(client, self.known, settle=False) + read(server, self.blobs, *self.keepers)
                server.kill()
                if "panicked" in server.said():
                    problems.append(f"wrong: the server panicked: {server.said()}")
        except NotStarted as error:
            self.rejected_starts += 1
            if "kill" in fault and not str(error):
                pass
            elif "panicked" in str(error) or "lazuli:" not in str(error):
                problems.append(f"wrong: the server did not start, and said {error}")
        happened = os.path.exists(self.seen)
        # Unsynced data is lost with the power.
        if not loss.pop("power_stays", False):
            lose_power(self.undo, self.disk, **loss)
        return happened, problems

    def healthy(self):
        """The disk works again: everything acknowledged is present."""
        try:
            with self.server() as server, Client(server) as client:
                problems = verify(client, self.known, settle=True) + self.messages.verify(server)
                problems += self.blobs.verify(server) + verify_uploads(server, self.known)
                problems += [problem for one in self.keepers for problem in one.finish(server, self.data)]
                server.stop()
                return problems
        except NotStarted as error:
            return [f"wrong: the server does not start on a healthy disk: {error}"]


def places(everything, when_ready, chance):
    """Which calls are to fail, counted from the start, or from when the server is ready."""
    if everything:
        return range(1, CALLS_MAX)
    if when_ready:
        return [1, *chance.sample(range(2, WRITES + EARLIER_CHANGES + 1), SAMPLE_READY - 1)]
    # The number of calls is unknown. The first one exists in every run, so it is always included.
    return [1, *sorted(int(CALLS_MAX ** chance.random() * 0.25) + 1 for _ in range(SAMPLE - 1))]


def try_kind(args, shim, chance, kind, when_ready):
    """Faults of one kind at many places. Returns how many runs failed."""
    # A new store for faults in writes; an old one, with some data, for faults in reads.
    happened, rejected, runs, failed, run = 0, 0, 0, 0, None
    for place in places(args.all, when_ready, chance):
        fault = kind.format(place)
        if run is None or chance.random() < 0.5:
            if run:
                shutil.rmtree(run.folder)
            run = Run(args.binary, shim)
            if chance.random() < 0.7 or kind.startswith("read"):
                with run.server() as server, Client(server) as client:
                    run.write(server, client, [])
                    if kind.startswith("read"):
                        write_bulk(client, run.known)
                        server.stop()
                    else:
                        server.stop() if chance.random() < 0.5 else server.kill()
        before = run.rejected_starts
        hit, problems = run.faulty(fault, when_ready)
        problems += run.healthy()
        runs, happened, rejected = runs + 1, happened + hit, rejected + run.rejected_starts - before
        for problem in problems:
            print(f"{fault}: {problem}", flush=True)
        if problems:
            failed += 1
            print(f"{fault}: the store is left in {run.folder}", flush=True)
            run = None
        if not hit and args.all:
            break
    if run:
        shutil.rmtree(run.folder)
    name = kind.format("N") + (" when ready" if when_ready else "")
    print(f"{name:26} {runs} runs, {happened} faults, {rejected} starts rejected", flush=True)
    if not happened:
        print(f"{kind}: no fault ever happened")
        failed += 1
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", required=True)
    parser.add_argument("--all", action="store_true", help="every place, not a sample")
    parser.add_argument("--only", help="only this kind of fault, such as sync-eio@{}+")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    args = parser.parse_args()
    shim, chance, failed = build_shim(), random.Random(args.seed), 0
    print(f"faults: --seed {args.seed}", flush=True)
    for kind in KINDS if not args.only else [args.only]:
        for when_ready in (False, True):
            failed += try_kind(args, shim, chance, kind, when_ready)
    print("passed" if not failed else f"{failed} runs failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
