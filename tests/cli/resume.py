"""Interrupted transfers resume where they stopped, and nowhere else."""

import json
import os
import shutil

from common import contains, equal, run
from daily import Shell, fill, killed, saved_rows

ROWS = 5000


def broken_file(directory):
    """A file whose last line is wrong: an import of it stops there, and has saved its progress."""
    with open(os.path.join(directory, "many.jsonl"), "w") as file:
        for number in range(ROWS):
            file.write(json.dumps({"PartitionKey": f"p{number // 500}", "RowKey": f"{number:06}"}) + "\n")
        file.write("no entity\n")
    return os.path.join(directory, "many.jsonl.import-state")


def make(shell, name, table="many"):
    """A store that contains the table: an import that creates its table always starts over."""
    equal(run(shell.binary, shell.directory, "table", "create", table, "--location", name)[0], 1, "asking makes no store")
    with open(os.path.join(shell.directory, "first.jsonl"), "w") as file:
        file.write(json.dumps({"PartitionKey": "first", "RowKey": "row"}) + "\n")
    shell("import", "first.jsonl", "--table", table, "--location", name)


def test_an_import_resumes_in_its_own_store_only(binary, directory):
    """An import into one store was resumed in another store, which never got the rows that the first store had."""
    shell, state = Shell(binary, directory), broken_file(directory)
    for name in ("one", "two"):
        make(shell, name)
    into = lambda name, *args: shell("import", "many.jsonl", "--location", name, *args, code=1)
    contains(into("one"), f"many.jsonl:{ROWS + 1}: ")
    had = saved_rows(state)
    assert had > 0, "it saved how far it came"
    contains(into("one"), "resuming after")
    # The same store by another name.
    os.symlink("one", os.path.join(directory, "link"))
    contains(into("link"), "resuming after")
    contains(into("two"), "another transfer", "--overwrite")
    equal(len(shell.rows("query", "many", "--location", "two", "--all")), 1, "nothing was written")
    equal(saved_rows(state), had)
    shutil.rmtree(os.path.join(directory, "one"))
    make(shell, "one")
    contains(into("one"), "another transfer")
    contains(into("one", "--overwrite"), f"many.jsonl:{ROWS + 1}: ")
    equal(len(shell.rows("query", "many", "--location", "one", "--all")), had + 1)


def test_an_export_resumes_from_its_own_store_only(binary, directory):
    shell = Shell(binary, directory)
    fill(Shell(binary, directory, store="one"), "many", 20000)
    shutil.copytree(os.path.join(directory, "one"), os.path.join(directory, "two"))
    export = lambda name: ("export", "many", "--location", name, "--directory", "out")
    state = os.path.join(directory, "out", "many.export-state")
    assert killed(shell, export("one"), lambda: saved_rows(state) >= 2000), "it was done before it could be killed"
    contains(shell(*export("two"), code=1), "another transfer")
    shell(*export("one"))
    equal(os.listdir(os.path.join(directory, "out")), ["many.jsonl"])
