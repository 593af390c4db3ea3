# SPDX-License-Identifier: Apache-2.0
"""A proxy between a program and the API server: accepts HTTPS on a loopback port, forwards requests and responses, injects the faults of a schedule of
faults.py, and records everything.

    with FaultProxy(cluster, script(Rule(Fault(cut="after"), method="POST"))) as proxy:
        … KUBECONFIG=proxy.kubeconfig(space) …
        proxy.wait_for(lambda: proxy.sent("DELETE"), 10)

Bearer tokens are forwarded; client certificates cannot be.
"""
import asyncio
import collections
import dataclasses
import json
import pathlib
import ssl
import threading
import time

from fault_http import Closed, Cut, pieces, read_head, read_request, send, until_closed
from faults import Fault, Request, status_of

CERTIFICATE = "fault-proxy"


@dataclasses.dataclass
class Exchange:
    """A request and what became of it; times are time.monotonic()."""

    request: Request
    fault: Fault | None
    received: float  # all of it was here
    answered: float | None = None  # the server had answered: all of it, or a stream's head
    status: int | None = None  # the server's
    given: int | None = None  # what the program got; None: nothing whole
    ended: float | None = None
    uid: str = ""  # of the object that it created

    def __str__(self):
        fault = f" {self.fault}" if self.fault else ""
        return f"{self.request.number:3} {self.received % 1000:7.2f} {self.request.method} {self.request.target}: {self.status} given {self.given}{fault}"


def certify(cluster):
    """The proxy's certificate, once for each cluster."""
    cluster.authority.server(CERTIFICATE, "IP:127.0.0.1", "DNS:localhost")


class FaultProxy:
    """`on_kill` ends the program when a fault says so; the connection is cut when it returns."""

    def __init__(self, cluster, schedule=lambda request: None, on_kill=lambda: None):
        self.exchanges = []
        self.schedule = schedule
        self.on_kill = on_kill
        self._cluster = cluster
        self._counts = collections.Counter()
        self._changed = threading.Condition()
        self._inward = ssl.create_default_context(cafile=cluster.authority.path("ca.crt"))
        self._outward = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._outward.load_cert_chain(*(cluster.authority.path(f"{CERTIFICATE}.{end}") for end in ("crt", "key")))
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(lambda loop, context: None)  # connections that end within a handshake
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
        return f"https://127.0.0.1:{self.port}"

    def kubeconfig(self, space, user=None) -> pathlib.Path:
        """That of a namespace's step, through this proxy."""
        file = space.kubeconfig.with_name(f"{space.name}-{self.port}.kubeconfig")
        self._cluster.authority.kubeconfig(file, self.url, user or {"token": space.token}, namespace=space.name)
        return file

    def sent(self, method="", dry_run=None, path="") -> list:
        """The exchanges of such requests so far."""
        wanted = lambda r: method in ("", r.method) and dry_run in (None, r.dry_run) and path in r.path  # noqa: E731
        return [exchange for exchange in list(self.exchanges) if wanted(exchange.request)]

    def created(self) -> list:
        """The uids of the objects that were really made, whether the program got to know it or not."""
        return [exchange.uid for exchange in self.sent("POST", dry_run=False) if exchange.uid]

    def wait_for(self, condition, seconds: float):
        """What the condition returns once it is true; it is asked whenever something happened here."""
        with self._changed:
            if not self._changed.wait_for(condition, seconds):
                raise AssertionError(f"did not happen within {seconds} s:\n{self.story()}")
            return condition()

    def story(self) -> str:
        """Every exchange in a line."""
        return "\n".join(map(str, list(self.exchanges)))

    def _run(self):
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    async def _serve(self):
        self._stop = asyncio.Event()
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0, ssl=self._outward, limit=1 << 22, backlog=256)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

    def _note(self, exchange, **changes):
        with self._changed:
            for name, value in changes.items():
                setattr(exchange, name, value)
            self._changed.notify_all()

    async def _connected(self, reader, writer):
        upstream = Upstream(self._cluster.sandbox.port, self._inward)
        writer.transport.set_write_buffer_limits(high=1, low=0)  # drain() returns when all is on its way: what is sent before a cut arrives
        early = b""  # a byte of the next request
        try:
            while True:
                method, target, headers, body = await read_request(reader, early)
                early = await self._exchange(reader, writer, upstream, self._noted(method, target, headers, body))
        except (OSError, EOFError, ssl.SSLError, Cut, Closed):
            pass
        finally:
            upstream.close()
            writer.transport.abort()

    def _noted(self, method, target, headers, body) -> Exchange:
        sort = Request(0, 0, method, target, headers, body).sort
        self._counts[sort] += 1
        request = Request(len(self.exchanges) + 1, self._counts[sort], method, target, headers, body)
        exchange = Exchange(request, self.schedule(request), time.monotonic())
        with self._changed:
            self.exchanges.append(exchange)
            self._changed.notify_all()
        return exchange

    async def _exchange(self, reader, writer, upstream, exchange) -> bytes:
        try:
            # Writes are carried out even if the client has disconnected; their effect is recorded.
            return await until_closed(reader, self._answer(writer, upstream, exchange), exchange.request.method != "GET")
        finally:
            self._note(exchange, ended=time.monotonic())

    async def _answer(self, writer, upstream, exchange):
        request, fault = exchange.request, exchange.fault or Fault()
        await asyncio.sleep(fault.delay)
        await self._kill_or_cut("before", fault)
        if fault.answer:
            retry = {"Retry-After": str(fault.retry_after)} if fault.retry_after else {}
            body = status_of(fault.answer, fault.retry_after)
            await send(writer, fault.answer, {"Content-Type": "application/json"} | retry, body, fault)
            return self._note(exchange, given=fault.answer)
        status, headers, source = await upstream.forward(request)
        headers = shifted(headers, fault.clock)
        if status == 200 and (request.stream or request.log and fault.lines is not None):
            self._note(exchange, status=status, answered=time.monotonic())
            await self._kill_or_cut("after", fault)
            if fault.silence and fault.lines is None:
                await silent(fault)
            await send(writer, status, headers, None, fault)
            self._note(exchange, given=status)
            await Stream(writer, fault, request.watch).relay(source)
            upstream.close()  # the server may not have come to the stream's end
            return None
        body = b"".join([piece async for piece in source])
        made = request.method == "POST" and status == 201 and not request.dry_run
        self._note(exchange, status=status, answered=time.monotonic(), uid=json.loads(body)["metadata"].get("uid", "") if made else "")
        await self._kill_or_cut("after", fault)
        if fault.silence:
            await silent(fault)
        await send(writer, status, headers, body, fault)
        return self._note(exchange, given=status)

    async def _kill_or_cut(self, when, fault):
        if fault.kill == when:
            await self._loop.run_in_executor(None, self.on_kill)
            raise Cut
        if fault.cut == when:
            raise Cut


