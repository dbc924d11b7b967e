"""A tool whose optional properties had to be required: the caller never sees the nulls that came of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.bridge import open_bridge, read_request
from fluxrpc.protocols.context import Target

INNER = {"type": "object", "properties": {"unit": {"type": "string"}}, "additionalProperties": False}
SCHEMA = {
    "type": "object",
    "properties": {"place": {"type": "string"}, "how": INNER},
    "required": ["place", "how"],
    "additionalProperties": False,
}
REQUEST = {
    "model": "m",
    "max_tokens": 9,
    "messages": [{"role": "user", "content": "?"}],
    "tools": [{"name": "weather", "strict": True, "input_schema": SCHEMA}],
}
CALL = {"name": "weather", "arguments": '{"place":"Oslo","how":{"unit":null}}'}
ANSWERS: dict[Protocol, dict[str, Any]] = {
    Protocol.OPENAI: {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "finish_reason": "tool_calls",
                "message": {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [{"id": "t", "type": "function", "function": CALL}],
                },
            }
        ],
    },
    Protocol.RESPONSES: {
        "id": "r",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "status": "completed",
        "output": [{"type": "function_call", "id": "fc_1", "call_id": "t", "status": "completed", **CALL}],
    },
    Protocol.COHERE: {
        "id": "c",
        "finish_reason": "TOOL_CALL",
        "message": {"role": "assistant", "tool_calls": [{"id": "t", "type": "function", "function": CALL}]},
    },
}


@pytest.mark.parametrize("protocol", list(ANSWERS))
def test_nulls_that_we_caused_are_taken_out(protocol: Protocol) -> None:
    request = read_request(Protocol.ANTHROPIC, json.dumps(REQUEST).encode())
    bridge = open_bridge(request, Target(protocol=protocol, model="m"))
    wire = json.loads(bridge.wire(stream=False).body)
    tool = wire["tools"][0]
    unit = tool.get("function", tool)["parameters"]["properties"]["how"]
    assert unit["required"] == ["unit"]
    assert "null" in json.dumps(unit["properties"]["unit"])
    assert "tools[0].input_schema.properties.how.properties.unit" in [note.path for note in bridge.notes]
    answer = json.loads(bridge.read_answer(json.dumps(ANSWERS[protocol]).encode()).body)
    call = next(block for block in answer["content"] if block["type"] == "tool_use")
    assert call["input"] == {"place": "Oslo", "how": {}}
