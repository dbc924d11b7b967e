"""The error stage, a security control: nothing but a safe status leaves, whatever was raised.

grpc.aio sends the text of an unhandled exception to the caller. Here an error of ours becomes its status, and anything
else becomes INTERNAL with the request id only, while the log gets the whole story.
"""

from __future__ import annotations

from typing import Any

import grpc
import structlog

from fluxrpc.errors import FluxError, RoutingError
from fluxrpc.server.call import Call, current_call
from fluxrpc.server.interceptors.pipeline import Behaviour
from fluxrpc.server.status import WireStatus, wire_status

_log = structlog.get_logger("fluxrpc.server")


class InternalFault(FluxError):
    """A bug of ours. The caller learns the request id, the log the rest."""


def errors_stage(method: str, inner: Behaviour) -> Behaviour:
    """Turn what `inner` raises into a status. Cancellation passes untouched: swallowing it leaks memory in grpc."""

    async def guarded(request: Any, context: Any) -> Any:
        try:
            return await inner(request, context)
        except FluxError as error:
            failure = error
        except grpc.aio.AbortError:  # another servicer (health, reflection) has already said its status
            raise
        except Exception:  # noqa: BLE001  # the boundary of the process: whatever it is, no text of it may leave
            _log.exception("unhandled", method=method, request_id=current_call.get().request_id)
            failure = InternalFault("unhandled exception")
        call = current_call.get()
        _remember(call, failure)
        await context.abort_with_status(_status(failure, call))
        raise AssertionError("abort returned")

    return guarded


def _status(failure: FluxError, call: Call) -> WireStatus:
    try:
        return wire_status(failure, call.request_id, caller_protocol=call.protocol)
    except Exception:  # noqa: BLE001  # even a bug in writing an error must not leave as an exception's text
        _log.exception("status_unwritable", method=call.method, request_id=call.request_id)
        return wire_status(InternalFault("unwritable status"), call.request_id)


def _remember(call: Call, error: FluxError) -> None:
    call.code = error.code
    call.reason = error.reason
    if isinstance(error, RoutingError):
        call.attempts = error.attempts
        call.usage = error.partial_usage
