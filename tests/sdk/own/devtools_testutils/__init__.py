"""Stands in for the test framework of the SDKs' repository, so that their own tests run against the server under test.

Nothing is recorded or replayed here: every test is live. The names are those that the tests import.
"""

import asyncio
import functools
import inspect
import logging
import os

from azure.core.credentials import AccessToken

from .credential import get_credential
from .server import ACCOUNTS, Secret, unique


class EnvironmentVariableOptions:
    def __init__(self, **_options):
        pass


class EnvironmentVariableLoader:
    """Decorates a test: hands it the accounts under test as keyword arguments. What the test returns is dropped."""

    def __init__(self, _directory, *, options=None, **names):
        self.names = names

    def __call__(self, test):
        values = {name: ACCOUNTS.get(name, default) for name, default in self.names.items()}
        values = {name: Secret(value) if name.endswith("_key") else value for name, value in values.items()}

        accepted = inspect.signature(test).parameters
        if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in accepted.values()):
            values = {name: value for name, value in values.items() if name in accepted}

        @functools.wraps(test)
        def wrapper(self, *arguments, **more):
            if hasattr(self, "setUp"):
                self.setUp()
            result = test(self, *arguments, **(values | more))
            if inspect.iscoroutine(result):
                asyncio.run(result)

        # pytest treats the parameters of the wrapped function as fixtures.
        parameters = [value for name, value in inspect.signature(test).parameters.items() if value.kind is not value.VAR_KEYWORD and name not in values]
        wrapper.__signature__ = inspect.Signature(parameters)
        return wrapper


PowerShellPreparer = EnvironmentVariableLoader


def recorded_by_proxy(test):
    """A test that talks to a server."""
    return test if callable(test) else recorded_by_proxy


class AzureRecordedTestCase:
    """Names and waiting, as the tests of the table SDK ask for them."""

    is_live = True

    def get_resource_name(self, prefix):
        # The same within a test, and in no other.
        if not hasattr(self, "_suffix"):
            self._suffix = unique()
        return prefix + self._suffix

    def generate_sas(self, sign, *arguments, **options):
        return sign(*arguments, **options)

    def sleep(self, _seconds):
        """The tests wait for policies and deletions to become effective. Here they are effective immediately."""

    def get_credential(self, *_arguments, **options):
        return get_credential(**options)


def is_live():
    return True


class FakeTokenCredential:
    """Returns a token that the server rejects and that has expired, and counts how often it is called."""

    def __init__(self):
        self.get_token_count = 0

    def get_token(self, *_scopes, **_options):
        self.get_token_count += 1
        return AccessToken("rejected", 0)


class RetryCounter:
    """Counts retries."""

    def __init__(self):
        self.count = 0

    def simple_count(self, retry_context):
        self.count += 1


class ResponseCallback:
    """Turns the first responses with a status into another status, so that the client tries again."""

    def __init__(self, status=None, new_status=None):
        self.status, self.new_status = status, new_status
        self.first, self.count = True, 0

    def override_first_status(self, response):
        if self.first and response.http_response.status_code == self.status:
            response.http_response.status_code = self.new_status
            self.first = False

    def override_status(self, response):
        if response.http_response.status_code == self.status:
            response.http_response.status_code = self.new_status
        self.count += 1


def __getattr__(name):
    """Everything about recordings: add_…_sanitizer, set_custom_default_matcher. The plugin has the fixture."""
    if name == "test_proxy" or name.startswith(("add_", "set_", "remove_")):
        return lambda *_arguments, **_options: None
    raise AttributeError(name)


logging.getLogger("azure").setLevel(logging.DEBUG if os.environ.get("LAZULI_OWN_DEBUG") else logging.NOTSET)
