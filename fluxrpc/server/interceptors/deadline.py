"""The deadline stage: when the call ends.

A call without a deadline gets the default, a long one is clamped (https://grpc.io/docs/guides/deadlines/). The router
answers a little before that moment, so that its details still arrive.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fluxrpc.clock import Monotonic
from fluxrpc.config.schema import ServerSettings
from fluxrpc.server.call import Call
from fluxrpc.server.interceptors.stage import Metadata, Stage


class Deadlines(Stage):
    """Fills `Call.ends_at` from the settings in force."""

    def __init__(self, clock: Monotonic, settings: Callable[[], ServerSettings]) -> None:
        self._clock = clock
        self._settings = settings

    def enter(self, call: Call, context: Any, metadata: Metadata) -> None:  # noqa: ARG002  # the stage's shape
        """Take what is left of the caller's time."""
        settings, remaining = self._settings(), context.time_remaining()
        wanted = settings.default_deadline_seconds if remaining is None else remaining
        call.ends_at = self._clock() + min(wanted, settings.max_deadline_seconds)
