"""Forwards a port of this machine to another: python forward.py FROM TO. For tools whose server address cannot be configured."""

import asyncio
import sys

FROM, TO = map(int, sys.argv[1:])


async def pump(reader, writer):
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.close()


async def handle(reader, writer):
    other_reader, other_writer = await asyncio.open_connection("127.0.0.1", TO)
    await asyncio.gather(pump(reader, other_writer), pump(other_reader, writer), return_exceptions=True)


async def main():
    async with await asyncio.start_server(handle, "127.0.0.1", FROM) as server:
        await server.serve_forever()


asyncio.run(main())
