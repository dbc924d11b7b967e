"""Whole answers and streams through both transports."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from fluxrpc.errors import AnswerFault, AnswerOversize, AttemptError, SilenceFault
from fluxrpc.upstream.body import BodyExchange
from fluxrpc.upstream.exchange import Exchange, Transport

Serve = Callable[[Callable[[Any], Awaitable[None]]], Awaitable[Any]]
Make = Callable[..., Any]


async def echo(connection: Any) -> None:
    while True:
        await connection.request()
        connection.answer(b'{"ok":true}', headers="X-Request-Id: r1\r\nSet-Cookie: a=b\r\nX-Twice: 1\r\nx-twice: 2\r\n")


async def chunks_of(exchange: Exchange) -> list[bytes]:
    chunks = []
    while chunk := await exchange.next_chunk():
        chunks.append(chunk)
    exchange.close()
    return chunks


async def test_a_whole_answer_and_its_head(transport: Transport, serve: Serve, outgoing: Make) -> None:
    server = await serve(echo)
    exchange = await transport.send(outgoing(server.url, b'{"model":"m"}'))
    assert exchange.status == 200
    assert exchange.headers["x-request-id"] == "r1"
    assert exchange.headers["x-twice"] == "1, 2"
    assert await exchange.read(1000) == b'{"ok":true}'
    exchange.close()


async def test_the_request_is_sent_as_given(transport: Transport, serve: Serve, outgoing: Make) -> None:
    server = await serve(echo)
    await (await transport.send(outgoing(server.url + "/a%2Fb%3A1?x=%20y", b"BODY"))).read(99)
    head, _, body = server.connections[0].requests[0].partition(b"\r\n\r\n")
    assert body == b"BODY"
    assert head.startswith(b"POST /v1/chat/a%2Fb%3A1?x=%20y HTTP/1.1\r\n")
    lines = {line.lower() for line in head.split(b"\r\n")[1:]}
    assert {b"authorization: bearer key-secret", b"accept-encoding: gzip, deflate", b"user-agent: fluxrpc"} <= lines
    assert {line.split(b":")[0] for line in lines} == {
        *(b"host", b"authorization", b"content-type", b"content-length", b"accept", b"accept-encoding", b"user-agent")
    }


async def test_connections_are_kept_and_cookies_are_not(transport: Transport, serve: Serve, outgoing: Make) -> None:
    server = await serve(echo)
    for _ in range(5):
        await (await transport.send(outgoing(server.url))).read(99)
    assert len(server.connections) == 1
    assert not any(b"cookie" in request.lower() for request in server.connections[0].requests)


async def test_a_redirect_is_an_answer_and_never_followed(transport: Transport, serve: Serve, outgoing: Make) -> None:
    async def redirect(connection: Any) -> None:
        await connection.request()
        connection.answer(b"", status="307 Temporary Redirect", headers=f"location: {other.url}\r\n")

    other = await serve(echo)
    server = await serve(redirect)
    exchange = await transport.send(outgoing(server.url))
    exchange.close()
    assert (exchange.status, other.requests) == (307, 0)


async def test_chunks_are_given_as_they_come(transport: Transport, serve: Serve, outgoing: Make) -> None:
    go = asyncio.Queue[bytes]()

    async def stream(connection: Any) -> None:
        await connection.request()
        connection.begin_stream()
        while data := await go.get():
            connection.chunk(data)
        connection.end_stream()
        await connection.until_gone()

    server = await serve(stream)
    exchange = await transport.send(outgoing(server.url))
    for data in (b"data: 1\n\n", b"data: 2\n\n"):
        go.put_nowait(data)
        assert await exchange.next_chunk() == data
    go.put_nowait(b"")
    assert await exchange.next_chunk() == b""
    assert await exchange.next_chunk() == b""
    exchange.close()
    exchange.close()


PACKERS: list[tuple[str, Callable[[bytes], bytes]]] = [
    ("gzip", gzip.compress),
    ("x-gzip", lambda data: gzip.compress(data[:100]) + gzip.compress(data[100:])),
    ("deflate", zlib.compress),
    ("deflate", lambda data: zlib.compress(data)[2:-4]),
    ("identity", bytes),
]


@pytest.mark.parametrize("piece", [1, 7, 100_000])
@pytest.mark.parametrize("packer", range(len(PACKERS)))
async def test_compressed_bodies_are_unfolded(
    transport: Transport, serve: Serve, outgoing: Make, packer: int, piece: int
) -> None:
    name, compress = PACKERS[packer]
    text = b"".join(b'{"n":%d}' % n for n in range(60))
    body = compress(text)

    async def stream(connection: Any) -> None:
        await connection.request()
        connection.begin_stream(f"content-encoding: {name}\r\n")
        for start in range(0, len(body), piece):
            connection.chunk(body[start : start + piece])
        connection.end_stream()

    server = await serve(stream)
    assert await (await transport.send(outgoing(server.url))).read(len(text)) == text


async def test_a_flushed_compressed_stream_is_not_delayed(transport: Transport, serve: Serve, outgoing: Make) -> None:
    async def stream(connection: Any) -> None:
        await connection.request()
        connection.begin_stream("content-encoding: gzip\r\n")
        packer = zlib.compressobj(wbits=31)
        connection.chunk(packer.compress(b"data: 1\n\n") + packer.flush(zlib.Z_SYNC_FLUSH))
        await connection.until_gone()

    exchange = await transport.send(outgoing((await serve(stream)).url))
    assert await exchange.next_chunk() == b"data: 1\n\n"
    exchange.close()


async def test_a_zip_bomb_ends_at_the_limit(
    transport: Transport, serve: Serve, outgoing: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    bomb = gzip.compress(bytes(64 << 20), compresslevel=9)
    seen: list[int] = []

    async def stream(connection: Any) -> None:
        await connection.request()
        connection.answer(bomb, headers="content-encoding: gzip\r\n")
        await connection.until_gone()

    next_chunk = BodyExchange.next_chunk

    async def watched(exchange: BodyExchange) -> bytes:
        seen.append(len(piece := await next_chunk(exchange)))
        return piece

    exchange = await transport.send(outgoing((await serve(stream)).url))
    monkeypatch.setattr(BodyExchange, "next_chunk", watched)
    with pytest.raises(AnswerOversize):
        await exchange.read(1 << 20)
    assert max(seen) <= 256 * 1024
    assert sum(seen) <= (1 << 20) + 256 * 1024


@pytest.mark.parametrize("announced", [True, False])
async def test_a_body_over_the_limit(transport: Transport, serve: Serve, outgoing: Make, announced: bool) -> None:
    async def answer(connection: Any) -> None:
        await connection.request()
        if announced:
            connection.send(b"HTTP/1.1 200 OK\r\ncontent-length: 101\r\n\r\n")
        else:
            connection.begin_stream()
            connection.chunk(b"x" * 101)
        await connection.until_gone()

    server = await serve(answer)
    with pytest.raises(AnswerOversize):
        await (await transport.send(outgoing(server.url))).read(100)
    await asyncio.wait_for(server.connections[0].gone.wait(), 1)


async def test_a_body_of_exactly_the_limit(transport: Transport, serve: Serve, outgoing: Make) -> None:
    server = await serve(echo)
    assert len(await (await transport.send(outgoing(server.url))).read(11)) == 11


CUT: dict[str, tuple[bytes, bytes]] = {
    "content-length": (b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n", b"abc"),
    "chunk missing": (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", b"3\r\nabc\r\n"),
    "inside a chunk": (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", b"9\r\nabc"),
    "bad chunk": (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", b"3\r\nabc\r\nzz\r\n"),
    "gzip": (
        b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\nconnection: close\r\n\r\n",
        gzip.compress(b"abcabcabc")[:-9],
    ),
    "not gzip": (b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 3\r\n\r\n", b"abc"),
}


@pytest.mark.parametrize("case", CUT)
async def test_a_cut_or_broken_body_is_never_a_whole_one(
    transport: Transport, serve: Serve, outgoing: Make, case: str
) -> None:
    async def answer(connection: Any) -> None:
        await connection.request()
        connection.send(CUT[case][0] + CUT[case][1])

    server = await serve(answer)
    with pytest.raises(AnswerFault):  # one that came together with the head may show there
        await (await transport.send(outgoing(server.url))).read(1000)


async def test_bytes_before_a_cut_are_given_first(transport: Transport, serve: Serve, outgoing: Make) -> None:
    async def answer(connection: Any) -> None:
        await connection.request()
        connection.begin_stream()
        connection.chunk(b"data: [DONE]\n\n")

    server = await serve(answer)
    exchange = await transport.send(outgoing(server.url))
    await server.connections[0].gone.wait()
    await asyncio.sleep(0.02)
    assert await exchange.next_chunk() == b"data: [DONE]\n\n"
    with pytest.raises(AnswerFault):
        await exchange.next_chunk()


async def test_an_encoding_that_was_not_asked_for(transport: Transport, serve: Serve, outgoing: Make) -> None:
    async def answer(connection: Any) -> None:
        await connection.request()
        connection.answer(b"???", headers="content-encoding: br\r\n")
        await connection.until_gone()

    server = await serve(answer)
    with pytest.raises(AnswerFault):
        await transport.send(outgoing(server.url))
    await asyncio.wait_for(server.connections[0].gone.wait(), 1)


HEADS = {
    "not http": b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
    "long line": b"HTTP/1.1 200 OK\r\nx: " + b"y" * 20_000 + b"\r\ncontent-length: 0\r\n\r\n",
    "many lines": b"HTTP/1.1 200 OK\r\n" + b"".join(b"x%d: y\r\n" % n for n in range(200)) + b"\r\n",
}


@pytest.mark.parametrize("case", HEADS)
async def test_a_bad_head(transport: Transport, serve: Serve, outgoing: Make, case: str) -> None:
    async def answer(connection: Any) -> None:
        await connection.request()
        connection.send(HEADS[case])
        await connection.until_gone()

    server = await serve(answer)
    with pytest.raises(AnswerFault):
        await transport.send(outgoing(server.url, first_byte_seconds=3.0))
    await asyncio.wait_for(server.connections[0].gone.wait(), 1)


async def test_silence_before_the_head(transport: Transport, serve: Serve, outgoing: Make) -> None:
    async def silent(connection: Any) -> None:
        await connection.request()
        await connection.until_gone()

    server = await serve(silent)
    with pytest.raises(SilenceFault):
        await transport.send(outgoing(server.url, first_byte_seconds=0.1))
    await asyncio.wait_for(server.connections[0].gone.wait(), 1)


async def test_silence_in_the_body(transport: Transport, serve: Serve, outgoing: Make) -> None:
    async def stall(connection: Any) -> None:
        await connection.request()
        connection.begin_stream()
        connection.chunk(b"a")
        await connection.until_gone()

    server = await serve(stall)
    exchange = await transport.send(outgoing(server.url, idle_seconds=0.15))
    assert await exchange.next_chunk() == b"a"
    with pytest.raises(SilenceFault):
        await exchange.next_chunk()
    await asyncio.wait_for(server.connections[0].gone.wait(), 1)
    with pytest.raises(AttemptError):
        await exchange.next_chunk()


async def test_the_idle_limit_is_no_total_and_stands_still_unread(
    transport: Transport, serve: Serve, outgoing: Make
) -> None:
    """A drip longer than the limit passes; so does a pause of the reader longer than the limit."""

    async def drip(connection: Any) -> None:
        await connection.request()
        connection.begin_stream()
        for _ in range(5):
            connection.chunk(b"a")
            await asyncio.sleep(0.12)
        connection.end_stream()

    exchange = await transport.send(outgoing((await serve(drip)).url, idle_seconds=0.4, first_byte_seconds=0.4))
    got = await exchange.next_chunk()
    await asyncio.sleep(0.45)
    assert got + b"".join(await chunks_of(exchange)) == b"aaaaa"


async def test_finishing_keeps_the_connection(transport: Transport, serve: Serve, outgoing: Make) -> None:
    async def late_end(connection: Any) -> None:
        while True:
            await connection.request()
            connection.begin_stream()
            connection.chunk(b"data: [DONE]\n\n")
            await asyncio.sleep(0.005)
            connection.end_stream()

    server = await serve(late_end)
    for _ in range(10):
        exchange = await transport.send(outgoing(server.url))
        assert await exchange.next_chunk() == b"data: [DONE]\n\n"
        exchange.finish()
        exchange.close()
        await asyncio.sleep(0.02)
    assert len(server.connections) <= 2


async def test_finishing_a_body_that_never_ends_closes_it(transport: Transport, serve: Serve, outgoing: Make) -> None:
    async def endless(connection: Any) -> None:
        await connection.request()
        connection.begin_stream()
        connection.chunk(b"data: [DONE]\n\n")
        await connection.until_gone()

    server = await serve(endless)
    exchange = await transport.send(outgoing(server.url))
    await exchange.next_chunk()
    exchange.finish()
    await asyncio.wait_for(server.connections[0].gone.wait(), 1)
