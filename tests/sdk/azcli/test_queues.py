"""`az storage queue` and `az storage message`."""

import uuid

import pytest
from conftest import QUEUE_ENDPOINT, key, rejected, with_sas

pytestmark = pytest.mark.skipif(not QUEUE_ENDPOINT, reason="the server does not offer queues")


@pytest.fixture
def queue():
    name = "az-" + uuid.uuid4().hex
    assert key("queue", "create", "-n", name) == {"created": True}
    yield name
    key("queue", "delete", "-n", name)


def test_queues(queue):
    assert key("queue", "exists", "-n", queue) == {"exists": True}
    assert key("queue", "create", "-n", queue) == {"created": False}
    rejected("QueueAlreadyExists", key, "queue", "create", "-n", queue, "--fail-on-exist", "--metadata", "a=b")
    assert queue in [item["name"] for item in key("queue", "list", "--prefix", queue)]
    key("queue", "metadata", "update", "-n", queue, "--metadata", "color=blue")
    assert key("queue", "metadata", "show", "-n", queue) == {"color": "blue"}
    assert key("queue", "delete", "-n", queue) == {"deleted": True}
    assert key("queue", "exists", "-n", queue) == {"exists": False}
    rejected("queue does not exist", key, "queue", "delete", "-n", queue, "--fail-not-exist")


def test_messages(queue):
    """QU-01, QU-03"""
    sent = key("message", "put", "-q", queue, "--content", "hello <&> Grüße", "--time-to-live", 600)
    assert sent["content"] == "hello <&> Grüße"
    assert [message["content"] for message in key("message", "peek", "-q", queue)] == ["hello <&> Grüße"]
    (held,) = key("message", "get", "-q", queue, "--visibility-timeout", 60)
    assert held["dequeueCount"] == 1
    assert key("message", "get", "-q", queue) == []
    updated = key("message", "update", "-q", queue, "--id", held["id"], "--pop-receipt", held["popReceipt"], "--content", "new", "--visibility-timeout", 0)
    rejected("MessageNotFound", key, "message", "delete", "-q", queue, "--id", held["id"], "--pop-receipt", held["popReceipt"])
    key("message", "delete", "-q", queue, "--id", held["id"], "--pop-receipt", updated["popReceipt"])
    key("message", "put", "-q", queue, "--content", "x")
    key("message", "clear", "-q", queue)
    assert key("message", "peek", "-q", queue) == []


@pytest.mark.acl
@pytest.mark.sas
def test_policies_and_signatures(queue):
    key("queue", "policy", "create", "-q", queue, "-n", "reader", "--permissions", "r", "--expiry", "2099-01-01T00:00Z", "--start", "2020-01-01T00:00Z")
    assert list(key("queue", "policy", "list", "-q", queue)) == ["reader"]
    assert key("queue", "policy", "show", "-q", queue, "-n", "reader")["permission"] == "r"
    token = key("queue", "generate-sas", "-n", queue, "--policy-name", "reader")
    assert with_sas(token, "message", "peek", "-q", queue) == []
    rejected("not authorized", with_sas, token, "message", "put", "-q", queue, "--content", "x")
    key("queue", "policy", "delete", "-q", queue, "-n", "reader")
    token = key("queue", "generate-sas", "-n", queue, "--permissions", "a", "--expiry", "2099-01-01T00:00Z")
    with_sas(token, "message", "put", "-q", queue, "--content", "x")


@pytest.mark.properties
def test_service_settings():
    key("logging", "update", "--services", "q", "--log", "rwd", "--retention", 5)
    assert key("logging", "show", "--services", "q")["queue"]["retentionPolicy"]["days"] == 5
    key("logging", "off", "--services", "q")
    key("cors", "add", "--services", "q", "--methods", "GET", "--origins", "www.xyz.com", "--max-age", 5)
    assert [rule["AllowedOrigins"] for rule in key("cors", "list", "--services", "q")] == ["www.xyz.com"]
    key("cors", "clear", "--services", "q")
