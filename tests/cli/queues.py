"""`lazuli queue|message`: queues and messages on a server, by a token, and in a stopped store."""

import json
import os

from common import Shell, connection_string, contains, equal, run, serve, serve_memory


def texts(shell, queue, count=32):
    return [row["MessageText"] for row in shell.rows("message", "peek", queue, "--count", str(count))]


def daily_work(shell):
    equal(shell("queue", "exists", "jobs", code=3), "false\n")
    contains(shell("message", "put", "jobs", "x", code=3), "QueueNotFound")
    shell("queue", "create", "jobs")
    contains(shell("queue", "create", "jobs", code=4), "QueueAlreadyExists")
    contains(shell("queue", "create", "jobs", "--metadata", "a=b", code=4), "QueueAlreadyExists")
    shell("queue", "create", "jobs", "--if-missing", "--metadata", "a=b")
    shell("queue", "create", "other", "--metadata", "owner=ada")
    equal(shell.rows("queue", "list"), [{"Name": "jobs"}, {"Name": "other", "Metadata": {"owner": "ada"}}])
    equal(shell("queue", "list", "--prefix", "o", "-o", "table"), "Name   Metadata\nother  owner=ada\n")
    put = shell.rows("message", "put", "jobs", "one & <two>", "three")
    equal(len(put), 2)
    equal(texts(shell, "jobs"), ["one & <two>", "three"])
    equal(shell.rows("queue", "stats"), [{"Name": "jobs", "Messages": 2}, {"Name": "other", "Messages": 0}])
    equal(shell("queue", "stats", "jobs", "-o", "csv"), "Name,Messages\r\njobs,2\r\n")
    equal(shell("queue", "stats", "-o", "table"), "Name   Messages\njobs   2\nother  0\n")
    held = shell.rows("message", "get", "jobs", "--visibility-timeout", "600")[0]
    equal((held["MessageText"], held["DequeueCount"]), ("one & <two>", 1))
    equal(texts(shell, "jobs"), ["three"])
    identity = (held["MessageId"], held["PopReceipt"])
    updated = shell.rows("message", "update", "jobs", *identity, "--text", "four")[0]
    contains(shell("message", "delete", "jobs", *identity, code=3), "MessageNotFound")
    equal(texts(shell, "jobs"), ["three", "four"])
    shell("message", "delete", "jobs", held["MessageId"], updated["PopReceipt"])
    equal(texts(shell, "jobs"), ["three"])
    shell("message", "put", "jobs", "-", stdin=b"a\nb\n")
    equal(texts(shell, "jobs"), ["three", "a", "b"])
    shell("message", "clear", "jobs")
    equal(texts(shell, "jobs"), [])
    shell("queue", "delete", "other")
    contains(shell("queue", "delete", "other", code=3), "QueueNotFound")
    shell("queue", "delete", "other", "--if-exists")


def test_queues_on_a_server(binary, directory):
    with serve_memory(binary, directory) as server:
        daily_work(Shell(binary, directory, server))


def test_queues_of_a_stopped_server(binary, directory):
    store = os.path.join(directory, "data")
    shell = Shell(binary, directory, store=store)
    contains(shell("queue", "list", code=1), "data")
    equal(os.path.exists(store), False)
    with serve(binary, directory) as server:
        contains(shell("queue", "list", code=1), "--location")
        equal(server.stop(), 0)
    daily_work(shell)


def test_messages_in_base64(binary, directory):
    with serve_memory(binary, directory) as server:
        shell = Shell(binary, directory, server)
        shell("queue", "create", "jobs")
        shell("message", "put", "jobs", "a&b", "--base64")
        equal(texts(shell, "jobs"), ["YSZi"])
        equal(shell.rows("message", "peek", "jobs", "--base64")[0]["MessageText"], "a&b")
        shell("message", "put", "jobs", "a&b")
        contains(shell("message", "peek", "jobs", "--base64", "--count", "2", code=1), "not Base64")


def test_messages_move_back_from_a_poison_queue(binary, directory):
    with serve_memory(binary, directory) as server:
        shell = Shell(binary, directory, server)
        for queue in ("jobs", "poison"):
            shell("queue", "create", queue)
        shell("message", "put", "poison", "-", stdin="".join(f"{n}\n" for n in range(70)).encode())
        shell("message", "put", "jobs", "first")
        equal(shell("message", "move", "poison", "jobs", "--max", "1"), "1 message moved\n")
        equal(shell("message", "move", "poison", "jobs"), "69 messages moved\n")
        equal(shell("message", "move", "poison", "jobs"), "0 messages moved\n")
        equal(shell.rows("queue", "stats"), [{"Name": "jobs", "Messages": 71}, {"Name": "poison", "Messages": 0}])
        equal(texts(shell, "jobs"), ["first", *(str(n) for n in range(31))])
        contains(shell("message", "move", "jobs", "none", code=3), "QueueNotFound")
        contains(shell("message", "move", "jobs", "jobs", code=1), "InvalidInput")


