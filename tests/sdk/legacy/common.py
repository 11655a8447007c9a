"""Shared by the suites of old Python clients: the server's address in host style, names, and the group switch.

These clients build `{account}.table.{suffix}` themselves, so the suites address the server in host style, with a suffix of
`localhost:PORT` that is made to resolve.
"""

import sys
import uuid
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import pytest

from suite import (  # noqa: F401
    ACCOUNT,
    DEV_KEY,
    ENDPOINT,
    KEY,
    PATH_STYLE,
    URL,
    drop_groups,
    resolve_localhost_names,
)

PROTOCOL = URL.scheme
# What follows `{account}.table.` in the host name.
SUFFIX = f"localhost:{URL.port or 80}" if PATH_STYLE else URL.netloc.removeprefix(f"{ACCOUNT}.table.")


def random_name(prefix="old"):
    """A table name that no other run uses."""
    return prefix + uuid.uuid4().hex


@pytest.fixture
def names(service):
    """Hands out table names; deletes every table that came to exist under one of them."""
    given = []

    def give(prefix="old"):
        given.append(random_name(prefix))
        return given[-1]

    yield give
    for name in given:
        service.delete_table(name)


@pytest.fixture
def table(service, names):
    """The name of a fresh table."""
    name = names()
    service.create_table(name)
    return name
