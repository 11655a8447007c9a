"""TLS from end to end: certificates that are given, renewed and created, and accounts that require https."""

import json
import os
import re
import shutil
import signal
import ssl
import subprocess

from common import contains, equal, free_port, run, serve, serve_memory, status
from lazuli import ACCOUNT, HANG_SECONDS, KEY, Client


def openssl_certificate(directory, name):
    """A certificate from another tool, with its key: RSA, unlike ours."""
    certificate, key = (os.path.join(directory, f"{name}.{kind}") for kind in ("pem", "key"))
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}",
                    "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost", "-keyout", key, "-out", certificate],
                   check=True, capture_output=True)
    return certificate, key


class TlsClient(Client):
    """A client that trusts one certificate and no other."""

    def __init__(self, server, trusted, **options):
        super().__init__(server, **options)
        import http.client
        context = ssl.create_default_context(cafile=trusted)
        self.connection = http.client.HTTPSConnection(server.host, server.port, timeout=HANG_SECONDS, context=context)


def ask(server, trusted):
    with TlsClient(server, trusted) as client:
        return client.ask("GET", "/Tables").status


def rejects(server, trusted):
    try:
        return ask(server, trusted) and False
    except ssl.SSLError:
        return True


def wait_until_said(server, text, times=1):
    """The log is the only sign of a reload that changes nothing."""
    while server.said().count(text) < times:
        assert server.process.poll() is None, server.said()


def test_https_with_given_files_and_a_renewed_certificate(binary, directory):
    first, second = openssl_certificate(directory, "first"), openssl_certificate(directory, "second")
    served = [os.path.join(directory, name) for name in ("served.pem", "served.key")]
    put = lambda pair: [shutil.copy(source, target) for source, target in zip(pair, served)]
    put(first)
    with serve_memory(binary, directory, "--tls-cert", served[0], "--tls-key", served[1]) as server:
        contains(server.output, f"tables on https://127.0.0.1:{server.port}",
                 "DefaultEndpointsProtocol=https;", f"TableEndpoint=https://127.0.0.1:{server.port}/{ACCOUNT};")
        equal(ask(server, first[0]), 200)
        equal(status(server), 400, "plain http")
        open_before = TlsClient(server, first[0])
        equal(open_before.ask("GET", "/Tables").status, 200)

        put(second)
        server.process.send_signal(signal.SIGHUP)
        wait_until_said(server, "reloaded the certificate")
        equal(ask(server, second[0]), 200)
        assert rejects(server, first[0]), "the old one is shown no more"
        equal(open_before.ask("GET", "/Tables").status, 200, "a connection from before")

        put((second[0], first[1]))
        server.process.send_signal(signal.SIGHUP)
        wait_until_said(server, "failed to reload the certificate")
        equal(ask(server, second[0]), 200, "after files that do not fit")
        equal(open_before.ask("GET", "/Tables").status, 200)
        open_before.close()
        equal(server.stop(), 0)


def test_a_pfx_file_has_the_certificate_and_its_key(binary, directory):
    certificate, key = openssl_certificate(directory, "pfx")
    for name, options in (("new.pfx", []), ("old.pfx", ["-certpbe", "PBE-SHA1-3DES", "-keypbe", "PBE-SHA1-3DES", "-macalg", "sha1"])):
        file = os.path.join(directory, name)
        subprocess.run(["openssl", "pkcs12", "-export", "-in", certificate, "-inkey", key, "-out", file, "-passout", "pass:secret",
                        *options], check=True, capture_output=True)
        for flags, env in ((("--cert", file, "--pwd", "secret"), {}), (("--tls-cert", file), {"LAZULI_TLS_PASSWORD": "secret"})):
            with serve_memory(binary, directory, *flags, env=env) as server:
                equal(ask(server, certificate), 200)
                server.process.send_signal(signal.SIGHUP)
                wait_until_said(server, "reloaded the certificate")
                equal(ask(server, certificate), 200)
        code, _, errors = run(binary, directory, "serve", "--engine", "memory:", "--cert", file, "--pwd", "wrong-one")
        equal(code, 1)
        contains(errors, name, "password is wrong")
        assert "wrong-one" not in errors, errors
    shown = run(binary, directory, "config", "show", env={"LAZULI_TLS_CERT": file, "LAZULI_TLS_PASSWORD": "secret"})[1]
    contains(shown, "tls-password")
    assert '"secret"' not in shown, shown


def test_a_wrong_pfx_password_is_not_blamed_on_tls_key(binary, directory):
    certificate, key = openssl_certificate(directory, "pfx")
    subprocess.run(["openssl", "pkcs12", "-export", "-in", certificate, "-inkey", key, "-out", "one.pfx", "-passout", "pass:secret"],
                   cwd=directory, check=True, capture_output=True)
    errors = run(binary, directory, "serve", "--engine", "memory:", "--tls-cert", "one.pfx", "--tls-password", "wrong-one")[2]
    equal(errors, "lazuli: --tls-cert: one.pfx: the password is wrong\n")


