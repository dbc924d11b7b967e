"""Callers who leave at any moment: the socket closes at once, and nothing stays behind."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import httpx
import pytest

from fluxrpc.errors import LocalFault, SilenceFault
from fluxrpc.upstream.aiohttp_transport import AiohttpTransport
from fluxrpc.upstream.exchange import Exchange, Transport, TransportSettings
from fluxrpc.upstream.httpx_transport import HttpxTransport

Serve = Callable[[Callable[[Any], Awaitable[None]]], Awaitable[Any]]
Make = Callable[..., Any]

POOL = 10
CANCELS = 2_000
WORKERS = 30


async def cancelled(work: Awaitable[Any], after_seconds: float) -> None:
    task = asyncio.ensure_future(work)
    await asyncio.sleep(after_seconds)
    assert not task.done()
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()


async def silent(connection: Any) -> None:
    await connection.request()
    await connection.until_gone()


async def half_a_stream(connection: Any) -> None:
    await connection.request()
    connection.begin_stream()
    connection.chunk(b"a")
    await connection.until_gone()


async def test_before_the_head(transport: Transport, serve: Serve, outgoing: Make) -> None:
    server = await serve(silent)
    await cancelled(transport.send(outgoing(server.url)), 0.05)
    await asyncio.wait_for(server.connections[0].gone.wait(), 0.5)


async def test_before_the_head_on_a_kept_connection(transport: Transport, serve: Serve, outgoing: Make) -> None:
    async def answer_once(connection: Any) -> None:
        await connection.request()
        connection.answer(b"{}")
        await silent(connection)

    server = await serve(answer_once)
    await (await transport.send(outgoing(server.url))).read(9)
    await cancelled(transport.send(outgoing(server.url)), 0.05)
    await asyncio.wait_for(server.connections[0].gone.wait(), 0.5)
    assert (len(server.connections), server.requests) == (1, 2)


async def test_before_the_head_with_a_body_nobody_reads(transport: Transport, serve: Serve, outgoing: Make) -> None:
    """Unsent bytes must not keep the socket open."""

    async def deaf(connection: Any) -> None:
        connection.writer.transport.pause_reading()
        while connection.writer.transport.get_extra_info("socket").fileno() >= 0:
            try:
                connection.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")  # fails once the peer has reset
                await connection.writer.drain()
            except ConnectionError:
                return
            await asyncio.sleep(0.01)

    server = await serve(deaf)
    await cancelled(transport.send(outgoing(server.url, b"x" * (32 << 20))), 0.1)
    await asyncio.wait_for(server.connections[0].gone.wait(), 1)


async def test_in_the_body(transport: Transport, serve: Serve, outgoing: Make) -> None:
    server = await serve(half_a_stream)
    exchange = await transport.send(outgoing(server.url))
    assert await exchange.next_chunk() == b"a"
    await cancelled(exchange.next_chunk(), 0.05)
    await asyncio.wait_for(server.connections[0].gone.wait(), 0.5)


async def test_by_closing_unread(transport: Transport, serve: Serve, outgoing: Make) -> None:
    server = await serve(half_a_stream)
    (await transport.send(outgoing(server.url))).close()
    await asyncio.wait_for(server.connections[0].gone.wait(), 0.5)


async def test_twice_in_a_row(serve: Serve, outgoing: Make) -> None:
    """A second cancellation must not interrupt what the first one began."""
    server = await serve(silent)
    for small in small_pools():
        transport = small()
        for _ in range(POOL + 2):
            task = asyncio.ensure_future(transport.send(outgoing(server.url)))
            await asyncio.sleep(0.01)
            task.cancel()
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
        with pytest.raises(SilenceFault):  # a place was free
            await transport.send(outgoing(server.url, first_byte_seconds=0.05))
        await transport.close()


def small_pools() -> list[Callable[[], AiohttpTransport | HttpxTransport]]:
    def injected() -> HttpxTransport:
        limits = httpx.Limits(max_connections=POOL, keepalive_expiry=15)
        return HttpxTransport(httpx.AsyncHTTPTransport(limits=limits, trust_env=False))

    return [lambda: AiohttpTransport(TransportSettings(max_connections=POOL)), injected]


@pytest.fixture(params=[0, 1], ids=["aiohttp", "httpx"])
async def small(request: pytest.FixtureRequest) -> AsyncIterator[AiohttpTransport | HttpxTransport]:
    transport = small_pools()[request.param]()
    yield transport
    await transport.close()


async def test_thousands_of_cancels_leave_no_place_taken(
    small: AiohttpTransport | HttpxTransport, serve: Serve, outgoing: Make
) -> None:
    chance = random.Random(7)

    async def wavering(connection: Any) -> None:
        while True:
            await connection.request()
            await asyncio.sleep(chance.random() * 0.006)
            connection.begin_stream()
            connection.chunk(b"data: 1\n\n")
            await asyncio.sleep(chance.random() * 0.004)
            connection.chunk(b"data: 2\n\n")
            connection.end_stream()

    async def call(url: str) -> int:
        exchange = await small.send(outgoing(url))
        try:
            size = 0
            while chunk := await exchange.next_chunk():
                size += len(chunk)
            return size
        finally:
            exchange.close()

    server = await serve(wavering)
    left = CANCELS
    loop = asyncio.get_running_loop()

    async def work() -> None:
        nonlocal left
        while left > 0:
            left -= 1
            task = loop.create_task(call(server.url))
            loop.call_later(chance.random() * 0.012, task.cancel)
            await asyncio.wait([task])

    await asyncio.gather(*(work() for _ in range(WORKERS)))
    assert small.in_use == 0
    async with asyncio.timeout(5):
        sizes = await asyncio.gather(*(call(server.url) for _ in range(50)))
    assert sizes == [18] * 50
    await asyncio.sleep(0.05)
    assert server.open <= POOL
    assert not small._tasks


async def test_waiting_for_a_place_is_no_fault_of_the_endpoint(serve: Serve, outgoing: Make) -> None:
    transport = AiohttpTransport(TransportSettings(max_connections=1))

    async def slow(connection: Any) -> None:
        while True:
            await connection.request()
            await asyncio.sleep(0.1)
            connection.answer(b"{}")

    server = await serve(slow)

    async def call() -> bytes:
        limited = outgoing(server.url, connect_seconds=0.2, first_byte_seconds=2.0)
        return await (await transport.send(limited)).read(9)

    assert await asyncio.gather(*(call() for _ in range(5))) == [b"{}"] * 5
    await transport.close()


async def test_retiring_lets_running_exchanges_end(transport: Any, serve: Serve, outgoing: Make) -> None:
    go = asyncio.Event()

    async def stream(connection: Any) -> None:
        while True:
            await connection.request()
            connection.begin_stream()
            connection.chunk(b"a")
            await go.wait()
            connection.chunk(b"b")
            connection.end_stream()

    server = await serve(stream)
    exchange: Exchange = await transport.send(outgoing(server.url))
    transport.retire()
    assert await exchange.next_chunk() == b"a"
    late = await transport.send(outgoing(server.url))
    go.set()
    assert await exchange.read(9) == b"b"
    assert await late.read(9) == b"ab"
    assert transport.in_use == 0
    if isinstance(transport, AiohttpTransport):  # an injected client is not ours to close
        await asyncio.wait_for(asyncio.gather(*(c.gone.wait() for c in server.connections)), 1)
    assert await (await transport.send(outgoing(server.url))).read(9) == b"ab"


async def test_closing_ends_everything(transport: Any, serve: Serve, outgoing: Make) -> None:
    body, head = await serve(half_a_stream), await serve(silent)
    exchange = await transport.send(outgoing(body.url))
    waiting = asyncio.ensure_future(transport.send(outgoing(head.url)))
    await asyncio.sleep(0.05)
    await transport.close()
    await transport.close()
    with pytest.raises(LocalFault):
        await waiting
    with pytest.raises(LocalFault):
        await transport.send(outgoing(body.url))
    await asyncio.wait_for(asyncio.gather(body.connections[0].gone.wait(), head.connections[0].gone.wait()), 1)
    exchange.close()


async def test_a_transport_that_is_not_httpcores(outgoing: Make) -> None:
    started = asyncio.Event()

    async def answer(request: httpx.Request) -> httpx.Response:
        started.set()
        if request.url.path == "/slow":
            await asyncio.Event().wait()
        return httpx.Response(200, content=b"{}")

    transport = HttpxTransport(httpx.MockTransport(answer))
    assert await (await transport.send(outgoing("http://mock/fast"))).read(9) == b"{}"
    await cancelled(transport.send(outgoing("http://mock/slow")), 0.02)
    with pytest.raises(SilenceFault):
        await transport.send(outgoing("http://mock/slow", connect_seconds=0.02, first_byte_seconds=0.02))
    await transport.close()
    assert not transport._tasks
