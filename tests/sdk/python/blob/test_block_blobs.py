"""Block blobs: upload, download, ranges, blocks, properties, metadata, checksums."""

import base64
import hashlib
import io
import os
import re

import pytest
from azure.core.exceptions import HttpResponseError, ResourceExistsError, ResourceNotFoundError
from azure.storage.blob import BlobBlock, BlobClient, BlobType, ContentSettings, StandardBlobTier
from azure.storage.blob._generated.models import BlockLookupList

from conftest import BLOB_ENDPOINT, CREDENTIAL, OPTIONS, content, rejected

DATA = os.urandom(200_000)  # four pieces and more, with the options of this suite


def md5(data):
    return bytearray(hashlib.md5(data).digest())


def header_of(call, name, *arguments, **options):
    """A header of the response, None if it is missing."""
    seen = []
    call(*arguments, raw_response_hook=lambda response: seen.append(response.http_response.headers), **options)
    return seen[-1].get(name)


def test_upload_and_download(container):
    """BL-01: the ETag of the upload is that of the reads."""
    blob = container.get_blob_client("a")
    uploaded = blob.upload_blob(b"hello")
    assert re.fullmatch('"0x[0-9A-F]{15,}"', uploaded["etag"])
    found = blob.get_blob_properties()
    assert (found.etag, found.last_modified, found.size) == (uploaded["etag"], uploaded["last_modified"], 5)
    assert (found.name, found.container, found.blob_type) == ("a", container.container_name, BlobType.BLOCKBLOB)
    assert found.content_settings.content_type == "application/octet-stream"
    assert found.content_settings.content_md5 == md5(b"hello")
    assert found.creation_time and found.server_encrypted
    assert (found.lease.status, found.lease.state) == ("unlocked", "available")
    downloaded = blob.download_blob()
    assert downloaded.readall() == b"hello"
    assert (downloaded.properties.etag, downloaded.size) == (uploaded["etag"], 5)
    assert blob.exists()


def test_upload_through_the_container(container):
    blob = container.upload_blob("dir/a", io.BytesIO(b"stream"), length=6)
    assert isinstance(blob, BlobClient)
    assert container.download_blob("dir/a").readall() == b"stream"
    container.delete_blob("dir/a")
    assert not blob.exists()


@pytest.mark.parametrize("size", [0, 1, 16 * 1024, 64 * 1024, 64 * 1024 + 1, 200_000])
def test_sizes(container, size):
    """One request, or blocks; one response, or ranges. An empty blob has no ranges: the client asks again without."""
    blob = container.get_blob_client("a")
    blob.upload_blob(DATA[:size])
    assert content(blob) == DATA[:size]
    assert blob.get_blob_properties().size == size
    assert content(blob, max_concurrency=3) == DATA[:size]


def test_upload_in_parallel_with_progress(container):
    blob, seen = container.get_blob_client("a"), []
    blob.upload_blob(DATA, max_concurrency=4, progress_hook=lambda done, total: seen.append(done), validate_content=True)
    assert sorted(seen)[-1] == len(DATA)
    assert content(blob, validate_content=True) == DATA
    committed, uncommitted = blob.get_block_list("all")
    assert sum(block.size for block in committed) == len(DATA)
    assert uncommitted == []


def test_upload_of_a_generator_and_of_text(container):
    blob = container.get_blob_client("a")
    blob.upload_blob(piece for piece in (b"one, ", b"two, ", b"three"))
    assert content(blob) == b"one, two, three"
    blob.upload_blob("Grüße", overwrite=True, encoding="utf-8")
    assert blob.download_blob(encoding="utf-8").readall() == "Grüße"


def test_upload_does_not_overwrite_unless_asked(blob):
    """If-None-Match: * on a blob that exists is 409, not 412."""
    with pytest.raises(ResourceExistsError):
        blob.upload_blob(b"other")
    found = rejected(409, "BlobAlreadyExists", blob.upload_blob, b"other")
    assert found["Message"] == "The specified blob already exists."
    assert rejected(409, "BlobAlreadyExists", blob.upload_blob, DATA)["Code"] == "BlobAlreadyExists"
    assert content(blob) == b"0123456789"


