"""Checks that the suite calls every public method of the SDK's clients."""

import re
from pathlib import Path

import pytest
from azure.storage.queue import QueueClient, QueueServiceClient, aio

HERE = Path(__file__).parent
SYNC = "".join(path.read_text() for path in HERE.glob("test_*.py") if path.name not in ("test_async.py", "test_coverage.py"))
ASYNC = (HERE / "test_async.py").read_text()


@pytest.mark.parametrize(
    "client, source",
    [(QueueServiceClient, SYNC), (QueueClient, SYNC), (aio.QueueServiceClient, ASYNC), (aio.QueueClient, ASYNC)],
    ids=["service", "queue", "aio service", "aio queue"],
)
def test_every_public_method_is_called(client, source):
    methods = [name for name in dir(client) if not name.startswith("_") and callable(getattr(client, name))]
    assert len(methods) >= 9
    assert [name for name in methods if not re.search(rf"\.{name}\b", source)] == []
