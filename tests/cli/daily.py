"""`lazuli table|entity|query|export|import`: daily work on a server, by a token, and on a stopped store."""

import csv
import json
import os
import signal
import subprocess

from common import Shell, connection_string, contains, equal, free_port, run, serve, serve_memory
from lazuli import HANG_SECONDS, KEY, Client

ALL_TYPES = ["Text=a, \"b\"\n", "Empty=", "Small:Int32=-2147483648", "Big:Int64=9223372036854775807", "Real:Double=-0.0",
             "Nan:Double=NaN", "Far:Double=-Infinity", "Yes:Boolean=true", "When:DateTime=9999-12-31T23:59:59.9999999Z",
             "Id:Guid=c9da6455-213d-42c9-9a79-3e9149a57833", "Bytes:Binary=AAH/", "None:Binary="]


def values(entity):
    return {name: value for name, value in entity.items() if not name.startswith(("Timestamp", "odata."))}


def fill(shell, table, count, partitions=3):
    """Entities in some partitions, by an import."""
    path = os.path.join(shell.directory, f"{table}.jsonl")
    with open(path, "w") as file:
        for number in range(count):
            entity = {"PartitionKey": f"p{number % partitions}", "RowKey": f"{number:06}", "N": number, "Text": "x" * 50}
            file.write(json.dumps(entity) + "\n")
    shell("import", path, "--quiet")
    os.remove(path)


def daily_work(shell):
    equal(shell("table", "exists", "people", code=3), "false\n")
    shell("table", "create", "people")
    contains(shell("table", "create", "people", code=4), "TableAlreadyExists")
    shell("table", "create", "people", "--if-missing")
    equal(shell.rows("table", "list"), [{"TableName": "people"}])
    equal(shell("table", "list", "-o", "table"), "people\n")
    equal(shell("table", "exists", "people"), "true\n")
    told = json.loads(shell("entity", "insert", "people", "PartitionKey=a", "RowKey=1", "Name=Ada", "Age:=36"))
    contains(told["odata.etag"], "datetime")
    contains(shell("entity", "insert", "people", "PartitionKey=a", "RowKey=1", code=4), "EntityAlreadyExists",
             "entity people(PartitionKey='a',RowKey='1')")
    shell("entity", "merge", "people", "PartitionKey=a", "RowKey=1", "Visits:Int64=5")
    contains(shell("entity", "merge", "people", "PartitionKey=a", "RowKey=1", "A=b", "--if-match", told["odata.etag"], code=4),
             "UpdateConditionNotSatisfied")
    equal(values(shell.rows("entity", "get", "people", "a", "1")[0]),
          {"PartitionKey": "a", "RowKey": "1", "Name": "Ada", "Age": 36, "Visits@odata.type": "Edm.Int64", "Visits": "5"})
    shell("entity", "update", "people", "PartitionKey=a", "RowKey=1", "Name=Ada L.")
    shell("entity", "upsert", "people", '{"PartitionKey":"b","RowKey":"2","Name":"Bo","Age":20}')
    shell("entity", "upsert", "people", "--merge", "PartitionKey=b", "RowKey=2", "Town=Oslo")
    contains(shell("entity", "update", "people", "PartitionKey=x", "RowKey=1", code=3), "ResourceNotFound")
    contains(shell("query", "people", "--output", "table", "--select", "Name,Town"),
             "PartitionKey  RowKey  Name    Town\n", "b             2       Bo      Oslo\n")
    equal([row["Name"] for row in shell.rows("query", "people", "--filter", "Age lt 30")], ["Bo"])
    equal(len(shell.rows("query", "people", "--top", "1")), 1)
    equal(len(json.loads(shell("query", "people", "-o", "json"))), 2)
    contains(shell("query", "people", "--filter", "Age is old", code=1), "InvalidInput")
    contains(shell("query", "nobody", code=3), "TableNotFound")
    contains(shell("entity", "get", "people", "a", "1", "-o", "table"), "ETag", "Ada L.")
    shell("entity", "delete", "people", "b", "2")
    shell("entity", "delete", "people", "b", "2", code=3)
    shell("entity", "get", "people", "b", "2", code=3)
    contains(shell("entity", "insert", "people", "Name=x", code=1), "PartitionKey=")
    shell("table", "delete", "people")
    shell("table", "delete", "people", code=3)
    shell("table", "delete", "people", "--if-exists")


def test_daily_work_on_a_server(binary, directory):
    with serve_memory(binary, directory) as server:
        daily_work(Shell(binary, directory, server))


