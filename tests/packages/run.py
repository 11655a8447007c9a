#!/usr/bin/env python3
"""The packages, built from one binary, installed as users install them, and started.

    tests/packages/run.py --binary target/release/lazuli [--long] [NAME...]

Names select tests by a part of their name. Without names, long tests run only with --long. A test that cannot run here prints SKIPPED and the reason. Variables:
  LAZULI_TEST_CACHE      where dependencies are; sdk-python must have the official SDKs and pytest
  LAZULI_PACKAGES_ROOT   a tar file with a bare Debian system, such as debootstrap or mmdebstrap make it; the Debian package
                         is installed there [default: a copy of this machine's essential packages]
  LAZULI_PACKAGES_OLD_ROOT   a tar file with an old system, on which the portable binary is started (long form) [default: the
                         oldest Debian that mmdebstrap can make]
"""

import argparse
import importlib
import os
import pathlib
import sys
import tempfile
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path[:0] = [HERE, os.path.join(HERE, "..", "support"), os.path.join(HERE, "..")]

from common import Packages, Skip  # noqa: E402 - the path comes first

MODULES = ["contract", "archives", "npm", "wheels", "bare", "debian", "image", "crates", "repository", "recipes", "testcontainers", "portable"]

# Tests that take longer than all others together.
LONG = {
    "test_a_release_builds_the_same_packages_from_a_tag_twice",
    "test_cargo_installs_the_program_on_a_bare_system",
    "test_a_program_tests_itself_with_the_embedded_server_on_a_bare_system",
    "test_the_portable_binary_needs_nothing_newer_than_promised",
    "test_the_portable_binary_runs_on_an_old_system",
}


def is_chosen(name, args):
    if not name.startswith("test_"):
        return False
    return any(part in name for part in args.names) if args.names else args.long or name not in LONG


def outcome(test, packages):
    """Runs one test in an empty directory; returns whether it passed, and what to print."""
    with tempfile.TemporaryDirectory(prefix="lazuli-packages-") as directory:
        try:
            test(packages, pathlib.Path(directory))
            return True, "ok"
        except Skip as reason:
            return None, f"SKIPPED ({reason})"
        except Exception:  # noqa: BLE001 - whatever it is, the test has failed
            return False, f"FAILED\n{traceback.format_exc()}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", required=True)
    parser.add_argument("--long", action="store_true")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    results = []
    with tempfile.TemporaryDirectory(prefix="lazuli-dist-") as scratch:
        packages = Packages(args.binary, pathlib.Path(scratch))
        for module in map(importlib.import_module, MODULES):
            for name, test in list(vars(module).items()):
                if not is_chosen(name, args):
                    continue
                started = time.monotonic()
                passed, text = outcome(test, packages)
                results.append(passed)
                word, seconds = text.split()[0], time.monotonic() - started
                print(f"{word}: {module.__name__}.{name} ({seconds:.1f} s){text[len(word):]}", flush=True)
    print(f"{results.count(True)} passed, {results.count(False)} failed, {results.count(None)} skipped")
    return 1 if False in results or not results else 0


if __name__ == "__main__":
    sys.exit(main())
