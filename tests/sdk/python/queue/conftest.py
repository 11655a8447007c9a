"""Fixtures of the suite: clients for the server under test, and queues that clean up after themselves.

Groups named in LAZULI_SKIP (a comma list of markers) are left out; nothing else is skipped.
Retries are off in every client, so that a 5xx fails immediately instead of being hidden by a back-off.
"""

import sys
import time
import uuid
from pathlib import Path
from urllib.parse import urlparse
from xml.etree import ElementTree

sys.path.insert(0, str(Path(__file__).parent.parent.parent))

import pytest
from azure.core.exceptions import HttpResponseError
from azure.storage.queue import QueueServiceClient

from suite import ACCOUNT, KEY, QUEUE_ENDPOINT, drop_groups, host_style, resolve_localhost_names  # noqa: F401

CREDENTIAL = {"account_name": ACCOUNT, "account_key": KEY}
CONNECTION_STRING = (
    f"DefaultEndpointsProtocol={urlparse(QUEUE_ENDPOINT).scheme};AccountName={ACCOUNT};AccountKey={KEY};"
    f"QueueEndpoint={QUEUE_ENDPOINT};"
)
OPTIONS = {"retry_total": 0}
# A message that was hidden for a second is back long before this.
TIMEOUT_SECONDS = 30
resolve_localhost_names()
pytest_collection_modifyitems = drop_groups


def random_name(prefix="py-"):
    """A queue name that no other run uses."""
    return prefix + uuid.uuid4().hex


def error_elements(error):
    """The elements of an error's body by name, with the message reduced to its first line."""
    root = ElementTree.fromstring(error.response.body())
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
    assert elements["Code"] == code
    return elements


def eventually(condition):
    """Repeats a call until its result is true, and returns it."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not (found := condition()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)
    return found


def texts(messages):
    return [message.content for message in messages]


@pytest.fixture(scope="session")
def service():
    """The account under test."""
    with QueueServiceClient(QUEUE_ENDPOINT, credential=CREDENTIAL, **OPTIONS) as client:
        yield client


@pytest.fixture
def queue(service):
    """A fresh queue."""
    client = service.create_queue(random_name())
    yield client
    client.delete_queue()


@pytest.fixture
def names(service):
    """Hands out queue names; deletes every queue that came to exist under one of them."""
    given = []

    def give(prefix="py-"):
        given.append(random_name(prefix))
        return given[-1]

    yield give
    for name in given:
        try:
            service.delete_queue(name)
        except HttpResponseError as error:
            assert error.error_code == "QueueNotFound"
