"""Addresses: where the server listens, who may use the public account there, and which URLs it writes."""

import os
import socket

from common import contains, equal, run, serve_memory, status
from lazuli import ACCOUNT, Client, Server

FULL = {"Accept": "application/json;odata=fullmetadata"}


def metadata_url(server, headers=None, **options):
    with Client(server) as client:
        response = client.ask("GET", "/Tables", headers=FULL | (headers or {}), **options)
        equal(response.status, 200, response.text)
        return response.json["odata.metadata"]


def test_the_public_account_is_not_served_to_everybody(binary, directory):
    with serve_memory(binary, directory, "--host", "0.0.0.0") as server:
        equal(status(server), 403)
        contains(server.said(), "development account is not served on 0.0.0.0", "--dev-account")
        assert "DefaultEndpointsProtocol" not in server.output, server.output
    with serve_memory(binary, directory, "--host", "0.0.0.0", "--dev-account") as server:
        equal(status(server), 200)
        contains(server.output, f"TableEndpoint=http://127.0.0.1:{server.port}/")
    with serve_memory(binary, directory, "--tableHost", "0.0.0.0") as server:
        equal(status(server), 200)
        contains(server.said(), "warning", "public", "0.0.0.0")


def test_loopback_needs_no_flag(binary, directory):
    for host in ("127.0.0.1", "127.0.0.2"):
        with serve_memory(binary, directory, "--host", host) as server:
            equal((status(server), server.said()), (200, ""))


def test_ipv6(binary, directory):
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        print("    skipped: there is no IPv6 here")
        return
    with serve_memory(binary, directory, "--host", "::1") as server:
        equal(status(server), 200)
        contains(server.output, f"TableEndpoint=http://[::1]:{server.port}/{ACCOUNT};")
    with serve_memory(binary, directory, "--host", "::") as server:
        equal(status(server), 403)


def test_a_proxy_is_recognised_on_a_socket_for_both_families(binary, directory):
    try:
        server = serve_memory(binary, directory, "--host", "::", "--dev-account", "--trusted-proxy", "127.0.0.1")
    except Exception:  # noqa: BLE001
        print("    skipped: there is no IPv6 here")
        return
    with server:
        server.host = "127.0.0.1"
        assert metadata_url(server, {"X-Forwarded-Proto": "https"}).startswith("https://")


def test_the_scheme_of_urls(binary, directory):
    forwarded = [{"X-Forwarded-Proto": "https"}, {"X-Forwarded-Proto": "http"}, {"X-Forwarded-Proto": "gopher"}, {}]
    for flags, wanted in [
        ([], ["http", "http", "http", "http"]),
        (["--public-scheme", "https"], ["https", "https", "https", "https"]),
        (["--trusted-proxy", "127.0.0.1"], ["https", "http", "http", "http"]),
        (["--trusted-proxy", "10.0.0.1"], ["http", "http", "http", "http"]),
        (["--trusted-proxy", "10.0.0.1", "--trusted-proxy", "127.0.0.1"], ["https", "http", "http", "http"]),
        (["--trusted-proxy", "127.0.0.1", "--public-scheme", "https"], ["https", "http", "https", "https"]),
    ]:
        with serve_memory(binary, directory, *flags) as server:
            found = [metadata_url(server, headers).split(":")[0] for headers in forwarded]
            equal(found, wanted, flags)


def test_urls_repeat_the_host_of_the_request(binary, directory):
    with serve_memory(binary, directory) as server:
        equal(metadata_url(server), f"http://127.0.0.1:{server.port}/{ACCOUNT}/$metadata#Tables")
        equal(metadata_url(server, {"Host": "tables.example"}), f"http://tables.example/{ACCOUNT}/$metadata#Tables")


def test_host_style(binary, directory):
    host = {"Host": f"{ACCOUNT}.table.core.windows.net"}
    with serve_memory(binary, directory, "--public-scheme", "https") as server, Client(server) as client:
        equal(metadata_url(server, host, host_style=True), f"https://{host['Host']}/$metadata#Tables")
        created = client.ask("POST", "/Tables", {"TableName": "hosted"}, host, host_style=True)
        equal(created.status, 204)
        equal(created.headers["Location"], f"https://{host['Host']}/Tables('hosted')")
        # The same table in path style.
        equal(client.ask("POST", "/Tables", {"TableName": "hosted"}).status, 409)
        other = {"Host": "nobody.table.core.windows.net"}
        equal(client.ask("GET", "/Tables", None, other, host_style=True).status, 403)


def test_an_address_that_is_not_ours_is_reported(binary, directory):
    code, _, errors = run(binary, directory, "serve", "--host", "192.0.2.1", "--engine", "memory:", "--dev-account")
    equal(code, 1)
    contains(errors, "192.0.2.1:10000")


def test_a_name_of_localhost(binary, directory):
    """Azurite accepts host names as addresses; the one that people use is localhost."""
    for args in (["--host", "localhost"], ["--tableHost", "localhost"]):
        with Server(binary, "--engine", "memory:", *args, directory=directory) as server:
            equal(status(server), 200)
    equal(os.listdir(directory), [])
