"""Append blobs."""

import threading

import pytest
from azure.storage.blob import BlobType

from conftest import content, rejected, source


@pytest.fixture
def log(container):
    blob = container.get_blob_client("log")
    blob.create_append_blob(metadata={"a": "b"})
    return blob


def test_append(log):
    responses = [log.append_block(piece) for piece in (b"one,", b"two,")]
    assert [(response["blob_append_offset"], response["blob_committed_block_count"]) for response in responses] == [("0", 1), ("4", 2)]
    found = log.get_blob_properties()
    assert (found.blob_type, found.size, found.append_blob_committed_block_count, found.metadata) == (BlobType.APPENDBLOB, 8, 2, {"a": "b"})
    assert content(log) == b"one,two,"
    assert found.etag == responses[1]["etag"] != responses[0]["etag"]


def test_upload_as_append_blob(container):
    blob = container.get_blob_client("a")
    blob.upload_blob(b"x" * 50_000, blob_type="AppendBlob")
    blob.upload_blob(b"y", blob_type="AppendBlob")
    assert content(blob) == b"x" * 50_000 + b"y"


def test_conditions(log):
    log.append_block(b"12345", appendpos_condition=0)
    rejected(412, "AppendPositionConditionNotMet", log.append_block, b"x", appendpos_condition=0)
    rejected(412, "MaxBlobSizeConditionNotMet", log.append_block, b"xx", maxsize_condition=6)
    log.append_block(b"x", appendpos_condition=5, maxsize_condition=6)


def test_wrong_kinds(container, log, blob):
    assert rejected(409, "InvalidBlobType", blob.append_block, b"x")["Message"] == "The blob type is invalid for this operation."
    rejected(409, "InvalidBlobType", log.stage_block, "AAAA", b"x")
    rejected(404, "BlobNotFound", container.get_blob_client("missing").append_block, b"x")


def test_seal(log):
    log.append_block(b"x")
    log.seal_append_blob()
    assert log.get_blob_properties().is_append_blob_sealed
    rejected(409, "BlobIsSealed", log.append_block, b"y")
    log.seal_append_blob()


def test_append_from_url(container, log, blob):
    log.append_block_from_url(source(blob), source_offset=2, source_length=3)
    assert content(log) == b"234"


def test_writers_get_distinct_offsets(log):
    offsets, lock = [], threading.Lock()

    def work():
        for _ in range(10):
            response = log.append_block(b"0123456789")
            with lock:
                offsets.append(int(response["blob_append_offset"]))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(offsets) == list(range(0, 400, 10))