def test_daily_work_on_a_stopped_store(binary, directory):
    with serve(binary, directory) as server:
        shell = Shell(binary, directory, store="data")
        contains(shell("table", "list", code=1), "stop it, or omit --location")
        equal(server.stop(), 0)
    daily_work(shell)
    contains(Shell(binary, directory, store="nothing")("table", "list", code=1), "no store")
    equal(os.path.exists(os.path.join(directory, "nothing")), False)


def test_with_a_token_and_without_a_response(binary, directory):
    with serve_memory(binary, directory) as server:
        shell = Shell(binary, directory, server)
        fill(shell, "people", 5)
        url = run(binary, directory, "sas", "table", "people", "-p", "r")[1].splitlines()[1].replace("10002", str(server.port))
        equal(len(shell.rows("query", "people", "-c", url)), 5)
        contains(shell("entity", "delete", "people", "p0", "000000", "-c", url, code=5), "AuthorizationPermissionMismatch")
        shell("table", "list", "-c", url, code=5)
        wrong = connection_string(server).replace(KEY, "AAAA" + KEY[4:])
        contains(shell("table", "list", "-c", wrong, code=5), "AuthenticationFailed")
    contains(shell("table", "list", "-c", "nonsense", code=1), "connection string")
    nobody = connection_string(server).replace(str(server.port), str(free_port()))
    contains(shell("table", "list", "-c", nobody, code=6), "no response from")


def test_all_types_there_and_back(binary, directory):
    """In both formats, from a server into a stopped store and back, without changing a bit."""
    with serve_memory(binary, directory) as server:
        shell, store = Shell(binary, directory, server), Shell(binary, directory, store="copy")
        shell("table", "create", "first")
        shell("entity", "insert", "first", "PartitionKey=it's", "RowKey=", *ALL_TYPES)
        shell("entity", "insert", "first", "PartitionKey=ü😀", "RowKey= ", "Small=now a text", "Other:=true")
        wanted = [values(row) for row in shell.rows("query", "first")]
        equal(len(wanted[0]), 22)
        for kind in ("jsonl", "csv"):
            shell("export", "first", "--format", kind, "--directory", kind, "--timestamps")
            store("import", f"{kind}/first.{kind}", "--table", f"from{kind}")
            store("export", f"from{kind}", "--format", kind, "--directory", "back")
            shell("import", f"back/from{kind}.{kind}")
            equal([values(row) for row in shell.rows("query", f"from{kind}")], wanted, kind)
            equal(sorted(os.listdir(os.path.join(directory, kind))), [f"first.{kind}"])
        with open(os.path.join(directory, "csv", "first.csv"), newline="", encoding="utf-8") as file:
            header = next(csv.reader(file))
        contains(",".join(header), "PartitionKey,RowKey,Timestamp:Edm.DateTime", "Small:Edm.Int32", "Small:Edm.String")


def test_timestamps(binary, directory):
    with serve_memory(binary, directory) as server:
        shell = Shell(binary, directory, server)
        shell("table", "create", "first")
        shell("entity", "insert", "first", "PartitionKey=a", "RowKey=1")
        old = shell.rows("entity", "get", "first", "a", "1")[0]["Timestamp"]
        for kind in ("jsonl", "csv"):
            shell("export", "first", "--timestamps", "--format", kind)
            shell("import", f"first.{kind}", "--table", kind, "--timestamp-as", "WrittenAt")
            new = shell.rows("entity", "get", kind, "a", "1")[0]
            equal(new["WrittenAt"], old)
            assert new["Timestamp"] > old, new
        shell("export", "first", "--overwrite")
        with open(os.path.join(directory, "first.jsonl")) as file:
            assert "Timestamp" not in file.read()


def read_stamps(server, table):
    """Timestamp and ETag of each entity, as the wire shows them."""
    with Client(server) as client:
        response = client.ask("GET", f"/{table}()", headers={"Accept": "application/json;odata=fullmetadata"})
        return {(row["PartitionKey"], row["RowKey"]): (row["Timestamp"], row["odata.etag"]) for row in response.json["value"]}


