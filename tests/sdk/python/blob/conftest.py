"""Fixtures of the suite: clients for the server under test, and containers that clean up after themselves.

Groups named in LAZULI_SKIP (a comma list of markers) are left out; nothing else is skipped.
Retries are off in every client, so that a 5xx fails immediately instead of being hidden by a back-off.
"""

import sys
import time
import uuid
from datetime import datetime, timedelta, timezone
from pathlib import Path
from urllib.parse import urlparse
from xml.etree import ElementTree

sys.path.insert(0, str(Path(__file__).parent.parent.parent))

import pytest
from azure.core.exceptions import HttpResponseError
from azure.storage.blob import BlobLeaseClient, BlobServiceClient, generate_blob_sas

from suite import ACCOUNT, BLOB_ENDPOINT, KEY, drop_groups, host_style, resolve_localhost_names  # noqa: F401

CREDENTIAL = {"account_name": ACCOUNT, "account_key": KEY}
CONNECTION_STRING = (
    f"DefaultEndpointsProtocol={urlparse(BLOB_ENDPOINT).scheme};AccountName={ACCOUNT};AccountKey={KEY};BlobEndpoint={BLOB_ENDPOINT};"
)
# Small pieces, so that a few kilobytes are uploaded and downloaded in several.
OPTIONS = {"retry_total": 0, "max_single_put_size": 64 * 1024, "max_block_size": 16 * 1024, "max_single_get_size": 32 * 1024, "max_chunk_get_size": 16 * 1024}
# The longest wait of a test is for a lease of 15 seconds.
TIMEOUT_SECONDS = 60
FOREIGN_ETAG = '"0x8D7A00000000000"'
resolve_localhost_names()
pytest_collection_modifyitems = drop_groups


def random_name(prefix="py-"):
    """A container name that no other run uses."""
    return prefix + uuid.uuid4().hex


def soon(hours=1):
    return datetime.now(timezone.utc) + timedelta(hours=hours)


def error_elements(error):
    """The elements of an error's body by name, with the message reduced to its first line. Empty for a HEAD."""
    body = error.response.body()
    if not body:
        return {}
    root = ElementTree.fromstring(body)
    elements = {child.tag: child.text or "" for child in root}
    lines = elements["Message"].split("\n")
    assert lines[1] == "RequestId:" + error.response.headers["x-ms-request-id"]
    assert lines[2].startswith("Time:") and lines[2].endswith("Z")
    return elements | {"Message": lines[0]}


def rejected(status, code, call, *arguments, **options):
    """Runs a call that the service must reject with this status and code; returns the elements of the error."""
    with pytest.raises(HttpResponseError) as raised:
        result = call(*arguments, **options)
        if hasattr(result, "by_page"):
            list(result)
    error = raised.value
    assert (error.status_code, error.error_code) == (status, code), error
    assert error.response.headers["x-ms-error-code"] == code
    elements = error_elements(error)
    assert elements.get("Code", code) == code
    return elements


def outcome(call, *arguments, **options):
    """The result of a call: "ok", or the status and the code of the error."""
    try:
        call(*arguments, **options)
        return "ok"
    except HttpResponseError as error:
        return error.status_code, getattr(error, "error_code", None)


def eventually(condition):
    """Repeats a call until its result is true, and returns it."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not (found := condition()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)
    return found


def source(blob, **options):
    """An address of the blob that can be read by anybody who has it."""
    if blob.snapshot:
        options["snapshot"] = blob.snapshot
    token = generate_blob_sas(ACCOUNT, blob.container_name, blob.blob_name, account_key=KEY, permission="r", expiry=soon(), **options)
    return blob.url + ("&" if "?" in blob.url else "?") + token


def content(blob, **options):
    return blob.download_blob(**options).readall()


@pytest.fixture(scope="session")
def service():
    """The account under test."""
    with BlobServiceClient(BLOB_ENDPOINT, credential=CREDENTIAL, **OPTIONS) as client:
        yield client


@pytest.fixture
def container(service):
    """A fresh container."""
    client = service.create_container(random_name())
    yield client
    try:
        client.delete_container()
    except HttpResponseError as error:
        if error.error_code == "LeaseIdMissing":
            BlobLeaseClient(client).break_lease(lease_break_period=0)
            client.delete_container()
        elif error.error_code != "ContainerNotFound":
            raise


@pytest.fixture
def blob(container):
    """A blob with ten bytes, a property and metadata."""
    client = container.get_blob_client("blob")
    client.upload_blob(b"0123456789", metadata={"color": "blue"})
    return client


@pytest.fixture
def names(service):
    """Hands out container names; deletes every container that came to exist under one of them."""
    given = []

    def give(prefix="py-"):
        given.append(random_name(prefix))
        return given[-1]

    yield give
    for name in given:
        try:
            service.delete_container(name)
        except HttpResponseError as error:
            assert error.error_code == "ContainerNotFound"
