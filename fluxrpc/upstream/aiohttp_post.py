"""One POST over a connection of an aiohttp connector: writes the request, waits for the head of the response.

It stands in for aiohttp's client session, whose cookies, redirects, middlewares, default headers and response object
we never use, and which writes each body in a task of its own: together they cost as much as all of routing does.
Connections, pool, TLS, proxies and the HTTP parser stay aiohttp's.

Not a transport: no limits of time, no mapping of errors, and the connection is the caller's to close.
"""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, NamedTuple

import aiohttp
from aiohttp.http import StreamWriter
from yarl import URL

from fluxrpc.upstream.exchange import HeadLimits

if TYPE_CHECKING:
    from aiohttp.client_proto import ResponseHandler
    from aiohttp.connector import Connection
    from aiohttp.http import RawResponseMessage

__all__ = ["Arrived", "Headers", "Target", "head_of", "post"]

Headers = tuple[tuple[str, str], ...]

_WHOLE_BODY_BYTES = 256 * 1024
"""A longer body goes out in pieces, so that it neither holds up the loop nor lies in the socket's buffer as a whole."""
_PIECE_BYTES = 64 * 1024
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


class Target:
    """One URL, through one proxy or none, in the form in which a connector takes it. Serves any number of requests."""

    __slots__ = ("line", "request")

    def __init__(self, url: str, proxy: str | None) -> None:
        # Escapes stay as they were written: a model name must not become a path.
        parsed = URL(url, encoded=True)
        self.request = aiohttp.ClientRequest(
            "POST", parsed, proxy=None if proxy is None else URL(proxy), loop=asyncio.get_running_loop()
        )
        # RFC 9112, 3.2.2: a proxy that is no tunnel is told the whole URL.
        is_told_whole = proxy is not None and not self.request.is_ssl()
        path = str(parsed) if is_told_whole else parsed.raw_path_qs
        self.line = f"POST {path} HTTP/1.1\r\nHost: {self.request.headers['Host']}"


class Arrived(NamedTuple):
    """A response whose head is there."""

    connection: Connection
    head: RawResponseMessage
    content: aiohttp.StreamReader
    writing: asyncio.Task[None] | None
    """What still writes the request, where that is long."""


def head_of(target: Target, headers: Headers) -> bytes:
    """The head of a request as far as it does not depend on its body.

    Raises:
        ValueError: a control character, which could begin another header.
    """
    # The connector puts the credentials for a proxy that is no tunnel here, once it has connected.
    proxy_authorization = target.request.headers.get("Proxy-Authorization")
    if proxy_authorization is not None:
        headers = (*headers, ("Proxy-Authorization", proxy_authorization))
    lines = [target.line, *(f"{name}: {value}" for name, value in headers)]
    if any(_CONTROL.search(line) for line in lines[1:]):
        raise ValueError("a control character in a header")
    return "\r\n".join(lines).encode()


async def post(connection: Connection, head: bytes, body: bytes, limits: HeadLimits) -> Arrived:
    """Send a request whose `head` is from `head_of`.

    Raises:
        aiohttp.ClientError, OSError: the connection broke.
        aiohttp.http.HttpProcessingError: what came is not HTTP, or over the limits.
    """
    writing = None
    protocol = connection.protocol
    if protocol is None:
        raise aiohttp.ClientConnectionResetError("the connection is closed")
    try:
        protocol.set_response_params(
            read_until_eof=True,
            auto_decompress=False,
            max_line_size=limits.line_bytes,
            max_field_size=limits.line_bytes,
            max_headers=limits.header_count,
        )
        head += b"\r\nContent-Length: %d\r\n\r\n" % len(body)
        if len(body) <= _WHOLE_BODY_BYTES:
            _write(protocol, head + body)
        else:
            writing = asyncio.get_running_loop().create_task(_write_pieces(protocol, head, body))
        while True:
            message, content = await protocol.read()
            if not 100 <= message.code < 200 or message.code == 101:  # RFC 9110, 15.2: others announce the answer
                return Arrived(connection, message, content, writing)
    except BaseException:
        if writing is not None:
            writing.cancel()
        raise


def _write(protocol: ResponseHandler, data: bytes) -> None:
    transport = protocol.transport
    if transport is None or transport.is_closing():
        raise aiohttp.ClientConnectionResetError("the connection is closing")
    transport.write(data)


async def _write_pieces(protocol: ResponseHandler, head: bytes, body: bytes) -> None:
    """Write as fast as the peer reads. In the background: a peer may answer before it has read all, and not go on."""
    writer = StreamWriter(protocol, asyncio.get_running_loop())
    view = memoryview(body)
    try:
        await writer.write(head)
        for start in range(0, len(body), _PIECE_BYTES):
            await writer.write(view[start : start + _PIECE_BYTES])
    except (aiohttp.ClientError, OSError) as error:
        protocol.set_exception(error)