def test_timestamps_are_kept_by_a_direct_import(binary, directory):
    """A server shows imported entities with the Timestamp and ETag of the first server; later changes have later ones."""
    with serve_memory(binary, directory) as server:
        shell = Shell(binary, directory, server)
        fill(shell, "first", 300, partitions=7)
        for kind in ("jsonl", "csv"):
            shell("export", "first", "--timestamps", "--format", kind)
        wanted = read_stamps(server, "first")
        equal(len(wanted), 300)
        contains(shell("import", "first.jsonl", "--table", "wire", "--keep-timestamp", code=2), "--timestamp-as", "--location")
        shell("table", "exists", "wire", code=3)
    store = Shell(binary, directory, store="data")
    contains(store("import", "first.jsonl", "--keep-timestamp", "--existing", "merge", code=2), "merge")
    for kind in ("jsonl", "csv"):
        store("import", f"first.{kind}", "--table", kind, "--keep-timestamp")
        # Repeating it changes nothing, even where nothing may be replaced.
        store("import", f"first.{kind}", "--table", kind, "--keep-timestamp", "--existing", "reject")
    with serve(binary, directory) as server:
        for kind in ("jsonl", "csv"):
            equal(read_stamps(server, kind), wanted, kind)
        key, (old, etag) = min(wanted.items())
        shell = Shell(binary, directory, server)
        shell("entity", "merge", "jsonl", f"PartitionKey={key[0]}", f"RowKey={key[1]}", "New=1", "--if-match", etag)
        now = read_stamps(server, "jsonl")
        assert now[key][0] > max(old for old, _ in wanted.values()), "later than all that there is"
        equal({k: v for k, v in now.items() if k != key}, {k: v for k, v in wanted.items() if k != key})
    code, output, errors = run(binary, directory, "check", "--location", "data")
    equal(code, 0, output + errors)
    contains(store("import", "first.jsonl", "--table", "jsonl", "--keep-timestamp", code=1), "first.jsonl:", "is newer")


def test_timestamps_that_cannot_be_kept(binary, directory):
    """Each error names its line; earlier entities of its partition are unchanged."""
    store = Shell(binary, directory, store="data")

    def lines(*times):
        with open(os.path.join(directory, "ttt.jsonl"), "w") as file:
            for number, time in enumerate(times):
                timestamp = {"Timestamp": time} if time else {}
                file.write(json.dumps({"PartitionKey": "a", "RowKey": str(number % 3)} | timestamp) + "\n")

    day, none, future = "2020-02-29T12:00:00.1234567Z", None, "2999-01-01T00:00:00Z"
    for times, line, why in [((day, none), 2, "--timestamps"), ((day, "yesterday"), 2, 'Timestamp: "yesterday" is not a time'), ((day, day, future), 3, "in the future"), ((day,) * 4, 4, "an earlier line")]:
        lines(*times)
        said = store("import", "ttt.jsonl", "--keep-timestamp", code=1)
        contains(said, f"ttt.jsonl:{line}: ", why)
        # A mistake that is found before anything is written creates no table.
        equal("ttt was created for this import" in said, why == "in the future", said)
        assert "RowKey" not in run(binary, directory, "query", "ttt", "--location", "data")[1], "all or nothing"
    lines(day)
    store("import", "ttt.jsonl", "--keep-timestamp")
    equal(store.rows("query", "ttt")[0]["Timestamp"], day)
    lines("2020-02-29T12:00:00.1234566Z")
    contains(store("import", "ttt.jsonl", "--keep-timestamp", code=1), "ttt.jsonl:1: ", day)
    lines("2020-02-29T12:00:00.1234568Z")
    contains(store("import", "ttt.jsonl", "--keep-timestamp", "--existing", "reject", code=1), "already exists")
    store("import", "ttt.jsonl", "--keep-timestamp")
    equal(store.rows("query", "ttt")[0]["Timestamp"], "2020-02-29T12:00:00.1234568Z")


def test_a_killed_import_of_timestamps_resumes(binary, directory):
    path = os.path.join(directory, "many.jsonl")
    with open(path, "w") as file:
        for number in range(20000):
            file.write(json.dumps({"PartitionKey": f"p{number // 1000}", "RowKey": str(number), "N": number,
                                   "Timestamp": f"2020-01-01T00:00:00.{number:07}Z"}) + "\n")
    shell = Shell(binary, directory)
    args = ("import", "many.jsonl", "--location", "data", "--keep-timestamp")
    assert killed(shell, args, lambda: saved_rows(path + ".import-state") >= 2000), "it was done before it could be killed"
    contains(shell(*args[:-1], code=1), "another transfer")
    shell(*args)
    with serve(binary, directory) as server:
        rows = Shell(binary, directory, server).rows("query", "many", "--all")
    equal(len(rows), 20000)
    for row in rows:
        # Zeros at the end are not written.
        found = (row["Timestamp"].rstrip("Z") + "." * ("." not in row["Timestamp"])).ljust(27, "0")
        equal(found, f"2020-01-01T00:00:00.{row['N']:07}", "the Timestamp of the file")
    equal(sorted(os.listdir(directory)), ["data", "many.jsonl"])


