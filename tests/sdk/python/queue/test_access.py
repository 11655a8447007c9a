"""Stored access policies and shared access signatures: who may do what, and for how long."""

from datetime import datetime, timedelta, timezone

import pytest
from azure.core.credentials import AzureSasCredential
from azure.core.exceptions import HttpResponseError, ResourceExistsError
from azure.core.pipeline.transport import RequestsTransport
from azure.storage.queue import (
    AccessPolicy,
    AccountSasPermissions,
    QueueClient,
    QueueSasPermissions,
    QueueServiceClient,
    ResourceTypes,
    Services,
    generate_account_sas,
    generate_queue_sas,
)

from conftest import ACCOUNT, KEY, OPTIONS, QUEUE_ENDPOINT, random_name, rejected, texts
from suite import TOKEN, with_token


def soon(hours=1):
    return datetime.now(timezone.utc) + timedelta(hours=hours)


def holder(queue, permission=None, expiry=None, **options):
    """A client that has nothing but a signature for this queue."""
    if permission is not None:
        expiry = expiry or soon()
    token = generate_queue_sas(ACCOUNT, queue.queue_name, KEY, permission=permission, expiry=expiry, **options)
    return QueueClient(QUEUE_ENDPOINT, queue.queue_name, credential=token, **OPTIONS)


def allowed(call):
    """Whether a call is permitted; any failure other than 403 fails the test."""
    try:
        result = call()
        if hasattr(result, "by_page"):
            list(result)
        return True
    except ResourceExistsError:
        # The client treats the 204 for an existing queue with the same metadata as an error.
        return True
    except HttpResponseError as error:
        assert error.status_code == 403, error
        assert error.error_code in ("AuthorizationPermissionMismatch", "AuthorizationFailure"), error
        return False


@pytest.mark.acl
def test_access_policy(queue):
    """Times come back with seven digits; an empty policy keeps its name."""
    assert queue.get_queue_access_policy() == {}
    start, expiry = datetime(2030, 1, 2, tzinfo=timezone.utc), datetime(2030, 3, 4, 5, 6, 7, tzinfo=timezone.utc)
    queue.set_queue_access_policy({
        "full": AccessPolicy(permission=QueueSasPermissions(read=True, add=True, update=True, process=True), start=start, expiry=expiry),
        "read": AccessPolicy(permission="r"),
        "empty": AccessPolicy(),
    })
    found = queue.get_queue_access_policy()
    assert list(found) == ["full", "read", "empty"]
    assert (found["full"].start, found["full"].expiry, found["full"].permission) == (
        "2030-01-02T00:00:00.0000000Z", "2030-03-04T05:06:07.0000000Z", "raup")
    assert found["read"].permission == "r"
    queue.set_queue_access_policy({})
    assert queue.get_queue_access_policy() == {}


@pytest.mark.acl
def test_at_most_five_policies(queue):
    queue.set_queue_access_policy({f"p{number}": AccessPolicy(permission="r") for number in range(5)})
    rejected(400, "InvalidXmlDocument", queue.set_queue_access_policy, {f"p{number}": AccessPolicy(permission="r") for number in range(6)})
    assert len(queue.get_queue_access_policy()) == 5


CALLS = {
    "peek": (lambda queue, sent: queue.peek_messages(), "r"),
    "send": (lambda queue, sent: queue.send_message("x"), "a"),
    "receive": (lambda queue, sent: queue.receive_message(visibility_timeout=1), "p"),
    "update": (lambda queue, sent: queue.update_message(sent.id, sent.pop_receipt, visibility_timeout=0), "u"),
    "delete": (lambda queue, sent: queue.delete_message(sent.id, sent.pop_receipt), "p"),
    "properties": (lambda queue, sent: queue.get_queue_properties(), "r"),
    "metadata": (lambda queue, sent: queue.set_queue_metadata({"a": "b"}), ""),
    "clear": (lambda queue, sent: queue.clear_messages(), ""),
    "remove": (lambda queue, sent: queue.delete_queue(), ""),
    "create": (lambda queue, sent: queue.create_queue(), ""),
    "policies": (lambda queue, sent: queue.get_queue_access_policy(), ""),
    "set policies": (lambda queue, sent: queue.set_queue_access_policy({}), ""),
}


