"""A failed call as a person needs it: what happened, what the server tried, and what to do now.

Reads `google.rpc.Status` from the trailer. A detail that is missing or broken is left out; code and message stay.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import grpc
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import DecodeError
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status

from fluxrpc.v1.outcome_pb2 import Attempt, ErrorDetail, NativeError

_DETAILS_KEY = "grpc-status-details-bin"
# What a person can do, by the reason that the server gives. They are about the caller; the message tells the rest.
_ADVICE: Mapping[str, str] = MappingProxyType(
    {
        "INVALID_REQUEST": "Mend the request: sent again as it is, it will fail again.",
        "CONTEXT_LENGTH_EXCEEDED": "Shorten the request, or ask a model with a larger context.",
        "CONTENT_REFUSED": "The provider's content policy refuses this; word it differently.",
        "TOO_LARGE": "Ask for less, or let the operator raise the limits in the configuration.",
        "UNKNOWN_MODEL": "Ask for a model by a name that stands under `models` in the server's configuration.",
        "UNAUTHENTICATED": "Give a token that the server knows, in FLUXRPC_TOKEN or with --token.",
        "PERMISSION_DENIED": "Let the operator allow this caller the model (`callers` in the configuration).",
        "PROVIDER_CREDENTIAL": "Nothing is wrong with this call: the operator must renew the server's key or quota.",
        "RATE_LIMITED": "Wait, then try again.",
        "OVERLOADED": "Wait, then try again.",
        "PROVIDER_FAILED": "Try again later; the attempts say what each provider did.",
        "CIRCUIT_OPEN": "Wait, then try again: every provider failed a short time ago and is left alone for now.",
        "STREAM_INTERRUPTED": "What was printed is not the whole answer. Ask again.",
        "STREAM_INCOMPLETE": "What was printed may not be the whole answer. Ask again.",
        "NOT_EXPRESSIBLE": "Ask without strict fidelity, or ask a model whose provider can be told all of it.",
        "STATE_NOT_PORTABLE": "Try again later: what this request refers to is held by one provider only.",
        "UNSUPPORTED": "Leave that option out: this version of the server does not know it.",
        "DEADLINE_EXCEEDED": "Give it more time with --timeout.",
    }
)
# Statuses without a reason are gRPC's own: nothing of ours answered, or nobody in time.
_ADVICE_BY_CODE: Mapping[str, str] = MappingProxyType(
    {
        "UNAVAILABLE": "Does a server listen at {target}, with TLS or without as this call? See `fluxrpc serve`.",
        "DEADLINE_EXCEEDED": "Give it more time with --timeout.",
        "UNIMPLEMENTED": "Is it really fluxrpc that listens at {target}?",
        "RESOURCE_EXHAUSTED": "Wait and try again; or the message is larger than the server accepts.",
    }
)
_OPERATOR = "Give the request id to the operator: the server's log has the details."


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """What a status other than OK says."""

    code: str
    message: str
    reason: str = ""
    """In UPPER_SNAKE; empty where the status came without details, as gRPC's own do."""
    request_id: str = ""
    retry_after_seconds: float | None = None
    attempts: tuple[Attempt, ...] = ()
    native: NativeError | None = None
    violations: tuple[tuple[str, str], ...] = ()
    """Path and fault of each bad field."""
    status: Status | None = None
    """As it came; None where there was none."""

    def advice(self, target: str) -> str:
        """One sentence: what to do now. `target` is the address that was called."""
        if self.reason:
            return _ADVICE.get(self.reason, _OPERATOR)
        return _ADVICE_BY_CODE.get(self.code, _OPERATOR).format(target=target)

    def as_json(self) -> dict[str, Any]:
        """The status in protobuf's JSON, with the name of its code."""
        status = self.status or Status(message=self.message)
        try:
            content = MessageToDict(status)
        except TypeError:  # a detail of a type that is newer than this command
            content = MessageToDict(Status(code=status.code, message=status.message))
        return {**content, "code": self.code}


INCOMPLETE = Failure(
    code="UNAVAILABLE",
    reason="STREAM_INCOMPLETE",
    message="the stream ended with OK, but without the message that says that it is complete",
)
"""The failure of a stream that breaks the contract's grammar; a proxy between may do that."""


def read_failure(error: grpc.aio.AioRpcError) -> Failure:
    """What a failed call says."""
    failure = Failure(code=error.code().name, message=error.details() or "")
    for key, value in error.trailing_metadata() or ():
        if key == _DETAILS_KEY and isinstance(value, bytes):
            try:
                return _with_details(failure, Status.FromString(value))
            except DecodeError:
                return failure
    return failure


def _with_details(failure: Failure, status: Status) -> Failure:
    info, retry, bad, detail = ErrorInfo(), RetryInfo(), BadRequest(), ErrorDetail()
    waits = False
    for packed in status.details:
        waits = packed.Unpack(retry) or waits
        for message in (info, bad, detail):
            packed.Unpack(message)
    return Failure(
        code=failure.code,
        message=failure.message,
        reason=info.reason,
        request_id=detail.request_id or info.metadata.get("request_id", ""),
        retry_after_seconds=retry.retry_delay.seconds + retry.retry_delay.nanos / 1e9 if waits else None,
        attempts=tuple(detail.attempts),
        native=detail.native if detail.HasField("native") else None,
        violations=tuple((violation.field, violation.description) for violation in bad.field_violations),
        status=status,
    )
