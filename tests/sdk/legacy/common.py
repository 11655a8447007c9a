"""What the suites of old Python clients share: the server's address in host style, names, and the group switch.

These clients build `{account}.table.{suffix}` themselves, so the suites address the server in host style, with a suffix of
`localhost:PORT` that is made to resolve.
"""

import os
import socket
import uuid
from urllib.parse import urlparse

import pytest

DEV_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
ENDPOINT = os.environ.get("LAZULI_ENDPOINT", "http://127.0.0.1:10002/devstoreaccount1").rstrip("/")
ACCOUNT = os.environ.get("LAZULI_ACCOUNT", "devstoreaccount1")
KEY = os.environ.get("LAZULI_KEY", DEV_KEY)
URL = urlparse(ENDPOINT)
PATH_STYLE = URL.path == f"/{ACCOUNT}"
PROTOCOL = URL.scheme
# What follows `{account}.table.` in the host name.
SUFFIX = f"localhost:{URL.port or 80}" if PATH_STYLE else URL.netloc.removeprefix(f"{ACCOUNT}.table.")


def resolve_localhost_names():
    """Makes `{account}.table.localhost` resolve, as browsers and curl do by themselves."""
    resolve = socket.getaddrinfo

    def with_localhost(host, *arguments, **options):
        if isinstance(host, str) and host.endswith(".localhost"):
            host = "127.0.0.1"
        return resolve(host, *arguments, **options)

    socket.getaddrinfo = with_localhost


def drop_groups(config, items):
    """Drops the groups that LAZULI_SKIP names."""
    skipped = {name.strip() for name in os.environ.get("LAZULI_SKIP", "").split(",") if name.strip()}
    dropped = [item for item in items if any(item.get_closest_marker(name) for name in skipped)]
    config.hook.pytest_deselected(items=dropped)
    items[:] = [item for item in items if item not in dropped]


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
