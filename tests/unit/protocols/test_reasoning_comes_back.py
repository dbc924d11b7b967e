"""Reasoning goes through a caller of any protocol and back to its provider as it was, and to no other."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fluxrpc.protocols.base import Protocol
from tests.support.translating import HELLO, answered, bridge_for, target_for

THOUGHTS: list[dict[str, Any]] = [
    {"type": "thinking", "thinking": "think", "signature": "SIG"},
    {"type": "redacted_thinking", "data": "RED"},
]
MORE: list[dict[str, Any]] = [*THOUGHTS, {"type": "thinking", "thinking": "again", "signature": "SIG2"}]
CALL = {"type": "tool_use", "id": "t1", "name": "f", "input": {"a": 1}}
WORDLESS = [
    {"type": "thinking", "thinking": "", "signature": "SIG"},
    {"type": "redacted_thinking", "data": "RED"},
    {"type": "thinking", "thinking": "", "signature": "SIG2"},
]
CALLERS = [Protocol.OPENAI, Protocol.GEMINI, Protocol.RESPONSES]


def claude(thoughts: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [*thoughts, CALL],
        "stop_reason": "tool_use", "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
    }  # fmt: skip


def asked_again(caller: Protocol, body: dict[str, Any]) -> dict[str, Any]:
    """The next request of a caller who carries the answer back with the result of its call."""
    request: dict[str, Any] = json.loads(json.dumps(HELLO[caller]))
    if caller is Protocol.OPENAI:
        message = body["choices"][0]["message"]
        request["messages"] += [message, {"role": "tool", "tool_call_id": "t1", "content": "r"}]
    elif caller is Protocol.GEMINI:
        result: dict[str, Any] = {"functionResponse": {"id": "t1", "name": "f", "response": {"output": "r"}}}
        request["contents"] += [body["candidates"][0]["content"], {"role": "user", "parts": [result]}]
    else:
        result = {"type": "function_call_output", "call_id": "t1", "output": "r"}
        request["input"] = [{"role": "user", "content": "Hi"}, *body["output"], result]
    return request


def sent_back(caller: Protocol, request: dict[str, Any], upstream: Protocol) -> tuple[dict[str, Any], set[str]]:
    way = bridge_for(caller, request, target_for(upstream))
    return json.loads(way.wire(stream=False).body), {note.code for note in way.notes}


@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize("thoughts", [THOUGHTS, THOUGHTS[:1], THOUGHTS[1:], MORE])
def test_to_its_provider(caller: Protocol, thoughts: list[dict[str, Any]]) -> None:
    body = answered(bridge_for(caller, HELLO[caller], target_for(Protocol.ANTHROPIC)), claude(thoughts))
    sent, _ = sent_back(caller, asked_again(caller, body), Protocol.ANTHROPIC)
    # Chat has one text for all reasoning: whose words were whose is not known any more.
    expected = WORDLESS if caller is Protocol.OPENAI and thoughts is MORE else thoughts
    assert sent["messages"][1]["content"] == [*expected, CALL]


@pytest.mark.parametrize("caller", CALLERS)
def test_to_no_other(caller: Protocol) -> None:
    body = answered(bridge_for(caller, HELLO[caller], target_for(Protocol.ANTHROPIC)), claude(MORE))
    for upstream in Protocol:
        if upstream in (caller, Protocol.ANTHROPIC):
            continue
        sent, notes = sent_back(caller, asked_again(caller, body), upstream)
        text = json.dumps(sent)
        assert not [word for word in ("SIG", "RED", "gw1.", "Z3cx") if f'"{word}' in text]
        assert notes & {"REASONING_HISTORY", "REASONING_STATE"}


def test_a_signature_that_came_behind_its_thought_belongs_to_it() -> None:
    caller = Protocol.GEMINI
    body = answered(bridge_for(caller, HELLO[caller], target_for(Protocol.ANTHROPIC)), claude(THOUGHTS[:1]))
    [thought, call] = body["candidates"][0]["content"]["parts"]
    signature = thought.pop("thoughtSignature")
    behind = {"text": "", "thought": True, "thoughtSignature": signature}
    body["candidates"][0]["content"]["parts"] = [thought, behind, call]
    sent, _ = sent_back(caller, asked_again(caller, body), Protocol.ANTHROPIC)
    assert sent["messages"][1]["content"] == [THOUGHTS[0], CALL]


def test_words_without_state_are_no_part_of_what_is_hidden() -> None:
    caller = Protocol.OPENAI
    body = answered(bridge_for(caller, HELLO[caller], target_for(Protocol.ANTHROPIC)), claude(THOUGHTS[1:]))
    body["choices"][0]["message"]["reasoning_content"] = "somebody else's"
    sent, notes = sent_back(caller, asked_again(caller, body), Protocol.ANTHROPIC)
    assert sent["messages"][1]["content"] == [THOUGHTS[1], CALL]
    assert "REASONING_HISTORY" in notes


@pytest.mark.parametrize("caller", [Protocol.OPENAI, Protocol.GEMINI])
def test_summaries_come_back_as_summaries(caller: Protocol) -> None:
    thought = {
        "type": "reasoning", "id": "rs_1", "encrypted_content": "ENC",
        "summary": [{"type": "summary_text", "text": "a"}, {"type": "summary_text", "text": "b"}],
    }  # fmt: skip
    call = {"type": "function_call", "id": "fc_1", "call_id": "t1", "name": "f", "arguments": "{}"}
    answer = {"id": "r", "object": "response", "status": "completed", "model": "m", "output": [thought, call]}
    body = answered(bridge_for(caller, HELLO[caller], target_for(Protocol.RESPONSES)), answer)
    sent, _ = sent_back(caller, asked_again(caller, body), Protocol.RESPONSES)
    summary = [{"type": "summary_text", "text": "a\n\nb"}]
    assert {"type": "reasoning", "summary": summary, "encrypted_content": "ENC"} in sent["input"]


@pytest.mark.parametrize("caller", [Protocol.ANTHROPIC, Protocol.GEMINI, Protocol.RESPONSES])
def test_state_that_finds_no_room_is_noted(caller: Protocol) -> None:
    blocks = [{"type": "thinking", "thinking": text, "signature": text.upper()} for text in ("a", "b")]
    message = {"role": "assistant", "content": "x", "reasoning_content": "ab", "thinking_blocks": blocks}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    answer = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    way = bridge_for(caller, HELLO[caller], target_for(Protocol.OPENAI))
    way.wire(stream=False)
    body = json.dumps(answer).encode()
    stream, _ = way.stream_of(body)
    for notes in (way.read_answer(body).notes, stream.notes):
        assert [note.path for note in notes if note.code == "REASONING_STATE"] == ["choices[0].parts[0].opaque"]
