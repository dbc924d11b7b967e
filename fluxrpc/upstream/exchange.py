"""The seam: one HTTP exchange with a provider, whatever client carries it out.

Two implementations stand behind it, `aiohttp_transport` (default) and `httpx_transport` (injected). They share one
behaviour: no redirects, no cookies, no environment proxies unless configured, lower-case header names, limits on
header, body and time, foreign exceptions mapped once to `fluxrpc.errors`. Cancelling the awaiting task, or
`Exchange.close`, closes the socket at once; only an exchange read to its end gives its connection back to the pool.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol as Interface


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeLimits:
    """How long the parts of an exchange may take, in seconds; None is no limit of its own."""

    connect_seconds: float = 5.0
    first_byte_seconds: float | None = None
    """From the request being sent to the response head."""
    idle_seconds: float | None = 60.0
    """Between two reads of the body."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingRequest:
    """A POST with everything decided: absolute URL, headers (secrets included: never logged), body."""

    url: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    time_limits: TimeLimits

    def __repr__(self) -> str:
        return f"OutgoingRequest({len(self.body)} bytes)"


class Exchange(Interface):
    """A response whose head has arrived."""

    status: int
    headers: dict[str, str]

    async def read(self, max_bytes: int) -> bytes:
        """The whole decompressed body.

        Raises:
            AnswerOversize: more than `max_bytes`.
            AnswerFault: the body was cut.
            SilenceFault: nothing came for the idle limit.
        """

    async def next_chunk(self) -> bytes:
        """The next piece of the decompressed body as soon as it is there; empty at its regular end.

        Raises:
            AnswerFault: the connection ended before the body did.
            SilenceFault: nothing came for the idle limit.
        """

    def close(self) -> None:
        """Done. Gives the connection back if the body was read to its end, else closes the socket now. Idempotent."""


class Transport(Interface):
    """Sends requests. One for a process, or one injected for a service."""

    async def send(self, request: OutgoingRequest) -> Exchange:
        """Send and wait for the head of the response.

        Raises:
            NetworkFault: DNS, refused, TLS, connect timeout, or a reset on a fresh connection before any byte.
            StaleConnection: a reused connection turned out dead before any byte; try once more.
            SilenceFault: no head within the first-byte limit.
            AnswerFault: what came is not HTTP, or its head is over the limit.
        """

    async def close(self) -> None:
        """Close all connections. Idempotent."""
