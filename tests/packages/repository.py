"""The address of the repository: one command puts it into every package."""

import json
import shutil
import tarfile
import zipfile

from common import ROOT, need, run
from crates import PRIVATE

URL = "https://forge.test/lazuli"
# The files that the builders read, and that cargo reads for its metadata.
PARTS = ["Cargo.toml", "Cargo.lock", "crates", "packaging", "README.md", "CHANGELOG.md", "COMPAT.md", "LICENSE", "LICENSE-APACHE", "LICENSE-MIT"]


def test_one_command_names_the_repository_in_every_package(packages, directory):
    need("cargo", "npm", "dpkg-deb")
    tree, out = directory / "tree", directory / "out"
    tree.mkdir()
    for part in PARTS:
        copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
        copy(ROOT / part, tree / part)
    for url in ("https://forge.test/another", URL):  # the second one replaces the first
        run(tree / "packaging" / "set-repository", url)
    shown = run("cargo", "metadata", "--no-deps", "--format-version", "1", "--locked", "--offline", "--quiet", cwd=tree)
    named = {crate["name"]: crate["repository"] for crate in json.loads(shown)["packages"] if crate["name"] not in PRIVATE}
    assert len(named) > 10 and set(named.values()) == {URL}, named

    # These packages hold whatever binary they get; a small one is fast.
    wheels, npm, deb = ([tree / line for line in run(tree / "packaging" / f"build-{form}", "--binary", "/bin/true", "--out", out).splitlines()]
                        for form in ("wheels", "npm", "deb"))
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            info, = (name for name in archive.namelist() if name.endswith("/METADATA"))
            assert f"Project-URL: Repository, {URL}\n" in archive.read(info).decode()
    for package in npm:
        with tarfile.open(package) as archive:
            assert json.load(archive.extractfile("package/package.json"))["repository"]["url"] == f"git+{URL}"
    assert run("dpkg-deb", "-f", deb[0], "Homepage").strip() == URL


def test_an_invalid_address_is_rejected(packages, directory):
    for words in ([], ["lazuli"], ['https://forge.test/"'], [URL, URL]):
        assert "set-repository URL" in run(ROOT / "packaging" / "set-repository", *words, code=1)
