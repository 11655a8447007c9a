"""Queues with the clients of 2017 and 2018."""

import time
from datetime import datetime, timedelta

import pytest
from azure.common import AzureConflictHttpError, AzureException, AzureHttpError, AzureMissingResourceHttpError
from azure.storage.queue import QueuePermissions, QueueService
from azure.storage.queue.models import QueueMessageFormat

try:
    from azure.storage.common import AccessPolicy, CorsRule, Logging
except ImportError:
    from azure.storage import AccessPolicy, CorsRule, Logging

from common import random_name
from conftest import connect


def test_queues(queues, queue):
    """Create, list, metadata, delete. The same metadata again is no error."""
    queues.set_queue_metadata(queue, {"color": "blue"})
    found = queues.get_queue_metadata(queue)
    assert (dict(found), found.approximate_message_count) == ({"color": "blue"}, 0)
    assert queues.create_queue(queue, {"color": "blue"}) is False
    with pytest.raises(AzureConflictHttpError):
        queues.create_queue(queue, {"color": "red"}, fail_on_exist=True)
    (item,) = queues.list_queues(prefix=queue, include_metadata=True)
    assert (item.name, item.metadata) == (queue, {"color": "blue"})
    assert queues.exists(queue) and not queues.exists(random_name("old-"))
    assert queues.delete_queue(queue)
    assert queues.delete_queue(queue) is False
    with pytest.raises(AzureMissingResourceHttpError):
        queues.get_queue_metadata(queue)


def test_pages(queues):
    prefix = random_name("old-")[:20]
    names = sorted(prefix + letter for letter in "cab")
    for name in names:
        queues.create_queue(name)
    first = queues.list_queues(prefix=prefix, num_results=2)
    assert [item.name for item in first] == names[:2]
    assert [item.name for item in queues.list_queues(prefix=prefix, marker=first.next_marker)] == names[2:]
    for name in names:
        queues.delete_queue(name)


def test_messages(queues, queue):
    """QU-01 to QU-05, with the XML-escaping that was the default then."""
    sent = queues.put_message(queue, "<hello> & Grüße")
    assert sent.id and sent.pop_receipt
    assert [message.content for message in queues.peek_messages(queue, 32)] == ["<hello> & Grüße"]
    (first,) = queues.get_messages(queue, visibility_timeout=1)
    assert (first.id, first.dequeue_count) == (sent.id, 1)
    deadline = time.monotonic() + 30
    while not (again := queues.get_messages(queue, visibility_timeout=60)):
        assert time.monotonic() < deadline
    assert again[0].dequeue_count == 2
    with pytest.raises(AzureMissingResourceHttpError):
        queues.delete_message(queue, first.id, first.pop_receipt)
    updated = queues.update_message(queue, again[0].id, again[0].pop_receipt, 0, "changed")
    assert [message.content for message in queues.peek_messages(queue)] == ["changed"]
    queues.delete_message(queue, again[0].id, updated.pop_receipt)
    assert queues.get_messages(queue) == []


def test_clear_and_order(queues, queue):
    for number in range(5):
        queues.put_message(queue, f"{number}")
    assert [message.content for message in queues.get_messages(queue, num_messages=3)] == ["0", "1", "2"]
    queues.clear_messages(queue)
    assert queues.get_queue_metadata(queue).approximate_message_count == 0


def test_time_to_live(queues, queue):
    sent = queues.put_message(queue, "x", time_to_live=600)
    assert sent.expiration_time - sent.insertion_time == timedelta(seconds=600)
    with pytest.raises((AzureHttpError, AzureException, ValueError)):
        queues.put_message(queue, "x" * 65537)


def test_formats(queues, queue):
    queues.encode_function, queues.decode_function = QueueMessageFormat.text_base64encode, QueueMessageFormat.text_base64decode
    try:
        queues.put_message(queue, "Grüße")
        assert queues.get_messages(queue)[0].content == "Grüße"
    finally:
        queues.encode_function, queues.decode_function = QueueMessageFormat.text_xmlencode, QueueMessageFormat.text_xmldecode


@pytest.mark.acl
@pytest.mark.sas
def test_policies_and_signatures(queues, queue):
    expiry = datetime.utcnow() + timedelta(hours=1)
    queues.set_queue_acl(queue, {"reader": AccessPolicy(permission=QueuePermissions.READ, expiry=expiry, start=datetime.utcnow() - timedelta(hours=1))})
    assert list(queues.get_queue_acl(queue)) == ["reader"]
    token = queues.generate_queue_shared_access_signature(queue, id="reader")
    reader = connect(QueueService, "queue", sas_token=token)
    assert reader.peek_messages(queue) == []
    with pytest.raises(AzureException):
        reader.put_message(queue, "x")
    token = queues.generate_queue_shared_access_signature(queue, QueuePermissions.ADD, expiry)
    connect(QueueService, "queue", sas_token=token).put_message(queue, "x")


@pytest.mark.properties
def test_service_properties(queues):
    queues.set_queue_service_properties(logging=Logging(delete=True, read=True, write=True), cors=[CorsRule(["www.xyz.com"], ["GET"])])
    found = queues.get_queue_service_properties()
    assert found.logging.read and found.cors[0].allowed_origins == ["www.xyz.com"]
    queues.set_queue_service_properties(logging=Logging(), cors=[])
    assert queues.get_queue_service_properties().cors == []
