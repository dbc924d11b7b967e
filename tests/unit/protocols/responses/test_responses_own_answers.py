"""Answers and streams of OpenAI Responses: written as they were read, and the same whichever way they came."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from fluxrpc.ir.accumulate import accumulate
from fluxrpc.ir.events import events_of
from tests.unit.protocols.responses.responses_bodies import ANSWERS, PLAIN_STREAMS, STREAMS
from tests.unit.protocols.responses.responses_ways import (
    context_of,
    frames_of,
    gathered,
    read_answer,
    read_stream,
    write_answer,
    write_stream,
)

Streamed = tuple[dict[str, Any], list[dict[str, Any]]]


@settings(max_examples=40)
@given(ANSWERS)
def test_own_answer_is_written_as_it_was_read(answer: dict[str, Any]) -> None:
    assert write_answer(read_answer(answer), context_of()) == (answer, [])


@settings(max_examples=40)
@given(STREAMS)
def test_stream_makes_the_whole_answer(streamed: Streamed) -> None:
    answer, events = streamed
    assert gathered(frames_of(events)) == read_answer(answer)


@settings(max_examples=30)
@given(STREAMS, st.integers(1, 40))
def test_cutting_of_bytes_changes_no_event(streamed: Streamed, step: int) -> None:
    frames = frames_of(streamed[1])
    assert read_stream(frames, step=step) == read_stream(frames)


@settings(max_examples=30)
@given(PLAIN_STREAMS)
def test_own_stream_is_written_as_it_was_read(streamed: Streamed) -> None:
    events = streamed[1]
    assert write_stream(read_stream(frames_of(events)), context_of(stream=True)) == (events, [])


@settings(max_examples=30)
@given(STREAMS)
def test_last_event_of_own_stream_repeats_the_answer(streamed: Streamed) -> None:
    answer, events = streamed
    written, _ = write_stream(read_stream(frames_of(events)), context_of(stream=True))
    assert written[-1]["response"] == answer
    assert [event["sequence_number"] for event in written] == list(range(len(written)))
    done = [event["item"] for event in written if event["type"] == "response.output_item.done"]
    assert done == answer["output"]


_TEXT = {"type": "output_text", "text": "a", "annotations": [{"type": "file_path", "file_id": "f", "index": 1}]}
_OUTPUT: list[dict[str, Any]] = [
    {
        "type": "reasoning",
        "id": "rs",
        "summary": [{"type": "summary_text", "text": "s"}, {"type": "summary_text", "text": "t"}],
        "content": [{"type": "reasoning_text", "text": "hm"}],
        "encrypted_content": "QUJD",
    },
    {
        "type": "message",
        "id": "msg",
        "role": "assistant",
        "status": "completed",
        "phase": "commentary",
        "content": [_TEXT, {"type": "refusal", "refusal": "no"}],
    },
    {"type": "web_search_call", "id": "ws", "status": "completed", "action": {"type": "search", "query": "q"}},
    {"type": "file_search_call", "id": "fs", "status": "completed", "queries": ["q"], "results": []},
    {"type": "computer_call", "id": "cu", "status": "completed"},
    {"type": "function_call", "id": "fc", "call_id": "c", "name": "f", "arguments": "{}", "status": "completed"},
    {"type": "custom_tool_call", "id": "ctc", "call_id": "d", "name": "g", "input": "x", "status": "completed"},
]
_COUNTS = {
    "input_tokens": 9,
    "input_tokens_details": {
        "cached_tokens": 1,
        "cache_write_tokens": 7,
        "cache_write_tokens_details": {"ttl_30m_tokens": 3, "ttl_12h_tokens": 4},
    },
    "output_tokens": 30,
    "output_tokens_details": {"reasoning_tokens": 20},
    "total_tokens": 39,
    "novel_tokens": 1,
}
_ANSWER = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1790000000,
    "status": "completed",
    "error": None,
    "incomplete_details": None,
    "instructions": None,
    "metadata": {},
    "model": "gpt-x",
    "output": _OUTPUT,
    "parallel_tool_calls": True,
    "temperature": None,
    "tool_choice": "auto",
    "tools": [],
    "top_p": None,
    "usage": _COUNTS,
}


def test_answer_of_every_kind_as_a_stream_and_back() -> None:
    whole = read_answer(_ANSWER)
    events, notes = write_stream(events_of(whole), context_of(stream=True))
    assert events[-1]["response"] == _ANSWER
    assert notes == []
    read_again = read_stream(frames_of(events))
    assert accumulate(read_again) == whole
    assert write_stream(read_again, context_of(stream=True))[0] == events


def test_output_that_only_the_last_event_tells() -> None:
    events, _ = write_stream(events_of(read_answer(_ANSWER)), context_of(stream=True))
    told = [event for event in events if event.get("output_index", 0) < 4]
    assert gathered(frames_of(told)) == read_answer(_ANSWER)
