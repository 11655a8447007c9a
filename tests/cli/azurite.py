"""The process contract of Azurite: its names, its command line, its ready lines; and what exists at startup."""

import json
import os
import re
import socket
import urllib.request

from common import Shell, contains, equal, free_port, run, serve, serve_memory
from lazuli import HANG_SECONDS, NotStarted, Server


class Azurite(Server):
    """A server that is started as Azurite is; ready when it has printed the last of its ready lines."""

    def __init__(self, binary, directory, *command, last="Table", **options):
        self.last = last
        super().__init__(binary, command=command, directory=directory, **options)

    def wait_until_ready(self):
        words = "is successfully listening at|successfully listens on|successfully started on"
        ready = re.compile(rf"Azurite {self.last} service (?:{words}) (\S+)\n")
        while not ready.search(self.output):
            piece = os.read(self.process.stdout.fileno(), 65536).decode()
            if not piece:
                self.wait()
                raise NotStarted(self.said())
            self.output += piece
        return self

    def address(self, service):
        return re.search(rf"Azurite {service} service .* (?:at http://|on http://|on )([\d.]+:\d+)\n", self.output)[1]


FREE = ("--blobPort", "0", "--queuePort", "0", "--tablePort", "0")


def test_all_services_print_the_ready_lines_of_azurite(binary, directory):
    with Azurite(binary, directory, "azurite", "--silent", "--location", "work", *FREE, "--loose", "--skipApiVersionCheck",
                 "--disableProductStyleUrl", "--disableTelemetry", "--blobKeepAliveTimeout", "5") as server:
        lines = server.output.splitlines()
        equal(len(lines), 6)
        for index, service in enumerate(("Blob", "Queue", "Table")):
            address = server.address(service)
            equal(lines[2 * index:2 * index + 2], [
                f"Azurite {service} service is starting at http://{address}",
                f"Azurite {service} service is successfully listening at http://{address}"])
        equal(server.said(), "lazuli: these have no effect: --loose, --skipApiVersionCheck, --disableTelemetry, "
                             "--blobKeepAliveTimeout (see --idle-timeout)\n", "one notice")
        equal(os.listdir(os.path.join(directory, "work")), ["lazuli-data"])
        equal(server.stop(), 0)
        contains(server.output, "Azurite Blob service is closing...\n", "Azurite Table service successfully closed\n")


def test_ready_lines_of_one_service_differ(binary, directory):
    for service in ("blob", "queue", "table"):
        with Azurite(binary, directory, f"azurite-{service}", "--inMemoryPersistence", f"--{service}Port", "0",
                     last=service.title()) as server:
            address = server.address(service.title())
            ready = "started on " if service == "table" else "listens on http://"
            equal(server.output.splitlines(), [
                f"Azurite {service.title()} service is starting on {address}",
                f"Azurite {service.title()} service successfully {ready}{address}"])
            equal(server.stop(), 0)
    equal(os.listdir(directory), [], "nothing is on disk")


def test_the_name_of_the_program_selects_the_services(binary, directory):
    os.symlink(binary, os.path.join(directory, "azurite"))
    with Azurite(os.path.join(directory, "azurite"), directory, "-s", "-l", ".", *FREE) as server:
        equal(os.path.isdir(os.path.join(directory, "lazuli-data")), True)
        equal(server.stop(), 0)


def test_a_free_port_for_one_service_leaves_the_others_alone(binary, directory):
    """A blob port of 0 chose free ports for queues and tables, too, where clients of Azurite do not expect them."""
    others = free_port(), free_port()
    with Azurite(binary, directory, "azurite", "--inMemoryPersistence", "--blobPort", "0", "--queuePort", str(others[0]),
                 "--tablePort", str(others[1])) as server:
        equal([server.address(service).split(":")[1] for service in ("Queue", "Table")], [str(port) for port in others])
    shown = run(binary, directory, "azurite", "--inMemoryPersistence", "--blobPort", "0", "--queuePort", "0", "--tableHost", "192.0.2.1")
    contains(shown[2], "192.0.2.1:10002 for tables")


