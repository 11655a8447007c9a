"""pytest fixtures for tests that need Azure Storage: a server in memory, and clients of the official SDKs for it."""

from .server import Lazuli

__all__ = ["Lazuli"]
