"""All eight EDM types there and back, and what each metadata level says about them."""

import math
from datetime import datetime, timedelta, timezone
from enum import Enum
from uuid import UUID

import pytest
from azure.data.tables import EdmType, EntityProperty

from conftest import ACCOUNT, ENDPOINT, rejected

UTC = timezone.utc
ID = UUID("c9da6455-213d-42c9-9a79-3e9149a57833")
NO, MINIMAL, FULL = ("application/json;odata=" + level for level in ("nometadata", "minimalmetadata", "fullmetadata"))


class Colour(Enum):
    RED = "red"


def stored(table, value):
    """The value that is read back."""
    table.create_entity({"PartitionKey": "p", "RowKey": "r", "v": value})
    return table.get_entity("p", "r")["v"]


SAME = {
    "string": "hello",
    "string empty": "",
    "string of blanks": "  two  blanks  ",
    "string with lines": "a\r\nb\tc\n",
    "string beyond ascii": "Grüße, 世界, 😀, \u2028, \ufeff",
    "string that looks like json": '{"a": [1, "x\\"]}\\u0041/',
    "string that looks like a date": "2020-01-02T03:04:05Z",
    "string with control characters": "\x01\x1f\x7f",
    "int32 zero": 0,
    "int32 largest": 2**31 - 1,
    "int32 smallest": -(2**31),
    "int64": EntityProperty(2**40, EdmType.INT64),
    "int64 small": EntityProperty(1, EdmType.INT64),
    "int64 largest": EntityProperty(2**63 - 1, EdmType.INT64),
    "int64 smallest": EntityProperty(-(2**63), EdmType.INT64),
    "double": 3.25,
    "double whole": 5.0,
    "double tiny": 5e-324,
    "double huge": 1.7976931348623157e308,
    "double negative": -1.5e-10,
    "double exact": 0.1 + 0.2,
    "double infinite": math.inf,
    "double minus infinite": -math.inf,
    "boolean true": True,
    "boolean false": False,
    "guid": ID,
    "binary": bytes(range(256)),
    "binary empty": b"",
    "datetime": datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC),
    "datetime with microseconds": datetime(2020, 1, 2, 3, 4, 5, 678901, tzinfo=UTC),
    "datetime smallest": datetime(1601, 1, 1, tzinfo=UTC),
    "datetime largest second": datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC),
}


@pytest.mark.parametrize("name", SAME)
def test_value_comes_back_as_it_was(table, name):
    """DM-20, DM-21"""
    found = stored(table, SAME[name])
    assert found == SAME[name]
    assert isinstance(found, type(SAME[name]))


def test_nan(table):
    assert math.isnan(stored(table, math.nan))


EXPLICIT = {
    "string": ("text", EdmType.STRING, "text"),
    "int32": (7, EdmType.INT32, 7),
    "boolean": (True, EdmType.BOOLEAN, True),
    "double of an int": (7, EdmType.DOUBLE, 7.0),
    "double of text": ("NaN", EdmType.DOUBLE, "nan"),
    "binary of text": ("bytes", EdmType.BINARY, b"bytes"),
    "guid of text": ("C9DA6455-213D-42C9-9A79-3E9149A57833", EdmType.GUID, ID),
    "int64 of text": ("123", EdmType.INT64, EntityProperty(123, EdmType.INT64)),
    "datetime of text": ("2020-01-02T03:04:05Z", EdmType.DATETIME, datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC)),
}


@pytest.mark.parametrize("name", EXPLICIT)
def test_types_given_explicitly(table, name):
    """EntityProperty always sends the annotation, also where the service does not need it."""
    value, edm_type, expected = EXPLICIT[name]
    found = stored(table, EntityProperty(value, edm_type))
    if expected == "nan":
        assert math.isnan(found)
    else:
        assert found == expected
        assert isinstance(found, type(expected))


def test_enum_is_stored_as_text(table):
    assert stored(table, Colour.RED) == "Colour.RED"


