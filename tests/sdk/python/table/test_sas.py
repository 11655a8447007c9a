"""Shared access signatures of table and account: what each permits, and each reason for a rejection."""

from datetime import datetime, timedelta, timezone

import pytest
from azure.core.credentials import AzureNamedKeyCredential, AzureSasCredential
from azure.core.exceptions import HttpResponseError, ResourceNotFoundError
from azure.data.tables import (
    AccountSasPermissions,
    ResourceTypes,
    SASProtocol,
    TableAccessPolicy,
    TableClient,
    TableSasPermissions,
    TableServiceClient,
    generate_account_sas,
    generate_table_sas,
)

from conftest import ACCOUNT, CREDENTIAL, ENDPOINT, OPTIONS, random_name, service_error
from test_errors import WRONG_KEY

pytestmark = pytest.mark.sas
MISMATCH = (403, "AuthorizationPermissionMismatch")
FAILED = (403, "AuthenticationFailed")
FAILURE = (403, "AuthorizationFailure")


def soon():
    return datetime.now(timezone.utc) + timedelta(hours=1)


def row(partition="p", key="r", **properties):
    return {"PartitionKey": partition, "RowKey": key, **properties}


@pytest.fixture
def holder(table):
    """Makes a client that holds a table SAS with these options."""

    def make(permission="raud", **options):
        if "policy_id" not in options:
            options.setdefault("expiry", soon())
        sas = generate_table_sas(CREDENTIAL, table.table_name, permission=permission, **options)
        return TableClient(ENDPOINT, table.table_name, credential=AzureSasCredential(sas), **OPTIONS)

    return make


def rejection(call, *arguments, **options):
    with pytest.raises(HttpResponseError) as raised:
        result = call(*arguments, **options)
        if hasattr(result, "by_page"):
            list(result)
    return service_error(raised)[:2]


def test_all_permissions(table, holder):
    client = holder(TableSasPermissions(read=True, add=True, update=True, delete=True))
    client.create_entity(row(n=1))
    client.update_entity(row(n=2))
    client.upsert_entity(row(n=3), mode="replace")
    assert client.get_entity("p", "r")["n"] == 3
    assert [entity["n"] for entity in client.query_entities("n eq 3")] == [3]
    client.delete_entity("p", "r")
    assert list(client.list_entities()) == []


ALLOWED = {
    "r": {"get", "list"},
    "a": {"create"},
    "u": {"merge", "replace"},
    "d": {"delete"},
    "au": {"create", "merge", "replace", "upsert merge", "upsert replace"},
    "rd": {"get", "list", "delete"},
}
CALLS = {
    "get": lambda client: client.get_entity("p", "r"),
    "list": lambda client: list(client.list_entities()),
    "create": lambda client: client.create_entity(row(key=random_name())),
    "merge": lambda client: client.update_entity(row(n=1)),
    "replace": lambda client: client.update_entity(row(n=1), mode="replace"),
    "upsert merge": lambda client: client.upsert_entity(row(n=1)),
    "upsert replace": lambda client: client.upsert_entity(row(n=1), mode="replace"),
    "delete": lambda client: client.delete_entity("p", "r"),
}


@pytest.mark.parametrize("permission", ALLOWED)
@pytest.mark.parametrize("call", CALLS)
def test_each_permission(table, holder, permission, call):
    """Each permission allows its operations and no others; an upsert needs both add and update."""
    table.create_entity(row(n=0))
    client = holder(permission)
    if call in ALLOWED[permission]:
        CALLS[call](client)
    else:
        assert rejection(CALLS[call], client) == MISMATCH


def test_a_table_sas_covers_entities_only(service, table, holder):
    sas = generate_table_sas(CREDENTIAL, table.table_name, permission="raud", expiry=soon())
    with TableServiceClient(ENDPOINT, credential=AzureSasCredential(sas), **OPTIONS) as client:
        for call in (lambda: list(client.list_tables()), lambda: client.create_table(random_name())):
            with pytest.raises(HttpResponseError) as raised:
                call()
            assert raised.value.status_code == 403
        with pytest.raises(HttpResponseError) as raised:
            client.delete_table(table.table_name)
        assert raised.value.status_code == 403
        with pytest.raises(HttpResponseError) as raised:
            client.get_table_client(table.table_name).get_table_access_policy()
        assert raised.value.status_code == 403


def test_another_table(service, table, names):
    other = service.create_table(names())
    sas = generate_table_sas(CREDENTIAL, table.table_name, permission="r", expiry=soon())
    with TableClient(ENDPOINT, other.table_name, credential=AzureSasCredential(sas), **OPTIONS) as client:
        assert rejection(client.list_entities)[0] == 403


