"""Work that can wait a moment: counting and writing down what happened, off the path of the calls that cause it.

Done call by call such work finds cold caches each time; done in one go for some milliseconds' worth of calls it costs a
third. It must be work that nobody waits for, and that may be lost with a process that is killed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from fluxrpc.telemetry.hooks import EVENTS, Hooks

__all__ = ["Deferred", "defer"]

DELAY_SECONDS = 0.012
MAX_WAITING = 2000


class Deferred:
    """A queue of work, in order. One event loop uses it; outside of a loop work is done at once."""

    def __init__(self, *, delay_seconds: float = DELAY_SECONDS, max_waiting: int = MAX_WAITING) -> None:
        self._delay_seconds = delay_seconds
        self._max_waiting = max_waiting
        self._waiting: list[tuple[Callable[..., None], tuple[Any, ...]]] = []

    def put(self, work: Callable[..., None], *args: Any) -> None:
        """Do `work(*args)` within the delay. It must not raise: what comes after it would be lost."""
        waiting = self._waiting
        waiting.append((work, args))
        if len(waiting) == 1:
            try:
                asyncio.get_running_loop().call_later(self._delay_seconds, self.flush)
            except RuntimeError:
                self.flush()
        elif len(waiting) >= self._max_waiting:
            self.flush()

    def flush(self) -> None:
        """Do now what waits."""
        waiting, self._waiting = self._waiting, []
        for work, args in waiting:
            work(*args)


def defer(hooks: Hooks, later: Deferred) -> Hooks:
    """Hooks that report to `hooks` a moment later, in order."""
    deferring = _Deferring()
    for event in EVENTS:
        setattr(deferring, event, partial(later.put, getattr(hooks, event)))
    return deferring


class _Deferring(Hooks):
    """Its methods are set for each instance, which needs a dictionary."""

    __slots__ = ("__dict__",)
