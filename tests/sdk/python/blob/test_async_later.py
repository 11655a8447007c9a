"""The asynchronous clients, continued: append and page blobs, tags, tiers, holds, policies, batches and service properties."""

from datetime import datetime, timedelta, timezone
from urllib.parse import urlparse

import pytest
from azure.core.exceptions import HttpResponseError
from azure.core.pipeline.transport import AioHttpTransport
from azure.storage.blob import AccessPolicy, BlobBlock, CorsRule, ImmutabilityPolicy, RetentionPolicy, generate_blob_sas
from azure.storage.blob.aio import BlobClient, BlobLeaseClient, BlobServiceClient, ContainerClient

from conftest import ACCOUNT, BLOB_ENDPOINT, CREDENTIAL, KEY, OPTIONS, random_name
from suite import TOKEN, with_token
from test_async import content, fresh, names, run

PAGE = b"p" * 512


def soon(hours=1):
    return datetime.now(timezone.utc) + timedelta(hours=hours)


def source(blob):
    """An address of the blob that can be read by anybody who has it."""
    return f"{blob.url}?{generate_blob_sas(ACCOUNT, blob.container_name, blob.blob_name, account_key=KEY, permission='r', expiry=soon())}"


async def outcome(call):
    """The result of a call: "ok", or the status of the error."""
    try:
        await call
        return "ok"
    except HttpResponseError as error:
        return error.status_code


@run
async def test_block_blobs():
    async with fresh() as (service, container):
        blob, other = container.get_blob_client("a"), container.get_blob_client("b")
        await blob.upload_blob(b"0123456789")
        await blob.set_http_headers()
        await blob.set_blob_metadata({"a": "b"})
        await other.upload_blob_from_url(source(blob))
        await other.stage_block_from_url("AAAA", source(blob), 2, 3)
        committed, staged = await other.get_block_list("all")
        assert ([], ["AAAA"]) == ([block.id for block in committed], [block.id for block in staged])
        await other.commit_block_list([BlobBlock("AAAA")])
        assert await content(other) == b"234"
        copied = await other.start_copy_from_url(blob.url)
        assert await outcome(other.abort_copy(copied["copy_id"])) == 409
        assert [name async for name in container.list_blob_names()] == ["a", "b"]
        lease = BlobLeaseClient(blob)
        await lease.acquire(15)
        await lease.change("00000000-0000-4000-8000-000000000000")
        await lease.release()
        assert service.get_container_client(container.container_name).url == container.url
        client = ContainerClient.from_container_url(container.url, credential=CREDENTIAL, **OPTIONS)
        assert await names(client.list_blobs()) == ["a", "b"]
        await client.close()


@pytest.mark.part2
@run
async def test_append_blobs():
    async with fresh() as (_, container):
        blob, log = container.get_blob_client("a"), container.get_blob_client("log")
        await blob.upload_blob(b"0123456789")
        await log.create_append_blob()
        assert (await log.append_block(b"one,"))["blob_append_offset"] == "0"
        await log.append_block_from_url(source(blob), source_offset=0, source_length=3)
        await log.seal_append_blob()
        assert await outcome(log.append_block(b"x")) == 409
        assert await content(log) == b"one,012"


@pytest.mark.part2
@run
async def test_page_blobs():
    async with fresh() as (_, container):
        disk = container.get_blob_client("disk")
        await disk.create_page_blob(4096)
        await disk.upload_page(PAGE, 0, 512)
        await disk.upload_pages_from_url(source(disk), 1024, 512, 0)
        assert [(page.start, page.end) async for page in disk.list_page_ranges()] == [(0, 511), (1024, 1535)]
        await disk.clear_page(0, 512)
        assert await disk.get_page_ranges() == ([{"start": 1024, "end": 1535}], [])
        await disk.resize_blob(2048)
        assert (await disk.set_sequence_number("update", "7"))["blob_sequence_number"] == 7
        assert await outcome(disk.get_page_range_diff_for_managed_disk(disk.url + "?snapshot=2011-03-09T01:42:34.9360000Z")) != "ok"
        assert await outcome(disk.set_premium_page_blob_tier("P4")) in ("ok", 400)
        assert len([part async for part in await container.set_premium_page_blob_tier_blobs("P4", "disk", raise_on_any_failure=False)]) == 1


