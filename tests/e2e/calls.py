"""The same question in each protocol that the LLM speaks, and how to read the text out of what comes back.

The readers know the wire formats by themselves, not through the code under test.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from fluxrpc_client.v1 import PROTOCOL_ANTHROPIC, PROTOCOL_OPENAI, PROTOCOL_RESPONSES, Protocol

PROMPT = "What is the capital of France?"
ANSWER = "Paris"
MAX_TOKENS = 24
LONG_TOKENS = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeCall:
    """One protocol: the body of a call and the readers of its answers."""

    name: str
    protocol: Protocol.ValueType
    body: dict[str, Any]
    last_frame: str
    text_of_answer: Callable[[Any], str]
    text_of_frame: Callable[[Any], str]

    def request_body(self, **changes: Any) -> bytes:
        return json.dumps({**self.body, **changes}).encode()


def frames(stream: bytes) -> Iterator[Any]:
    """The JSON of each event of a stream; the terminator `[DONE]` is none."""
    for frame in stream.decode().split("\n\n"):
        data = "\n".join(line[5:].strip() for line in frame.splitlines() if line.startswith("data:"))
        if data and data != "[DONE]":
            yield json.loads(data)


def _openai_frame(frame: Any) -> str:
    return "".join(choice["delta"].get("content") or "" for choice in frame["choices"])


def _responses_answer(answer: Any) -> str:
    return "".join(part["text"] for item in answer["output"] for part in item.get("content", ()))


def _responses_frame(frame: Any) -> str:
    return str(frame["delta"]) if frame["type"] == "response.output_text.delta" else ""


def _anthropic_answer(answer: Any) -> str:
    return "".join(block["text"] for block in answer["content"])


def _anthropic_frame(frame: Any) -> str:
    return str(frame["delta"]["text"]) if frame["type"] == "content_block_delta" else ""


_TURNS = [{"role": "user", "content": PROMPT}]

NATIVE_CALLS = (
    NativeCall(
        name="openai",
        protocol=PROTOCOL_OPENAI,
        body={"messages": _TURNS, "max_tokens": MAX_TOKENS, "temperature": 0},
        last_frame="[DONE]",
        text_of_answer=lambda answer: str(answer["choices"][0]["message"]["content"]),
        text_of_frame=_openai_frame,
    ),
    NativeCall(
        name="responses",
        protocol=PROTOCOL_RESPONSES,
        body={"input": PROMPT, "max_output_tokens": MAX_TOKENS, "temperature": 0},
        last_frame="response.completed",
        text_of_answer=_responses_answer,
        text_of_frame=_responses_frame,
    ),
    NativeCall(
        name="anthropic",
        protocol=PROTOCOL_ANTHROPIC,
        body={"messages": _TURNS, "max_tokens": MAX_TOKENS, "temperature": 0},
        last_frame="message_stop",
        text_of_answer=_anthropic_answer,
        text_of_frame=_anthropic_frame,
    ),
)
