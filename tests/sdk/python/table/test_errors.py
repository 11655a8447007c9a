"""Rejections: each maps to the exception class, code and text that the SDK's users handle."""

import json

import pytest
from azure.core.credentials import AzureNamedKeyCredential
from azure.core.exceptions import (
    ClientAuthenticationError,
    HttpResponseError,
    ResourceNotFoundError,
)
from azure.data.tables import TableClient, TableServiceClient, UpdateMode

from conftest import ACCOUNT, CREDENTIAL, ENDPOINT, OPTIONS, random_name, service_error

ROW = {"PartitionKey": "p", "RowKey": "r"}
WRONG_KEY = "d3Jvbmcga2V5IHdyb25nIGtleSB3cm9uZyBrZXkgd3Jvbmcga2V5IHdyb25nIGtleSB3cm9uZyBrZXkgd3Jvbmc="
AUTHENTICATION_FAILED = (
    "Server failed to authenticate the request. Make sure the value of Authorization header is formed correctly "
    "including the signature."
)
CALLS = {
    "create_entity": lambda client: client.create_entity(ROW),
    "update merge": lambda client: client.update_entity(ROW, mode=UpdateMode.MERGE),
    "update replace": lambda client: client.update_entity(ROW, mode=UpdateMode.REPLACE),
    "upsert merge": lambda client: client.upsert_entity(ROW, mode=UpdateMode.MERGE),
    "upsert replace": lambda client: client.upsert_entity(ROW, mode=UpdateMode.REPLACE),
    "get_entity": lambda client: client.get_entity("p", "r"),
    "list_entities": lambda client: list(client.list_entities()),
    "query_entities": lambda client: list(client.query_entities("RowKey eq 'r'")),
}


@pytest.mark.parametrize("call", CALLS)
def test_missing_table(service, call):
    """OP-17"""
    with pytest.raises(ResourceNotFoundError) as raised:
        CALLS[call](service.get_table_client(random_name()))
    assert service_error(raised) == (404, "TableNotFound", "The table specified does not exist.")


def test_delete_entity_of_a_missing_table(service):
    """The SDK swallows 404."""
    responses = []
    service.get_table_client(random_name()).delete_entity("p", "r", raw_response_hook=responses.append)
    assert responses[0].http_response.status_code == 404


@pytest.mark.parametrize("call", [*CALLS, "create_table", "list_tables"])
def test_wrong_key(table, call):
    """AU-06: whatever the operation, before anything else is looked at."""
    credential = AzureNamedKeyCredential(ACCOUNT, WRONG_KEY)
    with TableServiceClient(ENDPOINT, credential=credential, **OPTIONS) as service:
        client = service.get_table_client(table.table_name)
        with pytest.raises(HttpResponseError) as raised:
            if call == "create_table":
                service.create_table(random_name())
            elif call == "list_tables":
                list(service.list_tables())
            else:
                CALLS[call](client)
    assert service_error(raised) == (403, "AuthenticationFailed", AUTHENTICATION_FAILED)
    # The SDK hands the undecoded error on for inserts only.
    if call != "create_entity":
        assert isinstance(raised.value, ClientAuthenticationError)


def test_unknown_account(table):
    credential = AzureNamedKeyCredential("nosuchaccount", WRONG_KEY)
    endpoint = ENDPOINT.replace(ACCOUNT, "nosuchaccount")
    with TableClient(endpoint, table.table_name, credential=credential, **OPTIONS) as client:
        with pytest.raises(HttpResponseError) as raised:
            client.get_entity("p", "r")
    assert raised.value.status_code in (403, 404)


def test_key_rotation_in_the_credential(table):
    """AzureNamedKeyCredential.update takes effect on the next request."""
    credential = AzureNamedKeyCredential(ACCOUNT, WRONG_KEY)
    with TableClient(ENDPOINT, table.table_name, credential=credential, **OPTIONS) as client:
        with pytest.raises(ClientAuthenticationError):
            client.get_entity("p", "r")
        credential.update(*CREDENTIAL.named_key)
        with pytest.raises(ResourceNotFoundError):
            client.get_entity("p", "r")


def test_request_ids(service, table):
    """ER-03: each response has a new request id in the form of a GUID, and echoes the client's own id."""
    responses = []
    for own in ("one", "two"):
        table.upsert_entity(ROW, request_id=own, raw_response_hook=responses.append)
    headers = [response.http_response.headers for response in responses]
    assert [header["x-ms-client-request-id"] for header in headers] == ["one", "two"]
    assert len({header["x-ms-request-id"] for header in headers}) == 2
    assert all(len(header["x-ms-request-id"]) == 36 for header in headers)


def test_headers_of_responses(table):
    """The headers that every response carries."""
    responses = []
    table.upsert_entity(ROW, raw_response_hook=responses.append)
    table.get_entity("p", "r", raw_response_hook=responses.append)
    for response in responses:
        headers = response.http_response.headers
        assert headers["Cache-Control"] == "no-cache"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["x-ms-version"] == "2019-02-02"
        assert headers["ETag"]
        assert headers["Date"].endswith(" GMT")
    assert responses[0].http_response.headers["Content-Length"] == "0"


@pytest.mark.parametrize("level", ["nometadata", "minimalmetadata", "fullmetadata"])
def test_errors_have_the_content_type_of_success(table, level):
    """An error has the metadata level and the parameters that a success would have."""
    accept = f"application/json;odata={level}"
    with pytest.raises(ResourceNotFoundError) as raised:
        table.get_entity("p", "r", headers={"Accept": accept})
    found = raised.value.response.headers["Content-Type"].replace(" ", "")
    assert found == accept + ";streaming=true;charset=utf-8"


def test_account_url_with_a_table_in_it(table):
    """The SDK recognises these rejections and adds a hint."""
    with TableServiceClient(f"{ENDPOINT}/{table.table_name}", credential=CREDENTIAL, **OPTIONS) as client:
        with pytest.raises(HttpResponseError) as raised:
            client.create_table(random_name())
        assert "Please check your account URL." in str(raised.value)
        assert service_error(raised) == (
            400,
            "PropertiesNeedValue",
            "The values are not specified for all properties in the entity.",
        )
        with pytest.raises(HttpResponseError) as raised:
            client.delete_table(table.table_name)
        assert "Please check your account URL." in str(raised.value)
        assert service_error(raised)[:2] == (400, "InvalidInput")


@pytest.mark.properties
def test_account_url_with_a_table_in_it_for_properties(table):
    with TableServiceClient(f"{ENDPOINT}/{table.table_name}", credential=CREDENTIAL, **OPTIONS) as client:
        with pytest.raises(HttpResponseError) as raised:
            client.get_service_properties()
        assert raised.value.error_code == "InvalidQueryParameterValue"
        assert "Please check your account URL." in str(raised.value)


def test_error_body_is_one_object(table):
    """An error body has a code and a message, and no other members."""
    with pytest.raises(ResourceNotFoundError) as raised:
        table.get_entity("p", "r")
    body = json.loads(raised.value.response.text())
    assert set(body) == {"odata.error"}
    assert set(body["odata.error"]) == {"code", "message"}
    assert set(body["odata.error"]["message"]) == {"lang", "value"}
