"""The official OpenAI SDK takes the simulator for its provider: Responses."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import openai
import pytest

from fluxrpc.simulator import Simulator
from tests.simulator.raw import TOOL_SCHEMA

TOOLS: Any = [{"type": "function", "name": "weather", "parameters": TOOL_SCHEMA, "strict": False}]


@pytest.fixture
async def client(sim: Simulator) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(base_url=sim.base_url("responses"), api_key="k", max_retries=0) as made:
        yield made


async def test_text_and_usage(client: openai.AsyncOpenAI) -> None:
    answer = await client.responses.create(model="echo", input="hello dear model", instructions="be kind")
    assert (answer.output_text, answer.status, answer.instructions) == ("hello dear model", "completed", "be kind")
    assert answer.usage is not None
    assert (answer.usage.input_tokens, answer.usage.output_tokens, answer.usage.total_tokens) == (5, 3, 8)


async def test_stream(client: openai.AsyncOpenAI) -> None:
    async with client.responses.stream(model="echo", input="hello dear model") as stream:
        events = [event async for event in stream]
        final = await stream.get_final_response()
    deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
    assert deltas == ["hello", " dear", " model"]
    assert [event.sequence_number for event in events] == sorted({event.sequence_number for event in events})
    assert final.output_text == "hello dear model"
    assert final.usage is not None
    assert final.usage.output_tokens == 3


async def test_tool_calls(client: openai.AsyncOpenAI) -> None:
    answer = await client.responses.create(model="sim-tools-2", input="hello", tools=TOOLS)
    calls = [item for item in answer.output if item.type == "function_call"]
    assert [(call.name, call.arguments) for call in calls] == [("weather", '{"city": "sample"}')] * 2
    assert len({call.call_id for call in calls}) == 2


async def test_streamed_reasoning_and_tool_call(client: openai.AsyncOpenAI) -> None:
    async with client.responses.stream(model="sim-tool", input="hello", tools=TOOLS) as stream:
        final = await stream.get_final_response()
    assert [item.type for item in final.output] == ["function_call"]
    async with client.responses.stream(model="sim-reasoning", input="hello") as stream:
        final = await stream.get_final_response()
    assert [item.type for item in final.output] == ["reasoning", "message"]
    assert final.usage is not None
    assert final.usage.output_tokens_details.reasoning_tokens == 9


async def test_incomplete_and_refusal(client: openai.AsyncOpenAI) -> None:
    short = await client.responses.create(model="sim-length", input="hello")
    assert short.incomplete_details is not None
    assert (short.status, short.incomplete_details.reason) == ("incomplete", "max_output_tokens")
    async with client.responses.stream(model="sim-refusal", input="hello") as stream:
        kinds = {event.type async for event in stream}
    assert {"response.refusal.delta", "response.refusal.done", "response.completed"} <= kinds


async def test_errors_raise_the_right_class(client: openai.AsyncOpenAI) -> None:
    with pytest.raises(openai.AuthenticationError):
        await client.with_options(api_key="bad-key").responses.create(model="m", input="hello")
    with pytest.raises(openai.RateLimitError) as spent:
        await client.responses.create(model="sim-quota", input="hello")
    assert spent.value.code == "insufficient_quota"
    with pytest.raises(openai.BadRequestError, match="context window"):
        await client.responses.create(model="sim-context-length", input="hello")
    stream = await client.responses.create(model="sim-error-after-1", input="hello", stream=True)
    with pytest.raises(openai.APIError, match="overloaded"):
        _ = [event async for event in stream]
