"""Stored access policies, public access and shared access signatures: who may do what, and for how long."""

from datetime import datetime, timezone

import pytest
from azure.core.exceptions import HttpResponseError
from azure.core.pipeline.transport import RequestsTransport
from azure.storage.blob import (
    AccessPolicy,
    AccountSasPermissions,
    BlobBlock,
    BlobClient,
    BlobServiceClient,
    ContainerClient,
    ContainerSasPermissions,
    PublicAccess,
    ResourceTypes,
    generate_account_sas,
    generate_blob_sas,
    generate_container_sas,
)

from conftest import ACCOUNT, BLOB_ENDPOINT, KEY, OPTIONS, content, outcome, random_name, rejected, soon
from suite import TOKEN, with_token


def allowed(call):
    """Whether a call is permitted; any failure other than 403 fails the test."""
    try:
        result = call()
        if hasattr(result, "by_page"):
            list(result)
        return True
    except HttpResponseError as error:
        assert error.status_code == 403, error
        assert error.error_code in ("AuthorizationPermissionMismatch", "AuthorizationFailure", "UnauthorizedBlobOverwrite"), error
        return False


@pytest.mark.acl
def test_access_policy(container):
    """BL-05: get and set return the ETag, and set changes it. Times come back with seven digits."""
    assert container.get_container_access_policy() == {"public_access": None, "signed_identifiers": []}
    before = container.get_container_properties().etag
    start, expiry = datetime(2030, 1, 2, tzinfo=timezone.utc), datetime(2030, 3, 4, 5, 6, 7, tzinfo=timezone.utc)
    response = container.set_container_access_policy({
        "full": AccessPolicy(permission=ContainerSasPermissions(read=True, write=True, delete=True, list=True), start=start, expiry=expiry),
        "empty": AccessPolicy(),
    }, public_access=PublicAccess.BLOB)
    assert response["etag"] != before
    found = container.get_container_access_policy()
    assert found["public_access"] == "blob"
    assert [(item.id, item.access_policy and item.access_policy.permission) for item in found["signed_identifiers"]] == [("full", "rwdl"), ("empty", None)]
    policy = found["signed_identifiers"][0].access_policy
    assert (policy.start, policy.expiry) == ("2030-01-02T00:00:00.0000000Z", "2030-03-04T05:06:07.0000000Z")
    container.set_container_access_policy({})
    assert container.get_container_access_policy() == {"public_access": None, "signed_identifiers": []}
    with pytest.raises(ValueError):
        container.set_container_access_policy({f"p{number}": AccessPolicy() for number in range(6)})


@pytest.mark.acl
def test_public_access(service, names):
    """A container can be read by everybody, or only its blobs, or nothing."""
    for level, read, listing in ((PublicAccess.CONTAINER, True, True), (PublicAccess.BLOB, True, False), (None, False, False)):
        container = service.create_container(names(), public_access=level)
        container.upload_blob("a", b"open")
        assert container.get_container_properties().public_access == level
        anonymous = ContainerClient(BLOB_ENDPOINT, container.container_name, **OPTIONS)
        assert (outcome(lambda: anonymous.download_blob("a").readall()) == "ok") == read, level
        assert (outcome(lambda: list(anonymous.list_blobs())) == "ok") == listing, level
        assert outcome(anonymous.upload_blob, "b", b"x")[0] in (401, 403, 404)
        if not read:
            assert outcome(lambda: anonymous.download_blob("a"))[0] in (401, 404, 409)


def blob_client(blob, permission=None, **options):
    token = generate_blob_sas(ACCOUNT, blob.container_name, blob.blob_name, account_key=KEY, permission=permission,
                              expiry=options.pop("expiry", soon() if permission else None), **options)
    return BlobClient.from_blob_url(f"{blob.url}?{token}", **OPTIONS)


def container_client(container, permission=None, **options):
    token = generate_container_sas(ACCOUNT, container.container_name, KEY, permission=permission,
                                   expiry=options.pop("expiry", soon() if permission else None), **options)
    return ContainerClient.from_container_url(f"{container.url}?{token}", **OPTIONS)


BLOB_CALLS = {
    "download": (lambda blob: blob.download_blob(), "r"),
    "properties": (lambda blob: blob.get_blob_properties(), "r"),
    "block list": (lambda blob: blob.get_block_list("all"), "r"),
    "overwrite": (lambda blob: blob.upload_blob(b"new", overwrite=True), "w"),
    "metadata": (lambda blob: blob.set_blob_metadata({"a": "b"}), "w"),
    "headers": (lambda blob: blob.set_http_headers(), "w"),
    # The right to create is enough for the blocks of a new blob, not for those of one that exists.
    "stage": (lambda blob: blob.stage_block("AAAA", b"x"), "w"),
    "commit": (lambda blob: blob.commit_block_list([BlobBlock("AAAB")]), "w"),
    "snapshot": (lambda blob: blob.create_snapshot(), "cw"),
    "lease": (lambda blob: blob.acquire_lease(15).release(), "w"),
    "delete": (lambda blob: blob.delete_blob(delete_snapshots="include"), "d"),
}


