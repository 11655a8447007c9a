"""What the package builders share: arguments, the version, facts about the binary, and archives with identical bytes every time.

Nothing here reads the clock, and no order, owner, mode or time in an archive depends on the machine. Every time is
SOURCE_DATE_EPOCH, or the time of the last commit.
"""

import argparse
import gzip
import io
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
DESCRIPTION = "A storage server that speaks the Azure Storage protocols: blobs, queues and tables."
LICENSE = "MIT OR Apache-2.0"
LICENSE_FILES = ["LICENSE", "LICENSE-APACHE", "LICENSE-MIT"]
# Azurite's commands. The binary chooses what it does by the name with which it is started.
AZURITE_NAMES = ["azurite", "azurite-blob", "azurite-queue", "azurite-table"]
SHELLS = {"bash": "usr/share/bash-completion/completions/lazuli", "zsh": "usr/share/zsh/vendor-completions/_lazuli",
          "fish": "usr/share/fish/vendor_completions.d/lazuli.fish"}
# 1980-01-01: zip files know no earlier time. For a source tree without git.
EARLIEST = 315532800


def arguments(description, *more):
    """Parses the arguments of every builder: the binary, where to write, the version."""
    os.umask(0o022)  # modes of files end up in packages
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--binary", type=pathlib.Path, help="a binary of packaging/build-binary, for x64 Linux [default: it makes one]")
    parser.add_argument("--out", default=ROOT / "target" / "packages", type=pathlib.Path,
                        help="directory for the packages [default: target/packages]")
    parser.add_argument("--version", default=version(), help="version of the packages [default: the one in Cargo.toml]")
    for flag, options in more:
        parser.add_argument(flag, **options)
    options = parser.parse_args()
    if options.binary is None:
        options.binary = ROOT / "target" / "binary" / "lazuli"
        subprocess.run([HERE / "build-binary", options.binary.parent], check=True, stdout=sys.stderr)
    if not options.binary.is_file():
        parser.error(f"{options.binary} is not a file; packaging/build-binary makes one")
    options.binary = options.binary.resolve()
    options.out = options.out.resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    return options


def workspace():
    """The fields that all crates share."""
    return tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]


def version():
    """The version of the workspace."""
    return workspace()["version"]


def repository():
    """The address of the repository; none before packaging/set-repository."""
    return workspace().get("repository")


def epoch():
    """The time that every package carries."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given:
        return max(int(given), EARLIEST)
    commit = subprocess.run(["git", "-C", str(ROOT), "log", "-1", "--format=%ct"], capture_output=True, text=True)
    return max(int(commit.stdout.strip()), EARLIEST) if commit.returncode == 0 and commit.stdout.strip() else EARLIEST


def newest_glibc(binary):
    """The newest version of glibc that a binary asks for, such as (2, 17)."""
    symbols = subprocess.run(["objdump", "-T", str(binary)], check=True, capture_output=True, text=True).stdout
    found = {tuple(map(int, number.split("."))) for number in re.findall(r"GLIBC_(\d+(?:\.\d+)+)", symbols)}
    if not found:
        raise SystemExit(f"{binary} is not linked to glibc")
    return max(found)[:2]


def needed_libraries(binary):
    """The names of the shared libraries that a binary loads."""
    headers = subprocess.run(["objdump", "-p", str(binary)], check=True, capture_output=True, text=True).stdout
    return re.findall(r"NEEDED\s+(\S+)", headers)


def commands(binary):
    """The commands that `lazuli --help` lists."""
    shown = subprocess.run([str(binary), "--help"], check=True, capture_output=True, text=True).stdout
    return set(re.findall(r"^  ([a-z][a-z-]*)(?:  |$)", shown, re.M))


def completions(binary):
    """Shell completions by their installed path; none if the binary cannot print them."""
    if "completions" not in commands(binary):
        return {}
    return {path: subprocess.run([str(binary), "completions", shell], check=True, capture_output=True).stdout
            for shell, path in SHELLS.items()}


def man_pages(binary, directory):
    """Man pages by file name; none if the binary cannot write them."""
    if "man" not in commands(binary):
        return {}
    directory.mkdir(parents=True)
    subprocess.run([str(binary), "man", str(directory)], check=True, stdout=subprocess.DEVNULL)
    return {page.name: page.read_bytes() for page in sorted(directory.iterdir())}


def compress(data):
    """gzip without a name or a time."""
    return gzip.compress(data, compresslevel=6, mtime=0)


class Tar:
    """A tar archive in memory. Parents are added by themselves; the caller decides the order of the rest."""

    def __init__(self):
        self.buffer = io.BytesIO()
        self.archive = tarfile.open(fileobj=self.buffer, mode="w", format=tarfile.USTAR_FORMAT)
        self.known = set()

    def entry(self, path, kind, mode, owner=0):
        for parent in reversed(pathlib.PurePosixPath(path).parents):
            if str(parent) not in (".", *self.known):
                self.directory(str(parent))
        self.known.add(path)
        entry = tarfile.TarInfo(path)
        entry.type, entry.mode, entry.mtime, entry.uid, entry.gid = kind, mode, epoch(), owner, owner
        return entry

    def directory(self, path, mode=0o755, owner=0):
        self.archive.addfile(self.entry(path, tarfile.DIRTYPE, mode, owner))

    def file(self, path, data, mode=0o644):
        entry = self.entry(path, tarfile.REGTYPE, mode)
        entry.size = len(data)
        self.archive.addfile(entry, io.BytesIO(data))

    def link(self, path, target):
        entry = self.entry(path, tarfile.SYMTYPE, 0o777)
        entry.linkname = target
        self.archive.addfile(entry)

    def bytes(self):
        self.archive.close()
        return self.buffer.getvalue()
