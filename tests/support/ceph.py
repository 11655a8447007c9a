"""A Ceph in a directory of its own: a monitor, a manager, three OSDs and a gateway for S3. Three copies, always synced.

It needs the programs of Debian's packages ceph-mon, ceph-mgr, ceph-osd, radosgw and ceph-common, and root."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid

import s3
from postgres import free_port

ACCESS_KEY, SECRET_KEY = "lazuli-test-key", "lazuli-test-secret"
OSDS = ("osd.0", "osd.1", "osd.2")
START_SECONDS = 120
BLOCK_BYTES = 3 << 30


class Ceph:
    """A store that is ready when the constructor returns, and gone with its data when it is closed. A subclass may put
    the components on machines of their own."""

    def __init__(self, bucket="lazuli"):
        self.bucket = bucket
        self.directory = tempfile.mkdtemp(prefix="lazuli-ceph-")
        self.processes, self.ports, self.commands = {}, {}, {}
        self.fsid = str(uuid.uuid4())
        try:
            self.configure()
            self.start_monitor()
            self.start_manager()
            for name in OSDS:
                self.start_osd(name)
            self.start_gateway()
        except BaseException:
            self.close()
            raise

    def host(self, _):
        """The address of the machine of a component."""
        return "127.0.0.1"

    def prefix(self, _):
        """The prefix of a command that runs on the machine of a component."""
        return []

    def port(self, name):
        return self.ports.setdefault(name, free_port())

    def file(self, name):
        return os.path.join(self.directory, name)

    def configure(self):
        with open(self.file("ceph.conf"), "w") as file:
            file.write(f"""[global]
fsid = {self.fsid}
mon host = [v2:{self.host("mon.a")}:{self.port("mon.a")}]
auth cluster required = cephx
auth service required = cephx
auth client required = cephx
keyring = {self.directory}/$name.keyring
run dir = {self.directory}
admin socket = {self.directory}/$name.asok
log file = {self.directory}/$name.log
crash dir = {self.directory}
mon data = {self.directory}/$name
mgr data = {self.directory}/$name
osd data = {self.directory}/$name
mgr initial modules =
mon cluster log file = {self.directory}/cluster.log
ms bind msgr1 = false
osd crush chooseleaf type = 0
osd pool default size = 3
osd pool default min size = 2
osd pool default pg num = 8
osd pool default pg autoscale mode = off
osd objectstore = bluestore
bluestore block size = {BLOCK_BYTES}
osd memory target = 939524096
osd heartbeat grace = 6
osd heartbeat interval = 2
mon osd min down reporters = 1
rgw dynamic resharding = false
""" + "".join(f"[{name}]\npublic addr = {self.host(name)}\ncluster addr = {self.host(name)}\n" for name in OSDS))

    def run(self, *command, on="mon.a", **options):
        done = subprocess.run([*self.prefix(on), *command], capture_output=True, text=True, timeout=START_SECONDS, **options)
        if done.returncode:
            raise SystemExit(f"Ceph: {' '.join(command)}: {done.returncode} {done.stdout} {done.stderr}")
        return done.stdout

    def ceph(self, *words):
        return self.run("ceph", "-c", self.file("ceph.conf"), "--connect-timeout", "60", *words)

    def admin(self, *words):
        return self.run("radosgw-admin", "-c", self.file("ceph.conf"), *words)

    def start_monitor(self):
        everything = ["--cap", "mon", "allow *", "--cap", "osd", "allow *", "--cap", "mgr", "allow *"]
        admin, mon, names = self.file("client.admin.keyring"), self.file("mon.keyring"), self.file("monmap")
        self.run("ceph-authtool", "--create-keyring", mon, "--gen-key", "-n", "mon.", "--cap", "mon", "allow *")
        self.run("ceph-authtool", "--create-keyring", admin, "--gen-key", "-n", "client.admin", *everything)
        self.run("ceph-authtool", mon, "--import-keyring", admin)
        self.run("monmaptool", "--create", "--fsid", self.fsid, "--addv", "a", f"[v2:{self.host('mon.a')}:{self.port('mon.a')}]", names)
        self.run("ceph-mon", "-c", self.file("ceph.conf"), "--mkfs", "-i", "a", "--monmap", names, "--keyring", mon)
        self.commands["mon.a"] = ["ceph-mon", "-i", "a"]
        self.start("mon.a")

    def key(self, name, *caps):
        self.ceph("auth", "get-or-create", name, *caps, "-o", self.file(f"{name}.keyring"))

    def start_manager(self):
        self.key("mgr.x", "mon", "allow profile mgr", "osd", "allow *")
        self.commands["mgr.x"] = ["ceph-mgr", "-i", "x"]
        self.start("mgr.x")

    def start_osd(self, name):
        number, one = name.split(".")[1], str(uuid.uuid4())
        self.ceph("osd", "new", one, number)
        os.makedirs(self.file(name))
        self.key(name, "mon", "allow profile osd", "mgr", "allow profile osd", "osd", "allow *")
        self.run("ceph-osd", "-c", self.file("ceph.conf"), "-i", number, "--mkfs", "--osd-uuid", one, on=name)
        self.commands[name] = ["ceph-osd", "-i", number]
        self.start(name)

    def start_gateway(self):
        self.key("client.rgw.a", "mon", "allow rw", "osd", "allow rwx", "mgr", "allow rw")
        self.commands["rgw"] = ["radosgw", "-n", "client.rgw.a", f"--rgw-frontends=beast endpoint={self.host('rgw')}:{self.port('rgw')}"]
        self.start("rgw")
        self.admin("user", "create", "--uid=lazuli", "--display-name=lazuli", f"--access-key={ACCESS_KEY}", f"--secret-key={SECRET_KEY}")
        status, text = s3.ask(self.endpoint, "PUT", f"/{self.bucket}", ACCESS_KEY, SECRET_KEY)
        if status != 200:
            raise SystemExit(f"Ceph: no bucket: {status} {text}")

    def set_secret(self, secret=SECRET_KEY):
        """Gives the user of the gateway another secret, or the right one again."""
        self.admin("key", "create", "--uid=lazuli", "--key-type=s3", f"--access-key={ACCESS_KEY}", f"--secret-key={secret}")

    def start(self, name):
        """Starts a component; waits for the monitor and the gateway, which take connections."""
        log = open(self.file(f"{name}.out"), "a")
        env = {key: value for key, value in os.environ.items() if not key.startswith("AWS_")}
        self.processes[name] = subprocess.Popen([*self.prefix(name), *self.commands[name], "-c", self.file("ceph.conf"), "-f"],
                                                cwd=self.directory, stdout=log, stderr=log, env=env)
        deadline = time.monotonic() + START_SECONDS
        while name in ("mon.a", "rgw"):
            with contextlib.suppress(OSError), socket.create_connection((self.host(name), self.port(name)), 1):
                return
            if self.processes[name].poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"Ceph: {name} did not start\n{self.said(name)}")
            time.sleep(0.1)

    def said(self, name):
        with open(self.file(f"{name}.out")) as file:
            return file.read()[-4000:]

    def kill(self, name):
        self.processes[name].kill()
        self.processes.pop(name).wait()

    def pause(self, name):
        self.processes[name].send_signal(signal.SIGSTOP)

    def resume(self, name):
        self.processes[name].send_signal(signal.SIGCONT)

    @property
    def endpoint(self):
        return f"http://{self.host('rgw')}:{self.port('rgw')}"

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
