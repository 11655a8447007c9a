"""Access policies, signatures and service properties with version 2014-02-14; the properties also with 2012-02-12."""

from datetime import datetime, timedelta, timezone

import pytest
from client import (
    FIRST,
    AccessPolicy,
    Failure,
    SharedAccessPolicy,
    SignedIdentifier,
    SignedIdentifiers,
    TableService,
    not_in_the_first,
)
from test_entities import row

from common import ACCOUNT, PROTOCOL, SUFFIX


def policy(permission, hours=1, **ranges):
    now = datetime.now(timezone.utc)
    form = "%Y-%m-%dT%H:%M:%SZ"
    start = (now - timedelta(hours=1)).strftime(form)
    return AccessPolicy(start, (now + timedelta(hours=hours)).strftime(form), permission, **ranges)


def holder(token):
    return TableService(ACCOUNT, None, protocol=PROTOCOL, host_base=f".table.{SUFFIX}", sas_token=token)


@not_in_the_first
@pytest.mark.acl
def test_access_policies(service, table):
    assert len(service.get_table_acl(table)) == 0
    identifiers = SignedIdentifiers()
    for name in ("one", "two"):
        identifier = SignedIdentifier()
        identifier.id = name
        identifier.access_policy = AccessPolicy("2030-01-01", "2030-01-02", "raud")
        identifiers.signed_identifiers.append(identifier)
    service.set_table_acl(table, identifiers)
    found = service.get_table_acl(table)
    assert [item.id for item in found] == ["one", "two"]
    assert found[0].access_policy.permission == "raud"
    assert found[0].access_policy.start == "2030-01-01T00:00:00.0000000Z"
    service.set_table_acl(table, SignedIdentifiers())
    assert len(service.get_table_acl(table)) == 0


@not_in_the_first
@pytest.mark.sas
def test_shared_access_signature(service, table):
    """A table's signature in the format of 2012-02-12 to 2015-02-21."""
    token = service.generate_shared_access_signature(table, SharedAccessPolicy(policy("ra")))
    other = holder(token)
    other.insert_entity(table, row(n=1))
    assert other.get_entity(table, "p", "r").n == 1
    with pytest.raises(Failure):
        other.delete_entity(table, "p", "r")


@pytest.mark.properties
def test_service_properties(service):
    before = service.get_table_service_properties()
    properties = service.get_table_service_properties()
    properties.logging.read = True
    properties.logging.retention_policy.enabled = True
    properties.logging.retention_policy.days = 5
    hours = properties.metrics if FIRST else properties.hour_metrics
    hours.enabled = False
    hours.include_apis = None
    try:
        service.set_table_service_properties(properties)
        found = service.get_table_service_properties()
        assert found.logging.read is True
        assert found.logging.retention_policy.days == 5
    finally:
        service.set_table_service_properties(before)
