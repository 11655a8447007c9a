"""Bearer tokens from end to end: flags, a key file that is read again on SIGHUP, and tokens that OpenSSL has signed."""

import base64
import json
import os
import signal
import subprocess
import time

from common import contains, equal, run, serve_memory
from lazuli import Client

ISSUER, AUDIENCE = "https://login.example.org/tenant/v2.0", "https://storage.azure.com"


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Issuer:
    """An RSA key of OpenSSL's making."""

    def __init__(self, directory, name):
        self.name, self.path = name, os.path.join(directory, f"{name}.key")
        subprocess.run(["openssl", "genrsa", "-out", self.path, "2048"], check=True, capture_output=True)

    def jwk(self):
        text = subprocess.run(["openssl", "rsa", "-in", self.path, "-modulus", "-noout"], check=True,
                              capture_output=True, text=True).stdout
        return {"kty": "RSA", "use": "sig", "kid": self.name, "e": "AQAB",
                "n": encode(bytes.fromhex(text.strip().split("=")[1]))}

    def token(self, **claims):
        claims = {"iss": ISSUER, "aud": AUDIENCE, "exp": int(time.time()) + 3600} | claims
        parts = [{"alg": "RS256", "kid": self.name, "typ": "JWT"}, claims]
        signed = ".".join(encode(json.dumps(part).encode()) for part in parts)
        signature = subprocess.run(["openssl", "dgst", "-sha256", "-sign", self.path], input=signed.encode(), check=True,
                                   capture_output=True).stdout
        return f"{signed}.{encode(signature)}"


def ask(server, token, method="GET", path="/Tables", body=None):
    with Client(server) as client:
        headers = {"Authorization": f"Bearer {token}", "x-ms-version": "2020-12-06"}
        return client.ask(method, path, body, headers)


def test_tokens_of_an_issuer_are_accepted_and_its_keys_read_again(binary, directory):
    old, new = Issuer(directory, "old"), Issuer(directory, "new")
    keys = os.path.join(directory, "jwks.json")

    def publish(*issuers):
        with open(keys, "w") as file:
            json.dump({"keys": [issuer.jwk() for issuer in issuers]}, file)

    publish(old)
    flags = ("--oauth-issuer", ISSUER, "--oauth-audience", AUDIENCE, "--oauth-jwks", keys)
    reader = {"roles": ["Storage Table Data Reader"]}
    with serve_memory(binary, directory, *flags, "--oauth-allow-http") as server:
        equal(ask(server, old.token(**reader)).status, 200)
        refused = ask(server, old.token(**reader), "POST", "/Tables", {"TableName": "made"})
        equal((refused.status, refused.code), (403, "AuthorizationPermissionMismatch"))
        writer = old.token(roles=["Storage Table Data Contributor"])
        equal(ask(server, writer, "POST", "/Tables", {"TableName": "made"}).status, 204)
        late = ask(server, old.token(exp=int(time.time()) - 3600, **reader))
        equal((late.status, late.code), (401, "InvalidAuthenticationInfo"))
        equal(late.headers["WWW-Authenticate"], "Bearer authorization_uri=https://login.example.org/tenant/oauth2/authorize "
                                                f"resource_id={AUDIENCE}")
        publish(new)
        server.process.send_signal(signal.SIGHUP)
        while "were read again" not in server.said():
            assert server.process.poll() is None, server.said()
        equal(ask(server, new.token(**reader)).status, 200)
        equal(ask(server, old.token(**reader)).status, 401)
        for secret in (old.token(**reader), "eyJ"):
            assert secret not in server.said(), "tokens are secrets"
    with serve_memory(binary, directory, *flags) as server:
        equal(ask(server, new.token(**reader)).status, 403, "by plain http")


def test_flags_that_make_no_sense_are_refused(binary, directory):
    for flags in (("--oauth-issuer", ISSUER), ("--oauth-audience", AUDIENCE), ("--oauth-jwks", "jwks.json"),
                  ("--oauth-allow-http",), ("--oauth-issuer", "a b", "--oauth-audience", AUDIENCE, "--oauth-jwks", "x"),
                  ("--oauth-issuer", ISSUER, "--oauth-audience", AUDIENCE, "--oauth-jwks", "http://example.org/keys")):
        equal(run(binary, directory, "serve", "--engine", "memory:", "--table-port", "0", *flags)[0], 2, flags)
    code, _, errors = run(binary, directory, "serve", "--engine", "memory:", "--table-port", "0", "--oauth-issuer", ISSUER,
                          "--oauth-audience", AUDIENCE, "--oauth-jwks", "missing.json")
    equal(code, 1)
    contains(errors, "missing.json")
