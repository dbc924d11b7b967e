"""Failures read from trailers, and what they advise."""

from __future__ import annotations

import grpc
import pytest
from google.protobuf.any_pb2 import Any as Packed
from google.rpc.status_pb2 import Status
from grpc.aio import AioRpcError, Metadata

from fluxrpc.cli.failure import INCOMPLETE, read_failure
from fluxrpc.errors import InvalidRequest, NativeErrorBody, ProviderFailed
from fluxrpc.server.status import wire_status
from fluxrpc.v1.outcome_pb2 import OUTCOME_MODEL, Attempt


def error_with(trailer: bytes | None, code: grpc.StatusCode = grpc.StatusCode.UNAVAILABLE) -> AioRpcError:
    pairs = [] if trailer is None else [("grpc-status-details-bin", trailer)]
    return AioRpcError(code, Metadata(), Metadata(("other", "x"), *pairs), details="what happened")


def test_all_details_are_read() -> None:
    native = NativeErrorBody(protocol="openai", http_status=503, body=b'{"error":{}}')
    attempt = Attempt(route="a", outcome=OUTCOME_MODEL)
    error = ProviderFailed("sick", attempts=[attempt], native=native, retry_after_seconds=2.5)
    trailer = dict(wire_status(error, "id-1").trailing_metadata)["grpc-status-details-bin"]
    assert isinstance(trailer, bytes)
    failure = read_failure(error_with(trailer))
    assert (failure.code, failure.reason, failure.message) == ("UNAVAILABLE", "PROVIDER_FAILED", "what happened")
    assert (failure.request_id, failure.retry_after_seconds) == ("id-1", 2.5)
    assert failure.attempts == (attempt,)
    assert failure.native is not None
    assert failure.native.http_status == 503
    assert failure.as_json()["code"] == "UNAVAILABLE"
    assert [detail["@type"].rpartition(".")[2] for detail in failure.as_json()["details"]] == [
        "ErrorInfo",
        "RetryInfo",
        "ErrorDetail",
    ]


def test_bad_fields_are_read() -> None:
    trailer = dict(wire_status(InvalidRequest.at("model", "missing"), "id-1").trailing_metadata)
    content = trailer["grpc-status-details-bin"]
    assert isinstance(content, bytes)
    assert read_failure(error_with(content)).violations == (("model", "missing"),)


@pytest.mark.parametrize("trailer", [None, b"\xff\xff", b""])
def test_what_cannot_be_read_is_left_out(trailer: bytes | None) -> None:
    failure = read_failure(error_with(trailer))
    assert (failure.code, failure.message, failure.reason) == ("UNAVAILABLE", "what happened", "")
    assert failure.as_json()["code"] == "UNAVAILABLE"


def test_details_of_unknown_types_do_not_hide_the_rest() -> None:
    status = Status(code=14, message="new", details=[Packed(type_url="type.googleapis.com/no.Such", value=b"")])
    failure = read_failure(error_with(status.SerializeToString()))
    assert failure.as_json() == {"code": "UNAVAILABLE", "message": "new"}


@pytest.mark.parametrize(
    ("code", "trailer", "advice"),
    [
        (grpc.StatusCode.UNAVAILABLE, None, "listen at host:1"),
        (grpc.StatusCode.UNIMPLEMENTED, None, "really fluxrpc that listens at host:1"),
        (grpc.StatusCode.INTERNAL, None, "request id to the operator"),
        (grpc.StatusCode.UNAVAILABLE, "PROVIDER_FAILED", "the attempts say"),
    ],
)
def test_each_failure_advises(code: grpc.StatusCode, trailer: str | None, advice: str) -> None:
    content = None
    if trailer is not None:
        packed = dict(wire_status(ProviderFailed("sick"), "id").trailing_metadata)["grpc-status-details-bin"]
        assert isinstance(packed, bytes)
        content = packed
    assert advice in read_failure(error_with(content, code)).advice("host:1")


def test_an_incomplete_stream_is_a_failure() -> None:
    assert "may not be the whole answer" in INCOMPLETE.advice("host:1")
