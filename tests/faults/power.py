#!/usr/bin/env python3
"""Simulates a loss of power at chosen moments.

    tests/faults/power.py --binary target/release/lazuli

A new store: its first start is killed before its n-th sync, or before it makes, replaces or removes its n-th name, for every n. The power stays on, so that the second start
finds everything that the first one did, synced or not. It is written to and killed, also in accounts that keep versions or deleted blobs, and then the power is lost. Everything
acknowledged must be present: the second start must not assume that unsynced changes of the first one are durable.

A store that was stopped cleanly: it is opened again and killed in the middle of a batch. The disk has the batch then, but has
lost all names that were not synced. The incomplete batch must not count as damage: the mark of the clean stop must be gone.
"""

import argparse
import concurrent.futures
import shutil
import sys

from run import CALLS_MAX, Run, build_shim
from kept import RETAINED, SITE, VERSIONED
from lazuli import Client

# Number of concurrent runs.
AT_ONCE = 8
# The cause of death of the first start, and the account whose protected blobs the second one changes: to the disk, those of the other
# account are alike.
KINDS = {"name-kill": VERSIONED, "sync-kill": RETAINED}


def new_store(binary, shim, fault):
    """Returns whether the n-th call exists, and the problems."""
    run = Run(binary, shim)
    keepers, run.keepers = run.keepers, []
    happened, problems = run.faulty(fault, power_stays=True)
    run.keepers = [one for one in keepers if one.account in (SITE, KINDS[fault.split("@")[0]])]
    problems += run.faulty("")[1]
    return happened, problems + end(run)


def stopped_store(binary, shim):
    """Returns the problems."""
    run = Run(binary, shim)
    with run.server() as server, Client(server) as client:
        run.write(server, client, [])
        server.stop()
    happened, problems = run.faulty("write-short@1,write-kill@2", when_ready=True, writes_stay=True)
    return problems + end(run) + ([] if happened else ["wrong: nothing was written"])


def end(run):
    problems = run.healthy()
    if problems:
        problems.append(f"the store is left in {run.folder}")
    else:
        shutil.rmtree(run.folder)
    return problems


def new_stores(pool, binary, shim, kind):
    """Returns the number of calls, and the number of those with problems."""
    places = wrong = 0
    for first in range(1, CALLS_MAX, AT_ONCE):
        faults = [f"{kind}@{place}" for place in range(first, first + AT_ONCE)]
        done = list(pool.map(lambda fault: (fault, *new_store(binary, shim, fault)), faults))
        for fault, happened, problems in done:
            places, wrong = places + happened, wrong + bool(problems)
            for problem in problems:
                print(f"{fault}: {problem}", flush=True)
        if not all(happened for _, happened, _ in done):
            break
    print(f"new store, {kind}: {places} places, problems at {wrong}", flush=True)
    return places, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", required=True)
    args = parser.parse_args()
    shim, failed = build_shim(), 0
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        for kind in KINDS:
            places, wrong = new_stores(pool, args.binary, shim, kind)
            # A store cannot be made without either.
            failed += wrong + (not places)
    problems = stopped_store(args.binary, shim)
    for problem in problems:
        print(f"stopped store: {problem}")
    failed += bool(problems)
    print("passed" if not failed else f"{failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
