"""A credential for tests that do not talk to a server."""


class AsyncFakeCredential:
    async def get_token(self, *_scopes, **_options):
        raise AssertionError("a test that asks for this token does not talk to a server")
