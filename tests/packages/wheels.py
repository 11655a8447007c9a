"""The Python packages: installed from files into a fresh environment, started, and used by tests of a user."""

import shutil
import sys
import zipfile

from common import CACHE, MEMORY, ROOT, Skip, Started, environment, need, run

UV, PIPX = "0.13.8", "1.18.4"
TESTS = '''
def test_tables(table_service):
    people = table_service.create_table("People")
    people.create_entity({"PartitionKey": "a", "RowKey": "1", "Name": "Ada"})
    assert people.get_entity("a", "1")["Name"] == "Ada"


def test_the_next_test_finds_nothing(table_service):
    assert list(table_service.list_tables()) == []


def test_queues(queue_service):
    jobs = queue_service.create_queue("jobs")
    jobs.send_message("water the plants")
    assert [message.content for message in jobs.receive_messages()] == ["water the plants"]


def test_blobs(blob_service, lazuli):
    files = blob_service.create_container("files")
    files.upload_blob("hello.txt", b"hello")
    assert files.download_blob("hello.txt").readall() == b"hello"
    assert files.url.startswith(lazuli.blob_endpoint)


def test_names_are_new(lazuli):
    assert lazuli.name("people") != lazuli.name("people")
'''
SHARED = '''
seen = []


def test_one(lazuli, table_service):
    seen.append(lazuli.connection_string)
    table_service.create_table(lazuli.name())


def test_two(lazuli, table_service):
    seen.append(lazuli.connection_string)
    assert seen[0] == seen[1]
    assert len(list(table_service.list_tables())) == 1
    table_service.create_table(lazuli.name())
'''


def installed(packages):
    """The programs of a fresh virtual environment, the same one for all tests, with both wheels."""
    return packages.once("venv", lambda directory: environment_with(packages, directory))


def environment_with(packages, directory):
    """Installs both wheels; pytest and the SDKs come from the cache."""
    cached = CACHE / "sdk-python"
    if not (cached / "bin" / "pip").exists():
        raise Skip(f"{cached} does not exist; LAZULI_INSTALL_ONLY=1 tests/sdk/run.sh python makes it")
    run(sys.executable, "-m", "venv", "--without-pip", directory / "venv")
    programs = directory / "venv" / "bin"
    run(cached / "bin" / "pip", "--quiet", "--python", programs / "python", "install", "--no-index", "--no-deps",
        *packages.build("wheels"))
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    own, others = (run(python, "-c", where).strip() for python in (programs / "python", cached / "bin" / "python"))
    with open(f"{own}/cached.pth", "w") as path:
        path.write(others + "\n")
    return programs


def test_the_wheel_installs_commands_that_run_the_binary(packages, directory):
    programs = installed(packages)
    for command in [["lazuli"], ["lazuli-storage"], ["python", "-m", "lazuli_storage"]]:
        assert packages.version in run(programs / command[0], *command[1:], "--version")
    for command in ["lazuli", "azurite"]:
        with Started(programs / command, *MEMORY, cwd=directory) as server:
            server.check_services()
            assert server.stop() == 0, server.said()


def test_the_wheel_runs_the_first_commands_of_the_readme(packages, directory):
    need("curl", "openssl")
    programs = installed(packages)
    run(ROOT / "tests" / "readme.py", "--binary", programs / "lazuli", "--venv", programs.parent, "curl", "daily work", "python", "python queue",
        "python blob")


def test_the_wheel_names_the_glibc_that_it_needs_and_its_licences(packages, directory):
    wheel = server_wheel(packages)
    assert "-py3-none-manylinux_2_" in wheel.name, wheel
    with zipfile.ZipFile(wheel) as archive:
        assert archive.testzip() is None
        assert any(name.endswith("licenses/LICENSE-MIT") for name in archive.namelist())


def tool(name, version):
    """A program from PyPI, installed into the cache."""
    kept = CACHE / f"{name}-{version}"
    if not (kept / "done").exists():
        run(sys.executable, "-m", "venv", kept)
        run(kept / "bin" / "pip", "install", "--quiet", f"{name}=={version}")
        (kept / "done").touch()
    return kept / "bin"


def server_wheel(packages):
    return next(path for path in packages.build("wheels") if path.name.startswith("lazuli_storage"))


def test_the_plugin_gives_each_test_a_server_of_its_own(packages, directory):
    programs = installed(packages)
    (directory / "test_storage.py").write_text(TESTS)
    shown = run(programs / "python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_storage.py", cwd=directory)
    assert "5 passed" in shown, shown


def test_the_plugin_can_share_one_server(packages, directory):
    programs = installed(packages)
    (directory / "test_shared.py").write_text(SHARED)
    pytest = [programs / "python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_shared.py"]
    assert "2 passed" in run(*pytest, "--lazuli-scope=session", cwd=directory)
    (directory / "pytest.ini").write_text("[pytest]\nlazuli_scope = session\n")
    assert "2 passed" in run(*pytest, cwd=directory)
    (directory / "pytest.ini").write_text("[pytest]\nlazuli_scope = week\n")
    assert "invalid lazuli_scope" in run(*pytest, cwd=directory, code=4)


def test_a_server_that_does_not_start_fails_the_test_with_its_message(packages, directory):
    programs = installed(packages)
    (directory / "test_storage.py").write_text(TESTS)
    broken = directory / "broken"
    shutil.copy("/bin/false", broken)
    shown = run(programs / "python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_storage.py", "-k", "names", cwd=directory,
                env=environment(LAZULI_BINARY=str(broken)), code=1)
    assert "did not start" in shown, shown
