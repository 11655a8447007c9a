"""Backup, restore and check: restored data equals the original, and nothing incomplete is accepted as complete."""

import json
import os
import re
import shutil

from common import Shell, contains, equal, run, serve, status
from lazuli import Client, NotStarted, Server, all_rows, entity_path, ticks

PEOPLE = "People"
POLICY = ("<SignedIdentifiers><SignedIdentifier><Id>one</Id><AccessPolicy><Start>2020-01-01T00:00:00.0000000Z</Start>"
          "<Expiry>2030-01-01T00:00:00.0000000Z</Expiry><Permission>r</Permission></AccessPolicy></SignedIdentifier>"
          "</SignedIdentifiers>")
PROPERTIES = ("<StorageServiceProperties><Cors><CorsRule><AllowedOrigins>http://example.org</AllowedOrigins>"
              "<AllowedMethods>GET</AllowedMethods><AllowedHeaders>*</AllowedHeaders><ExposedHeaders>*</ExposedHeaders>"
              "<MaxAgeInSeconds>5</MaxAgeInSeconds></CorsRule></Cors></StorageServiceProperties>")
METRICS = ("<StorageServiceProperties><HourMetrics><Version>1.0</Version><Enabled>true</Enabled><IncludeAPIs>true</IncludeAPIs>"
           "<RetentionPolicy><Enabled>false</Enabled></RetentionPolicy></HourMetrics></StorageServiceProperties>")
PARTITIONS = ("a", "b", "z", "Zürich", "\U0001F600")


def fill(server):
    """One of everything that a store keeps."""
    with Client(server) as client:
        for table in (PEOPLE, "Other", "Gone"):
            equal(client.ask("POST", "/Tables", {"TableName": table}).status, 204)
        for number in range(50):
            body = {"PartitionKey": PARTITIONS[number % 5], "RowKey": f"{number:03}", "Number": number, "Text": "x" * 2000}
            equal(client.ask("POST", f"/{PEOPLE}", body).status, 204)
        equal(client.ask("PUT", f"/{PEOPLE}?comp=acl", POLICY).status, 204)
        equal(client.ask("PUT", "/?restype=service&comp=properties", PROPERTIES).status, 202)
        equal(client.ask("DELETE", "/Tables('Gone')").status, 204)


def content(server):
    """Everything that a client can see."""
    with Client(server) as client:
        tables = sorted(row["TableName"] for row in all_rows(client, "/Tables"))
        rows = {(table, row["PartitionKey"], row["RowKey"]): (row["odata.etag"], row["Timestamp"], row.get("Number"), row.get("Text"))
                for table in tables for row in all_rows(client, f"/{table}()")}
        policy = client.ask("GET", f"/{PEOPLE}?comp=acl").text
        properties = client.ask("GET", "/?restype=service&comp=properties").text
    return tables, rows, policy, properties


def succeed(binary, directory, *args):
    code, output, errors = run(binary, directory, *args)
    equal(code, 0, f"{args}: {output}{errors}")
    return output


def rejected(binary, directory, *args, why):
    code, output, errors = run(binary, directory, *args)
    equal(code, 1, f"{args}: {output}{errors}")
    contains(output + errors, why)
    assert "panicked" not in errors, errors


def serve_at(binary, directory, name):
    """A server on another store than the usual one."""
    return Server(binary, "--location", os.path.join(directory, name), directory=directory)


def test_a_backup_is_for_its_owner_alone(binary, directory):
    with serve(binary, directory) as server:
        equal(status(server, "POST", "/Tables", {"TableName": PEOPLE}), 204)
        os.mkdir(os.path.join(directory, "open"), 0o755)
        os.chmod(os.path.join(directory, "open"), 0o755)
        for name in ("open", "new"):
            target = os.path.join(directory, name)
            equal(run(binary, directory, "backup", target, "-l", "data")[0], 0)
            modes = {os.stat(os.path.join(target, file)).st_mode & 0o777 for file in os.listdir(target)}
            equal((os.stat(target).st_mode & 0o777, modes), (0o700, {0o600}), name)


