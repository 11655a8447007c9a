"""Entities: every operation, every type, conditions, queries."""

import math
from datetime import datetime, timezone

import pytest
from azure.common import AzureConflictHttpError, AzureHttpError, AzureMissingResourceHttpError
from azure.cosmosdb.table.models import EdmType, Entity, EntityProperty, TablePayloadFormat

GUID = "c9da6455-213d-42c9-9a79-3e9149a57833"
FOREIGN_ETAG = "W/\"datetime'2012-06-15T22%3A51%3A44.9662825Z'\""


def row(key="r", **properties):
    return {"PartitionKey": "p", "RowKey": key, **properties}


def own(entity):
    """The entity's own properties, plain."""
    return {
        name: value.value if isinstance(value, EntityProperty) else value
        for name, value in entity.items()
        if name not in ("PartitionKey", "RowKey", "Timestamp", "etag")
    }


def test_insert(service, table):
    """OP-09"""
    etag = service.insert_entity(table, row(a="x"))
    found = service.get_entity(table, "p", "r")
    assert (found.PartitionKey, found.RowKey, found.a, found.etag) == ("p", "r", "x", etag)
    assert found.Timestamp.tzinfo is not None
    with pytest.raises(AzureConflictHttpError) as raised:
        service.insert_entity(table, row())
    assert "EntityAlreadyExists" in str(raised.value)


def test_insert_an_entity_object(service, table):
    entity = Entity()
    entity.PartitionKey, entity.RowKey, entity.a = "p", "r", 1
    service.insert_entity(table, entity)
    assert service.get_entity(table, "p", "r").a == 1


SAME = {
    "string": "hello",
    "string empty": "",
    "string beyond ascii": 'Grüße, 世界, 😀, "\\/\r\n\t',
    "int64": 2**40,
    "int64 small": 5,
    "int64 largest": 2**63 - 1,
    "double": 3.25,
    "double whole": 5.0,
    "infinite": math.inf,
    "minus infinite": -math.inf,
    "boolean": True,
    "boolean false": False,
    "datetime": datetime(1973, 10, 4, 1, 2, 3, tzinfo=timezone.utc),
}


@pytest.mark.parametrize("name", SAME)
def test_value_comes_back_as_it_was(service, table, name):
    """DM-20"""
    service.insert_entity(table, row(v=SAME[name]))
    found = service.get_entity(table, "p", "r").v
    assert found == SAME[name]
    assert isinstance(found, type(SAME[name]))


def test_nan(service, table):
    service.insert_entity(table, row(v=math.nan))
    assert math.isnan(service.get_entity(table, "p", "r").v)


@pytest.mark.parametrize(
    "edm_type, value",
    [(EdmType.INT32, 7), (EdmType.GUID, GUID), (EdmType.BINARY, bytes(range(256))), (EdmType.BINARY, b"")],
)
def test_property_objects(service, table, edm_type, value):
    service.insert_entity(table, row(v=EntityProperty(edm_type, value)))
    found = service.get_entity(table, "p", "r").v
    assert (found.type, found.value) == (edm_type, value)


def test_none_is_not_stored(service, table):
    """The client sends null."""
    service.insert_entity(table, row(a=None, b="x"))
    service.merge_entity(table, row(b=None, c="y"))
    assert own(service.get_entity(table, "p", "r")) == {"b": "x", "c": "y"}


@pytest.mark.parametrize(
    "accept",
    [TablePayloadFormat.JSON_NO_METADATA, TablePayloadFormat.JSON_MINIMAL_METADATA, TablePayloadFormat.JSON_FULL_METADATA],
)
def test_payload_formats(service, table, accept):
    """With a resolver the types survive without metadata."""
    when = datetime(2020, 1, 2, tzinfo=timezone.utc)
    service.insert_entity(table, row(big=2**40, when=when, name="x"))

    def resolver(partition_key, row_key, name, value, edm_type):
        return {"big": EdmType.INT64, "when": EdmType.DATETIME}.get(name)

    etag = service.get_entity(table, "p", "r").etag
    options = {"accept": accept, "property_resolver": resolver}
    for found in (service.get_entity(table, "p", "r", **options), next(iter(service.query_entities(table, **options)))):
        assert own(found) == {"big": 2**40, "when": when, "name": "x"}
        assert found.etag.replace("%3A", ":") == etag.replace("%3A", ":")


