"""Service properties, the CORS rules in force, and the stats of the secondary."""

from datetime import datetime

import pytest
import requests
from azure.core.exceptions import HttpResponseError
from azure.data.tables import (
    TableAnalyticsLogging,
    TableCorsRule,
    TableMetrics,
    TableRetentionPolicy,
    TableServiceClient,
)

from conftest import ACCOUNT, CREDENTIAL, ENDPOINT, OPTIONS, PATH_STYLE

pytestmark = pytest.mark.properties


@pytest.fixture(autouse=True)
def restored(service):
    """The properties belong to the account: leave them as they were."""
    before = service.get_service_properties()
    yield
    service.set_service_properties(**before)


def show(value):
    """Model objects as plain data, for comparison."""
    if isinstance(value, list):
        return [show(item) for item in value]
    if hasattr(value, "__dict__"):
        return {name: show(item) for name, item in vars(value).items() if name != "additional_properties"}
    return value


def off():
    return TableMetrics(enabled=False, retention_policy=TableRetentionPolicy(enabled=False))


def test_everything_can_be_set(service):
    """Logging, metrics and CORS rules are returned as they were set."""
    week = TableRetentionPolicy(enabled=True, days=7)
    wanted = {
        "analytics_logging": TableAnalyticsLogging(read=True, write=False, delete=True, retention_policy=week),
        "hour_metrics": TableMetrics(enabled=True, include_apis=True, retention_policy=week),
        "minute_metrics": TableMetrics(enabled=True, include_apis=False, retention_policy=TableRetentionPolicy()),
        "cors": [
            TableCorsRule(["www.xyz.com"], ["GET"]),
            TableCorsRule(
                ["http://a.example", "https://*.b.example"],
                ["GET", "PUT", "MERGE"],
                allowed_headers=["x-ms-meta-xyz", "x-ms-meta-data*"],
                exposed_headers=["x-ms-meta-abc", "x-ms-meta-source*"],
                max_age_in_seconds=500,
            ),
        ],
    }
    assert service.set_service_properties(**wanted) is None
    found = service.get_service_properties()
    assert {name: show(value) for name, value in found.items()} == {name: show(value) for name, value in wanted.items()}


def test_omitted_properties_stay_unchanged(service):
    cors = [TableCorsRule(["http://a.example"], ["GET"], max_age_in_seconds=5)]
    service.set_service_properties(cors=cors, hour_metrics=off())
    service.set_service_properties(minute_metrics=off())
    assert show(service.get_service_properties()["cors"]) == show(cors)
    service.set_service_properties(cors=[])
    assert not service.get_service_properties()["cors"]


def test_retention(service):
    for days in (1, 365):
        policy = TableRetentionPolicy(enabled=True, days=days)
        service.set_service_properties(hour_metrics=TableMetrics(enabled=True, include_apis=True, retention_policy=policy))
        assert service.get_service_properties()["hour_metrics"].retention_policy.days == days


def rejected(service, **properties):
    with pytest.raises(HttpResponseError) as raised:
        service.set_service_properties(**properties)
    assert raised.value.status_code == 400
    assert raised.value.error_code == "InvalidXmlDocument"


def test_limits(service):
    rules = [TableCorsRule([f"http://{i}.example"], ["GET"]) for i in range(6)]
    service.set_service_properties(cors=rules[:5])
    rejected(service, cors=rules)
    policy = TableRetentionPolicy(enabled=True, days=366)
    rejected(service, hour_metrics=TableMetrics(enabled=True, include_apis=True, retention_policy=policy))
    rejected(service, minute_metrics=TableMetrics(enabled=True, retention_policy=TableRetentionPolicy()))


def preflight(origin, method="GET", headers=None):
    sent = {"Origin": origin, "Access-Control-Request-Method": method}
    if headers:
        sent["Access-Control-Request-Headers"] = headers
    return requests.options(f"{ENDPOINT}/Tables", headers=sent, timeout=10)


def test_cors_preflight(service):
    """A preflight is allowed by a rule, or rejected with 403."""
    rule = TableCorsRule(["http://a.example"], ["GET", "POST"], allowed_headers=["x-ms-*"], max_age_in_seconds=60)
    service.set_service_properties(cors=[rule])
    response = preflight("http://a.example", headers="x-ms-date")
    assert response.status_code == 200
    assert response.headers["Access-Control-Allow-Origin"] == "http://a.example"
    assert "GET" in response.headers["Access-Control-Allow-Methods"]
    assert response.headers["Access-Control-Allow-Headers"] == "x-ms-date"
    assert response.headers["Access-Control-Max-Age"] == "60"
    for bad in (preflight("http://b.example"), preflight("http://a.example", "DELETE"), preflight("http://a.example", headers="y")):
        assert bad.status_code == 403
    assert requests.options(f"{ENDPOINT}/Tables", timeout=10).status_code == 400


def test_cors_on_requests(service, table):
    """Requests of a matching origin get the headers, others are served without."""
    rule = TableCorsRule(["http://a.example"], ["GET"], exposed_headers=["x-ms-*"])
    service.set_service_properties(cors=[rule])
    responses = []
    for origin in ("http://a.example", "http://b.example"):
        list(table.list_entities(headers={"Origin": origin}, raw_response_hook=responses.append))
    mine, other = (response.http_response.headers for response in responses)
    assert mine["Access-Control-Allow-Origin"] == "http://a.example"
    assert "x-ms-request-id" in mine["Access-Control-Expose-Headers"]
    assert "Access-Control-Allow-Origin" not in other


def test_stats_of_the_secondary():
    """The SDK derives the address of the secondary only in host style, so the test passes the address."""
    if PATH_STYLE:
        authority = ENDPOINT.split("://")[1].removesuffix(f"/{ACCOUNT}")
        endpoint, secondary = f"{ENDPOINT}-secondary", authority
    else:
        endpoint, secondary = ENDPOINT, ENDPOINT.split("://")[1].replace(ACCOUNT, ACCOUNT + "-secondary")
    with TableServiceClient(endpoint, credential=CREDENTIAL, secondary_hostname=secondary, **OPTIONS) as client:
        stats = client.get_service_stats()
    assert stats["geo_replication"]["status"] in ("live", "bootstrap", "unavailable")
    assert isinstance(stats["geo_replication"]["last_sync_time"], (datetime, type(None)))


def test_stats_of_the_primary():
    authority = ENDPOINT.split("://")[1].removesuffix(f"/{ACCOUNT}")
    with TableServiceClient(ENDPOINT, credential=CREDENTIAL, secondary_hostname=authority, **OPTIONS) as client:
        with pytest.raises(HttpResponseError) as raised:
            client.get_service_stats()
    assert raised.value.status_code == 400
