"""Entity group transactions: all or nothing, and failures that name the operation at fault."""

import json
import math
from datetime import datetime, timezone
from uuid import UUID

import pytest
from azure.core import MatchConditions
from azure.core.credentials import AzureNamedKeyCredential
from azure.core.exceptions import ClientAuthenticationError
from azure.data.tables import (
    EdmType,
    EntityProperty,
    RequestTooLargeError,
    TableClient,
    TableTransactionError,
    TransactionOperation,
    UpdateMode,
)

from conftest import ACCOUNT, ENDPOINT, OPTIONS, random_name
from test_errors import WRONG_KEY
from test_keys import KEYS
from test_tables import INVALID_NAMES

pytestmark = pytest.mark.batch
FOREIGN_ETAG = "W/\"datetime'2012-06-15T22%3A51%3A44.9662825Z'\""


def row(key, **properties):
    return {"PartitionKey": "p", "RowKey": key, **properties}


def content(table):
    return {entity["RowKey"]: entity.get("v") for entity in table.list_entities()}


def fails(table, operations, index, code, text=None):
    """The transaction is rejected at this index with this code, and changes nothing."""
    before = content(table)
    with pytest.raises(TableTransactionError) as raised:
        table.submit_transaction(operations)
    assert (raised.value.index, raised.value.error_code) == (index, code)
    if text:
        assert raised.value.message.split("\n")[0] == f"{index}:{text}"
    assert content(table) == before
    return raised.value


def test_every_kind_of_operation(table):
    """TX-14, TX-19: in one transaction, given by name and by enum."""
    for key in ("merge", "replace", "upsert merge", "upsert replace", "delete", "delete too"):
        table.create_entity(row(key, v=1, kept=True))
    results = table.submit_transaction(
        [
            ("create", row("created", v=2)),
            (TransactionOperation.CREATE, row("created too", v=2)),
            ("update", row("merge", v=2)),
            ("update", row("replace", v=2), {"mode": UpdateMode.REPLACE}),
            ("upsert", row("upsert merge", v=2)),
            ("upsert", row("upsert replace", v=2), {"mode": "replace"}),
            (TransactionOperation.UPSERT, row("upsert new", v=2), {"mode": UpdateMode.MERGE}),
            ("upsert", row("upsert new too", v=2), {"mode": UpdateMode.REPLACE}),
            ("delete", row("delete")),
            (TransactionOperation.DELETE, row("delete too")),
        ]
    )
    assert [bool(result.get("etag")) for result in results] == [True] * 8 + [False] * 2
    entities = {entity["RowKey"]: entity for entity in table.list_entities()}
    assert {key: (entity["v"], entity.get("kept")) for key, entity in entities.items()} == {
        "created": (2, None),
        "created too": (2, None),
        "merge": (2, True),
        "replace": (2, None),
        "upsert merge": (2, True),
        "upsert replace": (2, None),
        "upsert new": (2, None),
        "upsert new too": (2, None),
    }
    order = ["created", "created too", "merge", "replace", "upsert merge", "upsert replace", "upsert new", "upsert new too"]
    assert [result["etag"] for result in results[:8]] == [entities[key].metadata["etag"] for key in order]


def test_one_transaction_has_one_timestamp(table):
    """All entities of a transaction have the same ETag, and the next transaction has another one."""
    table.submit_transaction([("create", row(str(i))) for i in range(5)])
    first = {entity.metadata["etag"] for entity in table.list_entities()}
    assert len(first) == 1
    table.submit_transaction([("upsert", row(str(i))) for i in range(5)])
    second = {entity.metadata["etag"] for entity in table.list_entities()}
    assert len(second) == 1
    assert first != second


def test_a_single_operation(table):
    assert len(table.submit_transaction([("create", row("1", v=1))])) == 1
    assert content(table) == {"1": 1}


def test_a_hundred_operations(table):
    """TX-01, TX-24"""
    results = table.submit_transaction([("create", row(f"{i:019}", v=i)) for i in range(100)])
    assert len(results) == 100
    assert content(table) == {f"{i:019}": i for i in range(100)}


