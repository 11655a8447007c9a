"""The crates: each can be packaged for a registry, and users can build on the packages alone.

The long form compiles them on a bare system: `cargo install` of the program, and a small program that tests itself with
lazuli-embedded. Cargo finds the packages where it looks for those of the registry, as it will after a release.
"""

import hashlib
import json
import pathlib
import shutil
import tarfile

import bare
from common import LONG_SECONDS, ROOT, need, run
from roots import Root

# Not for users: they check this repository.
PRIVATE = {"lazuli-simulation", "lazuli-tidy"}
# The crates that users install or depend on.
ENTRANCES = {"lazuli", "lazuli-client", "lazuli-embedded"}
# Debian's names: cargo links with a C compiler, and some dependencies contain C.
COMPILER = ["gcc", "libc6-dev"]
PROGRAM = """
[package]
name = "phone-book"
version = "1.0.0"
edition = "2024"

[dependencies]
lazuli-client = "{version}"

[dev-dependencies]
lazuli-embedded = {{ version = "{version}", features = ["store"] }}
tokio = {{ version = "1", features = ["macros", "rt-multi-thread", "time"] }}

[workspace]
"""
LIBRARY = """
use lazuli_client::{Entity, Result, Table};

#[derive(Entity)]
pub struct Person {
    #[table(partition_key)]
    pub city: String,
    #[table(row_key)]
    pub name: String,
    pub age: i32,
}

pub async fn older_than(people: &Table, age: i32) -> Result<Vec<String>> {
    let found = people.query::<Person>().filter(Person::age().gt(age)).collect().await?;
    Ok(found.into_iter().map(|person| person.name.clone()).collect())
}
"""
TESTS = """
use lazuli_client::{Result, Table, TableService};
use phone_book::{Person, older_than};

async fn filled(service: &TableService) -> Result<Table> {
    let people = service.create_table("People").await?;
    for (name, age) in [("Ada", 36), ("Tom", 12)] {
        people.upsert(&Person { city: "Delft".into(), name: name.into(), age }).await?;
    }
    Ok(people)
}

#[tokio::test]
async fn people_are_found_in_memory() -> Result<()> {
    let people = filled(&lazuli_embedded::memory()).await?;
    assert_eq!(older_than(&people, 30).await?, ["Ada"]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn people_are_found_on_disk() -> Result<()> {
    let directory = std::env::temp_dir().join("phone-book");
    filled(&lazuli_embedded::open(&directory)?).await?;
    let people = lazuli_embedded::open(&directory)?.table("People")?;
    assert_eq!(older_than(&people, 11).await?, ["Ada", "Tom"]);
    Ok(())
}
"""


def metadata():
    need("cargo")
    return json.loads(run("cargo", "metadata", "--no-deps", "--format-version", "1", "--locked", "--quiet", cwd=ROOT))["packages"]


def crates(packages):
    """The crates that users get, each packaged as a file."""
    return packages.once("crates", package)


def package(directory):
    need("cargo")
    run("cargo", "fetch", "--locked", "--quiet", cwd=ROOT)
    run("cargo", "package", "--workspace", "--no-verify", "--allow-dirty", "--offline", "--quiet", "--target-dir", directory, cwd=ROOT)
    return [file for file in (directory / "package").glob("*.crate") if file.name.rsplit("-", 1)[0] not in PRIVATE]


def unpack(files, directory):
    """Unpacks crates into folders as `cargo vendor` makes them."""
    for file in files:
        with tarfile.open(file) as archive:
            archive.extractall(directory, filter="data")
        checksum = {"files": {}, "package": hashlib.sha256(file.read_bytes()).hexdigest()}
        (directory / file.stem / ".cargo-checksum.json").write_text(json.dumps(checksum))


def write_program(packages, directory):
    """A program of a user, which depends on the crates by their versions."""
    for path, text in [("Cargo.toml", PROGRAM.format(version=packages.version)), ("src/lib.rs", LIBRARY), ("tests/people.rs", TESTS)]:
        (directory / path).parent.mkdir(parents=True, exist_ok=True)
        (directory / path).write_text(text)


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
    missing = {f"{name}-{packages.version}.crate" for name in names} - {file.name for file in crates(packages)}
    assert not missing, missing


def test_a_program_finds_the_packages_and_everything_that_they_need(packages, directory):
    unpack(crates(packages), directory / "crates")
    write_program(packages, directory / "program")
    folders = sorted((directory / "crates").iterdir())
    patches = "".join(f'{folder.name.rsplit("-", 1)[0]} = {{ path = "{folder}" }}\n' for folder in folders)
    with open(directory / "program" / "Cargo.toml", "a") as manifest:
        manifest.write(f"\n[patch.crates-io]\n{patches}")
    # The versions of everything else are those of this tree, which are here.
    shutil.copy(ROOT / "Cargo.lock", directory / "program")
    command = ["cargo", "metadata", "--format-version", "1", "--offline", "--quiet"]
    found = json.loads(run(*command, cwd=directory / "program"))["packages"]
    used = {crate["name"] for crate in found if crate["name"].startswith("lazuli")}
    assert {"lazuli-client-derive", "lazuli-server", "lazuli-store"} <= used and "lazuli" not in used, used
    assert all(crate["manifest_path"].startswith(str(directory)) for crate in found if crate["name"] in used)


class RustRoot(Root):
    """A bare system with a C compiler, Rust, and a registry that has the crates."""

    def __init__(self, packages, directory):
        for name in COMPILER:
            bare.need_package(name)
        super().__init__(directory / "root", *COMPILER)
        toolchain = pathlib.Path(run("rustc", "--print", "sysroot").strip())
        for part in ("bin/cargo", "bin/rustc", "bin/rustdoc", "lib"):
            target = self.path / "usr" / "local" / part
            target.parent.mkdir(parents=True, exist_ok=True)
            run("cp", "-a", "-T", toolchain / part, target)
        # On a Debian system, the installation of gcc makes this link.
        (self.path / "usr" / "local" / "bin" / "cc").symlink_to("/usr/bin/gcc")
        vendored = self.path / "vendor"
        run("cargo", "vendor", "--quiet", "--locked", "--offline", "--versioned-dirs", vendored, cwd=ROOT)
        unpack(crates(packages), vendored)
        (self.path / "root" / ".cargo").mkdir(parents=True)
        (self.path / "root" / ".cargo" / "config.toml").write_text(
            '[source.crates-io]\nreplace-with = "vendored"\n[source.vendored]\ndirectory = "/vendor"\n')

    def cargo(self, command):
        """Runs cargo inside. Its output is kept for the next command, and compiled without optimisation."""
        settings = "CARGO_TARGET_DIR=/target CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=0"
        return self.run("/bin/sh", "-c", f"export {settings}; {command}", with_proc=True, timeout=LONG_SECONDS)


def rust_root(packages):
    need("cargo", "rustc")
    return packages.once("rust root", lambda directory: RustRoot(packages, directory))


def test_cargo_installs_the_program_on_a_bare_system(packages, directory):
    root = rust_root(packages)
    root.cargo(f"cargo install lazuli --version {packages.version} --locked --offline --debug --quiet --root /opt")
    bare.check(root, "exec /opt/bin/lazuli serve", "/opt/bin")


def test_a_program_tests_itself_with_the_embedded_server_on_a_bare_system(packages, directory):
    root = rust_root(packages)
    write_program(packages, root.path / "program")
    shown = root.cargo("cd /program && cargo test --offline --quiet")
    assert "2 passed" in shown, shown
