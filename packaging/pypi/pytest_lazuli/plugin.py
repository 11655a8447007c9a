"""The fixtures. pytest loads this file through the entry point `lazuli` of the package."""

import importlib

import pytest

from .server import Lazuli

SCOPES = ("function", "class", "module", "package", "session")


def pytest_addoption(parser):
    text = "lifetime of the Lazuli server: " + ", ".join(SCOPES)
    parser.getgroup("lazuli").addoption("--lazuli-scope", choices=SCOPES, help=text)
    parser.addini("lazuli_scope", text, default="function")


def pytest_configure(config):
    if _scope("lazuli", config) not in SCOPES:
        raise pytest.UsageError(f"invalid lazuli_scope {_scope('lazuli', config)!r}; expected one of {', '.join(SCOPES)}")


def _scope(fixture_name, config):
    return config.getoption("--lazuli-scope") or config.getini("lazuli_scope")


def _client(module, name, package, server):
    try:
        kind = getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        raise pytest.UsageError(f"the fixture needs {package}: pip install {package}") from error
    return kind.from_connection_string(server.connection_string)


@pytest.fixture(scope=_scope)
def lazuli():
    """A server with no data, for this test alone or for the scope that the configuration names."""
    with Lazuli() as server:
        yield server


@pytest.fixture(scope=_scope)
def blob_service(lazuli):
    """A BlobServiceClient for the server of the fixture `lazuli`."""
    with _client("azure.storage.blob", "BlobServiceClient", "azure-storage-blob", lazuli) as client:
        yield client


@pytest.fixture(scope=_scope)
def queue_service(lazuli):
    """A QueueServiceClient for the server of the fixture `lazuli`."""
    with _client("azure.storage.queue", "QueueServiceClient", "azure-storage-queue", lazuli) as client:
        yield client


@pytest.fixture(scope=_scope)
def table_service(lazuli):
    """A TableServiceClient for the server of the fixture `lazuli`."""
    with _client("azure.data.tables", "TableServiceClient", "azure-data-tables", lazuli) as client:
        yield client
