# SPDX-License-Identifier: Apache-2.0
"""A proxy between a program and the S3 server: forwards requests and responses on a loopback port, injects the faults of a schedule, and records everything.

    with StoreProxy(server, script(Rule(StoreFault(answer=503), method="PUT", times=3))) as proxy:
        … proxy.url …
        proxy.sent("PUT", "finished.json")

The requests' signatures stay valid: they contain the proxy's own host name, which the server accepts. Plain HTTP. The server does not support session
tokens: for one of `tokens` the proxy signs the request again with the keys that it stands for.
"""
import asyncio
import collections
import dataclasses
import pathlib
import random
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cluster"))
from fault_http import Closed, Cut, header, pieces, read_head, read_request, send, until_closed  # noqa: E402
from faults import FINAL_TRY, Fault, Request, Rule, script  # noqa: E402, F401

CODES = {400: "ExpiredToken", 403: "AccessDenied", 404: "NoSuchKey", 500: "InternalError", 502: "", 503: "SlowDown", 504: ""}


@dataclasses.dataclass(frozen=True)
class StoreFault(Fault):
    code: str = ""  # of the error document that comes with `answer`
    page: str = ""  # this text with status 200 instead of the server's answer; what was asked for is done
    slow: float = 0  # seconds between the pieces of `split`


@dataclasses.dataclass
class Exchange:
    """A request and what became of it; times are time.monotonic()."""

    request: Request
    fault: Fault | None
    received: float
    status: int | None = None  # the server's
    answered: float | None = None

    def __str__(self):
        fault = f" {self.fault}" if self.fault else ""
        return f"{self.request.number:4} {self.received % 1000:7.2f} {self.request.method} {self.request.target[:150]}: {self.status}{fault}"


