"""Shared by the suites of Python clients: the server under test, names that resolve, and the group switch."""

import os
import socket
from urllib.parse import urlparse

DEV_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
ACCOUNT = os.environ.get("LAZULI_ACCOUNT", "devstoreaccount1")
KEY = os.environ.get("LAZULI_KEY", DEV_KEY)


def endpoint(service, port):
    """The account's address for a service, from the environment."""
    return os.environ.get(f"LAZULI_{service}_ENDPOINT", f"http://127.0.0.1:{port}/devstoreaccount1").rstrip("/")


TABLE_ENDPOINT = endpoint("TABLE", 10002)
QUEUE_ENDPOINT = endpoint("QUEUE", 10001)
BLOB_ENDPOINT = endpoint("BLOB", 10000)
# The table suites are about one service only.
ENDPOINT = TABLE_ENDPOINT
URL = urlparse(ENDPOINT)
PATH_STYLE = URL.path == f"/{ACCOUNT}"


def host_style(address, service):
    """The same server with the account as the first label of the host name, or None if the address is not path style."""
    url = urlparse(address)
    return f"{url.scheme}://{ACCOUNT}.{service}.localhost:{url.port}" if url.path == f"/{ACCOUNT}" else None


def resolve_localhost_names():
    """Makes `{account}.table.localhost` resolve, as browsers and curl do by themselves."""
    resolve = socket.getaddrinfo

    def with_localhost(host, *arguments, **options):
        if isinstance(host, str) and host.endswith(".localhost"):
            host = "127.0.0.1"
        return resolve(host, *arguments, **options)

    socket.getaddrinfo = with_localhost


def skipped_groups():
    """The groups that LAZULI_SKIP names."""
    return {name.strip() for name in os.environ.get("LAZULI_SKIP", "").split(",") if name.strip()}


def drop_groups(config, items):
    """Drops the groups that LAZULI_SKIP names."""
    skipped = skipped_groups()
    dropped = [item for item in items if any(item.get_closest_marker(name) for name in skipped)]
    config.hook.pytest_deselected(items=dropped)
    items[:] = [item for item in items if item not in dropped]


# A bearer token, if the server accepts one. The SDKs send tokens over https only, so the tests put it into requests themselves.
TOKEN = os.environ.get("LAZULI_TOKEN", "")


def with_token(transport):
    """A class of transports that send the token in place of the signature."""

    class WithToken(transport):
        def send(self, request, **options):
            request.headers["Authorization"] = f"Bearer {TOKEN}"
            return super().send(request, **options)

    return WithToken()
