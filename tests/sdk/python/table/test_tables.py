"""Tables: create, list, query, delete, and every way to get a client."""

import pytest
from azure.core.credentials import AzureNamedKeyCredential
from azure.core.exceptions import HttpResponseError, ResourceExistsError, ResourceNotFoundError
from azure.data.tables import TableClient, TableItem, TableServiceClient

from conftest import (
    ACCOUNT,
    CONNECTION_STRING,
    CREDENTIAL,
    ENDPOINT,
    KEY,
    OPTIONS,
    PATH_STYLE,
    random_name,
    rejected,
    service_error,
)


def listed(tables):
    return [item.name for item in tables]


def test_create_table_from_the_service(service, names):
    """OP-03: the table exists afterwards, with the casing given."""
    name = names("Mixed")
    client = service.create_table(name)
    assert isinstance(client, TableClient)
    assert client.table_name == name
    assert name in listed(service.list_tables())


def test_create_table_from_the_table(service, names):
    client = service.get_table_client(names())
    item = client.create_table()
    assert isinstance(item, TableItem)
    assert item.name == client.table_name
    assert list(client.list_entities()) == []


def test_create_table_with_each_preference(service, names):
    """The SDK passes Prefer through; both responses count as success."""
    for preference in ("return-no-content", "return-content"):
        responses = []
        service.create_table(names(), response_preference=preference, raw_response_hook=responses.append)
        assert responses[0].http_response.status_code == {"return-no-content": 204, "return-content": 201}[preference]
        assert responses[0].http_response.headers["Preference-Applied"] == preference


def test_create_table_that_exists(service, table):
    """OP-04, DM-08: names are compared without case."""
    for name in (table.table_name, table.table_name.upper()):
        with pytest.raises(ResourceExistsError) as raised:
            service.create_table(name)
        assert raised.value.error_code == "TableAlreadyExists"
        assert service_error(raised) == (409, "TableAlreadyExists", "The table specified already exists.")


def test_create_table_if_not_exists(service, names):
    name = names()
    first = service.create_table_if_not_exists(name)
    first.create_entity({"PartitionKey": "p", "RowKey": "r"})
    again = service.create_table_if_not_exists(name)
    assert again.table_name == name
    assert len(list(again.list_entities())) == 1


def test_delete_table(service, names):
    """OP-05, OP-17: gone from the list and for every operation; deleting again is no error to the SDK."""
    name = names()
    client = service.create_table(name)
    client.create_entity({"PartitionKey": "p", "RowKey": "r"})
    service.delete_table(name)
    assert name not in listed(service.list_tables())
    rejected(404, "TableNotFound", client.list_entities)
    service.delete_table(name)
    client.delete_table()


def test_deleted_table_starts_empty_when_created_again(service, names):
    name = names()
    service.create_table(name).create_entity({"PartitionKey": "p", "RowKey": "r"})
    service.delete_table(name)
    assert list(service.create_table(name).list_entities()) == []


def test_table_names_have_no_case_in_addresses(service, table):
    """DM-08"""
    table.create_entity({"PartitionKey": "p", "RowKey": "r"})
    other = service.get_table_client(table.table_name.upper())
    assert other.get_entity("p", "r")["RowKey"] == "r"


def test_list_tables_is_sorted_and_complete(service, names):
    """OP-01"""
    mine = sorted(names(prefix) for prefix in ("pyc", "pya", "pyb"))
    for name in reversed(mine):
        service.create_table(name)
    found = [name for name in listed(service.list_tables()) if name in mine]
    assert found == mine


def test_list_tables_in_pages(service, names):
    """PG-13: a page holds at most what was asked for; the token resumes in another client."""
    mine = {service.create_table(names()).table_name for _ in range(5)}
    pages = service.list_tables(results_per_page=2).by_page()
    first = listed(next(pages))
    assert len(first) == 2
    token = pages.continuation_token
    assert token
    with TableServiceClient(ENDPOINT, credential=CREDENTIAL, **OPTIONS) as other:
        rest = [listed(page) for page in other.list_tables(results_per_page=2).by_page(continuation_token=token)]
    assert all(len(page) <= 2 for page in rest)
    everything = first + sum(rest, [])
    assert mine <= set(everything)
    assert len(everything) == len(set(everything))


def test_query_tables(service, names):
    """OP-01: filters on TableName, as text and with parameters, and by a prefix."""
    prefix = random_name("pyq")[:20]
    mine = sorted(names(prefix + letter) for letter in "abc")
    for name in mine:
        service.create_table(name)

    def check(expected, query_filter, parameters=None):
        assert listed(service.query_tables(query_filter, parameters=parameters)) == expected

    check([mine[1]], f"TableName eq '{mine[1]}'")
    check([mine[1]], "TableName eq @name", {"name": mine[1]})
    check(mine, f"TableName ge '{prefix}' and TableName lt '{prefix}{{'")
    check(mine[1:], "TableName gt @low and TableName lt @high", {"low": mine[0], "high": prefix + "{"})
    check([mine[0], mine[2]], f"TableName eq '{mine[0]}' or TableName eq '{mine[2]}'")
    check([], f"TableName eq '{random_name()}'")


def test_query_tables_in_pages(service, names):
    prefix = random_name("pyq")[:20]
    mine = sorted(names(prefix + letter) for letter in "abcd")
    for name in mine:
        service.create_table(name)
    query = f"TableName ge '{prefix}' and TableName lt '{prefix}{{'"
    pages = [listed(page) for page in service.query_tables(query, results_per_page=3).by_page()]
    assert sum(pages, []) == mine
    assert [len(page) for page in pages if page] == [3, 1]


