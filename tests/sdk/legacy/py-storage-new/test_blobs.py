"""Blobs with the clients of 2017 and 2018."""

import base64
import os
import uuid
from datetime import datetime, timedelta

import pytest
from azure.common import AzureConflictHttpError, AzureException, AzureHttpError, AzureMissingResourceHttpError
from azure.storage.blob import BlobBlock, BlobPermissions, BlockBlobService, ContentSettings, Include, PublicAccess

from common import random_name
from conftest import connect

DATA = os.urandom(300_000)


def names(items):
    return [item.name for item in items]


def test_containers(blobs, container):
    assert blobs.create_container(container) is False
    with pytest.raises(AzureConflictHttpError):
        blobs.create_container(container, fail_on_exist=True)
    blobs.set_container_metadata(container, {"color": "blue"})
    assert blobs.get_container_metadata(container) == {"color": "blue"}
    found = blobs.get_container_properties(container)
    assert (found.properties.lease.state, found.metadata) == ("available", {"color": "blue"})
    (item,) = blobs.list_containers(prefix=container, include_metadata=True)
    assert (item.name, item.metadata, item.properties.etag) == (container, {"color": "blue"}, found.properties.etag)
    assert blobs.exists(container)
    assert blobs.delete_container(container)
    assert blobs.delete_container(container) is False


def test_content(blobs, container, tmp_path):
    """In one request, and in blocks; whole, in part, and in chunks."""
    blobs.create_blob_from_bytes(container, "bytes", DATA[:1000], metadata={"a": "b"}, content_settings=ContentSettings(content_type="text/plain"))
    blobs.create_blob_from_text(container, "text", "Grüße")
    (tmp_path / "in").write_bytes(DATA)
    size, blobs.MAX_SINGLE_PUT_SIZE, blobs.MAX_BLOCK_SIZE = (blobs.MAX_SINGLE_PUT_SIZE, blobs.MAX_BLOCK_SIZE), 64 * 1024, 64 * 1024
    try:
        blobs.create_blob_from_path(container, "a b/path", str(tmp_path / "in"), max_connections=3)
    finally:
        blobs.MAX_SINGLE_PUT_SIZE, blobs.MAX_BLOCK_SIZE = size
    assert blobs.get_blob_to_bytes(container, "bytes").content == DATA[:1000]
    assert blobs.get_blob_to_text(container, "text").content == "Grüße"
    assert blobs.get_blob_to_bytes(container, "a b/path", start_range=10, end_range=19).content == DATA[10:20]
    blobs.get_blob_to_path(container, "a b/path", str(tmp_path / "out"), max_connections=2)
    assert (tmp_path / "out").read_bytes() == DATA
    found = blobs.get_blob_properties(container, "bytes")
    assert (found.properties.content_length, found.properties.content_settings.content_type, found.metadata) == (1000, "text/plain", {"a": "b"})
    assert names(blobs.list_blobs(container)) == ["a b/path", "bytes", "text"]
    assert names(blobs.list_blobs(container, delimiter="/")) in (["a b/", "bytes", "text"], ["bytes", "text", "a b/"])
    blobs.delete_blob(container, "text")
    assert not blobs.exists(container, "text")
    with pytest.raises(AzureMissingResourceHttpError):
        blobs.get_blob_properties(container, "text")


def test_empty_blob(blobs, blob_style, container):
    """The client asks again without a range. With an emulator, 0.36 then omits the account."""
    if blob_style == "emulator":
        return
    blobs.create_blob_from_bytes(container, "empty", b"")
    assert blobs.get_blob_to_bytes(container, "empty").content == b""


def test_blocks(blobs, container):
    def block_id(number):
        return base64.b64encode(f"{number:06}".encode()).decode()

    for number, piece in enumerate((b"aa", b"bb")):
        blobs.put_block(container, "a", piece, block_id(number))
    found = blobs.get_block_list(container, "a", block_list_type="all")
    assert [block.size for block in found.uncommitted_blocks] == [2, 2]
    blobs.put_block_list(container, "a", [BlobBlock(block_id(1)), BlobBlock(block_id(0))])
    assert blobs.get_blob_to_bytes(container, "a").content == b"bbaa"


def test_properties_and_metadata(blobs, container):
    blobs.create_blob_from_bytes(container, "a", b"x")
    blobs.set_blob_properties(container, "a", ContentSettings(content_type="text/html", content_language="de"))
    blobs.set_blob_metadata(container, "a", {"first": "1"})
    found = blobs.get_blob_properties(container, "a")
    assert (found.properties.content_settings.content_type, found.properties.content_settings.content_language) == ("text/html", "de")
    assert blobs.get_blob_metadata(container, "a") == {"first": "1"}


