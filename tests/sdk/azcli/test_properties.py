"""`az storage cors|logging|metrics` for tables, and `az storage table stats`. Restores the settings of the account."""

from urllib.parse import urlparse

import pytest

from conftest import ACCOUNT, ENDPOINT, az, connection_string, key, rejected

pytestmark = pytest.mark.properties
TABLES = ("--services", "t")


def test_cors():
    key("cors", "clear", *TABLES)
    assert key("cors", "list", *TABLES) == []
    key("cors", "add", *TABLES, "--methods", "GET", "PUT", "--origins", "https://a.example", "https://b.example",
        "--max-age", 60, "--allowed-headers", "x-ms-*", "--exposed-headers", "x-ms-meta-a", "x-ms-meta-b")
    key("cors", "add", *TABLES, "--methods", "DELETE", "--origins", "*")
    found = key("cors", "list", *TABLES)
    assert [(rule["AllowedMethods"], rule["AllowedOrigins"], rule["MaxAgeInSeconds"]) for rule in found] == [
        ("GET, PUT", "https://a.example, https://b.example", 60), ("DELETE", "*", 0)]
    assert (found[0]["AllowedHeaders"], found[0]["ExposedHeaders"]) == ("x-ms-*", "x-ms-meta-a, x-ms-meta-b")
    for _ in range(3):
        key("cors", "add", *TABLES, "--methods", "GET", "--origins", "*")
    rejected("No more than 5 CORS rules", key, "cors", "add", *TABLES, "--methods", "GET", "--origins", "*")
    key("cors", "clear", *TABLES)
    assert key("cors", "list", *TABLES) == []


def test_logging():
    key("logging", "update", *TABLES, "--log", "rwd", "--retention", 7)
    found = key("logging", "show", *TABLES)["table"]
    assert (found["read"], found["write"], found["delete"]) == (True, True, True)
    assert found["retentionPolicy"] == {"days": 7, "enabled": True}
    key("logging", "update", *TABLES, "--log", "w", "--retention", 0)
    found = key("logging", "show", *TABLES)["table"]
    assert (found["read"], found["write"], found["delete"]) == (False, True, False)
    assert not found["retentionPolicy"]["enabled"]
    key("logging", "off", *TABLES)
    found = key("logging", "show", *TABLES)["table"]
    assert (found["read"], found["write"], found["delete"]) == (False, False, False)


def test_metrics():
    key("metrics", "update", *TABLES, "--hour", "true", "--minute", "false", "--retention", 3, "--api", "true")
    found = key("metrics", "show", *TABLES)["table"]
    assert (found["hour"]["enabled"], found["hour"]["includeApis"], found["minute"]["enabled"]) == (True, True, False)
    assert found["hour"]["retentionPolicy"] == {"days": 3, "enabled": True}
    key("metrics", "update", *TABLES, "--hour", "false", "--minute", "false", "--retention", 0)
    found = key("metrics", "show", *TABLES)["table"]
    assert (found["hour"]["enabled"], found["minute"]["enabled"]) == (False, False)


def test_stats():
    """In host style: in path style this version asks at /{account}-secondary/{account}, which no server has."""
    where = urlparse(ENDPOINT)
    address = f"{where.scheme}://{ACCOUNT}.table.localhost:{where.port}" if where.path else ENDPOINT
    # It requires this address without a scheme.
    secondary = urlparse(address).netloc.replace(ACCOUNT, f"{ACCOUNT}-secondary")
    text = f"{connection_string(address)}TableSecondaryEndpoint={secondary};"
    found = az("storage", "table", "stats", "--connection-string", text)
    assert found["geoReplication"]["status"] in ("live", "bootstrap", "unavailable")