class Upstream:
    """The connection to the API server that belongs to one of the program's."""

    def __init__(self, port, context):
        self._port, self._context = port, context
        self._reader = self._writer = None

    async def forward(self, request):
        """(status, headers, body in pieces). An API server that is down ends the program's connection."""
        if self._writer is None or self._reader.at_eof():
            self.close()
            self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port, ssl=self._context, limit=1 << 22)
        head = [f"{request.method} {request.target} HTTP/1.1", *(f"{name}: {value}" for name, value in request.headers.items())]
        self._writer.write("\r\n".join(head).encode() + b"\r\n\r\n" + request.body)
        await self._writer.drain()
        line, headers = await read_head(self._reader)
        status = int(line.split()[1])
        return status, headers, pieces(self._reader, headers, status)

    def close(self):
        if self._writer is not None:
            self._writer.transport.abort()
        self._reader = self._writer = None


class Stream:
    """Carries a watch or a log to the program, line by line, and does on the way what its fault says."""

    def __init__(self, writer, fault, watch):
        self.writer, self.fault, self.watch = writer, fault, watch
        self.passed = 0

    async def relay(self, source):
        limit = self.fault.seconds or None
        try:
            await asyncio.wait_for(self._relay(source), limit)
        except asyncio.TimeoutError:
            pass
        self.writer.write(b"0\r\n\r\n")
        await self.writer.drain()

    async def _relay(self, source):
        rest = b""
        async for piece in source:
            await asyncio.sleep(self.fault.hold)
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                if await self._over(line + b"\n"):
                    return
                await self._write(line + b"\n")
                if self.fault.repeat and self.watch:
                    await self._write(line + b"\n")
                self.passed += 1
        if rest:
            await self._write(rest)

    async def _over(self, line) -> bool:
        """Whether the stream ends before this line has passed."""
        fault = self.fault
        if fault.lines is None or self.passed < fault.lines:
            return False
        if fault.silence:
            await silent(fault)
        if fault.cut:
            half = line[: max(1, len(line) // 2)]
            if fault.cut == "chunk":
                self.writer.write(b"%x\r\n%s" % (len(line), half))
                await self.writer.drain()
            else:
                await self._write(half)
            raise Cut
        if fault.gone:
            await self._write(json.dumps({"type": "ERROR", "object": json.loads(status_of(410))}).encode() + b"\n")
        return fault.end or fault.gone

    async def _write(self, data):
        size = self.fault.split or len(data)
        for begin in range(0, len(data), size):
            part = data[begin : begin + size]
            self.writer.write(b"%x\r\n%s\r\n" % (len(part), part))
            await self.writer.drain()


async def silent(fault):
    await asyncio.sleep(fault.silence)
    raise Cut


def shifted(headers, seconds):
    """With another Date."""
    if not seconds:
        return headers
    return headers | {"Date": time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + seconds))}
