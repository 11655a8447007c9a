"""Entities as Atom entries: every operation, every type, conditions, queries."""

from datetime import datetime, timezone

import pytest
from client import FIRST, Conflict, Entity, EntityProperty, Failure, Missing, not_in_the_first

from common import random_name

GUID = "c9da6455-213d-42c9-9a79-3e9149a57833"
FOREIGN_ETAG = "W/\"datetime'2012-06-15T22%3A51%3A44.9662825Z'\""


def row(key="r", **properties):
    return {"PartitionKey": "p", "RowKey": key, **properties}


def own(entity):
    """The entity's own properties."""
    return {name: value for name, value in vars(entity).items() if name not in ("PartitionKey", "RowKey", "Timestamp", "etag")}


def test_insert_returns_the_entity(service, table):
    """OP-09"""
    found = service.insert_entity(table, row(name="x", age=39))
    assert (found.PartitionKey, found.RowKey, found.name, found.age) == ("p", "r", "x", 39)
    assert found.etag == service.get_entity(table, "p", "r").etag
    assert found.etag.startswith("W/\"datetime'")
    assert FIRST or isinstance(found.Timestamp, datetime)


def test_insert_an_entity_object(service, table):
    entity = Entity()
    entity.PartitionKey, entity.RowKey, entity.age = "p", "r", 39
    service.insert_entity(table, entity)
    assert service.get_entity(table, "p", "r").age == 39


def test_insert_twice(service, table):
    """DM-11"""
    service.insert_entity(table, row())
    with pytest.raises(Conflict):
        service.insert_entity(table, row())


def test_insert_without_a_key(service, table):
    with pytest.raises(Failure) as raised:
        service.insert_entity(table, {"PartitionKey": "p", "n": 1})
    assert "PropertiesNeedValue" in str(raised.value)


def test_missing_table(service):
    """OP-17"""
    with pytest.raises(Missing):
        service.insert_entity(random_name(), row())
    with pytest.raises(Missing):
        service.query_entities(random_name())


SAME = {
    "string": "hello",
    "string empty": "",
    "string with markup": "<a href=\"x\">'&amp;'</a> ]]>",
    "string of blanks": "  two  blanks  ",
    "string with lines": "a\nb\tc\n",
    "string beyond ascii": "Grüße, 世界, 😀",
    "int32": 39,
    "int32 smallest": -(2**31),
    "int64": 2**40,
    "int64 largest": 2**63 - 1,
    "double": 3.25,
    "double whole": 5.0,
    "double huge": 1.5e300,
    "boolean true": True,
    "boolean false": False,
    "datetime": datetime(1973, 10, 4, 1, 2, 3, tzinfo=None if FIRST else timezone.utc),
}


@pytest.mark.parametrize("name", SAME)
def test_value_comes_back_as_it_was(service, table, name):
    """DM-20, WR-05"""
    value = SAME[name]
    inserted = service.insert_entity(table, row(v=value))
    assert inserted.v == value
    found = service.get_entity(table, "p", "r").v
    assert found == value
    assert isinstance(found, type(value))


@pytest.mark.parametrize(
    "edm_type, value", [("Edm.Guid", GUID), ("Edm.Binary", bytes(range(256))), ("Edm.Binary", b"")], ids=["guid", "binary", "empty"]
)
def test_property_objects(service, table, edm_type, value):
    service.insert_entity(table, row(v=EntityProperty(edm_type, value)))
    found = service.get_entity(table, "p", "r").v
    assert (found.type, found.value) == (edm_type, value)


def test_small_int64(service, table):
    """The type decides, not the size."""
    service.insert_entity(table, row(v=EntityProperty("Edm.Int64", 20)))
    assert service.get_entity(table, "p", "r").v == 20
    assert len(service.query_entities(table, "v eq 20L")) == 1


def test_none_is_not_stored(service, table):
    """WR-06"""
    service.insert_entity(table, row(a=None, b=1))
    assert own(service.get_entity(table, "p", "r")) == {"b": 1}


def test_get_missing(service, table):
    with pytest.raises(Missing):
        service.get_entity(table, "p", "r")


def test_get_with_select(service, table):
    """QY-06; without names the client sends an empty $select, which selects all."""
    service.insert_entity(table, row(a=1, b=2, c=3))
    assert own(service.get_entity(table, "p", "r", "a,c")) == {"a": 1, "c": 3}
    assert own(service.get_entity(table, "p", "r", "")) == {"a": 1, "b": 2, "c": 3}
    assert own(service.get_entity(table, "p", "r", "a,missing")) == {"a": 1}


def test_update_replaces(service, table):
    """OP-10, CC-07"""
    service.insert_entity(table, row(a=1, b=2))
    response = service.update_entity(table, "p", "r", row(c=3))
    found = service.get_entity(table, "p", "r")
    assert own(found) == {"c": 3}
    assert response["etag"] == found.etag


def test_merge_keeps(service, table):
    """OP-11"""
    service.insert_entity(table, row(a=1, b=2))
    response = service.merge_entity(table, "p", "r", row(b=3, c=None))
    found = service.get_entity(table, "p", "r")
    assert own(found) == {"a": 1, "b": 3}
    assert response["etag"] == found.etag


@pytest.mark.parametrize("call", ["update_entity", "merge_entity"])
def test_conditions(service, table, call):
    """CC-03, CC-04, CC-05, OP-12"""
    write = getattr(service, call)
    with pytest.raises(Missing):
        write(table, "p", "r", row(a=1))
    etag = service.insert_entity(table, row(a=1)).etag
    newer = write(table, "p", "r", row(a=2), if_match=etag)["etag"]
    with pytest.raises(Failure) as raised:
        write(table, "p", "r", row(a=3), if_match=etag)
    assert "UpdateConditionNotSatisfied" in str(raised.value)
    write(table, "p", "r", row(a=4), if_match=newer)
    write(table, "p", "r", row(a=5), if_match="*")
    assert service.get_entity(table, "p", "r").a == 5


