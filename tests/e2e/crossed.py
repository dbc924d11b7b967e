"""Callers of protocols that the LLM is not asked in: it speaks OpenAI Chat behind a service that knows nothing else.

An answer, a stream and a call of a tool for each. The readers know the wire formats by themselves.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import grpc

from fluxrpc_client.v1 import (
    PROTOCOL_ANTHROPIC,
    PROTOCOL_COHERE,
    PROTOCOL_GEMINI,
    PROTOCOL_OPENAI,
    ExecuteRequest,
    NativeRequest,
    Protocol,
)
from tests.e2e.calls import ANSWER, MAX_TOKENS, PROMPT, frames
from tests.e2e.client import Client
from tests.e2e.service import CROSSED
from tests.e2e.transcript import Transcript, expect, expect_equal

WEATHER = "What is the weather in Paris?"
TOOL = "get_weather"
TOOL_TOKENS = 40
_SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
_FUNCTION = {"name": TOOL, "description": "Weather of a city", "parameters": _SCHEMA}


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossedCall:
    """One protocol: its bodies and the readers of its answers."""

    name: str
    protocol: Protocol.ValueType
    body: Callable[[str, int], dict[str, Any]]
    tools: dict[str, Any]
    text_of_answer: Callable[[Any], str]
    text_of_frame: Callable[[Any], str]
    arguments: Callable[[Any], Iterator[tuple[str, Any]]]
    """Name and arguments of each call in a whole answer."""

    def request(self, prompt: str, limit: int, **fields: Any) -> ExecuteRequest:
        body = json.dumps(self.body(prompt, limit) | fields).encode()
        return ExecuteRequest(model=CROSSED, native=NativeRequest(protocol=self.protocol, body=body))


def _turns(prompt: str, limit: int) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": prompt}], "max_tokens": limit, "temperature": 0}


def _contents(prompt: str, limit: int) -> dict[str, Any]:
    settings = {"maxOutputTokens": limit, "temperature": 0}
    return {"contents": [{"role": "user", "parts": [{"text": prompt}]}], "generationConfig": settings}


def _gemini_parts(answer: Any) -> list[Any]:
    return [part for each in answer.get("candidates", ()) for part in each.get("content", {}).get("parts", ())]


def _gemini_text(answer: Any) -> str:
    return "".join(part.get("text", "") for part in _gemini_parts(answer))


def _gemini_calls(answer: Any) -> Iterator[tuple[str, Any]]:
    for part in _gemini_parts(answer):
        if "functionCall" in part:
            yield part["functionCall"]["name"], part["functionCall"]["args"]


def _cohere_calls(answer: Any) -> Iterator[tuple[str, Any]]:
    for call in answer["message"]["tool_calls"]:
        yield call["function"]["name"], json.loads(call["function"]["arguments"])


def _anthropic_calls(answer: Any) -> Iterator[tuple[str, Any]]:
    for block in answer["content"]:
        if block["type"] == "tool_use":
            yield block["name"], block["input"]


CROSSED_CALLS = (
    CrossedCall(
        name="gemini",
        protocol=PROTOCOL_GEMINI,
        body=_contents,
        tools={"tools": [{"functionDeclarations": [_FUNCTION]}]},
        text_of_answer=_gemini_text,
        text_of_frame=_gemini_text,
        arguments=_gemini_calls,
    ),
    CrossedCall(
        name="cohere",
        protocol=PROTOCOL_COHERE,
        body=_turns,
        tools={"tools": [{"type": "function", "function": _FUNCTION}]},
        text_of_answer=lambda answer: "".join(part["text"] for part in answer["message"]["content"]),
        text_of_frame=lambda frame: (
            str(frame["delta"]["message"]["content"]["text"]) if frame["type"] == "content-delta" else ""
        ),
        arguments=_cohere_calls,
    ),
    CrossedCall(
        name="anthropic",
        protocol=PROTOCOL_ANTHROPIC,
        body=_turns,
        tools={"tools": [{"name": TOOL, "description": "Weather of a city", "input_schema": _SCHEMA}]},
        text_of_answer=lambda answer: "".join(block["text"] for block in answer["content"]),
        text_of_frame=lambda frame: str(frame["delta"]["text"]) if frame["type"] == "content_block_delta" else "",
        arguments=_anthropic_calls,
    ),
)


def check_crossed(transcript: Transcript, client: Client) -> None:
    """Each protocol's three calls."""
    for call in CROSSED_CALLS:
        with transcript.check(f"Execute, {call.name} to openai", grpc.RpcError):
            answer = client.execute(call.request(PROMPT, MAX_TOKENS))
            text = call.text_of_answer(json.loads(answer.native.body))
            expect(ANSWER in text, f"{ANSWER!r} is not in {text!r}")
            expect_equal(answer.route.protocol, PROTOCOL_OPENAI, "the protocol spoken to the LLM")
            transcript.note(repr(text.strip()))
        with transcript.check(f"ExecuteStream, {call.name} to openai", grpc.RpcError):
            got = client.stream(call.request(PROMPT, MAX_TOKENS))
            text = "".join(call.text_of_frame(frame) for frame in frames(got.native))
            expect(ANSWER in text, f"{ANSWER!r} is not in {text!r}")
            expect_equal((got.kinds[0], got.kinds[-1]), ("started", "completed"), "the frame of the stream")
            transcript.note(f"{text.strip()!r} in {len(got.kinds)} messages")
        with transcript.check(f"a call of a tool, {call.name} to openai", grpc.RpcError):
            answer = client.execute(call.request(WEATHER, TOOL_TOKENS, **call.tools))
            calls = list(call.arguments(json.loads(answer.native.body)))
            expect(calls, f"no call in {answer.native.body!r}")
            expect_equal(calls[0], (TOOL, {"city": ANSWER}), "the first call")
            transcript.note(f"{calls[0][0]}({calls[0][1]})")