@pytest.mark.part2
@run
async def test_tags_tiers_and_holds():
    async with fresh() as (service, container):
        blob, mark = container.get_blob_client("a"), random_name()
        await blob.upload_blob(b"0123456789")
        await blob.set_blob_tags({"mark": mark})
        assert await blob.get_blob_tags() == {"mark": mark}
        for scope in (service, container):
            assert await names(scope.find_blobs_by_tags(f"\"mark\"='{mark}'")) == ["a"]
        await blob.set_standard_blob_tier("Cool")
        assert [part.status_code async for part in await container.set_standard_blob_tier_blobs("Hot", "a")] == [200]
        await blob.set_immutability_policy(ImmutabilityPolicy(expiry_time=soon(), policy_mode="Unlocked"))
        assert await outcome(blob.delete_blob()) == 409
        await blob.delete_immutability_policy()
        await blob.set_legal_hold(True)
        assert await outcome(blob.delete_blob()) == 409
        await blob.set_legal_hold(False)
        assert await outcome(blob.query_blob("SELECT * from BlobStorage")) in (400, 501)
        assert [part.status_code async for part in await container.delete_blobs("a")] == [202]


@pytest.mark.part2
@run
async def test_soft_delete():
    async with fresh() as (service, container):
        blob = container.get_blob_client("a")
        await service.set_service_properties(delete_retention_policy=RetentionPolicy(enabled=True, days=2))
        try:
            await blob.upload_blob(b"0123456789")
            await blob.delete_blob()
            await blob.undelete_blob()
            assert await content(blob) == b"0123456789"
            assert await outcome(service.undelete_container(random_name(), "01D6")) in (404, 409)
        finally:
            await service.set_service_properties(delete_retention_policy=RetentionPolicy(enabled=False))


@pytest.mark.acl
@run
async def test_policies():
    async with fresh() as (_, container):
        await container.set_container_access_policy({"reader": AccessPolicy(permission="r", expiry=soon())})
        assert [found.id for found in (await container.get_container_access_policy())["signed_identifiers"]] == ["reader"]


@pytest.mark.properties
@run
async def test_service():
    async with BlobServiceClient(BLOB_ENDPOINT, credential=CREDENTIAL, **OPTIONS) as service:
        await service.set_service_properties(cors=[CorsRule(["www.xyz.com"], ["GET"])])
        assert len((await service.get_service_properties())["cors"]) == 1
        await service.set_service_properties(cors=[])
    secondary = BLOB_ENDPOINT.replace(f"/{ACCOUNT}", f"/{ACCOUNT}-secondary")
    async with BlobServiceClient(secondary, credential=CREDENTIAL, secondary_hostname=urlparse(secondary).netloc, **OPTIONS) as service:
        assert (await service.get_service_stats())["geo_replication"]["status"]


@pytest.mark.skipif(not TOKEN, reason="LAZULI_TOKEN is not set")
@run
async def test_user_delegation():
    async with fresh() as (_, container), BlobServiceClient(BLOB_ENDPOINT, credential=CREDENTIAL, transport=with_token(AioHttpTransport), **OPTIONS) as user:
        await container.upload_blob("a", b"here")
        key = await user.get_user_delegation_key(soon(-1), soon(2))
        token = generate_blob_sas(ACCOUNT, container.container_name, "a", user_delegation_key=key, permission="r", expiry=soon())
        async with BlobClient(BLOB_ENDPOINT, container.container_name, "a", credential=token, **OPTIONS) as reader:
            assert await content(reader) == b"here"
