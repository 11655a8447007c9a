"""The base of the SDKs' asynchronous tests for storage."""

from . import GenericTestProxyParametrize1, GenericTestProxyParametrize2, StorageRecordedTestCase


class AsyncStorageRecordedTestCase(StorageRecordedTestCase):
    pass


__all__ = ["AsyncStorageRecordedTestCase", "GenericTestProxyParametrize1", "GenericTestProxyParametrize2"]
