"""Fixtures for the clients that speak version 2014-02-14, one of them 2012-02-12, and Atom to tables."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from urllib.parse import urlparse

import pytest
from client import TableService

from common import ACCOUNT, KEY, PROTOCOL, SUFFIX, drop_groups, names, resolve_localhost_names, table  # noqa: F401
from suite import host_style

resolve_localhost_names()
pytest_collection_modifyitems = drop_groups


@pytest.fixture(scope="session")
def service():
    """The account under test."""
    return TableService(ACCOUNT, KEY, protocol=PROTOCOL, host_base=f".table.{SUFFIX}")


def connect(kind, service, address):
    """A client in host style, which is the only one that these clients know."""
    url = urlparse(host_style(address, service) or address)
    return kind(ACCOUNT, KEY, protocol=url.scheme, host_base="." + url.netloc.split(".", 1)[1])