def test_table_names_have_no_case(table):
    sas = generate_table_sas(CREDENTIAL, table.table_name.upper(), permission="r", expiry=soon())
    with TableClient(ENDPOINT, table.table_name, credential=AzureSasCredential(sas), **OPTIONS) as client:
        assert list(client.list_entities()) == []


def test_key_ranges(table, holder):
    """Inclusive at both ends; queries are narrowed silently, writes rejected."""
    for partition in "abc":
        for key in "123":
            table.create_entity(row(partition, key))

    def keys(client):
        return [entity["PartitionKey"] + entity["RowKey"] for entity in client.list_entities()]

    assert keys(holder("r", start_pk="b")) == ["b1", "b2", "b3", "c1", "c2", "c3"]
    assert keys(holder("r", end_pk="a")) == ["a1", "a2", "a3"]
    assert keys(holder("r", start_pk="b", end_pk="b")) == ["b1", "b2", "b3"]
    assert keys(holder("r", start_pk="a", start_rk="3", end_pk="b", end_rk="1")) == ["a3", "b1"]
    assert keys(holder("r", start_pk="b", start_rk="2", end_pk="b", end_rk="2")) == ["b2"]
    narrow = holder("raud", start_pk="b", end_pk="b")
    assert [entity["RowKey"] for entity in narrow.query_entities("RowKey eq '2'")] == ["2"]
    assert narrow.get_entity("b", "1")["RowKey"] == "1"
    with pytest.raises(ResourceNotFoundError):
        narrow.get_entity("a", "1")
    assert rejection(narrow.create_entity, row("a", "4")) == FAILURE
    assert rejection(narrow.upsert_entity, row("a", "1")) == FAILURE
    assert rejection(narrow.delete_entity, row("a", "1")) == FAILURE
    narrow.create_entity(row("b", "4"))


def test_times(table, holder):
    now = datetime.now(timezone.utc)
    list(holder("r", start=now - timedelta(hours=1), expiry=now + timedelta(hours=1)).list_entities())
    list(holder("r", expiry="2099-01-01").list_entities())
    list(holder("r", expiry="2099-01-01T00:00Z").list_entities())
    assert rejection(holder("r", expiry=now - timedelta(minutes=1)).list_entities) == FAILED
    assert rejection(holder("r", start=now + timedelta(minutes=30)).list_entities) == FAILED


def test_protocol(table, holder):
    list(holder("r", protocol="https,http").list_entities())
    # The SDK writes the member itself as "SASProtocol.HTTPS" on Python 3.11, which no server can take for a protocol.
    client = holder("r", protocol=SASProtocol.HTTPS.value)
    if ENDPOINT.startswith("https"):
        list(client.list_entities())
    else:
        assert rejection(client.list_entities) == (403, "AuthorizationProtocolMismatch")


def test_addresses(table, holder):
    list(holder("r", ip_address_or_range="0.0.0.0-255.255.255.255").list_entities())
    assert rejection(holder("r", ip_address_or_range="203.0.113.7").list_entities) == (403, "AuthorizationSourceIPMismatch")


def test_wrong_signature(table):
    wrong = AzureNamedKeyCredential(ACCOUNT, WRONG_KEY)
    sas = generate_table_sas(wrong, table.table_name, permission="r", expiry=soon())
    with TableClient(ENDPOINT, table.table_name, credential=AzureSasCredential(sas), **OPTIONS) as client:
        assert rejection(client.list_entities) == FAILED


def test_a_sas_in_the_address(table):
    table.create_entity(row(n=1))
    sas = generate_table_sas(CREDENTIAL, table.table_name, permission="r", expiry=soon())
    with TableClient.from_table_url(f"{ENDPOINT}/{table.table_name}?{sas}", **OPTIONS) as client:
        assert client.get_entity("p", "r")["n"] == 1
    connection = f"TableEndpoint={ENDPOINT};SharedAccessSignature={sas}"
    with TableClient.from_connection_string(connection, table.table_name, **OPTIONS) as client:
        assert client.get_entity("p", "r")["n"] == 1


def test_a_credential_that_is_renewed(table):
    first = generate_table_sas(CREDENTIAL, table.table_name, permission="a", expiry=soon())
    second = generate_table_sas(CREDENTIAL, table.table_name, permission="r", expiry=soon())
    credential = AzureSasCredential(first)
    with TableClient(ENDPOINT, table.table_name, credential=credential, **OPTIONS) as client:
        assert rejection(client.list_entities) == MISMATCH
        credential.update(second)
        assert list(client.list_entities()) == []


