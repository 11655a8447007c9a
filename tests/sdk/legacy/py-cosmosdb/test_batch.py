"""Batches, as an object and as a context manager."""

import pytest
from azure.cosmosdb.table.models import AzureBatchOperationError, AzureBatchValidationError
from azure.cosmosdb.table.tablebatch import TableBatch
from test_entities import FOREIGN_ETAG, own, row

pytestmark = pytest.mark.batch


def content(service, table):
    return {entity.RowKey: own(entity) for entity in service.query_entities(table)}


def test_every_operation(service, table):
    """TX-14, TX-19"""
    for key in ("update", "merge", "replace or insert", "merge or insert", "delete"):
        service.insert_entity(table, row(key, a="1"))
    batch = TableBatch()
    batch.insert_entity(row("insert", b="2"))
    batch.update_entity(row("update", b="2"))
    batch.merge_entity(row("merge", b="2"))
    batch.insert_or_replace_entity(row("replace or insert", b="2"))
    batch.insert_or_merge_entity(row("merge or insert", b="2"))
    batch.insert_or_merge_entity(row("new", b="2"))
    batch.delete_entity("p", "delete")
    etags = service.commit_batch(table, batch)
    assert [bool(etag) for etag in etags] == [True] * 6 + [False]
    assert content(service, table) == {
        "insert": {"b": "2"},
        "update": {"b": "2"},
        "merge": {"a": "1", "b": "2"},
        "replace or insert": {"b": "2"},
        "merge or insert": {"a": "1", "b": "2"},
        "new": {"b": "2"},
    }
    assert etags[0] == service.get_entity(table, "p", "insert").etag


def test_as_a_context(service, table):
    with service.batch(table) as batch:
        for i in range(100):
            batch.insert_entity(row(f"{i:03}"))
    assert len(content(service, table)) == 100


def test_a_thousand_rows_and_more(service, table):
    """PG-02"""
    for start in range(0, 1050, 50):
        with service.batch(table) as batch:
            for i in range(start, start + 50):
                batch.insert_entity(row(f"{i:04}", n=i))
    assert [entity.n for entity in service.query_entities(table)] == list(range(1050))


@pytest.mark.parametrize("key", ["a b", "100%", "O'Hare", "a','b", "é世😀"], ids=ascii)
def test_keys(service, table, key):
    entity = {"PartitionKey": key, "RowKey": key, "a": "1"}
    with service.batch(table) as batch:
        batch.insert_entity(entity)
    with service.batch(table) as batch:
        batch.merge_entity({**entity, "b": "2"})
    assert own(service.get_entity(table, key, key)) == {"a": "1", "b": "2"}
    with service.batch(table) as batch:
        batch.delete_entity(key, key)
    assert content(service, table) == {}


def fails(service, table, batch, code, index):
    """The batch is rejected with this code at this index, and changes nothing."""
    before = content(service, table)
    with pytest.raises(AzureBatchOperationError) as raised:
        service.commit_batch(table, batch)
    assert raised.value.code == code
    assert str(raised.value).startswith(f"{index}:")
    assert content(service, table) == before


def test_failures(service, table):
    """TX-09, TX-12, TX-15"""
    service.insert_entity(table, row("exists", a="1"))
    batch = TableBatch()
    batch.insert_or_replace_entity(row("1"))
    batch.insert_entity(row("exists"))
    fails(service, table, batch, "EntityAlreadyExists", 1)
    batch = TableBatch()
    batch.insert_entity(row("1"))
    batch.insert_entity(row("2"))
    batch.update_entity(row("exists"), if_match=FOREIGN_ETAG)
    fails(service, table, batch, "UpdateConditionNotSatisfied", 2)
    batch = TableBatch()
    batch.delete_entity("p", "missing")
    fails(service, table, batch, "ResourceNotFound", 0)


def test_rules_that_the_client_checks(service, table):
    batch = TableBatch()
    batch.insert_entity(row("1"))
    with pytest.raises(AzureBatchValidationError):
        batch.insert_entity({"PartitionKey": "q", "RowKey": "2"})
    with pytest.raises(AzureBatchValidationError):
        batch.delete_entity("p", "1")
