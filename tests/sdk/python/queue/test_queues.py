"""Queues: create, list, metadata, delete, and every way to get a client."""

import pytest
from azure.core.exceptions import ResourceExistsError, ResourceNotFoundError
from azure.storage.queue import QueueClient, QueueProperties, QueueServiceClient

from conftest import ACCOUNT, CONNECTION_STRING, CREDENTIAL, KEY, OPTIONS, QUEUE_ENDPOINT, host_style, random_name, rejected


def listed(queues):
    return [item.name for item in queues]


def status_of(call, *arguments, **options):
    """The status of the response."""
    seen = []
    try:
        call(*arguments, raw_response_hook=lambda response: seen.append(response.http_response.status_code), **options)
    except ResourceExistsError as error:
        # The client treats the 204 for an existing queue with the same metadata as an error.
        seen.append(error.status_code)
    return seen[-1]


def test_create_queue_from_the_service(service, names):
    name = names()
    client = service.create_queue(name, metadata={"color": "blue"})
    assert isinstance(client, QueueClient)
    assert client.queue_name == name
    assert name in listed(service.list_queues())
    assert client.get_queue_properties().metadata == {"color": "blue"}


def test_create_queue_twice(service, names):
    """201 for a new queue, 204 for one with the same metadata, 409 for one with other metadata."""
    queue = service.get_queue_client(names())
    assert status_of(queue.create_queue, metadata={"color": "blue", "size": "2"}) == 201
    assert status_of(queue.create_queue, metadata={"color": "blue", "size": "2"}) == 204
    assert status_of(queue.create_queue, metadata={"Color": "blue", "SIZE": "2"}) == 204
    for metadata in ({"color": "red", "size": "2"}, {"color": "blue"}, {"color": "Blue", "size": "2"}, None):
        with pytest.raises(ResourceExistsError):
            queue.create_queue(metadata=metadata)
    found = rejected(409, "QueueAlreadyExists", queue.create_queue)
    assert found["Message"] == "The specified queue already exists."
    assert queue.get_queue_properties().metadata == {"color": "blue", "size": "2"}


def test_delete_queue(service, names):
    """Gone from the list and for every operation; its messages do not come back."""
    name = names()
    queue = service.create_queue(name)
    queue.send_message("x")
    service.delete_queue(name)
    assert name not in listed(service.list_queues(name_starts_with=name))
    for call in (
        queue.delete_queue, queue.get_queue_properties, queue.set_queue_metadata, queue.get_queue_access_policy,
        lambda: queue.set_queue_access_policy({}), lambda: queue.send_message("x"), queue.receive_message, queue.peek_messages,
        queue.clear_messages, lambda: queue.delete_message("a0b1c2d3-0000-4000-8000-000000000000", "AgAAAAMAAAAAAAAAAAAAAAAAAAA="),
    ):
        assert rejected(404, "QueueNotFound", call)["Message"] == "The specified queue does not exist."
    queue.create_queue()
    assert queue.peek_messages() == []


def test_delete_queue_by_properties(service, names):
    name = names()
    service.create_queue(name)
    (found,) = service.list_queues(name_starts_with=name)
    service.delete_queue(found)
    assert list(service.list_queues(name_starts_with=name)) == []


def test_list_queues(service, names):
    """Sorted by name, by prefix, with and without metadata."""
    prefix = random_name("py-")[:20]
    mine = sorted(names(prefix + letter) for letter in "cab")
    for name in reversed(mine):
        service.create_queue(name, metadata={"Name": name})
    found = list(service.list_queues(name_starts_with=prefix))
    assert listed(found) == mine
    assert all(isinstance(item, QueueProperties) and not item.metadata for item in found)
    assert [item.metadata for item in service.list_queues(name_starts_with=prefix, include_metadata=True)] == [{"Name": name} for name in mine]
    assert [name for name in listed(service.list_queues()) if name in mine] == mine
    assert listed(service.list_queues(name_starts_with=prefix + "b")) == [mine[1]]
    assert listed(service.list_queues(name_starts_with=prefix + "zzz")) == []


def test_list_queues_in_pages(service, names):
    """The token resumes in another client."""
    prefix = random_name("py-")[:20]
    mine = sorted(names(prefix + letter) for letter in "abcde")
    for name in mine:
        service.create_queue(name)
    pages = service.list_queues(name_starts_with=prefix, results_per_page=2).by_page()
    assert listed(next(pages)) == mine[:2]
    token = pages.continuation_token
    assert token
    with QueueServiceClient(QUEUE_ENDPOINT, credential=CREDENTIAL, **OPTIONS) as other:
        rest = other.list_queues(name_starts_with=prefix, results_per_page=2).by_page(continuation_token=token)
        assert [listed(page) for page in rest] == [mine[2:4], mine[4:]]


@pytest.mark.parametrize("size", [0, -1])
def test_list_queues_with_a_bad_page_size(service, size):
    found = rejected(400, "OutOfRangeQueryParameterValue", service.list_queues, results_per_page=size)
    assert found["Message"] == "One of the query parameters specified in the request URI is outside the permissible range."
    assert (found["QueryParameterName"], found["QueryParameterValue"]) == ("maxresults", str(size))


