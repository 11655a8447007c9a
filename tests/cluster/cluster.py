"""Three machines in network namespaces, each with etcd, Patroni and PostgreSQL. Needs root."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

from machine import NET, Machine, make_bridge, remove_all, wait_for  # noqa: E402
from postgres import as_postgres, programs  # noqa: E402

NODES = (1, 2, 3)
# Seconds without a sign of life after which a leader is replaced; Patroni allows no less.
TTL = 20
# The section of Patroni's configuration that names etcd: its first API (`etcd`) or its second (`etcd3`). Before 3.0.3
# an agent that slept past its term takes the lead back through the second, without asking who has it: docs/scale-out.md.
SECTIONS = ("etcd", "etcd3")


class Node(Machine):
    """A machine of the database."""

    def __init__(self, number, directory, store, agent):
        super().__init__(number, 10 + number)
        self.number, self.store, self.agent = number, store, agent
        self.directory = os.path.join(directory, self.name)
        os.makedirs(self.directory)
        shutil.chown(self.directory, "postgres", "postgres")
        self.data = os.path.join(self.directory, "data")
        self.etcd = self.patroni = None

    def run(self, command, log):
        out = open(os.path.join(self.directory, log), "a")
        return subprocess.Popen([*self.prefix, *as_postgres(), *command], stdout=out, stderr=out, cwd="/",
                                env={"PATH": os.environ["PATH"], "LC_ALL": "C"})

    def start_etcd(self):
        peers = ",".join(f"lz{n}=http://{NET}.{10 + n}:2380" for n in NODES)
        self.etcd = self.run([
            "etcd", "--name", self.name, "--data-dir", os.path.join(self.directory, "etcd"),
            "--listen-client-urls", f"http://{self.address}:2379", "--advertise-client-urls", f"http://{self.address}:2379",
            "--listen-peer-urls", f"http://{self.address}:2380", "--initial-advertise-peer-urls", f"http://{self.address}:2380",
            "--initial-cluster", peers, "--initial-cluster-state", "new", "--enable-v2=true", "--unsafe-no-fsync"], "etcd.log")

    def start_patroni(self):
        access = [f"host all all {NET}.0/24 trust", f"host replication all {NET}.0/24 trust", "local all all trust",
                  "host all all 127.0.0.1/32 trust"]
        config = {
            "scope": "lazuli", "name": self.name,
            "restapi": {"listen": f"{self.address}:8008", "connect_address": f"{self.address}:8008"},
            self.store: {"hosts": [f"{NET}.{10 + n}:2379" for n in NODES]},
            "bootstrap": {
                "dcs": {"ttl": TTL, "loop_wait": 2, "retry_timeout": 5, "maximum_lag_on_failover": 0,
                        "synchronous_mode": True, "synchronous_mode_strict": True,
                        "postgresql": {"use_pg_rewind": True, "use_slots": True, "parameters": {
                            "max_connections": 200, "wal_log_hints": "on", "shared_buffers": "64MB", "wal_keep_size": "256MB"}}},
                "initdb": [{"encoding": "UTF8"}, {"locale": "C"}], "pg_hba": access},
            "postgresql": {
                "listen": f"{self.address}:5432", "connect_address": f"{self.address}:5432", "data_dir": self.data,
                "bin_dir": programs(), "pgpass": os.path.join(self.directory, "pgpass"), "pg_hba": access,
                "parameters": {"unix_socket_directories": self.directory},
                "authentication": {"superuser": {"username": "postgres"}, "replication": {"username": "replicator"},
                                   "rewind": {"username": "postgres"}}},
        }
        path = os.path.join(self.directory, "patroni.yml")
        with open(path, "w") as file:
            json.dump(config, file)
        self.patroni = self.run([self.agent, path], "patroni.log")

    def kill_etcd(self):
        self.etcd.kill()
        self.etcd.wait()

    def kill(self):
        for word in ("patroni", "postgres"):
            self.signal(word, signal.SIGKILL)


class Cluster:
    """The three of them, with a leader and a standby that confirms."""

    def __init__(self, store="etcd", agent="patroni"):
        self.directory = tempfile.mkdtemp(prefix="lazuli-cluster-")
        os.chmod(self.directory, 0o755)
        remove_all()
        make_bridge()
        self.nodes = [Node(number, self.directory, store, agent) for number in NODES]
        for node in self.nodes:
            node.make()
            node.start_etcd()
        for node in self.nodes:
            node.start_patroni()
        self.wait_until_whole()
        self.sql(self.leader(), "CREATE USER lazuli")

    def url(self, database, parameters="pool=8", nodes=None):
        """Where a database is, for a front end that knows all machines or only some."""
        hosts = ",".join(node.address for node in nodes or self.nodes)
        return f"postgres://lazuli@{hosts}/{database}?target_session_attrs=read-write&{parameters}"

    def others(self, node):
        return [other for other in self.nodes if other is not node]

    def sql(self, node, text):
        command = ["psql", "-qAtX", "-v", "ON_ERROR_STOP=1", f"postgres://postgres@{node.address}/postgres?connect_timeout=3", "-c", text]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def roles(self):
        """The role of each machine, according to its own agent."""
        roles = {}
        for node in self.nodes:
            with contextlib.suppress(OSError, ValueError):
                with urllib.request.urlopen(f"http://{node.address}:8008/patroni", timeout=2) as response:
                    roles[node.name] = json.load(response)
        return roles

    def leader(self):
        """The machine that Patroni says is the leader."""
        def found():
            for node in self.nodes:
                with contextlib.suppress(OSError):
                    urllib.request.urlopen(f"http://{node.address}:8008/leader", timeout=2).close()
                    return node
            return None
        return wait_for("a leader", found)

    def wait_until_whole(self):
        """All machines work, one leads, and one of the others confirms commits."""
        def whole():
            roles = self.roles()
            states = [role.get("state") for role in roles.values()]
            confirms = any(role.get("sync_standby") for role in roles.values())
            leads = sum(role.get("role") in ("master", "primary") for role in roles.values())
            if len(roles) != len(NODES) or any(state not in ("running", "streaming") for state in states) or leads != 1 or not confirms:
                return False
            leader = self.leader()
            try:
                streaming = self.sql(leader, "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'")
                return streaming == "2" and self.sql(leader, "SHOW synchronous_standby_names") != ""
            except subprocess.CalledProcessError:
                return False
        wait_for("three machines with a leader and a standby that confirms", whole)

    def close(self, keep=False):
        remove_all()
        for node in self.nodes:
            for process in (node.etcd, node.patroni):
                if process:
                    process.wait()
        if keep:
            print(f"logs are in {self.directory}", file=sys.stderr)
        else:
            shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, failed, *_):
        self.close(keep=failed is not None)
