"""Tables as Atom entries and feeds."""

import pytest
from client import Conflict, Failure, Missing, TableService

from common import ACCOUNT, DEV_KEY, ENDPOINT, KEY, PATH_STYLE, SUFFIX, URL, random_name


def test_create_and_delete(service, names):
    """OP-03, OP-04, OP-05"""
    name = names()
    assert service.create_table(name) is True
    assert service.create_table(name) is False
    with pytest.raises(Conflict):
        service.create_table(name, fail_on_exist=True)
    assert service.delete_table(name) is True
    assert service.delete_table(name) is False
    with pytest.raises(Missing):
        service.delete_table(name, fail_not_exist=True)


def test_query_tables(service, names):
    """OP-01"""
    mine = [names() for _ in range(3)]
    for name in mine:
        service.create_table(name)
    found = [item.name for item in service.query_tables()]
    assert set(mine) <= set(found)


def test_query_one_table(service, table):
    """OP-02: an entry instead of a feed."""
    found = service.query_tables(table)
    assert [item.name for item in found] == [table]
    with pytest.raises(Missing):
        service.query_tables(random_name())


def test_query_tables_in_pages(service, names):
    """PG-13"""
    mine = {names() for _ in range(4)}
    for name in mine:
        service.create_table(name)
    found, token = [], None
    while True:
        page = service.query_tables(top=2, next_table_name=token)
        assert len(page) <= 2
        found += [item.name for item in page]
        if not hasattr(page, "x_ms_continuation"):
            break
        token = page.x_ms_continuation["NextTableName"]
    assert mine <= set(found)
    assert len(found) == len(set(found))


@pytest.mark.parametrize("name, code", [("a", "OutOfRangeInput"), ("my-table", "InvalidResourceName")])
def test_invalid_names(service, name, code):
    """DM-05, DM-07"""
    with pytest.raises(Failure) as raised:
        service.create_table(name, fail_on_exist=True)
    assert code in str(raised.value)


def test_wrong_key():
    """AU-06"""
    other = TableService(ACCOUNT, "d3Jvbmcga2V5", protocol=URL.scheme, host_base=f".table.{SUFFIX}")
    with pytest.raises(Failure) as raised:
        other.query_tables()
    assert "AuthenticationFailed" in str(raised.value)


@pytest.mark.skipif(not PATH_STYLE or (ACCOUNT, KEY) != ("devstoreaccount1", DEV_KEY), reason="needs the development account")
def test_the_emulator_switch(monkeypatch):
    """DM-04: with EMULATED set the client talks path style to the development account."""
    monkeypatch.setenv("EMULATED", "true")
    local = TableService(dev_host=URL.netloc)
    assert ENDPOINT.endswith(local.account_name)
    name = random_name()
    local.create_table(name, fail_on_exist=True)
    local.insert_entity(name, {"PartitionKey": "p", "RowKey": "r", "n": 1})
    assert local.get_entity(name, "p", "r").n == 1
    assert [entity.n for entity in local.query_entities(name, "n eq 1")] == [1]
    local.delete_entity(name, "p", "r")
    local.delete_table(name, fail_not_exist=True)
