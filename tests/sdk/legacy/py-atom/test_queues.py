"""Queues with the clients of 2014 and 2015, which sign a length of zero as `0` and get no body when they put a message."""

import pytest
from client import Conflict, Failure, Missing, QueueService

from common import random_name
from conftest import connect
from suite import QUEUE_ENDPOINT

pytestmark = pytest.mark.skipif(not QUEUE_ENDPOINT, reason="the server does not offer queues")


@pytest.fixture(scope="module")
def queues():
    return connect(QueueService, "queue", QUEUE_ENDPOINT)


@pytest.fixture
def queue(queues):
    name = random_name("old-")
    queues.create_queue(name, fail_on_exist=True)
    yield name
    queues.delete_queue(name)


def test_queues(queues, queue):
    assert queue in [item.name for item in queues.list_queues(prefix=queue)]
    queues.set_queue_metadata(queue, {"color": "blue"})
    found = queues.get_queue_metadata(queue)
    assert (found["x-ms-meta-color"], found["x-ms-approximate-messages-count"]) == ("blue", "0")
    with pytest.raises(Conflict):
        queues.create_queue(queue, {"color": "red"}, fail_on_exist=True)
    with pytest.raises(Missing):
        queues.get_queue_metadata(random_name("old-"))


def test_messages(queues, queue):
    for text in ("one", "two <"):
        queues.put_message(queue, text)
    assert [message.message_text for message in queues.peek_messages(queue, 32)] == ["one", "two <"]
    (first,) = queues.get_messages(queue, 1, 60)
    assert (first.message_text, first.dequeue_count) == ("one", "1")
    updated = queues.update_message(queue, first.message_id, "changed", first.pop_receipt, 0)
    assert "changed" in [message.message_text for message in queues.peek_messages(queue, 32)]
    with pytest.raises(Failure):
        queues.delete_message(queue, first.message_id, first.pop_receipt)
    queues.delete_message(queue, first.message_id, updated["x-ms-popreceipt"])
    queues.clear_messages(queue)
    assert len(queues.get_messages(queue).queue_messages) == 0


@pytest.mark.properties
def test_service_properties(queues):
    found = queues.get_queue_service_properties()
    found.logging.read = True
    queues.set_queue_service_properties(found)
    assert queues.get_queue_service_properties().logging.read
    found.logging.read = False
    queues.set_queue_service_properties(found)