def test_conditions(blobs, container):
    """BL-02, BL-10"""
    first = blobs.create_blob_from_bytes(container, "a", b"1").etag
    blobs.create_blob_from_bytes(container, "a", b"2")
    with pytest.raises(AzureHttpError) as raised:
        blobs.create_blob_from_bytes(container, "a", b"3", if_match=first)
    assert raised.value.status_code == 412
    with pytest.raises(AzureHttpError) as raised:
        blobs.get_blob_properties(container, "a", if_none_match=blobs.get_blob_properties(container, "a").properties.etag)
    assert raised.value.status_code == 304


def test_leases(blobs, container):
    """LS-01, LS-02, LS-03, LS-05, LS-10"""
    blobs.create_blob_from_bytes(container, "a", b"x")
    lease = blobs.acquire_blob_lease(container, "a", 15)
    with pytest.raises(AzureConflictHttpError):
        blobs.acquire_blob_lease(container, "a", 15)
    with pytest.raises(AzureHttpError) as raised:
        blobs.create_blob_from_bytes(container, "a", b"y")
    assert raised.value.status_code == 412
    blobs.renew_blob_lease(container, "a", lease)
    other = str(uuid.uuid4())
    blobs.change_blob_lease(container, "a", lease, other)
    blobs.create_blob_from_bytes(container, "a", b"y", lease_id=other)
    blobs.release_blob_lease(container, "a", other)
    blobs.acquire_blob_lease(container, "a", -1)
    assert blobs.break_blob_lease(container, "a", 0) == 0
    lease = blobs.acquire_container_lease(container, -1)
    with pytest.raises(AzureHttpError):
        blobs.delete_container(container, fail_not_exist=True)
    blobs.renew_container_lease(container, lease)
    blobs.change_container_lease(container, lease, other)
    blobs.release_container_lease(container, other)
    blobs.acquire_container_lease(container, 15)
    blobs.break_container_lease(container, 0)


def test_snapshots_and_copies(blobs, container):
    blobs.create_blob_from_bytes(container, "a", b"old")
    snapshot = blobs.snapshot_blob(container, "a").snapshot
    blobs.create_blob_from_bytes(container, "a", b"new")
    assert blobs.get_blob_to_bytes(container, "a", snapshot=snapshot).content == b"old"
    assert [item.snapshot for item in blobs.list_blobs(container, include=Include.SNAPSHOTS)] == [snapshot, None]
    copied = blobs.copy_blob(container, "copy", blobs.make_blob_url(container, "a"))
    assert copied.status == "success"
    assert blobs.get_blob_to_bytes(container, "copy").content == b"new"
    with pytest.raises(AzureHttpError) as raised:
        blobs.abort_copy_blob(container, "copy", copied.id)
    assert raised.value.status_code == 409
    blobs.delete_blob(container, "a", delete_snapshots="include")


@pytest.mark.acl
@pytest.mark.sas
def test_access(blobs, container):
    blobs.create_blob_from_bytes(container, "a", b"x")
    blobs.set_container_acl(container, public_access=PublicAccess.Container)
    assert blobs.get_container_acl(container).public_access == "container"
    blobs.set_container_acl(container)
    expiry = datetime.utcnow() + timedelta(hours=1)
    token = blobs.generate_blob_shared_access_signature(container, "a", permission=BlobPermissions.READ, expiry=expiry)
    reader = connect(BlockBlobService, "blob", sas_token=token)
    assert reader.get_blob_to_bytes(container, "a").content == b"x"
    with pytest.raises(AzureException):
        reader.delete_blob(container, "a")


def test_pages_of_a_listing(blobs, container):
    for name in ("a", "b", "c"):
        blobs.create_blob_from_bytes(container, name, b"")
    first = blobs.list_blobs(container, num_results=2)
    assert names(first) == ["a", "b"]
    assert names(blobs.list_blobs(container, marker=first.next_marker)) == ["c"]


def test_container_that_is_missing(blobs):
    with pytest.raises(AzureMissingResourceHttpError):
        list(blobs.list_blobs(random_name("old-")))


@pytest.mark.part2
def test_append_and_page_blobs(append_blobs, page_blobs, container):
    append_blobs.create_blob(container, "log")
    append_blobs.append_block(container, "log", b"one,")
    append_blobs.append_blob_from_text(container, "log", "two")
    assert append_blobs.get_blob_to_bytes(container, "log").content == b"one,two"
    page_blobs.create_blob(container, "disk", 2048)
    page_blobs.update_page(container, "disk", b"a" * 512, 512, 1023)
    assert [(page.start, page.end) for page in page_blobs.get_page_ranges(container, "disk")] == [(512, 1023)]
    page_blobs.clear_page(container, "disk", 512, 1023)
    assert page_blobs.get_blob_to_bytes(container, "disk").content == b"\0" * 2048
