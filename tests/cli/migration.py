"""`lazuli import --from-azurite`: a data directory as Azurite writes it, into a store and into a running server."""

import base64
import json
import os
import time

from common import Shell, contains, equal, run, serve

ACCOUNT = "devstoreaccount1"
MD5 = {"type": "Buffer", "data": [95, 67, 39, 17, 175, 127, 250, 137, 66, 213, 88, 142, 33, 37, 144, 34]}  # of "version one"


class Directory:
    """A data directory of Azurite."""

    def __init__(self, path):
        self.path, self.content = path, b""
        for name in ("__blobstorage__", "__queuestorage__"):
            os.makedirs(os.path.join(path, name))

    def part(self, content):
        """Adds content to the one extent; returns where it is."""
        at = {"id": "extent-1", "offset": len(self.content), "count": len(content)}
        self.content += content
        return at

    def database(self, service, **collections):
        listed = [{"name": name, "data": [document | {"$loki": 1, "meta": {}} for document in documents], "idIndex": None}
                  for name, documents in collections.items()]
        with open(os.path.join(self.path, f"__azurite_db_{service}__.json"), "w") as file:
            json.dump({"filename": "x", "collections": listed, "databaseVersion": 1.5}, file)
        for name in ("__blobstorage__", "__queuestorage__"):
            with open(os.path.join(self.path, name, "extent-1"), "wb") as file:
                file.write(self.content)


def entity(partition, row, **properties):
    stamp = {"Timestamp": "2020-02-29T12:00:00.1234567Z", "Timestamp@odata.type": "Edm.DateTime"}
    return {"PartitionKey": partition, "RowKey": row,
            "properties": {"PartitionKey": partition, "RowKey": row, **properties, **stamp}}


def blob(container, name, kind, part=None, snapshot="", properties=None, **more):
    return {"accountName": ACCOUNT, "containerName": container, "name": name, "snapshot": snapshot, "deleted": False,
            "isCommitted": True, "persistency": part, "properties": {"blobType": kind, **(properties or {})}, **more}


def fill(path):
    made = Directory(path)
    owner = {"accountName": ACCOUNT}
    policy = [{"id": "p", "accessPolicy": {"start": "2026-01-01T00:00:00Z", "expiry": "2100-01-01T00:00:00Z", "permission": "r"}}]
    made.database("table", **{
        "$TABLES_COLLECTION$": [{"account": ACCOUNT, "table": "People", "tableAcl": policy}, {"account": ACCOUNT, "table": "Empty"}],
        f"{ACCOUNT}$People": [
            entity("a", "1", Name="Ada", Age=36, **{"Big": "9007199254740993", "Big@odata.type": "Edm.Int64", "Whole": 2,
                   "Whole@odata.type": "Edm.Double", "Id@odata.type": "Edm.Guid",
                   "Id": base64.b64encode(b"12345678-1234-1234-1234-1234567890ab").decode()}),
            entity("a", "2", Name="Ü 😀")],
        f"{ACCOUNT}$Empty": []})
    now = time.time()

    def message(text, expires="9999-12-31T23:59:59.999Z", hidden=-1):
        return owner | {"queueName": "jobs", "messageId": text, "persistency": made.part(text.encode()),
                        "timeNextVisible": (now + hidden) * 1000, "expirationTime": expires, "dequeueCount": 0}

    made.database("queue", **{
        "$QUEUES_COLLECTION$": [owner | {"name": "jobs", "metadata": {"team": "x"}, "queueAcl": policy}],
        "$MESSAGES_COLLECTION$": [message("first"), message("<b>&ü"), message("expired", "2020-01-01T00:00:00.000Z"),
                                  message("hidden", hidden=3600)]})
    blocks = [owner | {"blobName": "big.bin", "containerName": "files", "name": base64.b64encode(b"b%d" % index).decode(),
                       "isCommitted": True, "persistency": made.part(b"block %d " % index * 1000)} for index in range(3)]
    staged = owner | {"blobName": "big.bin", "containerName": "files", "name": base64.b64encode(b"bx").decode(),
                      "isCommitted": False, "persistency": made.part(b"staged")}
    appended = [{"name": "", "persistency": made.part(b"line %d\n" % index)} for index in range(2)]
    pages = [{"start": 512, "end": 1023, "persistency": made.part(b"p" * 512)},
             {"start": 1024, "end": 1535, "persistency": {"id": "*ZERO*", "offset": 0, "count": 512}}]
    described = {"contentType": "text/plain", "contentLanguage": "nl", "accessTier": "Cool", "accessTierInferred": False, "contentMD5": MD5}
    made.database("blob", **{
        "$SERVICES_COLLECTION$": [owner | {"cors": [{"allowedOrigins": "https://a.test", "allowedMethods": "GET", "allowedHeaders": "",
                                                     "exposedHeaders": "", "maxAgeInSeconds": 60}]}],
        "$CONTAINERS_COLLECTION$": [
            owner | {"name": "files", "metadata": {"owner": "me"}, "properties": {"publicAccess": "blob"}, "containerAcl": policy},
            owner | {"name": "private", "properties": {}}],
        "$BLOBS_COLLECTION$": [
            blob("files", "dir/hello ü.txt", "BlockBlob", made.part(b"version two"), metadata={"a": "2"},
                 blobTags={"blobTagSet": [{"key": "k", "value": "v 1"}]}),
            blob("files", "dir/hello ü.txt", "BlockBlob", made.part(b"version one"), snapshot="2026-01-01T00:00:00.0000000Z",
                 properties=described),
            blob("files", "big.bin", "BlockBlob", committedBlocksInOrder=blocks),
            blob("files", "log.txt", "AppendBlob", committedBlocksInOrder=appended),
            blob("files", "disk.img", "PageBlob", pageRangesInOrder=pages, properties={"contentLength": 2048, "blobSequenceNumber": 7}),
            blob("files", "leased", "BlockBlob", made.part(b"l"), properties={"leaseState": "leased"}),
            blob("files", "staged.bin", "BlockBlob") | {"isCommitted": False}],
        "$BLOCKS_COLLECTION$": [*blocks, staged, staged | {"blobName": "staged.bin"}]})
    return made


