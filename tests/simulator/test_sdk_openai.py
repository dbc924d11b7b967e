"""The official OpenAI SDK takes the simulator for its provider: Chat Completions."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import openai
import pytest

from fluxrpc.simulator import Fault, Ok, Simulator, ToolCall, Usage
from tests.simulator.raw import TOOL_SCHEMA

HELLO: Any = [{"role": "user", "content": "hello dear model"}]
TOOLS: Any = [{"type": "function", "function": {"name": "weather", "parameters": TOOL_SCHEMA}}]


@pytest.fixture
async def client(sim: Simulator) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(base_url=sim.base_url("openai"), api_key="k", max_retries=0) as made:
        yield made


async def test_text_and_usage(client: openai.AsyncOpenAI) -> None:
    answer = await client.chat.completions.create(model="echo", messages=HELLO)
    assert answer.choices[0].message.content == "hello dear model"
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage is not None
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens, answer.usage.total_tokens) == (3, 3, 6)


async def test_stream_with_usage_only_if_asked(client: openai.AsyncOpenAI) -> None:
    for wants, expected in ((True, [6]), (False, [])):
        stream = await client.chat.completions.create(
            model="echo", messages=HELLO, stream=True, stream_options={"include_usage": wants}
        )
        chunks = [chunk async for chunk in stream]
        text = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices]
        assert text == ["", "hello", " dear", " model", None]
        assert [chunk.usage.total_tokens for chunk in chunks if chunk.usage] == expected
        assert len({chunk.id for chunk in chunks}) == 1


async def test_parallel_tool_calls(client: openai.AsyncOpenAI) -> None:
    answer = await client.chat.completions.create(model="sim-tools-2", messages=HELLO, tools=TOOLS)
    calls = answer.choices[0].message.tool_calls or []
    assert [call.function.arguments for call in calls if call.type == "function"] == ['{"city": "sample"}'] * 2
    assert answer.choices[0].message.content is None
    assert answer.choices[0].finish_reason == "tool_calls"


async def test_streamed_tool_call(client: openai.AsyncOpenAI) -> None:
    async with client.chat.completions.stream(model="sim-tool", messages=HELLO, tools=TOOLS) as stream:
        final = await stream.get_final_completion()
    calls = final.choices[0].message.tool_calls or []
    assert [(call.function.name, call.function.arguments) for call in calls] == [("weather", '{"city": "sample"}')]


async def test_forced_tool_is_called(client: openai.AsyncOpenAI) -> None:
    answer = await client.chat.completions.create(model="m", messages=HELLO, tools=TOOLS, tool_choice="required")
    assert answer.choices[0].finish_reason == "tool_calls"


async def test_several_choices(client: openai.AsyncOpenAI) -> None:
    answer = await client.chat.completions.create(model="echo", messages=HELLO, n=2)
    assert [choice.message.content for choice in answer.choices] == ["hello dear model"] * 2
    stream = await client.chat.completions.create(model="echo", messages=HELLO, n=2, stream=True)
    finished = [choice.index async for chunk in stream for choice in chunk.choices if choice.finish_reason]
    assert finished == [0, 1]


async def test_limits_of_the_request_bind_a_derived_text(client: openai.AsyncOpenAI) -> None:
    short = await client.chat.completions.create(model="echo", messages=HELLO, max_completion_tokens=2)
    assert (short.choices[0].message.content, short.choices[0].finish_reason) == ("hello dear", "length")
    stopped = await client.chat.completions.create(model="echo", messages=HELLO, stop=[" model"])
    assert (stopped.choices[0].message.content, stopped.choices[0].finish_reason) == ("hello dear", "stop")


async def test_scripted_answer(client: openai.AsyncOpenAI, sim: Simulator) -> None:
    usage = Usage(input=10, output=5, reasoning=2, cached=4)
    sim.script(
        "m",
        Ok(refusal="No.", usage=usage, served_model="m-2", headers={"X-Extra": "1"}, tool_calls=(ToolCall(name="f"),)),
    )
    raw = await client.chat.completions.with_raw_response.create(model="m", messages=HELLO)
    answer = raw.parse()
    assert raw.headers["x-extra"] == "1"
    assert (answer.model, answer.choices[0].message.refusal) == ("m-2", "No.")
    assert answer.usage is not None
    assert answer.usage.completion_tokens_details is not None
    assert answer.usage.completion_tokens_details.reasoning_tokens == 2
    assert answer.usage.prompt_tokens_details is not None
    assert answer.usage.prompt_tokens_details.cached_tokens == 4


async def test_errors_raise_the_right_class(client: openai.AsyncOpenAI, sim: Simulator) -> None:
    with pytest.raises(openai.AuthenticationError, match="not valid"):
        await client.with_options(api_key="bad-key").chat.completions.create(model="m", messages=HELLO)
    with pytest.raises(openai.RateLimitError) as limited:
        await client.chat.completions.create(model="sim-429-retry-after-7", messages=HELLO)
    assert limited.value.response.headers["retry-after"] == "7"
    assert limited.value.code == "rate_limit_exceeded"
    with pytest.raises(openai.NotFoundError):
        await client.chat.completions.create(model="sim-no-such-clause", messages=HELLO)
    sim.script("m", Fault("error_event", after_events=1))
    with pytest.raises(openai.APIError, match="overloaded"):
        _ = [chunk async for chunk in await client.chat.completions.create(model="m", messages=HELLO, stream=True)]


async def test_the_sdk_retries_once(sim: Simulator) -> None:
    async with openai.AsyncOpenAI(base_url=sim.base_url("openai"), api_key="k", max_retries=1) as client:
        answer = await client.chat.completions.create(model="sim-503-once", messages=HELLO)
    assert answer.choices[0].message.content
    assert [seen.status for seen in sim.seen("sim-503-once")] == [503, 200]
