"""The Debian package in a bare root: installed, upgraded with data in place, removed and purged."""

import shutil

from common import Skip, Started, need, run
from lazuli import Client
from roots import Root

DATA = "/var/lib/lazuli"
SERVE = f"cd {DATA} && exec /usr/bin/lazuli serve --blob-port 0 --queue-port 0 --table-port 0"


class System(Root):
    """A bare system on which the package is installed."""

    def install(self, package):
        shutil.copy(package, self.path / "package.deb")
        return self.run("dpkg", "--force-confold", "-i", "/package.deb")

    def serve(self):
        """The server as the unit starts it: as its user, in its directory."""
        return Server(self.path, self.environment)


class Server(Started):
    def __init__(self, root, env):
        super().__init__("chroot", "--userspec=lazuli:lazuli", root, "/bin/sh", "-c", SERVE, env=env)
        self.host, self.port = self.addresses["table"]


def packages_of(packages):
    need("dpkg-deb", "dpkg")
    return packages.build("deb")[0], packages.build("deb", version=packages.version + "+1")[0]


def insert(server):
    with Client(server) as client:
        assert client.ask("POST", "/Tables", {"TableName": "People"}).status == 204
        assert client.ask("POST", "/People", {"PartitionKey": "a", "RowKey": "1", "Name": "Ada"}).status == 204


def read(server):
    with Client(server) as client:
        found = client.ask("GET", "/People(PartitionKey='a',RowKey='1')")
        assert found.status == 200 and found.json["Name"] == "Ada", found.text


def test_data_and_settings_survive_an_upgrade_and_a_removal(packages, directory):
    first, second = packages_of(packages)
    root = System(directory / "root")
    settings, data = root.path / "etc/lazuli/lazuli.toml", root.path / "var/lib/lazuli"

    assert "systemctl enable --now lazuli" in root.install(first)
    assert root.run("stat", "-c", "%U:%G %a", DATA).strip() == "lazuli:lazuli 700"
    assert "nologin" in root.run("getent", "passwd", "lazuli")
    root.run("/usr/bin/lazuli", "config", "check")
    with root.serve() as server:
        insert(server)
        root.run_daily_work("/usr/bin", server.addresses)
        assert server.stop() == 0, server.said()
    settings.write_text(settings.read_text() + "\nquery-time = 4\n")

    root.install(second)
    assert "query-time = 4" in settings.read_text(), "an upgrade overwrote the settings"
    with root.serve() as server:
        read(server)
        assert server.stop() == 0, server.said()

    root.run("dpkg", "-r", "lazuli")
    assert not (root.path / "usr/bin/lazuli").exists() and not (root.path / "usr/lib/lazuli").exists()
    assert settings.exists() and (data / "lazuli-data").is_dir()

    root.install(first)
    with root.serve() as server:
        read(server)
        assert server.stop() == 0, server.said()

    assert f"the data in {DATA}" in root.run("dpkg", "-P", "lazuli")
    assert not settings.exists() and (data / "lazuli-data").is_dir()


def test_the_unit_is_valid_and_hardened(packages, directory):
    need("systemd-analyze")
    first, _ = packages_of(packages)
    run("dpkg-deb", "-x", first, directory)
    unit = directory / "usr/lib/systemd/system/lazuli.service"
    text = unit.read_text()
    assert "ExecStart=/usr/bin/lazuli serve\n" in text and "User=lazuli\n" in text and "DynamicUser" not in text
    assert "Type=notify\n" in text and "WatchdogSec=" in text
    if "--offline" not in run("systemd-analyze", "--help"):
        raise Skip("systemd-analyze is too old to judge a file")
    # Tenths of "exposure"; below 20 is "OK".
    run("systemd-analyze", "security", "--no-pager", "--offline=true", "--threshold=20", unit)


def test_the_package_has_what_a_debian_package_has(packages, directory):
    first, _ = packages_of(packages)
    listed = run("dpkg-deb", "-c", first)
    for path in ["./usr/bin/lazuli", "./usr/share/doc/lazuli/copyright", "./usr/share/doc/lazuli/changelog.gz",
                 "./usr/lib/lazuli/bin/azurite ->", "./usr/share/bash-completion/completions/lazuli",
                 "./usr/share/zsh/vendor-completions/_lazuli", "./usr/share/fish/vendor_completions.d/lazuli.fish",
                 "./usr/share/man/man1/lazuli.1.gz", "./usr/share/man/man1/lazuli-serve.1.gz"]:
        assert path in listed, f"{path} is not in\n{listed}"
    assert all(" root/root " in line for line in listed.splitlines()), listed
    assert "/etc/lazuli/lazuli.toml" in run("dpkg-deb", "-I", first, "conffiles")
