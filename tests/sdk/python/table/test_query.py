"""Filters over all types with and without parameters, the rules of comparison, projection and order."""

from datetime import datetime, timezone
from urllib.parse import unquote
from uuid import UUID

import pytest
from azure.core.exceptions import HttpResponseError
from azure.data.tables import EdmType, EntityProperty

from conftest import random_name, rejected, service_error

UTC = timezone.utc
ID = UUID("c9da6455-213d-42c9-9a79-3e9149a57833")
OTHER_ID = UUID("00000000-0000-0000-0000-000000000001")


def int64(value):
    return EntityProperty(value, EdmType.INT64)


# Row 4 has the same names with other types, row 5 has none of them.
ROWS = [
    ("a", "1", dict(i=10, l=int64(64), d=1.5, s="apple", b=True, g=ID, t=datetime(2020, 1, 1, tzinfo=UTC), x=b"\x01\x02")),
    ("a", "2", dict(i=20, l=int64(2**40), d=2.5, s="O'Hare", b=False, g=OTHER_ID, t=datetime(2021, 1, 1, tzinfo=UTC), x=b"\x01")),
    ("b", "3", dict(i=-5, l=int64(-1), d=-0.5, s="", b=True, g=OTHER_ID, t=datetime(1999, 12, 31, 23, 59, 59, 999999, UTC), x=b"")),
    ("b", "4", dict(i="10", l=10, d=int64(2), s=5, b="true", g=str(ID), t="2020-01-01T00:00:00Z", x="0102")),
    ("c", "5", dict(other=1)),
]


@pytest.fixture(scope="module")
def data(service):
    table = service.create_table(random_name())
    for partition, row, properties in ROWS:
        table.create_entity({"PartitionKey": partition, "RowKey": row, **properties})
    yield table
    table.delete_table()


def found(table, query_filter, **options):
    return "".join(entity["RowKey"] for entity in table.query_entities(query_filter, **options))


PARAMETERS = [
    ("i eq @v", 10, "1"),
    ("i ne @v", 10, "23"),
    ("i gt @v", 10, "2"),
    ("i ge @v", 10, "12"),
    ("i lt @v", 10, "3"),
    ("i le @v", -5, "3"),
    ("l eq @v", 2**40, "2"),
    ("l lt @v", 2**40, "13"),
    ("l ge @v", -(2**40), "123"),
    ("d eq @v", 2.5, "2"),
    ("d gt @v", 1.5, "2"),
    ("d le @v", 1.5, "13"),
    ("d lt @v", -0.25, "3"),
    ("s eq @v", "apple", "1"),
    ("s eq @v", "O'Hare", "2"),
    ("s eq @v", "", "3"),
    ("s ge @v", "a", "1"),
    ("s ne @v", "apple", "23"),
    ("b eq @v", True, "13"),
    ("b eq @v", False, "2"),
    ("b ne @v", True, "2"),
    ("g eq @v", ID, "1"),
    ("g ne @v", ID, "23"),
    ("t eq @v", datetime(2020, 1, 1, tzinfo=UTC), "1"),
    ("t gt @v", datetime(2020, 1, 1, tzinfo=UTC), "2"),
    ("t lt @v", datetime(2020, 1, 1, tzinfo=UTC), "3"),
    ("t eq @v", datetime(1999, 12, 31, 23, 59, 59, 999999, UTC), "3"),
    ("x eq @v", b"\x01\x02", "1"),
    ("x ne @v", b"\x01\x02", "23"),
    ("x eq @v", b"", "3"),
    ("PartitionKey eq @v", "a", "12"),
    ("RowKey ge @v", "4", "45"),
]


@pytest.mark.parametrize("query_filter, value, expected", PARAMETERS, ids=str)
def test_parameters_of_every_type(data, query_filter, value, expected):
    """QY-20, QY-08, QY-10: other types and missing properties never match, `ne` included."""
    assert found(data, query_filter, parameters={"v": value}) == expected


