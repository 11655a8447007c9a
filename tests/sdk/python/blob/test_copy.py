"""Copies: asynchronous and synchronous, by blocks from a URL, with conditions, and what is copied."""

import pytest
from azure.core import MatchConditions
from azure.storage.blob import BlobBlock, ContentSettings

from conftest import FOREIGN_ETAG, content, outcome, rejected, source

SETTINGS = ContentSettings(content_type="text/html", content_language="de", cache_control="no-store")


@pytest.fixture
def original(container):
    """A blob of two blocks with properties and metadata."""
    blob = container.get_blob_client("original")
    blob.stage_block("AAAA", b"01234")
    blob.stage_block("AAAB", b"56789")
    blob.commit_block_list([BlobBlock("AAAA"), BlobBlock("AAAB")], content_settings=SETTINGS, metadata={"Color": "blue"})
    return blob


@pytest.fixture
def target(container):
    return container.get_blob_client("target")


def test_copy_within_the_account(original, target):
    """Content, properties, metadata and blocks; the key of the account is enough."""
    response = target.start_copy_from_url(original.url)
    assert response["copy_status"] == "success" and response["copy_id"] and response["etag"]
    found = target.get_blob_properties()
    assert content(target) == b"0123456789"
    assert (found.content_settings.content_type, found.content_settings.content_language, found.metadata) == ("text/html", "de", {"Color": "blue"})
    assert (found.copy.id, found.copy.status, found.copy.source, found.copy.progress) == (response["copy_id"], "success", original.url, "10/10")
    assert found.copy.completion_time
    assert [block.id for block in target.get_block_list("committed")[0]] == ["AAAA", "AAAB"]


def test_metadata_of_the_request_replaces_that_of_the_source(original, target):
    target.start_copy_from_url(original.url, metadata={"size": "2"})
    assert target.get_blob_properties().metadata == {"size": "2"}


def test_copy_over_a_blob(original, target):
    target.upload_blob(b"old", metadata={"old": "1"})
    before = target.get_blob_properties().etag
    assert target.start_copy_from_url(original.url)["etag"] != before
    assert (content(target), target.get_blob_properties().metadata) == (b"0123456789", {"Color": "blue"})


def test_copy_from_a_snapshot_promotes_it(container, blob):
    snapshot = blob.create_snapshot()["snapshot"]
    blob.upload_blob(b"changed", overwrite=True)
    blob.start_copy_from_url(f"{blob.url}?snapshot={snapshot}")
    assert content(blob) == b"0123456789"
    assert content(container.get_blob_client("blob", snapshot=snapshot)) == b"0123456789"


def test_later_writes_forget_the_copy(original, target):
    target.start_copy_from_url(original.url)
    target.set_http_headers(SETTINGS)
    assert target.get_blob_properties().copy.id is None


def test_synchronous_copy(original, target):
    """It needs a source that can be read without the account's key."""
    response = target.start_copy_from_url(source(original), requires_sync=True)
    assert response["copy_status"] == "success"
    assert (content(target), target.get_blob_properties().metadata) == (b"0123456789", {"Color": "blue"})


def test_synchronous_copy_of_a_private_blob(original, target):
    rejected(401, "CannotVerifyCopySource", target.start_copy_from_url, original.url, requires_sync=True)


def test_source_that_is_missing(container, target):
    missing = container.get_blob_client("missing")
    assert outcome(target.start_copy_from_url, missing.url)[0] == 404
    assert outcome(target.start_copy_from_url, source(missing), requires_sync=True)[0] == 404
    assert outcome(target.upload_blob_from_url, source(missing))[0] == 404
    assert not target.exists()


def test_source_on_another_server(target):
    """Fetching from elsewhere needs the operator's permission; the status says that it is the source that failed."""
    status, code = outcome(target.start_copy_from_url, "http://127.0.0.1:1/devstoreaccount1/c/b")
    assert status >= 400 and code in ("CannotVerifyCopySource", "CopyAcrossAccountsNotSupported", "InvalidHeaderValue"), (status, code)


def test_conditions_on_the_source(original, target):
    """BL-06"""
    etag = original.get_blob_properties().etag
    target.start_copy_from_url(original.url, source_etag=etag, source_match_condition=MatchConditions.IfNotModified)
    for condition in (
        {"source_etag": FOREIGN_ETAG, "source_match_condition": MatchConditions.IfNotModified},
        {"source_etag": etag, "source_match_condition": MatchConditions.IfModified},
    ):
        assert outcome(target.start_copy_from_url, original.url, **condition)[0] == 412


def test_abort(original, target):
    """A copy that has ended cannot be aborted. BL-06: no condition, no ETag."""
    response = target.start_copy_from_url(original.url)
    found = rejected(409, "NoPendingCopyOperation", target.abort_copy, response["copy_id"])
    assert found["Message"] == "There is currently no pending copy operation."


def test_put_blob_from_url(original, target):
    """One request, block blobs only; properties are copied unless told otherwise."""
    response = target.upload_blob_from_url(source(original))
    assert response["etag"] == target.get_blob_properties().etag
    assert content(target) == b"0123456789"
    assert target.get_blob_properties().content_settings.content_type == "text/html"
    assert target.get_blob_properties().copy.id is None
    rejected(409, "BlobAlreadyExists", target.upload_blob_from_url, source(original))
    target.upload_blob_from_url(source(original), overwrite=True, include_source_blob_properties=False,
                                content_settings=ContentSettings(content_type="text/plain"), metadata={"a": "b"})
    found = target.get_blob_properties()
    assert (found.content_settings.content_type, found.content_settings.content_language, found.metadata) == ("text/plain", None, {"a": "b"})


def test_put_block_from_url(original, target):
    target.stage_block_from_url("AAAA", source(original), source_offset=2, source_length=3)
    target.stage_block_from_url("AAAB", source(original))
    assert [block.size for block in target.get_block_list("uncommitted")[1]] == [3, 10]
    target.commit_block_list([BlobBlock("AAAA"), BlobBlock("AAAB")])
    assert content(target) == b"2340123456789"


def test_private_source_needs_a_signature(original, target):
    for call in (lambda: target.upload_blob_from_url(original.url), lambda: target.stage_block_from_url("AAAA", original.url)):
        status, code = outcome(call)
        assert status in (401, 403, 404) and code in ("CannotVerifyCopySource", "NoAuthenticationInformation"), (status, code)


def test_source_conditions_of_put_block_from_url(original, target):
    """The code names the source; a condition on a source that has not changed is 304."""
    etag = original.get_blob_properties().etag
    same, other = {"x-ms-source-if-match": etag}, {"x-ms-source-if-match": FOREIGN_ETAG}
    target.stage_block_from_url("AAAA", source(original), headers=same)
    assert outcome(target.stage_block_from_url, "AAAA", source(original), headers=other) == (412, "SourceConditionNotMet")
    assert outcome(target.stage_block_from_url, "AAAA", source(original), headers={"x-ms-source-if-none-match": etag}) == (304, "CannotVerifyCopySource")
