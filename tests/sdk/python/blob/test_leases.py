"""Leases on blobs and containers: who may write, and both tables of states."""

import uuid

import pytest
from azure.storage.blob import BlobBlock, BlobLeaseClient

from conftest import content, eventually, outcome, rejected, source

OTHER = str(uuid.uuid4())


def state(client):
    """Status, state and duration, of a blob or a container."""
    found = (client.get_blob_properties if hasattr(client, "blob_name") else client.get_container_properties)()
    return found.lease.status, found.lease.state, found.lease.duration


@pytest.fixture(params=["blob", "container"])
def thing(request, container, blob):
    """A blob, then a container: both can be leased."""
    return blob if request.param == "blob" else container


def test_life_of_a_lease(thing):
    """LS-01, LS-03: acquire, renew, change, release; the ETag stays (BL-08)."""
    lease = thing.acquire_lease(15)
    assert uuid.UUID(lease.id)
    assert state(thing) == ("locked", "leased", "fixed")
    etag = lease.etag
    lease.renew()
    assert lease.etag == etag
    old = lease.id
    lease.change(OTHER)
    assert lease.id == OTHER
    assert outcome(BlobLeaseClient(thing, old).renew) == (409, "LeaseIdMismatchWithLeaseOperation")
    lease.change(OTHER)  # once more is no error
    lease.release()
    assert state(thing) == ("unlocked", "available", None)


def test_infinite_lease_and_proposed_id(thing):
    lease = thing.acquire_lease(-1, lease_id=OTHER)
    assert lease.id == OTHER
    assert state(thing) == ("locked", "leased", "infinite")
    assert lease.break_lease() == 0
    assert state(thing) == ("unlocked", "broken", None)


@pytest.mark.parametrize("seconds", [0, 14, 61, -2])
def test_duration_out_of_range(thing, seconds):
    """LS-01"""
    assert rejected(400, "InvalidHeaderValue", thing.acquire_lease, seconds)["HeaderName"] == "x-ms-lease-duration"


def test_acquire_a_leased_blob_or_container(thing):
    """LS-02: 409 for everybody but the holder, who may acquire again, with another duration."""
    lease = thing.acquire_lease(15)
    for options in ({}, {"lease_id": OTHER}):
        found = rejected(409, "LeaseAlreadyPresent", thing.acquire_lease, 15, **options)
        assert found["Message"] == "There is already a lease present."
    assert thing.acquire_lease(-1, lease_id=lease.id).id == lease.id
    assert state(thing) == ("locked", "leased", "infinite")


def test_operations_without_a_lease(thing):
    lease = BlobLeaseClient(thing, OTHER)
    assert outcome(lease.break_lease) == (409, "LeaseNotPresentWithLeaseOperation")
    assert outcome(lease.change, str(uuid.uuid4())) == (409, "LeaseNotPresentWithLeaseOperation")
    assert outcome(lease.renew) == (409, "LeaseIdMismatchWithLeaseOperation")
    assert outcome(lease.release) == (409, "LeaseIdMismatchWithLeaseOperation")


def test_operations_with_a_wrong_id(thing):
    thing.acquire_lease(15)
    lease = BlobLeaseClient(thing, OTHER)
    for call in (lease.renew, lease.release, lambda: lease.change(str(uuid.uuid4()))):
        assert outcome(call) == (409, "LeaseIdMismatchWithLeaseOperation")
    assert outcome(thing.acquire_lease, 15, lease_id="no-guid") == (400, "InvalidHeaderValue")


