"""A bare Debian system in a directory, to install packages into with chroot."""

import os
import pathlib
import re
import stat
import subprocess

import readme
from common import Skip, environment, need, need_root, run
from lazuli import ACCOUNT, KEY

# Documentation and translations are most of the files, and no program reads them.
LEFT_OUT = ("/usr/share/doc/", "/usr/share/man/", "/usr/share/locale/", "/usr/share/info/", "/usr/share/i18n/", "/usr/share/zoneinfo/")
# `useradd` and what it needs; all else comes with the essential packages.
WANTED = ["passwd"]


class Root:
    """A bare system. Commands run inside it."""

    def __init__(self, directory, *more, tar=None):
        self.path = make_root(directory, *more, tar=tar)
        self.environment = environment(PATH="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL="C", HOME="/root",
                                       DEBIAN_FRONTEND="noninteractive")

    def run(self, *command, with_proc=False, **options):
        return run(*self.inside(*command, with_proc=with_proc), env=self.environment, **options)

    def run_daily_work(self, directory, addresses):
        """Runs what the README shows for daily work with the command in a directory, on the server at these addresses."""
        names = {f"{service.title()}Endpoint": f"http://{host}:{port}/{ACCOUNT}" for service, (host, port) in addresses.items()}
        words = {"DefaultEndpointsProtocol": "http", "AccountName": ACCOUNT, "AccountKey": KEY, **names}
        connection = "".join(f"{name}={value};" for name, value in words.items())
        shown = self.run("/bin/bash", "-ec", f"export PATH={directory}:$PATH AZURE_STORAGE_CONNECTION_STRING='{connection}'\n"
                         f"cd $(mktemp -d)\n{readme.block('sh', 'lazuli table create')}")
        assert '"Name":"Bubo"' in shown and "water the plants" in shown, shown

    def inside(self, *command, with_proc=False):
        """A command line that runs a command inside; with /proc, it does so in a mount namespace of its own."""
        if not with_proc:
            return ["chroot", self.path, *command]
        if os.system("unshare --mount true 2>/dev/null") != 0:
            raise Skip("no mount namespace can be created here")
        (self.path / "proc").mkdir(exist_ok=True)
        return ["unshare", "--mount", "/bin/sh", "-c", 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"', self.path, *command]


def make_root(directory, *more, tar=None):
    """Fills a directory from a tar file, by default the one that LAZULI_PACKAGES_ROOT names, or from this machine's essential packages
    and more."""
    need_root()
    need("chroot", "tar", "dpkg")
    directory.mkdir()
    given = tar or os.environ.get("LAZULI_PACKAGES_ROOT")
    if given and not more:
        run("tar", "xpf", os.path.abspath(given), "-C", directory, "--exclude=./dev/*")
    else:
        copy_essential(directory, more)
    return directory


def copy_essential(root, more):
    """Copies the files of the essential packages and their entries in the database of dpkg, but no settings of this machine."""
    entries = installed()
    if not entries:
        raise Skip("this machine has no database of Debian packages")
    chosen = closure(entries, [name for name, entry in entries.items() if "\nEssential: yes" in entry] + WANTED + list(more))
    merge_usr(root)
    names = "\0".join(path.lstrip("/") for path in files(chosen))
    copied = subprocess.run(
        f"tar -C / --null --no-recursion -T - -cf - | tar -xpf - -C '{root}'", shell=True, input=names.encode(), capture_output=True)
    assert copied.returncode == 0, copied.stderr.decode()
    for path, mode in [("tmp", 0o1777), ("etc", 0o755), ("var/lib/dpkg/info", 0o755), ("var/lib/dpkg/updates", 0o755),
                       ("var/log", 0o755), ("dev", 0o755)]:
        (root / path).mkdir(parents=True, exist_ok=True)
        (root / path).chmod(mode)
    run("mknod", "-m", "666", root / "dev" / "null", "c", "1", "3")
    for name in ("passwd", "group"):
        (root / "etc" / name).write_bytes((root / "usr/share/base-passwd" / f"{name}.master").read_bytes())
    (root / "var/lib/dpkg/status").write_text("\n\n".join(entries[name] for name in chosen) + "\n\n")
    for name in chosen:
        (root / f"var/lib/dpkg/info/{name}.list").write_text("/.\n")
    run("chroot", root, "ldconfig")


def installed():
    """The entries of the installed packages, by name."""
    try:
        status = pathlib.Path("/var/lib/dpkg/status").read_text()
    except FileNotFoundError:
        return {}
    found = [entry for entry in status.split("\n\n") if "\nStatus: install ok installed" in entry]
    return {re.search(r"^Package: (.*)$", entry, re.M)[1]: entry for entry in found}


def closure(entries, names):
    """These packages and everything that they depend on, in order of name."""
    provided = {word.split()[0]: name for name, entry in entries.items() for word in relations(entry, "Provides")}
    chosen, open_names = set(), list(names)
    while open_names:
        name = open_names.pop()
        if name in chosen or name not in entries:
            continue
        chosen.add(name)
        for relation in relations(entries[name], "Pre-Depends") + relations(entries[name], "Depends"):
            choices = [re.match(r"[^\s:(]+", choice.strip())[0] for choice in relation.split("|")]
            choices = [choice if choice in entries else provided.get(choice) for choice in choices]
            open_names += [choice for choice in choices if choice][:1]
    return sorted(chosen)


def relations(entry, field):
    found = re.search(rf"^{field}: (.*)$", entry, re.M)
    return [part.strip() for part in found[1].split(",")] if found else []


def merge_usr(root):
    """The links of a merged /usr, if this machine has them; tar writes through them."""
    for name in ("bin", "sbin", "lib", "lib32", "lib64"):
        if os.path.islink(f"/{name}"):
            (root / "usr" / name).mkdir(parents=True, exist_ok=True)
            (root / name).symlink_to(f"usr/{name}")


def files(packages):
    """Paths without links among their parents, of everything that these packages installed."""
    listed = run("dpkg", "-L", *packages).splitlines()
    found = set()
    for path in listed:
        if not path.startswith("/") or path == "/." or path.startswith(LEFT_OUT):
            continue
        path = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
        try:
            mode = os.lstat(path).st_mode
        except FileNotFoundError:  # left out when this machine was installed
            continue
        merged = stat.S_ISLNK(mode) and os.path.dirname(path) == "/"
        if not merged:
            found.add(path)
    return sorted(found)
