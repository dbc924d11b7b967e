"""The telemetry stage, outermost: counts and times the calls of our own services, writes the one access line.

It sees every way out, also those of the stages inside it: answers, statuses, cancellation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fluxrpc.clock import Monotonic
from fluxrpc.server.call import Call
from fluxrpc.server.interceptors.stage import Metadata, Stage

CallObserver = Callable[[Call, float], None]
"""Told of every ended call: the call and its duration in seconds."""


class Telemetry(Stage):
    """Tells `started` (the method) and `ended` of each call."""

    def __init__(self, *, clock: Monotonic, started: Callable[[str], None], ended: CallObserver) -> None:
        self._clock = clock
        self._started = started
        self._ended = ended

    def enter(self, call: Call, context: Any, metadata: Metadata) -> None:  # noqa: ARG002  # the stage's shape
        """One more is running."""
        self._started(call.method)

    def leave(self, call: Call) -> None:
        """It has ended."""
        self._ended(call, self._clock() - call.started)