def test_overwriting_replaces_everything(container, blob):
    """BL-03: content, properties and metadata; nothing of the old ones is left."""
    before = blob.get_blob_properties()
    blob.upload_blob(b"new", overwrite=True, content_settings=ContentSettings(content_type="text/plain"))
    found = blob.get_blob_properties()
    assert (content(blob), found.metadata, found.content_settings.content_type) == (b"new", {}, "text/plain")
    assert found.etag != before.etag
    assert found.creation_time >= before.creation_time


def test_missing_blob(container):
    blob = container.get_blob_client("missing")
    assert not blob.exists()
    for call in (
        blob.download_blob, blob.get_blob_properties, blob.delete_blob, lambda: blob.set_blob_metadata({}), blob.set_http_headers,
        blob.create_snapshot, blob.acquire_lease, blob.get_block_list,
    ):
        found = rejected(404, "BlobNotFound", call)
        assert found.get("Message", "The specified blob does not exist.") == "The specified blob does not exist."
    with pytest.raises(ResourceNotFoundError):
        blob.get_blob_properties()


def test_delete(container, blob):
    blob.delete_blob()
    assert not blob.exists()
    assert list(container.list_blobs()) == []
    rejected(404, "BlobNotFound", blob.delete_blob)


@pytest.mark.parametrize(
    "offset, length, expected",
    [(0, 1, b"0"), (3, 4, b"3456"), (9, 1, b"9"), (5, None, b"56789"), (8, 100, b"89"), (0, 10, b"0123456789")],
)
def test_ranges(blob, offset, length, expected):
    """An end beyond the size is cut off."""
    seen = []
    found = blob.download_blob(offset=offset, length=length, raw_response_hook=lambda response: seen.append(response.http_response))
    assert found.readall() == expected
    assert seen[0].status_code == 206
    assert seen[0].headers["Content-Range"] == f"bytes {offset}-{offset + len(expected) - 1}/10"
    assert found.size == len(expected)


def test_range_beyond_the_end(container, blob):
    found = rejected(416, "InvalidRange", blob.download_blob, offset=10, length=5)
    assert found["Message"] == "The range specified is invalid for the current size of the resource."
    empty = container.get_blob_client("empty")
    empty.upload_blob(b"")
    assert content(empty) == b""
    rejected(416, "InvalidRange", empty.download_blob, offset=1, length=5)


def test_checksum_of_a_range(blob):
    """On demand, the MD5 of the range; the one of the blob has a header of its own."""
    seen = []
    found = blob.download_blob(offset=2, length=3, validate_content=True, raw_response_hook=lambda response: seen.append(response.http_response.headers))
    assert found.readall() == b"234"
    assert base64.b64decode(seen[0]["Content-MD5"]) == hashlib.md5(b"234").digest()
    assert base64.b64decode(seen[0]["x-ms-blob-content-md5"]) == hashlib.md5(b"0123456789").digest()


def test_download_by_chunks_and_into_a_stream(container):
    blob = container.get_blob_client("a")
    blob.upload_blob(DATA)
    assert b"".join(blob.download_blob().chunks()) == DATA
    target = io.BytesIO()
    assert blob.download_blob(max_concurrency=2).readinto(target) == len(DATA)
    assert target.getvalue() == DATA
    part = blob.download_blob()
    assert (part.read(10), part.read(10)) == (DATA[:10], DATA[10:20])


def test_a_download_notices_that_the_blob_changed(container):
    """Later pieces are read with If-Match."""
    blob = container.get_blob_client("a")
    blob.upload_blob(DATA)
    chunks = blob.download_blob().chunks()
    next(chunks)
    blob.upload_blob(DATA[::-1], overwrite=True)
    rejected(412, "ConditionNotMet", lambda: list(chunks))


