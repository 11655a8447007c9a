#!/usr/bin/env python3
"""Keeps docs/requirements.md consistent with the requirement ids that the code cites.

    tests/requirements.py             check; exits with 1 and a list of problems if something is wrong
    tests/requirements.py --update    rewrite the column of tests from the citations found, then check

A requirement is a table row `| TX-09 | sentence | tests |`. An id is cited by its name (`TX-09`) or by a range
(`TX-01 to TX-05`). A citation counts as a test when it is in a test file, a transcript, an example of the client, the
test module of a source file, or a doc comment with a code block. An id without any says `untested: reason`.

Mistakes in the documents behind the requirements are cited as `erratum E8`, and defined in a table `| E8 | mistake | decision |`.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLE = ROOT / "docs" / "requirements.md"
CITED_IN = (".rs", ".http", ".py", ".js", ".mjs", ".cs", ".sh", ".md", ".toml")
CITATION = re.compile(r"\b([A-Z]{2})-(\d{2})\b(?:\s+to\s+\1-(\d{2})\b)?")
ROW = re.compile(r"^\| ([A-Z]{2}-\d{2}) \| (.+?) \| ?(.*?) ?\|$", re.M)
ERRATUM = re.compile(r"\berratum (E\d{1,2})\b")
ERRATUM_ROW = re.compile(r"^\| (E\d{1,2}) \| .+ \| .+ \|$", re.M)
UNTESTED = re.compile(r"untested: \S")
# Files named for one id at most; the others are found by searching for the id.
SHOWN_MAX = 4
# Files whose every citation is a test, most telling first; that order decides which are shown.
TEST_FILES = [
    re.compile(r"^crates/conformance/transcripts/.*\.http$"),
    re.compile(r"^crates/[\w-]+/tests/.*\.rs$"),
    re.compile(r"^crates/engine/src/conformance/.*\.rs$"),
    re.compile(r"^crates/[\w-]+/src/(.*/)?tests(\.rs|/.*\.rs)$"),
    re.compile(r"^crates/client/examples/.*\.rs$"),
    re.compile(r"^tests/.*\.(py|js|mjs|cs|sh)$"),
]
TEST_MODULE = re.compile(r"^#\[cfg\((?:all\()?test\b", re.M)
DOC_COMMENT = re.compile(r"(?:^[ \t]*//[/!].*\n)+", re.M)


def ids(text):
    """Every id that a text cites, ranges written out."""
    found = set(ERRATUM.findall(text))
    for prefix, first, last in CITATION.findall(text):
        found.update(f"{prefix}-{number:02}" for number in range(int(first), int(last or first) + 1))
    return found


def text_of_tests(path, text):
    """The part of a file whose citations count as tests."""
    if any(pattern.match(path) for pattern in TEST_FILES):
        return text
    if not path.startswith("crates/") or not path.endswith(".rs"):
        return ""
    examples = [comment for comment in DOC_COMMENT.findall(text) if "```" in comment]
    module = TEST_MODULE.search(text)
    return "".join(examples) + (text[module.start():] if module else "")


def rank(path):
    kinds = [number for number, pattern in enumerate(TEST_FILES) if pattern.match(path)]
    return (kinds or [len(TEST_FILES)])[0]


def read_citations():
    """Ids with the files that cite them, and with those that test them."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\n")
    cited, tested = {}, {}
    for path in sorted(set(listed)):
        own = path in ("tests/requirements.py", "docs/requirements.md")
        if own or not path.endswith(CITED_IN) or not (ROOT / path).is_file():
            continue
        text = (ROOT / path).read_text(errors="replace")
        for found, into in ((ids(text), cited), (ids(text_of_tests(path, text)), tested)):
            for name in found:
                into.setdefault(name, []).append(path)
    return cited, tested


def choose(paths):
    """A few files of different kinds, so that one kind with many files does not crowd out the others."""
    kinds = {}
    for path in sorted(paths, key=lambda path: (rank(path), path)):
        kinds.setdefault(rank(path), []).append(path)
    chosen = []
    while len(chosen) < SHOWN_MAX and any(kinds.values()):
        chosen += [files.pop(0) for files in kinds.values() if files]
    return sorted(chosen[:SHOWN_MAX], key=lambda path: (rank(path), path))


def update(table, tested):
    def rewrite(row):
        name, sentence, cell = row.groups()
        if name in tested:
            cell = ", ".join(f"`{path}`" for path in choose(tested[name]))
        elif not UNTESTED.match(cell):
            cell = ""
        return f"| {name} | {sentence} | {cell} |"

    return ROW.sub(rewrite, table)


def problems(table, cited, tested):
    rows = ROW.findall(table)
    errata = ERRATUM_ROW.findall(table)
    defined = [name for name, _, _ in rows] + errata
    for name in sorted(set(errata) - set(cited)):
        yield f"{name} is an erratum that nothing cites: remove it, or cite it where the decision shows"
    for name in sorted(cited):
        if name not in defined:
            yield f"{name} is cited by {', '.join(cited[name][:3])}, but docs/requirements.md does not define it"
    for name in sorted({name for name in defined if defined.count(name) > 1}):
        yield f"{name} is defined more than once"
    for name, _, cell in rows:
        named = re.findall(r"`([^`]+)`", cell)
        if UNTESTED.match(cell):
            if name in tested:
                yield f"{name} is marked untested, but {tested[name][0]} tests it"
        elif not named:
            yield f"{name} has no test: cite it in the doc comment of one, or write `untested: reason` into its row"
        else:
            for path in named:
                if not (ROOT / path).is_file():
                    yield f"{name} names {path}, which does not exist"
                elif path not in tested.get(name, []):
                    yield f"{name} names {path}, which has no test that cites it"


def main():
    cited, tested = read_citations()
    table = TABLE.read_text()
    if "--update" in sys.argv[1:]:
        table = update(table, tested)
        TABLE.write_text(table)
    found = list(problems(table, cited, tested))
    for problem in found:
        print(problem)
    rows = ROW.findall(table)
    untested = [name for name, _, cell in rows if UNTESTED.match(cell)]
    print(f"{len(rows)} requirements, {len(untested)} untested: {', '.join(untested)}")
    if found:
        print(f"{len(found)} problems; tests/requirements.py --update refreshes the column of tests")
    return 1 if found else 0


sys.exit(main())
