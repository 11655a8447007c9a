"""The server under test, for the stand-in of the SDKs' test framework: accounts, addresses, tokens."""

import os
import time
from urllib.parse import urlparse

ACCOUNT, KEY = os.environ["LAZULI_ACCOUNT"], os.environ["LAZULI_KEY"]
# A second account, for copies from one to another. Without one, it is the same.
OTHER, OTHER_KEY = os.environ.get("LAZULI_OTHER_ACCOUNT", ACCOUNT), os.environ.get("LAZULI_OTHER_KEY", KEY)
ACCOUNTS = {
    "storage_account_name": ACCOUNT, "storage_account_key": KEY,
    "secondary_storage_account_name": OTHER, "secondary_storage_account_key": OTHER_KEY,
    "tables_storage_account_name": ACCOUNT, "tables_primary_storage_account_key": KEY,
}
# An account that keeps versions, and one that keeps deleted blobs; see `own_tests` in tests/run. They have the same key.
SOFT_DELETE = os.environ.get("LAZULI_SOFT_DELETE_ACCOUNT", ACCOUNT)
NAMES = {"blob": ACCOUNT, "premium": ACCOUNT, "soft_delete": SOFT_DELETE, "versioned": os.environ.get("LAZULI_VERSIONED_ACCOUNT", ACCOUNT)}
for kind, name in NAMES.items():
    ACCOUNTS |= {f"{kind}_storage_account_name": name, f"{kind}_storage_account_key": KEY}
# The issuer and the audience that run.sh configures.
ISSUER, AUDIENCE = "https://login.example.org/tenant/v2.0", "https://storage.azure.com"
ROLES = ["Storage Blob Data Owner", "Storage Queue Data Contributor", "Storage Queue Delegator", "Storage Table Data Contributor"]


def unique():
    """Sixteen characters that no other name has. Some tests replace the source of random numbers, so they come from the clock."""
    return f"{time.time_ns():016x}"


class Secret(str):
    """A key, in the two forms that the tests ask for."""

    @property
    def secret(self):
        return str(self)


def url(account, service):
    """The account's address in Azure, which `resolve` maps to the server."""
    return f"https://{account}.{service}.core.windows.net"


def resolve(host, port):
    """Maps a host name of Azure to the server's port for the service in the name."""
    labels = host.split(".") if isinstance(host, str) else []
    if labels[2:] != ["core", "windows", "net"]:
        return host, port
    return "127.0.0.1", urlparse(os.environ[f"LAZULI_{labels[1].upper()}_ENDPOINT"]).port


def token():
    """A bearer token of an owner, signed with the key that the server trusts."""
    import jwt

    with open(os.path.join(os.environ["LAZULI_OWN_KEYS"], "key.pem")) as file:
        key = file.read()
    claims = {"iss": ISSUER, "aud": AUDIENCE, "exp": int(time.time()) + 3600, "oid": "a0b1c2d3-0000-4000-8000-000000000001",
              "tid": "a0b1c2d3-0000-4000-8000-000000000002", "roles": ROLES}
    return jwt.encode(claims, key, algorithm="RS256", headers={"kid": "own"})
