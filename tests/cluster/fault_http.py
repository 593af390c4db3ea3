# SPDX-License-Identifier: Apache-2.0
"""The part of HTTP/1.1 that fault_proxy.py needs: reads requests and responses from asyncio's streams, and sends a response as a fault requires."""
import asyncio
import http

HOP_BY_HOP = ("connection", "keep-alive", "transfer-encoding", "content-length")


class Cut(Exception):
    """The connection is to end here and now."""


class Closed(Exception):
    """The program has closed its connection."""


async def read_head(reader, early=b""):
    """(first line, headers by their names as written)"""
    first, *lines = (early + await reader.readuntil(b"\r\n\r\n"))[:-4].decode("latin-1").split("\r\n")
    return first, dict(line.split(": ", 1) if ": " in line else (line.rstrip(":"), "") for line in lines)


def header(headers, name, default=""):
    return next((value for key, value in headers.items() if key.lower() == name), default)


async def read_request(reader, early):
    """(method, target, headers, body)"""
    line, headers = await read_head(reader, early)
    method, target, _ = line.split(" ")
    body = await reader.readexactly(int(header(headers, "content-length", "0")))
    return method, target, headers, body


async def pieces(reader, headers, status):
    """The body of an answer, as it comes."""
    if status in (204, 304):
        return
    if header(headers, "transfer-encoding") == "chunked":
        while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
            yield await reader.readexactly(size)
            await reader.readexactly(2)
        await reader.readuntil(b"\r\n")
        return
    left = int(header(headers, "content-length", "0"))
    while left:
        data = await reader.read(min(left, 1 << 16))
        if not data:
            raise EOFError
        yield data
        left -= len(data)


async def send(writer, status, headers, body, fault):
    """An answer with a body of known length, or, when that is None, the head of one that comes in chunks."""
    lines = [f"{name}: {value}" for name, value in headers.items() if name.lower() not in HOP_BY_HOP]
    chunked = body is None or fault.cut == "chunk"
    lines.append("Transfer-Encoding: chunked" if chunked else f"Content-Length: {len(body)}")
    head = "\r\n".join([f"HTTP/1.1 {status} {http.HTTPStatus(status).phrase}", *lines, "", ""]).encode()
    if fault.lines is not None or body is None and fault.cut not in ("head", "body", "chunk"):
        await _write(writer, head, fault.split)  # what goes wrong does so later
        return
    if fault.cut == "head":
        await _write(writer, head[: len(head) // 2], fault.split)
        raise Cut
    if fault.cut == "body":
        await _write(writer, head + (body or b"")[: len(body or b"") // 2], fault.split)
        raise Cut
    if fault.cut == "chunk":
        await _write(writer, head + b"%x\r\n" % max(len(body or b""), 2) + (body or b"")[: len(body or b"") // 2], fault.split)
        raise Cut
    await _write(writer, head + body, fault.split)


async def _write(writer, data, split):
    size = split or len(data)
    for begin in range(0, len(data), size):
        if writer.is_closing():
            raise Closed
        writer.write(data[begin : begin + size])
        await writer.drain()


async def until_closed(reader, work, to_its_end) -> bytes:
    """Does the work, or stops in it when the program closes its connection; `to_its_end`: does all of it even then. Returns what came of the next
    request meanwhile."""
    working, closed = asyncio.ensure_future(work), asyncio.ensure_future(reader.read(1))
    try:
        await asyncio.wait((working, closed), return_when=asyncio.FIRST_COMPLETED)
        if not working.done() and closed.done() and (closed.exception() or not closed.result()):
            if to_its_end:
                await working
            raise Closed
        await working
        return closed.result() if closed.done() and not closed.cancelled() else b""
    finally:
        for task in (working, closed):
            task.cancel()
        await asyncio.gather(working, closed, return_exceptions=True)
