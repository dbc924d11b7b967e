"""The end of a call, as the log and the metrics see it: every way out passes here, once."""

from __future__ import annotations

from fluxrpc.errors import CODE_NAMES
from fluxrpc.server.call import Call
from fluxrpc.telemetry.hooks import Hooks
from fluxrpc.telemetry.logs import AccessLog, AccessRecord


class CallLog:
    """Reports every ended call: one access line, one metric."""

    def __init__(self, access_log: AccessLog, hooks: Hooks) -> None:
        self._access_log = access_log
        self._hooks = hooks

    def ended(self, call: Call, seconds: float) -> None:
        """A call has ended, in whatever way, after `seconds`."""
        self._hooks.call_finished(call.method, call.code, seconds)
        if call.asks_model:
            self._hooks.request_finished(call.model, call.reason or CODE_NAMES[call.code])
        usage = call.usage
        self._access_log.write(
            AccessRecord(
                request_id=call.request_id,
                method=call.method,
                code=call.code,
                reason=call.reason,
                duration_seconds=seconds,
                caller=call.caller,
                model=call.model,
                route=call.route,
                attempts=len(call.attempts),
                input_tokens=None if usage is None else usage.input_tokens,
                output_tokens=None if usage is None else usage.output_tokens,
                tags=call.tags,
            )
        )