def test_a_backup_of_a_running_server_restores_to_the_same(binary, directory):
    with serve(binary, directory) as server:
        fill(server)
        succeed(binary, directory, "account", "add", "shop", "--location", "data")
        accounts = succeed(binary, directory, "account", "list", "--show-keys", "--location", "data")
        before = content(server)
        output = succeed(binary, directory, "backup", "one", "--location", "data")
        contains(output, "the backup is complete")
        # Later changes are not in the backup.
        equal(status(server, "PUT", entity_path(PEOPLE, "a", "later"), {"Number": 1}), 204)
        equal(server.stop(), 0)
    contains(succeed(binary, directory, "check", "one"), "no problems found")
    contains(succeed(binary, directory, "restore", "one", "--location", "new"), "the store is ready")
    contains(succeed(binary, directory, "check", "--location", "new"), "no problems found")
    equal(succeed(binary, directory, "account", "list", "--show-keys", "--location", "new"), accounts)
    with serve_at(binary, directory, "new") as server:
        equal(content(server), before)
        with Client(server) as client:
            newest = max(ticks(etag) for etag, *_ in before[1].values())
            response = client.ask("PUT", entity_path(PEOPLE, "a", "000"), {"Number": 2})
            assert ticks(response.headers["ETag"]) > newest
        equal(server.stop(), 0)


def test_a_backup_of_a_stopped_store_and_of_an_empty_one(binary, directory):
    with serve(binary, directory) as server:
        equal(server.stop(), 0)
    report = json.loads(succeed(binary, directory, "backup", "empty", "-l", "data", "--json"))
    equal((report["rows"], report["directory"]), (0, "empty"))
    with serve(binary, directory) as server:
        fill(server)
        before = content(server)
        equal(server.stop(), 0)
    report = json.loads(succeed(binary, directory, "backup", "full", "-l", "data", "--json"))
    assert report["rows"] > 50, report
    equal(succeed(binary, directory, "backup", "again", "-l", "data", "--quiet"), "")
    for name in ("empty", "full"):
        succeed(binary, directory, "restore", name, "-l", f"new-{name}")
        succeed(binary, directory, "check", "-l", f"new-{name}")
        equal(succeed(binary, directory, "check", f"new-{name}", "--json"), succeed(binary, directory, "check", name, "--json"))
    with serve_at(binary, directory, "new-full") as server:
        equal(content(server), before)
    # The same content has the same digest.
    digests = {json.load(open(os.path.join(directory, name, "manifest.json")))["digest"] for name in ("full", "again")}
    equal(len(digests), 1)


def test_metrics_tables_are_not_reported_as_damage(binary, directory):
    """With metrics switched on, every store and every backup was reported as damaged."""
    with serve(binary, directory) as server:
        with Client(server) as client:
            equal(client.ask("PUT", "/?restype=service&comp=properties", METRICS).status, 202)
            equal(client.ask("POST", "/Tables", {"TableName": PEOPLE}).status, 204)
        equal(server.stop(), 0)
    contains(succeed(binary, directory, "check", "-l", "data"), "2 tables", "no problems found")
    succeed(binary, directory, "backup", "one", "-l", "data")
    contains(succeed(binary, directory, "check", "one"), "no problems found")
    succeed(binary, directory, "restore", "one", "-l", "new")
    contains(succeed(binary, directory, "check", "-l", "new"), "no problems found")


def test_nothing_is_overwritten(binary, directory):
    with serve(binary, directory) as server:
        fill(server)
        succeed(binary, directory, "backup", "one", "-l", "data")
        rejected(binary, directory, "backup", "one", "-l", "data", why="not empty")
        os.mkdir(os.path.join(directory, "prepared"))
        succeed(binary, directory, "backup", "prepared", "-l", "data")
        rejected(binary, directory, "restore", "one", "-l", "data", why="not empty")
        rejected(binary, directory, "restore", "one", "-l", "one", why="not empty")
        equal(status(server), 200)
    rejected(binary, directory, "backup", "two", "-l", "nowhere", why="there is no store")
    rejected(binary, directory, "restore", "nowhere", "-l", "new", why="does not contain a backup")
    assert not os.path.exists(os.path.join(directory, "new"))
    code, _, errors = run(binary, directory, "restore", "one")
    equal(code, 2)
    contains(errors, "--location")


