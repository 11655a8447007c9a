"""Blobs with the clients of 2014 and 2015."""

import base64
import os

import pytest
from client import BlobService, Conflict, Failure, Missing

from common import random_name
from conftest import connect
from suite import BLOB_ENDPOINT

pytestmark = pytest.mark.skipif(not BLOB_ENDPOINT, reason="the server does not offer blobs")
DATA = os.urandom(200_000)


@pytest.fixture(scope="module")
def blobs():
    return connect(BlobService, "blob", BLOB_ENDPOINT)


@pytest.fixture
def container(blobs):
    name = random_name("old-")
    blobs.create_container(name, fail_on_exist=True)
    yield name
    blobs.delete_container(name)


def test_containers(blobs, container):
    with pytest.raises(Conflict):
        blobs.create_container(container, fail_on_exist=True)
    blobs.set_container_metadata(container, {"color": "blue"})
    assert blobs.get_container_metadata(container)["x-ms-meta-color"] == "blue"
    assert blobs.get_container_properties(container)["x-ms-lease-state"] == "available"
    assert [item.name for item in blobs.list_containers(prefix=container)] == [container]


def test_content(blobs, container, tmp_path):
    blobs._BLOB_MAX_DATA_SIZE, blobs._BLOB_MAX_CHUNK_DATA_SIZE = 64 * 1024, 64 * 1024
    blobs.put_block_blob_from_bytes(container, "a b", DATA, max_connections=2, x_ms_meta_name_values={"a": "b"})
    blobs.put_block_blob_from_text(container, "text", "Grüße", x_ms_blob_content_type="text/plain")
    assert blobs.get_blob_to_bytes(container, "a b") == DATA
    assert blobs.get_blob_to_text(container, "text") == "Grüße"
    assert bytes(blobs.get_blob(container, "a b", x_ms_range="bytes=10-19")) == DATA[10:20]
    assert blobs.get_blob_metadata(container, "a b")["x-ms-meta-a"] == "b"
    found = blobs.get_blob_properties(container, "text")
    assert (found["content-length"], found["content-type"], found["x-ms-blob-type"]) == ("7", "text/plain", "BlockBlob")
    assert [item.name for item in blobs.list_blobs(container)] == ["a b", "text"]
    blobs.delete_blob(container, "text")
    with pytest.raises(Missing):
        blobs.get_blob_properties(container, "text")


def test_blocks(blobs, container):
    ids = [base64.b64encode(b"%06d" % number).decode() for number in range(2)]
    for number, name in enumerate(ids):
        blobs.put_block(container, "a", b"ab"[number:number + 1], name)
    assert len(blobs.get_block_list(container, "a", blocklisttype="all").uncommitted_blocks) == 2
    blobs.put_block_list(container, "a", ids[::-1])
    assert bytes(blobs.get_blob(container, "a")) == b"ba"


def test_leases(blobs, container):
    """LS-01 to LS-03, LS-05"""
    blobs.put_block_blob_from_bytes(container, "a", b"x")
    lease = blobs.lease_blob(container, "a", "acquire", x_ms_lease_duration=15)["x-ms-lease-id"]
    with pytest.raises(Conflict):
        blobs.lease_blob(container, "a", "acquire", x_ms_lease_duration=15)
    with pytest.raises(Failure):
        blobs.put_block_blob_from_bytes(container, "a", b"y")
    blobs.put_block_blob_from_bytes(container, "a", b"y", x_ms_lease_id=lease)
    blobs.lease_blob(container, "a", "renew", x_ms_lease_id=lease)
    blobs.lease_blob(container, "a", "release", x_ms_lease_id=lease)
    blobs.lease_container(container, "acquire", x_ms_lease_duration=-1)
    blobs.lease_container(container, "break", x_ms_lease_break_period=0)


def test_snapshots_and_copies(blobs, container):
    blobs.put_block_blob_from_bytes(container, "a", b"old")
    snapshot = blobs.snapshot_blob(container, "a")["x-ms-snapshot"]
    blobs.put_block_blob_from_bytes(container, "a", b"new")
    assert bytes(blobs.get_blob(container, "a", snapshot=snapshot)) == b"old"
    assert blobs.copy_blob(container, "copy", blobs.make_blob_url(container, "a"))["x-ms-copy-status"] == "success"
    assert bytes(blobs.get_blob(container, "copy")) == b"new"
    blobs.delete_blob(container, "a", x_ms_delete_snapshots="include")


@pytest.mark.acl
def test_access(blobs, container):
    blobs.set_container_acl(container, x_ms_blob_public_access="container")
    assert len(blobs.get_container_acl(container).signed_identifiers) == 0


@pytest.mark.part2
def test_page_blobs(blobs, container):
    blobs.put_blob(container, "disk", b"", "PageBlob", x_ms_blob_content_length="1024")
    blobs.put_page(container, "disk", b"a" * 512, "bytes=0-511", "update")
    assert [(page.start, page.end) for page in blobs.get_page_ranges(container, "disk")] == [(0, 511)]