def test_certificates_of_a_development_ca(binary, directory):
    code, output, errors = run(binary, directory, "cert", "certs")
    equal(code, 0, errors)
    contains(output, "NODE_EXTRA_CA_CERTS", "--tls-cert certs/server.pem", "ca.pem (new)")
    authority = os.path.join(directory, "certs", "ca.pem")
    with open(authority) as file:
        before = file.read()
    for hosts in ((), ("--host", "storage.test")):
        equal(run(binary, directory, "cert", "certs", *hosts)[0], 0)
        with serve_memory(binary, directory, "--tls-cert", "certs/server.pem", "--tls-key", "certs/server-key.pem") as server:
            equal(ask(server, authority), 200)
    with open(authority) as file:
        equal(file.read(), before, "clients trust it once")
    shown = subprocess.run(["openssl", "verify", "-CAfile", authority, "-verify_hostname", "storage.test",
                            os.path.join(directory, "certs", "server.pem")], capture_output=True, text=True)
    equal(shown.returncode, 0, shown.stderr)


def test_a_self_signed_certificate_is_kept_and_curl_accepts_it(binary, directory):
    def curl(server, trusted):
        from email.utils import formatdate
        date, target = formatdate(usegmt=True), f"/{ACCOUNT}/Tables"
        with Client(server) as client:
            signature = client.sign(target, date)
        return subprocess.run(
            ["curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", "--cacert", trusted, "-H", f"x-ms-date: {date}",
             "-H", "x-ms-version: 2019-02-02", "-H", f"Authorization: {signature}",
             f"https://localhost:{server.port}{target}"], capture_output=True, text=True, timeout=HANG_SECONDS).stdout

    kept = None
    for _ in range(2):
        with serve(binary, directory, "--self-signed") as server:
            trusted = re.search(r"clients must trust (\S+)", server.output).group(1)
            with open(trusted) as file:
                text = file.read()
            equal(text, kept or text, "the certificate after a restart")
            kept = text
            equal(curl(server, trusted), "200")
            equal(ask(server, trusted), 200)
            server.stop()
    equal(os.stat(os.path.join(directory, "data", "self-signed-key.pem")).st_mode & 0o777, 0o600)


def test_data_in_memory_needs_a_directory_for_the_certificate(binary, directory):
    code, output, errors = run(binary, directory, "serve", "--engine", "memory:", "--table-port", "0", "--self-signed")
    equal((code, output), (1, ""))
    contains(errors, "--self-signed=DIR")
    with serve_memory(binary, directory, "--self-signed=certificates") as server:
        equal(ask(server, os.path.join(directory, "certificates", "self-signed.pem")), 200)


def test_files_that_cannot_be_used_are_reported_at_start(binary, directory):
    certificate, key = openssl_certificate(directory, "good")
    for args, why in (
            (("--tls-cert", certificate, "--tls-key", "missing.key"), "missing.key: "),
            (("--tls-cert", key, "--tls-key", key), "contains no certificate"),
            (("--tls-cert", certificate, "--tls-key", certificate), "contains no private key")):
        code, output, errors = run(binary, directory, "serve", "-l", "data", "--table-port", "0", *args)
        equal((code, output), (1, ""), args)
        contains(errors, why)
    for args in (("--tls-cert", certificate), ("--tls-key", key), ("--self-signed", "--tls-cert", certificate)):
        equal(run(binary, directory, "serve", "-l", "data", *args)[0], 2, args)


def test_a_connection_that_fails_is_explained(binary, directory):
    string = (f"DefaultEndpointsProtocol=%s;AccountName={ACCOUNT};AccountKey={KEY};"
              f"TableEndpoint=%s://127.0.0.1:%d/{ACCOUNT};")
    table_list = lambda scheme, port, *args: run(
        binary, directory, "table", "list", "-c", string % (scheme, scheme, port), *args)
    with serve_memory(binary, directory, "--self-signed=certificates") as server:
        code, _, errors = table_list("https", server.port)
        equal(code, 6)
        contains(errors, "UnknownIssuer", "--ca-file")
        equal(table_list("https", server.port, "--ca-file", "certificates/self-signed.pem")[0], 0)
    with serve_memory(binary, directory) as server:
        code, _, errors = table_list("https", server.port)
        equal(code, 6)
        contains(errors, "http:// rather than https://")
    code, _, errors = table_list("http", free_port())
    equal(code, 6)
    contains(errors, "Connection refused", "is the server running")


def test_an_account_may_insist_on_https(binary, directory):
    added = json.loads(run(binary, directory, "account", "add", "shop", "--https-only", "--json", "-l", "data")[1])
    equal(added["httpsOnly"], True)
    key = added["keys"][0]
    with serve(binary, directory, "--trusted-proxy", "127.0.0.1") as server:
        shop = dict(account="shop", key=key)
        with Client(server, **shop) as client:
            response = client.ask("GET", "/Tables")
            equal((response.status, response.code), (400, "AccountRequiresHttps"))
            contains(response.text, "The account being accessed does not support http.")
        equal(status(server), 200, "another account")
        equal(status(server, headers={"X-Forwarded-Proto": "https"}, **shop), 200, "behind a TLS front")
        for wanted, expected in (("off", 200), ("on", 400)):
            code, output, errors = run(binary, directory, "account", "https-only", "shop", wanted, "-l", "data")
            equal(code, 0, errors)
            equal("https only" in output, wanted == "on")
            equal(status(server, **shop), expected, wanted)
        equal(run(binary, directory, "account", "https-only", "nobody", "on", "-l", "data")[0], 1)
        server.stop()
    with serve(binary, directory, "--self-signed") as server:
        trusted = os.path.join(directory, "data", "self-signed.pem")
        with TlsClient(server, trusted, **shop) as client:
            equal(client.ask("GET", "/Tables").status, 200)
