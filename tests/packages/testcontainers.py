"""The Azurite module of Testcontainers for Node, started with our `azurite`: its command lines, environment and waits.

The module itself is the one from the registry. It runs on a stand-in for Testcontainers that starts a process where the
real one starts a container (containers.js), since Docker may not be here.
"""

import shutil
import subprocess
import tarfile

from common import CACHE, ROOT, environment, need, run

VERSION = "12.1.0"


def module():
    """The folder of the module, from the registry or the cache."""
    need("npm", "node")
    kept = CACHE / f"testcontainers-azurite-{VERSION}"
    if not kept.is_dir():
        kept.parent.mkdir(parents=True, exist_ok=True)
        part = kept.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir()
        run("npm", "pack", "--silent", f"@testcontainers/azurite@{VERSION}", cwd=part)
        with tarfile.open(next(part.glob("*.tgz"))) as archive:
            archive.extractall(part, filter="data")
        part.rename(kept)
    return kept / "package"


def test_the_module_of_node_starts_our_azurite(packages, directory):
    modules = directory / "node_modules"
    shutil.copytree(module(), modules / "@testcontainers" / "azurite")
    (modules / "testcontainers").mkdir()
    shutil.copy(ROOT / "tests" / "packages" / "containers.js", modules / "testcontainers" / "index.js")
    shutil.copy(ROOT / "tests" / "packages" / "testcontainers.js", directory)
    (directory / "azurite").symlink_to(packages.binary)
    run(packages.binary, "cert", "certs", cwd=directory)
    need("openssl")
    subprocess.run(["openssl", "pkcs12", "-export", "-in", "certs/server.pem", "-inkey", "certs/server-key.pem", "-out", "certs/server.pfx",
                    "-passout", "pass:1234"], cwd=directory, check=True, capture_output=True)
    token = run(packages.binary, "token").strip()
    shown = run("node", "testcontainers.js", cwd=directory,
                env=environment(AZURITE=str(directory / "azurite"), TOKEN=token, NODE_EXTRA_CA_CERTS=str(directory / "certs" / "ca.pem")))
    assert shown.count("ok: ") == 5, shown
