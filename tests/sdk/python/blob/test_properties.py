"""Service properties, CORS and stats. These are settings of the account: each test puts them back."""

import urllib.error
import urllib.request
from urllib.parse import urlparse

import pytest
from azure.core.exceptions import HttpResponseError
from azure.storage.blob import BlobAnalyticsLogging, BlobServiceClient, CorsRule, Metrics, RetentionPolicy, StaticWebsite

from conftest import ACCOUNT, BLOB_ENDPOINT, CREDENTIAL, OPTIONS, random_name, rejected

pytestmark = pytest.mark.properties
OFF = {"analytics_logging": BlobAnalyticsLogging(), "hour_metrics": Metrics(), "minute_metrics": Metrics(), "cors": []}


@pytest.fixture(autouse=True)
def put_back(service):
    yield
    service.set_service_properties(**OFF)


def test_all_off(service):
    service.set_service_properties(**OFF)
    found = service.get_service_properties()
    assert {"analytics_logging", "hour_metrics", "minute_metrics", "cors", "delete_retention_policy", "static_website", "target_version"} <= set(found)
    logging = found["analytics_logging"]
    assert (logging.version, logging.read, logging.write, logging.delete, logging.retention_policy.enabled) == ("1.0", False, False, False, False)
    assert not found["hour_metrics"].enabled and not found["minute_metrics"].enabled
    assert (found["cors"], found["delete_retention_policy"].enabled, found["static_website"].enabled) == ([], False, False)


def test_logging_and_metrics(service):
    service.set_service_properties(
        analytics_logging=BlobAnalyticsLogging(read=True, write=True, delete=True, retention_policy=RetentionPolicy(enabled=True, days=5)),
        hour_metrics=Metrics(enabled=True, include_apis=True, retention_policy=RetentionPolicy(enabled=True, days=7)),
        minute_metrics=Metrics(enabled=True, include_apis=False))
    found = service.get_service_properties()
    logging, hour, minute = found["analytics_logging"], found["hour_metrics"], found["minute_metrics"]
    assert (logging.read, logging.write, logging.delete, logging.retention_policy.days) == (True, True, True, 5)
    assert (hour.enabled, hour.include_apis, hour.retention_policy.days) == (True, True, 7)
    assert (minute.enabled, minute.include_apis, minute.retention_policy.enabled) == (True, False, False)


def test_an_omitted_setting_stays(service):
    service.set_service_properties(cors=[CorsRule(["www.xyz.com"], ["GET"])])
    service.set_service_properties(hour_metrics=Metrics(enabled=True, include_apis=True))
    assert [rule.allowed_origins for rule in service.get_service_properties()["cors"]] == ["www.xyz.com"]


def test_default_version(service):
    """The version that applies to requests without one."""
    before = service.get_service_properties()["target_version"]
    service.set_service_properties(target_version="2019-12-12")
    assert service.get_service_properties()["target_version"] == "2019-12-12"
    if before:
        service.set_service_properties(target_version=before)


def test_too_many_cors_rules_or_days(service):
    rejected(400, "InvalidXmlDocument", service.set_service_properties, cors=[CorsRule(["www.xyz.com"], ["GET"])] * 6)
    rejected(400, "InvalidXmlDocument", service.set_service_properties,
            hour_metrics=Metrics(enabled=True, include_apis=True, retention_policy=RetentionPolicy(enabled=True, days=366)))


@pytest.mark.part2
def test_static_website(service):
    service.set_service_properties(static_website=StaticWebsite(enabled=True, index_document="index.html", error_document404_path="404.html"))
    found = service.get_service_properties()["static_website"]
    assert (found.enabled, found.index_document, found.error_document404_path) == (True, "index.html", "404.html")
    service.set_service_properties(static_website=StaticWebsite(enabled=False))


def send(method, path, **headers):
    """An unauthenticated request; its status and headers, in lower case."""
    request = urllib.request.Request(BLOB_ENDPOINT + path, method=method, headers={name.replace("_", "-"): value for name, value in headers.items()})
    try:
        response = urllib.request.urlopen(request)
    except urllib.error.HTTPError as error:
        response = error
    return response.status, {name.lower(): value for name, value in response.headers.items()}


def test_cors(service, names):
    """Preflight, and the headers of an actual request."""
    container = service.create_container(names(), public_access="blob")
    container.upload_blob("a", b"x", metadata={"abc": "1"})
    service.set_service_properties(cors=[CorsRule(["https://www.xyz.com"], ["GET", "PUT"], allowed_headers=["x-ms-*"],
                                                  exposed_headers=["x-ms-meta-*"], max_age_in_seconds=60)])
    path = f"/{container.container_name}/a"
    status, headers = send("OPTIONS", path, Origin="https://www.xyz.com", Access_Control_Request_Method="PUT", Access_Control_Request_Headers="x-ms-date")
    assert (status, headers["access-control-allow-origin"], headers["access-control-allow-methods"]) == (200, "https://www.xyz.com", "PUT")
    assert (headers["access-control-allow-headers"], headers["access-control-max-age"]) == ("x-ms-date", "60")
    for origin, method in (("https://other.com", "PUT"), ("https://www.xyz.com", "DELETE")):
        assert send("OPTIONS", path, Origin=origin, Access_Control_Request_Method=method)[0] == 403
    assert send("OPTIONS", path, Origin="https://www.xyz.com")[0] == 400
    status, headers = send("GET", path, Origin="https://www.xyz.com")
    assert (status, headers["access-control-allow-origin"]) == (200, "https://www.xyz.com")
    assert "x-ms-meta-abc" in headers["access-control-expose-headers"]


def test_stats_are_on_the_secondary():
    secondary = BLOB_ENDPOINT.replace(f"/{ACCOUNT}", f"/{ACCOUNT}-secondary")
    # The client takes the host of the secondary from here, and keeps the path.
    with BlobServiceClient(secondary, credential=CREDENTIAL, secondary_hostname=urlparse(secondary).netloc, **OPTIONS) as client:
        assert client.get_service_stats()["geo_replication"]["status"] in ("live", "bootstrap", "unavailable")
    with BlobServiceClient(secondary, credential=CREDENTIAL, **OPTIONS) as client:
        # A secondary can be read, and nothing else.
        assert list(client.list_containers(name_starts_with=random_name())) == []
        with pytest.raises(HttpResponseError):
            client.create_container(random_name())
