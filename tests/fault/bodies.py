"""What an answer says, read independently of the gateway: whole bodies and streams, in each protocol, with plain JSON.

It shares no code with `fluxrpc.protocols`: an agreement of the two proves something. It reads frames as a strict
caller would, so garbage, a half frame or an error frame in what reached the caller fails the test.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from fluxrpc.v1.response_pb2 import MessageResponse
from fluxrpc.v1.stream_pb2 import StreamEvent

Json = Any


class Frame:
    """One server-sent event: its name and its data, JSON decoded where it is JSON."""

    def __init__(self, block: str) -> None:
        self.name = ""
        lines: list[str] = []
        for line in block.split("\n"):
            field, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if field == "event":
                self.name = value
            elif field == "data":
                lines.append(value)
        self.text = "\n".join(lines)

    @property
    def json(self) -> Json:
        return json.loads(self.text)


def frames_of(stream: bytes) -> Iterator[Frame]:
    """The events of a stream that is made of whole frames; frames without data (comments) are left out."""
    text = stream.decode("utf-8").removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    assert not text or text.endswith("\n\n"), f"half a frame: {text[-80:]!r}"
    for block in text.split("\n\n"):
        frame = Frame(block)
        if frame.text:
            yield frame


def _openai_piece(event: Json) -> str:
    return "".join(choice["delta"].get("content") or "" for choice in event["choices"])


def _anthropic_piece(event: Json) -> str:
    return event["delta"].get("text", "") if event["type"] == "content_block_delta" else ""


def _gemini_piece(event: Json) -> str:
    parts = [part for candidate in event["candidates"] for part in candidate["content"].get("parts", [])]
    return "".join(part.get("text", "") for part in parts if not part.get("thought"))


def _cohere_piece(event: Json) -> str:
    return event["delta"]["message"]["content"]["text"] if event["type"] == "content-delta" else ""


def _responses_piece(event: Json) -> str:
    return event["delta"] if event["type"] == "response.output_text.delta" else ""


_PIECES: Mapping[str, Callable[[Json], str]] = {
    "openai": _openai_piece,
    "anthropic": _anthropic_piece,
    "gemini": _gemini_piece,
    "cohere": _cohere_piece,
    "responses": _responses_piece,
}


def said_frames(protocol: str, stream: bytes) -> str:
    """The text of a native stream. Each frame must be sound and none may be an error."""
    said = []
    for frame in frames_of(stream):
        if frame.text == "[DONE]":
            continue
        event = frame.json
        assert "error" not in event or event["error"] is None, f"an error frame reached the caller: {frame.text}"
        said.append(_PIECES[protocol](event))
    return "".join(said)


def is_terminated(protocol: str, stream: bytes) -> bool:
    """Whether the stream ends as a stream of its protocol ends, and says so exactly once."""
    frames = list(frames_of(stream))
    if protocol == "gemini":
        return any(candidate.get("finishReason") for candidate in frames[-1].json["candidates"])
    if protocol == "openai":
        return [frame.text for frame in frames].count("[DONE]") == 1 and frames[-1].text == "[DONE]"
    last = {"anthropic": "message_stop", "cohere": "message-end", "responses": "response.completed"}[protocol]
    types = [frame.json["type"] for frame in frames]
    return types.count(last) == 1 and types[-1] == last


def said_whole(protocol: str, body: bytes) -> str:
    """The text of a whole native answer."""
    answer = json.loads(body)
    if protocol == "openai":
        return str(answer["choices"][0]["message"]["content"])
    if protocol == "anthropic":
        return "".join(block["text"] for block in answer["content"])
    if protocol == "gemini":
        return "".join(part["text"] for part in answer["candidates"][0]["content"]["parts"])
    if protocol == "cohere":
        return "".join(part["text"] for part in answer["message"]["content"])
    return "".join(part["text"] for item in answer["output"] for part in item["content"])


def said_message(answer: MessageResponse) -> str:
    """The text of a typed answer."""
    return "".join(part.text for part in answer.choices[0].parts)


def said_events(events: list[StreamEvent]) -> str:
    """The text of a typed stream."""
    return "".join(event.part_start.part.text + event.part_delta.text for event in events)
