"""Runs `az`: in this process, which takes a tenth of the time of a process of its own; and tables that clean up.

Offline: the configuration is in an empty folder of its own, nobody is logged in, no telemetry, no check for updates.
Groups named in LAZULI_SKIP (a comma list of markers) are left out; nothing else is skipped.
"""

import io
import json
import logging
import os
import sys
import tempfile
import uuid
from pathlib import Path
from urllib.parse import urlparse

sys.path.insert(0, str(Path(__file__).parent.parent))

import pytest

for name in [name for name in os.environ if name.startswith("AZURE_")]:
    del os.environ[name]
FOLDER = tempfile.TemporaryDirectory(prefix="lazuli-azcli-")
ENVIRONMENT = {"AZURE_CONFIG_DIR": FOLDER.name, "AZURE_CORE_COLLECT_TELEMETRY": "no", "AZURE_CORE_NO_COLOR": "yes",
               "AZURE_CORE_ONLY_SHOW_ERRORS": "yes", "AZURE_EXTENSION_USE_DYNAMIC_INSTALL": "no"}
os.environ.update(ENVIRONMENT)

from azure.cli.core import get_default_cli  # noqa: E402 - reads the environment when it is imported
from azure.data.tables import TableClient  # noqa: E402
from suite import ACCOUNT, BLOB_ENDPOINT, ENDPOINT, KEY, QUEUE_ENDPOINT, drop_groups, resolve_localhost_names  # noqa: E402

resolve_localhost_names()
pytest_collection_modifyitems = drop_groups


def connection_string(endpoint=ENDPOINT, sas=None):
    """With the key of the account, or with a token."""
    proof = f"SharedAccessSignature={sas}" if sas else f"AccountName={ACCOUNT};AccountKey={KEY}"
    others = "".join(f"{name}Endpoint={address};" for name, address in (("Queue", QUEUE_ENDPOINT), ("Blob", BLOB_ENDPOINT)) if address)
    return f"DefaultEndpointsProtocol={urlparse(endpoint).scheme};{proof};TableEndpoint={endpoint};{others}"


class Rejected(Exception):
    """The command failed; the text is what it printed, or the reason."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


def az(*arguments, output="json"):
    """Runs a command; returns what it prints, or raises Rejected."""
    printed, complaints = io.StringIO(), io.StringIO()
    cli = get_default_cli()
    listener = logging.StreamHandler(complaints)
    logging.getLogger("cli").addHandler(listener)
    try:
        code = cli.invoke([*map(str, arguments), "-o", output], out_file=printed)
    except SystemExit as end:
        code = end.code
    finally:
        logging.getLogger("cli").removeHandler(listener)
    if code:
        raise Rejected(code, f"{complaints.getvalue()} {cli.result and cli.result.error}")
    text = printed.getvalue()
    return json.loads(text) if output == "json" and text.strip() else text


def key(*arguments, **options):
    """Runs a command of `az storage` with the account's key."""
    return az("storage", *arguments, "--connection-string", connection_string(), **options)


def with_sas(token, *arguments, **options):
    """Runs a command of `az storage` with a token."""
    return az("storage", *arguments, "--connection-string", connection_string(sas=token), **options)


def rejected(part, call, *arguments):
    """Runs a command that must fail, and must say this."""
    with pytest.raises(Rejected) as raised:
        call(*arguments)
    assert part in str(raised.value), str(raised.value)
    return raised.value


@pytest.fixture
def table():
    """The name of a fresh table."""
    name = "az" + uuid.uuid4().hex
    assert key("table", "create", "-n", name) == {"created": True}
    yield name
    key("table", "delete", "-n", name)


@pytest.fixture
def people(table):
    """A table with three entities: (a, 1), (a, 2), (b, 1). By the SDK, which is quicker."""
    with TableClient.from_connection_string(connection_string(), table) as client:
        for partition, row, name, age in [("a", "1", "Ada", 36), ("a", "2", "Alan", 41), ("b", "1", "Barbara", 25)]:
            client.create_entity({"PartitionKey": partition, "RowKey": row, "Name": name, "Age": age})
    return table
