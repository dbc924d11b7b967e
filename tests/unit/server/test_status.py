from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo
from google.rpc.status_pb2 import Status

from fluxrpc.errors import (
    CircuitOpen,
    CredentialFailed,
    FieldViolation,
    FluxError,
    InvalidRequest,
    NativeErrorBody,
    ProviderFailed,
    RoutingError,
    UnknownModel,
)
from fluxrpc.protocols.base import Protocol
from fluxrpc.server.status import MAX_DETAILS_BYTES, WireStatus, cut_text, shorten_json, wire_status
from fluxrpc.v1.outcome_pb2 import Attempt, ErrorDetail
from fluxrpc.v1.protocol_pb2 import Extra
from fluxrpc.v1.usage_pb2 import ModalityTokens, Usage

HUGE = "é\n\0" * 20_000


def _status(told: WireStatus) -> Status:
    data = dict(told.trailing_metadata)["grpc-status-details-bin"]
    assert isinstance(data, bytes)
    return Status.FromString(data)


def _detail(told: WireStatus, kind: Any) -> Any:
    return next(kind for packed in _status(told).details if packed.Unpack(kind))


def _native(body: bytes, headers: int = 40) -> NativeErrorBody:
    return NativeErrorBody(
        protocol="openai",
        http_status=500,
        headers=tuple((f"x-ratelimit-{n}-" + "n" * 2000, "\udcff" + "v" * 2000) for n in range(headers)),
        body=body,
    )


FAT_USAGE = Usage(
    input_tokens=7,
    input_modalities=[ModalityTokens(modality_raw="m" * 100, tokens=1)] * 100,
    extras=[Extra(key="k", value_json='"' + "x" * 9000 + '"')],
)
ATTEMPTS = [Attempt(route=f"{n} " + "r" * 250, reason="SICK") for n in range(60)]
FAT_ERRORS: dict[str, FluxError] = {
    "text": FluxError("x", safe_message=HUGE),
    "surrogates": UnknownModel("\ud800" * 300, ["\udfff" * 9000] * 9),
    "nearest": UnknownModel("m", ["n" * 256] * 300),
    "violations": InvalidRequest([FieldViolation(path=HUGE, message=HUGE)] * 500),
    "attempts": ProviderFailed(HUGE, attempts=ATTEMPTS),
    "usage": ProviderFailed("x", partial_usage=FAT_USAGE, attempts=ATTEMPTS),
    "native": ProviderFailed("x", native=_native(json.dumps({"error": HUGE, "more": [HUGE] * 9}).encode())),
    "native rubbish": ProviderFailed("x", native=_native(b"\xff" * 9000)),
    "everything": ProviderFailed(HUGE, attempts=ATTEMPTS, partial_usage=FAT_USAGE, native=_native(b"[" * 90_000)),
}


@pytest.mark.parametrize("what", FAT_ERRORS)
def test_whatever_an_error_holds_its_status_fits(what: str) -> None:
    told = wire_status(FAT_ERRORS[what], "request-1")
    status = _status(told)
    assert status.ByteSize() <= MAX_DETAILS_BYTES
    assert status.message == told.details
    assert len(told.details.encode()) <= 512
    assert _detail(told, ErrorInfo()).metadata["request_id"] == "request-1"
    assert _detail(told, ErrorDetail()).request_id == "request-1"
    if isinstance(FAT_ERRORS[what], InvalidRequest):
        assert _detail(told, BadRequest()).field_violations


def test_the_ends_of_a_long_trace_are_kept() -> None:
    attempts = [Attempt(route=str(n)) for n in range(40)]
    detail = _detail(wire_status(ProviderFailed("x", attempts=attempts), "r"), ErrorDetail())
    kept = [each.route for each in detail.attempts]
    assert (kept[0], kept[-1], len(kept)) == ("0", "39", 16)


def test_what_a_failed_stream_cost_is_kept_in_numbers() -> None:
    usage = _detail(wire_status(FAT_ERRORS["usage"], "r"), ErrorDetail()).partial_usage
    assert usage.input_tokens == 7
    assert not usage.extras


def test_a_bug_says_nothing_but_the_request_id() -> None:
    class Bug(FluxError):
        pass

    told = wire_status(Bug("/srv/secret"), "r-1")
    assert told.details == "internal error, request r-1"
    assert b"secret" not in _status(told).SerializeToString()
    assert "grpc-retry-pushback-ms" not in dict(told.trailing_metadata)


@pytest.mark.parametrize(
    ("error", "pushback"),
    [
        (ProviderFailed("x"), "-1"),
        (ProviderFailed("x", retry_after_seconds=0.5), "-1"),
        (CircuitOpen("x"), "-1"),
        (CircuitOpen("x", retry_after_seconds=0.0), "1"),
        (CircuitOpen("x", retry_after_seconds=0.25), "250"),
        (CircuitOpen("x", retry_after_seconds=1.01), "-1"),
    ],
)
def test_only_a_short_wait_is_a_clients_matter(error: RoutingError, pushback: str) -> None:
    assert dict(wire_status(error, "r").trailing_metadata)["grpc-retry-pushback-ms"] == pushback


@pytest.mark.parametrize("protocol", Protocol)
def test_a_rejected_key_is_a_gateways_fault_in_every_protocol(protocol: Protocol) -> None:
    native = _detail(wire_status(CredentialFailed("keys"), "r", caller_protocol=protocol), ErrorDetail()).native
    assert native.http_status == 502
    assert b"keys" in native.body
    assert msgspec.json.decode(native.body)


@pytest.mark.parametrize("limit", [0, 1, 2, 3, 4, 5])
def test_text_is_cut_between_characters(limit: int) -> None:
    assert cut_text("éñ!", limit) == ("", "", "é", "é", "éñ", "éñ!")[limit]
    assert cut_text("\ud800", 5) == "?"


@pytest.mark.parametrize("limit", [0, 1, 2, 10, 60, 200, 1000, 5000])
@pytest.mark.parametrize(
    "value",
    [
        {"error": {"message": "m" * 3000, "code": 7, "param": None}},
        {"k" * 300: ["x" * 900] * 50},
        [[[[[[["deep"]]]]]]] * 400,
        "é" * 4000,
    ],
    ids=["error", "long key", "deep", "text"],
)
def test_shortened_json_is_json(value: Any, limit: int) -> None:
    short = shorten_json(msgspec.json.encode(value), limit)
    assert len(short) <= limit
    if short:
        msgspec.json.decode(short)
    assert short or limit < 2


def test_json_keeps_its_message_longest() -> None:
    body = msgspec.json.encode({"error": {"message": "what went wrong " + "x" * 4000}})
    assert b"what went wrong" in shorten_json(body, 300)
    assert shorten_json(b"<html>" + b"x" * 400, 300) == b""
    assert shorten_json(b"<html>", 300) == b"<html>"
