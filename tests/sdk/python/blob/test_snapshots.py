"""Snapshots: what they keep, how they are read and deleted."""

import pytest

from conftest import content, rejected


def test_a_snapshot_keeps_content_properties_and_metadata(container, blob):
    before = blob.get_blob_properties()
    response = blob.create_snapshot()
    assert response["etag"] == before.etag and response["snapshot"].endswith("Z")
    blob.upload_blob(b"changed", overwrite=True, metadata={"new": "1"})
    snapshot = container.get_blob_client("blob", snapshot=response["snapshot"])
    assert content(snapshot) == b"0123456789"
    found = snapshot.get_blob_properties()
    assert (found.metadata, found.snapshot, found.size) == ({"color": "blue"}, response["snapshot"], 10)
    assert content(snapshot, offset=2, length=3) == b"234"
    assert content(blob) == b"changed"
    assert snapshot.exists()


def test_a_snapshot_may_have_metadata_of_its_own(container, blob):
    response = blob.create_snapshot(metadata={"mine": "1"})
    assert container.get_blob_client("blob", snapshot=response["snapshot"]).get_blob_properties().metadata == {"mine": "1"}
    assert blob.get_blob_properties().metadata == {"color": "blue"}


def test_snapshots_have_distinct_times(blob):
    times = [blob.create_snapshot()["snapshot"] for _ in range(5)]
    assert times == sorted(set(times))


def test_delete_with_snapshots(container, blob):
    first, second = (blob.create_snapshot()["snapshot"] for _ in range(2))
    found = rejected(409, "SnapshotsPresent", blob.delete_blob)
    assert found["Message"] == "This operation is not permitted because the blob has snapshots."
    container.get_blob_client("blob", snapshot=first).delete_blob()
    assert [item.snapshot for item in container.list_blobs(include=["snapshots"])] == [second, None]
    blob.delete_blob(delete_snapshots="only")
    assert [item.snapshot for item in container.list_blobs(include=["snapshots"])] == [None]
    blob.create_snapshot()
    blob.delete_blob(delete_snapshots="include")
    assert list(container.list_blobs(include=["snapshots"])) == []


def test_times_of_snapshots_that_are_wrong(container, blob):
    assert not container.get_blob_client("blob", snapshot="2011-03-09T01:42:34.9360000Z").exists()
    with pytest.raises(Exception) as raised:
        container.get_blob_client("blob", snapshot="1").get_blob_properties()
    assert raised.value.status_code == 400
