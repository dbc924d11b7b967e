"""Streams of OpenAI Responses as they are read: those of all sorts of servers, broken and cut ones."""

from __future__ import annotations

from typing import Any

import pytest

from fluxrpc.errors import AnswerFault, ProviderError
from fluxrpc.ir.accumulate import accumulate
from fluxrpc.protocols.base import Protocol, StreamOptions
from fluxrpc.v1 import part_pb2 as part_pb
from fluxrpc.v1 import response_pb2 as pb
from fluxrpc.v1.part_pb2 import Citation, CitationSource, Part, Reasoning, ToolCall
from tests.unit.protocols.responses.responses_ways import (
    RESPONSES,
    context_of,
    frames_of,
    gathered,
    read_stream,
)

_TO_CHAT = context_of(caller=Protocol.OPENAI, stream=True)
Event = dict[str, Any]


def _event(kind: str, index: int = 0, **fields: Any) -> Event:
    return {"type": f"response.{kind}", "output_index": index} | fields


def _added(index: int, **item: Any) -> Event:
    return _event("output_item.added", index, item=item)


def _done(index: int, **item: Any) -> Event:
    return _event("output_item.done", index, item=item)


def _text(text: str, index: int = 0, content: int = 0, **fields: Any) -> Event:
    return _event("output_text.delta", index, content_index=content, delta=text, item_id="msg", **fields)


_CREATED: Event = {
    "type": "response.created",
    "response": {"id": "r", "object": "response", "model": "g", "status": "in_progress"},
}
_COMPLETED: Event = {
    "type": "response.completed",
    "response": {"id": "r", "object": "response", "model": "g2", "status": "completed"},
}
_MESSAGE = {"type": "message", "id": "msg", "role": "assistant"}
_CALL = {"type": "function_call", "id": "fc", "call_id": "c", "name": "f"}


def _parts(*events: Event) -> list[Part]:
    response = gathered(frames_of([_CREATED, *events, _COMPLETED]), _TO_CHAT)
    return list(response.choices[0].parts)


def _piece(text: str, **more: Any) -> Event:
    return {"type": "output_text", "text": text} | more


