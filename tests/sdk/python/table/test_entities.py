"""Entities: insert, read, update, upsert, delete, conditions and limits."""

from datetime import datetime, timezone
from urllib.parse import quote

import pytest
from azure.core import MatchConditions
from azure.core.exceptions import ResourceExistsError, ResourceModifiedError, ResourceNotFoundError
from azure.data.tables import EdmType, EntityProperty, TableEntity, UpdateMode

from conftest import rejected, service_error

FOREIGN_ETAG = "W/\"datetime'2012-06-15T22%3A51%3A44.9662825Z'\""


def row(**properties):
    return {"PartitionKey": "p", "RowKey": "r", **properties}


def test_create_entity_returns_its_etag(table):
    """OP-09, CC-07"""
    response = table.create_entity(row(a=1))
    assert response["version"] == table.api_version
    assert response["date"] is not None
    assert response["etag"] == table.get_entity("p", "r").metadata["etag"]


def test_create_entity_with_content(table):
    response = table.create_entity(row(a=1, s="x"), response_preference="return-content")
    assert response["preference_applied"] == "return-content"
    assert (response["content"]["a"], response["content"]["s"]) == (1, "x")
    assert response["content"]["odata.etag"] == response["etag"]


def test_create_entity_without_content(table):
    response = table.create_entity(row(a=1), response_preference="return-no-content")
    assert response["preference_applied"] == "return-no-content"
    assert response["content"] is None
    assert response["etag"] == table.get_entity("p", "r").metadata["etag"]


def test_create_entity_twice(table):
    """DM-11"""
    table.create_entity(row(a=1))
    with pytest.raises(ResourceExistsError) as raised:
        table.create_entity(row(a=2))
    assert service_error(raised) == (409, "EntityAlreadyExists", "The specified entity already exists.")
    assert table.get_entity("p", "r")["a"] == 1


def test_create_entity_without_properties(table):
    table.create_entity(row())
    assert dict(table.get_entity("p", "r")) == row()


@pytest.mark.parametrize("missing", ["PartitionKey", "RowKey"])
def test_create_entity_without_a_key(table, missing):
    """The SDK turns PropertiesNeedValue into ValueError."""
    entity = row(a=1)
    del entity[missing]
    with pytest.raises(ValueError, match=f"{missing} must be present in an entity") as raised:
        table.create_entity(entity)
    assert service_error(raised) == (
        400,
        "PropertiesNeedValue",
        "The values are not specified for all properties in the entity.",
    )


@pytest.mark.parametrize("key", ["PartitionKey", "RowKey"])
def test_create_entity_with_a_key_of_another_type(table, key):
    assert rejected(400, "InvalidInput", table.create_entity, {**row(), key: 5}) == "One of the request inputs is not valid."


def test_properties_with_none_are_not_stored(table):
    table.create_entity(row(a=None, b=1))
    assert dict(table.get_entity("p", "r")) == row(b=1)


def test_property_names_have_case(table):
    """DM-16"""
    table.create_entity(row(rating=1, Rating=2, RATING=3))
    entity = table.get_entity("p", "r")
    assert (entity["rating"], entity["Rating"], entity["RATING"]) == (1, 2, 3)


def test_property_names_beyond_ascii(table):
    properties = {"größe": 1, "名前": "x", "_private": True, "a1_b2": 2.5}
    table.create_entity(row(**properties))
    assert dict(table.get_entity("p", "r")) == row(**properties)


def test_timestamp_belongs_to_the_service(table):
    """DM-13, DM-14"""
    sent = datetime(2001, 1, 1, tzinfo=timezone.utc)
    table.create_entity(row(Timestamp=sent))
    first = table.get_entity("p", "r").metadata["timestamp"]
    assert first > sent
    table.update_entity(row(a=1))
    second = table.get_entity("p", "r").metadata["timestamp"]
    assert second >= first


def test_lower_case_timestamp_is_an_ordinary_property(table):
    table.create_entity(row(timestamp="mine"))
    assert table.get_entity("p", "r")["timestamp"] == "mine"


