"""What the provider saw: one `Seen` for each request, and waiting for changes without polling."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

DEFAULT_TIMEOUT_SECONDS = 5.0


@dataclass(slots=True, kw_only=True)
class Seen:
    """One request as the provider met it. Times are seconds of the simulator's monotonic clock."""

    protocol: str
    """Name of the wire protocol, or an empty string for an unknown path."""
    model: str
    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes
    arrived: float
    connection_id: int
    request_of_connection: int
    """1 for the first request of its connection."""
    status: int | None = None
    first_byte_sent: float | None = None
    finished: float | None = None
    """When the simulator was through with it, by completing, cutting or losing the peer."""
    completed: bool = False
    """The answer was written to its end as HTTP wants it."""
    socket_closed_by_peer: bool = False
    """The peer closed before the answer was complete."""
    socket_closed_at: float | None = None
    events_sent: int = 0
    """Content events of a stream; opening frames, pings and endings are not counted."""
    bytes_sent: int = 0
    """Head and body bytes given to the socket."""
    is_silent: bool = False
    """The simulator has fallen silent for ever: stall, silence, a stream left open."""
    is_held_back: bool = False
    """The peer reads slower than the simulator writes: the writer waits at this moment."""


@dataclass(slots=True)
class Log:
    """All requests in the order of arrival."""

    entries: list[Seen] = field(default_factory=list)
    _waiters: set[asyncio.Future[None]] = field(default_factory=set)

    def changed(self) -> None:
        """Wake everyone who waits; called after each change of an entry or of the list."""
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
        self._waiters.clear()

    async def wait_for(self, condition: Callable[[], object], *, timeout_seconds: float) -> None:
        """Return as soon as the condition holds; `TimeoutError` with the log in words otherwise."""
        try:
            async with asyncio.timeout(timeout_seconds):
                while not condition():
                    waiter = asyncio.get_running_loop().create_future()
                    self._waiters.add(waiter)
                    await waiter
        except TimeoutError:
            raise TimeoutError(f"not within {timeout_seconds} s; the log is {self.describe()}") from None

    def describe(self) -> str:
        """One line for each request."""
        return "; ".join(
            f"{seen.protocol or seen.path} {seen.model} status={seen.status} events={seen.events_sent}"
            f" completed={seen.completed} left={seen.socket_closed_by_peer}"
            for seen in self.entries
        )