def test_words_and_missing_values_are_accepted_as_by_azurite(binary, directory):
    with Azurite(binary, directory, "azurite", "start", "--silent", "true", "--inMemoryPersistence=true", *FREE, "--blobHost",
                 "-L", "--loose") as server:
        contains(server.address("Blob"), "127.0.0.1:")
        equal(server.said(), "lazuli: these have no effect: --loose, 'start'\n")
        equal(server.stop(), 0)
    for words in (["version"], ["--version"], ["-v"]):
        equal(run(binary, directory, "azurite", *words)[:2], run(binary, directory, "--version")[:2])
    for words in (["help"], ["--help"], ["-h"]):
        code, shown, _ = run(binary, directory, "azurite-blob", *words)
        equal(code, 0)
        contains(shown, "Usage: azurite-blob", "--blobPort")
    code, _, errors = run(binary, directory, "azurite", "--inMemoryPersistence", "-l", "data")
    equal(code, 2)
    contains(errors, "--inMemoryPersistence option is not supported when the --location option is set")


def test_unset_variables_and_repeated_options_are_accepted_as_by_azurite(binary, directory):
    """An empty value was an error, and so was a repeated option."""
    port = free_port()
    with Azurite(binary, directory, "azurite", "--inMemoryPersistence", *FREE, "--location", "", "--cert", "", "--key", "", "--pwd", "",
                 "--oauth", "", "--queueHost", "", "--tablePort", str(port)) as server:
        equal(server.address("Table"), f"127.0.0.1:{port}")
        equal(server.said(), "")
        equal(server.stop(), 0)


def test_programs_with_one_service_run_in_one_location(binary, directory):
    """The second program found the store locked."""
    with Azurite(binary, directory, "azurite-queue", "--queuePort", "0", last="Queue") as queues:
        with Azurite(binary, directory, "azurite-table", "--tablePort", "0", last="Table") as tables:
            equal(sorted(os.listdir(directory)), ["lazuli-data-queue", "lazuli-data-table"])
            equal((tables.stop(), queues.stop()), (0, 0))


def test_data_of_azurite_that_is_not_served_gets_a_notice(binary, directory):
    with open(os.path.join(directory, "__azurite_db_table__.json"), "w") as file:
        file.write("{}")
    notice = "lazuli: the data of Azurite in . is not served; to copy it, stop this server and run lazuli import --from-azurite . " \
             "--location ./lazuli-data\n"
    for more, wanted in ((["--inMemoryPersistence"], ""), ([], notice), ([], "")):
        with Azurite(binary, directory, "azurite", *FREE, *more) as server:
            equal(server.said(), wanted, "once, before there is a store")
            equal(server.stop(), 0)


def test_product_style_urls_can_be_disabled(binary, directory):
    def code(server):
        request = urllib.request.Request(f"http://{server.address('Blob')}/nobody?comp=list",
                                         headers={"Host": "devstoreaccount1.blob.localhost", "x-ms-version": "2021-12-02"})
        try:
            urllib.request.urlopen(request, timeout=HANG_SECONDS).close()
        except urllib.error.HTTPError as error:
            return error.headers["x-ms-error-code"]

    codes = []
    for more in ((), ("--disableProductStyleUrl",)):
        with Azurite(binary, directory, "azurite", "--inMemoryPersistence", *FREE, *more) as server:
            codes.append(code(server))
            equal(server.said(), "")
            equal(server.stop(), 0)
    equal(codes, ["NoAuthenticationInformation", "AuthenticationFailed"], "the account of the host, and none")


def own_name():
    """The name of this machine, if it resolves to an address that a server can use."""
    try:
        with socket.create_server((socket.gethostname(), 0)):
            return socket.gethostname()
    except OSError:
        return "localhost"


def test_hosts_may_be_names_and_unknown_variables_get_a_notice(binary, directory):
    with Azurite(binary, directory, "azurite", "--inMemoryPersistence", *FREE, "--blobHost", own_name(), "--queueHost", "localhost",
                 env={"AZURITE_DB": "mysql://root@127.0.0.1/azurite", "AZURITE_SKIP_API_VERSION_CHECK": "true"}) as server:
        contains(server.address("Queue"), "127.0.0.1:")
        equal(server.said(), "lazuli: these have no effect: AZURITE_SKIP_API_VERSION_CHECK, AZURITE_DB (the metadata of "
                             "blobs is in the data directory)\n")
        equal(server.stop(), 0)
    code, _, errors = run(binary, directory, "azurite", "--inMemoryPersistence", "--blobHost", "no.such.host.invalid")
    equal(code, 2)
    contains(errors, "nor the name of a host")


