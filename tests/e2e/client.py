"""Calls through the generated Python client, reduced to what the checks look at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import grpc
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from fluxrpc_client.v1 import (
    ROLE_USER,
    Completed,
    ErrorDetail,
    ExecuteRequest,
    ExecuteResponse,
    ExecuteStreamResponse,
    ListModelsRequest,
    MessageRequest,
    NativeRequest,
    Started,
)
from fluxrpc_client.v1.router_pb2_grpc import RouterServiceStub
from tests.e2e.calls import MAX_TOKENS, PROMPT, NativeCall
from tests.e2e.service import ALIAS, Service
from tests.e2e.transcript import CheckFailed

CALL_SECONDS = 60


def native_request(call: NativeCall, **changes: object) -> ExecuteRequest:
    body = call.request_body(**changes)
    return ExecuteRequest(model=ALIAS, native=NativeRequest(protocol=call.protocol, body=body))


def typed_request() -> ExecuteRequest:
    message = MessageRequest(max_output_tokens=MAX_TOKENS, temperature=0)
    message.messages.add(role=ROLE_USER, text=PROMPT)
    return ExecuteRequest(model=ALIAS, message=message)


@dataclass(slots=True)
class Stream:
    """What a stream has brought so far."""

    kinds: list[str] = field(default_factory=list)
    native: bytes = b""
    text: str = ""
    started: Started | None = None
    completed: Completed | None = None

    def take(self, message: ExecuteStreamResponse) -> None:
        kind = message.WhichOneof("message") or "nothing"
        self.kinds.append(kind)
        if kind == "started":
            self.started = message.started
        elif kind == "native":
            self.native += message.native
        elif kind == "events":
            self.text += "".join(event.part_delta.text for event in message.events.events)
        elif kind == "completed":
            self.completed = message.completed


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A status other than OK, with its details."""

    code: str
    reason: str
    retry_seconds: float | None
    detail: ErrorDetail
    message: str

    def __str__(self) -> str:
        wait = "" if self.retry_seconds is None else f", retry in {self.retry_seconds:.2f} s"
        return f"{self.code} {self.reason}{wait}: {self.message}"


def read_refusal(error: grpc.RpcError) -> Refusal:
    """Decodes a failed call."""
    status = rpc_status.from_call(error)
    info, retry, detail = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo(), ErrorDetail()
    waits = False
    for packed in status.details if status else ():
        packed.Unpack(info)
        packed.Unpack(detail)
        waits = packed.Unpack(retry) or waits
    return Refusal(
        code=error.code().name,
        reason=info.reason,
        retry_seconds=retry.retry_delay.ToTimedelta().total_seconds() if waits else None,
        detail=detail,
        message=error.details() or "",
    )


class Client:
    """The generated stub with our token."""

    def __init__(self, channel: grpc.Channel, token: str) -> None:
        self._stub = RouterServiceStub(channel)
        self._metadata: tuple[tuple[str, str | bytes], ...] = (("authorization", f"Bearer {token}"),)

    def execute(self, request: ExecuteRequest) -> ExecuteResponse:
        return self._stub.Execute(request, timeout=CALL_SECONDS, metadata=self._metadata)

    def stream(self, request: ExecuteRequest, *, after: Callable[[Stream], bool] = lambda _: True) -> Stream:
        """Reads a stream to its end. `after` sees it after each message; where it says False we hang up."""
        call = self._stub.ExecuteStream(request, timeout=CALL_SECONDS, metadata=self._metadata)
        got = Stream()
        for message in call:
            got.take(message)
            if not after(got):
                call.cancel()
                break
        return got

    def available_routes(self) -> int:
        """How many routes of our model would be tried now."""
        listed = self._stub.ListModels(ListModelsRequest(), timeout=CALL_SECONDS, metadata=self._metadata)
        return sum(model.available_route_count for model in listed.models if model.name == ALIAS)

    def refusal(self, request: ExecuteRequest) -> Refusal:
        """The failure of a call that must fail. Raises CheckFailed where it succeeds."""
        try:
            self.execute(request)
        except grpc.RpcError as error:
            return read_refusal(error)
        raise CheckFailed("the call succeeded")


@contextmanager
def connected(service: Service) -> Iterator[Client]:
    """A client on a channel of its own, without retries by gRPC itself."""
    with grpc.insecure_channel(service.target, options=[("grpc.enable_retries", 0)]) as channel:
        yield Client(channel, service.token)