def test_select(service, table):
    """QY-06"""
    service.insert_entity(table, row(a="1", b="2"))
    assert own(service.get_entity(table, "p", "r", select="a")) == {"a": "1"}
    assert [own(entity) for entity in service.query_entities(table, select="b")] == [{"b": "2"}]


def test_update_and_merge(service, table):
    """OP-10, OP-11, OP-12"""
    for call in (service.update_entity, service.merge_entity):
        with pytest.raises(AzureMissingResourceHttpError):
            call(table, row(a="1"))
    service.insert_entity(table, row(a="1", b="1"))
    etag = service.merge_entity(table, row(b="2"))
    found = service.get_entity(table, "p", "r")
    assert own(found) == {"a": "1", "b": "2"}
    assert found.etag == etag
    etag = service.update_entity(table, row(c="3"))
    found = service.get_entity(table, "p", "r")
    assert own(found) == {"c": "3"}
    assert found.etag == etag


def test_conditions(service, table):
    """CC-03, CC-04, CC-05"""
    etag = service.insert_entity(table, row(a="1"))
    for call in (service.update_entity, service.merge_entity):
        newer = call(table, row(a="2"), if_match=etag)
        with pytest.raises(AzureHttpError) as raised:
            call(table, row(a="3"), if_match=etag)
        assert raised.value.status_code == 412
        assert "UpdateConditionNotSatisfied" in str(raised.value)
        etag = newer
    with pytest.raises(AzureHttpError) as raised:
        service.delete_entity(table, "p", "r", if_match=FOREIGN_ETAG)
    assert raised.value.status_code == 412
    service.delete_entity(table, "p", "r", if_match=etag)
    with pytest.raises(AzureMissingResourceHttpError):
        service.delete_entity(table, "p", "r")


def test_upserts(service, table):
    """OP-13, OP-14"""
    service.insert_or_merge_entity(table, row(a="1"))
    etag = service.insert_or_merge_entity(table, row(b="2"))
    found = service.get_entity(table, "p", "r")
    assert own(found) == {"a": "1", "b": "2"}
    assert found.etag == etag
    service.insert_or_replace_entity(table, row(c="3"))
    assert own(service.get_entity(table, "p", "r")) == {"c": "3"}


@pytest.mark.parametrize("key", ["a b", "100%", "a%20b", "a+b", "O'Hare", "a','b", "é世😀", "a=b&c;d", "(x)", "@:!$*~", "."], ids=ascii)
def test_keys(service, table, key):
    """OP-08"""
    entity = {"PartitionKey": key, "RowKey": key, "a": "1"}
    service.insert_entity(table, entity)
    assert service.get_entity(table, key, key).a == "1"
    service.merge_entity(table, {**entity, "a": "2"})
    service.insert_or_replace_entity(table, {**entity, "a": "3"})
    assert [found.a for found in service.query_entities(table)] == ["3"]
    service.delete_entity(table, key, key)
    assert list(service.query_entities(table)) == []


def test_query_in_pages(service, table):
    """PG-01, PG-06, PG-07"""
    for i in range(10):
        service.insert_entity(table, row(f"{i}", n=i))
    found, marker = [], None
    while True:
        page = service.query_entities(table, filter="n ge 1", num_results=4, marker=marker)
        items = [entity.n for entity in page]
        assert len(items) <= 4
        found += items
        marker = page.next_marker
        if not marker:
            break
    assert found == list(range(1, 10))


def test_filters(service, table):
    """QY-20: this client stores numbers as Int64."""
    for i in range(5):
        service.insert_entity(table, row(f"{i}", n=i, half=i / 2, name=f"O'Hare {i}", even=i % 2 == 0, at=datetime(2000 + i, 1, 1)))

    def check(text, expected):
        assert "".join(entity.RowKey for entity in service.query_entities(table, filter=text)) == expected

    check("n gt 2L", "34")
    check("n eq 2", "2")
    check("half lt 1.0", "01")
    check("name eq 'O''Hare 3'", "3")
    check("even eq false", "13")
    check("at ge datetime'2003-01-01T00:00:00Z'", "34")
    check("RowKey ge '1' and not (RowKey gt '2')", "12")
    with pytest.raises(AzureHttpError) as raised:
        list(service.query_entities(table, filter="n eq"))
    assert raised.value.status_code == 400
