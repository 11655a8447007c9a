"""Conditional headers on blobs: every condition on every operation that takes them, and their combinations on reads."""

from datetime import timedelta

import pytest
from azure.core import MatchConditions
from azure.storage.blob import BlobBlock, BlobLeaseClient

from conftest import FOREIGN_ETAG, content, outcome, rejected, source

WRITES = {
    "upload": lambda blob, **condition: blob.upload_blob(b"new", overwrite=True, **condition),
    "commit": lambda blob, **condition: blob.commit_block_list([BlobBlock("AAAA")], **condition),
    "metadata": lambda blob, **condition: blob.set_blob_metadata({"a": "b"}, **condition),
    "properties": lambda blob, **condition: blob.set_http_headers(None, **condition),
    "snapshot": lambda blob, **condition: blob.create_snapshot(**condition),
    "lease": lambda blob, **condition: BlobLeaseClient(blob).acquire(15, **condition),
    "delete": lambda blob, **condition: blob.delete_blob(**condition),
    "copy": lambda blob, **condition: blob.start_copy_from_url(blob.other, **condition),
}
READS = {
    "download": lambda blob, **condition: blob.download_blob(**condition),
    "get properties": lambda blob, **condition: blob.get_blob_properties(**condition),
}


@pytest.fixture
def target(container, blob):
    """A blob with a staged block, and another blob to copy from."""
    blob.stage_block("AAAA", b"block")
    other = container.upload_blob("other", b"other")
    blob.other = source(other)
    return blob


def conditions(blob):
    """Conditions that hold, and conditions that do not, for a blob as it is."""
    found = blob.get_blob_properties()
    etag, when = found.etag, found.last_modified
    early, late = when - timedelta(hours=1), when + timedelta(hours=1)
    holds = [
        {"etag": etag, "match_condition": MatchConditions.IfNotModified},
        {"match_condition": MatchConditions.IfPresent},
        {"etag": FOREIGN_ETAG, "match_condition": MatchConditions.IfModified},
        {"if_modified_since": early},
        {"if_unmodified_since": late},
        {"if_unmodified_since": when},
    ]
    fails = [
        {"etag": FOREIGN_ETAG, "match_condition": MatchConditions.IfNotModified},
        {"etag": etag, "match_condition": MatchConditions.IfModified},
        {"if_modified_since": late},
        {"if_modified_since": when},
        {"if_unmodified_since": early},
    ]
    return holds, fails


@pytest.mark.parametrize("name", WRITES)
def test_conditions_that_fail_stop_every_write(target, name):
    """BL-02, BL-04, BL-06: 412, and nothing has changed. A copy says that the condition is on its target."""
    before = target.get_blob_properties()
    code, subject = ("TargetConditionNotMet", "target condition") if name == "copy" else ("ConditionNotMet", "condition")
    for condition in conditions(target)[1]:
        found = rejected(412, code, WRITES[name], target, **condition)
        assert found["Message"] == f"The {subject} specified using HTTP conditional header(s) is not met."
    assert (target.get_blob_properties().etag, content(target)) == (before.etag, b"0123456789")


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("index", range(6))
def test_conditions_that_hold_allow_every_write(target, name, index):
    """BL-02, BL-04, BL-06"""
    WRITES[name](target, **conditions(target)[0][index])


@pytest.mark.parametrize("name", READS)
def test_conditions_of_reads(target, name):
    """BL-04: If-Match and If-Unmodified-Since fail with 412, the others with 304, which has no body."""
    holds, fails = conditions(target)
    for condition in holds:
        assert outcome(READS[name], target, **condition) == "ok", condition
    for condition in fails:
        positive = condition.get("match_condition") == MatchConditions.IfNotModified or "if_unmodified_since" in condition
        assert outcome(READS[name], target, **condition) == (412 if positive else 304, "ConditionNotMet"), condition


def test_combined_conditions_of_reads(target):
    """If-Match and If-Unmodified-Since must both hold; of If-None-Match and If-Modified-Since one is enough."""
    found = target.get_blob_properties()
    early, late = found.last_modified - timedelta(hours=1), found.last_modified + timedelta(hours=1)
    same = {"etag": found.etag, "match_condition": MatchConditions.IfNotModified}
    changed = {"etag": found.etag, "match_condition": MatchConditions.IfModified}
    cases = [
        (same | {"if_unmodified_since": late}, "ok"), (same | {"if_unmodified_since": early}, (412, "ConditionNotMet")),
        (same | {"if_modified_since": late}, (304, "ConditionNotMet")), (same | {"if_modified_since": early}, "ok"),
        (changed | {"if_modified_since": early}, "ok"), (changed | {"if_modified_since": late}, (304, "ConditionNotMet")),
        (changed | {"if_unmodified_since": early}, (412, "ConditionNotMet")),
    ]
    for condition, expected in cases:
        assert outcome(target.get_blob_properties, **condition) == expected, condition


def test_conditions_on_a_missing_blob(container):
    """A write with If-Match fails with 412; the other conditions do not prevent it."""
    early = container.get_container_properties().last_modified - timedelta(days=1)
    present = {"match_condition": MatchConditions.IfPresent}
    missing = container.get_blob_client("missing")
    rejected(412, "ConditionNotMet", missing.upload_blob, b"x", overwrite=True, **present)
    rejected(404, "BlobNotFound", missing.download_blob, **present)
    for number, condition in enumerate((
        {"etag": FOREIGN_ETAG, "match_condition": MatchConditions.IfModified}, {"match_condition": MatchConditions.IfMissing},
        {"if_unmodified_since": early}, {"if_modified_since": early},
    )):
        container.get_blob_client(f"new{number}").upload_blob(b"x", overwrite=True, **condition)


@pytest.mark.parametrize("name", ["upload", "commit", "copy"])
def test_if_missing_on_a_blob_that_exists(target, name):
    """Create-if-absent gets 409, which clients look for."""
    rejected(409, "BlobAlreadyExists", WRITES[name], target, match_condition=MatchConditions.IfMissing)


def test_lost_update(container):
    """BL-10: the demonstration of the concurrency article. A third party overwrites, and the old ETag no longer fits."""
    blob = container.get_blob_client("shared")
    first = blob.upload_blob(b"first")["etag"]
    container.get_blob_client("shared").upload_blob(b"third party", overwrite=True)
    rejected(412, "ConditionNotMet", blob.upload_blob, b"second", overwrite=True, etag=first, match_condition=MatchConditions.IfNotModified)
    again = blob.get_blob_properties().etag
    assert blob.upload_blob(b"second", overwrite=True, etag=again, match_condition=MatchConditions.IfNotModified)["etag"] != again
    assert content(blob) == b"second"


def test_operations_that_change_the_etag(target):
    """BL-01, BL-08"""
    seen = [target.get_blob_properties().etag]

    def now():
        seen.append(target.get_blob_properties().etag)
        return seen[-1] != seen[-2]

    target.stage_block("AAAB", b"x")
    assert not now()
    lease = target.acquire_lease(15)
    assert not now()
    lease.release()
    assert not now()
    target.create_snapshot()
    assert not now()
    content(target)
    assert not now()
    target.set_blob_metadata({"a": "b"})
    assert now()
    target.set_http_headers()
    assert now()
    target.commit_block_list([BlobBlock("AAAA")])
    assert now()
    target.upload_blob(b"same", overwrite=True)
    assert now()
    target.upload_blob(b"same", overwrite=True)
    assert now()
