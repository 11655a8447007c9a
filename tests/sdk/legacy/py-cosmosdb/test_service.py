"""Access policies, signatures, service properties and stats."""

from datetime import datetime, timedelta, timezone

import pytest
from azure.common import AzureHttpError
from azure.cosmosdb.table.common.models import (
    AccessPolicy,
    AccountPermissions,
    CorsRule,
    Logging,
    Metrics,
    ResourceTypes,
    RetentionPolicy,
)
from azure.cosmosdb.table.models import TablePermissions
from conftest import make_service
from test_entities import row


def soon():
    return datetime.now(timezone.utc).replace(tzinfo=None) + timedelta(hours=1)


def holder(style, token):
    """A client with a signature only; the emulator switch always takes the key."""
    return make_service("path" if style == "emulator" else style, sas_token=token)


@pytest.mark.acl
def test_access_policies(service, table):
    assert service.get_table_acl(table) == {}
    start = datetime(2030, 1, 1, tzinfo=timezone.utc)
    policy = AccessPolicy(TablePermissions.QUERY + TablePermissions.DELETE, "2030-01-02", "2030-01-01")
    service.set_table_acl(table, {"one": policy, "two": AccessPolicy()})
    found = service.get_table_acl(table)
    assert set(found) == {"one", "two"}
    assert (found["one"].permission, found["one"].start) == ("rd", start)
    service.set_table_acl(table)
    assert service.get_table_acl(table) == {}


@pytest.mark.sas
def test_table_signature(service, style, table):
    token = service.generate_table_shared_access_signature(table, TablePermissions.QUERY + TablePermissions.ADD, soon())
    other = holder(style, token)
    other.insert_entity(table, row(a="1"))
    assert other.get_entity(table, "p", "r").a == "1"
    with pytest.raises(AzureHttpError) as raised:
        other.delete_entity(table, "p", "r")
    assert raised.value.status_code == 403


@pytest.mark.sas
def test_account_signature(service, style, table):
    token = service.generate_account_shared_access_signature(ResourceTypes.OBJECT, AccountPermissions.READ, soon())
    other = holder(style, token)
    assert list(other.query_entities(table)) == []
    with pytest.raises(AzureHttpError) as raised:
        list(other.list_tables())
    assert raised.value.status_code == 403


@pytest.mark.properties
def test_service_properties(service):
    before = service.get_table_service_properties()
    try:
        week = RetentionPolicy(True, 7)
        rule = CorsRule(["http://a.example"], ["GET"], 5, ["x-ms-a"], ["x-ms-b"])
        service.set_table_service_properties(Logging(True, False, True, week), Metrics(True, True, week), Metrics(False), [rule])
        found = service.get_table_service_properties()
        assert (found.logging.delete, found.logging.read, found.logging.write) == (True, False, True)
        assert found.logging.retention_policy.days == 7
        assert (found.hour_metrics.enabled, found.minute_metrics.enabled) == (True, False)
        assert found.cors[0].allowed_origins == ["http://a.example"]
    finally:
        service.set_table_service_properties(before.logging, before.hour_metrics, before.minute_metrics, before.cors or [])


@pytest.mark.properties
def test_stats(service, style):
    """The secondary is known in host style and to the emulator switch."""
    if style != "path":
        assert service.get_table_service_stats().geo_replication.status in ("live", "bootstrap", "unavailable")
