"""List Blobs: flat and by hierarchy, prefixes, pages, and every `include`."""

from xml.etree import ElementTree

import pytest
from azure.storage.blob import BlobPrefix, BlobProperties, ContentSettings

from conftest import BLOB_ENDPOINT, rejected

TREE = ["a", "a/1", "a/2", "a/b/3", "a/b/c/4", "ab", "b/1", "b/2", "c", "é/1", "Z"]
# In the order of bytes: upper case first, characters beyond ASCII last.
ORDER = ["Z", "a", "a/1", "a/2", "a/b/3", "a/b/c/4", "ab", "b/1", "b/2", "c", "é/1"]


@pytest.fixture
def tree(container):
    for name in TREE:
        container.upload_blob(name, name.encode(), metadata={"Name": ascii(name)})
    return container


def names(items):
    return [item.name for item in items]


def test_flat(tree):
    """BL-09: in the order of names."""
    assert names(tree.list_blobs()) == ORDER
    assert list(tree.list_blob_names()) == ORDER
    assert names(tree.list_blobs(name_starts_with="a/")) == ["a/1", "a/2", "a/b/3", "a/b/c/4"]
    assert names(tree.list_blobs(name_starts_with="é")) == ["é/1"]
    assert names(tree.list_blobs(name_starts_with="nothing")) == []
    assert list(tree.list_blob_names(name_starts_with="b")) == ["b/1", "b/2"]


def test_hierarchy(tree):
    """The client puts the prefixes of a page before its blobs."""
    found = list(tree.walk_blobs())
    assert names(found) == ["a/", "b/", "é/", "Z", "a", "ab", "c"]
    assert [isinstance(item, BlobPrefix) for item in found] == [True] * 3 + [False] * 4
    assert names(found[0]) == ["a/b/", "a/1", "a/2"]
    assert names(tree.walk_blobs(name_starts_with="a/")) == ["a/b/", "a/1", "a/2"]
    assert names(tree.walk_blobs(name_starts_with="a/b")) == ["a/b/"]
    assert names(tree.walk_blobs(delimiter="/b")) == ["a/b", "Z", "a", "a/1", "a/2", "ab", "b/1", "b/2", "c", "é/1"]


def test_blobs_and_prefixes_are_interleaved(tree):
    """In the document they are in the order of names."""
    responses = []
    next(tree.walk_blobs(raw_response_hook=responses.append).by_page())
    root = ElementTree.fromstring(responses[0].http_response.body())
    assert [entry.findtext("Name") for entry in root.find("Blobs")] == ["Z", "a", "a/", "ab", "b/", "c", "é/"]
    assert [entry.tag for entry in root.find("Blobs")] == ["Blob", "Blob", "BlobPrefix", "Blob", "BlobPrefix", "Blob", "BlobPrefix"]


@pytest.mark.parametrize("size", [1, 2, 3, 5000])
def test_pages(tree, size):
    """A token resumes; nothing is missing or repeated, not even a prefix."""
    for listing, expected in (
        (lambda: tree.list_blobs(results_per_page=size), ORDER),
        (lambda: tree.walk_blobs(results_per_page=size), ["Z", "a", "a/", "ab", "b/", "c", "é/"]),
        (lambda: tree.list_blobs(results_per_page=size, name_starts_with="a/"), ["a/1", "a/2", "a/b/3", "a/b/c/4"]),
    ):
        found, token = [], None
        while True:
            pages = listing().by_page(continuation_token=token)
            page = names(next(pages))
            assert len(page) <= size
            found += sorted(page)
            token = pages.continuation_token
            if not token:
                break
        assert found == expected


def test_page_size_out_of_range(tree):
    for size in (0, -1):
        rejected(400, "OutOfRangeQueryParameterValue", tree.list_blobs, results_per_page=size)
    assert len(list(tree.list_blobs(results_per_page=10_000))) == len(TREE)