def test_metadata(service, queue):
    """QU-06: Set Queue Metadata replaces all earlier metadata, including that of other clients."""
    assert queue.get_queue_properties().metadata == {}
    queue.set_queue_metadata({"first": "1", "Second": "two words"})
    assert queue.get_queue_properties().metadata == {"first": "1", "Second": "two words"}
    service.get_queue_client(queue.queue_name).set_queue_metadata({"third": "3"})
    assert queue.get_queue_properties().metadata == {"third": "3"}
    queue.set_queue_metadata()
    assert queue.get_queue_properties().metadata == {}


def test_metadata_that_is_invalid(queue):
    assert rejected(400, "InvalidMetadata", queue.set_queue_metadata, {"a-b": "1"})["Message"].startswith("The metadata specified is invalid.")
    rejected(400, "EmptyMetadataKey", queue.set_queue_metadata, {"": "1"})


def test_properties(queue):
    """The approximate count includes messages that are hidden."""
    assert queue.get_queue_properties().approximate_message_count == 0
    for text in "abc":
        queue.send_message(text)
    queue.receive_message()
    found = queue.get_queue_properties()
    assert (found.name, found.approximate_message_count) == (queue.queue_name, 3)


def test_clients_from_everything(queue):
    """Connection string, URL, credential, each API version: all reach the same message."""
    queue.send_message("here")
    name = queue.queue_name
    clients = [
        QueueClient(QUEUE_ENDPOINT, name, credential=CREDENTIAL, **OPTIONS),
        QueueClient.from_connection_string(CONNECTION_STRING, name, **OPTIONS),
        QueueClient.from_queue_url(f"{QUEUE_ENDPOINT}/{name}", credential=CREDENTIAL, **OPTIONS),
        QueueServiceClient.from_connection_string(CONNECTION_STRING, **OPTIONS).get_queue_client(name),
    ] + [
        QueueClient(QUEUE_ENDPOINT, name, credential=CREDENTIAL, api_version=version, **OPTIONS)
        for version in ("2019-02-02", "2021-02-12", "2024-08-04")
    ]
    for client in clients:
        with client:
            assert (client.account_name, client.queue_name) == (ACCOUNT, name)
            assert client.url == f"{QUEUE_ENDPOINT}/{name}"
            assert client.peek_messages()[0].content == "here"


def test_close(queue):
    client = QueueClient(QUEUE_ENDPOINT, queue.queue_name, credential=CREDENTIAL, **OPTIONS)
    assert client.peek_messages() == []
    client.close()


def test_api_version_and_request_id_are_echoed(service):
    for version in ("2019-02-02", "2020-10-02", "2025-05-05"):
        with QueueServiceClient(QUEUE_ENDPOINT, credential=CREDENTIAL, api_version=version, **OPTIONS) as client:
            responses = []
            next(client.list_queues(results_per_page=1, raw_response_hook=responses.append, client_request_id="my-own-id").by_page())
            headers = responses[0].http_response.headers
            assert headers["x-ms-version"] == version
            assert headers["x-ms-client-request-id"] == "my-own-id"
            assert headers["x-ms-request-id"] and headers["Date"].endswith("GMT")
            assert headers["Cache-Control"] == "no-cache"


@pytest.mark.skipif(not host_style(QUEUE_ENDPOINT, "queue"), reason="the endpoint itself is host style")
def test_host_style(service, names):
    """The account as the first label of the host name."""
    with QueueServiceClient(host_style(QUEUE_ENDPOINT, "queue"), credential=CREDENTIAL, **OPTIONS) as client:
        queue = client.create_queue(names())
        queue.send_message("by host name")
        assert queue.queue_name in listed(client.list_queues(name_starts_with=queue.queue_name))
    assert service.get_queue_client(queue.queue_name).receive_message().content == "by host name"


LENGTH = ("OutOfRangeInput", "The specified resource name length is not within the permissible limits.")
# The live service spells it this way.
CHARACTERS = ("InvalidResourceName", "The specifed resource name contains invalid characters.")


@pytest.mark.parametrize(
    "name, expected",
    [("ab", LENGTH), ("a" * 64, LENGTH), ("Upper", CHARACTERS), ("a--b", CHARACTERS), ("-ab", CHARACTERS), ("ab-", CHARACTERS), ("a_b", CHARACTERS)],
)
def test_invalid_names(service, name, expected):
    """DeleteChannelAndBlogs, of an early sample, is invalid too: queue names have no upper case."""
    found = rejected(400, expected[0], service.create_queue, name)
    assert found["Message"] in (expected[1], "One of the request inputs is out of range.")


def test_longest_and_shortest_name(service):
    for name in ("q" + random_name()[-2:], random_name("q" * 31)[:63]):
        service.create_queue(name)
        assert name in listed(service.list_queues(name_starts_with=name))
        service.delete_queue(name)


def test_wrong_key(queue):
    other = QueueClient(QUEUE_ENDPOINT, queue.queue_name, credential=CREDENTIAL | {"account_key": "AAAA" + KEY[4:]}, **OPTIONS)
    found = rejected(403, "AuthenticationFailed", other.peek_messages)
    assert found["Message"].startswith("Server failed to authenticate the request.")


def test_missing_queue_is_a_not_found_error(service):
    with pytest.raises(ResourceNotFoundError):
        service.get_queue_client(random_name()).get_queue_properties()
