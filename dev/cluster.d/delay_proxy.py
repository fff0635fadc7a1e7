"""usage: delay_proxy.py LISTEN-HOST:PORT SERVER-HOST:PORT MILLISECONDS

Stands before a server and lets each answer begin so much later, as a far store would. Knows nothing of
the protocol: an answer begins with the first bytes of the server after bytes of the client. Bytes are
passed on as fast as they come.
"""

import asyncio
import sys

CHUNK_BYTES = 256 * 1024


async def client_to_server(reader, writer, state):
    while data := await reader.read(CHUNK_BYTES):
        state["asked"] = asyncio.get_running_loop().time()
        writer.write(data)
        await writer.drain()


async def server_to_client(reader, writer, state, seconds):
    while data := await reader.read(CHUNK_BYTES):
        asked, state["asked"] = state["asked"], None
        if asked is not None:
            await asyncio.sleep(max(0.0, asked + seconds - asyncio.get_running_loop().time()))
        writer.write(data)
        await writer.drain()


async def connection(server, seconds, reader, writer):
    try:
        to_server = await asyncio.open_connection(*server)
    except OSError:
        writer.close()
        return
    state = {"asked": None}
    tasks = [
        asyncio.ensure_future(client_to_server(reader, to_server[1], state)),
        asyncio.ensure_future(server_to_client(to_server[0], writer, state, seconds)),
    ]
    # The end of either side ends both, also by an error: a client that closed in the middle.
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    for one in (writer, to_server[1]):
        one.close()


def address(text):
    host, port = text.rsplit(":", 1)
    return host, int(port)


async def serve(listen, server, seconds):
    made = await asyncio.start_server(
        lambda reader, writer: connection(server, seconds, reader, writer), *listen)
    async with made:
        await made.serve_forever()


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__.strip())
    asyncio.run(serve(address(sys.argv[1]), address(sys.argv[2]), int(sys.argv[3]) / 1000))
