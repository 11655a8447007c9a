"""Containers: create, list, properties, metadata, delete, account information, and every way to get a client."""

import re
import urllib.request

import pytest
from azure.core.exceptions import ResourceExistsError
from azure.storage.blob import BlobClient, BlobServiceClient, ContainerClient, ContainerProperties, generate_blob_sas

from conftest import ACCOUNT, BLOB_ENDPOINT, CONNECTION_STRING, CREDENTIAL, KEY, OPTIONS, content, host_style, random_name, rejected, soon


def listed(containers):
    return [item.name for item in containers]


def test_create(service, names):
    """BL-05: create returns an ETag; so do the reads, and it is the same."""
    name = names()
    container = service.get_container_client(name)
    created = container.create_container(metadata={"Color": "blue"})
    assert re.fullmatch('"0x[0-9A-F]{15,}"', created["etag"]) and created["last_modified"]
    found = container.get_container_properties()
    assert (found.name, found.etag, found.last_modified) == (name, created["etag"], created["last_modified"])
    assert found.metadata == {"Color": "blue"}
    assert (found.lease.status, found.lease.state, found.lease.duration) == ("unlocked", "available", None)
    assert found.public_access is None
    assert (found.has_immutability_policy, found.has_legal_hold) == (False, False)
    assert container.exists()


def test_create_twice(service, container):
    with pytest.raises(ResourceExistsError):
        service.create_container(container.container_name)
    found = rejected(409, "ContainerAlreadyExists", container.create_container)
    assert found["Message"] == "The specified container already exists."


def test_delete(service, names):
    """Gone from the list and for every operation; its blobs do not come back."""
    name = names()
    container = service.create_container(name)
    container.upload_blob("a", b"x")
    service.delete_container(name)
    assert list(service.list_containers(name_starts_with=name)) == []
    assert not container.exists()
    blob = container.get_blob_client("a")
    assert not blob.exists()
    for call in (
        container.delete_container, container.get_container_properties, container.set_container_metadata, container.get_container_access_policy,
        lambda: container.set_container_access_policy({}), container.list_blobs, container.acquire_lease, blob.download_blob,
        blob.get_blob_properties, blob.delete_blob, lambda: blob.upload_blob(b"x"), lambda: blob.stage_block("AAAA", b"x"),
    ):
        found = rejected(404, "ContainerNotFound", call)
        assert found.get("Message", "The specified container does not exist.") == "The specified container does not exist."
    container.create_container()
    assert list(container.list_blobs()) == []


def test_list(service, names):
    """Sorted by name, by prefix, with and without metadata. The ETag is in quotes here, unlike that of blobs."""
    prefix = random_name("py-")[:20]
    mine = sorted(names(prefix + letter) for letter in "cab")
    etags = {name: service.get_container_client(name).create_container(metadata={"Name": name})["etag"] for name in reversed(mine)}
    found = list(service.list_containers(name_starts_with=prefix))
    assert listed(found) == mine
    assert all(isinstance(item, ContainerProperties) and not item.metadata for item in found)
    assert [item.etag for item in found] == [etags[name] for name in mine]
    assert [(item.lease.status, item.lease.state) for item in found] == [("unlocked", "available")] * 3
    assert [item.metadata for item in service.list_containers(name_starts_with=prefix, include_metadata=True)] == [{"Name": name} for name in mine]
    assert listed(service.list_containers(name_starts_with=prefix + "b")) == [mine[1]]
    assert [name for name in listed(service.list_containers()) if name in mine] == mine


def test_list_in_pages(service, names):
    prefix = random_name("py-")[:20]
    mine = sorted(names(prefix + letter) for letter in "abcde")
    for name in mine:
        service.create_container(name)
    pages = service.list_containers(name_starts_with=prefix, results_per_page=2).by_page()
    assert listed(next(pages)) == mine[:2]
    token = pages.continuation_token
    assert token
    rest = service.list_containers(name_starts_with=prefix, results_per_page=2).by_page(continuation_token=token)
    assert [listed(page) for page in rest] == [mine[2:4], mine[4:]]


def test_metadata(container):
    """BL-01, BL-03: each set replaces the one before, and changes the ETag."""
    before = container.get_container_properties().etag
    response = container.set_container_metadata({"first": "1", "Second": "two words"})
    assert response["etag"] not in (None, before)
    assert container.get_container_properties().metadata == {"first": "1", "Second": "two words"}
    container.set_container_metadata({"third": "3"})
    assert container.get_container_properties().metadata == {"third": "3"}
    container.set_container_metadata()
    assert container.get_container_properties().metadata == {}
    rejected(400, "InvalidMetadata", container.set_container_metadata, {"a-b": "1"})