def test_query_tables_with_a_bad_filter(service):
    rejected(400, "InvalidInput", service.query_tables, "aaa bbb ccc")


def test_clients_from_everything(service, table):
    """Connection string, table URL, credential, each API version: all reach the same row."""
    table.create_entity({"PartitionKey": "p", "RowKey": "r", "n": 1})
    name = table.table_name
    clients = [
        TableClient(ENDPOINT, name, credential=AzureNamedKeyCredential(ACCOUNT, KEY), **OPTIONS),
        TableClient.from_connection_string(CONNECTION_STRING, name, **OPTIONS),
        TableClient.from_table_url(f"{ENDPOINT}/{name}", credential=CREDENTIAL, **OPTIONS),
        TableClient.from_table_url(f"{ENDPOINT}/Tables('{name}')", credential=CREDENTIAL, **OPTIONS),
        TableServiceClient.from_connection_string(CONNECTION_STRING, **OPTIONS).get_table_client(name),
    ] + [
        TableClient(ENDPOINT, name, credential=CREDENTIAL, api_version=version, **OPTIONS)
        for version in ("2019-02-02", "2019-07-07", "2020-12-06")
    ]
    for client in clients:
        with client:
            assert client.account_name == ACCOUNT
            assert client.table_name == name
            assert client.url == ENDPOINT
            assert client.get_entity("p", "r")["n"] == 1


def test_close(service, table):
    client = TableClient(ENDPOINT, table.table_name, credential=CREDENTIAL, **OPTIONS)
    assert list(client.list_entities()) == []
    client.close()


def test_api_version_is_sent_and_echoed(service):
    """VR-07"""
    for version in ("2019-02-02", "2019-07-07", "2020-12-06"):
        with TableServiceClient(ENDPOINT, credential=CREDENTIAL, api_version=version, **OPTIONS) as client:
            assert client.api_version == version
            responses = []
            next(client.list_tables(results_per_page=1, raw_response_hook=responses.append).by_page())
            assert responses[0].http_response.headers["x-ms-version"] == version


@pytest.mark.skipif(not PATH_STYLE, reason="the endpoint itself is host style")
def test_host_style(service, names):
    """DM-03: the account as the first label of the host name."""
    endpoint = ENDPOINT.replace("127.0.0.1", "localhost").removesuffix(f"/{ACCOUNT}")
    endpoint = endpoint.replace("://", f"://{ACCOUNT}.table.")
    with TableServiceClient(endpoint, credential=CREDENTIAL, **OPTIONS) as client:
        table = client.create_table(names())
        table.create_entity({"PartitionKey": "p q", "RowKey": "r'r", "n": 1})
        entity = table.get_entity("p q", "r'r", headers={"Accept": "application/json;odata=fullmetadata"})
        assert entity.metadata["id"] == f"{endpoint}/{table.table_name}(PartitionKey='p%20q',RowKey='r''r')"
        table.update_entity(entity)
        table.delete_entity(entity)
    with pytest.raises(ResourceNotFoundError):
        service.get_table_client(table.table_name).get_entity("p q", "r'r")


LENGTH = ("OutOfRangeInput", "The specified resource name length is not within the permissible limits.")
# The live service spells it this way; the SDK knows.
CHARACTERS = ("InvalidResourceName", "The specifed resource name contains invalid characters.")
INVALID_NAMES = {
    "a": LENGTH,
    "ab": LENGTH,
    "a" * 64: LENGTH,
    "my-table": CHARACTERS,
    "my_table": CHARACTERS,
    "1table": CHARACTERS,
    "täble": CHARACTERS,
}
ROW = {"PartitionKey": "p", "RowKey": "r"}
CALLS = {
    "create_table": lambda client: client.create_table(),
    "delete_table": lambda client: client.delete_table(),
    "create_entity": lambda client: client.create_entity(ROW),
    "update_entity merge": lambda client: client.update_entity(ROW, mode="merge"),
    "update_entity replace": lambda client: client.update_entity(ROW, mode="replace"),
    "upsert_entity merge": lambda client: client.upsert_entity(ROW, mode="merge"),
    "upsert_entity replace": lambda client: client.upsert_entity(ROW, mode="replace"),
    "delete_entity": lambda client: client.delete_entity(ROW),
    "get_entity": lambda client: client.get_entity("p", "r"),
}


@pytest.mark.parametrize("name", INVALID_NAMES)
@pytest.mark.parametrize("call", CALLS)
def test_invalid_names(service, call, name):
    """DM-05, DM-06, DM-07: the SDK recognises these messages and raises ValueError."""
    client = service.get_table_client(name)
    with pytest.raises(ValueError, match="Storage table names must be alphanumeric") as raised:
        CALLS[call](client)
    assert service_error(raised) == (400, *INVALID_NAMES[name])


@pytest.mark.parametrize("name", INVALID_NAMES)
def test_invalid_names_in_queries(service, name):
    """The SDK does not map these for queries; the service's response is the same."""
    code, text = INVALID_NAMES[name]
    client = service.get_table_client(name)
    assert rejected(400, code, client.list_entities) == text
    assert rejected(400, code, client.query_entities, "RowKey eq 'r'") == text


@pytest.mark.parametrize("length", [3, 63])
def test_shortest_and_longest_names(service, length):
    """DM-07"""
    name = (random_name("p") * 2)[:length]
    service.create_table_if_not_exists(name)
    assert name in listed(service.query_tables(f"TableName eq '{name}'"))
    service.delete_table(name)


def test_reserved_name(service):
    with pytest.raises(HttpResponseError) as raised:
        service.create_table("Tables")
    assert raised.value.status_code == 400