DATES = {
    "2020-01-02T03:04:05.1234567Z": "2020-01-02T03:04:05.1234567Z",
    "2020-01-02T03:04:05.1200000Z": "2020-01-02T03:04:05.12Z",
    "2020-01-02T03:04:05.0000000Z": "2020-01-02T03:04:05Z",
    "2020-01-02T03:04:05.0000001Z": "2020-01-02T03:04:05.0000001Z",
    "2020-01-02T03:04:05": "2020-01-02T03:04:05Z",
    "2020-01-02T03:04:05+02:00": "2020-01-02T01:04:05Z",
    "2020-01-02T23:04:05.5-08:00": "2020-01-03T07:04:05.5Z",
    "2020-01-02": "2020-01-02T00:00:00Z",
    "9999-12-31T23:59:59.9999999Z": "9999-12-31T23:59:59.9999999Z",
    "1601-01-01T00:00:00.0000001Z": "1601-01-01T00:00:00.0000001Z",
}


@pytest.mark.parametrize("sent", DATES)
def test_datetime_forms(table, sent):
    """Dates are read in every form, and written in UTC with up to seven digits of the fraction and no trailing zeros."""
    assert stored(table, EntityProperty(sent, EdmType.DATETIME)).tables_service_value == DATES[sent]


def test_seven_digits_survive_a_read_and_a_write(table):
    exact = "2020-01-02T03:04:05.1234567Z"
    stored(table, EntityProperty(exact, EdmType.DATETIME))
    table.update_entity(table.get_entity("p", "r"), mode="replace")
    assert table.get_entity("p", "r")["v"].tables_service_value == exact


def test_datetime_of_another_zone(table):
    tokyo = timezone(timedelta(hours=9))
    found = stored(table, datetime(2020, 1, 2, 3, 4, 5, tzinfo=tokyo))
    assert found == datetime(2020, 1, 1, 18, 4, 5, tzinfo=UTC)
    assert found.tables_service_value == "2020-01-01T18:04:05Z"


def test_datetime_before_the_calendar_starts(table):
    """DM-21"""
    early = EntityProperty("1600-12-31T23:59:59Z", EdmType.DATETIME)
    rejected(400, "OutOfRangeInput", table.create_entity, {"PartitionKey": "p", "RowKey": "r", "v": early})


@pytest.mark.parametrize(
    "value",
    [
        EntityProperty("yesterday", EdmType.DATETIME),
        EntityProperty("not-a-guid", EdmType.GUID),
        EntityProperty("1.5.2", EdmType.DOUBLE),
    ],
    ids=["datetime", "guid", "double"],
)
def test_text_that_does_not_match_its_type(table, value):
    entity = {"PartitionKey": "p", "RowKey": "r", "v": value}
    text = rejected(400, "InvalidInput", table.create_entity, entity)
    assert text == "An error occurred while processing this request."


EVERYTHING = {
    "PartitionKey": "p",
    "RowKey": "r",
    "text": "x",
    "int": 1,
    "big": EntityProperty(2**40, EdmType.INT64),
    "double": 2.5,
    "nan": math.nan,
    "flag": True,
    "id": ID,
    "when": datetime(2020, 1, 2, tzinfo=UTC),
    "bytes": b"bytes",
}
ANNOTATED = {"big": "Edm.Int64", "nan": "Edm.Double", "id": "Edm.Guid", "when": "Edm.DateTime", "bytes": "Edm.Binary"}
VALUES = {
    "PartitionKey": "p",
    "RowKey": "r",
    "text": "x",
    "int": 1,
    "big": str(2**40),
    "double": 2.5,
    "nan": "NaN",
    "flag": True,
    "id": str(ID),
    "when": "2020-01-02T00:00:00Z",
    "bytes": "Ynl0ZXM=",
}


def wire(response):
    return response.http_response.headers["Content-Type"].replace(" ", ""), response.context["deserialized_data"]


