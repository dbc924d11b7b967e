"""Errors on the wire: one `FluxError` becomes one `google.rpc.Status` that fits into a trailer.

gRPC carries the details in a header block that many peers limit to 8 KiB and refuse past 16 KiB; then the caller sees
RESOURCE_EXHAUSTED instead of the fault. So the details are at most 4 KiB here: first the native body is shortened
(and stays JSON), then the trace of attempts, then the field paths.
See https://google.aip.dev/193 for the detail types.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import grpc
import msgspec
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status

from fluxrpc.errors import FluxError, GrpcCode, InvalidRequest, NativeErrorBody, RoutingError, UnknownModel
from fluxrpc.v1.outcome_pb2 import Attempt, ErrorDetail, NativeError
from fluxrpc.v1.protocol_pb2 import Protocol as WireProtocol

DOMAIN = "fluxrpc"
MAX_DETAILS_BYTES = 4096
_MAX_MESSAGE_BYTES = 512
_DETAILS_KEY = "grpc-status-details-bin"
_PUSHBACK_KEY = "grpc-retry-pushback-ms"
_MAX_PUSHBACK_SECONDS = 1.0

GRPC_CODES = {code.value[0]: code for code in grpc.StatusCode}
"""gRPC's own enum by number."""


class WireStatus(NamedTuple):
    """What `ServicerContext.abort_with_status` takes."""

    code: grpc.StatusCode
    details: str
    trailing_metadata: tuple[tuple[str, str | bytes], ...]


def wire_status(error: FluxError, request_id: str) -> WireStatus:
    """The status for an error of ours. An error that is nobody's but ours says only the request id."""
    ours = error.code is GrpcCode.INTERNAL
    message = f"internal error, request {request_id}" if ours else cut_text(error.safe_message, _MAX_MESSAGE_BYTES)
    status = _fit(error, message, request_id)
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


def _fit(error: FluxError, message: str, request_id: str) -> Status:
    """The fullest status that is within the limit."""
    native = error.native if isinstance(error, RoutingError) else None
    for native_bytes, attempt_count, field_count in _SHRINKING:
        body = shorten_json(native.body, native_bytes) if native is not None else b""
        status = Status(code=int(error.code), message=message)
        for detail in _details(error, request_id, field_count):
            status.details.add().Pack(detail)
        status.details.add().Pack(_error_detail(error, request_id, native, body, attempt_count))
        if status.ByteSize() <= MAX_DETAILS_BYTES:
            return status
    return Status(code=int(error.code), message=message)


# Bytes of the native body, attempts and field paths that are kept: tried in this order until it fits.
_SHRINKING = ((2048, 16, 16), (1024, 16, 16), (512, 8, 8), (256, 4, 4), (0, 2, 2), (0, 0, 0))


def _details(error: FluxError, request_id: str, field_count: int) -> list[Message]:
    metadata = {"request_id": request_id}
    details: list[Message] = []
    if isinstance(error, UnknownModel):
        metadata["nearest"] = ", ".join(error.nearest[:field_count])
    details.append(ErrorInfo(reason=error.reason, domain=DOMAIN, metadata=metadata))
    if isinstance(error, InvalidRequest):
        details.append(
            BadRequest(
                field_violations=[
                    BadRequest.FieldViolation(field=cut_text(v.path, 256), description=cut_text(v.message, 256))
                    for v in error.violations[:field_count]
                ]
            )
        )
    wait = getattr(error, "retry_after_seconds", None)
    if wait is not None:
        details.append(RetryInfo(retry_delay=_duration(wait)))
    return details


def _error_detail(
    error: FluxError, request_id: str, native: NativeErrorBody | None, body: bytes, attempt_count: int
) -> ErrorDetail:
    detail = ErrorDetail(request_id=request_id)
    if isinstance(error, RoutingError):
        detail.attempts.extend(_ends(error.attempts, attempt_count))
        if error.partial_usage is not None:
            detail.partial_usage.CopyFrom(error.partial_usage)
    if native is not None:
        detail.native.CopyFrom(
            NativeError(
                protocol=WireProtocol.Value(f"PROTOCOL_{native.protocol.upper()}"),
                http_status=native.http_status,
                body=body,
            )
        )
        for name, value in native.headers[:16]:
            detail.native.headers.add(name=name, value=cut_text(value, 128))
    return detail


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
    data = text.encode("utf-8", "replace")
    return text if len(data) <= max_bytes else data[:max_bytes].decode("utf-8", "ignore")


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
