"""Messages: send, receive, peek, update, delete, clear; visibility, expiry, receipts, limits."""

import threading
from datetime import datetime, timedelta, timezone

import pytest
from azure.storage.queue import (
    BinaryBase64DecodePolicy,
    BinaryBase64EncodePolicy,
    QueueClient,
    TextBase64DecodePolicy,
    TextBase64EncodePolicy,
)

from conftest import CREDENTIAL, OPTIONS, QUEUE_ENDPOINT, eventually, rejected, texts

WEEK = timedelta(days=7)
FOREVER = datetime(9999, 12, 31, 23, 59, 59, tzinfo=timezone.utc)
# Well formed, but of no message.
FOREIGN_RECEIPT = "AgAAAAMAAAAAAAAAtq21t0kB2AE="
FOREIGN_ID = "a0b1c2d3-0000-4000-8000-000000000000"


def test_send(queue):
    """The response says when the message was inserted, when it expires, and how to change it."""
    sent = queue.send_message("hello")
    assert sent.content == "hello"
    assert sent.id and sent.pop_receipt
    assert abs(datetime.now(timezone.utc) - sent.inserted_on) < timedelta(minutes=1)
    assert sent.expires_on - sent.inserted_on == WEEK
    assert sent.next_visible_on == sent.inserted_on


def test_receive(queue):
    """QU-01, QU-02: the message, with a receipt; hidden until the timeout ends."""
    sent = queue.send_message("hello")
    before = datetime.now(timezone.utc).replace(microsecond=0)
    found = queue.receive_message(visibility_timeout=600)
    assert (found.id, found.content, found.dequeue_count) == (sent.id, "hello", 1)
    assert (found.inserted_on, found.expires_on) == (sent.inserted_on, sent.expires_on)
    assert found.pop_receipt and found.pop_receipt != sent.pop_receipt
    assert timedelta(seconds=600) <= found.next_visible_on - before <= timedelta(seconds=660)
    assert queue.receive_message() is None
    assert queue.peek_messages() == []


def test_receive_from_an_empty_queue(queue):
    assert queue.receive_message() is None
    assert list(queue.receive_messages()) == []
    assert queue.peek_messages(max_messages=32) == []


def test_messages_come_in_order(queue):
    for number in range(10):
        queue.send_message(f"{number}")
    assert texts(queue.peek_messages(max_messages=32)) == [f"{number}" for number in range(10)]
    assert texts(queue.receive_messages(messages_per_page=4)) == [f"{number}" for number in range(10)]


def test_receive_by_pages(queue):
    for number in range(7):
        queue.send_message(f"{number}")
    pages = queue.receive_messages(messages_per_page=3, visibility_timeout=60).by_page()
    assert [texts(page) for page in pages] == [["0", "1", "2"], ["3", "4", "5"], ["6"]]


def test_receive_at_most(queue):
    for number in range(5):
        queue.send_message(f"{number}")
    assert texts(queue.receive_messages(max_messages=3)) == ["0", "1", "2"]
    assert texts(queue.receive_messages(messages_per_page=2, max_messages=2)) == ["3", "4"]


def test_peek_changes_nothing(queue):
    sent = queue.send_message("x")
    for _ in range(2):
        (found,) = queue.peek_messages()
        assert (found.id, found.content, found.dequeue_count, found.pop_receipt) == (sent.id, "x", 0, None)
    queue.receive_message(visibility_timeout=1)
    (found,) = eventually(queue.peek_messages)
    assert found.dequeue_count == 1


def test_message_comes_back_after_its_timeout(queue):
    """QU-04, QU-05: visible again to any client, and counted."""
    queue.send_message("x")
    first = queue.receive_message(visibility_timeout=1)
    second = eventually(lambda: queue.receive_message(visibility_timeout=1))
    assert second.id == first.id
    assert (first.dequeue_count, second.dequeue_count) == (1, 2)
    assert eventually(lambda: queue.receive_message()).dequeue_count == 3


def test_delete_needs_the_last_receipt(queue):
    """QU-03"""
    queue.send_message("x")
    first = queue.receive_message(visibility_timeout=1)
    second = eventually(lambda: queue.receive_message(visibility_timeout=60))
    for receipt in (first.pop_receipt, FOREIGN_RECEIPT):
        found = rejected(404, "MessageNotFound", queue.delete_message, second.id, receipt)
        assert found["Message"] == "The specified message does not exist."
    queue.delete_message(second)
    rejected(404, "MessageNotFound", queue.delete_message, second)
    assert queue.get_queue_properties().approximate_message_count == 0


def test_a_receipt_outlives_the_timeout_until_the_next_receive(queue):
    queue.send_message("x")
    found = queue.receive_message(visibility_timeout=1)
    eventually(queue.peek_messages)
    queue.delete_message(found)
    assert queue.receive_message() is None


