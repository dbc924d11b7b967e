"""Connections that cannot be made, or die, through both transports: each fault has its own name."""

from __future__ import annotations

import asyncio
import os
import resource
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import httpx
import pytest
import trustme
from msgspec.structs import replace

from fluxrpc.errors import AnswerFault, AttemptError, LocalFault, NetworkFault, Outcome, StaleConnection
from fluxrpc.upstream.aiohttp_transport import AiohttpTransport
from fluxrpc.upstream.exchange import Transport, TransportSettings
from fluxrpc.upstream.httpx_transport import HttpxTransport

Serve = Callable[[Callable[[Any], Awaitable[None]]], Awaitable[Any]]
Make = Callable[..., Any]


def reset(connection: Any) -> None:
    """Close with RST instead of FIN."""
    sock = connection.writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.writer.transport.abort()


@pytest.fixture
def closed_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


async def test_refused(transport: Transport, outgoing: Make, closed_port: int) -> None:
    with pytest.raises(NetworkFault) as caught:
        await transport.send(outgoing(f"http://127.0.0.1:{closed_port}/v1"))
    assert caught.value.detail == "connection refused"
    assert caught.value.__cause__ is not None


async def test_no_such_host(transport: Transport, outgoing: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_name(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", no_name)
    with pytest.raises(NetworkFault) as caught:
        await transport.send(outgoing("http://provider.invalid/v1"))
    assert caught.value.detail == "name not resolved"


async def test_a_host_that_no_resolver_takes(transport: Transport, outgoing: Make) -> None:
    with pytest.raises(NetworkFault):
        await transport.send(outgoing(f"http://{'a' * 64}/"))


async def test_connecting_takes_too_long(transport: Transport, outgoing: Make) -> None:
    with socket.socket() as full:  # a listener with a full queue drops the next SYN
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        address = full.getsockname()
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(address)
        try:
            with pytest.raises(NetworkFault) as caught:
                await transport.send(outgoing(f"http://127.0.0.1:{address[1]}/v1", connect_seconds=0.2))
        finally:
            for filler in fillers:
                filler.close()
    assert caught.value.detail == "connect timeout"
    assert not isinstance(caught.value, StaleConnection)


@pytest.mark.parametrize("kind", ["fin", "rst"])
async def test_a_fresh_connection_that_dies(transport: Transport, serve: Serve, outgoing: Make, kind: str) -> None:
    async def die(connection: Any) -> None:
        await connection.request()
        if kind == "rst":
            reset(connection)

    with pytest.raises(NetworkFault) as caught:
        await transport.send(outgoing((await serve(die)).url))
    assert not isinstance(caught.value, StaleConnection)
    assert caught.value.outcome is Outcome.NETWORK


@pytest.mark.parametrize("kind", ["fin", "rst"])
async def test_a_kept_connection_that_dies_blames_nobody(
    transport: Transport, serve: Serve, outgoing: Make, kind: str
) -> None:
    async def die_on_the_second(connection: Any) -> None:
        await connection.request()
        connection.answer(b"{}")
        if len(server.connections) == 1:
            await connection.request()
            if kind == "rst":
                reset(connection)
            return
        await connection.until_gone()

    server = await serve(die_on_the_second)
    await (await transport.send(outgoing(server.url))).read(9)
    with pytest.raises(StaleConnection):
        await transport.send(outgoing(server.url))
    assert await (await transport.send(outgoing(server.url))).read(9) == b"{}"
    assert len(server.connections) == 2


async def test_a_connection_closed_while_idle_is_not_used(transport: Transport, serve: Serve, outgoing: Make) -> None:
    async def once(connection: Any) -> None:
        await connection.request()
        connection.answer(b"{}")

    server = await serve(once)
    for _ in range(3):
        await (await transport.send(outgoing(server.url))).read(9)
        await asyncio.sleep(0.01)
    assert len(server.connections) == 3


async def test_a_fresh_connection_can_be_asked_for(serve: Serve, outgoing: Make) -> None:
    async def echo(connection: Any) -> None:
        while True:
            await connection.request()
            connection.answer(b"{}")

    transport, server = AiohttpTransport(), await serve(echo)
    for fresh in (False, False, True):
        request = replace(outgoing(server.url), fresh_connection=fresh)
        await (await transport.send(request)).read(9)
    assert len(server.connections) == 2
    await transport.close()


async def test_a_head_that_breaks_off_is_an_answer(serve: Serve, outgoing: Make) -> None:
    async def half(connection: Any) -> None:
        await connection.request()
        connection.send(b"HTTP/1.1 200 OK\r\ncontent-type: text")

    transport = AiohttpTransport()
    with pytest.raises(AttemptError) as caught:
        await transport.send(outgoing((await serve(half)).url))
    assert isinstance(caught.value, (AnswerFault, NetworkFault))
    await transport.close()


async def test_our_own_shortage_blames_no_endpoint(transport: Transport, serve: Serve, outgoing: Make) -> None:
    async def echo(connection: Any) -> None:
        await connection.request()
        connection.answer(b"{}")

    server = await serve(echo)
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    os.close(free := os.dup(0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, limit[1]))  # the next descriptor is one too many
    try:
        with pytest.raises(LocalFault) as caught:
            await transport.send(outgoing(server.url))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limit)
    assert caught.value.outcome is Outcome.ABANDONED
    assert await (await transport.send(outgoing(server.url))).read(9) == b"{}"


# --- TLS -------------------------------------------------------------------------------------------------------------


@pytest.fixture(params=["aiohttp", "httpx"])
async def tls(request: pytest.FixtureRequest) -> AsyncIterator[tuple[str, Callable[[ssl.SSLContext], Transport]]]:
    authority = trustme.CA()
    server_side = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(server_side)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}")
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=server_side)
    made: list[Any] = []

    def make(context: ssl.SSLContext) -> Transport:
        transport: Transport
        if request.param == "aiohttp":
            transport = AiohttpTransport(TransportSettings(ssl_context=context))
        else:
            transport = HttpxTransport(httpx.AsyncHTTPTransport(verify=context, trust_env=False))
        made.append(transport)
        return transport

    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    make.trusting = trusting  # type: ignore[attr-defined]
    yield f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", make
    for transport in made:
        await transport.close()
    server.close()