def test_properties_of_an_entry(container):
    """A listing shows the same properties of a blob as a request for them; the ETag is without quotes here."""
    settings = ContentSettings(content_type="text/html", content_encoding="gzip", content_language="de", content_disposition="inline", cache_control="no-store")
    blob = container.upload_blob("a", b"hello", content_settings=settings, metadata={"Color": "blue"})
    (found,) = container.list_blobs(include=["metadata"])
    single = blob.get_blob_properties()
    assert isinstance(found, BlobProperties)
    assert found.etag == single.etag.strip('"')
    assert found.metadata == single.metadata == {"Color": "blue"}
    for name in ("name", "container", "size", "blob_type", "creation_time", "blob_tier", "blob_tier_inferred", "server_encrypted"):
        assert getattr(found, name) == getattr(single, name), name
    assert found.last_modified == single.last_modified
    assert vars(found.content_settings) == vars(single.content_settings)
    assert (found.lease.status, found.lease.state) == ("unlocked", "available")
    (plain,) = container.list_blobs()
    assert not plain.metadata


def test_snapshots(container):
    """Before their blob, the oldest first."""
    blob = container.upload_blob("a", b"1")
    container.upload_blob("b", b"1")
    snapshots = [blob.create_snapshot()["snapshot"] for _ in range(2)]
    found = [(item.name, item.snapshot) for item in container.list_blobs(include=["snapshots"])]
    assert found == [("a", snapshots[0]), ("a", snapshots[1]), ("a", None), ("b", None)]
    assert names(container.list_blobs()) == ["a", "b"]


def test_snapshots_cannot_be_combined_with_a_delimiter(container):
    rejected(400, "InvalidQueryParameterValue", container.walk_blobs, include=["snapshots"])


def test_uncommitted(container):
    container.upload_blob("b", b"1")
    container.get_blob_client("a").stage_block("AAAA", b"x")
    container.get_blob_client("b").stage_block("AAAA", b"x")
    found = list(container.list_blobs(include=["uncommittedblobs"]))
    assert [(item.name, item.size) for item in found] == [("a", 0), ("b", 1)]
    assert names(container.list_blobs()) == ["b"]


def test_copies(container):
    blob = container.upload_blob("a", b"1")
    target = container.get_blob_client("b")
    target.start_copy_from_url(blob.url)
    (first, second) = container.list_blobs(include=["copy"])
    assert (first.copy.status, second.copy.status) == (None, "success")
    assert second.copy.source == blob.url and second.copy.id and second.copy.progress == "1/1"


def test_start_from(tree):
    """An inclusive lower bound, which object_store's clients send."""
    responses = []
    next(tree.list_blobs(params={"startFrom": "a/2"}, raw_response_hook=responses.append).by_page())
    found = list(tree.list_blobs(params={"startFrom": "a/2"}))
    assert names(found) == ORDER[ORDER.index("a/2"):]
    assert names(tree.list_blobs(name_starts_with="a/", params={"startFrom": "a/b"})) == ["a/b/3", "a/b/c/4"]


def test_empty_include(tree):
    """Some clients send `include=` without a value."""
    assert names(tree.list_blobs(params={"include": ""})) == ORDER


def test_names_that_xml_cannot_carry(container):
    """They are percent-encoded, and marked as such."""
    name = "dir1/dir2/file\uffff.blob"
    container.upload_blob(name, b"x")
    assert names(container.list_blobs()) == [name]
    assert names(container.walk_blobs(name_starts_with="dir1/dir2/")) == [name]


def test_service_endpoint(tree):
    """The address of the account and the name of the container are part of the document."""
    responses = []
    next(tree.list_blobs(raw_response_hook=responses.append).by_page())
    text = responses[0].http_response.body().decode("utf-8-sig")
    assert f'ServiceEndpoint="{BLOB_ENDPOINT}/" ContainerName="{tree.container_name}"' in text
    assert "<NextMarker" in text


def test_many_blobs_in_pages(container):
    """More than fit on a page by default would take long to upload; pages of seven do."""
    expected = [f"{number:04}" for number in range(60)]
    for name in expected:
        container.upload_blob(name, b"")
    pages = [names(page) for page in container.list_blobs(results_per_page=7).by_page()]
    assert sum(pages, []) == expected
    assert all(len(page) == 7 for page in pages[:-1])
