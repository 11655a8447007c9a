"""`az storage container` and `az storage blob`."""

import os
import uuid

import pytest
from conftest import BLOB_ENDPOINT, key, rejected, with_sas

pytestmark = pytest.mark.skipif(not BLOB_ENDPOINT, reason="the server does not offer blobs")


@pytest.fixture
def container():
    name = "az-" + uuid.uuid4().hex
    assert key("container", "create", "-n", name) == {"created": True}
    yield name
    key("container", "delete", "-n", name)


@pytest.fixture
def blob(container, tmp_path):
    """A blob of ten bytes."""
    (tmp_path / "digits").write_bytes(b"0123456789")
    key("blob", "upload", "-c", container, "-n", "blob", "-f", tmp_path / "digits", "--metadata", "color=blue")
    return container, "blob"


def content(container, name, folder, *options):
    path = folder / uuid.uuid4().hex
    key("blob", "download", "-c", container, "-n", name, "-f", path, *options)
    return path.read_bytes()


def names(container, *options):
    return [item["name"] for item in key("blob", "list", "-c", container, *options)]


def test_containers(container):
    assert key("container", "exists", "-n", container) == {"exists": True}
    assert key("container", "create", "-n", container) == {"created": False}
    assert container in [item["name"] for item in key("container", "list", "--prefix", container)]
    key("container", "metadata", "update", "-n", container, "--metadata", "color=blue")
    assert key("container", "metadata", "show", "-n", container) == {"color": "blue"}
    assert key("container", "show", "-n", container)["properties"]["lease"]["state"] == "available"
    key("container", "set-permission", "-n", container, "--public-access", "blob")
    assert key("container", "show-permission", "-n", container) == {"publicAccess": "blob"}


def test_upload_show_download(blob, tmp_path):
    container, name = blob
    assert content(container, name, tmp_path) == b"0123456789"
    assert content(container, name, tmp_path, "--start-range", 3, "--end-range", 5) == b"345"
    found = key("blob", "show", "-c", container, "-n", name)
    assert (found["properties"]["contentLength"], found["metadata"]) == (10, {"color": "blue"})
    assert key("blob", "exists", "-c", container, "-n", name) == {"exists": True}
    rejected("BlobAlreadyExists", key, "blob", "upload", "-c", container, "-n", name, "-f", tmp_path / "digits")
    key("blob", "update", "-c", container, "-n", name, "--content-type", "text/html")
    assert key("blob", "show", "-c", container, "-n", name)["properties"]["contentSettings"]["contentType"] == "text/html"
    key("blob", "metadata", "update", "-c", container, "-n", name, "--metadata", "a=b")
    assert key("blob", "metadata", "show", "-c", container, "-n", name) == {"a": "b"}
    key("blob", "delete", "-c", container, "-n", name)
    assert key("blob", "exists", "-c", container, "-n", name) == {"exists": False}


def test_folders(container, tmp_path):
    """Batches: a whole folder up and down, and deleted by pattern."""
    folder = tmp_path / "in"
    (folder / "deep").mkdir(parents=True)
    for path, text in (("one.txt", b"1"), ("deep/two.txt", b"22"), ("deep/three.bin", os.urandom(100_000))):
        (folder / path).write_bytes(text)
    key("blob", "upload-batch", "-d", container, "-s", folder, "--max-connections", 1)
    assert names(container) == ["deep/three.bin", "deep/two.txt", "one.txt"]
    assert names(container, "--delimiter", "/") in (["one.txt", "deep/"], ["deep/", "one.txt"])
    out = tmp_path / "out"
    out.mkdir()
    key("blob", "download-batch", "-s", container, "-d", out)
    assert (out / "deep/three.bin").read_bytes() == (folder / "deep/three.bin").read_bytes()
    key("blob", "delete-batch", "-s", container, "--pattern", "*.txt")
    assert names(container) == ["deep/three.bin"]