class StoreProxy:
    """`before` is called with each request, before it is forwarded, from the proxy's own thread; what it returns, if anything, is a problem."""

    def __init__(self, server, schedule=lambda request: None, before=lambda request: None, tokens=None):
        self.exchanges, self.problems = [], []
        self.schedule, self.before = schedule, before
        self._server, self._tokens = server, tokens or {}
        self._counts = collections.Counter()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._ready = threading.Event()

    def __enter__(self):
        self._thread.start()
        assert self._ready.wait(10), "the fault proxy does not start"
        return self

    def __exit__(self, *_):
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)
        assert not self._thread.is_alive(), "the fault proxy does not end"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def sent(self, method="", path="") -> list:
        """The exchanges of such requests so far."""
        return [one for one in list(self.exchanges) if method in ("", one.request.method) and path in one.request.target]

    def story(self) -> str:
        return "\n".join(map(str, list(self.exchanges)))

    def _run(self):
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    async def _serve(self):
        self._stop = asyncio.Event()
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0, limit=1 << 22, backlog=256)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

    async def _connected(self, reader, writer):
        writer.transport.set_write_buffer_limits(high=1, low=0)  # what is sent before a cut arrives
        early = b""  # a byte of the next request
        try:
            while True:
                method, target, headers, body = await read_request(reader, early)
                exchange = self._noted(method, target, headers, body)
                early = await until_closed(reader, self._answer(writer, exchange), method != "GET")
        except (OSError, EOFError, Cut, Closed):
            pass
        finally:
            writer.transport.abort()

    def _noted(self, method, target, headers, body) -> Exchange:
        sort = f"{method} {target} {header(headers, 'range')}"
        self._counts[sort] += 1
        request = Request(len(self.exchanges) + 1, self._counts[sort], method, target, headers, body)
        exchange = Exchange(request, self.schedule(request), time.monotonic())
        self.exchanges.append(exchange)
        return exchange

    async def _answer(self, writer, exchange):
        request, fault = exchange.request, exchange.fault or StoreFault()
        await asyncio.sleep(fault.delay)
        if fault.cut == "before":
            raise Cut
        if fault.answer:
            return await self._refuse(writer, request, fault)
        if problem := self.before(request):
            self.problems.append(problem)
        status, headers, body = await self._forward(request)
        exchange.status, exchange.answered = status, time.monotonic()
        if fault.silence:
            await asyncio.sleep(fault.silence)
            raise Cut
        if fault.cut == "after":
            raise Cut
        if fault.page:
            return await send(writer, 200, {"Content-Type": "text/html"}, fault.page.encode(), fault)
        if request.method == "HEAD":
            lines = [f"HTTP/1.1 {status} -", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
            writer.write("\r\n".join(lines).encode())
            return await writer.drain()
        if fault.slow:
            return await self._send_slowly(writer, status, headers, body, fault)
        return await send(writer, status, headers, body, fault)

    async def _refuse(self, writer, request, fault):
        code = getattr(fault, "code", "") or CODES.get(fault.answer, "")
        document = f"<Error><Code>{code}</Code><Message>made by the test</Message></Error>" if code else "<html>bad gateway</html>"
        retry = {"Retry-After": str(fault.retry_after)} if fault.retry_after else {}
        await send(writer, fault.answer, {"Content-Type": "application/xml"} | retry, b"" if request.method == "HEAD" else document.encode(), fault)

    async def _send_slowly(self, writer, status, headers, body, fault):
        lines = [f"{name}: {value}" for name, value in headers.items() if name.lower() not in ("connection", "content-length", "transfer-encoding")]
        writer.write("\r\n".join([f"HTTP/1.1 {status} -", *lines, f"Content-Length: {len(body)}", "", ""]).encode())
        for begin in range(0, len(body), fault.split):
            writer.write(body[begin : begin + fault.split])
            await writer.drain()
            await asyncio.sleep(fault.slow)

    def _signed(self, request) -> dict:
        user = self._tokens.get(header(request.headers, "x-amz-security-token"))
        if user is None:
            return request.headers
        path, _, query = request.target.partition("?")
        anew = ("host", "authorization", "x-amz-date", "x-amz-content-sha256", "x-amz-security-token")
        kept = {name: value for name, value in request.headers.items() if name.lower() not in anew}
        metadata = {name: kept.pop(name) for name in list(kept) if name.lower().startswith("x-amz-meta-")}
        return kept | user.headers(request.method, path, "&".join(sorted(query.split("&"))), request.body, metadata)

    async def _forward(self, request):
        """(status, headers, body): on a connection of its own, as the faults shall hit the program's alone."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self._server.port, limit=1 << 22)
        try:
            head = [f"{request.method} {request.target} HTTP/1.1", *(f"{name}: {value}" for name, value in self._signed(request).items())]
            writer.write("\r\n".join(head).encode() + b"\r\n\r\n" + request.body)
            await writer.drain()
            line, headers = await read_head(reader)
            status = int(line.split()[1])
            body = b"" if request.method == "HEAD" else b"".join([piece async for piece in pieces(reader, headers, status)])
            return status, headers, body
        finally:
            writer.transport.abort()


def chaos(seed, likely=0.3):
    """What a store that is not well, or the way to it, may do, to the first requests of each sort; what follows from the seed is the same each time."""

    def schedule(request):
        dice = random.Random(f"{seed} {request.method} {request.target} {header(request.headers, 'range')} {request.nth}")
        if request.nth >= FINAL_TRY or dice.random() >= likely:
            return None
        return dice.choice(_ANY)(dice)

    return schedule


_ANY = [
    lambda dice: StoreFault(delay=dice.uniform(0.01, 0.3)),
    lambda dice: StoreFault(cut="before"),
    lambda dice: StoreFault(cut="after"),
    lambda dice: StoreFault(cut="head"),
    lambda dice: StoreFault(cut="body"),
    lambda dice: StoreFault(cut="chunk"),
    lambda dice: StoreFault(answer=dice.choice([500, 502, 503, 504])),
    lambda dice: StoreFault(answer=503, retry_after=1),
    lambda dice: StoreFault(silence=dice.uniform(0.05, 0.5)),
    lambda dice: StoreFault(split=dice.choice([100, 5000])),
]
