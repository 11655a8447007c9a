"""Azurite's process contract, read from Azurite: each option, variable and line of its programs has its counterpart here.

The package of Azurite is only read, not started. A new version with an option that nobody has thought of fails here.
"""

import re
import shutil
import tarfile
from functools import cache

from common import CACHE, MEMORY, ROOT, Started, environment, need, run

# Where each program declares its options, and where it prints its lines.
PROGRAMS = {"azurite": ("common/Environment.js", "azurite.js"), "azurite-blob": ("blob/BlobEnvironment.js", "blob/main.js"),
            "azurite-queue": ("queue/QueueEnvironment.js", "queue/main.js"), "azurite-table": ("table/TableEnvironment.js", "table/main.js")}
# What to pass with each option; None for a switch.
VALUES = {"Host": "127.0.0.1", "Port": "0", "KeepAliveTimeout": "5", "location": "data", "extentMemoryLimit": "64", "debug": "logs/debug.log",
          "cert": "certs/server.pem", "key": "certs/server-key.pem", "pwd": "1234", "oauth": "basic", "silent": None, "loose": None,
          "skipApiVersionCheck": None, "disableProductStyleUrl": None, "disableTelemetry": None, "inMemoryPersistence": None}
# Azurite accepts these only without, or only with --inMemoryPersistence.
ON_DISK, IN_MEMORY = {"location"}, {"inMemoryPersistence", "extentMemoryLimit"}
# The account of AZURITE_ACCOUNTS works; the other variables are named in a notice.
VARIABLES = {"AZURITE_ACCOUNTS": "shop:" + "A" * 86 + "==", "AZURITE_DB": "mysql://root@127.0.0.1/azurite",
             "AZURITE_SKIP_API_VERSION_CHECK": "true"}


@cache
def sources():
    """The JavaScript of Azurite, in the version that the other suites compare with: from the cache or the registry."""
    version = re.search(r"^version=(\S+)$", (ROOT / "tests" / "support" / "with_azurite").read_text(), re.M)[1]
    modules = CACHE / f"azurite-{version}" / "node_modules" / "azurite" / "dist" / "src"
    if modules.is_dir():
        return modules
    kept = CACHE / f"azurite-source-{version}"
    if not kept.is_dir():
        need("npm")
        kept.parent.mkdir(parents=True, exist_ok=True)
        part = kept.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir()
        run("npm", "pack", "--silent", f"azurite@{version}", cwd=part)
        with tarfile.open(next(part.glob("*.tgz"))) as archive:
            archive.extractall(part, filter="data")
        part.rename(kept)
    return kept / "package" / "dist" / "src"


def options(program):
    """The names of a program's options: pairs of the short one, which may be empty, and the long one."""
    found = re.findall(r'\.option\(\["(\w?)", "(\w+)"\]', (sources() / PROGRAMS[program][0]).read_text())
    assert ("l", "location") in found, found
    return sorted(set(found))


def value(name):
    suffix = next((suffix for suffix in ("Host", "Port", "KeepAliveTimeout") if name.endswith(suffix)), name)
    assert suffix in VALUES, f"Azurite has a new option: --{name}"
    return VALUES[suffix]


def lines(program):
    """The lines that a program prints about its services, as patterns."""
    text = (sources() / PROGRAMS[program][1]).read_text()
    found = re.findall(r"`(Azurite \w+ service [^`]+)`", text)
    assert found, program
    return {"".join(r"\S+" if part.startswith("${") else re.escape(part) for part in re.split(r"(\$\{.*?\})", line)) for line in found}


class Azurite(Started):
    """A program of Azurite. It is ready when it has printed all lines that Azurite prints by then."""

    def __init__(self, packages, directory, program, words, **variables):
        self.wanted = [line for line in lines(program) if "clos" not in line]
        super().__init__(packages.binary, program, *words, cwd=directory, env=environment(**variables))

    def is_ready(self):
        return all(re.search(f"^{line}$", self.output, re.M) for line in self.wanted)


def check(packages, directory, program, named):
    """Starts a program with flags and their values, and waits for its lines."""
    words = [word for flag, value in named for word in (flag, value) if word is not None]
    with Azurite(packages, directory, program, words) as server:
        assert server.stop() == 0, server.said()
        output = server.output + server.process.stdout.read()
        missing = [line for line in lines(program) if not re.search(f"^{line}$", output, re.M)]
        assert not missing, f"{program}: {missing} not in {output}"
        assert server.said().count("have no effect") == 1, server.said()


def test_every_option_of_azurite_is_accepted(packages, directory):
    run(packages.binary, "cert", "certs", cwd=directory)
    for program in PROGRAMS:
        found = options(program)
        # With data on disk, the short names, where there are any; with data in memory, the long ones.
        check(packages, directory, program, [(f"-{short}" if short else f"--{long}", value(long)) for short, long in found
                                             if long not in IN_MEMORY])
        check(packages, directory, program, [(f"--{long}", value(long)) for _, long in found if long not in ON_DISK])


def test_every_variable_of_azurite_works_or_is_named_in_a_notice(packages, directory):
    text = "".join(file.read_text() for file in sources().rglob("*.js"))
    found = set(re.findall(r"AZURITE_[A-Z_]+", text)) - {"AZURITE_ACCOUNTS_ENV"}  # the name of a constant
    assert found == set(VARIABLES), f"Azurite has other variables: {found ^ set(VARIABLES)}"
    with Azurite(packages, directory, "azurite", MEMORY, **VARIABLES) as server:
        # Without a signature: an account that is there, and one that is not.
        assert [server.status("blob", f"/{name}?comp=list")[0] for name in ("shop", "devstoreaccount1")] == [404, 403]
        for name in found - {"AZURITE_ACCOUNTS"}:
            assert name in server.said(), server.said()
