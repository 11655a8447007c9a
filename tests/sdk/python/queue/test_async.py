"""The asynchronous clients: every method once, and the same behaviour."""

import asyncio
from contextlib import asynccontextmanager
from datetime import datetime, timedelta, timezone
from urllib.parse import urlparse

import pytest
from azure.core.exceptions import ResourceExistsError
from azure.core.pipeline.transport import AioHttpTransport
from azure.storage.queue import AccessPolicy, CorsRule, generate_queue_sas
from azure.storage.queue.aio import QueueClient, QueueServiceClient

from conftest import ACCOUNT, CONNECTION_STRING, CREDENTIAL, OPTIONS, QUEUE_ENDPOINT, random_name
from suite import TOKEN, with_token


def run(body):
    """Runs a coroutine function as a test."""

    def test():
        asyncio.run(body())

    test.__name__, test.__doc__ = body.__name__, body.__doc__
    return test


def connect():
    return QueueServiceClient(QUEUE_ENDPOINT, credential=CREDENTIAL, **OPTIONS)


@asynccontextmanager
async def fresh():
    """A client, and a queue that is deleted at the end."""
    async with connect() as service:
        queue = await service.create_queue(random_name(), metadata={"a": "b"})
        try:
            yield service, queue
        finally:
            await service.delete_queue(queue.queue_name)


async def all_of(items):
    return [item async for item in items]


@run
async def test_queues():
    async with fresh() as (service, queue):
        found = await all_of(service.list_queues(name_starts_with=queue.queue_name, include_metadata=True))
        assert [(item.name, item.metadata) for item in found] == [(queue.queue_name, {"a": "b"})]
        with pytest.raises(ResourceExistsError):
            await queue.create_queue()
        await queue.set_queue_metadata({"c": "d"})
        assert (await queue.get_queue_properties()).metadata == {"c": "d"}
        assert service.get_queue_client(queue.queue_name).url == queue.url
        other = service.get_queue_client(random_name())
        await other.create_queue()
        await other.delete_queue()


@run
async def test_messages():
    async with fresh() as (_, queue):
        await asyncio.gather(*(queue.send_message(f"{number}") for number in range(20)))
        assert len(await queue.peek_messages(max_messages=32)) == 20
        one = await queue.receive_message(visibility_timeout=600)
        updated = await queue.update_message(one, content="changed", visibility_timeout=600)
        await queue.delete_message(one.id, updated.pop_receipt)
        rest = await all_of(queue.receive_messages(messages_per_page=8))
        assert len({message.id for message in rest}) == 19
        await queue.clear_messages()
        assert await queue.receive_message() is None


@run
async def test_policies():
    async with fresh() as (_, queue):
        await queue.set_queue_access_policy({"reader": AccessPolicy(permission="r")})
        assert list(await queue.get_queue_access_policy()) == ["reader"]


@pytest.mark.properties
@run
async def test_service():
    async with connect() as service:
        await service.set_service_properties(cors=[CorsRule(["www.xyz.com"], ["GET"])])
        assert len((await service.get_service_properties())["cors"]) == 1
        await service.set_service_properties(cors=[])
    secondary = QUEUE_ENDPOINT.replace(f"/{ACCOUNT}", f"/{ACCOUNT}-secondary")
    async with QueueServiceClient(secondary, credential=CREDENTIAL, secondary_hostname=urlparse(secondary).netloc, **OPTIONS) as service:
        assert (await service.get_service_stats())["geo_replication"]["status"]


@run
async def test_clients_from_everything():
    async with fresh() as (_, queue):
        await queue.send_message("here")
        for client in (
            QueueClient(QUEUE_ENDPOINT, queue.queue_name, credential=CREDENTIAL, **OPTIONS),
            QueueClient.from_connection_string(CONNECTION_STRING, queue.queue_name, **OPTIONS),
            QueueClient.from_queue_url(queue.url, credential=CREDENTIAL, **OPTIONS),
            QueueServiceClient.from_connection_string(CONNECTION_STRING, **OPTIONS).get_queue_client(queue.queue_name),
        ):
            assert (await client.peek_messages())[0].content == "here"
            await client.close()


@pytest.mark.skipif(not TOKEN, reason="LAZULI_TOKEN is not set")
@run
async def test_user_delegation():
    now = datetime.now(timezone.utc)
    async with fresh() as (_, queue), QueueServiceClient(QUEUE_ENDPOINT, credential=CREDENTIAL, transport=with_token(AioHttpTransport), **OPTIONS) as user:
        key = await user.get_user_delegation_key(start=now - timedelta(hours=1), expiry=now + timedelta(hours=1))
        token = generate_queue_sas(ACCOUNT, queue.queue_name, user_delegation_key=key, permission="a", expiry=now + timedelta(hours=1))
        async with QueueClient(QUEUE_ENDPOINT, queue.queue_name, credential=token, **OPTIONS) as sender:
            await sender.send_message("here")
        assert [message.content for message in await queue.peek_messages()] == ["here"]