_STREAMS: dict[str, tuple[list[Event], list[Part]]] = {
    "no items, no parts": ([], []),
    "deltas alone": ([_text("Hi")], [Part(text="Hi", item_id="msg")]),
    "done alone": (
        [_event("output_text.done", content_index=0, text="Hi")],
        [Part(text="Hi")],
    ),
    "done says more than the deltas": (
        [_text("H"), _event("output_text.done", content_index=0, text="Hi")],
        [Part(text="Hi", item_id="msg")],
    ),
    "the item alone": (
        [_done(0, **_MESSAGE, phase="commentary", content=[_piece("a"), {"type": "refusal", "refusal": "b"}])],
        [
            Part(text="a", item_id="msg", phase=part_pb.TEXT_PHASE_COMMENTARY),
            Part(refusal="b", item_id="msg", phase=part_pb.TEXT_PHASE_COMMENTARY),
        ],
    ),
    "an item without its end": ([_added(0, **_MESSAGE), _text("a")], [Part(text="a", item_id="msg")]),
    "an item that nothing fills": ([_added(0, **_MESSAGE), _done(0, **_MESSAGE, content=[])], []),
    "an end without an item": ([_text("a"), _event("output_item.done")], [Part(text="a", item_id="msg")]),
    "a piece that its end alone tells": (
        [
            _event("content_part.done", content_index=0, part=_piece("a"), item_id="msg"),
            _done(0, **_MESSAGE, content=[_piece("a")]),
        ],
        [Part(text="a", item_id="msg")],
    ),
    "pieces one after the other": (
        [
            _text("a"),
            _event("content_part.done", content_index=0, part=_piece("ab")),
            _text("c", content=1),
            _text("late", content=0),
            _event("content_part.done", content_index=0, part=_piece("late")),
            _event("refusal.delta", content_index=2, delta="no"),
            _done(0, **_MESSAGE, content=[_piece("ab"), _piece("c"), {"type": "refusal", "refusal": "no"}]),
        ],
        [Part(text="ab", item_id="msg"), Part(text="c", item_id="msg"), Part(refusal="no", item_id="msg")],
    ),
    "a refusal by its done": (
        [_event("refusal.done", content_index=0, refusal="no"), _event("refusal.done", content_index=0, refusal=1)],
        [Part(refusal="no")],
    ),
    "items that grow side by side": (
        [
            _added(0, **_CALL),
            _added(1, **_CALL | {"call_id": "d", "id": "fd"}),
            _event("function_call_arguments.delta", 1, delta="{}"),
            _event("function_call_arguments.delta", 0, delta='{"a"'),
            _done(1, **_CALL | {"call_id": "d", "id": "fd"}, arguments="{}"),
            _event("function_call_arguments.delta", 0, delta=":1}"),
            _done(0, **_CALL, arguments='{"a":1}'),
        ],
        [
            Part(tool_call=ToolCall(id="c", name="f", arguments_json='{"a":1}'), item_id="fc"),
            Part(tool_call=ToolCall(id="d", name="f", arguments_json="{}"), item_id="fd"),
        ],
    ),
    "items that wait to the end": (
        [_added(0, **_CALL), _done(1, **_CALL | {"call_id": "d"}, arguments="{}"), _done(2, type=1)],
        [
            Part(tool_call=ToolCall(id="c", name="f", arguments_json=""), item_id="fc"),
            Part(tool_call=ToolCall(id="d", name="f", arguments_json="{}"), item_id="fc"),
        ],
    ),
    "an item twice": (
        [
            _done(0, **_CALL, arguments="{}"),
            _done(0, **_CALL, arguments="{}"),
            _event("function_call_arguments.delta", delta="x"),
        ],
        [Part(tool_call=ToolCall(id="c", name="f", arguments_json="{}"), item_id="fc")],
    ),
    "arguments without a call, texts of another kind": (
        [
            _event("function_call_arguments.delta", delta="x"),
            _event("function_call_arguments.done", arguments="x"),
            _done(0, **_CALL, arguments="{}"),
        ],
        [Part(tool_call=ToolCall(id="c", name="f", arguments_json="{}"), item_id="fc")],
    ),
    "reasoning without its beginning": (
        [
            _event("reasoning_summary_text.delta", summary_index=0, delta="s", item_id="rs"),
            _event("reasoning_summary_text.done", summary_index=0, text="su"),
            _event("reasoning_summary_text.done", summary_index=9, text="t"),
            _event("reasoning_text.delta", content_index=0, delta="th"),
            _event("reasoning_text.done", content_index=0, text="tho"),
        ],
        [Part(reasoning=Reasoning(text="tho", summaries=["su", "t"]), item_id="rs")],
    ),
    "a thought that the item tells": (
        [
            _added(0, type="reasoning", id="rs"),
            _added(0, type="reasoning", id="rs"),
            _done(0, type="reasoning", id="rs", summary=[], content=[{"type": "reasoning_text", "text": "t"}]),
        ],
        [Part(reasoning=Reasoning(text="t"), item_id="rs")],
    ),
    "citations that the item alone tells": (
        [
            _added(0, **_MESSAGE),
            _text("a"),
            _done(0, **_MESSAGE, content=[_piece("a", annotations=[{"type": "file_path", "file_id": "f"}])]),
        ],
        [
            Part(
                text="a",
                item_id="msg",
                citations=[
                    Citation(
                        kind_raw="file_path",
                        sources=[CitationSource(kind=part_pb.CITATION_SOURCE_KIND_FILE, file_id="f")],
                    )
                ],
            )
        ],
    ),
    "summaries that the item takes back": (
        [
            _event("reasoning_summary_text.delta", summary_index=0, delta="s", item_id="rs"),
            _done(0, type="reasoning", id="rs", summary=[]),
        ],
        [Part(reasoning=Reasoning(), item_id="rs")],
    ),
    "an item that ends as another kind": (
        [
            _added(0, **_CALL),
            _done(0, **_MESSAGE, content=[_piece("a")]),
            _text("b", 1),
            _event("content_part.done", 1, content_index=0, part={"type": "refusal", "refusal": "no"}),
        ],
        [
            Part(tool_call=ToolCall(id="c", name="f", arguments_json=""), item_id="fc"),
            Part(text="a", item_id="msg"),
            Part(text="b", item_id="msg"),
        ],
    ),
    "half of a pair in an id": (
        [_event("output_text.delta", item_id="ü\ud800", delta="a")],
        [Part(text="a", item_id="ü\ufffd")],
    ),
    "nothing to be said": (
        [
            _text(""),
            _event("output_text.delta", delta=None),
            _event("output_text.delta", delta=1),
            _event("output_item.added"),
            _event("content_part.done"),
            _event("output_text.annotation.added"),
            _event("output_text.done", text=None),
            _event("foo.bar"),
            _event("foo.delta", delta="x"),
        ],
        [],
    ),
}


@pytest.mark.parametrize("name", _STREAMS)
def test_streams_of_all_sorts_of_servers(name: str) -> None:
    events, parts = _STREAMS[name]
    assert _parts(*events) == parts


def test_halves_of_a_pair_in_two_deltas_are_joined() -> None:
    frames = frames_of(
        [_CREATED, _text("\ud83d"), _text("\ude00"), _done(0, **_MESSAGE, content=[_piece("😀")]), _COMPLETED]
    )
    events = read_stream(frames, _TO_CHAT)
    assert [event.part_delta.text for event in events if event.HasField("part_delta")] == ["😀"]
    assert accumulate(events).choices[0].parts[0].text == "😀"


def test_the_last_event_tells_what_the_stream_left_out() -> None:
    last = _COMPLETED["response"] | {
        "output": [_CALL | {"arguments": "{}"}],
        "usage": {"input_tokens": 1, "output_tokens": 2},
    }
    response = gathered(frames_of([{"type": "response.completed", "response": last}]), _TO_CHAT)
    assert (response.id, response.model, response.usage.total_tokens) == ("r", "g2", 3)
    assert response.choices[0].parts[0].tool_call.id == "c"
    assert response.choices[0].finish.reason == pb.FINISH_REASON_TOOL_CALLS


