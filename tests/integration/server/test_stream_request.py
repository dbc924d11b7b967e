"""The one request of a streaming method, which gRPC is told is a stream: callers of every kind see one of the usual."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

import grpc
import pytest

from fluxrpc.simulator import Ok, Simulator
from fluxrpc.v1.protocol_pb2 import PROTOCOL_OPENAI
from fluxrpc.v1.router_pb2 import ExecuteRequest, ExecuteStreamResponse, NativeRequest
from tests.integration.server.conftest import ENV
from tests.support.asking import config_for
from tests.support.serving import Serving, serving

BODY = b'{"model":"m","messages":[{"role":"user","content":"Hi"}],"stream":true}'
REQUEST = ExecuteRequest(model="m", native=NativeRequest(protocol=PROTOCOL_OPENAI, body=BODY))


def call(server: Serving) -> Any:
    """A call that sends as many requests as it likes."""
    method = cast("Any", server.channel).stream_stream(
        "/fluxrpc.v1.RouterService/ExecuteStream",
        request_serializer=ExecuteRequest.SerializeToString,
        response_deserializer=ExecuteStreamResponse.FromString,
    )
    return method()


async def until(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(5):
        while not holds():  # noqa: ASYNC110  # the server has no event for it
            await asyncio.sleep(0.005)


async def test_no_request_is_the_callers_fault(sim: Simulator) -> None:
    async with serving(config_for(sim, {"m": [{"model": "m"}]}), ENV) as server:
        silent = call(server)
        await silent.done_writing()
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await silent.read()
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert caught.value.details() == "a request is expected"


async def test_more_than_one_request_changes_nothing(sim: Simulator) -> None:
    sim.script("m", Ok())
    async with serving(config_for(sim, {"m": [{"model": "m"}]}), ENV) as server:
        talkative = call(server)
        await talkative.write(REQUEST)
        await talkative.write(REQUEST)
        messages = [message async for message in talkative]
        assert messages[0].HasField("started")
        assert messages[-1].HasField("completed")
        assert len(sim.log) == 1


async def test_a_caller_who_leaves_before_it_has_asked(sim: Simulator) -> None:
    async with serving(config_for(sim, {"m": [{"model": "m"}]}), ENV) as server:
        silent = call(server)
        await until(lambda: server.app.limiter.running == 1)
        silent.cancel()
        await until(lambda: server.access_lines)
        assert [line["code"] for line in server.access_lines] == ["CANCELLED"]
        assert server.at_rest()
