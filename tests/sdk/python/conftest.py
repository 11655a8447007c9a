"""Fixtures of the suite: clients for the server under test, and tables that clean up after themselves.

Groups named in LAZULI_SKIP (a comma list of markers) are left out; nothing else is skipped.
Retries are off in every client, so that a 5xx fails at once instead of being hidden by a back-off.
"""

import json
import os
import socket
import uuid
from urllib.parse import urlparse

import pytest
from azure.core.credentials import AzureNamedKeyCredential
from azure.core.exceptions import HttpResponseError
from azure.data.tables import TableServiceClient

DEV_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
ENDPOINT = os.environ.get("LAZULI_ENDPOINT", "http://127.0.0.1:10002/devstoreaccount1").rstrip("/")
ACCOUNT = os.environ.get("LAZULI_ACCOUNT", "devstoreaccount1")
KEY = os.environ.get("LAZULI_KEY", DEV_KEY)
CREDENTIAL = AzureNamedKeyCredential(ACCOUNT, KEY)
CONNECTION_STRING = (
    f"DefaultEndpointsProtocol={urlparse(ENDPOINT).scheme};AccountName={ACCOUNT};AccountKey={KEY};"
    f"TableEndpoint={ENDPOINT};"
)
PATH_STYLE = urlparse(ENDPOINT).path == f"/{ACCOUNT}"
OPTIONS = {"retry_total": 0}


def pytest_collection_modifyitems(config, items):
    """Drops the groups that LAZULI_SKIP names."""
    skipped = {name.strip() for name in os.environ.get("LAZULI_SKIP", "").split(",") if name.strip()}
    known = {line.split(":")[0] for line in config.getini("markers")}
    unknown = skipped - known
    if unknown:
        raise pytest.UsageError(f"LAZULI_SKIP names unknown groups: {', '.join(sorted(unknown))}")
    dropped = [item for item in items if any(item.get_closest_marker(name) for name in skipped)]
    config.hook.pytest_deselected(items=dropped)
    items[:] = [item for item in items if item not in dropped]


def random_name(prefix="py"):
    """A table name that no other run uses."""
    return prefix + uuid.uuid4().hex


def service_error(raised):
    """Status, code and text of the service's error behind an exception, without the trailer."""
    error = raised.value if hasattr(raised, "value") else raised
    while not isinstance(error, HttpResponseError):
        error = error.__cause__ or error.__context__
        assert error is not None, "the exception does not come from an answer of the service"
    body = json.loads(error.response.text())["odata.error"]
    text, request_id, time = body["message"]["value"].split("\n")
    assert body["message"]["lang"] == "en-US"
    assert request_id == "RequestId:" + error.response.headers["x-ms-request-id"]
    assert time.startswith("Time:") and time.endswith("Z")
    return error.response.status_code, body["code"], text


def refused(status, code, call, *arguments, **options):
    """Runs a call that the service must refuse with this status and code; returns the text."""
    with pytest.raises((HttpResponseError, ValueError)) as raised:
        result = call(*arguments, **options)
        if hasattr(result, "by_page"):
            list(result)
    found_status, found_code, text = service_error(raised)
    assert (found_status, found_code) == (status, code), text
    return text


@pytest.fixture(scope="session", autouse=True)
def localhost_names():
    """Makes `{account}.table.localhost` resolve, as browsers and curl do by themselves."""
    resolve = socket.getaddrinfo

    def with_localhost(host, *arguments, **options):
        if isinstance(host, str) and host.endswith(".localhost"):
            host = "127.0.0.1"
        return resolve(host, *arguments, **options)

    socket.getaddrinfo = with_localhost
    yield
    socket.getaddrinfo = resolve


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