def test_properties(blob):
    """A set of properties replaces all six; the MD5 that the service had computed is cleared with them."""
    settings = ContentSettings(content_type="text/html", content_encoding="gzip", content_language="de", content_disposition="inline",
                               cache_control="no-store", content_md5=md5(b"anything"))
    before = blob.get_blob_properties().etag
    response = blob.set_http_headers(settings)
    found = blob.get_blob_properties()
    assert found.etag == response["etag"] != before
    assert vars(found.content_settings) == vars(settings)
    assert found.metadata == {"color": "blue"}
    blob.set_http_headers(ContentSettings(content_language="en"))
    found = blob.get_blob_properties().content_settings
    assert (found.content_language, found.content_encoding, found.cache_control, found.content_md5) == ("en", None, None, None)


def test_metadata(blob):
    """Names keep their case."""
    before = blob.get_blob_properties().etag
    response = blob.set_blob_metadata({"First": "1", "second_Name": "two words"})
    found = blob.get_blob_properties()
    assert found.etag == response["etag"] != before
    assert found.metadata == {"First": "1", "second_Name": "two words"}
    assert blob.download_blob().properties.metadata == {"First": "1", "second_Name": "two words"}
    blob.set_blob_metadata()
    assert blob.get_blob_properties().metadata == {}
    rejected(400, "InvalidMetadata", blob.set_blob_metadata, {"a-b": "1"})


def test_wrong_md5(container):
    """An MD5 that does not match the body is an error, and nothing is written."""
    blob = container.get_blob_client("a")
    wrong = base64.b64encode(b"0" * 16).decode()
    found = rejected(400, "Md5Mismatch", blob.upload_blob, b"hello", headers={"Content-MD5": wrong})
    assert (found["UserSpecifiedMd5"], found["ServerCalculatedMd5"]) == (wrong, base64.b64encode(md5(b"hello")).decode())
    rejected(400, "InvalidMd5", blob.upload_blob, b"hello", headers={"Content-MD5": "AAAA"})
    assert not blob.exists()
    rejected(400, "Md5Mismatch", blob.stage_block, "AAAA", b"hello", headers={"Content-MD5": wrong})


def test_crc64(container):
    """Put Blob and Put Block say which CRC-64 they computed."""
    blob = container.get_blob_client("a")
    assert header_of(blob.upload_blob, "x-ms-content-crc64", b"Hello World") == "YeJLfssylmU="
    assert header_of(blob.stage_block, "x-ms-content-crc64", "AAAA", b"123456789") == "iJh5CoYUi64="
    blob.upload_blob(b"Hello World", overwrite=True, headers={"x-ms-content-crc64": "YeJLfssylmU="})
    rejected(400, "Crc64Mismatch", blob.upload_blob, b"Hello", overwrite=True, headers={"x-ms-content-crc64": "YeJLfssylmU="})


def block_id(number):
    return base64.b64encode(f"{number:06}".encode()).decode()


def test_blocks(container):
    """Staged blocks are invisible; the list decides which, in which order, how often."""
    blob = container.get_blob_client("a")
    for number, piece in enumerate((b"aa", b"bb", b"cc")):
        blob.stage_block(block_id(number), piece)
    assert not blob.exists()
    assert list(container.list_blobs()) == []
    assert [item.name for item in container.list_blobs(include=["uncommittedblobs"])] == ["a"]
    committed, uncommitted = blob.get_block_list("all")
    assert committed == [] and [(block.id, block.size) for block in uncommitted] == [(block_id(number), 2) for number in range(3)]
    response = blob.commit_block_list([BlobBlock(block_id(number)) for number in (2, 0, 2)], metadata={"m": "1"},
                                    content_settings=ContentSettings(content_type="text/plain"))
    assert content(blob) == b"ccaacc"
    found = blob.get_blob_properties()
    assert (found.etag, found.metadata, found.content_settings.content_type) == (response["etag"], {"m": "1"}, "text/plain")
    assert found.content_settings.content_md5 is None
    committed, uncommitted = blob.get_block_list("all")
    assert [block.id for block in committed] == [block_id(2), block_id(0), block_id(2)]
    assert uncommitted == []  # the one that was not listed is gone


def commit(blob, **ids):
    """Commits a list by kind. The client's own method sends every block as `latest`."""
    encoded = {kind: [base64.b64encode(id.encode()).decode() for id in some] for kind, some in ids.items()}
    lists = {"committed": [], "uncommitted": [], "latest": []} | encoded
    blob._client.block_blob.commit_block_list(BlockLookupList(**lists))


