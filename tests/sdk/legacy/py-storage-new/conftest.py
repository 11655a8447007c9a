"""Fixtures for azure-storage 0.36 and its successors 1.x and 2.x, which speak versions 2017-04-17 to 2018-11-09.

Every test runs in host style and in path style (the client's emulator switch).
"""

import sys
from pathlib import Path
from urllib.parse import urlparse

sys.path.insert(0, str(Path(__file__).parent.parent))

import pytest
from azure.common import AzureMissingResourceHttpError
from azure.storage.blob import AppendBlobService, BlockBlobService, PageBlobService
from azure.storage.queue import QueueService

try:
    from azure.storage.common._connection import _EMULATOR_ENDPOINTS
    from azure.storage.common.retry import no_retry
except ImportError:
    from azure.storage._connection import _EMULATOR_ENDPOINTS
    from azure.storage.retry import no_retry

from common import ACCOUNT, DEV_KEY, KEY, drop_groups, random_name, resolve_localhost_names
from suite import BLOB_ENDPOINT, QUEUE_ENDPOINT, host_style

resolve_localhost_names()
pytest_collection_modifyitems = drop_groups
ENDPOINTS = {"queue": QUEUE_ENDPOINT, "blob": BLOB_ENDPOINT}


def connect(kind, service, style="host", **options):
    """A client with retries off."""
    address = ENDPOINTS[service]
    if style == "emulator":
        _EMULATOR_ENDPOINTS[service] = urlparse(address).netloc
        client = kind(is_emulated=True, **options)
    else:
        suffix = urlparse(host_style(address, service) or address).netloc.removeprefix(f"{ACCOUNT}.{service}.")
        if "sas_token" not in options:
            options["account_key"] = KEY
        client = kind(ACCOUNT, protocol=urlparse(address).scheme, endpoint_suffix=suffix, **options)
    client.retry = no_retry
    return client


def styles(address):
    return ["host"] + (["emulator"] if urlparse(address).path == f"/{ACCOUNT}" and KEY == DEV_KEY else [])


@pytest.fixture(scope="session", params=styles(QUEUE_ENDPOINT))
def queues(request):
    return connect(QueueService, "queue", request.param)


@pytest.fixture(scope="session", params=styles(BLOB_ENDPOINT))
def blob_style(request):
    return request.param


@pytest.fixture(scope="session")
def blobs(blob_style):
    return connect(BlockBlobService, "blob", blob_style)


@pytest.fixture(scope="session")
def append_blobs(blob_style):
    return connect(AppendBlobService, "blob", blob_style)


@pytest.fixture(scope="session")
def page_blobs(blob_style):
    return connect(PageBlobService, "blob", blob_style)


@pytest.fixture
def queue(queues):
    """The name of a fresh queue."""
    name = random_name("old-")
    assert queues.create_queue(name)
    yield name
    try:
        queues.delete_queue(name, fail_not_exist=True)
    except AzureMissingResourceHttpError:
        pass


@pytest.fixture
def container(blobs):
    """The name of a fresh container."""
    name = random_name("old-")
    assert blobs.create_container(name)
    yield name
    blobs.delete_container(name)
