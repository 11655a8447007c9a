"""The portable binary: what it requires of a system, and that it starts on an old one. These tests run only in the long
form, since the binary takes minutes to build."""

import os
import re
import shutil

import bare
from common import CACHE, LONG_SECONDS, ROOT, Skip, build, environment, need, run
from roots import Root

# What packaging/build-binary promises.
GLIBC = (2, 17)
# The libraries of glibc 2.17.
LIBRARIES = {"ld-linux-x86-64.so.2", "libc.so.6", "libdl.so.2", "libm.so.6", "libpthread.so.0", "librt.so.1", "libutil.so.1"}
# Releases of Debian, oldest first. A mirror has some of them.
RELEASES = ["jessie", "stretch", "buster", "bullseye"]


def portable(packages):
    """The binary under test, if it is portable, as that of a release is; else one that is built now."""
    if newest_glibc(packages.binary) <= GLIBC:
        return packages.binary
    return packages.once("portable", build_portable)


def newest_glibc(binary):
    symbols = run("objdump", "-T", binary)
    return max(tuple(map(int, number.split(".")))[:2] for number in re.findall(r"GLIBC_(\d+(?:\.\d+)+)", symbols))


def build_portable(directory):
    need("cargo", "objcopy", "strip")
    run(ROOT / "packaging" / "build-binary", directory, env=environment(LAZULI_TEST_CACHE=str(CACHE)), timeout=LONG_SECONDS)
    # Beside the binary, it would be packaged too, which takes long.
    (directory / "lazuli.debug").unlink()
    return directory / "lazuli"


def archive(packages):
    """The directory of the unpacked archive with the portable binary."""
    return packages.once("portable archive", lambda out: unpack(build("archive", portable(packages), out)[0], out))


def unpack(file, directory):
    run("tar", "xzf", file, "-C", directory)
    top, = (path for path in directory.iterdir() if path.is_dir())
    return top


def test_the_portable_binary_needs_nothing_newer_than_promised(packages, directory):
    assert newest_glibc(portable(packages)) <= GLIBC
    needed = set(re.findall(r"NEEDED\s+(\S+)", run("objdump", "-p", portable(packages))))
    assert needed <= LIBRARIES, needed - LIBRARIES
    # The packages declare this: pip and dpkg reject them on an older system.
    wheel, = (path for path in build("wheels", portable(packages), directory / "wheels") if path.name.startswith("lazuli_storage"))
    assert "manylinux_2_17_" in wheel.name, wheel
    assert "libc6 (>= 2.17)" in run("dpkg-deb", "-f", build("deb", portable(packages), directory / "deb")[0], "Depends")


def test_the_portable_binary_runs_on_an_old_system(packages, directory):
    root = Root(directory / "root", tar=old_system())
    top = archive(packages)
    shutil.copytree(top, root.path / "opt" / top.name)
    bare.check(root, f"exec /opt/{top.name}/lazuli serve", f"/opt/{top.name}")


def old_system():
    """A tar file with the system that LAZULI_PACKAGES_OLD_ROOT names, or with the oldest Debian of the mirror."""
    given = os.environ.get("LAZULI_PACKAGES_OLD_ROOT")
    if given:
        return given
    for release in RELEASES:
        kept = CACHE / f"debian-{release}.tar"
        if kept.exists():
            return kept
    need("mmdebstrap")
    for release in RELEASES:
        kept, part = CACHE / f"debian-{release}.tar", CACHE / f"debian-{release}.part.tar"
        try:
            run("mmdebstrap", "--quiet", "--variant=essential", release, part)
        except AssertionError:  # the mirror has it no longer
            continue
        part.rename(kept)
        return kept
    raise Skip(f"the mirror has none of {', '.join(RELEASES)}")
