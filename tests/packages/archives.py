"""The bare binary, and the property of every format: the same bytes each time."""

import hashlib
import os
import shutil

from common import ROOT, Skip, build, environment, need, run

FORMATS = {"archive": None, "npm": "npm", "wheels": None, "deb": "dpkg-deb", "image": "ldd"}
# The formats with files that the binary prints.
PRINTED = {"archive", "deb"}


def sections(binary):
    return run("objdump", "-h", "-w", binary)


def test_the_archive_contains_a_stripped_binary_that_runs(packages, directory):
    run("tar", "xzf", packages.build("archive")[0], "-C", directory)
    top = directory / f"lazuli-{packages.version}-linux-x64"
    assert packages.version in run(top / "lazuli", "--version")
    assert "no symbols" in run("objdump", "-t", top / "lazuli")
    assert ".debug_line" not in sections(top / "lazuli")
    assert (top / "LICENSE-MIT").is_file() and (top / "lazuli.service").is_file()
    # The formula for Homebrew installs these.
    for path in ["completions/lazuli", "completions/_lazuli", "completions/lazuli.fish", "man/lazuli.1", "man/lazuli-serve.1"]:
        assert (top / path).is_file(), path


def test_debug_information_is_in_a_file_that_the_binary_names(packages, directory):
    assert ".debug_line" in sections(packages.debug)
    run("objcopy", "-O", "binary", "--only-section=.gnu_debuglink", "--set-section-flags", ".gnu_debuglink=alloc", packages.binary,
        directory / "link")
    assert (directory / "link").read_bytes().startswith(b"lazuli.debug\0")


def test_a_binary_that_is_too_large_is_rejected(packages, directory):
    assert packages.binary.stat().st_size < 20_000_000
    (directory / "padding").write_bytes(bytes(20_000_000))
    run("objcopy", "--add-section", f".padding={directory / 'padding'}", "/bin/true", directory / "large")
    shown = run(ROOT / "packaging" / "build-binary", directory / "out", "--from", directory / "large", code=1)
    assert "must have less than 20000000" in shown, shown
    assert not any((directory / "out").iterdir())


def test_packages_have_the_same_bytes_when_they_are_built_twice(packages, directory):
    # The binary prints the completions and man pages of the archive and the Debian package. For the others any binary works,
    # and a small one is fast.
    small = directory / "small"
    shutil.copy("/bin/true", small)
    missing = []
    for form, program in FORMATS.items():
        if program and not shutil.which(program):
            missing.append(form)
            continue
        binary = packages.binary if form in PRINTED else small
        assert hashes(form, binary, directory / "one", 0o022, "UTC") == hashes(form, binary, directory / "two", 0o077, "Asia/Tokyo"), \
            form
    if missing:
        raise Skip(f"not checked, because their tools are missing: {', '.join(missing)}")


def hashes(form, binary, out, umask, zone):
    """The hash of each package, built under an umask and in a time zone."""
    before = os.umask(umask)
    try:
        made = build(form, binary, out / form, env=environment(TZ=zone, LC_ALL="C" if umask else "C.UTF-8"))
    finally:
        os.umask(before)
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in made}



def test_a_release_builds_the_same_packages_from_a_tag_twice(packages, directory):
    need("git", "npm", "dpkg-deb", "ldd")
    if not (ROOT / ".git").exists():
        raise Skip("this is not a clone")
    clone, tag, git = directory / "clone", f"v{packages.version}", ["git", "-c", "user.name=test", "-c", "user.email=test@localhost"]
    run(*git, "clone", "--quiet", ROOT, clone)
    run(*git, "-C", clone, "tag", "--force", tag)
    # With the binary under test: to compile the portable one twice is a step of packaging/RELEASE.md.
    shown = run(clone / "packaging" / "release", tag, directory / "out", "--from", packages.binary, "--twice")
    assert "both builds have the same bytes" in shown, shown
    listed = {line.split()[1] for line in (directory / "out" / "SHA256SUMS").read_text().splitlines()}
    assert len(listed) == 8 and listed == {path.name for path in (directory / "out").iterdir()} - {"SHA256SUMS"}, listed
    run(*git, "-C", clone, "tag", "v99")
    assert "but Cargo.toml has version" in run(clone / "packaging" / "release", "v99", directory / "other", code=1)
