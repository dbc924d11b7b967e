"""The injected transport: an `httpx.AsyncClient`, or any httpx transport, that somebody else has configured.

httpcore (1.0.9) loses a place of its pool for good when a task is cancelled while it connects or queues
(encode/httpcore#1093). So no task that is inside httpcore is ever cancelled: each exchange has an owner task that
makes the request, reads and closes the response. Whoever waits for it may leave at any moment; then the socket is
closed from outside, and the owner meets an ordinary error.

Which socket an exchange uses is known from httpcore's `trace` extension (new connections) and from the first write
on it (kept ones). Transports that are not httpcore's, and HTTP/2 where streams share a socket, are cancelled plainly.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from contextvars import ContextVar
from typing import Any

import httpx

from fluxrpc.errors import AnswerFault, AttemptError, LocalFault, NetworkFault, SilenceFault, StaleConnection
from fluxrpc.upstream.body import BodyExchange, Spawn
from fluxrpc.upstream.client_life import ClientLife
from fluxrpc.upstream.exchange import HeadLimits, OutgoingRequest, TimeLimits, checked_headers, wire_headers
from fluxrpc.upstream.local_errors import LOCAL_ERRNOS

__all__ = ["HttpxTransport"]

_LAST_RESORT_SECONDS = 0.5
"""A socket that cannot be found is closed by cancelling after all: a lost place is less than a running bill."""

_FAULTS: tuple[tuple[type[Exception], type[AttemptError], str], ...] = (
    (httpx.ConnectTimeout, NetworkFault, "connect timeout"),
    (httpx.PoolTimeout, LocalFault, "connection pool exhausted"),
    (httpx.TimeoutException, SilenceFault, "no data within the client's limit"),
    (httpx.ProxyError, NetworkFault, "proxy refused"),
    (httpx.ConnectError, NetworkFault, "connection failed"),
    (httpx.UnsupportedProtocol, NetworkFault, "address not usable"),
    (httpx.DecodingError, AnswerFault, "body broken"),
)
"""The one table from httpx's exceptions to ours, first match wins. What is not in it is a reset connection."""

_CAUSES: tuple[tuple[type[BaseException], str], ...] = (
    (socket.gaierror, "name not resolved"),
    (ssl.SSLCertVerificationError, "certificate not accepted"),
    (ssl.SSLError, "tls handshake failed"),
    (ConnectionRefusedError, "connection refused"),
)
"""What lies beneath a failed connection, more telling than httpx's own name for it."""


class _Left(Exception):
    """Raised inside httpcore, at a place where it expects errors, when nobody waits any more."""