def test_operations_from_a_generator(table):
    table.submit_transaction(("upsert", row(str(i), v=i)) for i in range(3))
    assert content(table) == {"0": 0, "1": 1, "2": 2}


def test_no_operations(table):
    assert table.submit_transaction([]) == []


def test_all_types(table):
    """DM-20"""
    values = {
        "text": "Grüße, 世界 😀 \r\n--changeset_x\r\n",
        "int": -5,
        "big": EntityProperty(2**62, EdmType.INT64),
        "double": 2.5,
        "infinite": -math.inf,
        "flag": True,
        "id": UUID("c9da6455-213d-42c9-9a79-3e9149a57833"),
        "when": datetime(2020, 1, 2, 3, 4, 5, 678901, tzinfo=timezone.utc),
        "bytes": bytes(range(256)),
    }
    for kind in ("create", "upsert", "update"):
        table.submit_transaction([(kind, row("1", **values))])
        assert dict(table.get_entity("p", "1")) == row("1", **values)


@pytest.mark.parametrize("key", KEYS, ids=ascii)
def test_keys_reach_the_entity_that_they_name(table, key):
    """Keys in a transaction name the right entity, with quotes, commas and percent signs included."""
    table.create_entity({"PartitionKey": "other", "RowKey": "row"})
    mine = {"PartitionKey": key, "RowKey": key}
    table.submit_transaction([("create", {**mine, "v": 1}), ("create", {**mine, "RowKey": key + "2"})])
    table.submit_transaction([("update", {**mine, "v": 2}), ("delete", {**mine, "RowKey": key + "2"})])
    table.submit_transaction([("upsert", {**mine, "v": 3}, {"mode": "replace"})])
    assert table.get_entity(key, key)["v"] == 3
    table.submit_transaction([("delete", mine)])
    assert [entity["RowKey"] for entity in table.list_entities()] == ["row"]


def test_long_keys(table):
    """TX-21: longer than a path segment used to be."""
    entity = {"PartitionKey": "p" * 1024, "RowKey": "r" * 1024}
    table.submit_transaction([("create", entity)])
    table.submit_transaction([("delete", entity)])
    assert content(table) == {}


def test_preference_in_each_part(table):
    results = table.submit_transaction(
        [
            ("create", row("1"), {"response_preference": "return-no-content"}),
            ("create", row("2"), {"response_preference": "return-content"}),
        ]
    )
    assert [result["etag"] for result in results] == [entity.metadata["etag"] for entity in table.list_entities()]


@pytest.mark.parametrize("index", [0, 1, 4])
def test_insert_conflict(table, index):
    """TX-09, TX-15: nothing of the rest is applied."""
    table.create_entity(row("exists", v=0))
    operations = [("create", row(str(i), v=1)) for i in range(5)]
    operations[index] = ("create", row("exists", v=1))
    fails(table, operations, index, "EntityAlreadyExists", "The specified entity already exists.")


@pytest.mark.parametrize("kind", ["update", "delete"])
@pytest.mark.parametrize("index", [0, 2])
def test_missing_entity(table, kind, index):
    operations = [("upsert", row(str(i))) for i in range(3)]
    operations[index] = (kind, row("missing"))
    fails(table, operations, index, "ResourceNotFound", "The specified resource does not exist.")


@pytest.mark.parametrize("kind", ["update", "delete"])
@pytest.mark.parametrize("index", [0, 2])
def test_stale_etag(table, kind, index):
    """TX-12: one mismatch fails all."""
    table.create_entity(row("watched", v=0))
    condition = {"etag": FOREIGN_ETAG, "match_condition": MatchConditions.IfNotModified}
    operations = [("upsert", row(str(i))) for i in range(3)]
    operations[index] = (kind, row("watched", v=1), condition)
    error = fails(
        table,
        operations,
        index,
        "UpdateConditionNotSatisfied",
        "The update condition specified in the request was not satisfied.",
    )
    assert error.status_code == 412


