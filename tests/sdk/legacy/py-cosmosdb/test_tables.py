"""Tables."""

import pytest
from azure.common import AzureConflictHttpError, AzureHttpError, AzureMissingResourceHttpError

from common import random_name


def test_create_exists_and_delete(service, names):
    """OP-02 to OP-05"""
    name = names()
    assert service.exists(name) is False
    assert service.create_table(name) is True
    assert service.exists(name) is True
    assert service.create_table(name) is False
    with pytest.raises(AzureConflictHttpError) as raised:
        service.create_table(name, fail_on_exist=True)
    assert "TableAlreadyExists" in str(raised.value)
    assert service.delete_table(name) is True
    assert service.delete_table(name) is False
    with pytest.raises(AzureMissingResourceHttpError):
        service.delete_table(name, fail_not_exist=True)


def test_list_tables(service, names):
    """OP-01"""
    mine = {names() for _ in range(3)}
    for name in mine:
        service.create_table(name)
    assert mine <= {item.name for item in service.list_tables()}


def test_list_tables_in_pages(service, names):
    """PG-13: num_results bounds what one generator yields; its marker continues from there."""
    mine = {names() for _ in range(4)}
    for name in mine:
        service.create_table(name)
    found, marker = [], None
    while True:
        page = service.list_tables(num_results=3, marker=marker)
        items = [item.name for item in page]
        assert len(items) <= 3
        found += items
        marker = page.next_marker
        if not marker:
            break
    assert mine <= set(found)
    assert len(found) == len(set(found))


@pytest.mark.parametrize("name, code", [("a", "OutOfRangeInput"), ("my-table", "InvalidResourceName")])
def test_invalid_names(service, name, code):
    """DM-05, DM-07"""
    with pytest.raises(AzureHttpError) as raised:
        service.create_table(name, fail_on_exist=True)
    assert raised.value.status_code == 400
    assert code in str(raised.value)


def test_timeout_is_accepted(service, table):
    service.exists(table, timeout=10)
    service.insert_entity(table, {"PartitionKey": "p", "RowKey": "r"}, timeout=10)
    assert len(list(service.query_entities(table, timeout=10))) == 1


def test_missing_table(service):
    """OP-17"""
    with pytest.raises(AzureMissingResourceHttpError) as raised:
        list(service.query_entities(random_name()))
    assert "TableNotFound" in str(raised.value)