def check_item(item, level, table, metadata=True):
    """Checks that an entity has the annotations of the metadata level."""
    name = table.table_name
    address = f"{name}(PartitionKey='p',RowKey='r')"
    assert {key: item[key] for key in VALUES} == VALUES
    rest = {key: value for key, value in item.items() if key not in VALUES and key != "Timestamp"}
    expected = {} if level == NO else {f"{key}@odata.type": value for key, value in ANNOTATED.items()}
    if level != NO:
        expected["odata.etag"] = table.get_entity("p", "r").metadata["etag"]
        if metadata:
            expected["odata.metadata"] = f"{ENDPOINT}/$metadata#{name}/@Element"
    if level == FULL:
        expected["odata.type"] = f"{ACCOUNT}.{name}"
        expected["odata.id"] = f"{ENDPOINT}/{address}"
        expected["odata.editLink"] = address
        expected["Timestamp@odata.type"] = "Edm.DateTime"
    assert rest == expected


@pytest.mark.parametrize("level", [NO, MINIMAL, FULL])
@pytest.mark.parametrize("how", ["accept", "format"])
def test_metadata_levels(table, level, how):
    """WR-16: by Accept and by $format, for one entity and for a list."""
    option = {"headers": {"Accept": level}} if how == "accept" else {"format": level}
    table.create_entity(EVERYTHING)
    responses = []
    table.get_entity("p", "r", raw_response_hook=responses.append, **option)
    list(table.list_entities(raw_response_hook=responses.append, **option))
    for response, is_list in zip(responses, (False, True)):
        content_type, body = wire(response)
        assert content_type == level + ";streaming=true;charset=utf-8"
        if not is_list:
            check_item(body, level, table)
            assert response.http_response.headers["ETag"] == table.get_entity("p", "r").metadata["etag"]
            continue
        top = {"value"} if level == NO else {"value", "odata.metadata"}
        assert set(body) == top
        assert body.get("odata.metadata", "") in ("", f"{ENDPOINT}/$metadata#{table.table_name}")
        check_item(body["value"][0], level, table, metadata=False)


def test_full_metadata_reaches_the_caller(table):
    table.create_entity(EVERYTHING)
    metadata = table.get_entity("p", "r", headers={"Accept": FULL}).metadata
    name = table.table_name
    assert metadata["type"] == f"{ACCOUNT}.{name}"
    assert metadata["editLink"] == f"{name}(PartitionKey='p',RowKey='r')"
    assert metadata["id"] == f"{ENDPOINT}/{name}(PartitionKey='p',RowKey='r')"


def test_no_metadata_loses_the_types_and_keeps_the_etag(table):
    """The SDK then computes the etag from the Timestamp: both must agree."""
    table.create_entity(EVERYTHING)
    entity = table.get_entity("p", "r", headers={"Accept": NO})
    assert (entity["big"], entity["when"], entity["nan"]) == (str(2**40), "2020-01-02T00:00:00Z", "NaN")
    computed = entity.metadata["etag"].replace("%3A", ":")
    assert computed == table.get_entity("p", "r").metadata["etag"].replace("%3A", ":")


@pytest.mark.parametrize("level", [NO, MINIMAL, FULL])
def test_metadata_levels_of_tables(service, table, level):
    """A listing of tables has the annotations of each metadata level."""
    name = table.table_name
    responses = []
    tables = service.query_tables(f"TableName eq '{name}'", raw_response_hook=responses.append, headers={"Accept": level})
    assert [item.name for item in tables] == [name]
    content_type, body = wire(responses[0])
    assert content_type == level + ";streaming=true;charset=utf-8"
    item = {"TableName": name}
    if level == FULL:
        item |= {
            "odata.type": f"{ACCOUNT}.Tables",
            "odata.id": f"{ENDPOINT}/Tables('{name}')",
            "odata.editLink": f"Tables('{name}')",
        }
    expected = {"value": [item]}
    if level != NO:
        expected["odata.metadata"] = f"{ENDPOINT}/$metadata#Tables"
    assert body == expected
