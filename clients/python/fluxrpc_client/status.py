"""From gRPC's errors to ours: reads `google.rpc.Status` out of the trailer of a failed call.

Whatever the trailer holds, the status code and its message are kept: a detail that cannot be read is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import cast

import grpc
from google.protobuf.message import DecodeError
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status

from fluxrpc_client.errors import Failure, FieldViolation, error_of
from fluxrpc_client.v1 import ErrorDetail

__all__ = ["read_failure", "typed_errors"]

_DETAILS_KEY = "grpc-status-details-bin"


@contextmanager
def typed_errors() -> Iterator[None]:
    """Raise the error of ours for every error of gRPC; the latter is its cause."""
    try:
        yield
    except grpc.RpcError as error:
        raise error_of(read_failure(error)) from error


def read_failure(error: grpc.RpcError) -> Failure:
    """What a failed call says, of `grpc` as of `grpc.aio`."""
    failure = Failure(code=error.code(), message=error.details() or "")
    # Pairs in both libraries, though the stubs of one hide it.
    trailer = cast("Iterable[tuple[str, str | bytes]]", error.trailing_metadata() or ())
    for key, value in trailer:
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
    return replace(
        failure,
        reason=info.reason,
        request_id=detail.request_id or info.metadata.get("request_id", ""),
        retry_after_seconds=retry.retry_delay.seconds + retry.retry_delay.nanos / 1e9 if waits else None,
        attempts=tuple(detail.attempts),
        partial_usage=detail.partial_usage if detail.HasField("partial_usage") else None,
        native=detail.native if detail.HasField("native") else None,
        violations=tuple(FieldViolation(path=v.field, message=v.description) for v in bad.field_violations),
        metadata=dict(info.metadata),
    )
