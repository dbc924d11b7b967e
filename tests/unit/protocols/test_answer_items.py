"""Several messages in one answer stay apart where the caller's protocol has one text for all of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fluxrpc.protocols.base import Protocol, StreamOptions
from tests.support.assembled import events_in, openai_choices
from tests.support.translating import HELLO, answered, bridge_for, target_for


def message(item: str, *texts: str, **more: Any) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []} for text in texts]
    return {"type": "message", "id": item, "role": "assistant", "status": "completed", "content": content, **more}


CITED = {"type": "url_citation", "start_index": 0, "end_index": 3, "title": "T", "url": "http://u"}
SECOND = message("m2", "two")
SECOND["content"][0]["annotations"] = [CITED]
SEARCH = {"type": "web_search_call", "id": "w", "status": "completed", "action": {"type": "search", "query": "q"}}
RESPONSES = {
    "id": "r", "object": "response", "status": "completed", "model": "m",
    "output": [SEARCH, message("m1", "o", "ne"), message("m0"), SECOND],
}  # fmt: skip
COHERE = {
    "id": "u", "finish_reason": "COMPLETE",
    "message": {"role": "assistant", "tool_plan": "one", "content": [
        {"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "two"}, {"type": "text", "text": ", three"}]},
}  # fmt: skip
ANSWERS = [(Protocol.RESPONSES, RESPONSES, "one\n\ntwo"), (Protocol.COHERE, COHERE, "one\n\ntwo, three")]


def text_in(frames: list[Any]) -> str:
    parts = [part for frame in frames for each in frame["candidates"] for part in each["content"]["parts"]]
    return "".join(part["text"] for part in parts if not part.get("thought"))


@pytest.mark.parametrize(("upstream", "answer", "text"), ANSWERS)
def test_whole(upstream: Protocol, answer: dict[str, Any], text: str) -> None:
    way = bridge_for(Protocol.OPENAI, HELLO[Protocol.OPENAI], target_for(upstream))
    assert answered(way, answer)["choices"][0]["message"]["content"] == text
    way = bridge_for(Protocol.GEMINI, HELLO[Protocol.GEMINI], target_for(upstream))
    assert text_in([answered(way, answer)]) == text


@pytest.mark.parametrize(("upstream", "answer", "text"), ANSWERS)
def test_streamed(upstream: Protocol, answer: dict[str, Any], text: str) -> None:
    def stream(caller: Protocol) -> list[Any]:
        way = bridge_for(caller, HELLO[caller], target_for(upstream))
        way.wire(stream=True)
        _, batch = way.stream_of(json.dumps(answer).encode())
        return events_in(batch.frames)

    assert openai_choices(stream(Protocol.OPENAI))[0]["content"] == text
    assert text_in([frame for _, frame in stream(Protocol.GEMINI)]) == text


def test_citations_count_the_parts_of_a_whole_answer_in_streams_too() -> None:
    way = bridge_for(Protocol.GEMINI, HELLO[Protocol.GEMINI], target_for(Protocol.RESPONSES))
    body = json.dumps(RESPONSES).encode()
    whole = json.loads(way.read_answer(body).body)["candidates"][0]
    _, batch = way.stream_of(body)
    frames = [frame for _, frame in events_in(batch.frames)]
    last = frames[-1]["candidates"][0]
    [support] = whole["groundingMetadata"]["groundingSupports"]
    assert whole["content"]["parts"][support["segment"]["partIndex"]] == {"text": "two"}
    assert last["groundingMetadata"] == whole["groundingMetadata"]


def test_the_opening_of_a_stream_of_one_message_is_its_text() -> None:
    answer = {**RESPONSES, "output": [message("m1", "one")]}
    way = bridge_for(Protocol.GEMINI, HELLO[Protocol.GEMINI], target_for(Protocol.RESPONSES))
    stream = way.open_stream(StreamOptions())
    event = {"type": "response.completed", "response": answer}
    frames = events_in(stream.feed(b"data: " + json.dumps(event).encode() + b"\n\n").frames)
    assert text_in([frame for _, frame in frames]) == "one"
