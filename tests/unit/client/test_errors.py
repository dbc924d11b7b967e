"""The error tree of the Python client, and how it is read from a status."""

from __future__ import annotations

import pickle

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status
from grpc.aio import AioRpcError, Metadata

import fluxrpc.errors as server_errors
from fluxrpc.server.status import wire_status
from fluxrpc_client import errors
from fluxrpc_client.errors import Failure, FieldViolation, FluxError, InvalidRequest, UnknownModel, error_of
from fluxrpc_client.status import read_failure, typed_errors
from fluxrpc_client.v1 import PROTOCOL_OPENAI, Attempt, ErrorDetail, NativeError, Usage


def failed_call(code: grpc.StatusCode, *details: Message, trailer: bytes | None = None) -> AioRpcError:
    status = Status(code=code.value[0], message="no")
    for detail in details:
        status.details.add().Pack(detail)
    value = status.SerializeToString() if trailer is None else trailer
    return AioRpcError(code, Metadata(), Metadata(("grpc-status-details-bin", value)), "no")


def test_every_detail_is_read() -> None:
    detail = ErrorDetail(
        request_id="r-1",
        attempts=[Attempt(route="a"), Attempt(route="b")],
        partial_usage=Usage(output_tokens=7),
        native=NativeError(protocol=PROTOCOL_OPENAI, http_status=429, body=b"{}"),
    )
    failure = read_failure(
        failed_call(
            grpc.StatusCode.RESOURCE_EXHAUSTED,
            ErrorInfo(reason="RATE_LIMITED", domain="fluxrpc", metadata={"a": "b"}),
            RetryInfo(retry_delay=Duration(seconds=2, nanos=500_000_000)),
            BadRequest(field_violations=[BadRequest.FieldViolation(field="a.b", description="wrong")]),
            detail,
        )
    )
    assert failure == Failure(
        code=grpc.StatusCode.RESOURCE_EXHAUSTED,
        message="no",
        reason="RATE_LIMITED",
        request_id="r-1",
        retry_after_seconds=2.5,
        attempts=tuple(detail.attempts),
        partial_usage=detail.partial_usage,
        native=detail.native,
        violations=(FieldViolation(path="a.b", message="wrong"),),
        metadata={"a": "b"},
    )


def test_a_hint_of_no_wait_differs_from_no_hint() -> None:
    assert read_failure(failed_call(grpc.StatusCode.UNAVAILABLE, RetryInfo())).retry_after_seconds == 0
    assert read_failure(failed_call(grpc.StatusCode.UNAVAILABLE)).retry_after_seconds is None


@pytest.mark.parametrize(
    "call",
    [
        failed_call(grpc.StatusCode.UNAVAILABLE, trailer=b"\xff\xff"),
        AioRpcError(grpc.StatusCode.UNAVAILABLE, Metadata(), Metadata(), "no"),
    ],
)
def test_without_readable_details_the_code_decides(call: AioRpcError) -> None:
    with pytest.raises(errors.Unavailable) as caught, typed_errors():
        raise call
    assert type(caught.value) is errors.Unavailable
    assert caught.value.__cause__ is call
    assert (caught.value.reason, caught.value.request_id, caught.value.attempts) == ("", "", ())