def test_the_debug_log_goes_to_a_file(binary, directory):
    with Azurite(binary, directory, "azurite", "--inMemoryPersistence", "--debug", "logs/new/debug.log", *FREE) as server:
        urllib.request.urlopen(f"http://{server.address('Blob')}/-/health", timeout=HANG_SECONDS).close()
        try:
            urllib.request.urlopen(f"http://{server.address('Blob')}/devstoreaccount1/x/y", timeout=HANG_SECONDS).close()
        except urllib.error.HTTPError as error:
            equal(error.code in (403, 404, 409), True)
        equal(server.stop(), 0)
        with open(os.path.join(directory, "logs", "new", "debug.log")) as file:
            contains(file.read(), "/devstoreaccount1/x/y")
        equal(server.said(), "")


def test_every_data_port_reports_its_health(binary, directory):
    with serve_memory(binary, directory) as server:
        for address in re.findall(r"on (http://[0-9.:]+)", server.output):
            with urllib.request.urlopen(f"{address}/-/health", timeout=HANG_SECONDS) as response:
                equal((response.status, json.loads(response.read())), (200, {"status": "ok"}))


def test_tables_queues_and_containers_exist_at_startup(binary, directory):
    create = "table:People,queue:jobs,container:files,container:site:public"
    for _ in range(2):
        with serve(binary, directory, env={"LAZULI_CREATE": create}) as server:
            shell = Shell(binary, directory, server)
            equal(shell.rows("table", "list"), [{"TableName": "People"}])
            equal(shell.rows("queue", "list"), [{"Name": "jobs"}])
            listed = [(row["Name"], row.get("PublicAccess")) for row in shell.rows("container", "list")]
            equal(listed, [("files", None), ("site", "blob")])
            equal(server.stop(), 0)
    code, _, errors = run(binary, directory, "serve", "--engine", "memory:", "--create", "share:x")
    equal(code, 2)
    contains(errors, "table:NAME")
    code, _, errors = run(binary, directory, "serve", "--engine", "memory:", "--table-port", "0", "--create", "queue:NO")
    equal(code, 1)
    contains(errors, "queue NO cannot be created")


def test_a_directory_of_seed_files_fills_the_server(binary, directory):
    def write(name, text):
        path = os.path.join(directory, "seed", name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)

    write("tables/People.jsonl", '{"PartitionKey":"a","RowKey":"1","Age":36}\n{"PartitionKey":"b","RowKey":"1","Age":20}\n')
    write("tables/Birds.csv", "PartitionKey,RowKey,Name:Edm.String\r\nowls,1,Bubo\r\n")
    write("queues/jobs.txt", "one\ntwo\n")
    write("queues/more.jsonl", '{"MessageText":"three"}\n"four"\n')
    write("containers/files/a/b.txt", "content")
    write("containers/files/.hidden", "no")
    for _ in range(2):
        with serve(binary, directory, "--seed", "seed") as server:
            shell = Shell(binary, directory, server)
            equal([row["Age"] for row in shell.rows("query", "People")], [36, 20])
            equal(shell.rows("query", "Birds")[0]["Name"], "Bubo")
            equal(shell.rows("queue", "stats"), [{"Name": "jobs", "Messages": 2}, {"Name": "more", "Messages": 2}],
                  "a second start adds no messages")
            equal([row["MessageText"] for row in shell.rows("message", "peek", "more", "--count", "5")], ["three", "four"])
            equal([row["Name"] for row in shell.rows("blob", "list", "files")], ["a/b.txt"])
            equal(shell("blob", "download", "files/a/b.txt", "-"), "content")
            equal(server.stop(), 0)
    write("tables/wrong.jsonl", "nonsense\n")
    code, _, errors = run(binary, directory, "serve", "--engine", "memory:", "--table-port", "0", "--seed", "seed")
    equal(code, 1)
    contains(errors, "wrong.jsonl:1")


def test_completions_and_man_pages(binary, directory):
    for shell in ("bash", "zsh", "fish", "elvish", "powershell"):
        code, output, _ = run(binary, directory, "completions", shell)
        equal(code, 0, shell)
        contains(output, "lazuli", "conformance")
    equal(run(binary, directory, "man", "man1")[0], 0)
    with open(os.path.join(directory, "man1", "lazuli-blob-upload.1")) as page:
        contains(page.read(), "overwrite")
