"""What the generated stubs tell a type checker. mypy judges the annotations; the calls themselves are never made."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator
from typing import Literal, assert_type

import grpc
import grpc.aio

from fluxrpc.v1 import ROLE_USER, ExecuteRequest, ExecuteResponse, ExecuteStreamResponse, Message, MessageRequest
from fluxrpc.v1.router_pb2_grpc import RouterServiceServicer, RouterServiceStub

REQUEST = ExecuteRequest(model="m", message=MessageRequest(messages=[Message(role=ROLE_USER, text="Hi")]))

Context = grpc.aio.ServicerContext[ExecuteRequest, ExecuteResponse]
StreamContext = grpc.aio.ServicerContext[ExecuteRequest, ExecuteStreamResponse]


class Servicer(RouterServiceServicer):
    async def Execute(self, request: ExecuteRequest, context: Context) -> ExecuteResponse:  # noqa: N802  # from the proto
        assert_type(request.WhichOneof("request"), Literal["message", "native"] | None)
        return ExecuteResponse()

    async def ExecuteStream(  # noqa: N802  # from the proto
        self, request: ExecuteRequest, context: StreamContext
    ) -> AsyncIterator[ExecuteStreamResponse]:
        yield ExecuteStreamResponse()


def call_sync(channel: grpc.Channel) -> None:
    stub = RouterServiceStub(channel)
    assert_type(stub.Execute(REQUEST), ExecuteResponse)
    for message in stub.ExecuteStream(REQUEST):
        assert_type(message, ExecuteStreamResponse)


async def call_async(channel: grpc.aio.Channel) -> None:
    stub = RouterServiceStub(channel)
    assert_type(await stub.Execute(REQUEST), ExecuteResponse)
    async for message in stub.ExecuteStream(REQUEST):
        if message.WhichOneof("message") == "native":
            assert_type(message.native, bytes)


def test_the_servicer_overrides_what_the_contract_names() -> None:
    for name in ("Execute", "ExecuteStream"):
        theirs = inspect.signature(getattr(RouterServiceServicer, name)).parameters
        assert list(inspect.signature(getattr(Servicer, name)).parameters) == list(theirs)
