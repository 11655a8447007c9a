"""The faults, and their repair. Each fault is a function of a `Setting` that returns a function which repairs it."""

import dataclasses
import signal

# For clients, and for each other.
ETCD_PORTS = (2379, 2380)


@dataclasses.dataclass
class Setting:
    """The parts of the cluster that a fault may break."""

    cluster: object
    leader: object
    servers: list
    # The machines of the front ends.
    fronts: list
    store: object
    proxy: object


def kill(at):
    at.leader.kill()
    return at.leader.start_patroni


def cut(at):
    return at.leader.cut(at.cluster.others(at.leader))


def stop(at):
    at.leader.signal("patroni", signal.SIGSTOP)
    return lambda: at.leader.signal("patroni", signal.SIGCONT)


def freeze(at):
    for word in ("patroni", "postgres"):
        at.leader.signal(word, signal.SIGSTOP)

    def heal():
        for word in ("postgres", "patroni"):
            at.leader.signal(word, signal.SIGCONT)
    return heal


def standby(at):
    one = at.cluster.others(at.leader)[0]
    one.kill()
    return one.start_patroni


def standby_cut(at):
    """The standby that confirms commits: commits wait until the leader has chosen the other standby."""
    roles = at.cluster.roles()
    others = at.cluster.others(at.leader)
    confirming = [node for node in others if roles.get(node.name, {}).get("sync_standby")]
    return (confirming or others)[0].cut()


def etcd(at):
    """The etcd of the leader's machine. The two others still agree, and agents switch to them."""
    at.leader.kill_etcd()
    return at.leader.start_etcd


def etcd_cut(at):
    """Agents on the same machine still reach it, but it no longer agrees with the others."""
    return at.leader.cut_ports(ETCD_PORTS)


def front(at):
    # The last one: the others serve its clients.
    at.servers[-1].kill()
    return lambda: None


def front_cut(at):
    """From the database, while clients still reach it."""
    return at.fronts[-1].cut(at.cluster.nodes)


def killed(role):
    def strike(at):
        name = at.store.roles[role]
        at.store.kill(name)
        return lambda: at.store.start(name)
    return strike


def cut_off(role):
    return lambda at: at.store.machines[at.store.roles[role]].cut()


def proxied(**fault):
    """A fault that the proxy injects, which front ends see as one of the gateway."""
    def strike(at):
        at.proxy.faults.set(**fault)
        return at.proxy.faults.clear
    return strike


def revoked(at):
    at.store.revoke()
    return at.store.allow


def read_only(at):
    at.store.allow_reads()
    return at.store.allow


# Another server leads afterwards.
LEADER = {"kill": kill, "cut": cut, "stop": stop, "freeze": freeze}
# The leader keeps its role.
FRONT = {"standby": standby, "cut-standby": standby_cut, "kill-etcd": etcd, "cut-etcd": etcd_cut, "front": front, "front-cut": front_cut}
# Of the object store's own components.
STORE = {f"{word}-{role}": strike(role) for role in ("volume", "filer", "gateway", "master", "manager")
         for word, strike in (("kill", killed), ("cut", cut_off))} | {"read-only": read_only, "revoked": revoked}
PROXY = {"slow": proxied(delay=1.0), "silent": proxied(is_silent=True), "500": proxied(status=500), "503": proxied(status=503),
         "cut-request": proxied(cut="request", methods=["PUT"]), "cut-response": proxied(cut="response", methods=["GET"])}
FAULTS = LEADER | FRONT | STORE | PROXY
# Service resumes in bounded time, whether or not the fault is over.
RESUMED = (*LEADER, "standby", "cut-standby", "kill-etcd", "cut-etcd")
# After these the former leader still runs, and may not know that it was deposed.
DEPOSED = ("cut", "stop")
# While these last, the former leader accepts connections and never commits. SeaweedFS's filer waits for it, unlike front ends.
HANGS = ("stop", "freeze")
# While these last, no upload can succeed.
NO_UPLOADS = ("kill-filer", "cut-filer", "kill-gateway", "cut-gateway", "read-only", "revoked", "silent", "500", "503", "cut-request")


def applies(name, store):
    """Object stores differ in their components."""
    return name not in STORE or "-" not in name or name == "read-only" or name.split("-")[1] in store.roles
