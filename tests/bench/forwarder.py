"""The bare forwarder that the gateway is measured against: the least that a gateway on this stack can do.

grpc.aio on uvloop in front, one aiohttp session behind, the same messages as fluxrpc; no routing, no retries, no
accounting. A native request passes as bytes. A typed one is translated: its text is written as JSON, and the answer
is decoded into typed structures and written as a message.

    python -m tests.bench.forwarder BASE_URL

prints its port and serves until it is told to end.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import aiohttp
import grpc
import msgspec
import uvloop

from fluxrpc.v1.message_pb2 import ROLE_ASSISTANT, ROLE_SYSTEM, ROLE_USER, MessageRequest, Role
from fluxrpc.v1.response_pb2 import FINISH_REASON_LENGTH, FINISH_REASON_STOP, FinishReason, MessageResponse
from fluxrpc.v1.router_pb2 import (
    Completed,
    ExecuteRequest,
    ExecuteResponse,
    ExecuteStreamResponse,
    NativeResponse,
    Started,
)
from fluxrpc.v1.usage_pb2 import Usage

SERVICE = "fluxrpc.v1.RouterService"
PATH = "/chat/completions"
HEADERS = {"content-type": "application/json", "authorization": "Bearer none"}
ROLES: dict[Role.ValueType, str] = {ROLE_SYSTEM: "system", ROLE_USER: "user", ROLE_ASSISTANT: "assistant"}
FINISHES: dict[str, FinishReason.ValueType] = {"stop": FINISH_REASON_STOP, "length": FINISH_REASON_LENGTH}


class WireMessage(msgspec.Struct, omit_defaults=True):
    role: str
    content: str | None = None


class WireRequest(msgspec.Struct, omit_defaults=True):
    model: str
    messages: list[WireMessage]
    stream: bool = False


class WireChoice(msgspec.Struct):
    message: WireMessage
    finish_reason: str | None = None


class WireUsage(msgspec.Struct):
    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0


class WireAnswer(msgspec.Struct):
    id: str
    model: str
    choices: list[WireChoice]
    usage: WireUsage | None = None


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(WireAnswer).decode


def write_request(model: str, message: MessageRequest) -> bytes:
    return _encode(
        WireRequest(
            model=model,
            messages=[WireMessage(role=ROLES.get(turn.role, "user"), content=turn.text) for turn in message.messages],
        )
    )


def read_answer(body: bytes) -> ExecuteResponse:
    answer = _decode(body)
    usage = answer.usage or WireUsage()
    counted = Usage(
        input_tokens=usage.prompt_tokens, output_tokens=usage.completion_tokens, total_tokens=usage.total_tokens
    )
    message = MessageResponse(id=answer.id, model=answer.model, usage=counted)
    for index, choice in enumerate(answer.choices):
        made = message.choices.add(index=index)
        made.parts.add(text=choice.message.content or "")
        finish = choice.finish_reason or ""
        made.finish.raw = finish
        made.finish.reason = FINISHES.get(finish, FINISH_REASON_STOP)
    return ExecuteResponse(message=message, usage=counted)


@dataclass(frozen=True, slots=True)
class Forwarder:
    """Two methods, one upstream."""

    session: aiohttp.ClientSession
    url: str

    async def execute(self, request: ExecuteRequest, context: Any) -> ExecuteResponse:
        typed = request.HasField("message")
        body = write_request(request.model, request.message) if typed else request.native.body
        async with self.session.post(self.url, data=body, headers=HEADERS) as answer:
            got = await answer.read()
            if answer.status != 200:
                await context.abort(grpc.StatusCode.UNAVAILABLE, "upstream")
        if typed:
            return read_answer(got)
        return ExecuteResponse(native=NativeResponse(protocol=request.native.protocol, body=got))

    async def execute_stream(self, request: ExecuteRequest, context: Any) -> AsyncIterator[ExecuteStreamResponse]:
        async with self.session.post(self.url, data=request.native.body, headers=HEADERS) as answer:
            if answer.status != 200:
                await context.abort(grpc.StatusCode.UNAVAILABLE, "upstream")
            yield ExecuteStreamResponse(started=Started())
            async for chunk in answer.content.iter_any():
                yield ExecuteStreamResponse(native=chunk)
        yield ExecuteStreamResponse(completed=Completed())


def method_handlers(forwarder: Forwarder) -> grpc.GenericRpcHandler:
    return grpc.method_handlers_generic_handler(
        SERVICE,
        {
            "Execute": grpc.unary_unary_rpc_method_handler(
                forwarder.execute,
                request_deserializer=ExecuteRequest.FromString,
                response_serializer=ExecuteResponse.SerializeToString,
            ),
            "ExecuteStream": grpc.unary_stream_rpc_method_handler(
                forwarder.execute_stream,
                request_deserializer=ExecuteRequest.FromString,
                response_serializer=ExecuteStreamResponse.SerializeToString,
            ),
        },
    )


async def serve(base_url: str) -> None:
    server = grpc.aio.server()
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar()) as session:
        server.add_generic_rpc_handlers((method_handlers(Forwarder(session, base_url + PATH)),))
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        print(port, flush=True)  # noqa: T201  # the parent waits for it
        await stopped.wait()
        await server.stop(0)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        uvloop.run(serve(sys.argv[1]))
