"""Errors on their way out, a security control: nothing but a safe status leaves, whatever was raised.

grpc.aio sends the text of an unhandled exception to the caller. Here an error of ours becomes its status, and anything
else becomes INTERNAL with the request id only, while the log gets the whole story.
"""

from __future__ import annotations

from typing import Any, NoReturn

import grpc
import structlog

from fluxrpc.errors import FluxError, RouteUnfit, RoutingError
from fluxrpc.server.call import Call
from fluxrpc.server.status import WireStatus, wire_status

_log = structlog.get_logger("fluxrpc.server")


class InternalFault(FluxError):
    """A bug of ours. The caller learns the request id, the log the rest."""


async def abort(error: Exception, call: Call, context: Any) -> NoReturn:
    """End a call with the status for what was raised.

    Raises:
        grpc.aio.AbortError: always; it is how grpc.aio ends a call.
    """
    if isinstance(error, grpc.aio.AbortError):
        raise error  # another servicer (health, reflection) has already said its status
    if isinstance(error, FluxError):
        failure = error
    else:
        _log.error("unhandled", method=call.method, request_id=call.request_id, exc_info=error)
        failure = InternalFault("unhandled exception")
    _remember(call, failure)
    await context.abort_with_status(_status(failure, call))
    raise AssertionError("abort returned")


def _status(failure: FluxError, call: Call) -> WireStatus:
    try:
        return wire_status(failure, call.request_id, caller_protocol=call.protocol)
    except Exception:  # noqa: BLE001  # even a bug in writing an error must not leave as an exception's text
        _log.exception("status_unwritable", method=call.method, request_id=call.request_id)
        return wire_status(InternalFault("unwritable status"), call.request_id)


def _remember(call: Call, error: FluxError) -> None:
    call.code = error.code
    call.reason = error.reason
    if isinstance(error, RoutingError | RouteUnfit):
        call.attempts = error.attempts
    if isinstance(error, RoutingError):
        call.usage = error.partial_usage
