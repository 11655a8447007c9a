"""pytest plugin for the SDKs' own tests: expected exceptions, names that resolve, tokens, coroutines.

An exception is a line `FILE::TEST  reason` in the file that LAZULI_OWN_EXCEPTIONS names; a `*` at the end stands for the rest of a
name. Such a test must fail: if it passes, the line must be removed. A reason that starts with `skip:` prevents the test from
running; one with `slow:` does so unless LAZULI_OWN is `--long`. The first line that matches a test counts.
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
    """The tests of blobs expect accounts that keep deleted blobs, and that have logs."""
    if os.path.basename(os.environ["LAZULI_OWN_EXCEPTIONS"]) != "blob.txt":
        return
    from azure.storage.blob import BlobAnalyticsLogging, BlobServiceClient, RetentionPolicy

    if server.SOFT_DELETE != server.ACCOUNT:
        service = BlobServiceClient(server.url(server.SOFT_DELETE, "blob"), server.KEY)
        service.set_service_properties(delete_retention_policy=RetentionPolicy(enabled=True, days=2))
    service = BlobServiceClient(server.url(server.ACCOUNT, "blob"), server.KEY)
    service.set_service_properties(analytics_logging=BlobAnalyticsLogging(write=True))
    deadline = time.monotonic() + 30
    while "$logs" not in [container.name for container in service.list_containers(include_system=True)]:
        assert time.monotonic() < deadline, "the server has not created the container of logs"
        service.get_container_client("own" + server.unique()).create_container()
        time.sleep(0.2)
    service.set_service_properties(analytics_logging=BlobAnalyticsLogging())


@pytest.fixture(scope="session")
def test_proxy():
    """Nothing is recorded."""


def make_impatient():
    """Shortens all waiting: tests of tables wait half a minute for settings that are effective immediately here."""
    wait, wait_async = time.sleep, asyncio.sleep
    time.sleep = lambda seconds: wait(min(seconds, 0.1))
    asyncio.sleep = lambda seconds, *rest: wait_async(min(seconds, 0.1), *rest)


def shorten_sleep(module):
    """Tests of blobs wait ten seconds until a search finds tags, which it does immediately here, or until the time in Last-Modified,
    which has whole seconds, is another."""
    if getattr(module, "sleep", None) is time.sleep:
        module.sleep = lambda seconds: time.sleep(min(seconds, 1.1))


def exceptions():
    with open(os.environ["LAZULI_OWN_EXCEPTIONS"]) as file:
        lines = [line.split(None, 1) for line in file if line.strip() and not line.startswith("#")]
    return [(pattern, reason.strip()) for pattern, reason in lines]


def mark(item, reason):
    kind, _, rest = reason.partition(": ")
    if kind == "skip" or (kind == "slow" and os.environ.get("LAZULI_OWN") != "--long"):
        item.add_marker(pytest.mark.skip(reason=rest))
    elif kind != "slow":
        item.add_marker(pytest.mark.xfail(reason=reason, strict=True))


def pytest_collection_modifyitems(config, items):
    listed, used = exceptions(), set()
    for module in {item.module for item in items}:
        shorten_sleep(module)
    for item in items:
        name = f"{item.path.name}::{item.name}"
        for pattern, reason in listed:
            if fnmatch.fnmatchcase(name, pattern):
                used.add(pattern)
                mark(item, reason)
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
