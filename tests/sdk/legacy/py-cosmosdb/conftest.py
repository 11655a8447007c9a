"""Fixtures for azure-cosmosdb-table 1.0.6, which speaks JSON with version 2017-04-17.

Every test runs in each way in which this client can be pointed at a server: host style by suffix, path style by
TableEndpoint, and its emulator switch (whose batches repeat the account in each part, as the others' do not).
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import pytest
from azure.cosmosdb.table import tableservice
from azure.cosmosdb.table.common import no_retry
from azure.cosmosdb.table.common._connection import _EMULATOR_ENDPOINTS
from azure.cosmosdb.table.tableservice import TableService

from common import (  # noqa: F401
    ACCOUNT,
    DEV_KEY,
    ENDPOINT,
    KEY,
    PATH_STYLE,
    PROTOCOL,
    SUFFIX,
    URL,
    drop_groups,
    names,
    resolve_localhost_names,
    table,
)

resolve_localhost_names()
pytest_collection_modifyitems = drop_groups

STYLES = ["host"]
if PATH_STYLE:
    STYLES.append("path")
if PATH_STYLE and (ACCOUNT, KEY) == ("devstoreaccount1", DEV_KEY):
    STYLES.append("emulator")


def make_service(style, **options):
    """A client in one of the styles, with retries off."""
    if style == "path":
        credential = options.pop("sas_token", None)
        secret = f"SharedAccessSignature={credential}" if credential else f"AccountKey={KEY}"
        text = f"DefaultEndpointsProtocol={PROTOCOL};AccountName={ACCOUNT};{secret};TableEndpoint={ENDPOINT}"
        service = TableService(connection_string=text, **options)
    elif style == "emulator":
        _EMULATOR_ENDPOINTS["table"] = URL.netloc
        service = TableService(is_emulated=True, **options)
    else:
        if "sas_token" not in options:
            options["account_key"] = KEY
        service = TableService(ACCOUNT, protocol=PROTOCOL, endpoint_suffix=SUFFIX, **options)
    service.retry = no_retry
    return service


@pytest.fixture(scope="session", params=STYLES)
def style(request):
    return request.param


@pytest.fixture(scope="session")
def service(style):
    """The account under test."""
    assert tableservice.X_MS_VERSION == "2017-04-17"
    return make_service(style)
