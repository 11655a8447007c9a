"""Fixtures of the suite: clients for the server under test, and tables that clean up after themselves.

Groups named in LAZULI_SKIP (a comma list of markers) are left out; nothing else is skipped.
Retries are off in every client, so that a 5xx fails immediately instead of being hidden by a back-off.
"""

import json
import sys
import uuid
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent.parent))

import pytest
from azure.core.credentials import AzureNamedKeyCredential
from azure.core.exceptions import HttpResponseError
from azure.data.tables import TableServiceClient

from suite import ACCOUNT, ENDPOINT, KEY, PATH_STYLE, URL, drop_groups, resolve_localhost_names, skipped_groups  # noqa: F401

CREDENTIAL = AzureNamedKeyCredential(ACCOUNT, KEY)
CONNECTION_STRING = (
    f"DefaultEndpointsProtocol={URL.scheme};AccountName={ACCOUNT};AccountKey={KEY};"
    f"TableEndpoint={ENDPOINT};"
)
OPTIONS = {"retry_total": 0}
resolve_localhost_names()


def pytest_collection_modifyitems(config, items):
    """Drops the groups that LAZULI_SKIP names."""
    known = {line.split(":")[0] for line in config.getini("markers")}
    unknown = skipped_groups() - known
    if unknown:
        raise pytest.UsageError(f"LAZULI_SKIP names unknown groups: {', '.join(sorted(unknown))}")
    drop_groups(config, items)


def random_name(prefix="py"):
    """A table name that no other run uses."""
    return prefix + uuid.uuid4().hex


def service_error(raised):
    """Status, code and text of the service's error behind an exception, without the trailer."""
    error = raised.value if hasattr(raised, "value") else raised
    while not isinstance(error, HttpResponseError):
        error = error.__cause__ or error.__context__
        assert error is not None, "the exception does not come from a response of the service"
    body = json.loads(error.response.text())["odata.error"]
    text, request_id, time = body["message"]["value"].split("\n")
    assert body["message"]["lang"] == "en-US"
    assert request_id == "RequestId:" + error.response.headers["x-ms-request-id"]
    assert time.startswith("Time:") and time.endswith("Z")
    return error.response.status_code, body["code"], text


def rejected(status, code, call, *arguments, **options):
    """Runs a call that the service must reject with this status and code; returns the text."""
    with pytest.raises((HttpResponseError, ValueError)) as raised:
        result = call(*arguments, **options)
        if hasattr(result, "by_page"):
            list(result)
    found_status, found_code, text = service_error(raised)
    assert (found_status, found_code) == (status, code), text
    return text


@pytest.fixture(scope="session")
def service():
    """The account under test."""
    with TableServiceClient(ENDPOINT, credential=CREDENTIAL, **OPTIONS) as client:
        yield client


@pytest.fixture
def table(service):
    """A fresh table."""
    client = service.create_table(random_name())
    yield client
    client.delete_table()


@pytest.fixture
def names(service):
    """Hands out table names; deletes every table that came to exist under one of them."""
    given = []

    def give(prefix="py"):
        given.append(random_name(prefix))
        return given[-1]

    yield give
    for name in given:
        service.delete_table(name)