def test_a_token_for_reading_moves_nothing(binary, directory):
    with serve_memory(binary, directory) as server:
        shell = Shell(binary, directory, server)
        for queue in ("jobs", "poison"):
            shell("queue", "create", queue)
        shell("message", "put", "poison", "x")
        for permissions, code in (("r", 5), ("p", 5), ("pa", 0)):
            token = shell("sas", "account", "--services", "q", "--resources", "sco", "--permissions", permissions,
                          "-c", connection_string(server)).splitlines()[0]
            endpoint = connection_string(server).split("QueueEndpoint=")[1].split(";")[0]
            guest = Shell(binary, directory)
            guest.env = {"AZURE_STORAGE_CONNECTION_STRING": f"{endpoint}?{token}"}
            guest("message", "move", "poison", "jobs", code=code)
        equal(texts(shell, "jobs"), ["x"])


def test_messages_are_exported_and_imported(binary, directory):
    with serve_memory(binary, directory) as server:
        shell = Shell(binary, directory, server)
        for queue in ("jobs", "copy"):
            shell("queue", "create", queue)
        lines = [f"message {n} \u00fc" for n in range(100)]
        shell("message", "put", "jobs", "-", stdin="\n".join(lines).encode())
        shell("message", "put", "jobs", "later", "--visibility-timeout", "600")
        exported = shell.rows("message", "export", "jobs")
        contains(shell.errors, "100 messages exported", "1 message not exported")
        equal([row["MessageText"] for row in exported], lines)
        equal(texts(shell, "jobs"), lines[:32], "the messages are visible again, in their order")
        shell("message", "export", "jobs", "--file", "jobs.jsonl", "--delete", "--quiet")
        equal(shell.rows("queue", "stats", "jobs"), [{"Name": "jobs", "Messages": 1}])
        contains(shell("message", "export", "jobs", "--file", "jobs.jsonl", code=1), "jobs.jsonl")
        equal(shell("message", "import", "copy", "jobs.jsonl"), "copy: 100 messages added\n")
        equal(texts(shell, "copy"), lines[:32])
        equal(sorted(os.listdir(directory)), ["jobs.jsonl"])


def test_an_interrupted_import_of_messages_is_resumed(binary, directory):
    with serve_memory(binary, directory) as server:
        shell = Shell(binary, directory, server)
        shell("queue", "create", "jobs")
        path = os.path.join(directory, "work.jsonl")
        with open(path, "w") as file:
            file.write("".join(json.dumps({"MessageText": str(n)}) + "\n" for n in range(40)) + '{"no":"text"}\n"last"\n')
        contains(shell("message", "import", "jobs", "work.jsonl", code=1), "work.jsonl:41", "MessageText")
        with open(path) as file:
            mended = file.read().replace('{"no":"text"}', '"forty-one!!"')
        with open(path, "w") as file:
            file.write(mended)
        equal(shell("message", "import", "jobs", "work.jsonl"), "jobs: 42 messages added\n")
        equal(shell.rows("queue", "stats"), [{"Name": "jobs", "Messages": 42}])


def test_expired_messages_are_not_imported(binary, directory):
    with serve_memory(binary, directory) as server:
        shell = Shell(binary, directory, server)
        shell("queue", "create", "jobs")
        with open(os.path.join(directory, "old.jsonl"), "w") as file:
            for expires in ("Thu, 01 Jan 2015 00:00:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT"):
                file.write(json.dumps({"MessageText": expires[:3], "ExpirationTime": expires}) + "\n")
        equal(shell("message", "import", "jobs", "old.jsonl"), "jobs: 1 message added\njobs: 1 expired and not imported\n")
        row = shell.rows("message", "peek", "jobs")[0]
        equal((row["MessageText"], row["ExpirationTime"]), ("Fri", "Fri, 31 Dec 9999 23:59:59 GMT"))


def test_no_server_is_exit_code_6(binary, directory):
    string = "DefaultEndpointsProtocol=http;AccountName=shop;AccountKey=YWJj;QueueEndpoint=http://127.0.0.1:1/shop"
    code, _, errors = run(binary, directory, "queue", "list", "-c", string)
    equal(code, 6)
    contains(errors, "no response from http://127.0.0.1:1/shop", "is the server running")