class _Owner:
    """The task that makes one request, and what is known of its connection."""

    def __init__(self, client: httpx.AsyncClient, request: OutgoingRequest, clock: asyncio.Timeout) -> None:
        self._client = client
        self._limits = request.time_limits
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self.head: asyncio.Future[httpx.Response] = self._loop.create_future()
        self.stream: Any = None
        self.shared_socket = False
        self.stage = "queued"
        self.reused = True
        self.left = False
        self.ended = False
        self._demand: asyncio.Future[None] | None = None
        self._delivery: asyncio.Future[bytes] | None = None
        seconds = request.time_limits.connect_seconds
        self._request = httpx.Request(
            "POST",
            request.url,
            headers=list(wire_headers(request.headers)),
            content=request.body,
            extensions={
                "trace": self._trace,
                "timeout": {"connect": seconds, "read": None, "write": None, "pool": None},
            },
        )
        self.task: asyncio.Task[None] = self._loop.create_task(self._own())

    # --- inside the owner task ---

    async def _own(self) -> None:
        _owner.set(self)
        try:
            response = await self._client.send(self._request, stream=True, follow_redirects=False)
        except asyncio.CancelledError:
            self.head.cancel()
            return
        except Exception as error:  # noqa: BLE001  # handed on to the waiting side, which maps it
            if not self.head.done():
                self.head.set_exception(error)
                self.head.exception()  # seen: whoever waited may have left
            return
        try:
            self.stream = self.stream or response.extensions.get("network_stream")
            if not self.head.done():
                self.head.set_result(response)
                await self._hand_out(_pieces(response))
        finally:
            await response.aclose()

    async def _hand_out(self, pieces: AsyncIterator[bytes]) -> None:
        """Read a piece each time one is asked for: an unread body leaves the socket alone."""
        while not self.ended:
            self._demand = self._loop.create_future()
            if not self.left and self._delivery is None:
                await self._demand
            if self.left:
                return
            try:
                piece = await anext(pieces, b"")
            except Exception as error:  # noqa: BLE001  # handed on to the waiting side, which maps it
                self._deliver(error)
                return
            if not piece:
                self.ended = True
            self._deliver(piece)

    def _deliver(self, result: bytes | Exception) -> None:
        delivery, self._delivery = self._delivery, None
        if delivery is None or delivery.done():
            return
        if isinstance(result, Exception):
            delivery.set_exception(result)
            delivery.exception()
        else:
            delivery.set_result(result)

    async def _trace(self, event: str, info: dict[str, Any]) -> None:
        """Follow the events of httpcore (https://www.encode.io/httpcore/extensions/#trace)."""
        if event.endswith("connect_tcp.started"):
            if self.left:
                raise _Left
            self.reused = False
            self._next("connecting", self._limits.connect_seconds)
        elif event.endswith(("connect_tcp.complete", "connect_unix_socket.complete", "start_tls.complete")):
            self.stream = info["return_value"]
            _watch_writes(self.stream)
            if self.left:
                await _close_quietly(self.stream)
        elif event.endswith("send_request_headers.started"):
            self.shared_socket = event.startswith("http2")
            self._next("waiting", self._limits.first_byte_seconds)

    def _next(self, stage: str, seconds: float | None) -> None:
        self.stage = stage
        if not self.left and not self.head.done():
            self._clock.reschedule(None if seconds is None else self._loop.time() + seconds)

    # --- on the waiting side ---

    def start_clock(self) -> None:
        """For a transport that tells no events: connecting and waiting are one stage."""
        seconds = self._limits.first_byte_seconds
        self._next("waiting", None if seconds is None else self._limits.connect_seconds + seconds)

    def next_piece(self) -> asyncio.Future[bytes]:
        """Ask for the next raw bytes."""
        self._delivery = self._loop.create_future()
        self._wake()
        return self._delivery

    def interrupt(self, error: Exception) -> None:
        self._deliver(error)

    def leave(self, *, plainly: bool, spawn: Spawn) -> None:
        """Nobody waits any more: the owner ends, its socket closes now."""
        if self.left or self.ended or self.task.done():
            return
        self.left = True
        self._wake()
        if plainly or self.shared_socket:
            self.task.cancel()
        elif self.stream is not None:
            spawn(_close_quietly(self.stream))
        elif self.stage == "waiting":
            self._loop.call_later(_LAST_RESORT_SECONDS, self.task.cancel)

    def _wake(self) -> None:
        if self._demand is not None and not self._demand.done():
            self._demand.set_result(None)


async def _pieces(response: httpx.Response) -> AsyncIterator[bytes]:
    """The raw body; that of a response built with its content (mocks) has been read and decoded already."""
    if response.is_stream_consumed:
        yield response.content
        return
    async for piece in response.aiter_raw():
        yield piece


_owner: ContextVar[_Owner | None] = ContextVar("fluxrpc_owner", default=None)


