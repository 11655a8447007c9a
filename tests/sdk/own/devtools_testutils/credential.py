"""Bearer tokens that the server under test accepts."""

import time

from azure.core.credentials import AccessToken

from . import server


class Credential:
    def __init__(self, **_options):
        pass

    def get_token(self, *_scopes, **_options):
        return AccessToken(server.token(), int(time.time()) + 3000)


class AsyncCredential(Credential):
    async def get_token(self, *scopes, **options):
        return super().get_token(*scopes, **options)

    async def close(self):
        pass

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        pass


def get_credential(**options):
    return AsyncCredential() if options.get("is_async") else Credential()
