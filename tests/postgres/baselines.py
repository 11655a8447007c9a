"""The performance of PostgreSQL and of the object store alone: pgbench with the same rows, and the same requests to
SeaweedFS."""

import os
import subprocess
import tempfile

from postgres import programs

# As the engine's own table of rows, whose values are not compressed either.
TABLE = """CREATE TABLE plain (tbl int8 NOT NULL, pk bytea NOT NULL, rk bytea NOT NULL, ver int8 NOT NULL, val bytea NOT NULL, PRIMARY KEY (tbl, pk, rk));
ALTER TABLE plain ALTER COLUMN val SET STORAGE EXTERNAL"""
KEYS = 100_000


def scripts(sizes):
    """For each operation the script that does the same to one row. `sizes`: bytes of the values, by operation."""

    def value(name):
        return f"'\\x{os.urandom(sizes[name]).hex()}'::bytea"

    def insert(name, table):
        return (f"INSERT INTO plain VALUES ({table}, 'p', (:client_id || '-' || :n || '-' || :m)::bytea, 1, {value(name)}) "
                "ON CONFLICT DO NOTHING;\n")

    fresh = "\\set n random(0, 1000000000)\n\\set m random(0, 1000000000)\n"
    one = "\\set n random(0, 999)\n"
    read = "SELECT ver, val FROM plain WHERE tbl = {} AND pk = 'p' AND rk = (:n)::text::bytea;\n"
    key = f"\\set n random(0, {KEYS - 1})\n"
    return {
        "read": one + read.format(1),
        "insert": fresh + insert("insert", 2),
        "put-message": fresh + insert("put-message", 3),
        # A message that is taken moves to its next visibility: one row is deleted and another inserted, in one transaction.
        "get-message": key + "\\startpipeline\nBEGIN;\nDELETE FROM plain WHERE tbl = 4 AND pk = 'p' AND rk = (:n)::text::bytea;\n"
                       f"INSERT INTO plain VALUES (4, 'p', (:n)::text::bytea, 1, {value('get-message')}) ON CONFLICT DO NOTHING;\nCOMMIT;\n\\endpipeline\n",
        "put-64k": fresh + insert("put-64k", 5),
        "get-64k": one + read.format(6),
    }


class PlainSql:
    """A database with such a table, filled."""

    def __init__(self, postgres, sizes):
        self.url = postgres.database("plain")
        postgres.sql(TABLE, "plain")
        postgres.sql("SELECT setseed(0.5)", "plain")
        fill = "INSERT INTO plain SELECT {}, 'p', n::text::bytea, 1, decode(repeat(md5(n::text), {}), 'hex') FROM generate_series(0, {}) AS n"
        for table, name, keys in ((1, "read", 1_000), (4, "get-message", KEYS), (6, "get-64k", 1_000)):
            postgres.sql(fill.format(table, max(1, sizes[name] // 16), keys - 1), "plain")
        self.scripts = scripts(sizes)

    def rate(self, name, connections, seconds):
        """Operations per second."""
        with tempfile.NamedTemporaryFile("w", suffix=".sql") as file:
            file.write(self.scripts[name])
            file.flush()
            done = subprocess.run([os.path.join(programs(), "pgbench"), "-n", "-M", "prepared", "-c", str(connections), "-j", "2", "-T",
                                   str(seconds), "-f", file.name, self.url], check=True, capture_output=True, text=True)
        return next(float(line.split()[2]) for line in done.stdout.splitlines() if line.startswith("tps ="))
