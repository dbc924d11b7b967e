"""Errors on the wire: one `FluxError` becomes one `google.rpc.Status` that fits into a trailer.

gRPC carries the details in a header block that many peers limit to 8 KiB and refuse past 16 KiB; then the caller sees
RESOURCE_EXHAUSTED instead of the fault. So the details stay below 4 KiB here: first the native body is shortened
(and stays JSON), then its headers, the trace of attempts and the field paths. What they are made of comes from callers
and providers: no text is so odd or long that the status itself would fail.
See https://google.aip.dev/193 for the detail types.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import grpc
import msgspec
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status

from fluxrpc.errors import (
    FluxError,
    GrpcCode,
    InvalidRequest,
    NativeErrorBody,
    RouteUnfit,
    RoutingError,
    UnknownModel,
)
from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.registry import NATIVE
from fluxrpc.v1.outcome_pb2 import Attempt, ErrorDetail, NativeError
from fluxrpc.v1.protocol_pb2 import Header
from fluxrpc.v1.protocol_pb2 import Protocol as WireProtocol

DOMAIN = "fluxrpc"
MAX_DETAILS_BYTES = 4000
"""Of the serialised status; what is left of 4 KiB is for the other trailers."""
_MAX_MESSAGE_BYTES = 512
_DETAILS_KEY = "grpc-status-details-bin"
_PUSHBACK_KEY = "grpc-retry-pushback-ms"
_MAX_PUSHBACK_SECONDS = 1.0
_BAD_GATEWAY = 502
# What a gateway that speaks HTTP would answer.
_HTTP_STATUSES = {
    GrpcCode.INVALID_ARGUMENT: 400,
    GrpcCode.FAILED_PRECONDITION: 400,
    GrpcCode.UNAUTHENTICATED: 401,
    GrpcCode.PERMISSION_DENIED: 403,
    GrpcCode.NOT_FOUND: 404,
    GrpcCode.RESOURCE_EXHAUSTED: 429,
    GrpcCode.UNIMPLEMENTED: 501,
    GrpcCode.UNAVAILABLE: 503,
    GrpcCode.DEADLINE_EXCEEDED: 504,
}
_HTTP_STATUSES_BY_REASON = {"TOO_LARGE": 413, "PROVIDER_CREDENTIAL": _BAD_GATEWAY}
_UNBOUNDED_USAGE: Final = ("cache_writes", "input_modalities", "output_modalities", "extras")

GRPC_CODES = {code.value[0]: code for code in grpc.StatusCode}
"""gRPC's own enum by number."""


class WireStatus(NamedTuple):
    """What `ServicerContext.abort_with_status` takes."""

    code: grpc.StatusCode
    details: str
    trailing_metadata: tuple[tuple[str, str | bytes], ...]


def wire_status(error: FluxError, request_id: str, *, caller_protocol: Protocol | None = None) -> WireStatus:
    """The status for an error of ours. An error that is nobody's but ours says only the request id."""
    ours = error.code is GrpcCode.INTERNAL
    message = f"internal error, request {request_id}" if ours else cut_text(error.safe_message, _MAX_MESSAGE_BYTES)
    status = _fit(error, message, request_id, _native_of(error, caller_protocol))
    trailer: list[tuple[str, str | bytes]] = [(_DETAILS_KEY, status.SerializeToString())]
    if isinstance(error, RoutingError):
        trailer.append((_PUSHBACK_KEY, _pushback(error)))
    return WireStatus(GRPC_CODES[int(error.code)], message, tuple(trailer))


def _pushback(error: RoutingError) -> str:
    """Milliseconds until a client may retry; -1 stops it: the attempts were ours to make, and they are spent.

    A client that is told to wait does so within the call, and its program learns nothing meanwhile. So only a short
    wait is worth it; a longer one stands in RetryInfo, for the program to decide.
    See https://github.com/grpc/proposal/blob/master/A6-client-retries.md#pushback.
    """
    wait = error.retry_after_seconds
    if error.reason == "CIRCUIT_OPEN" and wait is not None and wait <= _MAX_PUSHBACK_SECONDS:
        return str(max(1, round(wait * 1000)))
    return "-1"


def _native_of(error: FluxError, caller_protocol: Protocol | None) -> NativeErrorBody | None:
    """The error as the caller's protocol has it: the provider's own words, or ours in that protocol.

    A rejected key of ours is no 401 of the caller's, whose SDK would blame its own: it becomes a gateway's 502.
    """
    given = error.native if isinstance(error, RoutingError) else None
    if given is not None:
        return given if 400 <= given.http_status < 600 else replace(given, http_status=_BAD_GATEWAY)
    if caller_protocol is None or error.code is GrpcCode.INTERNAL:
        return None
    status = _HTTP_STATUSES_BY_REASON.get(error.reason) or _HTTP_STATUSES[error.code]
    words = cut_text(error.safe_message, _MAX_MESSAGE_BYTES)
    body = NATIVE[caller_protocol].write_error(status, words, error.reason.lower())
    return NativeErrorBody(protocol=caller_protocol, http_status=status, body=body)


