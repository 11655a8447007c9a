"""Three machines in network namespaces, each with etcd, Patroni and PostgreSQL. Needs root."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

from postgres import as_postgres, programs  # noqa: E402

NET = "10.231.77"
BRIDGE = "lzbr0"
NODES = (1, 2, 3)
# Seconds without a sign of life after which a leader is replaced; Patroni allows no less.
TTL = 20
TIMEOUT = 120
# The section of Patroni's configuration that names etcd: its first API (`etcd`) or its second (`etcd3`). Before 3.0.3
# an agent that slept past its term takes the lead back through the second, without asking who has it: docs/scale-out.md.
STORES = ("etcd", "etcd3")


def ip(*args, check=True):
    return subprocess.run(["ip", *args], check=check, capture_output=True, text=True).stdout


def wait_for(what, seen, seconds=TIMEOUT):
    """Repeats the question until the result is true."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = seen()
        if found:
            return found
        time.sleep(0.2)
    raise SystemExit(f"after {seconds} s still not: {what}")


class Node:
    """A machine."""

    def __init__(self, number, directory, store, agent):
        self.number, self.name, self.address = number, f"lz{number}", f"{NET}.{10 + number}"
        self.store, self.agent = store, agent
        self.directory = os.path.join(directory, self.name)
        os.makedirs(self.directory)
        shutil.chown(self.directory, "postgres", "postgres")
        self.data = os.path.join(self.directory, "data")
        self.etcd = self.patroni = None

    def make(self):
        ip("netns", "add", self.name)
        ip("link", "add", f"{self.name}a", "type", "veth", "peer", "name", f"{self.name}b")
        ip("link", "set", f"{self.name}b", "netns", self.name)
        ip("link", "set", f"{self.name}a", "master", BRIDGE, "up")
        for args in (["addr", "add", f"{self.address}/24", "dev", f"{self.name}b"], ["link", "set", f"{self.name}b", "up"],
                     ["link", "set", "lo", "up"]):
            ip("netns", "exec", self.name, "ip", *args)

    def run(self, command, log):
        out = open(os.path.join(self.directory, log), "a")
        return subprocess.Popen(["ip", "netns", "exec", self.name, *as_postgres(), *command], stdout=out, stderr=out, cwd="/",
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

    def pids(self, word):
        """The processes of this machine whose command holds a word."""
        found = []
        for pid in ip("netns", "pids", self.name, check=False).split():
            with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline") as file:
                if word in file.read():
                    found.append(int(pid))
        return found

    def signal(self, word, how):
        for pid in self.pids(word):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, how)

    def filter(self, action):
        """Cuts it off from the other machines, or joins it again. Front ends still reach it."""
        for other in NODES:
            if other != self.number:
                for chain, end in (("INPUT", "-s"), ("OUTPUT", "-d")):
                    ip("netns", "exec", self.name, "iptables", action, chain, end, f"{NET}.{10 + other}", "-j", "DROP")

    def kill(self):
        for word in ("patroni", "postgres"):
            self.signal(word, signal.SIGKILL)


class Cluster:
    """The three of them, with a leader and a standby that confirms."""

    def __init__(self, store="etcd", agent="patroni"):
        self.directory = tempfile.mkdtemp(prefix="lazuli-cluster-")
        os.chmod(self.directory, 0o755)
        self.remove_nets()
        ip("link", "add", BRIDGE, "type", "bridge")
        ip("addr", "add", f"{NET}.1/24", "dev", BRIDGE)
        ip("link", "set", BRIDGE, "up")
        self.nodes = [Node(number, self.directory, store, agent) for number in NODES]
        for node in self.nodes:
            node.make()
            node.start_etcd()
        for node in self.nodes:
            node.start_patroni()
        self.wait_until_whole()
        self.sql(self.leader(), "CREATE USER lazuli")
        self.sql(self.leader(), "CREATE DATABASE lazuli OWNER lazuli")

    def url(self, parameters="pool=8", nodes=None):
        """Where the database is, for a front end that knows all machines or only some."""
        hosts = ",".join(node.address for node in nodes or self.nodes)
        return f"postgres://lazuli@{hosts}/lazuli?target_session_attrs=read-write&{parameters}"

    def sql(self, node, text):
        command = ["psql", "-qAtX", "-v", "ON_ERROR_STOP=1", f"postgres://postgres@{node.address}/postgres?connect_timeout=3", "-c", text]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def roles(self):
        """What each machine is, by its own agent's account."""
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

    def remove_nets(self):
        for number in NODES:
            for pid in ip("netns", "pids", f"lz{number}", check=False).split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGCONT)
                    os.kill(int(pid), signal.SIGKILL)
            ip("netns", "del", f"lz{number}", check=False)
            ip("link", "del", f"lz{number}a", check=False)
        ip("link", "del", BRIDGE, check=False)

    def close(self, keep=False):
        self.remove_nets()
        for node in self.nodes:
            for process in (node.etcd, node.patroni):
                if process:
                    process.wait()
        if keep:
            print(f"logs are in {self.directory}", file=sys.stderr)
        else:
            shutil.rmtree(self.directory, ignore_errors=True)
