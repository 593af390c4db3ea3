# SPDX-License-Identifier: Apache-2.0
"""The gate of a test cluster: `gate.py GATE` takes connections from outside at a loopback port of the machine and carries their bytes to the same port
inside, the API server's. The listening socket was made outside and is inherited as file descriptor GATE.

While the API server is down, connections are reset. While the gate itself is stopped, nothing answers.
"""
import asyncio
import socket
import struct
import sys

AT_ONCE = struct.pack("ii", 1, 0)  # SO_LINGER: closing sends a reset


async def carry(reader, writer):
    try:
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
        writer.write_eof()
    except OSError:
        writer.transport.abort()


async def main():
    gate = socket.socket(fileno=int(sys.argv[1]))
    port = gate.getsockname()[1]

    async def connected(reader, writer):
        for_peer = writer.get_extra_info("socket")
        for_peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            for_peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
            writer.close()
            return
        inner_writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await asyncio.gather(carry(reader, inner_writer), carry(inner_reader, writer))
        inner_writer.close()
        writer.close()

    server = await asyncio.start_server(connected, sock=gate, backlog=512)
    await server.serve_forever()


asyncio.run(main())