def test_several_tables_filters_and_files_that_exist(binary, directory):
    with serve_memory(binary, directory) as server:
        shell = Shell(binary, directory, server)
        contains(shell("export", "--all"), "no tables")
        for table in ("one", "two"):
            fill(shell, table, 30)
        contains(shell("export", "--all", "--directory", "out"), "30 entities")
        equal(sorted(os.listdir(os.path.join(directory, "out"))), ["one.jsonl", "two.jsonl"])
        contains(shell("export", "one", "--directory", "out", code=1), "already exists")
        shell("export", "one", "--directory", "out", "--overwrite", "--filter", "N lt 3")
        with open(os.path.join(directory, "out", "one.jsonl")) as file:
            equal(len(file.readlines()), 3)
        shell("export", "nobody", code=3)
        shell("table", "delete", "two")
        shell("import", "out/one.jsonl", "out/two.jsonl")
        equal(len(shell.rows("query", "two", "--all")), 30)
        shell("import", "out/two.jsonl", "--existing", "reject", code=4)


def test_mistakes_in_files_are_reported(binary, directory):
    with serve_memory(binary, directory) as server:
        shell = Shell(binary, directory, server)
        for name, text, why in [("bad.jsonl", '{"PartitionKey":"a","RowKey":"1"}\n\n{"PartitionKey":"a"}\n',
                                 "bad.jsonl:3: there is no RowKey"),
                                ("bad.csv", "PartitionKey,RowKey,N:Edm.Int32\np,1,x\n", "bad.csv:2: N: 'x' is not an Edm.Int32"),
                                ("big.jsonl", '{"PartitionKey":"a","RowKey":"1","N":5000000000}\n',
                                 "big.jsonl:1: N: 5000000000 does not fit Edm.Int32"),
                                ("cols.csv", "Name\nx\n", "no column PartitionKey"), ("text.txt", "", "--format"),
                                ("1.jsonl", "", "name")]:
            with open(os.path.join(directory, name), "w") as file:
                file.write(text)
            contains(shell("import", name, code=1), why)
        equal(shell("table", "list"), "", "a file that cannot be read makes no table")
        long = [json.dumps({"PartitionKey": "a", "RowKey": str(number)}) for number in range(2100)]
        with open(os.path.join(directory, "long.jsonl"), "w") as file:
            file.write("\n".join([*long, "{}"]))
        assert "was made" not in shell("import", "long.jsonl", code=1), "it has entities by then"
        # After the mistake is fixed, the import continues after the finished part.
        with open(os.path.join(directory, "aaa.jsonl"), "w") as file:
            file.write('{"PartitionKey":"a","RowKey":"1"}\n')
        shell("import", "aaa.jsonl")
        equal(len(shell.rows("query", "aaa")), 1)


