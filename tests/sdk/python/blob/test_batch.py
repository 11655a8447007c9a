"""Several deletes in one request."""

import pytest
from azure.storage.blob import ContainerClient, PartialBatchErrorException, generate_container_sas

from conftest import ACCOUNT, KEY, OPTIONS, soon

pytestmark = pytest.mark.batch


@pytest.fixture
def three(container):
    for name in ("a", "b c", "d/é"):
        container.upload_blob(name, b"x")
    return container


def statuses(responses):
    return [response.status_code for response in responses]


def test_delete_blobs(three):
    assert statuses(three.delete_blobs("a", "b c", "d/é")) == [202, 202, 202]
    assert list(three.list_blobs()) == []


def test_outcomes_are_independent(three):
    """One part fails, the others are done."""
    with pytest.raises(PartialBatchErrorException) as raised:
        three.delete_blobs("a", "missing", "b c")
    assert sorted(statuses(raised.value.parts)) == [202, 202, 404]
    assert [item.name for item in three.list_blobs()] == ["d/é"]
    responses = list(three.delete_blobs("missing", "d/é", raise_on_any_failure=False))
    assert statuses(responses) == [404, 202]
    assert responses[0].headers["x-ms-error-code"] == "BlobNotFound"


def test_delete_with_snapshots_and_conditions(three):
    three.get_blob_client("a").create_snapshot()
    assert statuses(three.delete_blobs("a", raise_on_any_failure=False)) == [409]
    assert statuses(three.delete_blobs("a", delete_snapshots="include")) == [202]
    assert statuses(three.delete_blobs({"name": "b c", "etag": '"0x8D7A00000000000"'}, "d/é", raise_on_any_failure=False)) == [412, 202]


def test_under_a_signature(three):
    """The signature of the request applies to its parts."""
    token = generate_container_sas(ACCOUNT, three.container_name, KEY, permission="d", expiry=soon())
    client = ContainerClient.from_container_url(f"{three.url}?{token}", **OPTIONS)
    assert statuses(client.delete_blobs("a", "b c")) == [202, 202]


def test_as_many_as_a_batch_can_hold(container):
    names = [f"{number:03}" for number in range(256)]
    for name in names[:20]:
        container.upload_blob(name, b"")
    assert sorted(statuses(container.delete_blobs(*names, raise_on_any_failure=False))) == [202] * 20 + [404] * 236
    # The whole batch is rejected, with a part that belongs to none of its requests.
    assert statuses(container.delete_blobs(*names, "one more", raise_on_any_failure=False)) == [400]
