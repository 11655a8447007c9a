"""pytest plugin for the SDKs' own tests: expected exceptions, names that resolve, tokens, coroutines.

An exception is a line `FILE::TEST  reason` in the file that LAZULI_OWN_EXCEPTIONS names; a `*` at the end stands for the rest of a
name. Such a test must fail: if it passes, the line has to go. A reason that starts with `skip:` keeps the test from running.
"""

import asyncio
import fnmatch
import inspect
import os
import socket
import sys
import time
import types

import pytest
from devtools_testutils import credential, server


def pytest_configure(config):
    for marker in ("live_test_only", "asyncio", "playback_test_only"):
        config.addinivalue_line("markers", f"{marker}: of the SDKs' repository")
    resolve = socket.getaddrinfo
    socket.getaddrinfo = lambda host, port, *rest, **options: resolve(*server.resolve(host, port), *rest, **options)
    # Tests of tables take their tokens from here.
    for name, found in (("azure.identity", credential.Credential), ("azure.identity.aio", credential.AsyncCredential)):
        module = types.ModuleType(name)
        module.DefaultAzureCredential = found
        sys.modules[name] = module
    if os.environ.get("LAZULI_OWN_IMPATIENT"):
        make_impatient()
    # The management of accounts is not offered; what needs it asks for a subscription first, and is skipped.
    for name in ("azure.mgmt", "azure.mgmt.storage", "azure.mgmt.storage.aio"):
        module = types.ModuleType(name)
        module.StorageManagementClient = None
        sys.modules.setdefault(name, module)


def pytest_sessionstart():
    """Deleted blobs are kept as the service properties say."""
    if server.SOFT_DELETE != server.ACCOUNT:
        from azure.storage.blob import BlobServiceClient, RetentionPolicy

        service = BlobServiceClient(server.url(server.SOFT_DELETE, "blob"), server.KEY)
        service.set_service_properties(delete_retention_policy=RetentionPolicy(enabled=True, days=2))


@pytest.fixture(scope="session")
def test_proxy():
    """Nothing is recorded."""


def make_impatient():
    """Shortens all waiting: tests of tables wait half a minute for settings that are effective immediately here."""
    wait, wait_async = time.sleep, asyncio.sleep
    time.sleep = lambda seconds: wait(min(seconds, 0.1))
    asyncio.sleep = lambda seconds, *rest: wait_async(min(seconds, 0.1), *rest)


def exceptions():
    with open(os.environ["LAZULI_OWN_EXCEPTIONS"]) as file:
        lines = [line.split(None, 1) for line in file if line.strip() and not line.startswith("#")]
    return [(pattern, reason.strip()) for pattern, reason in lines]


def pytest_collection_modifyitems(config, items):
    listed, used = exceptions(), set()
    for item in items:
        name = f"{item.path.name}::{item.name}"
        for pattern, reason in listed:
            if fnmatch.fnmatchcase(name, pattern):
                used.add(pattern)
                item.add_marker(pytest.mark.skip(reason=reason[5:].strip()) if reason.startswith("skip:") else pytest.mark.xfail(reason=reason, strict=True))
                break
    unused = [pattern for pattern, _ in listed if pattern not in used]
    if unused and not config.option.keyword and os.environ.get("LAZULI_OWN_COMPLETE"):
        raise pytest.UsageError(f"exceptions without a test: {', '.join(unused)}")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Runs a test that is a coroutine, and drops what a test returns."""
    names = pyfuncitem._fixtureinfo.argnames
    result = pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names})
    if inspect.iscoroutine(result):
        asyncio.run(result)
    return True
