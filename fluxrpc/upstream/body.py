"""What the exchanges of both transports share: reading with limits, the idle clock, the ways to end.

A transport's exchange adds where raw bytes come from and how its socket is closed. Reading is cheap per chunk: no
task, no timeout scope; one timer serves a whole body and is set again only when it goes off.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine

from fluxrpc.errors import AnswerFault, AnswerOversize, AttemptError
from fluxrpc.upstream.inflate import inflater_for

__all__ = ["FINISH_BYTES", "FINISH_SECONDS", "BodyExchange", "Spawn"]

Spawn = Callable[[Coroutine[None, None, None]], None]
"""Starts a background task that its transport keeps and awaits when it closes."""

FINISH_SECONDS = 0.25
FINISH_BYTES = 64 * 1024


class BodyExchange(ABC):
    """An exchange without its socket. Not thread-safe; one reader at a time."""

    __slots__ = (
        "_finishing",
        "_idle_seconds",
        "_inflater",
        "_loop",
        "_on_end",
        "_open",
        "_spawn",
        "_timer",
        "_waiting_since",
        "headers",
        "status",
    )

    def __init__(
        self,
        status: int,
        headers: dict[str, str],
        *,
        idle_seconds: float | None,
        spawn: Spawn,
        on_end: Callable[[BodyExchange], None],
    ) -> None:
        """`on_end` is called exactly once, when the exchange holds no connection any more.

        Raises:
            AnswerFault: the body is encoded in a way that was not asked for; the caller closes the socket.
        """
        self.status = status
        self.headers = headers
        self._inflater = inflater_for(headers.get("content-encoding", ""))
        self._idle_seconds = idle_seconds
        self._spawn = spawn
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._waiting_since: float | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._open = True
        self._finishing = False

    # --- what a transport adds ---

    @abstractmethod
    async def _next_raw(self) -> bytes:
        """The next bytes as they came; empty at the regular end. Calls `_start_waiting` before it waits."""

    @abstractmethod
    def _interrupt(self) -> None:
        """Let the waiting `_next_raw` raise `SilenceFault`."""

    @abstractmethod
    def _body_ended(self) -> bool:
        """Whether the last byte of the body has arrived, read or not."""

    @abstractmethod
    def _release(self) -> None:
        """Give the connection back if the body was read to its end, else close the socket at once."""

    # --- the interface ---

    async def next_chunk(self) -> bytes:
        """See `Exchange.next_chunk`."""
        if not self._open:
            raise AnswerFault("exchange closed")
        try:
            if self._inflater is None:
                return await self._next_raw()
            while True:
                plain = self._inflater.take()
                if plain:
                    return plain
                raw = await self._next_raw()
                if not raw:
                    self._inflater.finish()
                    return b""
                self._inflater.give(raw)
        except BaseException:
            self.abort()
            raise
        finally:
            self._waiting_since = None

    async def read(self, max_bytes: int) -> bytes:
        """See `Exchange.read`."""
        try:
            announced = self.headers.get("content-length", "")
            if announced.isdecimal() and int(announced) > max_bytes:
                raise _too_large(max_bytes)
            pieces: list[bytes] = []
            total = 0
            while piece := await self.next_chunk():
                total += len(piece)
                if total > max_bytes:
                    raise _too_large(max_bytes)
                pieces.append(piece)
            return pieces[0] if len(pieces) == 1 else b"".join(pieces)
        finally:
            self.close()

    def close(self) -> None:
        """As the interface says; does not cut `finish` short, so that a `finally` may close in any case."""
        if not self._finishing:
            self.abort()

    def finish(self) -> None:
        """See `Exchange.finish`."""
        if not self._open or self._finishing:
            return
        if self._body_ended():
            self.abort()
        else:
            self._finishing = True
            self._spawn(self._drain())

    def abort(self) -> None:
        """End in any state, now. For the transport that shuts down; idempotent."""
        if not self._open:
            return
        self._open = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        try:
            self._release()
        finally:
            self._on_end(self)

    async def _drain(self) -> None:
        budget = FINISH_BYTES
        try:
            async with asyncio.timeout(FINISH_SECONDS):
                while budget > 0 and (raw := await self._next_raw()):
                    budget -= len(raw)
        except (AttemptError, TimeoutError):
            pass  # the answer is complete; only the connection is lost
        finally:
            self.abort()

    # --- the idle clock ---

    def _start_waiting(self) -> None:
        """A read waits from now on; `next_chunk` stops the clock."""
        if self._idle_seconds is not None:
            self._waiting_since = self._loop.time()
            if self._timer is None:
                self._timer = self._loop.call_later(self._idle_seconds, self._timer_fired)

    def _timer_fired(self) -> None:
        self._timer = None
        if self._waiting_since is None or self._idle_seconds is None:
            return  # nobody waits; the next wait sets the timer again
        left = self._waiting_since + self._idle_seconds - self._loop.time()
        if left <= 0:
            self._interrupt()
        else:
            self._timer = self._loop.call_later(left, self._timer_fired)


def _too_large(max_bytes: int) -> AnswerOversize:
    return AnswerOversize("answer over the limit", f"the answer is over {max_bytes} bytes")
