"""The default transport: one aiohttp connector for one service endpoint.

aiohttp keeps its pool whole when tasks are cancelled at any moment, so exchanges run in the caller's own task. It is
used below its session (`aiohttp_post`): no redirects, no cookies, no decompression, none of its timeouts.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from contextvars import ContextVar
from functools import lru_cache
from typing import TYPE_CHECKING

import aiohttp
from aiohttp.http import HttpProcessingError, RawResponseMessage

from fluxrpc.errors import AnswerFault, AttemptError, LocalFault, NetworkFault, SilenceFault, StaleConnection
from fluxrpc.upstream.aiohttp_post import Arrived, Headers, Target, head_of, post
from fluxrpc.upstream.body import BodyExchange, Spawn
from fluxrpc.upstream.client_life import ClientLife
from fluxrpc.upstream.exchange import (
    OutgoingRequest,
    TimeLimits,
    TransportSettings,
    checked_headers,
    wire_headers,
)
from fluxrpc.upstream.local_errors import LOCAL_ERRNOS
from fluxrpc.upstream.proxy import proxy_for

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from aiohttp.client_proto import ResponseHandler
    from aiohttp.client_reqrep import ClientRequest, ConnectionKey
    from aiohttp.connector import Connection
    from aiohttp.tracing import Trace

__all__ = ["AiohttpTransport"]

_NO_TIMEOUTS = aiohttp.ClientTimeout(total=None, connect=None, sock_connect=None, sock_read=None)

_KEPT = 1024
"""Targets and heads that are kept as they go out: a few for each route, more only where callers add headers."""

_FAULTS: tuple[tuple[type[Exception], type[AttemptError], str], ...] = (
    (aiohttp.ClientConnectorDNSError, NetworkFault, "name not resolved"),
    (aiohttp.ClientConnectorCertificateError, NetworkFault, "certificate not accepted"),
    (aiohttp.ClientSSLError, NetworkFault, "tls handshake failed"),
    (ssl.SSLError, NetworkFault, "tls failed"),
    (aiohttp.ClientProxyConnectionError, NetworkFault, "proxy not reachable"),
    (aiohttp.ClientHttpProxyError, NetworkFault, "proxy refused"),
    (aiohttp.ClientConnectorError, NetworkFault, "connection failed"),
    (aiohttp.ClientPayloadError, AnswerFault, "body cut"),
    (HttpProcessingError, AnswerFault, "not HTTP, or its head is over the limit"),
    (aiohttp.ClientResponseError, AnswerFault, "not HTTP, or its head is over the limit"),
    (aiohttp.InvalidURL, NetworkFault, "address not usable"),
    (UnicodeError, NetworkFault, "name not resolved"),  # of a host name that no resolver takes
)
"""The one table from aiohttp's exceptions to ours, first match wins. What is not in it is a reset connection."""


class _Send:
    """What is known of one `send` while it waits: its limits, its socket, which limit ran out."""

    __slots__ = ("clock", "connect_expired", "fresh_only", "limits", "reused", "transport")

    def __init__(self, limits: TimeLimits, *, fresh_only: bool) -> None:
        self.limits = limits
        self.fresh_only = fresh_only
        self.reused = True
        self.connect_expired = False
        self.transport: asyncio.Transport | None = None
        # A scope costs a fifth of a whole send, so there is one only where a limit asks for it.
        self.clock = None if limits.first_byte_seconds is None else asyncio.timeout(None)

    def connected(self, transport: asyncio.Transport | None) -> None:
        self.transport = transport
        if self.clock is not None and self.limits.first_byte_seconds is not None:
            self.clock.reschedule(asyncio.get_running_loop().time() + self.limits.first_byte_seconds)

    def abort(self) -> None:
        if self.transport is not None:
            self.transport.abort()  # a close would first flush what the peer does not read

    def fault(self, error: Exception) -> AttemptError:
        """What of ours stands for an exception before the head of the response."""
        if isinstance(error, AttemptError):
            return error
        if self.connect_expired:
            return NetworkFault("connect timeout")
        if self.clock is not None and self.clock.expired():
            return SilenceFault("no response within the limit")
        if getattr(error, "errno", None) in LOCAL_ERRNOS:
            return LocalFault("out of local resources")
        if isinstance(error, ConnectionRefusedError) or getattr(error, "errno", None) == errno.ECONNREFUSED:
            return NetworkFault("connection refused")
        for foreign, own, detail in _FAULTS:
            if isinstance(error, foreign):
                return own(detail)
        if isinstance(error, aiohttp.ServerDisconnectedError) and isinstance(error.message, RawResponseMessage):
            return AnswerFault("response head cut")
        if self.reused:
            return StaleConnection("kept connection was dead")
        return NetworkFault("connection reset before an answer")


_sending: ContextVar[_Send] = ContextVar("fluxrpc_sending")


class _Connector(aiohttp.TCPConnector):
    """Tells the running `send` where it stands; cheaper than aiohttp's tracing, which runs per request."""

    def _get(self, key: ConnectionKey, traces: list[Trace]) -> Coroutine[None, None, Connection | None]:
        return _nothing_kept() if _sending.get().fresh_only else super()._get(key, traces)

    async def _create_connection(
        self,
        req: ClientRequest,
        traces: list[Trace],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109  # the signature is aiohttp's
    ) -> ResponseHandler:
        sending = _sending.get()
        sending.reused = False
        limit = asyncio.timeout(sending.limits.connect_seconds)
        try:
            async with limit:
                return await super()._create_connection(req, traces, timeout)
        finally:
            sending.connect_expired = limit.expired()


