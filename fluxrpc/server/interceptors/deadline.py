"""The deadline stage: until when the answer must leave.

A call without a deadline gets the default, a long one is clamped. The reserve keeps time for the reply: at
`deadline - reserve` the router gives up, so that its details still arrive (https://grpc.io/docs/guides/deadlines/).
"""

from __future__ import annotations

from typing import Any

from fluxrpc.clock import Monotonic
from fluxrpc.server.call import current_call
from fluxrpc.server.interceptors.pipeline import Behaviour, Stage


def deadline_stage(*, clock: Monotonic, default_seconds: float, max_seconds: float, reserve_seconds: float) -> Stage:
    """A stage that fills `Call.deadline`."""

    def stage(_method: str, inner: Behaviour) -> Behaviour:
        async def timed(request: Any, context: Any) -> Any:
            remaining = context.time_remaining()
            seconds = default_seconds if remaining is None else min(remaining, max_seconds)
            current_call.get().deadline = clock() + seconds - reserve_seconds
            return await inner(request, context)

        return timed

    return stage
