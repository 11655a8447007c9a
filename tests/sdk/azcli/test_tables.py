"""`az storage table` with the account's key: create, list, exists, delete, and the program as a process of its own."""

import json
import os
import subprocess
import sys
import uuid

from conftest import ENVIRONMENT, ACCOUNT, ENDPOINT, KEY, az, connection_string, key, rejected


def test_create_exists_list_delete():
    name = "az" + uuid.uuid4().hex
    assert key("table", "exists", "-n", name) == {"exists": False}
    assert key("table", "create", "-n", name) == {"created": True}
    assert key("table", "exists", "-n", name) == {"exists": True}
    assert {"name": name} in key("table", "list")
    assert key("table", "create", "-n", name) == {"created": True}
    rejected("TableAlreadyExists", key, "table", "create", "-n", name, "--fail-on-exist")
    assert key("table", "delete", "-n", name) == {"deleted": True}
    assert key("table", "delete", "-n", name) == {"deleted": False}
    rejected("does not exist", key, "table", "delete", "-n", name, "--fail-not-exist")
    assert {"name": name} not in key("table", "list")


def test_list_in_pages(table):
    seen, marker = [], []
    while True:
        page = key("table", "list", "--num-results", 1, "--show-next-marker", *marker)
        following = page.pop()["nextMarker"]
        seen += [entry["name"] for entry in page]
        if not following:
            break
        marker = ["--marker", following]
    assert table in seen and len(seen) == len(set(seen))


def test_invalid_names():
    rejected("alphanumeric", key, "table", "create", "-n", "1abc")
    rejected("alphanumeric", key, "table", "create", "-n", "ab")


def test_wrong_key(table):
    rejected("Authentication failure", az, "storage", "table", "list", "--account-name", ACCOUNT, "--account-key",
            "AAAA" + KEY[4:], "--table-endpoint", ENDPOINT)


def test_account_name_and_key_in_place_of_a_connection_string(table):
    listed = az("storage", "table", "list", "--account-name", ACCOUNT, "--account-key", KEY, "--table-endpoint", ENDPOINT)
    assert {"name": table} in listed


def test_for_people(table):
    assert table in key("table", "list", output="table")
    assert key("table", "exists", "-n", table, output="tsv").strip() == "True"


def test_as_a_process(table):
    """What a person types, with the connection string in the environment."""
    environment = os.environ | ENVIRONMENT | {"AZURE_STORAGE_CONNECTION_STRING": connection_string()}
    done = subprocess.run([sys.executable, "-m", "azure.cli", "storage", "table", "exists", "-n", table],
                          env=environment, capture_output=True, text=True, timeout=120)
    assert (done.returncode, json.loads(done.stdout)) == (0, {"exists": True}), done.stderr
