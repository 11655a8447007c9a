"""Tags, tiers, soft delete, immutability."""

import pytest
from azure.storage.blob import ImmutabilityPolicy, RehydratePriority, RetentionPolicy, StandardBlobTier

from conftest import content, eventually, outcome, random_name, rejected, soon

TAGS = {"project": "lapis", "stage 1": "a b"}


def test_tags(blob):
    assert blob.get_blob_tags() == {}
    before = blob.get_blob_properties().etag
    blob.set_blob_tags(TAGS)
    assert blob.get_blob_tags() == TAGS
    found = blob.get_blob_properties()
    assert (found.tag_count, found.etag) == (2, before)
    blob.set_blob_tags()
    assert blob.get_blob_tags() == {}


def test_tags_at_upload_and_in_listings(container):
    container.upload_blob("a", b"x", tags=TAGS)
    (found,) = container.list_blobs(include=["tags"])
    assert (found.tags, found.tag_count) == (TAGS, 2)


def test_condition_on_tags(blob):
    blob.set_blob_tags(TAGS)
    blob.set_blob_metadata({"a": "b"}, if_tags_match_condition="\"project\"='lapis'")
    rejected(412, "ConditionNotMet", blob.set_blob_metadata, {"a": "c"}, if_tags_match_condition="\"project\"='ruby'")


def test_find_by_tags(service, container):
    value = random_name()
    for name in ("a", "b"):
        container.upload_blob(name, b"x", tags={"mark": value, "name": name})
    container.upload_blob("c", b"x", tags={"mark": "other"})
    found = eventually(lambda: len(list(container.find_blobs_by_tags(f"\"mark\"='{value}'"))) == 2 and list(container.find_blobs_by_tags(f"\"mark\"='{value}'")))
    assert [item.name for item in found] == ["a", "b"]
    found = list(service.find_blobs_by_tags(f"@container='{container.container_name}' AND \"mark\"='{value}' AND \"name\">='b'"))
    assert [(item.name, item.container_name) for item in found] == [("b", container.container_name)]


def test_tags_that_are_invalid(blob):
    assert outcome(blob.set_blob_tags, {f"k{number}": "v" for number in range(11)})[0] == 400
    assert outcome(blob.set_blob_tags, {"k" * 129: "v"})[0] == 400


def test_tiers(blob):
    for tier in (StandardBlobTier.COOL, StandardBlobTier.COLD, StandardBlobTier.HOT):
        before = blob.get_blob_properties().etag
        blob.set_standard_blob_tier(tier)
        found = blob.get_blob_properties()
        assert (found.blob_tier, bool(found.blob_tier_inferred), found.etag) == (tier, False, before)


def test_archive(blob):
    blob.set_standard_blob_tier(StandardBlobTier.ARCHIVE)
    assert rejected(409, "BlobArchived", blob.download_blob)["Message"] == "This operation is not permitted on an archived blob."
    blob.set_standard_blob_tier(StandardBlobTier.HOT, rehydrate_priority=RehydratePriority.high)
    found = blob.get_blob_properties()
    assert (found.blob_tier, found.archive_status) in (("Archive", "rehydrate-pending-to-hot"), ("Hot", None))


def test_tiers_in_a_batch(container):
    for name in "ab":
        container.upload_blob(name, b"x")
    assert [response.status_code for response in container.set_standard_blob_tier_blobs("Cool", "a", "b")] == [200, 200]
    assert [item.blob_tier for item in container.list_blobs()] == ["Cool", "Cool"]


@pytest.fixture
def retention(service):
    service.set_service_properties(delete_retention_policy=RetentionPolicy(enabled=True, days=2))
    yield
    service.set_service_properties(delete_retention_policy=RetentionPolicy(enabled=False))


def test_soft_delete(retention, container, blob):
    snapshot = blob.create_snapshot()["snapshot"]
    blob.delete_blob(delete_snapshots="include")
    assert not blob.exists()
    assert list(container.list_blobs()) == []
    found = list(container.list_blobs(include=["deleted", "snapshots"]))
    assert [(item.deleted, item.remaining_retention_days) for item in found] == [(True, 1), (True, 1)]
    blob.undelete_blob()
    assert content(blob) == b"0123456789"
    assert content(container.get_blob_client("blob", snapshot=snapshot)) == b"0123456789"


def test_container_soft_delete(service, container):
    """Only if the account keeps deleted containers."""
    if outcome(service.undelete_container, container.container_name, "01D6")[0] in (404, 409):
        pytest.skip("the account does not keep deleted containers")


def test_immutability(blob):
    """Only in a container that supports it; elsewhere a clear error."""
    for call in (lambda: blob.set_immutability_policy(ImmutabilityPolicy(expiry_time=soon(), policy_mode="Unlocked")),
                 blob.delete_immutability_policy, lambda: blob.set_legal_hold(True), lambda: blob.set_legal_hold(False)):
        found = outcome(call)
        assert found == "ok" or found[0] in (400, 409, 501), found


def test_query(blob):
    """Select from CSV. A server that does not offer it says so."""
    found = outcome(lambda: blob.query_blob("SELECT * from BlobStorage").readall())
    assert found == "ok" or found[0] in (400, 409, 501), found


def test_page_range_diff_for_managed_disks(blob):
    found = outcome(blob.get_page_range_diff_for_managed_disk, blob.url + "?snapshot=2011-03-09T01:42:34.9360000Z")
    assert found[0] >= 400
