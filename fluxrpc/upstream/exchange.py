"""The seam: one HTTP exchange with a provider, whatever client carries it out.

Two implementations stand behind it, `aiohttp_transport` (default) and `httpx_transport` (injected). They share one
behaviour: no redirects, no cookies, no environment proxies unless configured, lower-case header names, limits on
header, body and time, foreign exceptions mapped once to `fluxrpc.errors`. Cancelling the awaiting task, or
`Exchange.close`, closes the socket at once; only an exchange read to its end gives its connection back to the pool.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol as Interface

from msgspec import Struct

from fluxrpc.errors import AnswerFault
from fluxrpc.upstream.inflate import ACCEPT_ENCODING

__all__ = [
    "Exchange",
    "HeadLimits",
    "OutgoingRequest",
    "TimeLimits",
    "Transport",
    "TransportSettings",
    "checked_headers",
    "wire_headers",
]


class TimeLimits(Struct, frozen=True, kw_only=True):
    """How long the parts of an exchange may take, in seconds; None is no limit of its own."""

    connect_seconds: float = 5.0
    """DNS, TCP and TLS together. Waiting for a place in our own pool does not count."""
    first_byte_seconds: float | None = None
    """From the connection standing to the response head."""
    idle_seconds: float | None = 60.0
    """Silence while a read waits. The clock stands still while nobody reads: a slow caller blames no provider."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadLimits:
    """What the head of a response may hold."""

    line_bytes: int = 16 * 1024
    """One header line, and the status line."""
    header_count: int = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class TransportSettings:
    """How a transport reaches its endpoint; equal settings share one pool."""

    max_connections: int = 2000
    """Streams hold a connection for minutes, so this bounds concurrency, not load."""
    keepalive_seconds: float = 15.0
    """An idle connection is given up after this, before common servers (nginx: 75 s, ALB: 60 s) do it."""
    proxy_url: str | None = None
    trust_env: bool = False
    """Take the proxy from `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`. Never reads `.netrc`."""
    ssl_context: ssl.SSLContext | None = None
    """None: the system's certificate authorities."""
    head_limits: HeadLimits = HeadLimits()


class OutgoingRequest(Struct, frozen=True, kw_only=True):
    """A POST with everything decided: absolute URL, headers (secrets included: never logged), body."""

    url: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    time_limits: TimeLimits
    fresh_connection: bool = False
    """Do not use a kept-alive connection: set for the reconnect after `StaleConnection`. Best effort with httpx."""

    def __repr__(self) -> str:
        return f"OutgoingRequest({len(self.body)} bytes)"


class Exchange(Interface):
    """A response whose head has arrived. Used by one task at a time."""

    status: int
    headers: dict[str, str]

    async def read(self, max_bytes: int) -> bytes:
        """The whole decompressed body. The exchange is closed afterwards, whatever happened.

        Raises:
            AnswerOversize: more than `max_bytes`.
            AnswerFault: the body was cut, or is encoded in a way that was not asked for.
            SilenceFault: nothing came for the idle limit.
        """

    async def next_chunk(self) -> bytes:
        """The next piece of the decompressed body as soon as it is there; empty at its regular end.

        After an error, or a cancellation, the exchange is closed.

        Raises:
            AnswerFault: the connection ended before the body did.
            SilenceFault: nothing came for the idle limit.
        """

    def close(self) -> None:
        """Done. Gives the connection back if the body was read to its end, else closes the socket now. Idempotent."""

    def finish(self) -> None:
        """The answer is complete, though its body may not have ended yet (`[DONE]` before the last HTTP chunk).

        As `close`, but the rest of the body is read in the background for a moment, so that the connection can be
        kept (a new one costs a TLS handshake). Never delays the caller. Idempotent.
        """


class Transport(Interface):
    """Sends requests. One for a service endpoint, or one injected for it."""

    async def send(self, request: OutgoingRequest) -> Exchange:
        """Send and wait for the head of the response. Whoever gets the exchange must `close` or `finish` it.

        Raises:
            NetworkFault: DNS, refused, TLS, connect timeout, or a reset on a fresh connection before any byte.
            StaleConnection: a reused connection turned out dead before any byte; try once more.
            SilenceFault: no head within the first-byte limit.
            AnswerFault: what came is not HTTP, or its head is over the limit.
            LocalFault: this process has no file descriptor left, or the transport is closed.
        """

    def retire(self) -> None:
        """No new work is meant for this transport: close its connections once no exchange runs any more.

        A late `send` still works (a request may hold the table of before a reload). Idempotent.
        """

    @property
    def in_use(self) -> int:
        """How many exchanges are running or waiting for their head."""

    async def close(self) -> None:
        """Close all connections now, running exchanges included. Idempotent."""


def checked_headers(raw: Iterable[tuple[bytes, bytes]], limits: HeadLimits) -> dict[str, str]:
    """Header names in lower case, repeated ones joined by commas (RFC 9110, 5.3).

    Raises:
        AnswerFault: over the limits.
    """
    headers: dict[str, str] = {}
    for count, (name_bytes, value_bytes) in enumerate(raw, start=1):
        if count > limits.header_count or len(name_bytes) + len(value_bytes) > limits.line_bytes:
            raise AnswerFault("response head over the limit")
        name, value = _lower(name_bytes), value_bytes.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


@lru_cache(maxsize=512)
def _lower(name: bytes) -> str:
    return name.decode("latin-1").lower()


_DEFAULT_HEADERS = (("accept", "*/*"), ("accept-encoding", ACCEPT_ENCODING), ("user-agent", "fluxrpc"))


def wire_headers(headers: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """The headers of a request with what every request carries; nothing is left to the HTTP client's defaults."""
    names = {name for name, _ in headers}
    return (*headers, *(default for default in _DEFAULT_HEADERS if default[0] not in names))