@pytest.mark.parametrize("mode", list(UpdateMode))
def test_fresh_etag(table, mode):
    etag = table.create_entity(row("watched", v=0))["etag"]
    condition = {"etag": etag, "match_condition": MatchConditions.IfNotModified}
    results = table.submit_transaction([("update", row("watched", v=1), {"mode": mode, **condition})])
    assert content(table) == {"watched": 1}
    condition["etag"] = results[0]["etag"]
    table.submit_transaction([("delete", row("watched"), condition), ("create", row("other", v=2))])
    assert content(table) == {"other": 2}


def test_an_entity_twice(table):
    """TX-05"""
    fails(
        table,
        [("create", row("1")), ("create", row("2")), ("upsert", row("1"))],
        2,
        "InvalidDuplicateRow",
        "The batch request contains multiple changes with same row key. An entity can appear only once in a batch request.",
    )


def test_more_than_a_hundred_operations(table):
    """TX-01"""
    fails(
        table,
        [("create", row(f"{i:03}")) for i in range(101)],
        99,
        "InvalidInput",
        "The batch request operation exceeds the maximum 100 changes per change set.",
    )


def test_partitions_are_compared_by_the_sdk(table):
    with pytest.raises(ValueError, match="Partition Keys in the batch must all be the same"):
        table.submit_transaction([("create", row("1")), ("create", {"PartitionKey": "q", "RowKey": "2"})])


def test_missing_table(service):
    client = service.get_table_client(random_name())
    with pytest.raises(TableTransactionError) as raised:
        client.submit_transaction([("create", row("1")), ("create", row("2"))])
    assert (raised.value.index, raised.value.error_code) == (0, "TableNotFound")
    assert raised.value.message.startswith("0:The table specified does not exist.")


INVALID = {
    "value": ({"v": "x" * 32769}, "PropertyValueTooLarge"),
    "count": ({f"p{i}": i for i in range(253)}, "TooManyProperties"),
    "name": ({"n" * 256: 1}, "PropertyNameTooLong"),
    "size": ({f"p{i:02}": "x" * 32700 for i in range(17)}, "EntityTooLarge"),
}


@pytest.mark.parametrize("name", INVALID)
@pytest.mark.parametrize("index", [0, 1])
def test_invalid_entity(table, name, index):
    """Each limit of an entity has its own error code, with the index of the operation."""
    properties, code = INVALID[name]
    operations = [("upsert", row("1")), ("upsert", row("2"))]
    operations[index] = ("upsert", row("bad", **properties))
    fails(table, operations, index, code)


def test_more_than_four_megabytes(table):
    """TX-02"""
    chunks = {f"p{i:02}": "x" * 32000 for i in range(15)}
    with pytest.raises(RequestTooLargeError) as raised:
        table.submit_transaction([("create", row(str(i), **chunks)) for i in range(10)])
    assert raised.value.response.status_code == 413
    assert content(table) == {}


@pytest.mark.parametrize("name", INVALID_NAMES)
def test_invalid_table_names(service, name):
    with pytest.raises(ValueError, match="Storage table names must be alphanumeric"):
        service.get_table_client(name).submit_transaction([("create", row("1"))])


def test_wrong_key(table):
    """AU-07: the whole response is the rejection, not 202."""
    credential = AzureNamedKeyCredential(ACCOUNT, WRONG_KEY)
    with TableClient(ENDPOINT, table.table_name, credential=credential, **OPTIONS) as client:
        with pytest.raises(ClientAuthenticationError) as raised:
            client.submit_transaction([("create", row("1"))])
    assert raised.value.status_code == 403
    assert json.loads(raised.value.response.text())["odata.error"]["code"] == "AuthenticationFailed"
    assert content(table) == {}


def test_transactions_in_a_row(table):
    """The same operations object may be used again."""
    operations = [("upsert", row(str(i), v=i)) for i in range(3)]
    first = table.submit_transaction(operations)
    second = table.submit_transaction(operations)
    assert not {result["etag"] for result in first} & {result["etag"] for result in second}