async def test_tls_to_a_trusted_server(tls: Any, outgoing: Make) -> None:
    url, make = tls
    exchange = await make(make.trusting).send(outgoing(url))
    assert await exchange.read(9) == b"{}"


async def test_a_certificate_that_is_not_trusted(tls: Any, outgoing: Make) -> None:
    url, make = tls
    with pytest.raises(NetworkFault) as caught:
        await make(ssl.create_default_context()).send(outgoing(url))
    assert caught.value.detail == "certificate not accepted"


async def test_tls_to_a_server_without_it(tls: Any, serve: Serve, outgoing: Make) -> None:
    async def plain(connection: Any) -> None:
        connection.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await connection.until_gone()

    _, make = tls
    server = await serve(plain)
    with pytest.raises(NetworkFault):
        await make(make.trusting).send(outgoing(server.url.replace("http:", "https:")))


# --- proxies and the environment -------------------------------------------------------------------------------------


async def test_the_environment_is_read_only_when_asked(
    serve: Serve, outgoing: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def echo(connection: Any) -> None:
        await connection.request()
        connection.answer(b"{}")

    proxy, server = await serve(echo), await serve(echo)
    monkeypatch.setenv("http_proxy", proxy.url)
    monkeypatch.setenv("no_proxy", "")
    for settings, seen in (
        (TransportSettings(), 0),
        (TransportSettings(trust_env=True), 1),
        (TransportSettings(proxy_url=proxy.url), 2),
    ):
        transport = AiohttpTransport(settings)
        await (await transport.send(outgoing(server.url))).read(9)
        await transport.close()
        assert proxy.requests == seen
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    transport = AiohttpTransport(TransportSettings(trust_env=True))
    await (await transport.send(outgoing(server.url))).read(9)
    await transport.close()
    assert (proxy.requests, server.requests) == (2, 2)
