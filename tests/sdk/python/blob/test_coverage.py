"""Checks that the suite calls every public method of the SDK's clients."""

import re
from pathlib import Path

import pytest
from azure.storage.blob import BlobClient, BlobLeaseClient, BlobServiceClient, ContainerClient, aio

FILES = {path.name: path.read_text() for path in Path(__file__).parent.glob("test_*.py") if path.name != "test_coverage.py"}
SYNC = "".join(text for name, text in FILES.items() if not name.startswith("test_async"))
ASYNC = "".join(text for name, text in FILES.items() if name.startswith("test_async"))


@pytest.mark.parametrize(
    "client, source",
    [(client, SYNC) for client in (BlobServiceClient, ContainerClient, BlobClient, BlobLeaseClient)]
    + [(client, ASYNC) for client in (aio.BlobServiceClient, aio.ContainerClient, aio.BlobClient, aio.BlobLeaseClient)],
)
def test_every_public_method_is_called(client, source):
    methods = [name for name in dir(client) if not name.startswith("_") and callable(getattr(client, name))]
    assert len(methods) >= 5
    assert [name for name in methods if not re.search(rf"\.{name}\b", source)] == []