def _watch_writes(stream: Any) -> None:
    """Let the first write of each request tell its owner which connection it was given."""
    write = stream.write

    async def watched(buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109  # httpcore's signature
        owner = _owner.get()
        if owner is not None:
            owner.stream = stream
            if owner.left:
                await _close_quietly(stream)
        await write(buffer, timeout)

    stream.write = watched


async def _close_quietly(stream: Any) -> None:
    with contextlib.suppress(Exception):  # it is being thrown away
        await stream.aclose()


class HttpxTransport(ClientLife):
    """See `fluxrpc.upstream.exchange.Transport`.

    A client stays its giver's: it is not closed here. Its limits, proxies, certificates and `auth` count; its
    headers, cookies and redirects do not.
    """

    def __init__(
        self, given: httpx.AsyncClient | httpx.AsyncBaseTransport, *, head_limits: HeadLimits | None = None
    ) -> None:
        super().__init__()
        self._given = given
        self._client: httpx.AsyncClient | None = None
        self._owners: set[_Owner] = set()
        self._head_limits = head_limits or HeadLimits()
        # httpx offers no public way to ask; a mock or another library's transport may be cancelled plainly.
        inner = getattr(given, "_transport", given)
        self._plain_cancel = not isinstance(inner, httpx.AsyncHTTPTransport)

    async def send(self, request: OutgoingRequest) -> _HttpxExchange:
        """See `Transport.send`."""
        self._begin()
        exchange = None
        try:
            exchange = await self._send(request)
        finally:
            self._sent(exchange)
        return exchange

    async def _send(self, request: OutgoingRequest) -> _HttpxExchange:
        clock = asyncio.timeout(None)
        owner: _Owner | None = None
        try:
            async with clock:
                owner = _Owner(self._open_client(), request, clock)
                self._owners.add(owner)
                self._keep(owner.task)
                owner.task.add_done_callback(lambda _, owner=owner: self._owners.discard(owner))  # type: ignore[misc]
                if self._plain_cancel:
                    owner.start_clock()
                response = await owner.head
            return self._exchange(owner, response, request.time_limits)
        except BaseException as error:
            if owner is not None:
                owner.leave(plainly=self._plain_cancel, spawn=self._spawn)
            if isinstance(error, (httpx.HTTPError, httpx.InvalidURL, AttemptError, OSError)) and owner is not None:
                raise self._fault(error, owner, clock) from error
            raise

    def _exchange(self, owner: _Owner, response: httpx.Response, limits: TimeLimits) -> _HttpxExchange:
        headers = checked_headers(response.headers.raw, self._head_limits)
        if response.is_stream_consumed:
            headers.pop("content-encoding", None)

        def leave() -> None:
            owner.leave(plainly=self._plain_cancel, spawn=self._spawn)

        return _HttpxExchange(
            owner,
            leave,
            response.status_code,
            headers,
            idle_seconds=limits.idle_seconds,
            spawn=self._spawn,
            on_end=self._ended,
        )

    def _fault(self, error: Exception, owner: _Owner, clock: asyncio.Timeout) -> AttemptError:
        if isinstance(error, AttemptError):
            return error
        if self._closed:
            return LocalFault("transport closed")
        if clock.expired():
            late = owner.stage == "connecting"
            return NetworkFault("connect timeout") if late else SilenceFault("no response within the limit")
        beneath = tuple(_beneath(error))
        if any(getattr(cause, "errno", None) in LOCAL_ERRNOS for cause in beneath):
            return LocalFault("out of local resources")
        for foreign, own, detail in _FAULTS:
            if isinstance(error, foreign):
                telling = (word for kind, word in _CAUSES for cause in beneath if isinstance(cause, kind))
                return own(next(telling, detail))
        if isinstance(error, httpx.RemoteProtocolError) and len(beneath) > _DISCONNECT_DEPTH:
            return AnswerFault("not HTTP, or its head is over the limit")
        if owner.reused:
            return StaleConnection("kept connection was dead")
        return NetworkFault("connection reset before an answer")

    def _open_client(self) -> httpx.AsyncClient:
        if self._client is None:
            given = self._given
            own = isinstance(given, httpx.AsyncBaseTransport)
            self._client = httpx.AsyncClient(transport=given, trust_env=False) if own else given  # type: ignore[arg-type, assignment]
        return self._client  # type: ignore[return-value]

    async def _close_client(self) -> None:
        for owner in tuple(self._owners):
            owner.leave(plainly=self._plain_cancel, spawn=self._spawn)
        client, self._client = self._client, None
        if client is not None and client is not self._given:
            await client.aclose()


_DISCONNECT_DEPTH = 2
"""httpcore reports a bare disconnect by itself; beneath bytes that are not HTTP lies h11's own error."""


def _beneath(error: BaseException) -> Iterator[BaseException]:
    """The error and what caused it, groups included."""
    yield error
    inner = error.exceptions if isinstance(error, BaseExceptionGroup) else (error.__cause__ or error.__context__,)
    for cause in inner:
        if cause is not None:
            yield from _beneath(cause)


class _HttpxExchange(BodyExchange):
    """See `fluxrpc.upstream.exchange.Exchange`."""

    def __init__(
        self,
        owner: _Owner,
        leave: Callable[[], None],
        status: int,
        headers: dict[str, str],
        *,
        idle_seconds: float | None,
        spawn: Spawn,
        on_end: Callable[[BodyExchange], None],
    ) -> None:
        super().__init__(status, headers, idle_seconds=idle_seconds, spawn=spawn, on_end=on_end)
        self._owner = owner
        self._leave = leave

    async def _next_raw(self) -> bytes:
        if self._owner.ended:
            return b""
        self._start_waiting()
        try:
            return await self._owner.next_piece()
        except (httpx.HTTPError, httpx.StreamError, OSError) as error:
            raise AnswerFault("body cut") from error

    def _interrupt(self) -> None:
        self._owner.interrupt(SilenceFault("no data within the idle limit"))

    def _body_ended(self) -> bool:
        return self._owner.ended

    def _release(self) -> None:
        self._leave()
