"""What translation may not lose: there and back again, and however an answer is streamed and cut."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import permutations
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fluxrpc.ir.accumulate import accumulate
from fluxrpc.ir.events import events_of
from fluxrpc.protocols.base import Protocol, StreamOptions
from fluxrpc.protocols.context import Context
from fluxrpc.protocols.notes import Notes
from fluxrpc.protocols.registry import TRANSLATORS
from fluxrpc.v1.message_pb2 import MessageRequest
from fluxrpc.v1.response_pb2 import MessageResponse
from fluxrpc.v1.stream_pb2 import StreamEvent
from tests.property.ir_strategies import requests, responses
from tests.support.translating import bridge_for, target_for, written

PAIRS = list(permutations(Protocol, 2))
_UNKNOWN = st.dictionaries(st.sampled_from(["novelty", "vendor"]), st.sampled_from([1, "a", {"b": [2]}]), max_size=2)
"""Fields that no protocol has."""


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from _leaves(inner, f"{path}[{at}]")
    else:
        yield path, value


def _plain(value: Any) -> Any:
    """One text alone may be said as a string or as a list of one part."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        alone = value[0] if len(value) == 1 else None
        if isinstance(alone, dict) and alone.get("type") in {"text", "input_text", "output_text"} and len(alone) == 2:
            return alone["text"]
        return [_plain(inner) for inner in value]
    return value


def _is_listed(path: str, listed: set[str]) -> bool:
    """Whether a note speaks of this place, or of one around or within it."""
    return any(path.startswith(each) or each.startswith(path) for each in listed)


@pytest.mark.parametrize(("there", "via"), PAIRS)
@given(asked=requests())
@settings(max_examples=15, deadline=None)
def test_there_and_back_keeps_what_no_note_lists(there: Protocol, via: Protocol, asked: MessageRequest) -> None:
    first = bridge_for(None, asked, target_for(there)).wire(stream=False).body
    over = bridge_for(there, first, target_for(via))
    second = over.wire(stream=False).body
    back = bridge_for(via, second, target_for(there))
    third = back.wire(stream=False).body
    listed = {note.path for note in over.notes}
    before, after = dict(_leaves(_plain(json.loads(first)))), dict(_leaves(_plain(json.loads(third))))
    if any(note.code == "TOOL_NAME" for note in over.notes):  # noted where the name first stands, and undone in answers
        before = {path: value for path, value in before.items() if not path.endswith(".name")}
    lost = {path: value for path, value in before.items() if after.get(path) != value and not _is_listed(path, listed)}
    assert lost == {}, (first, second, third, over.notes, back.notes)


def _context(protocol: Protocol) -> Context:
    return Context(caller=protocol, target=target_for(protocol), request=MessageRequest(), stream=True, now=1)


@pytest.mark.parametrize("protocol", list(Protocol))
@given(asked=requests(), unknown=_UNKNOWN)
@settings(max_examples=40, deadline=None)
def test_a_request_comes_back_as_it_was(protocol: Protocol, asked: MessageRequest, unknown: dict[str, Any]) -> None:
    body = json.loads(bridge_for(None, asked, target_for(protocol)).wire(stream=False).body) | unknown
    assert written(bridge_for(protocol, body, target_for(protocol))) == body


@pytest.mark.parametrize("protocol", list(Protocol))
@given(answer=responses(), unknown=_UNKNOWN)
@settings(max_examples=40, deadline=None)
def test_an_answer_comes_back_as_it_was(protocol: Protocol, answer: MessageResponse, unknown: dict[str, Any]) -> None:
    translator, context = TRANSLATORS[protocol], _context(protocol)
    body = json.loads(translator.write_response(answer, context, Notes(translator.fates))) | unknown
    read = translator.read_response(json.dumps(body).encode(), context, Notes({}))
    assert json.loads(translator.write_response(read, context, Notes(translator.fates))) == body


@pytest.mark.parametrize("protocol", list(Protocol))
@given(answer=responses())
@settings(max_examples=40, deadline=None)
def test_a_stream_comes_back_as_it_was(protocol: Protocol, answer: MessageResponse) -> None:
    translator, context = TRANSLATORS[protocol], _context(protocol)
    writer = translator.write_stream(context, Notes(translator.fates))
    frames = writer.write(events_of(answer)) + writer.close()
    reader = translator.read_stream(StreamOptions(), context)
    events = [*reader.feed(frames).events, *reader.close().events]
    again = translator.write_stream(context, Notes(translator.fates))
    assert again.write(events) + again.close() == frames


@pytest.mark.parametrize("protocol", list(Protocol))
@given(answer=responses(), data=st.data())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.large_base_example])  # cuts everywhere
def test_a_gathered_stream_is_the_whole_answer(
    protocol: Protocol, answer: MessageResponse, data: st.DataObject
) -> None:
    translator, context = TRANSLATORS[protocol], _context(protocol)
    whole_body = translator.write_response(answer, context, Notes(translator.fates))
    whole = translator.read_response(whole_body, context, Notes({}))
    writer = translator.write_stream(context, Notes(translator.fates))
    frames = writer.write(events_of(answer)) + writer.close()
    reader = translator.read_stream(StreamOptions(), context)
    events: list[StreamEvent] = []
    at = 0
    while at < len(frames):
        size = data.draw(st.integers(1, len(frames)))
        batch = reader.feed(frames[at : at + size])
        assert batch.error is None
        events.extend(batch.events)
        at += size
    last = reader.close()
    assert last.error is None
    events.extend(last.events)
    assert _said(accumulate(events)) == _said(whole)


def _said(response: MessageResponse) -> Any:
    """The answer without what a stream has no place for in some protocols (ids, time, items)."""
    choices = []
    for choice in response.choices:
        parts = []
        for part in choice.parts:
            kept = type(part)()
            kept.CopyFrom(part)
            kept.ClearField("item_id")
            kept.ClearField("extras")
            parts.append(kept)
        choices.append((choice.index, parts, choice.finish.reason))
    return choices, response.usage.input_tokens, response.usage.output_tokens


@pytest.mark.parametrize(("caller", "upstream"), PAIRS)
@given(answer=responses())
@settings(max_examples=15, deadline=None)
def test_an_answer_says_the_same_in_every_protocol(
    caller: Protocol, upstream: Protocol, answer: MessageResponse
) -> None:
    there, here = TRANSLATORS[upstream], TRANSLATORS[caller]
    body = there.write_response(answer, _context(upstream), Notes(there.fates))
    read = there.read_response(body, _context(upstream), Notes({}))
    notes = Notes(here.fates)
    again = here.read_response(here.write_response(read, _context(caller), notes), _context(caller), Notes({}))
    assert _words(again) == _words(read) or len(notes), (body, notes)


def _words(response: MessageResponse) -> Any:
    return [
        (part.WhichOneof("kind"), part.text, part.reasoning.text, part.tool_call.name, part.tool_call.arguments_json)
        for choice in response.choices
        for part in choice.parts
    ]
