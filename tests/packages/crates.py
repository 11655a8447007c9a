"""The crates: each can be packaged for a registry, with the metadata that one asks for."""

import json

from common import ROOT, need, run

# Not for users: they check this repository.
PRIVATE = {"lazuli-simulation", "lazuli-tidy"}
# What users install or depend on.
ENTRANCES = {"lazuli", "lazuli-client", "lazuli-embedded"}


def metadata():
    need("cargo")
    return json.loads(run("cargo", "metadata", "--no-deps", "--format-version", "1", "--locked", "--quiet", cwd=ROOT))["packages"]


def test_every_crate_has_the_metadata_of_a_registry(packages, directory):
    for crate in metadata():
        if crate["name"] in PRIVATE:
            assert crate["publish"] == [], f"{crate['name']} could be published"
            continue
        for field in ("description", "license", "keywords", "categories", "rust_version"):
            assert crate[field], f"{crate['name']} has no {field}"
        assert crate["readme"] or crate["name"] not in ENTRANCES, f"{crate['name']} has no README"
        assert crate["version"] == packages.version, crate["name"]
        assert "example." not in json.dumps([crate["repository"], crate["homepage"]]), crate["name"]


def test_every_crate_can_be_packaged(packages, directory):
    names = {crate["name"] for crate in metadata()} - PRIVATE
    run("cargo", "fetch", "--locked", "--quiet", cwd=ROOT)
    run("cargo", "package", "--workspace", "--no-verify", "--allow-dirty", "--offline", "--quiet", "--target-dir", directory, cwd=ROOT)
    made = {path.name for path in (directory / "package").glob("*.crate")}
    missing = {f"{name}-{packages.version}.crate" for name in names} - made
    assert not missing, missing
