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
        rejected = ask(server, old.token(**reader), "POST", "/Tables", {"TableName": "made"})
        equal((rejected.status, rejected.code), (403, "AuthorizationPermissionMismatch"))
        writer = old.token(roles=["Storage Table Data Contributor"])
        equal(ask(server, writer, "POST", "/Tables", {"TableName": "made"}).status, 204)
        late = ask(server, old.token(exp=int(time.time()) - 3600, **reader))
        equal((late.status, late.code), (401, "InvalidAuthenticationInfo"))
        equal(late.headers["WWW-Authenticate"], "Bearer authorization_uri=https://login.example.org/tenant/oauth2/authorize "
                                                f"resource_id={AUDIENCE}")
        publish(new)
        server.process.send_signal(signal.SIGHUP)
        while "reloaded the keys" not in server.said():
            assert server.process.poll() is None, server.said()
        equal(ask(server, new.token(**reader)).status, 200)
        equal(ask(server, old.token(**reader)).status, 401)
        for secret in (old.token(**reader), "eyJ"):
            assert secret not in server.said(), "tokens are secrets"
    with serve_memory(binary, directory, *flags) as server:
        equal(ask(server, new.token(**reader)).status, 403, "over plain http")


def unsigned(**claims):
    """A token that nobody has signed, with the claims of the public cloud."""
    now = int(time.time())
    claims = {"iss": "https://sts.windows.net/tenant/", "aud": AUDIENCE, "iat": now, "nbf": now, "exp": now + 3600} | claims
    return ".".join(encode(json.dumps(part).encode()) for part in ({"alg": "HS256", "typ": "JWT"}, claims)) + ".bm9uZQ"


def test_tokens_for_development(binary, directory):
    token = lambda *args: run(binary, directory, "token", *args)[1].strip()
    with serve_memory(binary, directory, "--oauth", "dev") as server:
        equal(ask(server, token(), "POST", "/Tables", {"TableName": "made"}).status, 204, "over plain http")
        reader = token("--role", "Storage Table Data Reader")
        equal(ask(server, reader).status, 200)
        equal(ask(server, reader, "POST", "/Tables", {"TableName": "more"}).status, 403)
        equal(ask(server, token("--role", "Storage Table Data Reader/shop")).status, 403, "another account")
        equal(ask(server, token("--expires", "2020-01-01")).status, 401)
        equal(ask(server, token("--audience", "https://other.test")).status, 401)
        equal(ask(server, unsigned(roles=["Storage Table Data Reader"])).status, 401, "signatures count")
    with serve_memory(binary, directory) as server:
        equal(ask(server, token()).status, 401, "without the flag")
    as_json = json.loads(token("--json", "--expires", "10m"))
    equal((as_json["token_type"], 590 <= int(as_json["expires_in"]) <= 600), ("Bearer", True))
    equal(run(binary, directory, "token", "--expires", "soon")[0], 1)


def test_the_debug_log_has_the_reason_of_a_rejected_token(binary, directory):
    """docs/operate.md promised it, but no flag set the level."""
    late = run(binary, directory, "token", "--expires", "2020-01-01")[1].strip()
    for level, wanted in (((), False), (("--log-level", "debug"), True)):
        with serve_memory(binary, directory, "--oauth", "dev", *level) as server:
            equal(ask(server, late).status, 401)
            equal(server.stop(), 0)
            equal("a bearer token was rejected" in server.said(), wanted, server.said())
    equal(run(binary, directory, "serve", "--engine", "memory:", "--log-level", "loud")[0], 2)


def test_tokens_as_azurite_checks_them(binary, directory):
    token = run(binary, directory, "token")[1].strip()
    with serve_memory(binary, directory, "--oauth", "basic", "--trusted-proxy", "127.0.0.1") as server:
        def status(token):
            headers = {"Authorization": f"Bearer {token}", "x-ms-version": "2020-12-06", "X-Forwarded-Proto": "https"}
            with Client(server) as client:
                return client.ask("POST", "/Tables", {"TableName": "made"}, headers).status
        equal(status(unsigned()), 204)
        equal(status(token), 409, "the table is there: `lazuli token` makes tokens for this too")
        equal([status(unsigned(**claims)) for claims in ({"iss": ISSUER}, {"aud": "https://other.test"}, {"exp": 1})], [401] * 3)
        equal(ask(server, unsigned()).status, 403, "over plain http")


def test_tokens_that_anyone_can_make_stay_on_this_machine(binary, directory):
    for mode in ("dev", "basic"):
        serve = ("serve", "--engine", "memory:", "--table-port", "0", "--host", "0.0.0.0", "--oauth", mode)
        code, _, errors = run(binary, directory, *serve)
        equal(code, 1)
        contains(errors, "--oauth", "anyone who reaches 0.0.0.0")
    with serve_memory(binary, directory, "--host", "0.0.0.0", "--oauth", "dev", "--dev-account") as server:
        equal(ask(server, run(binary, directory, "token")[1].strip()).status, 200)
    equal(run(binary, directory, "serve", "--oauth", "dev", "--oauth-issuer", ISSUER, "--oauth-audience", AUDIENCE,
              "--oauth-jwks", "x")[0], 2)


def test_flags_that_make_no_sense_are_rejected(binary, directory):
    for flags in (("--oauth-issuer", ISSUER), ("--oauth-audience", AUDIENCE), ("--oauth-jwks", "jwks.json"),
                  ("--oauth-allow-http",), ("--oauth-issuer", "a b", "--oauth-audience", AUDIENCE, "--oauth-jwks", "x"),
                  ("--oauth-issuer", ISSUER, "--oauth-audience", AUDIENCE, "--oauth-jwks", "http://example.org/keys")):
        equal(run(binary, directory, "serve", "--engine", "memory:", "--table-port", "0", *flags)[0], 2, flags)
    code, _, errors = run(binary, directory, "serve", "--engine", "memory:", "--table-port", "0", "--oauth-issuer", ISSUER,
                          "--oauth-audience", AUDIENCE, "--oauth-jwks", "missing.json")
    equal(code, 1)
    contains(errors, "missing.json")
