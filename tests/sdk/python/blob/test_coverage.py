"""Holds the suite to its promise: every public method of the SDK's clients is called somewhere in it."""

import re
from pathlib import Path

import pytest
from azure.storage.blob import BlobClient, BlobLeaseClient, BlobServiceClient, ContainerClient

SOURCE = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py") if path.name not in ("test_async.py", "test_coverage.py"))
# Needs a bearer token, and that needs TLS: see tests/cli/bearer.py.
ELSEWHERE = {"get_user_delegation_key"}


@pytest.mark.parametrize("client", [BlobServiceClient, ContainerClient, BlobClient, BlobLeaseClient])
def test_every_public_method_is_called(client):
    methods = [name for name in dir(client) if not name.startswith("_") and callable(getattr(client, name))]
    assert len(methods) >= 5
    assert [name for name in methods if name not in ELSEWHERE and not re.search(rf"\.{name}\b", SOURCE)] == []
