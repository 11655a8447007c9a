"""A credential whose token the server rejects."""

from . import FakeTokenCredential


class AsyncFakeCredential(FakeTokenCredential):
    async def get_token(self, *scopes, **options):
        return super().get_token(*scopes, **options)