def _fit(error: FluxError, message: str, request_id: str, native: NativeErrorBody | None) -> Status:
    """The fullest status that is within the limit."""
    status = Status()
    for kept in _SHRINKING:
        status = Status(code=int(error.code), message=message)
        for detail in (*_details(error, request_id, kept), _error_detail(error, request_id, native, kept)):
            status.details.add().Pack(detail)
        if status.ByteSize() <= MAX_DETAILS_BYTES:
            break
    return status


class _Kept(NamedTuple):
    """How much is kept of what has no bound of its own."""

    native_bytes: int
    headers: int
    attempts: int
    fields: int


# Tried in this order until it fits. The last one always does: it keeps only what is bounded here.
_SHRINKING = (
    _Kept(2048, 16, 16, 16),
    _Kept(1024, 16, 16, 16),
    _Kept(512, 8, 8, 8),
    _Kept(256, 4, 4, 4),
    _Kept(0, 2, 2, 2),
    _Kept(0, 0, 0, 0),
)


def _details(error: FluxError, request_id: str, kept: _Kept) -> list[Message]:
    metadata = {"request_id": request_id}
    details: list[Message] = []
    if isinstance(error, UnknownModel):
        metadata["nearest"] = cut_text(", ".join(error.nearest), 1024)
    details.append(ErrorInfo(reason=error.reason, domain=DOMAIN, metadata=metadata))
    if isinstance(error, InvalidRequest | RouteUnfit) and error.violations:
        details.append(
            BadRequest(
                field_violations=[
                    BadRequest.FieldViolation(field=cut_text(v.path, 256), description=cut_text(v.message, 256))
                    for v in error.violations[: kept.fields]
                ]
            )
        )
    wait = getattr(error, "retry_after_seconds", None)
    if wait is not None:
        details.append(RetryInfo(retry_delay=_duration(wait)))
    return details


def _error_detail(error: FluxError, request_id: str, native: NativeErrorBody | None, kept: _Kept) -> ErrorDetail:
    detail = ErrorDetail(request_id=request_id)
    if isinstance(error, RoutingError | RouteUnfit):
        detail.attempts.extend(_ends(error.attempts, kept.attempts))
    if isinstance(error, RoutingError) and error.partial_usage is not None:
        detail.partial_usage.CopyFrom(error.partial_usage)
        if kept is _SHRINKING[-1]:
            for field in _UNBOUNDED_USAGE:
                detail.partial_usage.ClearField(field)
    if native is not None:
        detail.native.CopyFrom(_native_error(native, kept))
    return detail


def _native_error(native: NativeErrorBody, kept: _Kept) -> NativeError:
    return NativeError(
        protocol=WireProtocol.Value(f"PROTOCOL_{native.protocol.upper()}"),
        http_status=native.http_status,
        headers=[
            Header(name=cut_text(name, 64), value=cut_text(value, 128))
            for name, value in native.headers[: kept.headers]
        ],
        body=shorten_json(native.body, kept.native_bytes),
    )


def _ends(items: Sequence[Attempt], count: int) -> Sequence[Attempt]:
    """The first and the last of a long trace: how it began and how it ended."""
    if len(items) <= count:
        return items
    head = count // 2
    return [*items[:head], *items[len(items) - (count - head) :]]


def _duration(seconds: float) -> Duration:
    whole = int(seconds)
    return Duration(seconds=whole, nanos=int((seconds - whole) * 1e9))


def cut_text(text: str, max_bytes: int) -> str:
    """The longest beginning of `text` within `max_bytes` of UTF-8, cut at a character border."""
    # Half a surrogate pair has no UTF-8, and a protobuf string refuses it: a question mark stands for it.
    return text.encode("utf-8", "replace")[:max_bytes].decode("utf-8", "ignore")


def shorten_json(body: bytes, max_bytes: int) -> bytes:
    """A JSON text within `max_bytes` that says as much as possible of `body`; empty if that is not JSON."""
    if len(body) <= max_bytes:
        return body
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return b""
    for length in (512, 128, 32, 8):
        shorter = msgspec.json.encode(_clip(value, length))
        if len(shorter) <= max_bytes:
            return shorter
    return b"{}" if max_bytes >= len(b"{}") else b""


def _clip(value: object, length: int, depth: int = 4) -> object:
    """`value` with long strings cut, long lists ended and deep parts left out."""
    if isinstance(value, str):
        return value if len(value) <= length else value[:length] + "…"
    if isinstance(value, list):
        return [_clip(item, length, depth - 1) for item in value[:4]] if depth else []
    if isinstance(value, dict):
        return {key[:64]: _clip(item, length, depth - 1) for key, item in list(value.items())[:16]} if depth else {}
    return value