@pytest.mark.sas
@pytest.mark.parametrize("name", BLOB_CALLS)
def test_each_permission_of_a_blob_sas(blob, name):
    call, letters = BLOB_CALLS[name]
    for letter in "racwd":
        blob.upload_blob(b"mine", overwrite=True)
        blob.stage_block("AAAB", b"staged")
        assert allowed(lambda: call(blob_client(blob, letter))) == (letter in letters), letter


@pytest.mark.sas
def test_create_without_write(container, blob):
    """c creates a blob, and does not overwrite one."""
    blob_client(container.get_blob_client("new"), "c").upload_blob(b"x")
    rejected(403, "UnauthorizedBlobOverwrite", blob_client(blob, "c").upload_blob, b"x", overwrite=True)
    blob_client(container.get_blob_client("newer"), "w").upload_blob(b"x")


CONTAINER_CALLS = {
    "list": (lambda container: container.list_blobs(), "l"),
    "read": (lambda container: container.download_blob("blob"), "r"),
    "write": (lambda container: container.upload_blob("blob", b"x", overwrite=True), "w"),
    "create": (lambda container: container.upload_blob(random_name(), b"x"), "cw"),
    "delete": (lambda container: container.delete_blob("blob"), "d"),
    "remove": (lambda container: container.delete_container(), ""),
    "metadata": (lambda container: container.set_container_metadata({"a": "b"}), ""),
    "policies": (lambda container: container.get_container_access_policy(), ""),
    "lease": (lambda container: container.acquire_lease(15), ""),
}


@pytest.mark.sas
@pytest.mark.parametrize("name", CONTAINER_CALLS)
def test_each_permission_of_a_container_sas(container, blob, name):
    """A service SAS never changes the container itself."""
    call, letters = CONTAINER_CALLS[name]
    for letter in "racwdl":
        blob.upload_blob(b"mine", overwrite=True)
        assert allowed(lambda: call(container_client(container, letter))) == (letter in letters), letter


@pytest.mark.sas
def test_times_protocol_and_address(blob):
    assert content(blob_client(blob, "r", start=soon(-1))) == b"0123456789"
    assert content(blob_client(blob, "r", protocol="https,http", ip="127.0.0.0-127.0.0.255")) == b"0123456789"
    rejected(403, "AuthenticationFailed", blob_client(blob, "r", expiry=soon(-1)).download_blob)
    rejected(403, "AuthenticationFailed", blob_client(blob, "r", start=soon(1), expiry=soon(2)).download_blob)
    rejected(403, "AuthorizationSourceIPMismatch", blob_client(blob, "r", ip="192.0.2.1").download_blob)
    if BLOB_ENDPOINT.startswith("http:"):
        rejected(403, "AuthorizationProtocolMismatch", blob_client(blob, "r", protocol="https").download_blob)


@pytest.mark.sas
def test_signature_for_something_else(container, blob):
    other = container.upload_blob("other", b"x")
    token = generate_blob_sas(ACCOUNT, container.container_name, "other", account_key=KEY, permission="r", expiry=soon())
    assert content(BlobClient.from_blob_url(f"{other.url}?{token}", **OPTIONS)) == b"x"
    rejected(403, "AuthenticationFailed", BlobClient.from_blob_url(f"{blob.url}?{token}", **OPTIONS).download_blob)
    rejected(403, "AuthenticationFailed", BlobClient.from_blob_url(f"{other.url}?{token.replace('sp=r', 'sp=rw')}", **OPTIONS).download_blob)


@pytest.mark.sas
def test_headers_in_the_signature(blob):
    """The holder of the address gets the headers that the signer chose."""
    client = blob_client(blob, "r", cache_control="no-cache", content_disposition="attachment; filename=x", content_encoding="deflate",
                         content_language="fr", content_type="text/csv")
    found = client.get_blob_properties().content_settings
    assert (found.cache_control, found.content_disposition, found.content_encoding, found.content_language, found.content_type) == (
        "no-cache", "attachment; filename=x", "deflate", "fr", "text/csv")


@pytest.mark.sas
def test_snapshot_sas(container, blob):
    snapshot = container.get_blob_client("blob", snapshot=blob.create_snapshot()["snapshot"])
    token = generate_blob_sas(ACCOUNT, container.container_name, "blob", snapshot=snapshot.snapshot, account_key=KEY, permission="r", expiry=soon())
    assert content(BlobClient.from_blob_url(f"{blob.url}?snapshot={snapshot.snapshot}&{token}", **OPTIONS)) == b"0123456789"
    assert outcome(BlobClient.from_blob_url(f"{blob.url}?{token}", **OPTIONS).download_blob)[0] == 403