def test_delete_with_the_receipt_of_sending(queue):
    sent = queue.send_message("x")
    queue.delete_message(sent.id, sent.pop_receipt)
    assert queue.peek_messages() == []


def test_delete_of_an_unknown_message(queue):
    rejected(404, "MessageNotFound", queue.delete_message, FOREIGN_ID, FOREIGN_RECEIPT)


def test_malformed_receipt(queue):
    sent = queue.send_message("x")
    found = rejected(400, "InvalidQueryParameterValue", queue.delete_message, sent.id, "nonsense")
    assert found["QueryParameterName"] == "popreceipt"
    assert (found["QueryParameterValue"], found["Reason"]) == ("nonsense", "Invalid pop receipt format")


def test_update_text_and_visibility(queue):
    """Every update returns a new receipt, and invalidates the previous one."""
    queue.send_message("old")
    found = queue.receive_message(visibility_timeout=60)
    updated = queue.update_message(found, content="new", visibility_timeout=0)
    assert updated.pop_receipt != found.pop_receipt
    assert (updated.inserted_on, updated.expires_on, updated.dequeue_count) == (found.inserted_on, found.expires_on, 1)
    (peeked,) = queue.peek_messages()
    assert (peeked.id, peeked.content, peeked.dequeue_count) == (found.id, "new", 1)
    rejected(404, "MessageNotFound", queue.delete_message, found)
    queue.delete_message(found.id, updated.pop_receipt)


def test_update_without_text_keeps_it(queue):
    sent = queue.send_message("kept")
    updated = queue.update_message(sent.id, sent.pop_receipt, visibility_timeout=600)
    assert updated.next_visible_on - datetime.now(timezone.utc) > timedelta(seconds=540)
    assert queue.peek_messages() == []
    queue.update_message(sent.id, updated.pop_receipt, visibility_timeout=0)
    assert texts(queue.peek_messages()) == ["kept"]


def test_update_with_an_old_receipt(queue):
    sent = queue.send_message("x")
    queue.update_message(sent.id, sent.pop_receipt, content="y", visibility_timeout=0)
    rejected(404, "MessageNotFound", queue.update_message, sent.id, sent.pop_receipt, content="z")
    rejected(404, "MessageNotFound", queue.update_message, FOREIGN_ID, FOREIGN_RECEIPT, content="z")
    assert texts(queue.peek_messages()) == ["y"]


def test_clear(queue):
    for number in range(40):
        queue.send_message(f"{number}")
    held = queue.receive_message()
    queue.clear_messages()
    assert queue.get_queue_properties().approximate_message_count == 0
    assert queue.peek_messages() == []
    rejected(404, "MessageNotFound", queue.delete_message, held)


def test_delayed_message(queue):
    sent = queue.send_message("later", visibility_timeout=1)
    assert sent.next_visible_on - sent.inserted_on == timedelta(seconds=1)
    assert texts([eventually(queue.receive_message)]) == ["later"]


def test_delayed_message_is_invisible(queue):
    queue.send_message("later", visibility_timeout=600)
    queue.send_message("now")
    assert texts(queue.peek_messages(max_messages=32)) == ["now"]
    assert texts(queue.receive_messages()) == ["now"]


def test_time_to_live(queue):
    for seconds in (1, 600, 8 * 86400, 2**31 - 1):
        sent = queue.send_message("x", time_to_live=seconds)
        assert sent.expires_on - sent.inserted_on == timedelta(seconds=seconds)
    assert queue.send_message("x", time_to_live=-1).expires_on == FOREVER


def test_an_expired_message_is_gone(queue):
    queue.send_message("short", time_to_live=1)
    queue.send_message("long", time_to_live=600)
    eventually(lambda: texts(queue.peek_messages(max_messages=32)) == ["long"])
    assert texts(queue.receive_messages()) == ["long"]


def test_a_held_message_that_expires_cannot_be_deleted(queue):
    queue.send_message("short", time_to_live=1)
    held = queue.receive_message(visibility_timeout=600)
    if held is not None:
        eventually(lambda: datetime.now(timezone.utc) > held.expires_on + timedelta(seconds=1))
        rejected(404, "MessageNotFound", queue.delete_message, held)


@pytest.mark.parametrize("seconds", [0, -2])
def test_time_to_live_out_of_range(queue, seconds):
    found = rejected(400, "InvalidQueryParameterValue", queue.send_message, "x", time_to_live=seconds)
    assert (found["QueryParameterName"], found["QueryParameterValue"]) == ("messagettl", str(seconds))


def test_visibility_must_be_below_the_time_to_live(queue):
    """The client sends it if only the service's own limits are met."""
    found = rejected(400, "InvalidQueryParameterValue", queue.send_message, "x", time_to_live=30, visibility_timeout=30)
    assert found["QueryParameterName"] == "visibilitytimeout"
    assert found["Reason"] == "messagettl must be greater than visibilitytimeout"


