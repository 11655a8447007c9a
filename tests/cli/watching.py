"""Watching a server: its request logs, its metrics."""

import base64
import email.utils
import hashlib
import hmac
import http.client
import json
import os
import re
import signal
import subprocess
import threading

from common import connection_string, contains, equal, run, serve, serve_memory
from lazuli import ACCOUNT, HANG_SECONDS, Client, entity_path

PROPERTIES = "/?restype=service&comp=properties"
LOGGING = ("<StorageServiceProperties><Logging><Version>1.0</Version><Delete>true</Delete><Read>true</Read><Write>true</Write>"
           "<RetentionPolicy><Enabled>true</Enabled><Days>7</Days></RetentionPolicy></Logging></StorageServiceProperties>")


def switch_on(client):
    target = f"/{client.account}{PROPERTIES}"
    equal(client.ask("PUT", PROPERTIES, LOGGING, signed(client, target)).status, 202)


def signed(client, target):
    """SharedKeyLite with `comp`, which the plain client does not sign."""
    date = email.utils.formatdate(usegmt=True)
    text = f"{date}\n/{client.account}{target.split('?')[0]}?comp=properties"
    digest = hmac.new(client.key, text.encode(), hashlib.sha256).digest()
    return {"x-ms-date": date, "Authorization": f"SharedKeyLite {client.account}:{base64.b64encode(digest).decode()}"}


def use(client, count):
    """A table, some inserts, one that fails, a query."""
    equal(client.ask("POST", "/Tables", {"TableName": "people"}).status, 204)
    for row in range(count):
        equal(client.ask("POST", "/people", {"PartitionKey": "p", "RowKey": str(row)}).status, 204)
    equal(client.ask("POST", "/people", {"PartitionKey": "p", "RowKey": "0"}).status, 409)
    equal(client.ask("GET", "/people()").status, 200)


def logs(binary, directory, *args):
    code, output, errors = run(binary, directory, "logs", "--location", "data", *args)
    equal(code, 0, errors)
    return output.splitlines()


def test_logs_show_what_was_logged(binary, directory):
    with serve(binary, directory) as server:
        equal(server.stop(), 0)
    code, output, errors = run(binary, directory, "logs", "--location", "data")
    equal((code, output), (0, ""))
    contains(errors, "no request logs")
    with serve(binary, directory) as server, Client(server) as client:
        switch_on(client)
        use(client, 3)
        equal(server.stop(), 0)
    lines = logs(binary, directory)
    equal([line.split(";")[2] for line in lines], ["CreateTable"] + ["InsertEntity"] * 4 + ["QueryEntities"])
    assert all(line.count(";") >= 29 and line.startswith("1.0;") for line in lines), lines
    equal(len(logs(binary, directory, "--operation", "insertentity")), 4)
    equal(len(logs(binary, directory, "--status", "error")), 1)
    equal(len(logs(binary, directory, "--status", "4xx")), 1)
    equal(len(logs(binary, directory, "--status", "EntityAlreadyExists")), 1)
    equal(len(logs(binary, directory, "--status", "200")), 1)
    equal(len(logs(binary, directory, "--since", "1h")), 6)
    equal(logs(binary, directory, "--until", "1h"), [])
    equal(logs(binary, directory, "--account", "nobody"), [])
    equal(logs(binary, directory, "--service", "queue"), [])
    failed = json.loads(logs(binary, directory, "--status", "error", "--json")[0])
    equal((failed["operation-type"], failed["request-status"], failed["http-status-code"], failed["owner-account-name"]),
          ("InsertEntity", "EntityAlreadyExists", "409", ACCOUNT))
    equal([line for line in logs(binary, directory, "--service", "blob") if "$logs" in line], [], "reading logs is not logged")
    code, output, _ = run(binary, directory, "blob", "list", "$logs", "--location", "data")
    equal(code, 0)
    assert re.search(r"table/\d{4}/\d\d/\d\d/\d\d00/000000\.log", output), output


