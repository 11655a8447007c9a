"""The Lazuli storage server. This package contains its binary and starts it; `binary()` says where it is."""

import os
import pathlib
import subprocess
import sys

__all__ = ["binary"]


def binary():
    """The path of the `lazuli` binary."""
    return str(pathlib.Path(__file__).parent / "bin" / ("lazuli.exe" if os.name == "nt" else "lazuli"))


def _become(name):
    """Replaces this process with the binary. Started as `azurite`, it accepts Azurite's command line."""
    arguments = [name, *sys.argv[1:]]
    if os.name == "nt":  # has no exec that keeps the console
        sys.exit(subprocess.call(arguments, executable=binary()))
    os.execv(binary(), arguments)


def lazuli():
    """The command `lazuli`."""
    _become("lazuli")


def azurite():
    """The command `azurite`."""
    _become("azurite")


def azurite_blob():
    """The command `azurite-blob`."""
    _become("azurite-blob")


def azurite_queue():
    """The command `azurite-queue`."""
    _become("azurite-queue")


def azurite_table():
    """The command `azurite-table`."""
    _become("azurite-table")
