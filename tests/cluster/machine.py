"""A machine: a network namespace on a bridge that all machines share. Needs root."""

import contextlib
import os
import signal
import subprocess
import time

NET = "10.231.77"
BRIDGE = "lzbr0"
# Where the test itself is, with its clients and the proxy that misbehaves.
HERE = f"{NET}.1"
TIMEOUT = 120


def ip(*args, check=True):
    return subprocess.run(["ip", *args], check=check, capture_output=True, text=True).stdout


def wait_for(what, seen, seconds=TIMEOUT):
    """Repeats a query until its result is true."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = seen()
        if found:
            return found
        time.sleep(0.2)
    raise SystemExit(f"after {seconds} s still not: {what}")


def make_bridge():
    ip("link", "add", BRIDGE, "type", "bridge")
    ip("addr", "add", f"{HERE}/24", "dev", BRIDGE)
    ip("link", "set", BRIDGE, "up")


def remove_all():
    """Removes the bridge and every machine, including those of a killed run, with all their processes."""
    for line in ip("netns", "list", check=False).splitlines():
        name = line.split()[0]
        if name.startswith("lz"):
            for pid in ip("netns", "pids", name, check=False).split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGCONT)
                    os.kill(int(pid), signal.SIGKILL)
            ip("netns", "del", name, check=False)
            ip("link", "del", f"{name}a", check=False)
    ip("link", "del", BRIDGE, check=False)


class Machine:
    """A namespace with an address. Its number is the last part of the address."""

    def __init__(self, name, number):
        self.name, self.address = f"lz{name}", f"{NET}.{number}"
        # Commands with this prefix run on the machine.
        self.prefix = ["ip", "netns", "exec", self.name]

    def make(self):
        ip("netns", "add", self.name)
        ip("link", "add", f"{self.name}a", "type", "veth", "peer", "name", f"{self.name}b")
        ip("link", "set", f"{self.name}b", "netns", self.name)
        ip("link", "set", f"{self.name}a", "master", BRIDGE, "up")
        for args in (["addr", "add", f"{self.address}/24", "dev", f"{self.name}b"], ["link", "set", f"{self.name}b", "up"],
                     ["link", "set", "lo", "up"]):
            ip("netns", "exec", self.name, "ip", *args)
        return self

    def pids(self, word):
        """The processes of this machine whose command contains a word."""
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

    def cut(self, others=None):
        """Cuts it off from these machines, or from all; returns a function that reconnects it."""
        ends = [other.address for other in others] if others else [f"{NET}.0/24"]
        return self.drop([(chain, [way, end]) for end in ends for chain, way in (("INPUT", "-s"), ("OUTPUT", "-d"))])

    def cut_ports(self, ports):
        """Cuts off these ports, in both directions; returns a function that reconnects them."""
        ways = [(chain, side) for chain in ("INPUT", "OUTPUT") for side in ("--dport", "--sport")]
        return self.drop([(chain, ["-p", "tcp", side, str(port)]) for port in ports for chain, side in ways])

    def drop(self, rules):
        """Drops packets, except those to the machine itself, which are not traffic between machines."""
        def change(action):
            for chain, match in rules:
                local = ["!", "-i", "lo"] if chain == "INPUT" else ["!", "-o", "lo"]
                ip("netns", "exec", self.name, "iptables", action, chain, *local, *match, "-j", "DROP")

        change("-A")
        return lambda: change("-D")