def test_upserts(service, table):
    """OP-13, OP-14"""
    service.insert_or_merge_entity(table, "p", "r", row(a=1))
    service.insert_or_merge_entity(table, "p", "r", row(b=2))
    assert own(service.get_entity(table, "p", "r")) == {"a": 1, "b": 2}
    response = service.insert_or_replace_entity(table, "p", "r", row(c=3))
    found = service.get_entity(table, "p", "r")
    assert own(found) == {"c": 3}
    assert response["etag"] == found.etag
    service.insert_or_replace_entity(table, "p", "new", row("new", d=4))
    assert own(service.get_entity(table, "p", "new")) == {"d": 4}


def test_delete(service, table):
    """OP-15"""
    etag = service.insert_entity(table, row()).etag
    with pytest.raises(Failure) as raised:
        service.delete_entity(table, "p", "r", if_match=FOREIGN_ETAG)
    assert "UpdateConditionNotSatisfied" in str(raised.value)
    service.delete_entity(table, "p", "r", if_match=etag)
    with pytest.raises(Missing):
        service.delete_entity(table, "p", "r")
    service.insert_entity(table, row())
    service.delete_entity(table, "p", "r")
    assert len(service.query_entities(table)) == 0


@pytest.mark.parametrize("key", ["a b", "100%", "a%20b", "a+b", "é世😀", "a=b&c;d,e", "(x)", "@:!$*~", "", "."], ids=ascii)
def test_keys(service, table, key):
    """OP-08"""
    service.insert_entity(table, {"PartitionKey": key, "RowKey": key, "n": 1})
    assert service.get_entity(table, key, key).n == 1
    service.merge_entity(table, key, key, {"PartitionKey": key, "RowKey": key, "n": 2})
    assert [entity.n for entity in service.query_entities(table)] == [2]
    service.delete_entity(table, key, key)


def test_keys_with_quotes(service, table):
    """With this client, the user must double quotes."""
    service.insert_entity(table, {"PartitionKey": "O'Hare", "RowKey": "a','b", "n": 1})
    assert service.get_entity(table, "O''Hare", "a'',''b").n == 1
    service.delete_entity(table, "O''Hare", "a'',''b")
    assert len(service.query_entities(table)) == 0


@pytest.fixture
def data(service, table):
    """Ten rows in two partitions."""
    for i in range(10):
        service.insert_entity(
            table,
            {
                "PartitionKey": f"p{i // 5}",
                "RowKey": f"r{i}",
                "n": i,
                "big": 2**40 + i,
                "half": i / 2,
                "name": f"O'Hare {i}",
                "even": i % 2 == 0,
                "when": datetime(2000 + i, 1, 1),
                "id": EntityProperty("Edm.Guid", f"00000000-0000-0000-0000-00000000000{i}"),
                "bytes": EntityProperty("Edm.Binary", bytes([i])),
            },
        )
    return table


FILTERS = [
    ("PartitionKey eq 'p0' and RowKey eq 'r3'", "3"),
    ("PartitionKey eq 'p1'", "56789"),
    ("n gt 7", "89"),
    ("n ge 2 and n lt 4", "23"),
    ("not (n lt 8)", "89"),
    ("n eq 1 or n eq 8", "18"),
    ("big eq 1099511627777L", "1"),
    ("half eq 1.5", "3"),
    ("name eq 'O''Hare 4'", "4"),
    ("even eq true and n le 4", "024"),
    ("when eq datetime'2005-01-01T00:00:00Z'", "5"),
    ("when lt datetime'2002-01-01T00:00:00Z'", "01"),
    ("id eq guid'00000000-0000-0000-0000-000000000006'", "6"),
    ("bytes eq X'07'", "7"),
    ("missing eq 1", ""),
]


@pytest.mark.parametrize("text, expected", FILTERS)
def test_filters(service, data, text, expected):
    """QY-02, QY-20"""
    assert "".join(entity.RowKey[1:] for entity in service.query_entities(data, text)) == expected


def test_query_carries_etags(service, data):
    for entity in service.query_entities(data, "n lt 2"):
        assert entity.etag == service.get_entity(data, entity.PartitionKey, entity.RowKey).etag


def test_query_with_select(service, data):
    found = service.query_entities(data, "n eq 3", "n,name")
    assert [own(entity) for entity in found] == [{"n": 3, "name": "O'Hare 3"}]


def test_query_in_pages(service, data):
    """PG-01, PG-06, PG-07"""
    found, token = [], {"NextPartitionKey": None, "NextRowKey": None}
    while True:
        page = service.query_entities(
            data, top=3, next_partition_key=token["NextPartitionKey"], next_row_key=token["NextRowKey"]
        )
        assert len(page) <= 3
        found += [entity.n for entity in page]
        if not hasattr(page, "x_ms_continuation"):
            break
        token = page.x_ms_continuation
    assert found == list(range(10))


def test_query_errors(service, data):
    with pytest.raises(Failure) as raised:
        service.query_entities(data, "n eq")
    assert "InvalidInput" in str(raised.value)


@not_in_the_first  # its copy of the client omits the host
def test_with_filter(service, table):
    """The client's own hook sees each request and response."""
    seen = []

    def watch(request, forward):
        response = forward(request)
        seen.append((request.method, dict(request.headers)["x-ms-version"], response.status))
        return response

    watched = service.with_filter(watch)
    watched.insert_entity(table, row())
    watched.get_entity(table, "p", "r")
    assert seen == [("POST", "2014-02-14", 201), ("GET", "2014-02-14", 200)]