async def _nothing_kept() -> None:
    """The answer of a pool in which nothing is to be looked for."""


class AiohttpTransport(ClientLife):
    """See `fluxrpc.upstream.exchange.Transport`."""

    def __init__(self, settings: TransportSettings | None = None) -> None:
        super().__init__()
        self._settings = settings or TransportSettings()
        self._connector: _Connector | None = None
        self._target = lru_cache(_KEPT)(Target)
        self._head = lru_cache(_KEPT)(_head)

    async def send(self, request: OutgoingRequest) -> _AiohttpExchange:
        """See `Transport.send`."""
        self._begin()
        exchange = None
        sending = _Send(request.time_limits, fresh_only=request.fresh_connection)
        token = _sending.set(sending)
        try:
            if sending.clock is None:
                exchange = await self._exchange(request, sending)
            else:
                async with sending.clock:
                    exchange = await self._exchange(request, sending)
        except (AttemptError, aiohttp.ClientError, HttpProcessingError, OSError, UnicodeError) as error:
            sending.abort()
            if self._closed:
                raise LocalFault("transport closed") from error
            raise sending.fault(error) from error
        except BaseException:
            sending.abort()
            raise
        finally:
            _sending.reset(token)
            self._sent(exchange)
        return exchange

    async def _exchange(self, request: OutgoingRequest, sending: _Send) -> _AiohttpExchange:
        target = self._target(request.url, proxy_for(request.url, self._settings))
        connection = await self._open_connector().connect(target.request, [], _NO_TIMEOUTS)
        try:
            sending.connected(connection.transport)
            limits = self._settings.head_limits
            arrived = await post(connection, self._head(target, request.headers), request.body, limits)
            return _AiohttpExchange(
                arrived,
                checked_headers(arrived.head.raw_headers, limits),
                idle_seconds=request.time_limits.idle_seconds,
                spawn=self._spawn,
                on_end=self._ended,
            )
        except BaseException:
            connection.close()
            raise

    def _open_connector(self) -> _Connector:
        if self._connector is None:
            settings = self._settings
            self._connector = _Connector(
                limit=settings.max_connections,
                keepalive_timeout=settings.keepalive_seconds,
                ssl=settings.ssl_context or True,
                socket_factory=_open_socket,
            )
        return self._connector

    async def _close_client(self) -> None:
        connector, self._connector = self._connector, None
        if connector is not None:
            await connector.close()


class _AiohttpExchange(BodyExchange):
    """See `fluxrpc.upstream.exchange.Exchange`."""

    __slots__ = ("_connection", "_content", "_writing")

    def __init__(
        self,
        arrived: Arrived,
        headers: dict[str, str],
        *,
        idle_seconds: float | None,
        spawn: Spawn,
        on_end: Callable[[BodyExchange], None],
    ) -> None:
        super().__init__(arrived.head.code, headers, idle_seconds=idle_seconds, spawn=spawn, on_end=on_end)
        self._connection = arrived.connection
        self._content = arrived.content
        self._writing = arrived.writing
        self._content.on_eof(self._give_back)

    async def _next_raw(self) -> bytes:
        content = self._content
        if content.exception() is None:
            raw = content.read_nowait(-1)
            if raw or content.is_eof():
                return raw
        elif raw := content._read_nowait(-1):  # noqa: SLF001  # the public one raises first
            return raw  # what came before the cut still counts: it may hold the end of the answer
        self._start_waiting()
        try:
            return await content.readany()
        except (aiohttp.ClientError, OSError) as error:
            raise AnswerFault("body cut") from error

    def _interrupt(self) -> None:
        self._content.set_exception(SilenceFault("no data within the idle limit"))

    def _body_ended(self) -> bool:
        return self._content.is_eof()

    def _give_back(self) -> None:
        """The body is here to its last byte: others may use the connection, unless it is still written to."""
        protocol = self._connection.protocol
        if protocol is not None and not protocol.upgraded and (self._writing is None or self._writing.done()):
            self._connection.release()

    def _release(self) -> None:
        connection = self._connection
        if connection.protocol is None:
            return  # given back at the end of the body
        if self._writing is not None:
            self._writing.cancel()
        if connection.transport is not None:
            connection.transport.abort()
        if self._content.exception() is None:
            self._content.set_exception(aiohttp.ClientConnectionError("closed"))  # wakes who still reads
        connection.close()


def _head(target: Target, headers: Headers) -> bytes:
    return head_of(target, wire_headers(headers))


def _open_socket(address: tuple[int, int, int, str, object]) -> socket.socket:
    """A socket that notices a peer that has vanished: streams may be silent for minutes."""
    family, kind, proto, _, _ = address
    opened = socket.socket(family, kind, proto)
    for level, option, value in _SOCKET_OPTIONS:
        opened.setsockopt(level, option, value)
    return opened


_SOCKET_OPTIONS = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
    *(
        (socket.IPPROTO_TCP, getattr(socket, name), value)
        for name, value in (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 15), ("TCP_KEEPCNT", 4))
        if hasattr(socket, name)
    ),
)
