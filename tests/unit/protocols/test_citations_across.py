"""A citation says the same whole and streamed, and as much as the caller's protocol can say of its source."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fluxrpc.protocols.base import Protocol
from tests.support.assembled import events_in
from tests.support.translating import HELLO, answered, bridge_for, sse, streamed, target_for

TEXT = "Héllo wörld"
CITED = {
    "type": "web_search_result_location",
    "url": "http://u",
    "title": "T",
    "cited_text": "c",
    "encrypted_index": "i",
}
CLAUDE: dict[str, Any] = {
    "id": "a", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn", "stop_sequence": None,
    "content": [{"type": "text", "text": TEXT, "citations": [CITED]}], "usage": {"input_tokens": 1, "output_tokens": 1},
}  # fmt: skip
CLAUDE_STREAM = [
    {"event": name, "data": {"type": name, **fields}}
    for name, fields in (
        ("message_start", {"message": {**CLAUDE, "content": [], "stop_reason": None}}),
        ("content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}}),
        ("content_block_delta", {"index": 0, "delta": {"type": "citations_delta", "citation": CITED}}),
        ("content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": "Héllo "}}),
        ("content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": "wörld"}}),
        ("content_block_stop", {"index": 0}),
        ("message_delta", {"delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}}),
        ("message_stop", {}),
    )
]
DOCUMENT = {"type": "document", "id": "doc-1", "document": {"title": "T", "url": "http://u", "snippet": "c"}}


def cohere(source: dict[str, Any]) -> dict[str, Any]:
    citation = {"start": 6, "end": 11, "text": "wörld", "sources": [source], "content_index": 0, "type": "TEXT_CONTENT"}
    message = {"role": "assistant", "content": [{"type": "text", "text": TEXT}], "citations": [citation]}
    return {"id": "u", "finish_reason": "COMPLETE", "message": message}


def found_in(value: Any, key: str) -> list[Any]:
    """Every value under a key, at any depth."""
    if isinstance(value, list):
        return [found for inner in value for found in found_in(inner, key)]
    if not isinstance(value, dict):
        return []
    return [found for name, inner in value.items() for found in ([inner] if name == key else found_in(inner, key))]


@pytest.mark.parametrize(
    ("caller", "start", "end"),
    [
        (Protocol.OPENAI, "start_index", "end_index"),
        (Protocol.GEMINI, "startIndex", "endIndex"),
        (Protocol.COHERE, "start", "end"),
        (Protocol.RESPONSES, "start_index", "end_index"),
    ],
)
def test_a_citation_of_a_whole_text_spans_it_in_streams_too(caller: Protocol, start: str, end: str) -> None:
    way = bridge_for(caller, HELLO[caller], target_for(Protocol.ANTHROPIC))
    whole = answered(way, CLAUDE)
    frames, error = streamed(way, map(sse, CLAUDE_STREAM))
    events = [data for _, data in events_in(frames) if isinstance(data, dict)]
    length = len(TEXT.encode()) if caller is Protocol.GEMINI else len(TEXT)
    assert error is None
    assert set(zip(found_in(whole, start), found_in(whole, end), strict=True)) == {(0, length)}
    assert set(zip(found_in(events, start), found_in(events, end), strict=True)) == {(0, length)}


@pytest.mark.parametrize(
    ("caller", "key", "expected"),
    [
        (Protocol.OPENAI, "url_citation", {"start_index": 6, "end_index": 11, "title": "T", "url": "http://u"}),
        (Protocol.GEMINI, "retrievedContext", {"uri": "http://u", "title": "T", "text": "c"}),
        (Protocol.ANTHROPIC, "url", "http://u"),
        (Protocol.RESPONSES, "url", "http://u"),
    ],
)
def test_a_document_that_tells_where_it_stands_can_be_cited_anywhere(caller: Protocol, key: str, expected: Any) -> None:
    way = bridge_for(caller, HELLO[caller], target_for(Protocol.COHERE))
    assert found_in(answered(way, cohere(DOCUMENT)), key) == [expected]


@pytest.mark.parametrize("record", [{}, {"title": None}, {"title": 5}])
def test_a_document_without_a_title_is_cited_by_its_name(record: dict[str, Any]) -> None:
    way = bridge_for(Protocol.GEMINI, HELLO[Protocol.GEMINI], target_for(Protocol.COHERE))
    body = answered(way, cohere({"type": "document", "id": "doc-1", "document": record}))
    assert found_in(body, "retrievedContext") == [{"title": "doc-1"}]
    way = bridge_for(Protocol.OPENAI, HELLO[Protocol.OPENAI], target_for(Protocol.COHERE))
    way.wire(stream=False)
    notes = way.read_answer(json.dumps(cohere({"type": "document", "id": "d", "document": record})).encode()).notes
    assert [note.code for note in notes] == ["CITATION"]


def test_thinking_that_is_only_signed_counts_as_a_part() -> None:
    thought = {"type": "thinking", "thinking": "", "signature": "SIG"}
    body = json.dumps({**CLAUDE, "content": [thought, *CLAUDE["content"]]}).encode()
    way = bridge_for(Protocol.GEMINI, HELLO[Protocol.GEMINI], target_for(Protocol.ANTHROPIC))
    whole = json.loads(way.read_answer(body).body)
    _, batch = way.stream_of(body)
    for value in (whole, [data for _, data in events_in(batch.frames)]):
        assert found_in(value, "partIndex") == [1]