def killed(shell, args, reached):
    """Starts a command, and kills it once `reached` is true."""
    process = subprocess.Popen([shell.binary, *args], cwd=shell.directory, env=os.environ | shell.env,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and not reached():
        pass
    process.send_signal(signal.SIGKILL)
    return process.wait(HANG_SECONDS) == -signal.SIGKILL


def saved_rows(path):
    try:
        with open(path) as file:
            return json.load(file)["content"]["rows"]
    except (OSError, ValueError, KeyError, TypeError):
        return 0


def test_a_killed_transfer_resumes(binary, directory):
    """Export and import are killed after some pages; finished parts are not read or written again, and nothing is
    missing."""
    with serve_memory(binary, directory) as server:
        shell = Shell(binary, directory, server)
        fill(shell, "many", 20000, partitions=7)
        export, state = ("export", "many", "--directory", "out"), os.path.join(directory, "out", "many.export-state")
        assert killed(shell, export, lambda: saved_rows(state) >= 2000), "it was done before it could be killed"
        had = saved_rows(state)
        assert 2000 <= had < 20000, had
        contains(shell("export", "many", "--directory", "out", "--filter", "N gt 5", code=1), "another transfer")
        with Client(server) as client:
            # A new row before the reached position is not exported; it would be if the export started over.
            equal(client.ask("POST", "/many", {"PartitionKey": "p", "RowKey": "early"}).status, 204)
        shell(*export)
        with open(os.path.join(directory, "out", "many.jsonl")) as file:
            rows = [json.loads(line) for line in file]
        equal((len(rows), len({row["N"] for row in rows})), (20000, 20000))
        equal(os.listdir(os.path.join(directory, "out")), ["many.jsonl"])
        imports, state = ("import", "out/many.jsonl", "--table", "again"), os.path.join(directory, "out", "many.jsonl.import-state")
        assert killed(shell, imports, lambda: saved_rows(state) >= 2000), "it was done before it could be killed"
        # The first row is removed: it would come back if the import started over.
        first = rows[0]
        shell("entity", "delete", "again", first["PartitionKey"], first["RowKey"])
        shell(*imports)
        equal({row["N"] for row in shell.rows("query", "again", "--all")}, {row["N"] for row in rows[1:]})
        equal(os.listdir(os.path.join(directory, "out")), ["many.jsonl"])


def test_a_killed_import_with_existing_reject_resumes(binary, directory):
    """A resumed import reported the rows that it had written itself as a conflict, every time."""
    with serve_memory(binary, directory) as server:
        shell = Shell(binary, directory, server)
        rows = [json.dumps({"PartitionKey": f"p{n // 5000}", "RowKey": f"{n:06}", "N": n, "Far@odata.type": "Edm.Double", "Far": "NaN"})
                for n in range(20000)]

        def write(name, lines):
            with open(os.path.join(directory, name), "w") as file:
                file.writelines(line + "\n" for line in lines)

        write("many.jsonl", rows)
        imports, state = ("import", "many.jsonl", "--existing", "reject"), os.path.join(directory, "many.jsonl.import-state")
        # In the first window, and in a later one: some of the rows after the saved position are already in the table.
        for reached in (0, 2000):
            assert killed(shell, imports, lambda: os.path.exists(state) and saved_rows(state) >= reached), "it was done"
            had = saved_rows(state)
            write("next.jsonl", rows[had:had + 50])
            shell("import", "next.jsonl", "--table", "many")
        # Another import with the same keys is still rejected.
        other, keys = json.loads(rows[had + 30]), ("PartitionKey", "RowKey")
        write("next.jsonl", [json.dumps({name: other[name] for name in keys} | {"N": -1})])
        shell("import", "next.jsonl", "--table", "many")
        contains(shell(*imports, code=4), "EntityAlreadyExists")
        write("next.jsonl", [rows[had + 30]])
        shell("import", "next.jsonl", "--table", "many")
        shell(*imports)
        equal(sorted(row["N"] for row in shell.rows("query", "many", "--all")), list(range(20000)))
        # This import was not interrupted, so no existing row counts as its own.
        for _ in range(2):
            contains(shell(*imports, code=4), "EntityAlreadyExists")
        assert not os.path.exists(state)


def test_the_end_of_a_pipe_is_no_error(binary, directory):
    with serve_memory(binary, directory) as server:
        shell = Shell(binary, directory, server)
        fill(shell, "many", 5000)
        done = subprocess.run(["bash", "-c", "set -o pipefail; \"$0\" query many --all | head -1", binary],
                              cwd=directory, env=os.environ | shell.env, capture_output=True, timeout=HANG_SECONDS)
        equal((done.returncode, done.stderr), (0, b""))


def test_a_query_is_explained_on_demand(binary, directory):
    with serve_memory(binary, directory) as server:
        shell = Shell(binary, directory, server)
        fill(shell, "many", 30)
        equal(len(shell.rows("entity", "query", "many", "--filter", "N lt 3", "--explain")), 3)
        contains(shell.errors, "explain: plan table, key ranges 1\n", "30 read, 3 returned, 1 page")
        shell("query", "many", "--filter", "PartitionKey eq 'p1'", "--explain")
        contains(shell.errors, "10 read, 10 returned")


def test_one_entity_is_not_several(binary, directory):
    with serve_memory(binary, directory) as server:
        shell = Shell(binary, directory, server)
        shell("table", "create", "one")
        shell("entity", "insert", "one", "PartitionKey=a", "RowKey=1")
        equal(shell("entity", "export", "one"), "./one.jsonl: 1 entity\n")
        equal(shell("entity", "import", "one.jsonl"), "one: 1 entity\n")


def test_wrong_usage_is_exit_code_2(binary, directory):
    for args in (("import", "a.jsonl", "b.jsonl", "--table", "t"), ("import", "a.jsonl", "--keep-timestamp"),
                 ("blob", "download", "files"), ("blob", "delete", "files"), ("message", "get"), ("nonsense",)):
        code, _, errors = run(binary, directory, *args)
        equal(code, 2, args)
        contains(errors, "error: ")
