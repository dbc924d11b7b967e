"""What aiohttp's session would do for a request and `aiohttp_post` does instead."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from msgspec.structs import replace

from fluxrpc.upstream.aiohttp_transport import AiohttpTransport
from fluxrpc.upstream.exchange import Transport, TransportSettings

Serve = Callable[[Callable[[Any], Awaitable[None]]], Awaitable[Any]]
Make = Callable[..., Any]

LONG = bytes(range(256)) * 16 * 1024


async def echo(connection: Any) -> None:
    while True:
        await connection.request()
        connection.answer(b"{}")


async def test_a_long_body_arrives_whole_and_the_connection_is_kept(
    transport: Transport, serve: Serve, outgoing: Make
) -> None:
    server = await serve(echo)
    for _ in range(2):
        assert await (await transport.send(outgoing(server.url, LONG))).read(9) == b"{}"
    (connection,) = server.connections
    assert [sent.partition(b"\r\n\r\n")[2] == LONG for sent in connection.requests] == [True, True]


async def test_an_answer_before_the_body_was_read_is_one(serve: Serve, outgoing: Make) -> None:
    async def refuse(connection: Any) -> None:
        await connection.reader.readuntil(b"\r\n\r\n")
        connection.answer(b"too long", status="413 Content Too Large")
        connection.writer.transport.pause_reading()
        await asyncio.sleep(60)

    server = await serve(refuse)
    transport = AiohttpTransport()
    exchange = await transport.send(outgoing(server.url, LONG * 8))
    assert (exchange.status, await exchange.read(99)) == (413, b"too long")
    assert transport.in_use == 0
    await transport.close()


async def test_what_only_announces_the_answer_is_none(transport: Transport, serve: Serve, outgoing: Make) -> None:
    async def announce(connection: Any) -> None:
        await connection.request()
        connection.send(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n")
        connection.answer(b"{}")

    server = await serve(announce)
    exchange = await transport.send(outgoing(server.url))
    assert (exchange.status, await exchange.read(9)) == (200, b"{}")


async def test_a_proxy_that_is_no_tunnel_is_told_the_whole_url_and_its_credentials(
    serve: Serve, outgoing: Make
) -> None:
    proxy = await serve(echo)
    named = proxy.url.replace("http://", "http://me:pw@").removesuffix("/v1/chat")
    transport = AiohttpTransport(TransportSettings(proxy_url=named))
    for _ in range(2):
        await (await transport.send(outgoing("http://provider.invalid/v1/a%2Fb"))).read(9)
    await transport.close()
    (connection,) = proxy.connections
    for request in connection.requests:
        line, *headers = request.partition(b"\r\n\r\n")[0].split(b"\r\n")
        assert line == b"POST http://provider.invalid/v1/a%2Fb HTTP/1.1"
        assert {b"Host: provider.invalid", b"Proxy-Authorization: Basic " + b64encode(b"me:pw")} <= set(headers)


async def test_a_header_cannot_begin_another(serve: Serve, outgoing: Make) -> None:
    server = await serve(echo)
    transport = AiohttpTransport()
    broken = replace(outgoing(server.url), headers=(("x-a", "1\r\nx-b: 2"),))
    with pytest.raises(ValueError, match="control character"):
        await transport.send(broken)
    assert (server.requests, transport.in_use) == (0, 0)
    await transport.close()
