"""Stored access policies of a table."""

from datetime import datetime, timedelta, timezone

import pytest
from azure.core.exceptions import HttpResponseError, ResourceNotFoundError
from azure.data.tables import TableAccessPolicy, TableSasPermissions

from conftest import random_name
from test_tables import INVALID_NAMES

pytestmark = pytest.mark.acl
START = datetime(2030, 1, 2, 3, 4, 5, tzinfo=timezone.utc)
EXPIRY = START + timedelta(hours=1)


def policies(table):
    return {
        name: policy and (policy.start, policy.expiry, policy.permission)
        for name, policy in table.get_table_access_policy().items()
    }


def test_a_new_table_has_no_policies(table):
    assert table.get_table_access_policy() == {}


def test_policies_come_back(table):
    """OP-22"""
    table.set_table_access_policy({"all": TableAccessPolicy(start=START, expiry=EXPIRY, permission="raud")})
    assert policies(table) == {"all": (START, EXPIRY, "raud")}
    found = table.get_table_access_policy()["all"].start.tables_service_value
    assert found == "2030-01-02T03:04:05.0000000Z"


def test_parts_of_a_policy(table):
    permission = str(TableSasPermissions(read=True, delete=True))
    table.set_table_access_policy(
        {
            "empty": None,
            "only start": TableAccessPolicy(start=START),
            "only expiry": TableAccessPolicy(expiry="2030-01-02T04:04:05Z"),
            "only permission": TableAccessPolicy(permission=permission),
        }
    )
    assert policies(table) == {
        "empty": None,
        "only start": (START, None, None),
        "only expiry": (None, EXPIRY, None),
        "only permission": (None, None, "rd"),
    }


def test_setting_replaces_all(table):
    table.set_table_access_policy({"one": TableAccessPolicy(permission="r"), "two": None})
    table.set_table_access_policy({"three": TableAccessPolicy(permission="a")})
    assert policies(table) == {"three": (None, None, "a")}
    table.set_table_access_policy({})
    assert policies(table) == {}


def test_five_policies_and_no_more(table):
    """The SDK turns the rejection of six into ValueError."""
    table.set_table_access_policy({f"id{i}": TableAccessPolicy(permission="r") for i in range(5)})
    assert len(policies(table)) == 5
    with pytest.raises(ValueError, match="Too many access policies provided"):
        table.set_table_access_policy({f"id{i}": TableAccessPolicy(permission="r") for i in range(6)})
    assert len(policies(table)) == 5


def test_longest_identifier(table):
    table.set_table_access_policy({"i" * 64: TableAccessPolicy(permission="r")})
    with pytest.raises(HttpResponseError) as raised:
        table.set_table_access_policy({"i" * 65: TableAccessPolicy(permission="r")})
    assert raised.value.status_code == 400


def test_policies_vanish_with_the_table(service, names):
    name = names()
    table = service.create_table(name)
    table.set_table_access_policy({"one": TableAccessPolicy(permission="r")})
    service.delete_table(name)
    assert policies(service.create_table(name)) == {}


def test_missing_table(service):
    """Policies of a missing table: 404 `TableNotFound`, in XML."""
    client = service.get_table_client(random_name())
    for call in (client.get_table_access_policy, lambda: client.set_table_access_policy({})):
        with pytest.raises(ResourceNotFoundError) as raised:
            call()
        assert raised.value.error_code == "TableNotFound"
        assert raised.value.response.headers["Content-Type"] == "application/xml"


@pytest.mark.parametrize("name", INVALID_NAMES)
def test_invalid_names(service, name):
    """The SDK recognises the error for an invalid name in XML, too."""
    client = service.get_table_client(name)
    with pytest.raises(ValueError, match="Storage table names must be alphanumeric"):
        client.get_table_access_policy()
    with pytest.raises(ValueError, match="Storage table names must be alphanumeric"):
        client.set_table_access_policy({})