@pytest.mark.acl
def test_stored_policy(table, holder):
    """The policy supplies what the SAS leaves out; deleting the policy revokes the SAS."""
    table.set_table_access_policy({"one": TableAccessPolicy(start="2020-01-01", expiry="2099-01-01", permission="r")})
    client = holder(permission=None, policy_id="one")
    assert list(client.list_entities()) == []
    assert rejection(client.create_entity, row()) == MISMATCH
    table.set_table_access_policy({"one": TableAccessPolicy(expiry="2099-01-01", permission="ra")})
    client.create_entity(row())
    table.set_table_access_policy({})
    assert rejection(client.list_entities) == FAILED


@pytest.mark.acl
def test_stored_policy_with_parts_in_the_sas(table, holder):
    table.set_table_access_policy({"times": TableAccessPolicy(expiry="2099-01-01")})
    list(holder("r", policy_id="times").list_entities())
    assert rejection(holder("r", policy_id="times", expiry=soon()).list_entities) == FAILED
    assert rejection(holder("r", policy_id="missing").list_entities) == FAILED


def account_client(resources, permission, **options):
    sas = generate_account_sas(CREDENTIAL, ResourceTypes.from_string(resources), permission, soon(), **options)
    return TableServiceClient(ENDPOINT, credential=AzureSasCredential(sas), **OPTIONS)


def test_account_sas_with_everything(names):
    permission = AccountSasPermissions(read=True, write=True, delete=True, list=True, add=True, create=True, update=True)
    with account_client("sco", permission, protocol="https,http") as client:
        table = client.create_table(names())
        assert table.table_name in [item.name for item in client.list_tables()]
        table.create_entity(row(n=1))
        table.upsert_entity(row(n=2))
        assert table.get_entity("p", "r")["n"] == 2
        table.delete_entity("p", "r")
        client.delete_table(table.table_name)


def test_account_sas_permissions(table, names):
    """Each permission of an account signature allows its operations and no others."""
    table.create_entity(row(n=0))
    list(account_client("c", "l").list_tables())
    account_client("c", "c").create_table(names())
    account_client("c", "w").create_table(names())
    account_client("o", "r").get_table_client(table.table_name).get_entity("p", "r")
    list(account_client("o", "r").get_table_client(table.table_name).list_entities())
    account_client("o", "a").get_table_client(table.table_name).create_entity(row(key="new"))
    account_client("o", "au").get_table_client(table.table_name).upsert_entity(row(n=1))
    account_client("o", "u").get_table_client(table.table_name).update_entity(row(n=2))
    account_client("o", "d").get_table_client(table.table_name).delete_entity("p", "new")
    assert rejection(account_client("c", "r").list_tables) == MISMATCH
    assert rejection(account_client("c", "l").create_table, random_name()) == MISMATCH
    assert rejection(account_client("c", "l").delete_table, table.table_name) == MISMATCH
    client = account_client("o", "a").get_table_client(table.table_name)
    assert rejection(client.get_entity, "p", "r") == MISMATCH
    assert rejection(client.upsert_entity, row()) == MISMATCH


def test_account_sas_resource_types(table):
    mismatch = (403, "AuthorizationResourceTypeMismatch")
    assert rejection(account_client("o", "rwdlacu").list_tables) == mismatch
    assert rejection(account_client("s", "rwdlacu").create_table, random_name()) == mismatch
    assert rejection(account_client("sc", "rwdlacu").get_table_client(table.table_name).get_entity, "p", "r") == mismatch


@pytest.mark.properties
def test_account_sas_for_properties():
    account_client("s", "r").get_service_properties()
    for resources, permission in (("s", "w"), ("co", "r")):
        with pytest.raises(HttpResponseError) as raised:
            account_client(resources, permission).get_service_properties()
        assert raised.value.status_code == 403


@pytest.mark.acl
def test_account_sas_cannot_touch_policies(table):
    client = account_client("sco", "rwdlacu").get_table_client(table.table_name)
    with pytest.raises(HttpResponseError) as raised:
        client.get_table_access_policy()
    assert raised.value.status_code == 403


@pytest.mark.batch
def test_transactions(table, holder):
    """Each operation is authorised by itself."""
    holder("au").submit_transaction([("create", row(key="1")), ("upsert", row(key="2"))])
    with pytest.raises(HttpResponseError) as raised:
        holder("a").submit_transaction([("create", row(key="3")), ("delete", row(key="1"))])
    assert raised.value.status_code == 403
    assert [entity["RowKey"] for entity in table.list_entities()] == ["1", "2"]