@pytest.mark.sas
@pytest.mark.parametrize("name", CALLS)
def test_each_permission_of_a_queue_sas(queue, name):
    """r reads and peeks, a sends, u updates, p receives and deletes; the rest needs the account's key or an account SAS."""
    call, letters = CALLS[name]
    for letter in "raup":
        sent = queue.send_message("mine")
        assert allowed(lambda: call(holder(queue, letter), sent)) == (letter in letters), letter


@pytest.mark.sas
def test_queue_sas_for_another_queue(service, queue, names):
    other = service.create_queue(names())
    token = generate_queue_sas(ACCOUNT, other.queue_name, KEY, permission="raup", expiry=soon())
    rejected(403, "AuthenticationFailed", QueueClient(QUEUE_ENDPOINT, queue.queue_name, credential=token, **OPTIONS).peek_messages)


@pytest.mark.sas
def test_times_of_a_queue_sas(queue):
    queue.send_message("x")
    assert texts(holder(queue, "r", start=soon(-1)).peek_messages()) == ["x"]
    rejected(403, "AuthenticationFailed", holder(queue, "r", expiry=soon(-1)).peek_messages)
    rejected(403, "AuthenticationFailed", holder(queue, "r", start=soon(1), expiry=soon(2)).peek_messages)


@pytest.mark.sas
def test_protocol_and_address_of_a_queue_sas(queue):
    assert holder(queue, "r", protocol="https,http").peek_messages() == []
    assert holder(queue, "r", ip="127.0.0.0-127.0.0.255").peek_messages() == []
    rejected(403, "AuthorizationSourceIPMismatch", holder(queue, "r", ip="192.0.2.1").peek_messages)
    if QUEUE_ENDPOINT.startswith("http:"):
        rejected(403, "AuthorizationProtocolMismatch", holder(queue, "r", protocol="https").peek_messages)


@pytest.mark.sas
@pytest.mark.acl
def test_stored_policy(queue):
    """Removing the policy revokes what was signed with it."""
    queue.set_queue_access_policy({"reader": AccessPolicy(permission="r", expiry=soon()), "late": AccessPolicy(permission="r", expiry=soon(-1))})
    reader = holder(queue, policy_id="reader")
    assert reader.peek_messages() == []
    assert not allowed(lambda: reader.send_message("x"))
    rejected(403, "AuthenticationFailed", holder(queue, policy_id="late").peek_messages)
    rejected(403, "AuthenticationFailed", holder(queue, policy_id="unknown").peek_messages)
    queue.set_queue_access_policy({})
    rejected(403, "AuthenticationFailed", reader.peek_messages)


@pytest.mark.sas
@pytest.mark.acl
def test_stored_policy_and_token_complete_each_other(queue):
    queue.set_queue_access_policy({"until": AccessPolicy(expiry=soon())})
    token = generate_queue_sas(ACCOUNT, queue.queue_name, KEY, policy_id="until", permission="a")
    QueueClient(QUEUE_ENDPOINT, queue.queue_name, credential=token, **OPTIONS).send_message("x")
    assert len(queue.peek_messages()) == 1


def account_sas(resources, permission, services="q", **options):
    return generate_account_sas(ACCOUNT, KEY, ResourceTypes.from_string(resources), AccountSasPermissions.from_string(permission),
                                options.pop("expiry", soon()), services=Services.from_string(services), **options)


def account(resources, permission, **options):
    return QueueServiceClient(QUEUE_ENDPOINT, credential=account_sas(resources, permission, **options), **OPTIONS)


@pytest.mark.sas
def test_account_sas(names):
    """Everything that an account SAS can do to queues."""
    client = account("sco", "rwdlacup")
    name = names()
    queue = client.create_queue(name, metadata={"a": "b"})
    assert [item.name for item in client.list_queues(name_starts_with=name)] == [name]
    queue.set_queue_metadata({"c": "d"})
    assert queue.get_queue_properties().metadata == {"c": "d"}
    sent = queue.send_message("x")
    queue.update_message(sent.id, sent.pop_receipt, content="y", visibility_timeout=0)
    assert texts(queue.peek_messages()) == ["y"]
    queue.delete_message(queue.receive_message())
    queue.clear_messages()
    assert not allowed(queue.get_queue_access_policy)
    queue.delete_queue()