@pytest.mark.sas
@pytest.mark.acl
def test_stored_policy(container, blob):
    """Removing the policy immediately revokes what was signed with it (BL-07)."""
    container.set_container_access_policy({"reader": AccessPolicy(permission="r", expiry=soon()), "late": AccessPolicy(permission="r", expiry=soon(-1))})
    reader = container_client(container, policy_id="reader")
    assert reader.download_blob("blob").readall() == b"0123456789"
    assert content(blob_client(blob, policy_id="reader")) == b"0123456789"
    assert not allowed(lambda: reader.upload_blob("new", b"x"))
    rejected(403, "AuthenticationFailed", container_client(container, policy_id="late").download_blob, "blob")
    rejected(403, "AuthenticationFailed", container_client(container, policy_id="unknown").download_blob, "blob")
    container.set_container_access_policy({})
    rejected(403, "AuthenticationFailed", reader.download_blob, "blob")


def account(resources, permission, services="b", **options):
    token = generate_account_sas(ACCOUNT, KEY, ResourceTypes.from_string(resources), AccountSasPermissions.from_string(permission),
                                 options.pop("expiry", soon()), services=services, **options)
    return BlobServiceClient(BLOB_ENDPOINT, credential=token, **OPTIONS)


@pytest.mark.sas
def test_account_sas(names):
    """Everything that an account SAS can do to containers and blobs."""
    client, name = account("sco", "rwdlac"), names()
    container = client.create_container(name, metadata={"a": "b"})
    assert [item.name for item in client.list_containers(name_starts_with=name)] == [name]
    container.set_container_metadata({"c": "d"})
    assert container.get_container_properties().metadata == {"c": "d"}
    blob = container.upload_blob("a", b"x")
    assert content(blob) == b"x"
    blob.create_snapshot()
    assert len(list(container.list_blobs(include=["snapshots"]))) == 2
    blob.delete_blob(delete_snapshots="include")
    container.acquire_lease(15).release()
    assert not allowed(container.get_container_access_policy)
    container.delete_container()


@pytest.mark.sas
@pytest.mark.parametrize(
    "call, resource, permissions",
    [
        (lambda service, container: service.list_containers(), "s", "l"),
        (lambda service, container: service.get_service_properties(), "s", "r"),
        (lambda service, container: container.get_container_properties(), "c", "r"),
        (lambda service, container: container.set_container_metadata({"a": "b"}), "c", "w"),
        (lambda service, container: container.list_blobs(), "c", "l"),
        (lambda service, container: service.create_container(random_name("pyx-")).delete_container, "c", "cw"),
        (lambda service, container: container.download_blob("blob"), "o", "r"),
        (lambda service, container: container.upload_blob("blob", b"x", overwrite=True), "o", "w"),
        (lambda service, container: container.upload_blob(random_name(), b"x"), "o", "cw"),
        (lambda service, container: container.delete_blob("blob"), "o", "d"),
    ],
    ids=["list", "service properties", "properties", "metadata", "list blobs", "create", "download", "overwrite", "upload", "delete"],
)
def test_each_permission_of_an_account_sas(service, container, blob, call, resource, permissions):
    for letter in "rwdlac":
        blob.upload_blob(b"mine", overwrite=True)
        client = account(resource, letter)
        assert allowed(lambda: call(client, client.get_container_client(container.container_name))) == (letter in permissions), letter
    others = account("sco".replace(resource, ""), "rwdlac")
    with pytest.raises(HttpResponseError) as raised:
        list(call(others, others.get_container_client(container.container_name)) or [])
    assert (raised.value.status_code, raised.value.error_code) == (403, "AuthorizationResourceTypeMismatch")
    for left in service.list_containers(name_starts_with="pyx-"):
        service.delete_container(left.name)


@pytest.mark.sas
def test_account_sas_for_another_service(container):
    rejected(403, "AuthorizationServiceMismatch", account("sco", "rwdlac", services="qt").get_container_client(container.container_name).list_blobs)


@pytest.mark.sas
@pytest.mark.skipif(not TOKEN, reason="LAZULI_TOKEN is not set")
def test_user_delegation(container, blob):
    """A user's key signs tokens for a blob or a container, with no more rights than the letters in them."""
    with BlobServiceClient(BLOB_ENDPOINT, credential=KEY, transport=with_token(RequestsTransport), **OPTIONS) as user:
        key = user.get_user_delegation_key(soon(-1), soon(2))
    assert (key.signed_service, key.signed_expiry > key.signed_start) == ("b", True)
    arguments = {"user_delegation_key": key, "permission": "r", "expiry": soon()}
    token = generate_blob_sas(ACCOUNT, container.container_name, "blob", **arguments)
    reader = BlobClient(BLOB_ENDPOINT, container.container_name, "blob", credential=token, **OPTIONS)
    assert content(reader) == b"0123456789"
    rejected(403, "AuthorizationPermissionMismatch", reader.delete_blob)
    wide = generate_container_sas(ACCOUNT, container.container_name, **arguments | {"permission": "l"})
    lister = ContainerClient(BLOB_ENDPOINT, container.container_name, credential=wide, **OPTIONS)
    assert [item.name for item in lister.list_blobs()] == ["blob"]
    key.value = KEY
    forged = generate_blob_sas(ACCOUNT, container.container_name, "blob", **arguments)
    rejected(403, "AuthenticationFailed", BlobClient(BLOB_ENDPOINT, container.container_name, "blob", credential=forged, **OPTIONS).download_blob)