def test_interrupted_backups_and_restores_are_recognised(binary, directory):
    with serve(binary, directory) as server:
        fill(server)
        for point in ("backup-block", "backup-sealed"):
            code, _, _ = run(binary, directory, "backup", point, "-l", "data", env={"LAZULI_CRASH_AT": point})
            assert code < 0, f"{point} was not passed"
            rejected(binary, directory, "restore", point, "-l", "new", why="interrupted")
            rejected(binary, directory, "check", point, why="interrupted")
            rejected(binary, directory, "backup", point, "-l", "data", why="not empty")
        succeed(binary, directory, "backup", "whole", "-l", "data")
    for point in ("restore-rows", "restore-loaded"):
        code, _, _ = run(binary, directory, "restore", "whole", "-l", point, env={"LAZULI_CRASH_AT": point})
        assert code < 0, f"{point} was not passed"
        try:
            with serve_at(binary, directory, point):
                raise AssertionError("an incomplete store was served")
        except NotStarted as rejection:
            contains(str(rejection), "interrupted")
        rejected(binary, directory, "check", "-l", point, why="interrupted")
        rejected(binary, directory, "backup", "of-half", "-l", point, why="interrupted")
        shutil.rmtree(os.path.join(directory, point))
        succeed(binary, directory, "restore", "whole", "-l", point)


def test_a_damaged_backup_is_found_and_not_restored(binary, directory):
    with serve(binary, directory) as server:
        fill(server)
        succeed(binary, directory, "backup", "one", "-l", "data")
    for name in ("manifest.json", "rows-000001.lzb"):
        path = os.path.join(directory, "one", name)
        with open(path, "rb") as file:
            good = file.read()
        for at in (0, len(good) // 3, len(good) // 2, len(good) - 1):
            with open(path, "wb") as file:
                file.write(good[:at] + bytes([good[at] ^ 1]) + good[at + 1:])
            rejected(binary, directory, "check", "one", why="damaged")
            rejected(binary, directory, "restore", "one", "-l", "new", why="damaged")
            shutil.rmtree(os.path.join(directory, "new"), ignore_errors=True)
        os.remove(path)
        rejected(binary, directory, "check", "one", why="missing" if name.startswith("rows") else "interrupted")
        with open(path, "wb") as file:
            file.write(good)
    succeed(binary, directory, "check", "one")


def test_check_finds_damage_in_a_store_and_serve_never_serves_it(binary, directory):
    with serve(binary, directory) as server:
        fill(server)
        before = content(server)
        rejected(binary, directory, "check", "-l", "data", why="in use")
        equal(server.stop(), 0)
    succeed(binary, directory, "backup", "one", "-l", "data")
    # A restored store has its rows in sorted files.
    succeed(binary, directory, "restore", "one", "-l", "sorted")
    tables = os.path.join(directory, "sorted", "data", "keyspaces", "1", "tables")
    name = sorted(os.listdir(tables))[0]
    with open(os.path.join(tables, name), "r+b") as file:
        file.seek(os.path.getsize(file.name) // 2)
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 0x10]))
    rejected(binary, directory, "check", "-l", "sorted", why="checksum")
    try:
        with serve_at(binary, directory, "sorted") as server, Client(server) as client:
            for (table, partition, row), (etag, *_) in before[1].items():
                response = client.ask("GET", entity_path(table, partition, row) if partition.isascii() else "/Tables")
                if response.status == 200 and "ETag" in response.headers:
                    equal(response.headers["ETag"], etag)
                else:
                    assert response.status in (200, 500), response.status
    except NotStarted as rejection:
        contains(str(rejection), "damaged")
    rejected(binary, directory, "check", "-l", "nowhere", why="there is no store")