def test_etag_is_a_function_of_the_timestamp(table):
    """WR-11, WR-12"""
    table.create_entity(row())
    metadata = table.get_entity("p", "r").metadata
    moment = metadata["timestamp"].tables_service_value
    assert metadata["etag"] == f"W/\"datetime'{quote(moment, safe='')}'\""


def test_every_write_renews_the_etag(table):
    """CC-01, WR-12: even when nothing changes."""
    seen = [table.create_entity(row(a=1))["etag"]]
    for _ in range(20):
        seen.append(table.update_entity(row(a=1))["etag"])
        seen.append(table.upsert_entity(row(a=1))["etag"])
    assert len(set(seen)) == len(seen)


def test_get_entity_that_is_missing(table):
    """OP-08"""
    with pytest.raises(ResourceNotFoundError) as raised:
        table.get_entity("p", "r")
    assert raised.value.error_code == "ResourceNotFound"
    assert service_error(raised) == (404, "ResourceNotFound", "The specified resource does not exist.")


def test_get_entity_with_select(table):
    """QY-06: only the named properties; the etag is always included."""
    table.create_entity(row(a=1, b="x", c=True))
    etag = table.get_entity("p", "r").metadata["etag"]
    for select in ("a,c", ["a", "c"]):
        entity = table.get_entity("p", "r", select=select)
        assert dict(entity) == {"a": 1, "c": True}
        assert entity.metadata["etag"] == etag
    assert dict(table.get_entity("p", "r", select="RowKey,b")) == {"RowKey": "r", "b": "x"}
    assert dict(table.get_entity("p", "r", select="*")) == row(a=1, b="x", c=True)


def test_get_entity_with_select_of_an_absent_property(table):
    """A property that `$select` names and the entity lacks is null."""
    table.create_entity(row(a=1))
    assert dict(table.get_entity("p", "r", select=["a", "missing"])) == {"a": 1, "missing": None}


def test_update_entity_merges_by_default(table):
    """OP-11"""
    table.create_entity(row(a=1, b=2))
    response = table.update_entity(row(b=3, c=4))
    entity = table.get_entity("p", "r")
    assert dict(entity) == row(a=1, b=3, c=4)
    assert response["etag"] == entity.metadata["etag"]


def test_update_entity_may_change_a_type(table):
    table.create_entity(row(a=1))
    table.update_entity(row(a="one"), mode=UpdateMode.MERGE)
    assert table.get_entity("p", "r")["a"] == "one"


def test_update_entity_replaces(table):
    """OP-10"""
    table.create_entity(row(a=1, b=2))
    response = table.update_entity(row(b=3), mode=UpdateMode.REPLACE)
    entity = table.get_entity("p", "r")
    assert dict(entity) == row(b=3)
    assert response["etag"] == entity.metadata["etag"]


@pytest.mark.parametrize("mode", list(UpdateMode))
def test_update_entity_that_is_missing(table, mode):
    """OP-12"""
    with pytest.raises(ResourceNotFoundError) as raised:
        table.update_entity(row(a=1), mode=mode)
    assert raised.value.error_code == "ResourceNotFound"
    with pytest.raises(ResourceNotFoundError):
        table.update_entity(row(a=1), mode=mode, etag=FOREIGN_ETAG, match_condition=MatchConditions.IfNotModified)


@pytest.mark.parametrize("mode", list(UpdateMode))
def test_update_entity_with_its_etag(table, mode):
    """CC-03"""
    etag = table.create_entity(row(a=1))["etag"]
    newer = table.update_entity(row(a=2), mode=mode, etag=etag, match_condition=MatchConditions.IfNotModified)["etag"]
    assert newer != etag
    assert table.get_entity("p", "r")["a"] == 2