def test_breaking_and_broken(thing):
    """LS-03: a break takes effect after its period, and the holder may still release the lease; then anybody may acquire it."""
    lease = thing.acquire_lease(15)
    assert 13 <= lease.break_lease(lease_break_period=60) <= 15
    assert state(thing) == ("locked", "breaking", None)
    assert outcome(thing.acquire_lease, 15) == (409, "LeaseAlreadyPresent")
    assert outcome(thing.acquire_lease, 15, lease_id=lease.id) == (409, "LeaseIsBreakingAndCannotBeAcquired")
    assert outcome(lease.renew) == (409, "LeaseIsBrokenAndCannotBeRenewed")
    assert outcome(BlobLeaseClient(thing, lease.id).change, OTHER) == (409, "LeaseIsBreakingAndCannotBeChanged")
    assert lease.break_lease(lease_break_period=1) <= 1
    eventually(lambda: state(thing) == ("unlocked", "broken", None))
    assert outcome(lease.renew) == (409, "LeaseIsBrokenAndCannotBeRenewed")
    assert lease.break_lease() == 0
    assert thing.acquire_lease(15).id != lease.id


def test_release_while_breaking(thing):
    lease = thing.acquire_lease(-1)
    lease.break_lease(lease_break_period=60)
    lease.release()
    assert state(thing) == ("unlocked", "available", None)


def test_break_period_out_of_range(thing):
    lease = thing.acquire_lease(15)
    assert outcome(lease.break_lease, lease_break_period=61) == (400, "InvalidHeaderValue")


def test_a_lease_ends_by_itself(container, blob):
    """LS-04, LS-06: after 15 seconds it is expired; its id is invalid for writing, and may be renewed."""
    renewed = container.upload_blob("renewed", b"x")
    written = container.upload_blob("written", b"x")
    leases = [client.acquire_lease(15) for client in (blob, container, renewed, written)]
    eventually(lambda: state(written) == ("unlocked", "expired", None))
    for client in (blob, container, renewed):
        assert state(client) == ("unlocked", "expired", None)
    rejected(412, "LeaseLost", blob.upload_blob, b"late", overwrite=True, lease=leases[0])
    assert content(blob) == b"0123456789"
    leases[2].renew()
    assert state(renewed) == ("locked", "leased", "fixed")
    written.upload_blob(b"by another", overwrite=True)
    assert state(written) == ("unlocked", "available", None)
    assert outcome(leases[3].renew)[0] == 409
    leases[1].renew()
    leases[1].release()


WRITES = {
    "upload": lambda blob, **lease: blob.upload_blob(b"new", overwrite=True, **lease),
    "stage": lambda blob, **lease: blob.stage_block("AAAA", b"x", **lease),
    "commit": lambda blob, **lease: blob.commit_block_list([BlobBlock("AAAB")], **lease),
    "metadata": lambda blob, **lease: blob.set_blob_metadata({"a": "b"}, **lease),
    "properties": lambda blob, **lease: blob.set_http_headers(None, **lease),
    "copy": lambda blob, **lease: blob.start_copy_from_url(blob.other, **({"destination_lease": lease["lease"]} if lease else {})),
    "delete": lambda blob, **lease: blob.delete_blob(**lease),
}
READS = {
    "download": lambda blob, **lease: blob.download_blob(**lease),
    "get properties": lambda blob, **lease: blob.get_blob_properties(**lease),
    "block list": lambda blob, **lease: blob.get_block_list(**lease),
    "snapshot": lambda blob, **lease: blob.create_snapshot(**lease),
}


@pytest.fixture
def target(container, blob):
    blob.stage_block("AAAB", b"x")
    blob.other = source(container.upload_blob("other", b"other"))
    return blob


@pytest.mark.parametrize("name", WRITES)
def test_writing_needs_the_lease(target, name):
    """LS-05, LS-08, LS-09"""
    wrong = BlobLeaseClient(target, OTHER)
    assert outcome(WRITES[name], target, lease=wrong) == (412, "LeaseNotPresentWithBlobOperation")
    lease = target.acquire_lease(-1)
    found = rejected(412, "LeaseIdMissing", WRITES[name], target)
    assert found["Message"] == "There is currently a lease on the blob and no lease ID was specified in the request."
    assert outcome(WRITES[name], target, lease=wrong) == (412, "LeaseIdMismatchWithBlobOperation")
    WRITES[name](target, lease=lease)
    assert name == "delete" or state(target) == ("locked", "leased", "infinite")


