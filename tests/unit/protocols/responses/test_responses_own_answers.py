"""Answers and streams of OpenAI Responses: written as they were read, and the same whichever way they came."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

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