def test_check_finds_damage_in_the_last_change_of_a_killed_server(binary, directory):
    """An unfinished change after a kill is not damage; a change that was acknowledged and damaged later is."""
    with serve(binary, directory) as server:
        with Client(server) as client:
            equal(client.ask("POST", "/Tables", {"TableName": PEOPLE}).status, 204)
            equal(client.ask("POST", f"/{PEOPLE}", {"PartitionKey": "first", "RowKey": "1"}).status, 204)
        before = content(server)
        log = os.path.join(directory, "data", "data", "0.jnl")
        start = len(read(log).rstrip(b"\0"))
        with Client(server) as client:
            equal(client.ask("POST", f"/{PEOPLE}", {"PartitionKey": "last", "RowKey": "1", "Text": "x" * 300}).status, 204)
        end = len(read(log).rstrip(b"\0"))
        server.kill()
    whole = read(log)
    shutil.copytree(os.path.join(directory, "data"), os.path.join(directory, "copy"))
    succeed(binary, directory, "check", "-l", "copy")
    for at in (start, start + 20, start + 200, end - 1):
        write(log, whole[:at] + bytes([whole[at] ^ 0x21]) + whole[at + 1:])
        rejected(binary, directory, "check", "-l", "data", why=f"truncate --size={start}")
        try:
            with serve(binary, directory):
                raise AssertionError("a damaged store was served")
        except NotStarted as rejection:
            contains(str(rejection), "damaged", f"truncate --size={start}")
    write(log, whole[:start + 100])
    rejected(binary, directory, "check", "-l", "data", why="acknowledged data is missing")
    with serve(binary, directory, "--accept-data-loss") as server:
        equal(content(server), before)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def test_every_command_reports_what_it_cuts_and_a_check_cuts_nothing(binary, directory):
    """A query cut the end of a log silently. A check did so too, and recorded a clean close."""
    with serve(binary, directory) as server:
        fill(server)
        server.kill()
    log = os.path.join(directory, "data", "data", "0.jnl")
    with open(log, "rb+") as file:
        used = len(file.read().rstrip(b"\0"))
        # The length of the file stays: the rest of it is zeros, as after a kill.
        file.seek(used - 9)
        file.write(bytes(9))
    names = sorted(os.listdir(os.path.join(directory, "data")))
    for _ in range(2):
        rejected(binary, directory, "check", "-l", "data", why="acknowledged data is missing")
        equal(sorted(os.listdir(os.path.join(directory, "data"))), names)
    rejected(binary, directory, "backup", "one", "-l", "data", "--quiet", why="--accept-data-loss")
    with serve(binary, directory, "--accept-data-loss"):
        pass
    equal(os.stat(os.path.join(directory, "data", "cut-0")).st_mode & 0o777, 0o600)
    equal(run(binary, directory, "backup", "two", "-l", "data", "--quiet")[2], "")


def test_the_examples_in_help_run(binary, directory):
    with serve_at(binary, directory, "lazuli-data") as server:
        fill(server)
        equal(server.stop(), 0)
    os.mkdir(os.path.join(directory, "backups"))
    done = []
    for command in ("backup", "restore", "check"):
        shutil.rmtree(os.path.join(directory, "new-data"), ignore_errors=True)
        text = succeed(binary, directory, command, "--help")
        for line in re.findall(r"^  lazuli (.*)$", text, re.M):
            words = re.split(r"  +", line)[0].split()
            words = [word.replace("/backups/", "backups/").replace("/var/lib/lazuli", "lazuli-data") for word in words]
            if words[0] == "serve" or "postgres://" in line:
                continue
            if words[0] == "backup":
                # Each goes into a directory of its own.
                shutil.rmtree(os.path.join(directory, words[-1] if words[-1].startswith("backups") else words[1]), ignore_errors=True)
            succeed(binary, directory, *words)
            done.append(words[0])
    assert {"backup", "restore", "check"} <= set(done), done


def test_backup_restore_and_check_count_the_same(binary, directory):
    """A backup reported one row more than a check reported entities: the row of the table."""
    with serve(binary, directory) as server:
        shell = Shell(binary, directory, server)
        shell("table", "create", "People")
        for row in ("1", "2"):
            shell("entity", "insert", "People", "PartitionKey=a", f"RowKey={row}")
        shell("queue", "create", "jobs")
        shell("message", "put", "jobs", "one")
        shell("container", "create", "files")
        shell("blob", "upload", "-", "files/a", stdin=b"content")
        shell("blob", "snapshot", "files/a")
        counts = "2 entities in 1 table, 1 message in 1 queue, 1 blob in 1 container"
        contains(succeed(binary, directory, "backup", "one", "--location", "data"), counts)
        equal(server.stop(), 0)
    contains(succeed(binary, directory, "check", "one"), counts)
    contains(succeed(binary, directory, "restore", "one", "--location", "new"), counts)
    contains(succeed(binary, directory, "check", "--location", "new"), counts)
    contains(succeed(binary, directory, "engine", "copy", "file:new", "file:copy"), counts)


def test_a_backup_is_not_a_store(binary, directory):
    with serve(binary, directory) as server:
        succeed(binary, directory, "backup", "one", "--location", "data")
        equal(server.stop(), 0)
    try:
        serve_at(binary, directory, "one").kill()
        raise AssertionError("a backup was served")
    except NotStarted as error:
        contains(str(error), "is a backup", "lazuli restore")
    contains(succeed(binary, directory, "check", "one"), "no problems found")


def test_a_directory_that_does_not_exist_is_not_checked(binary, directory):
    for args, says in ((("none",), "no such directory"), (("--location", "none"), "there is no store in none")):
        code, _, errors = run(binary, directory, "check", *args)
        equal(code, 1)
        contains(errors, says)
