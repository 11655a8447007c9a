"""Page blobs."""

import pytest
from azure.storage.blob import BlobType, PremiumPageBlobTier, SequenceNumberAction

from conftest import content, rejected, source

PAGE = 512


@pytest.fixture
def disk(container):
    blob = container.get_blob_client("disk")
    blob.create_page_blob(8 * PAGE, sequence_number=3)
    return blob


def ranges(blob, **options):
    return [(page.start // PAGE, (page.end + 1) // PAGE, page.cleared) for page in blob.list_page_ranges(**options)]


def test_pages(disk):
    """Pages that were never written read as zeros; adjacent ranges are one."""
    disk.upload_page(b"a" * PAGE, offset=PAGE, length=PAGE)
    disk.upload_page(b"b" * PAGE, offset=2 * PAGE, length=PAGE)
    disk.upload_page(b"c" * PAGE, offset=5 * PAGE, length=PAGE)
    found = disk.get_blob_properties()
    assert (found.blob_type, found.size, found.page_blob_sequence_number) == (BlobType.PAGEBLOB, 8 * PAGE, 3)
    assert content(disk) == b"\0" * PAGE + b"a" * PAGE + b"b" * PAGE + b"\0" * 2 * PAGE + b"c" * PAGE + b"\0" * 2 * PAGE
    assert ranges(disk) == [(1, 3, False), (5, 6, False)]
    assert disk.get_page_ranges()[0] == [{"start": PAGE, "end": 3 * PAGE - 1}, {"start": 5 * PAGE, "end": 6 * PAGE - 1}]
    disk.clear_page(offset=2 * PAGE, length=PAGE)
    assert ranges(disk) == [(1, 2, False), (5, 6, False)]


def test_difference_to_a_snapshot(disk):
    disk.upload_page(b"a" * 4 * PAGE, offset=0, length=4 * PAGE)
    snapshot = disk.create_snapshot()["snapshot"]
    disk.upload_page(b"b" * PAGE, offset=0, length=PAGE)
    disk.clear_page(offset=2 * PAGE, length=PAGE)
    assert ranges(disk, previous_snapshot=snapshot) == [(0, 1, False), (2, 3, True)]


def test_alignment(disk):
    rejected(416, "InvalidPageRange", disk.upload_page, b"a" * PAGE, offset=8 * PAGE, length=PAGE)
    with pytest.raises(ValueError):
        disk.upload_page(b"a" * 10, offset=0, length=10)


def test_resize(disk):
    disk.upload_page(b"a" * PAGE, offset=4 * PAGE, length=PAGE)
    disk.resize_blob(2 * PAGE)
    assert disk.get_blob_properties().size == 2 * PAGE
    disk.resize_blob(8 * PAGE)
    assert content(disk) == b"\0" * 8 * PAGE


def test_sequence_numbers(disk):
    for action, number, expected in (
        (SequenceNumberAction.UPDATE, 7, 7), (SequenceNumberAction.MAX, 5, 7), (SequenceNumberAction.MAX, 9, 9), (SequenceNumberAction.INCREMENT, None, 10),
    ):
        disk.set_sequence_number(action, number)
        assert disk.get_blob_properties().page_blob_sequence_number == expected
    disk.upload_page(b"a" * PAGE, offset=0, length=PAGE, if_sequence_number_eq=10)
    for condition in ({"if_sequence_number_lte": 9}, {"if_sequence_number_lt": 10}, {"if_sequence_number_eq": 9}):
        rejected(412, "SequenceNumberConditionNotMet", disk.upload_page, b"b" * PAGE, offset=0, length=PAGE, **condition)


def test_pages_from_url(container, disk):
    other = container.get_blob_client("other")
    other.upload_blob(b"x" * PAGE * 2, blob_type=BlobType.PAGEBLOB)
    disk.upload_pages_from_url(source(other), offset=PAGE, length=PAGE, source_offset=PAGE)
    assert content(disk, offset=PAGE, length=PAGE) == b"x" * PAGE


def test_wrong_kinds(disk, blob):
    rejected(409, "InvalidBlobType", blob.upload_page, b"a" * PAGE, offset=0, length=PAGE)
    rejected(409, "InvalidBlobType", disk.append_block, b"x")


@pytest.mark.part2
def test_tier(container, disk):
    """Page blobs take the tiers of premium disks, alone and in a batch."""
    disk.set_premium_page_blob_tier(PremiumPageBlobTier.P10)
    assert disk.get_blob_properties().blob_tier == "P10"
    container.set_premium_page_blob_tier_blobs("P20", "disk")
    assert disk.get_blob_properties().blob_tier == "P20"