FILTERS = [
    ("PartitionKey eq 'a' and RowKey eq '1'", "1"),
    ("PartitionKey eq 'a' and (RowKey eq '1' or RowKey eq '2')", "12"),
    ("PartitionKey ge 'b'", "345"),
    ("PartitionKey gt 'a' and PartitionKey lt 'c'", "34"),
    ("i ge 0 and s eq 'apple' and b eq true", "1"),
    ("i eq 20 or i eq -5", "23"),
    ("i eq 10 or i eq 20 and b eq true", "1"),
    ("(i eq 10 or i eq 20) and b eq false", "2"),
    ("not (i eq 10)", "23"),
    ("not (b eq true) and i gt 0", "2"),
    ("not (i eq 10 or i eq 20)", "3"),
    ("((((PartitionKey eq 'a') and (RowKey ge '1')) and (b eq false)) and (l gt 60L))", "2"),
    ("20 eq i", "2"),
    ("5 lt i", "12"),
    ("s eq 'O''Hare'", "2"),
    ("missing eq 1", ""),
    ("missing ne 1", ""),
    # QY-09: the literal's type counts
    ("i eq 10.0", ""),
    ("i eq '10'", "4"),
    ("s eq 5", "4"),
    # An Int32 literal is widened to the stored Int64; an Int64 literal is never narrowed.
    ("l eq 64", "1"),
    ("l eq 10", "4"),
    ("l eq 10L", ""),
    ("l gt 0L", "12"),
    ("d eq 1.5", "1"),
    ("d gt 1.0e0", "12"),
    ("b eq true and not (s eq '')", "1"),
    ("t ge datetime'2020-01-01' and t lt datetime'2020-01-01T00:00:00.0000001Z'", "1"),
    ("t eq datetime'2020-01-01T01:00:00+01:00'", "1"),
    ("g eq guid'C9DA6455-213D-42C9-9A79-3E9149A57833'", "1"),
    ("x eq binary'0102'", "1"),
    ("x eq X'0102'", "1"),
    ("Timestamp gt datetime'2020-01-01T00:00:00Z'", "12345"),
    ("Timestamp lt datetime'2020-01-01T00:00:00Z'", ""),
    ("S eq 'apple'", ""),
    ("  i eq 10  ", "1"),
]


@pytest.mark.parametrize("query_filter, expected", FILTERS)
def test_filters(data, query_filter, expected):
    """QY-02, QY-03, QY-08, QY-09, QY-10, QY-12, QY-17, QY-18"""
    assert found(data, query_filter) == expected


def test_several_parameters(data):
    parameters = {"low": 0, "name": "O'Hare", "flag": False}
    assert found(data, "i gt @low and ( s eq @name and b eq @flag )", parameters=parameters) == "2"


def test_parameters_cannot_inject(data):
    assert found(data, "s eq @v", parameters={"v": "x' or RowKey ne 'x"}) == ""
    assert found(data, "RowKey eq @v", parameters={"v": "1' or '1' eq '1"}) == ""


def test_a_long_filter(data):
    """More than the documented fifteen comparisons."""
    assert found(data, " or ".join(f"RowKey eq '{i}'" for i in range(60))) == "12345"


def test_prefix_by_range(service, table):
    """QY-12"""
    for name in ("PDB", "PDC", "PDC 2008", "PDCzz", "PDD"):
        table.create_entity({"PartitionKey": "p", "RowKey": name})
    names = [entity["RowKey"] for entity in table.query_entities("RowKey ge 'PDC' and RowKey lt 'PDD'")]
    assert names == ["PDC", "PDC 2008", "PDCzz"]


