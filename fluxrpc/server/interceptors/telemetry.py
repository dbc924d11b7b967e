"""The telemetry stage, outermost: begins the `Call`, counts and times it, writes the one access line.

It sees every way out, also those of the stages inside it: answers, statuses, cancellation.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from fluxrpc.clock import Monotonic
from fluxrpc.errors import GrpcCode
from fluxrpc.server.call import Call, current_call, request_id_from
from fluxrpc.server.interceptors.pipeline import Behaviour, Stage

_OURS = "/fluxrpc."

CallObserver = Callable[[Call, float], None]
"""Told of every ended call: the call and its duration in seconds."""


def telemetry_stage(*, clock: Monotonic, started: Callable[[str], None], ended: CallObserver) -> Stage:
    """A stage that observes the calls of our own services; health and reflection only get their `Call`."""

    def stage(method: str, inner: Behaviour) -> Behaviour:
        observed = method.startswith(_OURS)

        async def watched(request: Any, context: Any) -> Any:
            call = Call(method=method, request_id=request_id_from(context.invocation_metadata() or ()), started=clock())
            current_call.set(call)
            if not observed:
                return await inner(request, context)
            started(method)
            try:
                return await inner(request, context)
            except asyncio.CancelledError:
                late = clock() >= call.ends_at
                call.code = GrpcCode.DEADLINE_EXCEEDED if late else GrpcCode.CANCELLED
                call.reason = call.code.name
                raise
            finally:
                ended(call, clock() - call.started)

        return watched

    return stage
