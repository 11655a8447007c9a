"""Tokens that `az` makes, and what it may do with them: SA-01 to SA-04, SA-06, and stored access policies."""

import pytest

from conftest import ACCOUNT, ENDPOINT, az, key, rejected, with_sas

pytestmark = pytest.mark.sas
LATER = "2099-01-01T00:00Z"
NEW = ("entity", "insert", "-e", "PartitionKey=a", "RowKey=9", "Name=New")


def table_sas(table, *arguments):
    return key("table", "generate-sas", "-n", table, *arguments)


def names(token, table, *arguments):
    return [entity["Name"] for entity in with_sas(token, "entity", "query", "-t", table, *arguments)["items"]]


def test_each_permission(people):
    commands = {
        "r": ("entity", "show", "-t", people, "--partition-key", "a", "--row-key", "1"),
        "a": (*NEW, "-t", people),
        "u": ("entity", "merge", "-t", people, "-e", "PartitionKey=a", "RowKey=1", "Age=1"),
        "d": ("entity", "delete", "-t", people, "--partition-key", "a", "--row-key", "2"),
    }
    for letter, allowed in commands.items():
        token = table_sas(people, "--permissions", letter, "--expiry", LATER)
        with_sas(token, *allowed)
        for other, command in commands.items():
            if other != letter:
                rejected("permission", with_sas, token, *command)
    rejected("permission", with_sas, table_sas(people, "--permissions", "a", "--expiry", LATER), *NEW, "-t", people,
            "--if-exists", "merge")
    with_sas(table_sas(people, "--permissions", "au", "--expiry", LATER), *NEW, "-t", people, "--if-exists", "merge")


def test_a_token_beside_the_name_of_the_account(people):
    token = table_sas(people, "--permissions", "r", "--expiry", LATER)
    found = az("storage", "entity", "query", "-t", people, "--account-name", ACCOUNT, "--sas-token", token,
               "--table-endpoint", ENDPOINT)
    assert len(found["items"]) == 3


def test_ranges(people):
    token = table_sas(people, "--permissions", "raud", "--expiry", LATER, "--start-pk", "a", "--start-rk", "2",
                      "--end-pk", "b", "--end-rk", "0")
    assert names(token, people) == ["Alan"]
    rejected("ResourceNotFound", with_sas, token, "entity", "show", "-t", people, "--partition-key", "a", "--row-key", "1")
    rejected("blocked by network rules", with_sas, token, "entity", "delete", "-t", people, "--partition-key", "b", "--row-key", "1")
    with_sas(token, *NEW, "-t", people)
    assert names(token, people) == ["Alan", "New"]


def test_times_and_protocols(people):
    """Not --ip: this version leaves it out of the token."""
    for arguments in (["--expiry", "2020-01-01"], ["--start", "2098-01-01", "--expiry", LATER]):
        rejected("", with_sas, table_sas(people, "--permissions", "r", *arguments), "entity", "query", "-t", people)
    if ENDPOINT.startswith("http:"):
        token = table_sas(people, "--permissions", "r", "--expiry", LATER, "--https-only")
        rejected("", with_sas, token, "entity", "query", "-t", people)
    token = table_sas(people, "--permissions", "r", "--start", "2020-01-01", "--expiry", LATER)
    assert len(names(token, people)) == 3


def test_a_changed_token(people):
    token = table_sas(people, "--permissions", "r", "--expiry", LATER)
    for changed in (token.replace("sp=r", "sp=raud"), token.replace("2099", "2100"), token.replace("sig=", "sig=A")):
        assert changed != token
        rejected("Authentication failure", with_sas, changed, "entity", "query", "-t", people)
    rejected("", with_sas, token, "table", "list")


def test_account_tokens(people):
    def account_sas(permissions, kinds="sco"):
        # It identifies the account by its name only, and sends no request.
        return key("account", "generate-sas", "--services", "t", "--resource-types", kinds, "--permissions", permissions,
                   "--expiry", LATER)

    everything = account_sas("rwdlacu")
    assert {"name": people} in with_sas(everything, "table", "list")
    assert with_sas(everything, "table", "create", "-n", people + "2") == {"created": True}
    assert with_sas(everything, "table", "delete", "-n", people + "2") == {"deleted": True}
    with_sas(everything, *NEW, "-t", people)
    assert names(everything, people) == ["Ada", "Alan", "New", "Barbara"]
    reader = account_sas("rl")
    assert len(names(reader, people)) == 4
    rejected("permission", with_sas, reader, "table", "create", "-n", people + "2", "--fail-on-exist")
    rejected("permission", with_sas, reader, *NEW, "-t", people)
    rejected("resource type", with_sas, account_sas("rwdlacu", "s"), "table", "list")


@pytest.mark.acl
def test_stored_access_policies(people):
    def policy(command, *arguments):
        return key("table", "policy", command, "-t", people, *arguments)

    assert policy("list") == {}
    policy("create", "-n", "readers", "--permissions", "r", "--start", "2020-01-01T00:00:00Z", "--expiry", "2099-01-01T00:00:00Z")
    policy("create", "-n", "writers", "--permissions", "raud", "--expiry", "2099-01-01T00:00:00Z")
    assert policy("list") == {
        "readers": {"expiry": "2099-01-01T00:00:00+00:00", "permission": "r", "start": "2020-01-01T00:00:00+00:00"},
        "writers": {"expiry": "2099-01-01T00:00:00+00:00", "permission": "raud", "start": None}}
    assert policy("show", "-n", "readers")["permission"] == "r"
    token = table_sas(people, "--policy-name", "readers")
    assert len(names(token, people)) == 3
    rejected("permission", with_sas, token, *NEW, "-t", people)
    policy("update", "-n", "readers", "--permissions", "ra")
    with_sas(token, *NEW, "-t", people)
    policy("delete", "-n", "readers")
    rejected("Authentication failure", with_sas, token, "entity", "query", "-t", people)
    assert list(policy("list")) == ["writers"]
