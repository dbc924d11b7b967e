"""The deadline stage: when the call ends.

A call without a deadline gets the default, a long one is clamped (https://grpc.io/docs/guides/deadlines/). The router
answers a little before that moment, so that its details still arrive.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fluxrpc.clock import Monotonic
from fluxrpc.config.schema import ServerSettings
from fluxrpc.server.call import current_call
from fluxrpc.server.interceptors.pipeline import Behaviour, Stage


def deadline_stage(clock: Monotonic, settings: Callable[[], ServerSettings]) -> Stage:
    """A stage that fills `Call.ends_at` from the settings in force."""

    def stage(_method: str, inner: Behaviour) -> Behaviour:
        async def timed(request: Any, context: Any) -> Any:
            now, remaining = settings(), context.time_remaining()
            wanted = now.default_deadline_seconds if remaining is None else remaining
            current_call.get().ends_at = clock() + min(wanted, now.max_deadline_seconds)
            return await inner(request, context)

        return timed

    return stage
