"""The asynchronous clients: uploads, downloads, blocks, leases, listings and copies behave as the synchronous ones do."""

import asyncio
from contextlib import asynccontextmanager

import pytest
from azure.core.exceptions import ResourceExistsError
from azure.storage.blob import BlobBlock
from azure.storage.blob.aio import BlobClient, BlobServiceClient, ContainerClient

from conftest import BLOB_ENDPOINT, CONNECTION_STRING, CREDENTIAL, OPTIONS, random_name

DATA = bytes(range(256)) * 800


def run(body):
    """Runs a coroutine function as a test."""

    def test():
        asyncio.run(body())

    test.__name__, test.__doc__ = body.__name__, body.__doc__
    return test


@asynccontextmanager
async def fresh():
    """A client, and a container that is deleted at the end."""
    async with BlobServiceClient(BLOB_ENDPOINT, credential=CREDENTIAL, **OPTIONS) as service:
        container = await service.create_container(random_name(), metadata={"a": "b"})
        try:
            yield service, container
        finally:
            await service.delete_container(container.container_name)


async def names(items):
    return [item.name async for item in items]


async def content(blob):
    return await (await blob.download_blob(max_concurrency=2)).readall()


@run
async def test_containers():
    async with fresh() as (service, container):
        assert await names(service.list_containers(name_starts_with=container.container_name)) == [container.container_name]
        assert (await container.get_container_properties()).metadata == {"a": "b"}
        await container.set_container_metadata({"c": "d"})
        assert await container.exists()
        with pytest.raises(ResourceExistsError):
            await container.create_container()
        assert (await service.get_account_information())["sku_name"]
        lease = await container.acquire_lease(15)
        await lease.renew()
        await lease.release()


@run
async def test_blobs():
    async with fresh() as (_, container):
        blob = container.get_blob_client("a b")
        await blob.upload_blob(DATA, max_concurrency=3, metadata={"x": "y"})
        assert await content(blob) == DATA
        assert b"".join([piece async for piece in (await blob.download_blob()).chunks()]) == DATA
        assert (await blob.get_blob_properties()).metadata == {"x": "y"}
        assert await (await blob.download_blob(offset=3, length=4)).readall() == DATA[3:7]
        with pytest.raises(ResourceExistsError):
            await blob.upload_blob(b"other")
        await blob.create_snapshot()
        await blob.delete_blob(delete_snapshots="include")
        assert not await blob.exists()


@run
async def test_many_at_once():
    async with fresh() as (_, container):
        await asyncio.gather(*(container.upload_blob(f"{number:02}", DATA) for number in range(20)))
        found = await asyncio.gather(*(content(container.get_blob_client(f"{number:02}")) for number in range(20)))
        assert all(one == DATA for one in found)
        assert await names(container.list_blobs(results_per_page=6)) == [f"{number:02}" for number in range(20)]
        assert len([name async for name in container.walk_blobs(delimiter="1")]) == 11


@run
async def test_blocks_leases_and_copies():
    async with fresh() as (_, container):
        blob, copy = container.get_blob_client("a"), container.get_blob_client("copy")
        await asyncio.gather(*(blob.stage_block(f"AAA{letter}", letter.encode()) for letter in "ABC"))
        await blob.commit_block_list([BlobBlock(f"AAA{letter}") for letter in "CAB"])
        assert await content(blob) == b"CAB"
        lease = await blob.acquire_lease(15)
        await blob.upload_blob(b"held", overwrite=True, lease=lease)
        await lease.break_lease(lease_break_period=0)
        assert (await copy.start_copy_from_url(blob.url))["copy_status"] == "success"
        assert await content(copy) == b"held"


@run
async def test_clients_from_everything():
    async with fresh() as (_, container):
        await container.upload_blob("a", b"here")
        name = container.container_name
        for client in (
            BlobClient(BLOB_ENDPOINT, name, "a", credential=CREDENTIAL, **OPTIONS),
            BlobClient.from_connection_string(CONNECTION_STRING, name, "a", **OPTIONS),
            BlobClient.from_blob_url(f"{BLOB_ENDPOINT}/{name}/a", credential=CREDENTIAL, **OPTIONS),
            ContainerClient.from_connection_string(CONNECTION_STRING, name, **OPTIONS).get_blob_client("a"),
        ):
            async with client:
                assert await content(client) == b"here"
