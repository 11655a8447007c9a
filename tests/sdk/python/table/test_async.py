"""Every method of the asynchronous clients, once. The rules themselves are tested with the synchronous ones."""

import asyncio
from datetime import datetime, timedelta, timezone

import pytest
from azure.core import MatchConditions
from azure.core.credentials import AzureSasCredential
from azure.core.exceptions import ResourceExistsError, ResourceModifiedError, ResourceNotFoundError
from azure.data.tables import (
    TableAccessPolicy,
    TableCorsRule,
    TableTransactionError,
    UpdateMode,
    generate_table_sas,
)
from azure.data.tables.aio import TableClient, TableServiceClient

from conftest import ACCOUNT, CONNECTION_STRING, CREDENTIAL, ENDPOINT, OPTIONS, PATH_STYLE, random_name
from test_keys import KEYS


def run(body):
    """Runs body(service, table) with fresh clients and a fresh table."""

    async def main():
        async with TableServiceClient(ENDPOINT, credential=CREDENTIAL, **OPTIONS) as service:
            table = await service.create_table(random_name())
            try:
                await body(service, table)
            finally:
                await service.delete_table(table.table_name)

    asyncio.run(main())


def row(key="r", **properties):
    return {"PartitionKey": "p", "RowKey": key, **properties}


async def collect(iterator):
    return [item async for item in iterator]


def test_tables():
    async def body(service, table):
        name = table.table_name
        with pytest.raises(ResourceExistsError):
            await service.create_table(name)
        await service.create_table_if_not_exists(name)
        with pytest.raises(ResourceExistsError):
            await service.get_table_client(name).create_table()
        assert name in [item.name async for item in service.list_tables()]
        query = service.query_tables("TableName eq @name", parameters={"name": name})
        assert [item.name async for item in query] == [name]
        other = service.get_table_client(random_name())
        item = await other.create_table()
        assert item.name == other.table_name
        await other.delete_table()
        with pytest.raises(ResourceNotFoundError):
            await other.get_entity("p", "r")
        with pytest.raises(ValueError, match="Storage table names must be alphanumeric"):
            await service.create_table("my-table")

    run(body)


def test_clients():
    async def body(service, table):
        await table.create_entity(row(n=1))
        for client in (
            TableClient(ENDPOINT, table.table_name, credential=CREDENTIAL, **OPTIONS),
            TableClient.from_connection_string(CONNECTION_STRING, table.table_name, **OPTIONS),
            TableClient.from_table_url(f"{ENDPOINT}/{table.table_name}", credential=CREDENTIAL, **OPTIONS),
        ):
            async with client:
                assert (await client.get_entity("p", "r"))["n"] == 1
        other = TableServiceClient.from_connection_string(CONNECTION_STRING, **OPTIONS)
        assert (await other.get_table_client(table.table_name).get_entity("p", "r"))["n"] == 1
        await other.close()

    run(body)


def test_entities():
    async def body(service, table):
        created = await table.create_entity(row(a=1, b=1))
        with pytest.raises(ResourceExistsError):
            await table.create_entity(row())
        await table.update_entity(row(a=2))
        await table.upsert_entity(row(c=3))
        entity = await table.get_entity("p", "r")
        assert dict(entity) == row(a=2, b=1, c=3)
        assert dict(await table.get_entity("p", "r", select=["a"])) == {"a": 2}
        stale = {"etag": created["etag"], "match_condition": MatchConditions.IfNotModified}
        with pytest.raises(ResourceModifiedError):
            await table.update_entity(row(a=9), **stale)
        with pytest.raises(ResourceModifiedError):
            await table.delete_entity("p", "r", **stale)
        await table.update_entity(entity, mode=UpdateMode.REPLACE, match_condition=MatchConditions.IfNotModified)
        await table.upsert_entity(row(d=4), mode=UpdateMode.REPLACE)
        assert dict(await table.get_entity("p", "r")) == row(d=4)
        await table.delete_entity(row())
        await table.delete_entity("p", "r")
        with pytest.raises(ResourceNotFoundError):
            await table.get_entity("p", "r")
        with pytest.raises(ResourceNotFoundError):
            await table.update_entity(row())

    run(body)


def test_queries():
    async def body(service, table):
        await asyncio.gather(*(table.create_entity(row(f"{i:02}", n=i)) for i in range(25)))
        everything = [entity["n"] async for entity in table.list_entities()]
        assert everything == list(range(25))
        query = table.query_entities("n ge @low", parameters={"low": 5}, results_per_page=10, select=["n"])
        pages = query.by_page()
        first = await collect(await pages.__anext__())
        token = pages.continuation_token
        rest = [[entity["n"] async for entity in page] async for page in query.by_page(continuation_token=token)]
        assert [entity["n"] for entity in first] + sum(rest, []) == list(range(5, 25))

    run(body)


def test_keys():
    """aiohttp writes the path in its own way: signatures and keys must agree nevertheless."""

    async def body(service, table):
        for key in KEYS:
            entity = {"PartitionKey": key, "RowKey": key, "n": 1}
            await table.create_entity(entity)
            await table.update_entity({**entity, "n": 2})
            assert (await table.get_entity(key, key))["n"] == 2
            await table.delete_entity(key, key)
        assert await collect(table.list_entities()) == []

    run(body)


@pytest.mark.batch
def test_transactions():
    async def body(service, table):
        results = await table.submit_transaction([("create", row("1")), ("upsert", row("2"), {"mode": "replace"})])
        assert all(result["etag"] for result in results)
        with pytest.raises(TableTransactionError) as raised:
            await table.submit_transaction([("delete", row("1")), ("create", row("2"))])
        assert (raised.value.index, raised.value.error_code) == (1, "EntityAlreadyExists")
        assert len(await collect(table.list_entities())) == 2

    run(body)


@pytest.mark.acl
def test_access_policies():
    async def body(service, table):
        await table.set_table_access_policy({"one": TableAccessPolicy(expiry="2099-01-01", permission="r"), "two": None})
        found = await table.get_table_access_policy()
        assert found["one"].permission == "r"
        assert found["two"] is None

    run(body)


@pytest.mark.properties
def test_properties():
    async def body(service, table):
        before = await service.get_service_properties()
        try:
            await service.set_service_properties(cors=[TableCorsRule(["http://a.example"], ["GET"])])
            found = await service.get_service_properties()
            assert found["cors"][0].allowed_origins == ["http://a.example"]
        finally:
            await service.set_service_properties(**before)

    run(body)


@pytest.mark.properties
def test_stats():
    async def body(service, table):
        endpoint, secondary = ENDPOINT, ENDPOINT.split("://")[1].replace(ACCOUNT, ACCOUNT + "-secondary")
        if PATH_STYLE:
            endpoint, secondary = f"{ENDPOINT}-secondary", ENDPOINT.split("://")[1].removesuffix(f"/{ACCOUNT}")
        async with TableServiceClient(endpoint, credential=CREDENTIAL, secondary_hostname=secondary, **OPTIONS) as client:
            stats = await client.get_service_stats()
        assert stats["geo_replication"]["status"] in ("live", "bootstrap", "unavailable")

    run(body)


@pytest.mark.sas
def test_sas():
    async def body(service, table):
        expiry = datetime.now(timezone.utc) + timedelta(hours=1)
        sas = generate_table_sas(CREDENTIAL, table.table_name, permission="ra", expiry=expiry)
        async with TableClient(ENDPOINT, table.table_name, credential=AzureSasCredential(sas), **OPTIONS) as client:
            await client.create_entity(row(n=1))
            assert (await client.get_entity("p", "r"))["n"] == 1

    run(body)
