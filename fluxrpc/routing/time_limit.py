"""Time limits of attempts and requests, for many at once.

`asyncio.timeout` arms and disarms a timer of the loop each time, which costs a tenth of a whole call. Limits here are
seconds to minutes, so one tick for all of them, every few milliseconds, is exact enough.

Invariant: a limit cancels its task at most once, and takes that cancellation back when it turns it into an error,
as `asyncio.timeout` does; a cancellation from elsewhere passes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Self

TICK_SECONDS = 0.01


class TimeLimits:
    """The limits that run. They belong to one event loop; while there are none, nothing ticks."""

    def __init__(self, tick_seconds: float = TICK_SECONDS) -> None:
        self._tick_seconds = tick_seconds
        self._running: set[TimeLimit] = set()
        self.is_ticking = False

    def within(self, seconds: float, timeout: Callable[[], Exception] = TimeoutError) -> TimeLimit:
        """A block (`with`) of the current task that may take that long; it ends at the first tick after.

        The block raises what `timeout` gives where its time is up.
        """
        return TimeLimit(self, seconds, timeout)

    def add(self, limit: TimeLimit) -> None:
        """Watch a limit."""
        self._running.add(limit)
        if not self.is_ticking:
            self.is_ticking = True
            limit.loop.call_later(self._tick_seconds, self._tick, limit.loop)

    def discard(self, limit: TimeLimit) -> None:
        """Watch it no more."""
        self._running.discard(limit)

    def _tick(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        for limit in [limit for limit in self._running if limit.ends_at <= now]:
            self._running.discard(limit)
            limit.expire()
        self.is_ticking = bool(self._running)
        if self.is_ticking:
            loop.call_later(self._tick_seconds, self._tick, loop)


class TimeLimit:
    """One limit, see `TimeLimits.within`."""

    __slots__ = ("_cancelling", "_limits", "_seconds", "_task", "_timeout", "ends_at", "has_expired", "loop")

    def __init__(self, limits: TimeLimits, seconds: float, timeout: Callable[[], Exception]) -> None:
        self._limits = limits
        self._seconds = seconds
        self._timeout = timeout
        self.has_expired = False

    def __enter__(self) -> Self:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a time limit needs a task")
        self._task = task
        self._cancelling = task.cancelling()
        self.loop = task.get_loop()
        self.ends_at = self.loop.time() + self._seconds
        self._limits.add(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self.has_expired:
            self._limits.discard(self)
        elif self._task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise self._timeout() from error

    def expire(self) -> None:
        """Its time is up."""
        self.has_expired = True
        self._task.cancel()
