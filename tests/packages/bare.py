"""The packages that need no installer of the system, on a bare one: the archive, npm with only Node, the wheel with only Python."""

import ensurepip
import os
import pathlib
import signal
import shutil

import wheels
from common import CACHE, MEMORY, HANG_SECONDS, Skip, Started, run
from roots import Root, installed

# Debian's names. A machine may have Node from elsewhere, with npm in it. pipx makes environments with pip in them.
NODE, PYTHON = ["nodejs", "npm"], ["python3", "python3-venv"]
# The files of pytest. All of it is Python, so files that are installed for another Python work, too.
PYTEST = ["pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments"]
PLUGIN_TEST = '''
import urllib.error
import urllib.request

import pytest


def test_a_server_is_there(lazuli):
    with pytest.raises(urllib.error.HTTPError) as raised:
        urllib.request.urlopen(f"{lazuli.table_endpoint}/Tables")
    assert raised.value.code in (401, 403) and raised.value.headers["Server"]


def test_names_are_new(lazuli):
    assert lazuli.name("people") != lazuli.name("people")
'''


def bare(packages):
    """The same bare system for all tests."""
    return packages.once("bare", lambda directory: with_npm(Root(directory / "root", *NODE, *PYTHON)))


def with_npm(root):
    """Copies npm as it is here: it replaces the files of its package when it updates itself."""
    npm = shutil.which("npm")
    if npm:
        folder = pathlib.Path(npm).resolve().parents[1]
        copy = root.path / folder.relative_to("/")
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(folder, copy, symlinks=True)
    return root


def need_package(name):
    if name not in installed():
        raise Skip(f"this machine has no Debian package {name} to copy")


class Inside(Started):
    """A server inside the bare system, perhaps behind other processes that wait for it."""

    def __init__(self, root, command, **options):
        super().__init__(*root.inside("/bin/sh", "-c", command, **options), env=root.environment, start_new_session=True)

    def interrupt(self):
        """Ctrl-C in a terminal; returns when all processes have ended."""
        os.killpg(self.process.pid, signal.SIGINT)
        self.process.stdout.read()
        self.process.wait(HANG_SECONDS)


def check(root, command, directory, **options):
    """Starts the server with a command, and runs the README's commands with the one in a directory."""
    with Inside(root, f"{command} {' '.join(MEMORY)}", **options) as server:
        server.check_services()
        root.run_daily_work(directory, server.addresses)
        server.interrupt()


def test_the_binary_of_the_archive_runs_on_a_bare_system(packages, directory):
    root = bare(packages)
    (root.path / "opt").mkdir(exist_ok=True)
    run("tar", "xzf", packages.build("archive")[0], "-C", root.path / "opt")
    top = f"/opt/lazuli-{packages.version}-linux-x64"
    check(root, f"exec {top}/lazuli serve", top)


def test_npx_runs_the_package_on_a_bare_system_with_node(packages, directory):
    need_package("nodejs")
    root = bare(packages)
    project = root.path / "project"
    project.mkdir()
    (project / "package.json").write_text('{"private": true}\n')
    for package in packages.build("npm"):
        shutil.copy(package, project)
    root.run("/bin/sh", "-c", "cd /project && npm install --offline --no-audit --no-fund --silent ./*.tgz")
    check(root, "cd /project && exec npx --offline lazuli", "/project/node_modules/.bin")


def install(root, venv, *files):
    """Installs wheels into a new virtual environment of the bare system, with the pip that this Python brings."""
    pip = next(pathlib.Path(ensurepip.__file__).parent.glob("_bundled/pip-*.whl"), None)
    if not pip:
        raise Skip("the Python that runs this test has no pip to copy")
    for file in (pip, *files):
        shutil.copy(file, root.path)
    root.run("/usr/bin/python3", "-m", "venv", "--without-pip", venv)
    names = [f"/{file.name}" for file in files]
    root.run(f"{venv}/bin/python", f"/{pip.name}/pip", "install", "--quiet", "--no-index", "--no-deps", *names)


def test_pip_installs_the_wheel_on_a_bare_system_with_python(packages, directory):
    need_package("python3")
    root = bare(packages)
    install(root, "/venv", wheels.server_wheel(packages))
    check(root, "exec /venv/bin/lazuli-storage", "/venv/bin")


def test_uvx_runs_the_wheel_on_a_bare_system_with_python(packages, directory):
    need_package("python3")
    root, wheel = bare(packages), wheels.server_wheel(packages)
    for program in ("uv", "uvx"):
        shutil.copy(wheels.tool("uv", wheels.UV) / program, root.path / "usr" / "bin")
    shutil.copy(wheel, root.path)
    uv = "--offline --no-config --python /usr/bin/python3"
    settings = "export UV_TOOL_BIN_DIR=/uv/commands"
    root.run("/bin/sh", "-c", f"{settings}; uv tool install --quiet {uv} /{wheel.name}")
    check(root, f"{settings}; exec uvx {uv} --from /{wheel.name} lazuli-storage", "/uv/commands", with_proc=True)


def test_pipx_runs_the_wheel_on_a_bare_system_with_python(packages, directory):
    need_package("python3-venv")
    root, wheel = bare(packages), wheels.server_wheel(packages)
    install(root, "/pipx", wheel)
    # pipx is all Python, so its files work for another Python, too.
    pipx, = wheels.tool("pipx", wheels.PIPX).parent.glob("lib/python3*/site-packages")
    own, = (root.path / "pipx").glob("lib/python3*/site-packages")
    shutil.copytree(pipx, own, dirs_exist_ok=True)
    settings = "export PIP_NO_INDEX=1 PIPX_HOME=/pipx/home PIPX_BIN_DIR=/pipx/commands PIPX_DEFAULT_BACKEND=pip"
    # Maintenance fetches a newer pip.
    words = "--quiet --skip-maintenance"
    root.run("/bin/sh", "-c", f"{settings}; /pipx/bin/python -m pipx install {words} /{wheel.name}")
    check(root, f"{settings}; exec /pipx/bin/python -m pipx run {words} --spec /{wheel.name} lazuli-storage", "/pipx/commands")


def test_the_pytest_plugin_starts_a_server_on_a_bare_system_with_python(packages, directory):
    need_package("python3")
    cached = next((CACHE / "sdk-python").glob("lib/python3*/site-packages/pytest"), None)
    if not cached:
        raise Skip("the cache has no pytest; LAZULI_INSTALL_ONLY=1 tests/sdk/run.sh python fetches it")
    root = bare(packages)
    install(root, "/plugin", *packages.build("wheels"))
    own = next((root.path / "plugin").glob("lib/python3*/site-packages"))
    for name in PYTEST:
        shutil.copytree(cached.parent / name, own / name)
        for info in cached.parent.glob(f"{name}-*.dist-info"):
            shutil.copytree(info, own / info.name)
    shutil.copy(cached.parent / "py.py", own)
    (root.path / "plugin" / "test_plugin.py").write_text(PLUGIN_TEST)
    shown = root.run("/bin/sh", "-c", "cd /plugin && bin/python -m pytest -q -p no:cacheprovider test_plugin.py")
    assert "2 passed" in shown, shown