@pytest.mark.parametrize("mode", list(UpdateMode))
def test_update_entity_with_a_stale_etag(table, mode):
    """CC-04, CC-06: of two writers that read the same version one wins."""
    table.create_entity(row(a=1))
    mine, theirs = table.get_entity("p", "r"), table.get_entity("p", "r")
    theirs["a"] = 2
    table.update_entity(theirs, mode=mode, match_condition=MatchConditions.IfNotModified)
    mine["a"] = 3
    with pytest.raises(ResourceModifiedError) as raised:
        table.update_entity(mine, mode=mode, match_condition=MatchConditions.IfNotModified)
    assert raised.value.error_code == "UpdateConditionNotSatisfied"
    assert service_error(raised) == (
        412,
        "UpdateConditionNotSatisfied",
        "The update condition specified in the request was not satisfied.",
    )
    mine = table.get_entity("p", "r")
    assert mine["a"] == 2
    mine["a"] = 3
    table.update_entity(mine, mode=mode, match_condition=MatchConditions.IfNotModified)
    assert table.get_entity("p", "r")["a"] == 3


@pytest.mark.parametrize("mode", list(UpdateMode))
def test_update_entity_unconditionally(table, mode):
    """CC-05"""
    table.create_entity(row(a=1))
    table.update_entity(row(a=2), mode=mode, match_condition=MatchConditions.Unconditionally)
    assert table.get_entity("p", "r")["a"] == 2


@pytest.mark.parametrize("mode", list(UpdateMode))
def test_upsert_entity_creates(table, mode):
    """OP-13, OP-14"""
    response = table.upsert_entity(row(a=1), mode=mode)
    entity = table.get_entity("p", "r")
    assert dict(entity) == row(a=1)
    assert response["etag"] == entity.metadata["etag"]


def test_upsert_entity_merges_by_default(table):
    table.create_entity(row(a=1, b=2))
    response = table.upsert_entity(row(b=3, c=4))
    entity = table.get_entity("p", "r")
    assert dict(entity) == row(a=1, b=3, c=4)
    assert response["etag"] == entity.metadata["etag"]


def test_upsert_entity_replaces(table):
    table.create_entity(row(a=1, b=2))
    table.upsert_entity(row(c=4), mode=UpdateMode.REPLACE)
    assert dict(table.get_entity("p", "r")) == row(c=4)


def test_delete_entity_in_every_form(table):
    """OP-15"""
    for delete in (
        lambda: table.delete_entity("p", "r"),
        lambda: table.delete_entity(row()),
        lambda: table.delete_entity(entity=row()),
        lambda: table.delete_entity(partition_key="p", row_key="r"),
        lambda: table.delete_entity(table.get_entity("p", "r"), match_condition=MatchConditions.IfNotModified),
        lambda: table.delete_entity("p", "r", match_condition=MatchConditions.Unconditionally),
    ):
        table.create_entity(row(a=1))
        delete()
        assert list(table.list_entities()) == []


def test_delete_entity_that_is_missing(table):
    """The service responds with 404, which the SDK ignores."""
    responses = []
    table.delete_entity("p", "r", raw_response_hook=responses.append)
    assert responses[0].http_response.status_code == 404
    table.delete_entity("p", "r", etag=FOREIGN_ETAG, match_condition=MatchConditions.IfNotModified)


def test_delete_entity_with_a_stale_etag(table):
    """CC-04"""
    stale = table.create_entity(row(a=1))["etag"]
    etag = table.update_entity(row(a=2))["etag"]
    with pytest.raises(ResourceModifiedError) as raised:
        table.delete_entity("p", "r", etag=stale, match_condition=MatchConditions.IfNotModified)
    assert raised.value.error_code == "UpdateConditionNotSatisfied"
    assert table.get_entity("p", "r")["a"] == 2
    table.delete_entity("p", "r", etag=etag, match_condition=MatchConditions.IfNotModified)
    assert list(table.list_entities()) == []


def test_conditions_compare_the_whole_etag(table):
    """A well-formed etag of another kind is a mismatch, not an error."""
    table.create_entity(row(a=1))
    with pytest.raises(ResourceModifiedError):
        table.update_entity(row(a=2), etag='W/"x"', match_condition=MatchConditions.IfNotModified)