def test_snapshot_and_copy(blob, tmp_path):
    container, name = blob
    snapshot = key("blob", "snapshot", "-c", container, "-n", name)["snapshot"]
    (tmp_path / "new").write_bytes(b"new")
    key("blob", "upload", "-c", container, "-n", name, "-f", tmp_path / "new", "--overwrite")
    assert content(container, name, tmp_path, "--snapshot", snapshot) == b"0123456789"
    # By URL: given names, az assumes an account of Azure.
    copied = key("blob", "copy", "start", "--source-uri", f"{BLOB_ENDPOINT}/{container}/{name}", "-c", container, "-b", "copy")
    assert copied["copy_status"] == "success"
    assert content(container, "copy", tmp_path) == b"new"
    rejected("snapshots", key, "blob", "delete", "-c", container, "-n", name)
    key("blob", "delete", "-c", container, "-n", name, "--delete-snapshots", "include")


def test_leases(blob, tmp_path):
    """LS-02, LS-03, LS-05, LS-10"""
    container, name = blob
    lease = key("blob", "lease", "acquire", "-c", container, "-b", name, "--lease-duration", 15)
    rejected("LeaseAlreadyPresent", key, "blob", "lease", "acquire", "-c", container, "-b", name, "--lease-duration", 15)
    rejected("LeaseIdMissing", key, "blob", "metadata", "update", "-c", container, "-n", name, "--metadata", "a=b")
    key("blob", "metadata", "update", "-c", container, "-n", name, "--metadata", "a=b", "--lease-id", lease)
    key("blob", "lease", "renew", "-c", container, "-b", name, "--lease-id", lease)
    other = str(uuid.uuid4())
    key("blob", "lease", "change", "-c", container, "-b", name, "--lease-id", lease, "--proposed-lease-id", other)
    key("blob", "lease", "release", "-c", container, "-b", name, "--lease-id", other)
    lease = key("container", "lease", "acquire", "-c", container)
    rejected("LeaseIdMissing", key, "container", "delete", "-n", container, "--fail-not-exist")
    key("container", "lease", "break", "-c", container, "--lease-break-period", 0)


@pytest.mark.sas
def test_signatures(blob, tmp_path):
    container, name = blob
    token = key("blob", "generate-sas", "-c", container, "-n", name, "--permissions", "r", "--expiry", "2099-01-01T00:00Z").strip('"')
    path = tmp_path / "out"
    with_sas(token, "blob", "download", "-c", container, "-n", name, "-f", path)
    assert path.read_bytes() == b"0123456789"
    rejected("not authorized", with_sas, token, "blob", "delete", "-c", container, "-n", name)
    token = key("container", "generate-sas", "-n", container, "--permissions", "l", "--expiry", "2099-01-01T00:00Z").strip('"')
    assert [item["name"] for item in with_sas(token, "blob", "list", "-c", container)] == ["blob"]
    assert key("blob", "url", "-c", container, "-n", name).strip('"').endswith(f"/{container}/blob")


@pytest.mark.acl
def test_policies(container):
    key("container", "policy", "create", "-c", container, "-n", "reader", "--permissions", "r", "--expiry", "2099-01-01T00:00Z")
    assert list(key("container", "policy", "list", "-c", container)) == ["reader"]
    key("container", "policy", "delete", "-c", container, "-n", "reader")


@pytest.mark.properties
def test_service_settings():
    key("cors", "add", "--services", "b", "--methods", "GET", "--origins", "www.xyz.com", "--max-age", 5)
    assert [rule["AllowedOrigins"] for rule in key("cors", "list", "--services", "b")] == ["www.xyz.com"]
    key("cors", "clear", "--services", "b")
    assert key("blob", "service-properties", "show")["hourMetrics"]["enabled"] in (True, False)


@pytest.mark.part2
def test_tiers(blob):
    container, name = blob
    key("blob", "set-tier", "-c", container, "-n", name, "--tier", "Cool")
    assert key("blob", "show", "-c", container, "-n", name)["properties"]["blobTier"] == "Cool"
