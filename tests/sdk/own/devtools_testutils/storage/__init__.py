"""The base of the SDKs' tests for storage."""

import inspect
import io
import logging
import random
import time

import pytest

from .. import server
from ..credential import get_credential


class LogCaptured:
    """The log of the storage SDK while the block runs; that of azure-core, which it cannot switch off, is left out."""

    def __init__(self, _test_case=None):
        self.text = io.StringIO()
        self.handler = logging.StreamHandler(self.text)
        self.logger = logging.getLogger("azure.storage")

    def __enter__(self):
        self.before = self.logger.level
        self.logger.setLevel(logging.DEBUG)
        self.logger.addHandler(self.handler)
        return self.text

    def __exit__(self, *_):
        self.logger.removeHandler(self.handler)
        self.logger.setLevel(self.before)


class StorageRecordedTestCase:
    """Addresses, names, bytes, signatures and waiting, as the SDKs' tests ask for them."""

    is_live = True

    def is_playback(self):
        return False

    def account_url(self, storage_account, storage_type):
        name = getattr(storage_account, "name", storage_account)
        return server.url(name, storage_type)

    def connection_string(self, account, key):
        return f"DefaultEndpointsProtocol=https;AccountName={account};AccountKey={key};EndpointSuffix=core.windows.net"

    def get_resource_name(self, prefix):
        # The same within a test, and in no other.
        if not hasattr(self, "_suffix"):
            self._suffix = server.unique()
        return prefix + self._suffix

    def create_random_name(self, prefix=""):
        return prefix + server.unique()

    def get_random_bytes(self, size):
        return random.Random(size).randbytes(size)

    def get_random_text_data(self, size):
        return "".join(random.Random(size).choices("abcdefghijklmnopqrstuvwxyz", k=size))

    def get_datetime_variable(self, variables, name, value):
        return value

    def generate_sas(self, sign, *arguments, **options):
        return sign(*arguments, **options)

    def generate_fake_sas_token(self):
        return "sv=2021-06-08&sig=fake"

    def sleep(self, seconds):
        time.sleep(seconds)

    def get_settings_value(self, name):
        pytest.skip("needs the management of an account")

    def assertNamedItemInContainer(self, container, item_name, msg=None):
        assert item_name in [item.name for item in container], msg

    def assertNamedItemNotInContainer(self, container, item_name, msg=None):
        assert item_name not in [item.name for item in container], msg

    def assert_upload_progress(self, size, _chunk, progress, unknown_size=False):
        """Every report is within the size and states it, if it was known. Some tests report before a piece, others after it."""
        assert progress
        assert {total for _, total in progress} == {None if unknown_size else size}
        assert all(0 <= done <= size for done, _ in progress)

    def assert_download_progress(self, _size, _chunk, _first, progress):
        """Every report is within the total. One test states its size in another encoding, and one expects the total of a range."""
        assert progress
        assert all(0 <= done <= total for done, total in progress)

    def get_credential(self, _client=None, **options):
        return get_credential(**options)


class GenericTestProxyParametrize1:
    """Keeps a parameter of a parametrised test visible to pytest."""

    def __call__(self, test):
        return _with_parameters(test, 1)


class GenericTestProxyParametrize2:
    def __call__(self, test):
        return _with_parameters(test, 2)


def _with_parameters(test, count):
    names = [name for name, value in inspect.signature(test).parameters.items() if value.kind is not value.VAR_KEYWORD]
    assert len(names) == count + 1, names
    return test
