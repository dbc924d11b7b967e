"""The official Cohere SDK takes the simulator for its provider."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import cohere
import httpx
import pytest
from cohere.core.request_options import RequestOptions
from cohere.errors import TooManyRequestsError, UnauthorizedError

from fluxrpc.simulator import Simulator
from tests.simulator.raw import TOOL_SCHEMA

HELLO: Any = [{"role": "user", "content": "hello dear model"}]
TOOLS: Any = [{"type": "function", "function": {"name": "weather", "parameters": TOOL_SCHEMA}}]
ONCE = RequestOptions(max_retries=0)


@pytest.fixture
async def client(sim: Simulator) -> AsyncIterator[cohere.AsyncClientV2]:
    async with httpx.AsyncClient() as transport:
        yield cohere.AsyncClientV2(api_key="k", base_url=sim.url, httpx_client=transport)


async def test_text_and_usage(client: cohere.AsyncClientV2) -> None:
    answer = await client.chat(model="echo", messages=HELLO)
    assert [part.text for part in answer.message.content or [] if part.type == "text"] == ["hello dear model"]
    assert answer.finish_reason == "COMPLETE"
    assert answer.usage is not None
    assert answer.usage.billed_units is not None
    assert (answer.usage.billed_units.input_tokens, answer.usage.billed_units.output_tokens) == (3.0, 3.0)


async def test_stream_with_thinking(client: cohere.AsyncClientV2) -> None:
    events: list[Any] = [event async for event in client.chat_stream(model="sim-reasoning", messages=HELLO)]
    deltas = [event.delta.message.content for event in events if event.type == "content-delta"]
    assert "".join(delta.thinking or "" for delta in deltas).startswith("The user")
    assert "".join(delta.text or "" for delta in deltas).endswith("All is well.")
    assert (events[0].type, events[-1].type) == ("message-start", "message-end")
    assert events[-1].delta.usage.billed_units.output_tokens == 20.0


async def test_tool_calls(client: cohere.AsyncClientV2) -> None:
    answer = await client.chat(model="sim-tools-2", messages=HELLO, tools=TOOLS)
    functions = [call.function for call in answer.message.tool_calls or []]
    assert [function.arguments for function in functions if function] == ['{"city": "sample"}'] * 2
    assert answer.finish_reason == "TOOL_CALL"


async def test_streamed_tool_call(client: cohere.AsyncClientV2) -> None:
    stream = client.chat_stream(model="sim-tool", messages=HELLO, tools=TOOLS)
    events: list[Any] = [event async for event in stream]
    pieces = [event.delta.message.tool_calls.function.arguments for event in events if event.type == "tool-call-delta"]
    assert "".join(pieces) == '{"city": "sample"}'
    starts = [event.delta.message.tool_calls for event in events if event.type == "tool-call-start"]
    assert [start.function.name for start in starts] == ["weather"]


async def test_errors_raise_the_right_class(client: cohere.AsyncClientV2, sim: Simulator) -> None:
    async with httpx.AsyncClient() as transport:
        bad = cohere.AsyncClientV2(api_key="bad-key", base_url=sim.url, httpx_client=transport)
        with pytest.raises(UnauthorizedError):
            await bad.chat(model="m", messages=HELLO, request_options=ONCE)
    with pytest.raises(TooManyRequestsError):
        await client.chat(model="sim-429", messages=HELLO, request_options=ONCE)
    stream = client.chat_stream(model="sim-error-after-1", messages=HELLO)
    events: list[Any] = [event async for event in stream]
    assert events[-1].delta.finish_reason == "ERROR"