def test_entities_of_a_table_share_no_schema(table):
    """DM-23, DM-24"""
    table.create_entity({"PartitionKey": "p", "RowKey": "1", "Rating": 3})
    table.create_entity({"PartitionKey": "p", "RowKey": "2", "Rating": 3.5, "Title": "x"})
    table.create_entity({"PartitionKey": "p", "RowKey": "3", "Rating": "three"})
    assert [entity["Rating"] for entity in table.list_entities()] == [3, 3.5, "three"]


def test_read_back_and_write_again(table):
    """An entity that was read may be written as it is, with everything that the service added."""
    table.create_entity(row(a=1, big=EntityProperty(2**40, EdmType.INT64), when=datetime.now(timezone.utc)))
    before = table.get_entity("p", "r", headers={"Accept": "application/json;odata=fullmetadata"})
    table.update_entity(before, mode=UpdateMode.REPLACE)
    assert dict(table.get_entity("p", "r")) == dict(before)


def test_most_properties(table):
    """DM-18"""
    table.create_entity(row(**{f"p{i}": i for i in range(252)}))
    assert len(table.get_entity("p", "r")) == 254
    text = rejected(
        400, "TooManyProperties", table.upsert_entity, row(**{f"p{i}": i for i in range(253)}), mode=UpdateMode.REPLACE
    )
    assert text == (
        "The entity contains more properties than allowed. Each entity can include up to 252 properties to store data. "
        "Each entity also has 3 system properties."
    )


def test_merge_counts_the_properties_of_both(table):
    table.create_entity(row(**{f"p{i}": i for i in range(252)}))
    rejected(400, "TooManyProperties", table.update_entity, row(one_more=1))
    table.update_entity(row(p0="changed"))


TOO_LARGE = (
    "The property value exceeds the maximum allowed size (64KB). If the property value is a string, it is UTF-16 encoded "
    "and the maximum number of characters should be 32K or less."
)


@pytest.mark.parametrize(
    "largest, larger",
    [("x" * 32768, "x" * 32769), ("é" * 32768, "é" * 32769), ("😀" * 16384, "😀" * 16385), (b"x" * 65536, b"x" * 65537)],
    ids=["ascii", "latin", "pairs", "binary"],
)
def test_largest_values(table, largest, larger):
    """DM-20, DM-22: strings count in UTF-16 units, whatever their bytes on the wire."""
    table.create_entity(row(v=largest))
    assert table.get_entity("p", "r")["v"] == largest
    assert rejected(400, "PropertyValueTooLarge", table.upsert_entity, row(v=larger)) == TOO_LARGE


def test_largest_entity(table):
    """DM-19"""
    chunks = {f"p{i:02}": "x" * 32700 for i in range(15)}
    table.create_entity(row(**chunks))
    assert dict(table.get_entity("p", "r")) == row(**chunks)
    chunks = {f"p{i:02}": "x" * 32700 for i in range(17)}
    text = rejected(400, "EntityTooLarge", table.upsert_entity, row(**chunks))
    assert text == "The entity is larger than the maximum allowed size (1MB)."


def test_longest_property_name(table):
    table.create_entity(row(**{"n" * 255: 1}))
    text = rejected(400, "PropertyNameTooLong", table.upsert_entity, row(**{"n" * 256: 1}))
    assert text == "The property name exceeds the maximum allowed length (255)."


@pytest.mark.parametrize("name", ["a-b", "1a", "a b"])
def test_invalid_property_names(table, name):
    """DM-15"""
    assert rejected(400, "PropertyNameInvalid", table.create_entity, row(**{name: 1})) == "The property name is invalid."


@pytest.mark.parametrize("key", ["PartitionKey", "RowKey"])
def test_longest_keys(table, key):
    """DM-12: 1,024 UTF-16 units each."""
    entity = {**row(), key: "k" * 1024}
    table.create_entity(entity)
    assert table.get_entity(entity["PartitionKey"], entity["RowKey"])[key] == "k" * 1024
    rejected(400, "KeyValueTooLarge", table.create_entity, {**row(), key: "k" * 1025})


def test_entity_metadata_of_a_new_entity():
    assert TableEntity().metadata == {"etag": None, "timestamp": None}
