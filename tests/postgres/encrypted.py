"""TLS to the database: encrypted where it should be, and rejected if the certificate belongs to another server."""

import os
import shutil
import subprocess
import tempfile

from postgres import Postgres


def openssl(*args, directory):
    subprocess.run(["openssl", *args], check=True, cwd=directory, capture_output=True)


def certificates(directory):
    """A root, a certificate of it for 127.0.0.1, and another root that has nothing to do with it."""
    for name in ("root", "other"):
        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}", "-keyout", f"{name}.key",
                "-out", f"{name}.pem", directory=directory)
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=db", "-keyout", "db.key", "-out", "db.csr", directory=directory)
    with open(os.path.join(directory, "names"), "w") as file:
        file.write("subjectAltName=IP:127.0.0.1\n")
    openssl("x509", "-req", "-in", "db.csr", "-CA", "root.pem", "-CAkey", "root.key", "-days", "2", "-extfile", "names",
            "-out", "db.pem", directory=directory)


def run(binary):
    with tempfile.TemporaryDirectory() as directory, Postgres() as postgres:
        certificates(directory)
        for name in ("db.key", "db.pem"):
            target = os.path.join(postgres.data, name)
            shutil.copy(os.path.join(directory, name), target)
            os.chmod(target, 0o600)
            if os.geteuid() == 0:
                shutil.chown(target, "postgres", "postgres")
        postgres.stop()
        postgres.configure({"ssl": "on", "ssl_cert_file": "'db.pem'", "ssl_key_file": "'db.key'"})
        with open(os.path.join(postgres.data, "pg_hba.conf"), "w") as file:
            file.write("local all all trust\nhostssl all all 127.0.0.1/32 trust\n")
        postgres.start()
        root, other = (os.path.join(directory, f"{name}.pem") for name in ("root", "other"))
        for parameters, works in [
            ("sslmode=verify-full&sslrootcert=" + root, True),
            ("sslmode=require", True),
            ("sslmode=prefer", True),
            ("sslmode=require&sslrootcert=" + root, True),
            ("sslmode=verify-full&sslrootcert=" + other, False),
            ("sslmode=verify-full", False),
            ("sslmode=disable", False),
        ]:
            url = f"{postgres.url()}?{parameters}"
            done = subprocess.run([binary, "account", "list", "--engine", url], capture_output=True, text=True)
            if (done.returncode == 0) != works:
                raise SystemExit(f"{parameters}: {done.returncode} {done.stdout} {done.stderr}")
