"""Fixtures for the clients that speak Atom with version 2014-02-14."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import pytest
from client import TableService

from common import ACCOUNT, KEY, PROTOCOL, SUFFIX, drop_groups, names, resolve_localhost_names, table  # noqa: F401

resolve_localhost_names()
pytest_collection_modifyitems = drop_groups


@pytest.fixture(scope="session")
def service():
    """The account under test."""
    return TableService(ACCOUNT, KEY, protocol=PROTOCOL, host_base=f".table.{SUFFIX}")
