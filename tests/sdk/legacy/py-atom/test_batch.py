"""Batches with Atom bodies, LF line ends and Content-ID headers, as these clients write them."""

import pytest
from client import BatchFailure, BatchInvalid
from test_entities import FOREIGN_ETAG, own, row

pytestmark = pytest.mark.batch


def content(service, table):
    return {entity.RowKey: own(entity) for entity in service.query_entities(table)}


def test_every_operation(service, table):
    """TX-14, TX-19"""
    for key in ("update", "merge", "replace or insert", "merge or insert", "delete"):
        service.insert_entity(table, row(key, a=1))
    service.begin_batch()
    service.insert_entity(table, row("insert", b=2))
    service.update_entity(table, "p", "update", row("update", b=2))
    service.merge_entity(table, "p", "merge", row("merge", b=2))
    service.insert_or_replace_entity(table, "p", "replace or insert", row("replace or insert", b=2))
    service.insert_or_merge_entity(table, "p", "merge or insert", row("merge or insert", b=2))
    service.insert_or_merge_entity(table, "p", "new", row("new", b=2))
    service.delete_entity(table, "p", "delete")
    service.commit_batch()
    assert content(service, table) == {
        "insert": {"b": 2},
        "update": {"b": 2},
        "merge": {"a": 1, "b": 2},
        "replace or insert": {"b": 2},
        "merge or insert": {"a": 1, "b": 2},
        "new": {"b": 2},
    }


def test_a_thousand_rows_and_more(service, table):
    """TX-01 with a hundred operations each; PG-02 when they are read."""
    for start in range(0, 1050, 100):
        service.begin_batch()
        for i in range(start, min(start + 100, 1050)):
            service.insert_entity(table, row(f"{i:04}", n=i))
        service.commit_batch()
    first = service.query_entities(table)
    assert len(first) <= 1000
    token = first.x_ms_continuation
    rest = service.query_entities(table, next_partition_key=token["NextPartitionKey"], next_row_key=token["NextRowKey"])
    assert [entity.n for entity in list(first) + list(rest)] == list(range(1050))


def fails(service, table, fill, code, index):
    """The batch is rejected with this code at this index, and changes nothing."""
    before = content(service, table)
    service.begin_batch()
    fill()
    with pytest.raises(BatchFailure) as raised:
        service.commit_batch()
    assert raised.value.code == code
    assert str(raised.value).startswith(f"{index}:")
    assert content(service, table) == before


def test_conflict(service, table):
    """TX-09, TX-15"""
    service.insert_entity(table, row("exists", a=1))

    def fill():
        service.insert_entity(table, row("1"))
        service.insert_or_replace_entity(table, "p", "2", row("2"))
        service.insert_entity(table, row("exists"))

    fails(service, table, fill, "EntityAlreadyExists", 2)


def test_stale_etag(service, table):
    """TX-12"""
    service.insert_entity(table, row("watched", a=1))

    def fill():
        service.insert_entity(table, row("1"))
        service.update_entity(table, "p", "watched", row("watched", a=2), if_match=FOREIGN_ETAG)

    fails(service, table, fill, "UpdateConditionNotSatisfied", 1)


def test_fresh_etag(service, table):
    etag = service.insert_entity(table, row("watched", a=1)).etag
    service.begin_batch()
    service.merge_entity(table, "p", "watched", row("watched", a=2), if_match=etag)
    service.insert_entity(table, row("other"))
    service.commit_batch()
    assert content(service, table) == {"watched": {"a": 2}, "other": {}}


def test_missing_entity(service, table):
    fails(service, table, lambda: service.delete_entity(table, "p", "missing"), "ResourceNotFound", 0)


def test_rules_that_the_client_checks(service, table):
    service.begin_batch()
    service.insert_entity(table, row("1"))
    with pytest.raises(BatchInvalid):
        service.insert_entity(table, {"PartitionKey": "q", "RowKey": "2"})
    with pytest.raises(BatchInvalid):
        service.insert_entity(table, row("1"))
    service.cancel_batch()
    assert content(service, table) == {}
