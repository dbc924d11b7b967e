"""The official Google Gen AI SDK takes the simulator for its provider."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from google import genai
from google.genai import errors, types

from fluxrpc.simulator import Simulator
from tests.simulator.raw import TOOL_SCHEMA

# The SDK subclasses aiohttp's session, which aiohttp discourages: nothing of ours.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")

TOOL = types.Tool(function_declarations=[types.FunctionDeclaration(name="weather", parameters_json_schema=TOOL_SCHEMA)])


def make_client(sim: Simulator, key: str = "k") -> Any:
    return genai.Client(api_key=key, vertexai=False, http_options=types.HttpOptions(base_url=sim.url))


@pytest.fixture
async def models(sim: Simulator) -> AsyncIterator[Any]:
    client = make_client(sim)
    yield client.aio.models
    await client.aio.aclose()
    client.close()


async def test_text_and_usage(models: Any) -> None:
    answer = await models.generate_content(model="echo", contents="hello dear model")
    assert answer.text == "hello dear model"
    assert answer.candidates[0].finish_reason == types.FinishReason.STOP
    usage = answer.usage_metadata
    assert (usage.prompt_token_count, usage.candidates_token_count, usage.total_token_count) == (3, 3, 6)


async def test_stream_with_thoughts(models: Any) -> None:
    stream = await models.generate_content_stream(model="sim-reasoning", contents="hello dear model")
    chunks = [chunk async for chunk in stream]
    parts = [part for chunk in chunks for part in chunk.candidates[0].content.parts]
    assert "".join(part.text for part in parts if part.thought).startswith("The user")
    assert "".join(part.text for part in parts if not part.thought).endswith("All is well.")
    last = chunks[-1]
    assert last.candidates[0].finish_reason == types.FinishReason.STOP
    assert (last.usage_metadata.thoughts_token_count, last.usage_metadata.total_token_count) == (9, 23)


@pytest.mark.parametrize("mode", ["unary", "stream"])
async def test_tool_calls(models: Any, mode: str) -> None:
    config = types.GenerateContentConfig(tools=[TOOL])
    arguments: Any = {"model": "sim-tools-2", "contents": "hello", "config": config}
    if mode == "unary":
        answers = [await models.generate_content(**arguments)]
    else:
        answers = [chunk async for chunk in await models.generate_content_stream(**arguments)]
    calls = [call for answer in answers for call in answer.function_calls or []]
    assert [(call.name, call.args) for call in calls] == [("weather", {"city": "sample"})] * 2
    assert len({call.id for call in calls}) == 2


async def test_blocked_prompt_and_withheld_answer(models: Any) -> None:
    blocked = await models.generate_content(model="sim-content-filter", contents="hello")
    assert not blocked.candidates
    assert blocked.prompt_feedback.block_reason == types.BlockedReason.PROHIBITED_CONTENT
    refused = await models.generate_content(model="sim-refusal", contents="hello")
    assert refused.candidates[0].finish_reason == types.FinishReason.SAFETY
    assert refused.text is None


async def test_errors_raise_the_right_class(models: Any, sim: Simulator) -> None:
    bad = make_client(sim, "bad-key")
    with pytest.raises(errors.ClientError) as rejected:
        await bad.aio.models.generate_content(model="m", contents="hello")
    await bad.aio.aclose()
    bad.close()
    assert (rejected.value.code, rejected.value.status) == (401, "UNAUTHENTICATED")
    with pytest.raises(errors.ClientError) as limited:
        await models.generate_content(model="sim-429-retry-info-9", contents="hello")
    assert limited.value.code == 429
    assert limited.value.details["error"]["details"][0]["retryDelay"] == "9s"
    with pytest.raises(errors.ServerError):
        await models.generate_content(model="sim-503", contents="hello")
    stream = await models.generate_content_stream(model="sim-error-after-1", contents="hello")
    with pytest.raises(errors.APIError):
        _ = [chunk async for chunk in stream]