@pytest.mark.parametrize("name", READS)
def test_reading_does_not_need_the_lease(target, name):
    """LS-07, LS-08, LS-09: shared reads; but an id that is sent must be right."""
    wrong = BlobLeaseClient(target, OTHER)
    assert outcome(READS[name], target, lease=wrong) == (412, "LeaseNotPresentWithBlobOperation")
    lease = target.acquire_lease(-1)
    READS[name](target)
    READS[name](target, lease=lease)
    assert outcome(READS[name], target, lease=wrong) == (412, "LeaseIdMismatchWithBlobOperation")


def test_lease_and_create_if_absent(target):
    """The lease is checked before `If-None-Match: *`: a write with the right id succeeds in spite of it."""
    lease = target.acquire_lease(-1)
    assert outcome(target.upload_blob, b"x") == (412, "LeaseIdMissing")
    assert outcome(target.upload_blob, b"x", lease=lease) == "ok"


def test_lease_id_for_a_blob_that_does_not_exist(container):
    blob = container.get_blob_client("missing")
    assert outcome(blob.upload_blob, b"x", overwrite=True, lease=BlobLeaseClient(blob, OTHER))[0] == 412


def test_broken_lease_frees_the_writer(target):
    lease = target.acquire_lease(-1)
    lease.break_lease(lease_break_period=0)
    assert outcome(WRITES["upload"], target, lease=lease) == (412, "LeaseLost")
    WRITES["upload"](target)
    assert state(target) == ("unlocked", "available", None)


def test_leased_container(container, blob):
    """LS-10: only deleting it needs the id. An id that is sent with another operation must be right."""
    lease, wrong = container.acquire_lease(-1), BlobLeaseClient(container, OTHER)
    rejected(412, "LeaseIdMissing", container.delete_container)
    rejected(412, "LeaseIdMismatchWithContainerOperation", container.delete_container, lease=wrong)
    others = [
        lambda **options: container.get_container_properties(**options), lambda **options: container.set_container_metadata({"a": "b"}, **options),
        lambda **options: container.get_container_access_policy(**options), lambda **options: container.set_container_access_policy({}, **options),
    ]
    for call in others:
        call()
        call(lease=lease)
        rejected(412, "LeaseIdMismatchWithContainerOperation", call, lease=wrong)
    assert [item.name for item in container.list_blobs()] == ["blob"]
    blob.upload_blob(b"free", overwrite=True)
    container.delete_container(lease=lease)


def test_id_without_a_lease_on_the_container(container):
    rejected(412, "LeaseNotPresentWithContainerOperation", container.delete_container, lease=BlobLeaseClient(container, OTHER))


def test_blob_lease_does_not_keep_the_container(container, blob):
    blob.acquire_lease(-1)
    container.delete_container()
    assert not container.exists()


def test_leased_blob_in_a_listing(container, blob):
    blob.acquire_lease(-1)
    (found,) = container.list_blobs()
    assert (found.lease.status, found.lease.state, found.lease.duration) == ("locked", "leased", "infinite")


def test_terraform_state_lock(container, blob):
    """A lock as Terraform's backend takes it: infinite lease, lock information in metadata, force-unlock by breaking."""
    lease = blob.acquire_lease(-1, lease_id=OTHER)
    blob.set_blob_metadata({"terraformlockid": "eyJJRCI6ICIxIn0="}, lease=lease)
    assert "There is currently a lease on the blob and no lease ID was specified in the request" in rejected(
        412, "LeaseIdMissing", blob.upload_blob, b"{}", overwrite=True)["Message"]
    blob.upload_blob(b"{}", overwrite=True, lease=lease, metadata={"terraformlockid": "eyJJRCI6ICIxIn0="})
    assert blob.get_blob_properties().metadata == {"terraformlockid": "eyJJRCI6ICIxIn0="}
    BlobLeaseClient(blob).break_lease()
    blob.upload_blob(b"{}", overwrite=True)