@pytest.mark.parametrize("seconds", [-1, 7 * 86400 + 1])
def test_visibility_out_of_range(queue, seconds):
    sent = queue.send_message("x")
    calls = [
        lambda: queue.send_message("y", visibility_timeout=seconds),
        lambda: queue.receive_message(visibility_timeout=seconds),
        lambda: queue.update_message(sent.id, sent.pop_receipt, visibility_timeout=seconds),
    ]
    for call in calls:
        found = rejected(400, "OutOfRangeQueryParameterValue", call)
        assert (found["QueryParameterName"], found["QueryParameterValue"]) == ("visibilitytimeout", str(seconds))
        assert found["MaximumAllowed"] == "604800"


def test_visibility_of_zero_is_invalid_for_receiving(queue):
    found = rejected(400, "OutOfRangeQueryParameterValue", queue.receive_message, visibility_timeout=0)
    assert (found["MinimumAllowed"], found["MaximumAllowed"]) == ("1", "604800")


@pytest.mark.parametrize("count", [0, 33, 100])
def test_number_of_messages_out_of_range(queue, count):
    calls = [lambda: queue.receive_messages(messages_per_page=count)]
    if count == 0:  # the client itself rejects more than 32
        calls.append(lambda: queue.peek_messages(max_messages=count))
    for call in calls:
        found = rejected(400, "OutOfRangeQueryParameterValue", call)
        assert (found["QueryParameterName"], found["QueryParameterValue"]) == ("numofmessages", str(count))
        assert (found["MinimumAllowed"], found["MaximumAllowed"]) == ("1", "32")


TEXTS = {
    "empty": "", "blank": " ", "blanks around": "  x  ", "markup": "<a href=\"x\">&amp;</a>", "cdata": "<![CDATA[x]]>",
    "line feeds": "a\nb\n", "tab": "a\tb", "beyond ascii": "Grüße, 世界, 😀", "json": '{"a": [1, "b"]}', "base64": "aGVsbG8=",
    "long": "x" * 65536, "long beyond ascii": "é" * 32768,
}


@pytest.mark.parametrize("name", TEXTS)
def test_text_comes_back_as_it_was(queue, name):
    sent = queue.send_message(TEXTS[name])
    assert texts(queue.peek_messages()) == [TEXTS[name]]
    queue.update_message(sent.id, sent.pop_receipt, content="other", visibility_timeout=0)
    if not TEXTS[name]:  # the client sends no body, which keeps the text
        return
    found = queue.receive_message()
    queue.update_message(found, content=TEXTS[name], visibility_timeout=0)
    assert texts(queue.peek_messages()) == [TEXTS[name]]


def test_text_that_is_too_long(queue):
    """65,536 bytes of UTF-8 is the limit, whatever the number of characters."""
    sent = queue.send_message("x")
    for text in ("x" * 65537, "é" * 32769):
        for call in (lambda: queue.send_message(text), lambda: queue.update_message(sent.id, sent.pop_receipt, content=text, visibility_timeout=0)):
            assert rejected(413, "RequestBodyTooLarge", call)["MaxLimit"] == "65536"
    assert texts(queue.peek_messages(max_messages=32)) == ["x"]


def test_text_that_xml_cannot_carry(queue):
    rejected(400, "InvalidXmlDocument", queue.send_message, "a\x01b")


@pytest.mark.parametrize(
    "encode, decode, content, wire",
    [
        (TextBase64EncodePolicy(), TextBase64DecodePolicy(), "Grüße", "R3LDvMOfZQ=="),
        (BinaryBase64EncodePolicy(), BinaryBase64DecodePolicy(), bytes(range(256)), None),
    ],
    ids=["text", "binary"],
)
def test_encoding_policies(queue, encode, decode, content, wire):
    client = QueueClient(QUEUE_ENDPOINT, queue.queue_name, credential=CREDENTIAL, message_encode_policy=encode,
                         message_decode_policy=decode, **OPTIONS)
    client.send_message(content)
    assert client.peek_messages()[0].content == content
    assert wire in (None, queue.peek_messages()[0].content)
    found = client.receive_message()
    assert found.content == content
    client.update_message(found, content=content, visibility_timeout=0)
    assert client.receive_message().content == content


def test_no_message_has_two_holders(service, queue):
    """QU-01: selecting and hiding are one step, so concurrent clients divide the messages among them."""
    count, workers = 120, 8
    for number in range(count):
        queue.send_message(f"{number}")
    seen, lock = [], threading.Lock()

    def work():
        with QueueClient(QUEUE_ENDPOINT, queue.queue_name, credential=CREDENTIAL, **OPTIONS) as mine:
            for message in mine.receive_messages(messages_per_page=5, visibility_timeout=600):
                with lock:
                    seen.append(message.content)
                mine.delete_message(message)

    threads = [threading.Thread(target=work) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen, key=int) == [f"{number}" for number in range(count)]
    assert queue.get_queue_properties().approximate_message_count == 0