def test_the_request_id_of_the_info_serves_where_there_is_no_detail() -> None:
    info = ErrorInfo(reason="INTERNAL", metadata={"request_id": "r-2"})
    assert read_failure(failed_call(grpc.StatusCode.INTERNAL, info)).request_id == "r-2"


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (server_errors.InvalidRequest.at("a", "b"), errors.InvalidRequest),
        (server_errors.RequestTooLarge("x"), errors.TooLarge),
        (server_errors.AnswerTooLarge("x"), errors.TooLarge),
        (server_errors.UnknownModel("x", ["y"]), errors.UnknownModel),
        (server_errors.Unauthenticated("x"), errors.Unauthenticated),
        (server_errors.PermissionDenied("x"), errors.PermissionDenied),
        (server_errors.NotExpressible("x"), errors.NotExpressible),
        (server_errors.StateNotPortable("x"), errors.StateNotPortable),
        (server_errors.DeadlineExceeded("x"), errors.DeadlineExceeded),
        (server_errors.CircuitOpen("x", retry_after_seconds=3), errors.CircuitOpen),
        (server_errors.ProviderFailed("x"), errors.ProviderFailed),
        (server_errors.StreamInterrupted("x"), errors.StreamInterrupted),
        (server_errors.RateLimited("x"), errors.RateLimited),
        (server_errors.CredentialFailed("x"), errors.CredentialFailed),
        (server_errors.ProviderRejected("x"), errors.InvalidRequest),
        (server_errors.ContextLengthExceeded("x"), errors.ContextLengthExceeded),
        (server_errors.ContentRefused("x"), errors.ContentRefused),
        (server_errors.FluxError("secret"), errors.InternalError),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else None,
)
def test_what_the_server_raises_arrives_as_its_namesake(
    raised: server_errors.FluxError, expected: type[FluxError]
) -> None:
    wire = wire_status(raised, "r-3")
    error = error_of(read_failure(AioRpcError(wire.code, Metadata(), Metadata(*wire.trailing_metadata), wire.details)))
    assert type(error) is expected
    assert error.reason == raised.reason
    assert error.request_id == "r-3"


def test_every_reason_that_has_a_class_of_its_own_is_one_that_can_come() -> None:
    def tree(kind: type[server_errors.FluxError]) -> set[str]:
        return {kind.reason}.union(*(tree(below) for below in kind.__subclasses__()))

    by_the_client = {"ANSWER_RESTARTED", "STREAM_INCOMPLETE"}
    by_the_limiter = {"OVERLOADED"}
    assert errors._BY_REASON.keys() <= tree(server_errors.FluxError) | by_the_client | by_the_limiter


def test_an_unknown_reason_falls_back_to_its_code() -> None:
    error = error_of(Failure(code=grpc.StatusCode.UNAVAILABLE, message="no", reason="BRAND_NEW"))
    assert type(error) is errors.Unavailable
    assert type(error_of(Failure(code=grpc.StatusCode.DATA_LOSS, message="no"))) is errors.InternalError


def test_the_text_says_what_a_person_needs() -> None:
    failure = Failure(
        code=grpc.StatusCode.UNAVAILABLE,
        message="all doors are shut",
        reason="CIRCUIT_OPEN",
        request_id="r-4",
        retry_after_seconds=1.5,
    )
    assert str(error_of(failure)) == "UNAVAILABLE CIRCUIT_OPEN: all doors are shut (request r-4, retry in 1.5 s)"
    assert str(error_of(Failure(code=grpc.StatusCode.UNAVAILABLE, message="gone"))) == "UNAVAILABLE: gone"


def test_what_two_kinds_say_besides() -> None:
    unknown = error_of(
        Failure(code=grpc.StatusCode.NOT_FOUND, message="", reason="UNKNOWN_MODEL", metadata={"nearest": "fast, best"})
    )
    assert isinstance(unknown, UnknownModel)
    assert unknown.nearest == ("fast", "best")
    bare = error_of(Failure(code=grpc.StatusCode.NOT_FOUND, message=""))
    assert isinstance(bare, UnknownModel)
    assert bare.nearest == ()
    violation = FieldViolation(path="a", message="b")
    invalid = error_of(Failure(code=grpc.StatusCode.INVALID_ARGUMENT, message="", violations=(violation,)))
    assert isinstance(invalid, InvalidRequest)
    assert invalid.violations == (violation,)


def test_an_error_crosses_processes() -> None:
    error = error_of(Failure(code=grpc.StatusCode.UNAVAILABLE, message="no", attempts=(Attempt(route="a"),)))
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert copy.failure == error.failure
