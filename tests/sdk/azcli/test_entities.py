"""`az storage entity` with the account's key."""

import pytest

from conftest import key, rejected

KEYS = ("--partition-key", "a", "--row-key", "1")


def show(table, *arguments):
    return key("entity", "show", "-t", table, *KEYS, *arguments)


def values(entity):
    return {name: value for name, value in entity.items() if name not in ("Timestamp", "etag")}


def test_insert_show_replace_merge_delete(table):
    told = key("entity", "insert", "-t", table, "-e", "PartitionKey=a", "RowKey=1", "Name=Ada", "Age=36")
    found = show(table)
    assert values(found) == {"PartitionKey": "a", "RowKey": "1", "Name": "Ada", "Age": 36}
    assert found["etag"] == told["etag"]
    key("entity", "merge", "-t", table, "-e", "PartitionKey=a", "RowKey=1", "Town=London")
    assert values(show(table)) == {"PartitionKey": "a", "RowKey": "1", "Name": "Ada", "Age": 36, "Town": "London"}
    key("entity", "replace", "-t", table, "-e", "PartitionKey=a", "RowKey=1", "Age=37")
    assert values(show(table)) == {"PartitionKey": "a", "RowKey": "1", "Age": 37}
    assert values(show(table, "--select", "Age")) == {"Age": 37}
    key("entity", "delete", "-t", table, *KEYS)
    assert rejected("ResourceNotFound", show, table).code == 3


def test_insert_when_it_exists(people):
    again = ("entity", "insert", "-t", people, "-e", "PartitionKey=a", "RowKey=1", "Age=99")
    rejected("already exists", key, *again)
    key(*again, "--if-exists", "merge")
    assert values(show(people)) == {"PartitionKey": "a", "RowKey": "1", "Name": "Ada", "Age": 99}
    key(*again, "--if-exists", "replace")
    assert values(show(people)) == {"PartitionKey": "a", "RowKey": "1", "Age": 99}


def test_conditions(people):
    old = show(people)["etag"]
    change = ("-t", people, "-e", "PartitionKey=a", "RowKey=1", "Age=1", "--if-match")
    key("entity", "merge", *change, old)
    for command in ("merge", "replace"):
        rejected("UpdateConditionNotSatisfied", key, "entity", command, *change, old)
    rejected("UpdateConditionNotSatisfied", key, "entity", "delete", "-t", people, *KEYS, "--if-match", old)
    key("entity", "replace", *change, show(people)["etag"])
    key("entity", "delete", "-t", people, *KEYS, "--if-match", show(people)["etag"])
    for command in ("merge", "replace"):
        rejected("ResourceNotFound", key, "entity", command, "-t", people, "-e", "PartitionKey=a", "RowKey=1", "Age=1")


@pytest.mark.parametrize("text, kind, found", [
    ("9007199254740993", "Edm.Int64", {"edm_type": "Edm.Int64", "value": 9007199254740993}),
    ("7", "Edm.Int32", 7),
    ("0.5", "Edm.Double", 0.5),
    ("true", "Edm.Boolean", True),
    ("007", "Edm.String", "007"),
    ("2020-02-29T12:00:00Z", "Edm.DateTime", "2020-02-29T12:00:00+00:00"),
    ("c9da6455-213d-42c9-9a79-3e9149a57833", "Edm.Guid", "c9da6455-213d-42c9-9a79-3e9149a57833"),
])
def test_types(table, text, kind, found):
    key("entity", "insert", "-t", table, "-e", "PartitionKey=a", "RowKey=1", f"P={text}", f"P@odata.type={kind}")
    assert show(table)["P"] == found


@pytest.mark.parametrize("partition, row", [("it's", "a b"), ("ü€😀", "%41"), ("a+b", "(1,2)"), ("=", "a=b")])
def test_keys(table, partition, row):
    """No empty keys: this version neither shows nor deletes them."""
    key("entity", "insert", "-t", table, "-e", f"PartitionKey={partition}", f"RowKey={row}", "Name=it's = ok")
    found = key("entity", "show", "-t", table, f"--partition-key={partition}", f"--row-key={row}")
    assert values(found) == {"PartitionKey": partition, "RowKey": row, "Name": "it's = ok"}
    key("entity", "delete", "-t", table, f"--partition-key={partition}", f"--row-key={row}")
    assert key("entity", "query", "-t", table)["items"] == []


def test_query(people):
    def names(*arguments):
        return [entity["Name"] for entity in key("entity", "query", "-t", people, *arguments)["items"]]

    assert names() == ["Ada", "Alan", "Barbara"]
    assert names("--filter", "PartitionKey eq 'a' and Age gt 40") == ["Alan"]
    assert names("--filter", "Name eq 'nobody'") == []
    found = key("entity", "query", "-t", people, "--select", "Name", "Age", "--filter", "RowKey eq '2'")["items"]
    assert [values(entity) for entity in found] == [{"Name": "Alan", "Age": 41}]
    assert rejected("InvalidInput", key, "entity", "query", "-t", people, "--filter", "Name is Ada").code == 1
    assert "Barbara" in key("entity", "query", "-t", people, output="table")


def test_query_in_pages(people):
    first = key("entity", "query", "-t", people, "--num-results", 2)
    assert [entity["Name"] for entity in first["items"]] == ["Ada", "Alan"]
    marker = [f"{name}={value}" for name, value in first["nextMarker"].items()]
    rest = key("entity", "query", "-t", people, "--num-results", 2, "--marker", *marker)
    assert ([entity["Name"] for entity in rest["items"]], rest["nextMarker"]) == (["Barbara"], {})


def test_no_such_table():
    rejected("TableNotFound", key, "entity", "query", "-t", "nosuchtable")
    rejected("TableNotFound", key, "entity", "insert", "-t", "nosuchtable", "-e", "PartitionKey=a", "RowKey=1")
