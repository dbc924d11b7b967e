"""The official Anthropic SDK takes the simulator for its provider."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import anthropic
import pytest

from fluxrpc.simulator import Ok, Simulator, Usage
from tests.simulator.raw import TOOL_SCHEMA

HELLO: Any = [{"role": "user", "content": "hello dear model"}]
TOOLS: Any = [{"name": "weather", "input_schema": TOOL_SCHEMA}]


@pytest.fixture
async def client(sim: Simulator) -> AsyncIterator[anthropic.AsyncAnthropic]:
    async with anthropic.AsyncAnthropic(base_url=sim.base_url("anthropic"), api_key="k", max_retries=0) as made:
        yield made


async def test_text_and_usage(client: anthropic.AsyncAnthropic) -> None:
    answer = await client.messages.create(model="echo", max_tokens=100, messages=HELLO, system="be kind")
    assert [block.text for block in answer.content if block.type == "text"] == ["hello dear model"]
    assert answer.stop_reason == "end_turn"
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (5, 3)


async def test_stream_with_reasoning(client: anthropic.AsyncAnthropic) -> None:
    async with client.messages.stream(model="sim-reasoning", max_tokens=100, messages=HELLO) as stream:
        text = "".join([piece async for piece in stream.text_stream])
        final = await stream.get_final_message()
    assert [block.type for block in final.content] == ["thinking", "text"]
    assert text.endswith("All is well.")
    assert final.usage.output_tokens > 9


async def test_event_grammar(client: anthropic.AsyncAnthropic) -> None:
    stream = await client.messages.create(model="echo", max_tokens=100, messages=HELLO, stream=True)
    kinds = [str(event.type) async for event in stream]
    delta = ["content_block_delta"] * 3
    end = ["content_block_stop", "message_delta", "message_stop"]
    assert [kind for kind in kinds if kind != "ping"] == ["message_start", "content_block_start", *delta, *end]


async def test_tool_calls(client: anthropic.AsyncAnthropic) -> None:
    answer = await client.messages.create(model="sim-tools-2", max_tokens=100, messages=HELLO, tools=TOOLS)
    calls = [block for block in answer.content if block.type == "tool_use"]
    assert [(call.name, call.input) for call in calls] == [("weather", {"city": "sample"})] * 2
    assert answer.stop_reason == "tool_use"


async def test_streamed_forced_tool_call(client: anthropic.AsyncAnthropic) -> None:
    choice: Any = {"type": "tool", "name": "weather"}
    async with client.messages.stream(
        model="m", max_tokens=100, messages=HELLO, tools=TOOLS, tool_choice=choice
    ) as stream:
        final = await stream.get_final_message()
    assert [block.input for block in final.content if block.type == "tool_use"] == [{"city": "sample"}]


async def test_stop_sequence_refusal_and_cache(client: anthropic.AsyncAnthropic, sim: Simulator) -> None:
    stopped = await client.messages.create(model="echo", max_tokens=100, messages=HELLO, stop_sequences=[" model"])
    assert (stopped.stop_reason, stopped.stop_sequence) == ("stop_sequence", " model")
    refused = await client.messages.create(model="sim-refusal", max_tokens=100, messages=HELLO)
    assert refused.stop_reason == "refusal"
    sim.script("m", Ok(text="x", usage=Usage(input=10, output=1, cached=6, cache_write=1)))
    usage = (await client.messages.create(model="m", max_tokens=100, messages=HELLO)).usage
    assert (usage.input_tokens, usage.cache_read_input_tokens, usage.cache_creation_input_tokens) == (3, 6, 1)


async def test_errors_raise_the_right_class(client: anthropic.AsyncAnthropic, sim: Simulator) -> None:
    async with anthropic.AsyncAnthropic(base_url=sim.url, api_key="bad-key", max_retries=0) as bad:
        with pytest.raises(anthropic.AuthenticationError):
            await bad.messages.create(model="m", max_tokens=100, messages=HELLO)
    with pytest.raises(anthropic.RateLimitError):
        await client.messages.create(model="sim-429", max_tokens=100, messages=HELLO)
    with pytest.raises(anthropic.APIStatusError) as overloaded:
        await client.messages.create(model="sim-overloaded", max_tokens=100, messages=HELLO)
    assert overloaded.value.status_code == 529
    stream = await client.messages.create(model="sim-error-after-1", max_tokens=100, messages=HELLO, stream=True)
    with pytest.raises(anthropic.APIStatusError, match="Overloaded"):
        _ = [event async for event in stream]