def test_blocks_of_both_kinds(container):
    """Committed, uncommitted and latest blocks."""
    blob = container.get_blob_client("a")
    for number, piece in enumerate((b"aa", b"bb")):
        blob.stage_block(block_id(number), piece)
    blob.commit_block_list([BlobBlock(block_id(0)), BlobBlock(block_id(1))])
    before = blob.get_blob_properties().etag
    blob.stage_block(block_id(0), b"AA")
    assert (content(blob), blob.get_blob_properties().etag) == (b"aabb", before)
    assert [block.id for block in blob.get_block_list("committed")[0]] == [block_id(0), block_id(1)]
    assert [block.id for block in blob.get_block_list("uncommitted")[1]] == [block_id(0)]
    blob.stage_block(block_id(2), b"cc")
    commit(blob, committed=[block_id(0)], uncommitted=[block_id(2)], latest=[block_id(1)])
    assert content(blob) == b"aaccbb"


def test_block_lists_that_are_invalid(container, blob):
    fresh = container.get_blob_client("fresh")
    found = rejected(400, "InvalidBlockList", fresh.commit_block_list, [BlobBlock(block_id(1))])
    assert found["Message"] == "The specified block list is invalid."
    fresh.stage_block(block_id(1), b"x")
    with pytest.raises(HttpResponseError) as raised:
        commit(fresh, committed=[block_id(1)])
    assert raised.value.response.headers["x-ms-error-code"] == "InvalidBlockList"
    rejected(400, "InvalidBlobOrBlock", fresh.stage_block, "AAAA", b"of another length")
    assert blob.get_block_list("all") == ([], [])  # one upload has no blocks


def test_an_empty_block_list_makes_an_empty_blob(container):
    blob = container.get_blob_client("a")
    blob.commit_block_list([])
    assert (content(blob), blob.get_blob_properties().size) == (b"", 0)


def test_uploading_at_once_drops_staged_blocks(container):
    blob = container.get_blob_client("a")
    blob.stage_block(block_id(0), b"x")
    blob.upload_blob(b"all")
    assert blob.get_block_list("all") == ([], [])
    assert content(blob) == b"all"


NAMES = [
    "a b", "a+b", "a%b", "a%20b", "a%2Fb", "100%", "'", "a=b&c=d;e,f", "(a)[b]{c}", '"double"', "@:!$*~^|`", "a?b", "a#b", "a//b",
    "-_", "Grüße", "e\u0301", "\u00e9", "世界", "😀", "dir/sub/file.txt", "x" * 1024,
]


@pytest.mark.parametrize("name", NAMES, ids=lambda name: ascii(name)[:30])
def test_names(container, name):
    """Every character that is legal and troublesome."""
    blob = container.get_blob_client(name)
    blob.upload_blob(b"x")
    assert content(blob) == b"x"
    assert [item.name for item in container.list_blobs()] == [name]
    blob.set_blob_metadata({"a": "b"})
    blob.stage_block(block_id(1), b"y")
    blob.delete_blob()
    assert list(container.list_blobs()) == []


def test_name_that_is_too_long(container):
    rejected(400, "OutOfRangeInput", container.get_blob_client("x" * 1025).upload_blob, b"x")


@pytest.mark.parametrize("version", ["2019-02-02", "2020-04-08", "2021-12-02", "2025-05-05"])
def test_versions_of_the_protocol(container, version):
    blob = BlobClient(BLOB_ENDPOINT, container.container_name, "a", credential=CREDENTIAL, api_version=version, **OPTIONS)
    blob.upload_blob(DATA, metadata={"a": "b"})
    assert content(blob) == DATA
    assert blob.get_blob_properties().metadata == {"a": "b"}


def test_access_tier_of_a_new_blob(blob):
    """A blob is hot by default, and its properties say that this was inferred."""
    found = blob.get_blob_properties()
    assert (found.blob_tier, found.blob_tier_inferred) == (StandardBlobTier.Hot, True)