def check_data(shell):
    people = shell.rows("query", "People")
    equal([row["Name"] for row in people], ["Ada", "Ü 😀"])
    ada = people[0]
    equal((ada["Age"], ada["Big"], ada["Big@odata.type"], ada["Whole"], ada["Id"]),
          (36, "9007199254740993", "Edm.Int64", 2.0, "12345678-1234-1234-1234-1234567890ab"))
    equal([row["TableName"] for row in shell.rows("table", "list")], ["Empty", "People"])
    equal([row["MessageText"] for row in shell.rows("message", "peek", "jobs", "--count", "10")], ["first", "<b>&ü"])
    equal(shell.rows("queue", "stats"), [{"Name": "jobs", "Messages": 3}], "one is invisible")
    listed = {row["Name"]: row for row in shell.rows("blob", "list", "files")}
    equal(sorted(listed), ["big.bin", "dir/hello ü.txt", "disk.img", "leased", "log.txt"])
    equal(shell("blob", "download", "files/dir/hello ü.txt", "-"), "version two")
    equal(shell("blob", "download", "files/big.bin", "-"), "".join(f"block {index} " * 1000 for index in range(3)))
    equal(shell("blob", "download", "files/log.txt", "-"), "line 0\nline 1\n")
    equal(shell("blob", "download", "files/disk.img", "-"), "\0" * 512 + "p" * 512 + "\0" * 1024)
    shown = json.loads(shell("blob", "show", "files/dir/hello ü.txt"))
    equal((shown["x-ms-meta-a"], shown["x-ms-tag-count"]), ("2", "1"))


def test_a_data_directory_is_imported_into_a_new_store(binary, directory):
    fill(os.path.join(directory, "azurite"))
    code, output, errors = run(binary, directory, "import", "--from-azurite", "azurite", "--location", "data", "--keep-timestamp")
    equal((code, errors), (0, ""), output)
    equal(output.splitlines()[:3], ["2 tables, 2 entities", "1 queue, 3 messages", "2 containers, 5 blobs, 1 snapshot, 24.0 KiB"])
    contains(output, "2 uncommitted blocks imported", "1 expired message not imported", "1 lease not imported")
    with serve(binary, directory) as server:
        shell = Shell(binary, directory, server)
        check_data(shell)
        old = shell.rows("query", "People", "--filter", "Timestamp lt datetime'2021-01-01T00:00:00Z'")
        equal([row["RowKey"] for row in old], ["1", "2"], "the Timestamps are those of Azurite")
        equal(server.stop(), 0)


def test_a_running_server_takes_the_data_and_a_second_run_adds_neither_messages_nor_snapshots(binary, directory):
    fill(os.path.join(directory, "azurite"))
    with serve(binary, directory) as server:
        shell = Shell(binary, directory, server)
        shell("import", "--from-azurite", "azurite", "--quiet")
        check_data(shell)
        contains(shell("import", "--from-azurite", "azurite", code=1), "queue jobs: it already has 3 messages", "2 problems printed above",
                 "blob files/dir/hello ü.txt: it already has 1 snapshot; delete it to import")
        check_data(shell)
        listed = shell.rows("blob", "list", "files/dir/", "--include", "snapshots")
        equal(["Snapshot" in row for row in listed], [True, False])
        equal(server.stop(), 0)


def test_items_that_cannot_be_imported_are_reported_with_a_reason(binary, directory):
    made = fill(os.path.join(directory, "azurite"))
    import_it = lambda *args: run(binary, directory, "import", "--location", "data", "--from-azurite", *args)
    code, _, errors = import_it("missing")
    equal(code, 1)
    contains(errors, "missing", "no Azurite data")
    code, _, errors = import_it("azurite", "--from-account", "shop")
    equal(code, 1)
    contains(errors, "no data of account 'shop'", ACCOUNT)
    equal(run(binary, directory, "import", "--from-azurite", "azurite", "people.csv")[0], 2)
    equal(run(binary, directory, "import", "--from-azurite", "azurite", "--keep-timestamp")[0], 2)
    equal(run(binary, directory, "import")[0], 2)
    os.remove(os.path.join(made.path, "__blobstorage__", "extent-1"))
    code, output, errors = import_it("azurite")
    equal(code, 1)
    contains(errors, "blob files/log.txt: ", "extent-1: No such file")
    contains(output, "2 entities", "3 messages", "everything else was imported")
    with open(os.path.join(made.path, "__azurite_db_queue__.json"), "w") as file:
        file.write("{")
    code, _, errors = import_it("azurite")
    equal(code, 1)
    contains(errors, "__azurite_db_queue__.json: not a database of Azurite")
