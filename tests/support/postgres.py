"""A PostgreSQL server in a directory of its own, as a user who is not root."""

import contextlib
import glob
import os
import pwd
import shutil
import socket
import subprocess
import tempfile

SETTINGS = {
    "listen_addresses": "'127.0.0.1'", "max_connections": "300", "shared_buffers": "'128MB'", "log_min_messages": "'warning'",
}


def programs():
    """The directory of PostgreSQL's programs, of the newest version that is installed."""
    found = glob.glob("/usr/lib/postgresql/*/bin/postgres")
    if not found:
        raise SystemExit("PostgreSQL is not installed: apt-get install postgresql")
    return os.path.dirname(max(found, key=lambda path: float(path.split("/")[4])))


def as_postgres():
    """The prefix of a command that must not run as root, which PostgreSQL rejects."""
    if os.geteuid() != 0:
        return []
    user = pwd.getpwnam("postgres")
    return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups", "--"]


def free_port():
    with contextlib.closing(socket.socket()) as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Postgres:
    """A server that is ready when the constructor returns, and gone with its data when it is closed."""

    def __init__(self, **settings):
        self.directory = tempfile.mkdtemp(prefix="lazuli-postgres-")
        self.data = os.path.join(self.directory, "data")
        self.port = free_port()
        if os.geteuid() == 0:
            shutil.chown(self.directory, "postgres", "postgres")
        self.make()
        values = SETTINGS | {"unix_socket_directories": f"'{self.directory}'", "port": str(self.port)} | settings
        self.configure(values)
        self.start()

    def make(self):
        """The files of the server."""
        self.run("initdb", "-D", self.data, "-U", "lazuli", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync",
                 stdout=subprocess.DEVNULL)

    def run(self, program, *args, **options):
        return subprocess.run([*as_postgres(), os.path.join(programs(), program), *args], check=True, cwd="/", **options)

    def configure(self, values):
        with open(os.path.join(self.data, "postgresql.auto.conf"), "a") as file:
            file.writelines(f"{name} = {value}\n" for name, value in values.items())

    def start(self):
        self.run("pg_ctl", "-D", self.data, "-l", os.path.join(self.directory, "log"), "-w", "start", stdout=subprocess.DEVNULL)

    def stop(self, mode="fast"):
        self.run("pg_ctl", "-D", self.data, "-m", mode, "-w", "stop", stdout=subprocess.DEVNULL)

    def url(self, database="postgres", port=None):
        return f"postgres://lazuli@127.0.0.1:{port or self.port}/{database}"

    def sql(self, text, database="postgres"):
        done = subprocess.run(["psql", "-qAtX", "-v", "ON_ERROR_STOP=1", self.url(database), "-c", text], check=True,
                              capture_output=True, text=True)
        return done.stdout.strip()

    def database(self, name):
        """A new database; its URL."""
        self.sql(f"CREATE DATABASE {name}")
        return self.url(name)

    def names(self, database="seaweedfs"):
        """A new database for the names of an object store, in the form that `SeaweedFs` takes."""
        self.database(database)
        return {"hostname": "127.0.0.1", "port": self.port, "database": database}

    def close(self):
        with contextlib.suppress(subprocess.CalledProcessError):
            self.stop("immediate")
        shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
