"""The container images: the layout is checked byte by byte, then unpacked and started as a container runtime would."""

import gzip
import hashlib
import json
import os
import pathlib
import sys
import tarfile

from common import Skip, need, need_root, run

USER = 10002
HERE = pathlib.Path(__file__).resolve().parent
ALLOWED = ("usr/bin/", "usr/share/doc/lazuli/", "etc/", "lib", "usr/lib", "tmp", "data")


class Image:
    """One image of a layout whose digests and sizes have been checked."""

    def __init__(self, layout, tag):
        index = json.loads((layout / "index.json").read_bytes())
        found = [entry for entry in index["manifests"] if entry["annotations"]["org.opencontainers.image.ref.name"] == tag]
        assert len(found) == 1, index
        manifest = json.loads(blob(layout, found[0]))
        self.document = json.loads(blob(layout, manifest["config"]))
        self.config = self.document["config"]
        self.layers = [gzip.decompress(blob(layout, layer)) for layer in manifest["layers"]]
        self.environment = dict(setting.split("=", 1) for setting in self.config["Env"])

    def unpack(self, root):
        root.mkdir()
        for number, layer in enumerate(self.layers):
            file = root.with_name(f"layer-{number}.tar")
            file.write_bytes(layer)
            run("tar", "xpf", file, "-C", root, "--numeric-owner")
        return root


def blob(layout, described):
    data = (layout / "blobs" / described["digest"].replace(":", "/")).read_bytes()
    assert len(data) == described["size"] and "sha256:" + hashlib.sha256(data).hexdigest() == described["digest"], described
    return data


def images(packages, directory):
    """The image for development and the one for production."""
    need("ldd")
    if not os.path.exists("/etc/ssl/certs/ca-certificates.crt"):
        raise Skip("this machine has no certificates of authorities (package ca-certificates)")
    layout = directory / "layout"
    with tarfile.open(packages.build("image")[0]) as archive:
        archive.extractall(layout, filter="data")
    return Image(layout, packages.version), Image(layout, packages.version + "-production")


def test_the_layout_is_consistent(packages, directory):
    for image in images(packages, directory):
        assert [f"sha256:{hashlib.sha256(layer).hexdigest()}" for layer in image.layers] == image.document["rootfs"]["diff_ids"]
        assert image.config["User"] == f"{USER}:{USER}" and image.config["WorkingDir"] == "/data"
        assert {"10000/tcp", "10001/tcp", "10002/tcp"} <= set(image.config["ExposedPorts"])
        assert image.config["Healthcheck"]["Test"][:2] == ["CMD", "/usr/bin/lazuli"]
    saved = json.loads((directory / "layout" / "manifest.json").read_bytes())
    assert [tag for entry in saved for tag in entry["RepoTags"]] == [f"lazuli:{packages.version}", f"lazuli:{packages.version}-production"]
    for path in [path for entry in saved for path in [entry["Config"], *entry["Layers"]]]:
        assert (directory / "layout" / path).is_file(), path


def test_the_image_contains_the_binary_and_what_it_needs_and_nothing_else(packages, directory):
    development, _ = images(packages, directory)
    names, programs = [], []
    for number, layer in enumerate(development.layers):
        (directory / f"{number}.tar").write_bytes(layer)
        with tarfile.open(directory / f"{number}.tar") as archive:
            for entry in archive:
                names.append(entry.name)
                if entry.name.startswith("usr/bin/"):
                    programs.append((entry.name.split("/")[-1], entry.linkname))
                if entry.name == "data":
                    assert (entry.uid, entry.mode) == (USER, 0o700)
    strange = [name for name in names if not (name + "/").startswith(ALLOWED) and name not in ("usr", "usr/share", "usr/share/doc")]
    assert not strange, strange
    assert ("lazuli", "") in programs and {("azurite", "lazuli"), ("azurite-table", "lazuli")} <= set(programs), programs
    assert len(programs) == 5, programs


def test_only_the_image_for_development_has_the_public_account(packages, directory):
    development, production = images(packages, directory)
    assert development.environment["LAZULI_DEV_ACCOUNT"] == "true"
    assert "LAZULI_DEV_ACCOUNT" not in production.environment


def test_a_container_serves_all_ports_and_its_health_check_passes(packages, directory):
    for image, name in zip(images(packages, directory), ("development", "production")):
        start(image, directory / name, name, image.config["Cmd"])


def test_a_container_accepts_the_command_of_azurite(packages, directory):
    image, _ = images(packages, directory)
    start(image, directory / "azurite", "development", ["azurite", "-l", "/data", "--blobHost", "0.0.0.0", "--queueHost", "0.0.0.0",
                                                        "--tableHost", "0.0.0.0", "--skipApiVersionCheck", "--loose"])


def start(image, root, accounts, command):
    """Starts a command in the unpacked image, in a network of its own, and checks it from there."""
    need_root()
    need("unshare", "chroot")
    if os.system("unshare --net true 2>/dev/null") != 0:
        raise Skip("no network namespace can be created here")
    image.unpack(root)
    health = image.config["Healthcheck"]["Test"][1:]
    task = {"root": str(root), "user": image.config["User"], "directory": image.config["WorkingDir"], "command": command,
            "environment": image.environment, "health": health, "accounts": accounts}
    shown = run("unshare", "--net", sys.executable, HERE / "container.py", json.dumps(task))
    assert "all ports serve" in shown, shown