def test_conditions_of_containers(container):
    """BL-05: dates only, for set metadata (modified since), set ACL and delete."""
    when = container.get_container_properties().last_modified
    early, late = when.replace(year=2001), when.replace(year=2099)
    container.set_container_metadata({"a": "1"}, if_modified_since=early)
    container.set_container_access_policy({}, if_modified_since=early)
    container.set_container_access_policy({}, if_unmodified_since=late)
    for call in (
        lambda: container.set_container_metadata({"a": "2"}, if_modified_since=late),
        lambda: container.set_container_access_policy({}, if_modified_since=late),
        lambda: container.set_container_access_policy({}, if_unmodified_since=early),
        lambda: container.delete_container(if_modified_since=late),
        lambda: container.delete_container(if_unmodified_since=early),
    ):
        rejected(412, "ConditionNotMet", call)
    assert container.get_container_properties().metadata == {"a": "1"}
    container.delete_container(if_unmodified_since=late)
    assert not container.exists()


def test_account_information(service, container, blob):
    """On all three levels."""
    for client in (service, container, blob):
        found = client.get_account_information()
        assert found["sku_name"] and found["account_kind"]
        assert found["is_hns_enabled"] is False


def test_clients_from_everything(container, blob):
    """Connection string, URL, credential, each API version: all reach the same blob."""
    name = container.container_name
    clients = [
        ContainerClient(BLOB_ENDPOINT, name, credential=CREDENTIAL, **OPTIONS),
        ContainerClient.from_connection_string(CONNECTION_STRING, name, **OPTIONS),
        ContainerClient.from_container_url(f"{BLOB_ENDPOINT}/{name}", credential=CREDENTIAL, **OPTIONS),
        BlobServiceClient.from_connection_string(CONNECTION_STRING, **OPTIONS).get_container_client(name),
    ]
    for client in clients:
        with client:
            assert (client.account_name, client.container_name, client.url) == (ACCOUNT, name, f"{BLOB_ENDPOINT}/{name}")
            assert client.download_blob("blob").readall() == b"0123456789"
    blobs = [
        BlobClient(BLOB_ENDPOINT, name, "blob", credential=CREDENTIAL, **OPTIONS),
        BlobClient.from_connection_string(CONNECTION_STRING, name, "blob", **OPTIONS),
        BlobClient.from_blob_url(f"{BLOB_ENDPOINT}/{name}/blob", credential=CREDENTIAL, **OPTIONS),
        BlobServiceClient(BLOB_ENDPOINT, credential=CREDENTIAL, **OPTIONS).get_blob_client(name, "blob"),
    ] + [
        BlobClient(BLOB_ENDPOINT, name, "blob", credential=CREDENTIAL, api_version=version, **OPTIONS)
        for version in ("2019-02-02", "2019-12-12", "2021-12-02", "2024-08-04")
    ]
    for client in blobs:
        with client:
            assert content(client) == b"0123456789"
            client.close()


def test_api_version_and_request_id_are_echoed(container):
    for version in ("2019-02-02", "2020-10-02", "2025-05-05"):
        client = ContainerClient(BLOB_ENDPOINT, container.container_name, credential=CREDENTIAL, api_version=version, **OPTIONS)
        responses = []
        client.get_container_properties(raw_response_hook=responses.append, client_request_id="my-own-id")
        headers = responses[0].http_response.headers
        assert (headers["x-ms-version"], headers["x-ms-client-request-id"]) == (version, "my-own-id")


@pytest.mark.skipif(not host_style(BLOB_ENDPOINT, "blob"), reason="the endpoint itself is host style")
def test_host_style(service, names):
    """The account as the first label of the host name."""
    with BlobServiceClient(host_style(BLOB_ENDPOINT, "blob"), credential=CREDENTIAL, **OPTIONS) as client:
        container = client.create_container(names())
        container.upload_blob("a b/c", b"x")
        assert [item.name for item in container.list_blobs()] == ["a b/c"]
    assert service.get_blob_client(container.container_name, "a b/c").exists()


@pytest.mark.parametrize("name", ["ab", "a" * 64, "Upper", "a--b", "-ab", "ab-", "a_b"])
def test_invalid_names(service, name):
    found = rejected(400, "InvalidResourceName" if 3 <= len(name) <= 63 else "OutOfRangeInput", service.create_container, name)
    assert found["Message"] in (
        "The specifed resource name contains invalid characters.",  # the live service spells it this way
        "The specified resource name length is not within the permissible limits.",
        "One of the request inputs is out of range.",
    )


def test_root_container(service):
    """Blobs of `$root` are addressed without a container."""
    root = service.get_container_client("$root")
    if not root.exists():
        root.create_container()
    name = random_name("root-")
    try:
        blob = service.get_blob_client("$root", name)
        blob.upload_blob(b"at the root")
        sas = generate_blob_sas(ACCOUNT, "$root", name, account_key=KEY, permission="r", expiry=soon())
        with urllib.request.urlopen(f"{BLOB_ENDPOINT}/{name}?{sas}") as response:
            assert response.read() == b"at the root"
        assert name in [item.name for item in root.list_blobs()]
    finally:
        root.delete_container()


def test_wrong_key(container):
    other = ContainerClient(BLOB_ENDPOINT, container.container_name, credential=CREDENTIAL | {"account_key": "AAAA" + KEY[4:]}, **OPTIONS)
    rejected(403, "AuthenticationFailed", other.list_blobs)