@pytest.mark.sas
@pytest.mark.parametrize(
    "call, resource, permissions",
    [
        (lambda service, queue, sent: service.list_queues(), "s", "l"),
        (lambda service, queue, sent: service.get_service_properties(), "s", "r"),
        (lambda service, queue, sent: queue.create_queue(), "c", "cw"),
        (lambda service, queue, sent: queue.get_queue_properties(), "c", "r"),
        (lambda service, queue, sent: queue.set_queue_metadata({"a": "b"}), "c", "w"),
        (lambda service, queue, sent: queue.send_message("x"), "o", "a"),
        (lambda service, queue, sent: queue.receive_message(visibility_timeout=1), "o", "p"),
        (lambda service, queue, sent: queue.peek_messages(), "o", "r"),
        (lambda service, queue, sent: queue.update_message(sent.id, sent.pop_receipt, visibility_timeout=0), "o", "u"),
        (lambda service, queue, sent: queue.delete_message(sent.id, sent.pop_receipt), "o", "p"),
        (lambda service, queue, sent: queue.clear_messages(), "o", "d"),
    ],
    ids=["list", "properties", "create", "metadata", "set metadata", "send", "receive", "peek", "update", "delete", "clear"],
)
def test_each_permission_of_an_account_sas(queue, call, resource, permissions):
    for letter in "rwdlacup":
        sent = queue.send_message("mine")
        client = account(resource, letter)
        assert allowed(lambda: call(client, client.get_queue_client(queue.queue_name), sent)) == (letter in permissions), letter
        queue.set_queue_metadata()
    others = account("sco".replace(resource, ""), "rwdlacup")
    with pytest.raises(HttpResponseError) as raised:
        result = call(others, others.get_queue_client(queue.queue_name), queue.send_message("mine"))
        list(result or [])
    assert (raised.value.status_code, raised.value.error_code) == (403, "AuthorizationResourceTypeMismatch")


@pytest.mark.sas
def test_account_sas_for_another_service(queue):
    rejected(403, "AuthorizationServiceMismatch", account("sco", "rwdlacup", services="bt").get_queue_client(queue.queue_name).peek_messages)


@pytest.mark.sas
def test_sas_credential_object_and_url(queue):
    queue.send_message("x")
    token = generate_queue_sas(ACCOUNT, queue.queue_name, KEY, permission="r", expiry=soon())
    assert texts(QueueClient(QUEUE_ENDPOINT, queue.queue_name, credential=AzureSasCredential(token), **OPTIONS).peek_messages()) == ["x"]
    assert texts(QueueClient.from_queue_url(f"{QUEUE_ENDPOINT}/{queue.queue_name}?{token}", **OPTIONS).peek_messages()) == ["x"]


@pytest.mark.sas
def test_signature_that_was_changed(queue):
    token = generate_queue_sas(ACCOUNT, queue.queue_name, KEY, permission="r", expiry=soon())
    changed = token.replace("sp=r", "sp=raup")
    rejected(403, "AuthenticationFailed", QueueClient(QUEUE_ENDPOINT, queue.queue_name, credential=changed, **OPTIONS).peek_messages)


@pytest.mark.sas
def test_missing_queue_under_a_sas(service):
    queue = service.get_queue_client(random_name())
    rejected(404, "QueueNotFound", holder(queue, "r").peek_messages)


@pytest.mark.sas
@pytest.mark.skipif(not TOKEN, reason="LAZULI_TOKEN is not set")
def test_user_delegation(queue):
    """A user's key signs a token for one queue, with no more rights than the letters in it."""
    queue.send_message("here")
    with QueueServiceClient(QUEUE_ENDPOINT, credential=KEY, transport=with_token(RequestsTransport), **OPTIONS) as user:
        key = user.get_user_delegation_key(start=soon(-1), expiry=soon(2))
    assert (key.signed_service, key.signed_expiry > key.signed_start) == ("q", True)
    token = generate_queue_sas(ACCOUNT, queue.queue_name, user_delegation_key=key, permission="r", expiry=soon())
    reader = QueueClient(QUEUE_ENDPOINT, queue.queue_name, credential=token, **OPTIONS)
    assert texts(reader.peek_messages()) == ["here"]
    rejected(403, "AuthorizationPermissionMismatch", reader.send_message, "x")
    other = QueueClient(QUEUE_ENDPOINT, random_name(), credential=token, **OPTIONS)
    rejected(403, "AuthenticationFailed", other.peek_messages)
    key.value = KEY
    forged = generate_queue_sas(ACCOUNT, queue.queue_name, user_delegation_key=key, permission="r", expiry=soon())
    rejected(403, "AuthenticationFailed", QueueClient(QUEUE_ENDPOINT, queue.queue_name, credential=forged, **OPTIONS).peek_messages)
