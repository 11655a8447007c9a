"""The object stores of the cluster, each component on a machine of its own."""

from ceph import OSDS, Ceph
from machine import Machine
from seaweedfs import SeaweedFs


class SeaweedStore(SeaweedFs):
    """Two copies on three volume servers, so that writes continue when one is lost. Its names are in the cluster's database."""

    volumes = ("volume1", "volume2", "volume3")
    # The components by their roles.
    roles = {"volume": "volume1", "filer": "filer", "gateway": "s3", "master": "master"}

    def __init__(self, cluster):
        cluster.sql(cluster.leader(), "CREATE DATABASE seaweedfs OWNER lazuli")
        self.machines = {name: Machine(name, 40 + number).make() for number, name in enumerate(("master", *self.volumes, "filer", "s3"))}
        hosts = ",".join(node.address for node in cluster.nodes)
        # The driver of the filer knows several hosts; the setting has no field of its own.
        super().__init__({"hostname": f"{hosts} target_session_attrs=read-write", "port": 5432, "database": "seaweedfs"})

    def host(self, name):
        return self.machines[name].address

    def prefix(self, name):
        return self.machines["master" if name == "shell" else name].prefix

    def allow(self, **other):
        """Restarts the gateway with other credentials; without any, with the right ones."""
        self.write_keys(**other)
        self.kill("s3")
        self.start("s3")

    def revoke(self):
        self.allow(secret="another")

    def allow_reads(self):
        self.allow(actions=("Read", "List"))


class CephStore(Ceph):
    """Three copies on three OSDs, of which two must confirm."""

    roles = {"volume": "osd.1", "gateway": "rgw", "master": "mon.a", "manager": "mgr.x"}

    def __init__(self, _):
        self.machines = {name: Machine(name.replace(".", ""), 50 + number).make() for number, name in enumerate(("mon.a", "mgr.x", *OSDS, "rgw"))}
        super().__init__()

    def host(self, name):
        return self.machines[name].address

    def prefix(self, name):
        return self.machines[name].prefix

    def allow(self):
        self.set_secret()
        self.admin("user", "modify", "--uid=lazuli", "--op-mask=read,write,delete")

    def revoke(self):
        self.set_secret("another")

    def allow_reads(self):
        self.admin("user", "modify", "--uid=lazuli", "--op-mask=read")


STORES = {"seaweedfs": SeaweedStore, "ceph": CephStore}