def test_log_files_of_earlier_versions_become_blobs(binary, directory):
    with serve(binary, directory) as server, Client(server) as client:
        switch_on(client)
        use(client, 3)
        equal(server.stop(), 0)
    line = logs(binary, directory)[0]
    old = os.path.join(directory, "data", "analytics", ACCOUNT, "$logs", "table", "2020", "01", "31", "1200")
    os.makedirs(old)
    with open(os.path.join(old, "000000.log"), "w") as file:
        file.write(line + "\n")
    with serve(binary, directory) as server:
        equal(server.stop(), 0)
    assert not os.path.exists(os.path.join(directory, "data", "analytics"))
    equal(logs(binary, directory)[0], line)


def test_logs_follow(binary, directory):
    with serve(binary, directory) as server, Client(server) as client:
        switch_on(client)
        follower = subprocess.Popen([binary, "logs", "-c", connection_string(server), "--follow", "--operation", "QueryTables"],
                                    cwd=directory, stdout=subprocess.PIPE, text=True)
        guard = threading.Timer(HANG_SECONDS, follower.kill)
        guard.start()
        try:
            for _ in range(2):
                equal(client.ask("GET", "/Tables").status, 200)
                contains(follower.stdout.readline(), ";QueryTables;Success;200;")
            follower.send_signal(signal.SIGINT)
            equal((follower.stdout.read(), follower.wait(HANG_SECONDS)), ("", 0))
        finally:
            guard.cancel()
            follower.kill()
            follower.stdout.close()


def test_mistakes_with_logs_are_reported(binary, directory):
    code, _, errors = run(binary, directory, "logs", "--since", "yesterday")
    equal(code, 2)
    contains(errors, "2026-01-31T12:00Z", "10m")


def scrape(port, token=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=HANG_SECONDS)
    connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {token}"} if token else {})
    response = connection.getresponse()
    text = response.read().decode()
    equal((response.status, response.headers["Content-Type"]), (200, "text/plain; version=0.0.4; charset=utf-8"))
    connection.close()
    return text


def test_metrics(binary, directory):
    with serve(binary, directory, "--admin-port", "0") as server, Client(server) as client:
        use(client, 3)
        equal(client.ask("GET", entity_path("people", "p", "1")).status, 200)
        with open(os.path.join(directory, "data", "admin.json")) as file:
            admin = json.load(file)
        port = int(admin["address"].rsplit(":", 1)[1])
        text = scrape(port)
        contains(text,
                 'lazuli_requests_total{operation="InsertEntity",status="2xx",code=""} 3\n',
                 'lazuli_requests_total{operation="InsertEntity",status="4xx",code="EntityAlreadyExists"} 1\n',
                 'lazuli_queries_total{plan="table"} 1\n', 'lazuli_query_rows_read_total{plan="table"} 3\n',
                 'lazuli_queries_total{plan="point"} 1\n',
                 f'lazuli_table_requests_total{{account="{ACCOUNT}",table="people"}} 6\n',
                 "lazuli_engine_commits_total 4\n", "lazuli_engine_takes_writes 1\n", "lazuli_throttled_total")
        assert 'partition="p"' not in text, "keys are for those who have the token"
        contains(scrape(port, admin["token"]), f'account="{ACCOUNT}",table="people",partition="p"}}')
        for line in text.splitlines():
            assert re.fullmatch(r'# (HELP|TYPE) \S+ .+|[a-z_]+(\{([a-z]+="[^"]*",?)+\})? [0-9.e+-]+', line), line


def test_an_explained_query(binary, directory):
    with serve_memory(binary, directory) as server, Client(server) as client:
        use(client, 3)
        response = client.ask("GET", "/people()", headers={"x-lazuli-explain": "1"})
        found = {name: response.headers[f"x-lazuli-{name}"] for name in ("plan", "ranges", "rows-read", "rows-returned")}
        equal(found, {"plan": "table", "ranges": "1", "rows-read": "3", "rows-returned": "3"})
