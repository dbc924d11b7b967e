"""A raw TCP server whose answers a test writes byte by byte, and the transports under test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

import httpx
import pytest

from fluxrpc.upstream.aiohttp_transport import AiohttpTransport
from fluxrpc.upstream.exchange import OutgoingRequest, TimeLimits, Transport
from fluxrpc.upstream.httpx_transport import HttpxTransport

Answer = Callable[["Connection"], Awaitable[None]]


@dataclass(slots=True, eq=False)
class Connection:
    """One accepted connection, as the server sees it."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    requests: list[bytes] = field(default_factory=list)
    gone: asyncio.Event = field(default_factory=asyncio.Event)

    async def request(self) -> bytes:
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = next((line[15:] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), b"0")
        body = await self.reader.readexactly(int(length))
        self.requests.append(head + body)
        return head + body

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    def answer(self, body: bytes, *, status: str = "200 OK", headers: str = "") -> None:
        self.send(f"HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\n{headers}\r\n".encode() + body)

    def begin_stream(self, headers: str = "content-type: text/event-stream\r\n") -> None:
        self.send(f"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n{headers}\r\n".encode())

    def chunk(self, data: bytes) -> None:
        self.send(b"%x\r\n%s\r\n" % (len(data), data))

    def end_stream(self) -> None:
        self.send(b"0\r\n\r\n")

    async def until_gone(self) -> None:
        """Wait until the client has closed."""
        while await self.reader.read(65536):
            pass


class RawServer:
    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.connections: list[Connection] = []
        self.open = 0
        self.url = ""
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1/chat"

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        connection = Connection(reader, writer)
        self.connections.append(connection)
        self.open += 1
        try:
            await self.answer(connection)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self.open -= 1
            connection.gone.set()
            writer.close()
            self._tasks.discard(task)

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        for task in tuple(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(tuple(self._tasks))

    @property
    def requests(self) -> int:
        return sum(len(connection.requests) for connection in self.connections)


Serve = Callable[[Answer], Awaitable[RawServer]]
Make = Callable[..., OutgoingRequest]


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    async with AsyncExitStack() as stack:

        async def start(answer: Answer) -> RawServer:
            server = RawServer(answer)
            await server.start()
            stack.push_async_callback(server.stop)
            return server

        yield start


def httpx_client() -> httpx.AsyncClient:
    return httpx.AsyncClient(trust_env=False, limits=httpx.Limits(max_connections=100, keepalive_expiry=15))


@pytest.fixture(params=["aiohttp", "httpx"])
async def transport(request: pytest.FixtureRequest) -> AsyncIterator[Transport]:
    if request.param == "aiohttp":
        plain = AiohttpTransport()
        yield plain
        await plain.close()
        return
    async with httpx_client() as client:
        injected = HttpxTransport(client)
        yield injected
        await injected.close()


@pytest.fixture
def outgoing() -> Make:
    def make(url: str, body: bytes = b"{}", **limits: float | None) -> OutgoingRequest:
        return OutgoingRequest(
            url=url,
            headers=(("content-type", "application/json"), ("authorization", "Bearer KEY-SECRET")),
            body=body,
            time_limits=TimeLimits(**{"connect_seconds": 2.0, "idle_seconds": 5.0, **limits}),  # type: ignore[arg-type]
        )

    return make
