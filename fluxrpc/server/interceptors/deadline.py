"""The deadline stage: when the call ends.

A call without a deadline gets the default, a long one is clamped (https://grpc.io/docs/guides/deadlines/). The router
answers a little before that moment, so that its details still arrive.
"""

from __future__ import annotations

from typing import Any

from fluxrpc.clock import Monotonic
from fluxrpc.server.call import current_call
from fluxrpc.server.interceptors.pipeline import Behaviour, Stage


def deadline_stage(*, clock: Monotonic, default_seconds: float, max_seconds: float) -> Stage:
    """A stage that fills `Call.ends_at`."""

    def stage(_method: str, inner: Behaviour) -> Behaviour:
        async def timed(request: Any, context: Any) -> Any:
            remaining = context.time_remaining()
            seconds = default_seconds if remaining is None else min(remaining, max_seconds)
            current_call.get().ends_at = clock() + seconds
            return await inner(request, context)

        return timed

    return stage
