"""The npm packages: installed from files without a registry, started through npx and through their commands."""

import json
import os
import signal
import tarfile

from common import CACHE, MEMORY, ROOT, Skip, Started, need, run

INSTALL = ["npm", "install", "--offline", "--no-audit", "--no-fund", "--silent"]


def project(directory, *packages):
    """A project with these packages; returns the directory of its commands."""
    need("npm", "npx", "node")
    (directory / "package.json").write_text('{"private": true}\n')
    run(*INSTALL, *packages, cwd=directory)
    return directory / "node_modules" / ".bin"


def both(packages):
    need("npm")
    return packages.build("npm")


def installed(packages):
    """The commands of both packages, installed together in one project for all tests."""
    return packages.once("npm project", lambda directory: project(directory, *both(packages)))


def test_npx_runs_the_binary(packages, directory):
    assert packages.version in run("npx", "--offline", "lazuli", "--version", cwd=installed(packages).parent.parent)


def test_the_package_runs_the_first_commands_of_the_readme(packages, directory):
    need("curl", "openssl")
    run(ROOT / "tests" / "readme.py", "--binary", installed(packages) / "lazuli", "curl", "daily work")


def test_the_package_runs_the_javascript_examples_of_the_readme(packages, directory):
    modules = CACHE / "sdk-js" / "node_modules"
    if not modules.is_dir():
        raise Skip(f"{modules} does not exist; LAZULI_INSTALL_ONLY=1 tests/sdk/run.sh js makes it")
    names = [f"javascript {client}" for client in ("TableClient", "QueueServiceClient", "BlobServiceClient")]
    run(ROOT / "tests" / "readme.py", "--binary", installed(packages) / "lazuli", "--modules", modules, *names)


def test_no_package_has_an_install_script(packages, directory):
    for package in both(packages):
        with tarfile.open(package) as archive:
            manifest = json.load(archive.extractfile("package/package.json"))
            assert "scripts" not in manifest, manifest
            assert archive.getmember("package/LICENSE-MIT")


def test_the_launcher_depends_on_the_platform_package_of_its_own_version(packages, directory):
    with tarfile.open(both(packages)[0]) as archive:
        manifest = json.load(archive.extractfile("package/package.json"))
    assert manifest["optionalDependencies"] == {"lazuli-linux-x64": packages.version}


def test_lazuli_serves_until_a_signal_reaches_the_launcher(packages, directory):
    commands = installed(packages)
    for how in (signal.SIGTERM, signal.SIGINT):
        with Started(commands / "lazuli", "serve", *MEMORY, cwd=directory, start_new_session=True) as server:
            server.check_services()
            if how == signal.SIGINT:  # a terminal sends it to the whole group
                os.killpg(server.process.pid, how)
                assert server.process.wait(60) == 0, server.said()
            else:
                assert server.stop(how) == 0, server.said()


def test_azurite_accepts_the_command_line_of_azurite(packages, directory):
    commands = installed(packages)
    words = ["--skipApiVersionCheck", "--loose", "--disableProductStyleUrl", "--blobHost", "127.0.0.1"]
    with Started(commands / "azurite", *MEMORY, *words, cwd=directory) as server:
        server.check_services()
        assert server.stop() == 0, server.said()


def test_exit_codes_pass_through_the_launcher(packages, directory):
    commands = installed(packages)
    run(commands / "lazuli", "serve", "--no-such-flag", cwd=directory, code=2)
    run(commands / "lazuli", "health", "--url", "http://127.0.0.1:1", cwd=directory, code=1)


def test_a_platform_without_a_package_gets_a_clear_error(packages, directory):
    commands = project(directory, "--omit=optional", both(packages)[0])
    assert "no binary for" in run(commands / "lazuli", "--version", cwd=directory, code=1)
