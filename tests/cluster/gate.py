# SPDX-License-Identifier: Apache-2.0
"""The gate of a test cluster: `gate.py GATE` accepts connections from outside on a loopback port of the machine and forwards them to the same port
inside, the API server's. The listening socket was created outside and is inherited as file descriptor GATE.

While the API server is down, connections are refused. While the gate itself is stopped, nothing responds.
"""
import asyncio
import socket
import struct
import sys

BACKLOG = 512
RESET_ON_CLOSE = struct.pack("ii", 1, 0)  # SO_LINGER


async def carry(reader, writer):
    try:
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
        writer.write_eof()
    except OSError:
        writer.transport.abort()


async def carry_both(outer, inner):
    (outer_reader, outer_writer), (inner_reader, inner_writer) = outer, inner
    await asyncio.gather(carry(outer_reader, inner_writer), carry(inner_reader, outer_writer))
    inner_writer.close()
    outer_writer.close()


async def enter(port):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return reader, writer


async def close_until_up(gate, port):
    """The port stays ours; Linux lets a socket that was shut down listen again."""
    gate.shutdown(socket.SHUT_RD)
    while True:
        await asyncio.sleep(0.05)
        try:
            (await enter(port))[1].close()
        except OSError:
            continue
        gate.listen(BACKLOG)
        return


async def main():
    gate = socket.socket(fileno=int(sys.argv[1]))
    gate.setblocking(False)
    port = gate.getsockname()[1]
    loop = asyncio.get_running_loop()
    running = set()
    while True:
        connection, _ = await loop.sock_accept(gate)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            inner = await enter(port)
        except OSError:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
            connection.close()
            await close_until_up(gate, port)
            continue
        task = asyncio.create_task(carry_both(await asyncio.open_connection(sock=connection), inner))
        running.add(task)  # the loop itself holds tasks weakly
        task.add_done_callback(running.discard)


asyncio.run(main())
