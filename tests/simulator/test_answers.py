"""Scripted answers in every protocol: what `Ok` says is what goes over the wire."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fluxrpc.simulator import Ok, Simulator, ToolCall, Usage
from fluxrpc.simulator.script import Finish
from tests.simulator.raw import PROTOCOLS, TOOL_SCHEMA, ask

EACH = pytest.mark.parametrize("protocol", PROTOCOLS)
FINISH: dict[Finish, dict[str, str]] = {
    "stop": {
        "openai": "stop",
        "anthropic": "end_turn",
        "gemini": "STOP",
        "cohere": "COMPLETE",
        "responses": "completed",
    },
    "length": {
        "openai": "length",
        "anthropic": "max_tokens",
        "gemini": "MAX_TOKENS",
        "cohere": "MAX_TOKENS",
        "responses": "incomplete",
    },
    "stop_sequence": {
        "openai": "stop",
        "anthropic": "stop_sequence",
        "gemini": "STOP",
        "cohere": "STOP_SEQUENCE",
        "responses": "completed",
    },
    "content_filter": {
        "openai": "content_filter",
        "anthropic": "refusal",
        "gemini": "PROHIBITED_CONTENT",
        "cohere": "ERROR",
        "responses": "incomplete",
    },
}


def offering(protocol: str) -> dict[str, Any]:
    """Body fields that offer two tools and force the second one."""
    nested = [{"type": "function", "function": {"name": name, "parameters": TOOL_SCHEMA}} for name in ("a", "b")]
    flat = [{"type": "function", "name": name, "parameters": TOOL_SCHEMA} for name in ("a", "b")]
    config = {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["b"]}}
    declared = [{"name": name, "parameters": TOOL_SCHEMA} for name in ("a", "b")]
    fields: dict[str, dict[str, Any]] = {
        "openai": {"tools": nested, "tool_choice": {"type": "function", "function": {"name": "b"}}},
        "anthropic": {
            "tools": [{"name": name, "input_schema": TOOL_SCHEMA} for name in ("a", "b")],
            "tool_choice": {"type": "tool", "name": "b"},
        },
        "gemini": {"tools": [{"functionDeclarations": declared}], "toolConfig": config},
        "cohere": {"tools": nested[1:], "tool_choice": "REQUIRED"},
        "responses": {"tools": flat, "tool_choice": {"type": "function", "name": "b"}},
    }
    return fields[protocol]


@EACH
@pytest.mark.parametrize("finish", FINISH)
async def test_finish_words(sim: Simulator, protocol: str, finish: Finish) -> None:
    sim.script("m", Ok(text="some words", finish=finish))
    for stream in (False, True):
        body = (await ask(sim, protocol, "m", stream=stream)).body.decode()
        assert f'"{FINISH[finish][protocol]}"' in body


@EACH
@pytest.mark.parametrize("stream", [False, True])
async def test_the_forced_tool_is_called(sim: Simulator, protocol: str, stream: bool) -> None:
    answer = await ask(sim, protocol, "m", stream=stream, **offering(protocol))
    body = answer.body.decode()
    assert '"name":"b"' in body
    if protocol != "responses":  # which echoes the tools
        assert '"name":"a"' not in body


@EACH
async def test_broken_arguments_are_said_where_the_protocol_can(sim: Simulator, protocol: str) -> None:
    sim.script("m", Ok(tool_calls=(ToolCall(name="f", arguments='{"a": ', fragments=('{"a', '": ')),)))
    unary = await ask(sim, protocol, "m")
    assert (unary.status, unary.ended) == (200, "complete")
    broken = json.dumps('{"a": ') in unary.body.decode()
    assert broken == (protocol in {"openai", "cohere", "responses"})


@EACH
@pytest.mark.parametrize("stream", [False, True])
async def test_usage_on_demand(sim: Simulator, protocol: str, stream: bool) -> None:
    sim.script("m", Ok(reasoning="hm", text="x", usage=Usage(input=1100, output=77, reasoning=33, cached=500)))
    usage: Any = {"stream_options": {"include_usage": True}} if protocol == "openai" and stream else {}
    body = (await ask(sim, protocol, "m", stream=stream, **usage)).body.decode()
    expected = {
        "openai": (1100, 77, 33, 500),
        "anthropic": (600, 77, 33, 500),
        "gemini": (1100, 44, 33, 500),
        "cohere": (1100, 77, 500),
        "responses": (1100, 77, 33, 500),
    }
    for count in expected[protocol]:
        assert f":{count}" in body


async def test_calls_are_made_of_offered_tools_only(sim: Simulator) -> None:
    answer = (await ask(sim, "openai", "sim-tools-2")).json["choices"][0]
    assert (answer["finish_reason"], "tool_calls" in answer["message"]) == ("stop", False)


async def test_reasoning_in_the_field_of_compatible_servers(sim: Simulator) -> None:
    message = (await ask(sim, "openai", "sim-reasoning")).json["choices"][0]["message"]
    assert message["reasoning_content"].startswith("The user")
    stream = await ask(sim, "openai", "sim-reasoning", stream=True)
    assert '{"reasoning_content":"The"}' in stream.body.decode()
