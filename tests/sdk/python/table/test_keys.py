"""Keys with every character that is legal and troublesome reach the entity that they name, and no other."""

import json

import pytest
from azure.core.exceptions import HttpResponseError, ResourceNotFoundError

from conftest import ENDPOINT, service_error

KEYS = [
    "",
    " ",
    " both ends ",
    "a b",
    "a+b",
    "a%b",
    "a%20b",
    "a%2520b",
    "%27",
    "%2F%5C",
    "100%",
    "'",
    "''",
    "O'Hare",
    "'quoted'",
    "a','b",
    "',RowKey='x",
    "a=b&c=d;e,f",
    "(a)[b]{c}<d>",
    '"double"',
    "@:!$*~^|`",
    ".",
    "..",
    "...",
    "-_",
    "$batch",
    "Tables('x')",
    "1.0",
    "null",
    "Grüße",
    "e\u0301",
    "\u00e9",
    "世界",
    "😀",
    "\u200b",
    "\ufeff",
    "\ufffd",
    "\U0010ffff",
]


@pytest.mark.parametrize("key", KEYS, ids=ascii)
def test_every_operation_on_the_key(table, key):
    """OP-08, DM-12"""
    other = {"PartitionKey": "other", "RowKey": "row", "n": 0}
    table.create_entity(other)
    entity = {"PartitionKey": key, "RowKey": key, "n": 1}
    table.create_entity(entity)
    assert dict(table.get_entity(key, key)) == entity
    table.update_entity({**entity, "n": 2})
    table.update_entity({**entity, "n": 3}, mode="replace")
    table.upsert_entity({**entity, "n": 4})
    table.upsert_entity({**entity, "n": 5}, mode="replace")
    query = table.query_entities("PartitionKey eq @key and RowKey eq @key", parameters={"key": key})
    assert [dict(found) for found in query] == [{**entity, "n": 5}]
    table.delete_entity(key, key)
    assert [dict(found) for found in table.list_entities()] == [other]


def test_keys_do_not_collide(table):
    """All of them live side by side, in each position."""
    for key in KEYS:
        table.create_entity({"PartitionKey": key, "RowKey": "fixed", "v": "p" + key})
        table.create_entity({"PartitionKey": "fixed", "RowKey": key, "v": "r" + key})
    for key in KEYS:
        assert table.get_entity(key, "fixed")["v"] == "p" + key
        assert table.get_entity("fixed", key)["v"] == "r" + key
    assert len(list(table.list_entities())) == 2 * len(KEYS)


@pytest.mark.parametrize(
    "key, encoded",
    [
        ("O'Hare", "O''Hare"),
        ("a b", "a%20b"),
        ("100%", "100%25"),
        ('"x"', "%22x%22"),
        ("@", "%40"),
        ("{}", "%7B%7D"),
        ("é", "%C3%A9"),
        ("a+b", "a%2Bb"),
    ],
)
def test_generated_addresses(table, key, encoded):
    """Generated addresses double quotes and leave them literal; all other special characters are percent-encoded."""
    responses = []
    table.create_entity({"PartitionKey": key, "RowKey": key}, raw_response_hook=responses.append)
    address = f"{table.table_name}(PartitionKey='{encoded}',RowKey='{encoded}')"
    assert responses[0].http_response.headers["Location"] == f"{ENDPOINT}/{address}"
    entity = table.get_entity(key, key, headers={"Accept": "application/json;odata=fullmetadata"})
    assert entity.metadata["editLink"] == address
    assert entity.metadata["id"] == f"{ENDPOINT}/{address}"


FORBIDDEN = ["a/b", "a\\b", "a#b", "a?b", "a\tb", "a\nb", "a\x00b", "a\x1fb", "a\x7fb", "a\x85b", "a\x9fb"]


@pytest.mark.parametrize("key", FORBIDDEN, ids=ascii)
@pytest.mark.parametrize("name", ["PartitionKey", "RowKey"])
def test_forbidden_characters(table, name, key):
    """HT-06"""
    entity = {"PartitionKey": "p", "RowKey": "r", name: key}
    with pytest.raises(HttpResponseError) as raised:
        table.create_entity(entity)
    assert service_error_of(raised) == (400, "OutOfRangeInput")
    with pytest.raises(HttpResponseError) as raised:
        table.upsert_entity(entity)
    assert raised.value.status_code == 400
    with pytest.raises(HttpResponseError) as raised:
        table.get_entity(entity["PartitionKey"], entity["RowKey"])
    assert raised.value.status_code in (400, 404)
    assert list(table.list_entities()) == []


def service_error_of(raised):
    """Like service_error, for texts that may repeat a line end from the key."""
    return raised.value.status_code, json.loads(raised.value.response.text())["odata.error"]["code"]


def test_forbidden_character_text(table):
    with pytest.raises(HttpResponseError) as raised:
        table.create_entity({"PartitionKey": "a/b", "RowKey": "r"})
    assert service_error(raised)[2] == "The 'PartitionKey' parameter of value 'a/b' is out of range."


def test_keys_have_case(table):
    table.create_entity({"PartitionKey": "Key", "RowKey": "Row"})
    with pytest.raises(ResourceNotFoundError):
        table.get_entity("key", "row")
