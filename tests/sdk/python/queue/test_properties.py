"""Service properties, CORS and stats. These are settings of the account: each test puts them back."""

import urllib.error
import urllib.request
from urllib.parse import urlparse

import pytest
from azure.core.exceptions import HttpResponseError
from azure.storage.queue import CorsRule, Metrics, QueueAnalyticsLogging, QueueServiceClient, RetentionPolicy

from conftest import ACCOUNT, CREDENTIAL, OPTIONS, QUEUE_ENDPOINT, random_name, rejected

pytestmark = pytest.mark.properties
OFF = {
    "analytics_logging": QueueAnalyticsLogging(), "hour_metrics": Metrics(), "minute_metrics": Metrics(), "cors": [],
}


@pytest.fixture(autouse=True)
def put_back(service):
    yield
    service.set_service_properties(**OFF)


def plain(value):
    """A model without its version, as values that can be compared."""
    if hasattr(value, "__dict__") and not isinstance(value, str):
        return {name: plain(item) for name, item in vars(value).items() if not name.startswith("_") and name != "additional_properties"}
    return value


def test_all_off(service):
    service.set_service_properties(**OFF)
    found = service.get_service_properties()
    assert sorted(found) == ["analytics_logging", "cors", "hour_metrics", "minute_metrics"]
    logging = found["analytics_logging"]
    assert (logging.version, logging.read, logging.write, logging.delete, logging.retention_policy.enabled) == ("1.0", False, False, False, False)
    assert not found["hour_metrics"].enabled and not found["minute_metrics"].enabled
    assert found["cors"] == []


def test_logging(service):
    wanted = QueueAnalyticsLogging(read=True, write=True, delete=True, retention_policy=RetentionPolicy(enabled=True, days=5))
    service.set_service_properties(analytics_logging=wanted)
    assert plain(service.get_service_properties()["analytics_logging"]) == plain(wanted)


def test_metrics(service):
    hour = Metrics(enabled=True, include_apis=True, retention_policy=RetentionPolicy(enabled=True, days=7))
    minute = Metrics(enabled=True, include_apis=False)
    service.set_service_properties(hour_metrics=hour, minute_metrics=minute)
    found = service.get_service_properties()
    assert plain(found["hour_metrics"]) == plain(hour)
    assert (found["minute_metrics"].enabled, found["minute_metrics"].include_apis) == (True, False)


def test_an_omitted_setting_stays(service):
    """QU-06: the last writer wins, setting by setting."""
    service.set_service_properties(cors=[CorsRule(["www.xyz.com"], ["GET"])])
    service.set_service_properties(hour_metrics=Metrics(enabled=True, include_apis=True))
    found = service.get_service_properties()
    assert [rule.allowed_origins for rule in found["cors"]] == ["www.xyz.com"]
    assert found["hour_metrics"].enabled


def test_cors_rules(service):
    rules = [
        CorsRule(["www.xyz.com"], ["GET"]),
        CorsRule(["*"], ["GET", "PUT"], allowed_headers=["x-ms-meta-data*", "x-ms-meta-abc"], exposed_headers=["x-ms-meta-bcd"], max_age_in_seconds=500),
    ]
    service.set_service_properties(cors=rules)
    first, second = service.get_service_properties()["cors"]
    assert (first.allowed_origins, first.allowed_methods, first.max_age_in_seconds) == ("www.xyz.com", "GET", 0)
    assert (second.allowed_methods, second.exposed_headers, second.max_age_in_seconds) == ("GET,PUT", "x-ms-meta-bcd", 500)
    # Literal names come back first, then prefixes.
    assert second.allowed_headers == "x-ms-meta-abc,x-ms-meta-data*"


def test_too_many_cors_rules_or_days(service):
    rejected(400, "InvalidXmlDocument", service.set_service_properties, cors=[CorsRule(["www.xyz.com"], ["GET"])] * 6)
    rejected(400, "InvalidXmlDocument", service.set_service_properties,
            hour_metrics=Metrics(enabled=True, include_apis=True, retention_policy=RetentionPolicy(enabled=True, days=366)))


def send(method, path, **headers):
    """An unauthenticated request; its status and headers, in lower case."""
    request = urllib.request.Request(QUEUE_ENDPOINT + path, method=method, headers={name.replace("_", "-"): value for name, value in headers.items()})
    try:
        response = urllib.request.urlopen(request)
    except urllib.error.HTTPError as error:
        response = error
    return response.status, {name.lower(): value for name, value in response.headers.items()}


def test_preflight(service, queue):
    service.set_service_properties(cors=[CorsRule(["https://www.xyz.com"], ["GET", "PUT"], allowed_headers=["x-ms-*"], max_age_in_seconds=60)])
    path = f"/{queue.queue_name}/messages"
    status, headers = send("OPTIONS", path, Origin="https://www.xyz.com", Access_Control_Request_Method="PUT",
                           Access_Control_Request_Headers="x-ms-version,x-ms-date")
    assert status == 200
    assert headers["access-control-allow-origin"] == "https://www.xyz.com"
    assert headers["access-control-allow-methods"] == "PUT"
    assert headers["access-control-allow-headers"] == "x-ms-version,x-ms-date"
    assert headers["access-control-max-age"] == "60"
    for origin, method in (("https://other.com", "PUT"), ("https://www.xyz.com", "DELETE")):
        assert send("OPTIONS", path, Origin=origin, Access_Control_Request_Method=method)[0] == 403
    assert send("OPTIONS", path, Origin="https://www.xyz.com")[0] == 400


def test_stats_are_on_the_secondary(service):
    secondary = QUEUE_ENDPOINT.replace(f"/{ACCOUNT}", f"/{ACCOUNT}-secondary")
    # The client takes the host of the secondary from here, and keeps the path.
    with QueueServiceClient(secondary, credential=CREDENTIAL, secondary_hostname=urlparse(secondary).netloc, **OPTIONS) as client:
        found = client.get_service_stats()
        assert found["geo_replication"]["status"] in ("live", "bootstrap", "unavailable")
    with QueueServiceClient(secondary, credential=CREDENTIAL, **OPTIONS) as client:
        # A secondary can be read, and nothing else.
        assert list(client.list_queues(name_starts_with=random_name())) == []
        with pytest.raises(HttpResponseError):
            client.create_queue(random_name())
