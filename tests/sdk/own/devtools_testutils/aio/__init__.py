"""The same for asynchronous tests: the decorator of the accounts runs the coroutine."""

from .. import recorded_by_proxy as recorded_by_proxy_async

__all__ = ["recorded_by_proxy_async"]
