#!/usr/bin/env python3
"""The command line from end to end: output, rejections, signals.

    tests/cli/run.py --binary target/release/lazuli [NAME...]

Each test runs in an empty directory of its own. Names select tests by a part of their name.
"""

import argparse
import importlib
import os
import sys
import tempfile
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "support")]


def modules():
    """Every file here except this one and the shared helpers."""
    names = sorted(file[:-3] for file in os.listdir(HERE) if file.endswith(".py"))
    return [importlib.import_module(name) for name in names if name not in ("run", "common")]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", required=True)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    binary = os.path.abspath(args.binary)
    # The caller's settings, such as LAZULI_JOBS of tests/run, are not those of a test.
    for name in [name for name in os.environ if name.startswith(("LAZULI_", "AZURITE_", "AZURE_STORAGE_"))]:
        if not name.startswith("LAZULI_TEST_"):
            del os.environ[name]
    passed = failed = 0
    for module in modules():
        for name, test in list(vars(module).items()):
            if not name.startswith("test_") or args.names and not any(part in name for part in args.names):
                continue
            with tempfile.TemporaryDirectory(prefix="lazuli-cli-") as directory:
                try:
                    test(binary, directory)
                    passed += 1
                    print(f"ok: {module.__name__}.{name}", flush=True)
                except Exception:  # noqa: BLE001 - whatever it is, the test has failed
                    failed += 1
                    print(f"FAILED: {module.__name__}.{name}\n{traceback.format_exc()}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
