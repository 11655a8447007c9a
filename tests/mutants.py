#!/usr/bin/env python3
"""Mutation testing: breaks one thing in the code at a time, and checks that a test fails.

    tests/mutants.py crates/protocol/src/auth crates/service/src/access      every mutant of these files
    tests/mutants.py --sample 20 --seed 1 crates/store/src/journal           some of them
    tests/mutants.py --list crates/protocol/src/auth                         without running anything

Each mutant changes one line: a comparison, a logical operator, a constant, a negation, or a check that is left out. The unit
tests and the integration tests of the crate run on it. A mutant survives if they all pass. tests/mutants.txt lists the
survivors that change nothing that could be observed, each with its reason; any other survivor makes the run fail.

The working tree is changed while a mutant is tested, and restored afterwards. Run it in a copy of the repository.
"""

import argparse
import os
import random
import re
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
EXPLAINED = os.path.join(ROOT, "tests", "mutants.txt")
# A mutant may loop forever. The tests of one crate take a minute or two.
TIME_MAX = 900
# The replacements. Spaces keep generics, arrows and references out.
REPLACEMENTS = [
    (r" == ", " != "), (r" != ", " == "), (r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > "),
    (r" && ", " || "), (r"(?<![=(,]) \|\| ", " && "), (r" \+ ", " - "), (r" - ", " + "), (r"\btrue\b", "false"), (r"\bfalse\b", "true"),
    (r"\bif !", "if "), (r"\.is_some\(\)", ".is_none()"), (r"\.is_none\(\)", ".is_some()"), (r"\.is_ok\(\)", ".is_err()"),
    (r"\.is_some_and\(", ".is_none_or("), (r"\.is_none_or\(", ".is_some_and("), (r"\.all\(", ".any("), (r"\.any\(", ".all("),
    (r"\.max\(", ".min("), (r"\.min\(", ".max("),
]
# A statement that only checks something: leaving it out must be noticed.
CHECK = re.compile(r"^\s+[\w:.&*()\[\], ]+\(.*\)(\.await)?\?;$")


class Mutant:
    def __init__(self, path, number, before, after):
        self.path, self.number, self.before, self.after = path, number, before, after

    @property
    def crate(self):
        return "lazuli-" + self.path.split("/")[1]

    def key(self):
        """The name of the mutant, which stays the same when other lines move."""
        return f"{self.path}: {self.before.strip()} => {self.after.strip() or '(left out)'}"

    def __str__(self):
        return f"{self.path}:{self.number}: {self.before.strip()} => {self.after.strip() or '(left out)'}"


def source_files(paths):
    for path in paths:
        path = os.path.relpath(os.path.abspath(path), ROOT)
        if path.endswith(".rs"):
            yield path
            continue
        for folder, _, names in os.walk(os.path.join(ROOT, path)):
            for name in sorted(names):
                inside = os.path.relpath(os.path.join(folder, name), ROOT)
                if name.endswith(".rs") and "test" not in inside.split("/src/")[-1]:
                    yield inside


def mutants_of(path):
    with open(os.path.join(ROOT, path)) as file:
        lines = file.read().split("\n")
    for number, line in enumerate(lines, 1):
        if line.startswith("#[cfg(test)]"):
            return
        code = line.split("//")[0]
        if not code.strip() or "assert" in code or code.strip().startswith(("#", "use ", "pub use ", "const _")):
            continue
        if CHECK.match(code):
            yield Mutant(path, number, line, "")
        for pattern, new in REPLACEMENTS:
            for found in re.finditer(pattern, code):
                # String literals are not code.
                if code[:found.start()].count('"') % 2 == 0:
                    yield Mutant(path, number, line, line[:found.start()] + new + line[found.end():])


def run(mutant, nice):
    """Tests a mutant. Returns caught, does not compile, hangs, or SURVIVED."""
    path = os.path.join(ROOT, mutant.path)
    with open(path) as file:
        text = file.read()
    lines = text.split("\n")
    lines[mutant.number - 1] = mutant.after
    command = ["nice", "-n", str(nice), "cargo", "test", "--quiet", "-p", mutant.crate, "--lib", "--tests"]
    try:
        with open(path, "w") as file:
            file.write("\n".join(lines))
        built = subprocess.run([*command, "--no-run"], cwd=ROOT, capture_output=True)
        if built.returncode:
            return "does not compile"
        try:
            done = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=TIME_MAX)
            return "caught" if done.returncode else "SURVIVED"
        except subprocess.TimeoutExpired:
            return "hangs"
    finally:
        with open(path, "w") as file:
            file.write(text)


def explained():
    if not os.path.exists(EXPLAINED):
        return set()
    with open(EXPLAINED) as file:
        return {line.split(" # ")[0].strip() for line in file if line.strip() and not line.startswith("#")}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("path", nargs="+", help="files and folders")
    parser.add_argument("--sample", type=int, help="only this many, chosen by chance")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--nice", type=int, default=10)
    parser.add_argument("--list", action="store_true", help="print the mutants and run nothing")
    args = parser.parse_args()
    mutants = [mutant for path in source_files(args.path) for mutant in mutants_of(path)]
    if args.sample is not None and args.sample < len(mutants):
        mutants = sorted(random.Random(args.seed).sample(mutants, args.sample), key=lambda mutant: (mutant.path, mutant.number))
    if args.list:
        print(*mutants, sep="\n")
        return 0
    known, counts, failed = explained(), {}, 0
    for mutant in mutants:
        began = time.monotonic()
        outcome = run(mutant, args.nice)
        if outcome == "SURVIVED" and mutant.key() in known:
            outcome = "survived, as explained"
        counts[outcome] = counts.get(outcome, 0) + 1
        failed += outcome == "SURVIVED"
        print(f"{outcome:22} {time.monotonic() - began:5.0f} s  {mutant}", flush=True)
    print(", ".join(f"{outcome}: {count}" for outcome, count in sorted(counts.items())))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
