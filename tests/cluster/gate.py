# SPDX-License-Identifier: Apache-2.0
"""The gate of a test cluster: `gate.py GATE [HOST PORT]` accepts connections from outside on a loopback port of the machine and forwards them to an
address inside, by default to the same port, the API server's. The listening socket was created outside and is inherited as file descriptor GATE.

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


async def enter(target):
    reader, writer = await asyncio.open_connection(*target)
    writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return reader, writer


async def close_until_up(gate, target):
    """The port stays ours; Linux lets a socket that was shut down listen again."""
    gate.shutdown(socket.SHUT_RD)
    while True:
        await asyncio.sleep(0.05)
        try:
            (await enter(target))[1].close()
        except OSError:
            continue
        gate.listen(BACKLOG)
        return


async def main():
    gate = socket.socket(fileno=int(sys.argv[1]))
    gate.setblocking(False)
    target = (sys.argv[2], int(sys.argv[3])) if sys.argv[2:] else ("127.0.0.1", gate.getsockname()[1])
    loop = asyncio.get_running_loop()
    running = set()
    while True:
        connection, _ = await loop.sock_accept(gate)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            inner = await enter(target)
        except OSError:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
            connection.close()
            await close_until_up(gate, target)
            continue
        task = asyncio.create_task(carry_both(await asyncio.open_connection(sock=connection), inner))
        running.add(task)  # the loop itself holds tasks weakly
        task.add_done_callback(running.discard)


asyncio.run(main())