def test_select_in_queries(data):
    """QY-06: text or list; the keys only if named; etag always."""
    for select in ("i,s", ["i", "s"]):
        entities = list(data.query_entities("PartitionKey eq 'a'", select=select))
        assert [dict(entity) for entity in entities] == [{"i": 10, "s": "apple"}, {"i": 20, "s": "O'Hare"}]
        assert all(entity.metadata["etag"] for entity in entities)
    rows = list(data.list_entities(select=["RowKey"]))
    assert [dict(entity) for entity in rows] == [{"RowKey": row} for _, row, _ in ROWS]


def test_select_of_absent_properties(data):
    """A selected property that an entity lacks is null, and the entity is still returned."""
    rows = list(data.query_entities("RowKey ge '4'", select="RowKey,other"))
    assert [dict(entity) for entity in rows] == [{"RowKey": "4", "other": None}, {"RowKey": "5", "other": 1}]


def test_select_echoes_in_the_metadata(data):
    """`odata.metadata` repeats `$select`. The SDK escapes the comma, so the transcripts check the exact text."""
    responses = []
    list(data.list_entities(select="i,s", raw_response_hook=responses.append))
    found = unquote(responses[0].context["deserialized_data"]["odata.metadata"])
    assert found.endswith(f"/$metadata#{data.table_name}&$select=i,s")


def test_list_entities_in_key_order(table):
    """DM-25, DM-26, QY-11: by UTF-16 unit, so a surrogate pair sorts before U+FF5E."""
    keys = ["", " ", "10000", "92", "A", "Z", "a", "aa", "b", "é", "世", "😀", "\uff5e"]
    for key in reversed(keys):
        table.create_entity({"PartitionKey": key, "RowKey": key})
        table.create_entity({"PartitionKey": key, "RowKey": key + "0"})
    expected = [(key, row) for key in keys for row in (key, key + "0")]
    assert [(entity["PartitionKey"], entity["RowKey"]) for entity in table.list_entities()] == expected


def test_strings_compare_by_utf16_unit(table):
    for key in ("😀", "\uff5e"):
        table.create_entity({"PartitionKey": "p", "RowKey": key, "s": key})
    assert found(table, "RowKey lt '\uff5e'") == "😀"
    assert found(table, "s gt '😀'") == "\uff5e"


def test_query_of_a_missing_table(service):
    """OP-17"""
    client = service.get_table_client(random_name())
    text = rejected(404, "TableNotFound", client.query_entities, "RowKey eq 'r'")
    assert text == "The table specified does not exist."


BAD_FILTERS = [
    ("aaa bbb ccc", "Syntax error at position 7 in 'aaa bbb ccc'."),
    ("i eq null", "One of the request inputs is not valid."),
    (
        "PartitionKey eq 5",
        "A binary operator with incompatible types was detected. Found operand types 'Edm.String' and 'Edm.Int32' for "
        "operator kind 'Equal'.",
    ),
]


@pytest.mark.parametrize("query_filter, text", BAD_FILTERS)
def test_filters_that_are_rejected(data, query_filter, text):
    assert rejected(400, "InvalidInput", data.query_entities, query_filter) == text


def test_an_integer_literal_that_does_not_fit(data):
    text = rejected(400, "InvalidInput", data.query_entities, "l eq 5454161346626")
    assert text.startswith("Unrecognized 'Edm.Int32' literal '5454161346626'")


@pytest.mark.parametrize("query_filter", ["i eq", "(i eq 1", "i eq 1)", "i eq 1 and", "eq 1", "s eq 'x", "i foo 1", "i eq 1 2"])
def test_malformed_filters(data, query_filter):
    rejected(400, "InvalidInput", data.query_entities, query_filter)


@pytest.mark.parametrize("query_filter", ["startswith(s,'a')", "substringof('a',s)", "length(s) eq 5", "i add 1 eq 11"])
def test_functions_are_not_supported(data, query_filter):
    """QY-21"""
    with pytest.raises(HttpResponseError) as raised:
        list(data.query_entities(query_filter))
    assert service_error(raised)[:2] in ((501, "NotImplemented"), (400, "InvalidInput"))