def test_the_stream_tells_what_the_last_event_left_out() -> None:
    call = [_CREATED, _done(0, **_CALL, arguments="{}"), _COMPLETED]
    assert gathered(frames_of(call), _TO_CHAT).choices[0].finish.reason == pb.FINISH_REASON_TOOL_CALLS
    refusal = [_CREATED, _event("refusal.delta", delta="no"), _COMPLETED]
    assert gathered(frames_of(refusal), _TO_CHAT).choices[0].finish.reason == pb.FINISH_REASON_REFUSAL


def test_probabilities_and_citations_on_their_way() -> None:
    token = {"token": "a", "logprob": -1.0}
    annotation = {"type": "url_citation", "start_index": 0, "end_index": 1, "url": "u", "title": "t"}
    (part,) = _parts(
        _event("output_text.annotation.added", content_index=0, annotation=annotation),
        _text("a", logprobs=[token]),
        _event("output_text.annotation.added", content_index=0, annotation=annotation),
        _event("output_text.annotation.added", content_index=7, annotation=annotation),
        _done(0, **_MESSAGE, content=[_piece("a", annotations=[annotation], logprobs=[token])]),
    )
    assert [each.token for each in part.logprobs] == ["a"]
    assert len(part.citations) == 1


def test_probabilities_of_nothing_are_left_out() -> None:
    assert _parts(_event("function_call_arguments.delta", delta="x", logprobs=[{"token": "a"}])) == []


def test_a_stream_that_does_not_say_that_it_begins() -> None:
    response = gathered(frames_of([_text("a"), _COMPLETED]), _TO_CHAT)
    assert response.choices[0].parts[0].text == "a"


def test_typed_callers_see_events_that_nobody_reads() -> None:
    events = [
        _event("foo", note=1),
        _CREATED,
        _event("foo", note=1),
        _added(0, type="web_search_call", id="ws"),
        _event("web_search_call.searching"),
        _COMPLETED,
    ]
    for caller, names in ((None, ["response.foo", "response.web_search_call.searching"]), (Protocol.GEMINI, [])):
        found = read_stream(frames_of(events), context_of(caller=caller, stream=True))
        assert [event.raw.name for event in found if event.HasField("raw")] == names


_ERRORS: list[tuple[list[Event], type[Exception]]] = [
    ([{"type": "error", "code": "server_error", "message": "m"}], ProviderError),
    ([{"type": "error", "error": {"code": "rate_limit_exceeded"}}], ProviderError),
    ([_event("failed", response={"error": {"code": "x"}})], ProviderError),
    ([_CREATED, _text("a")], AnswerFault),
    ([_CREATED, {"type": "response.completed"}], AnswerFault),
]


@pytest.mark.parametrize(("events", "kind"), _ERRORS, ids=range(len(_ERRORS)))
def test_errors_and_cuts(events: list[Event], kind: type[Exception]) -> None:
    reader = RESPONSES.read_stream(StreamOptions(), _TO_CHAT)
    fault = reader.feed(frames_of(events)).error or reader.close().error
    assert isinstance(fault, kind)


def test_what_is_no_stream_is_named() -> None:
    reader = RESPONSES.read_stream(StreamOptions(), _TO_CHAT)
    reader.feed(b'{"error":{"message":"m","code":"invalid_api_key"}}')
    assert isinstance(reader.close().error, ProviderError)


def test_what_counts_as_the_beginning_and_what_is_broken() -> None:
    reader = RESPONSES.read_stream(StreamOptions(), _TO_CHAT)
    assert not reader.feed(frames_of([_CREATED, _added(0, **_MESSAGE)])).real
    assert not reader.feed(b"data: [DONE]\n\n" + frames_of([{"type": "response.in_progress"}])).real
    assert not reader.feed(b'data: {"type":\n\n').real
    assert reader.malformed == 1
    assert reader.feed(frames_of([_added(1, **_CALL)])).real
    assert reader.feed(b'event: response.output_text.delta\ndata: {"delta":"a"}\n\n').real
    assert reader.served_model == "g"
    assert reader.feed(frames_of([_COMPLETED])).ended
    assert (reader.served_model, reader.malformed) == ("g2", 1)


_BROKEN: list[Event] = [
    _event("output_text.delta", -1, delta="a"),
    _text("a") | {"content_index": "0"},
    {"type": "response.completed", "response": {"output": [3]}},
    _done(0, type="message", content=[{"type": 1}]),
]


@pytest.mark.parametrize("event", _BROKEN, ids=range(len(_BROKEN)))
def test_broken_events_are_counted(event: Event) -> None:
    reader = RESPONSES.read_stream(StreamOptions(), _TO_CHAT)
    reader.feed(frames_of([_CREATED, event]))
    assert reader.malformed == 1


def test_an_event_that_waited_and_is_broken_is_counted() -> None:
    reader = RESPONSES.read_stream(StreamOptions(), _TO_CHAT)
    reader.feed(frames_of([_CREATED, _added(0, **_CALL), _done(1, type=1), _done(0, **_CALL, arguments="")]))
    assert reader.malformed == 1
