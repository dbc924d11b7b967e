"""Streams of Cohere into events, and events into streams for its callers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict, ParseDict

from fluxrpc.errors import AnswerFault, ProviderError
from fluxrpc.ir.accumulate import accumulate
from fluxrpc.ir.events import events_of
from fluxrpc.protocols.base import AnswerStream, Batch, Protocol, StreamOptions
from fluxrpc.protocols.cohere.stream import CohereWatch
from fluxrpc.protocols.cohere.translator import CohereTranslator
from fluxrpc.protocols.context import Context, Target
from fluxrpc.protocols.notes import Notes
from fluxrpc.v1.message_pb2 import MessageRequest
from fluxrpc.v1.outcome_pb2 import NoteAction
from fluxrpc.v1.protocol_pb2 import PROTOCOL_COHERE
from fluxrpc.v1.response_pb2 import MessageResponse
from fluxrpc.v1.stream_pb2 import RawEvent, StreamEvent

COHERE = CohereTranslator()
Event = dict[str, Any]


def message(kind: str, index: int | None = None, /, **fields: Any) -> Event:
    """An event about the message."""
    event: Event = {"type": kind} if index is None else {"type": kind, "index": index}
    return event | ({"delta": {"message": fields}} if fields else {})


def start(index: int, kind: str, text: str = "") -> Event:
    return message("content-start", index, content={"type": kind, kind: text})


def grown(index: int, kind: str, text: str, **beside: Any) -> Event:
    return message("content-delta", index, content={kind: text}) | beside


def end(word: str = "COMPLETE", **delta: Any) -> Event:
    return {"type": "message-end", "delta": {"finish_reason": word, **delta}}


BEGIN: Event = {"type": "message-start", "id": "c-2", "delta": {"message": {"role": "assistant"}}}
SOURCE = {"type": "document", "id": "d", "document": {"n": 1.0}}
CITATION = {"start": 0, "end": 1, "text": "a", "sources": [SOURCE], "content_index": 1, "type": "TEXT_CONTENT"}
PLAN_CITATION = {"start": 0, "end": 1, "text": "I", "sources": [SOURCE], "type": "PLAN"}
CALL = {"id": "w_1", "type": "function", "function": {"name": "w", "arguments": ""}}
USAGE = {"tokens": {"input_tokens": 4, "output_tokens": 9}, "billed_units": {"input_tokens": 1.0}}
LOGPROBS = {"text": "a", "token_ids": [1], "logprobs": [-0.5]}
WHOLE = [
    BEGIN,
    message("tool-plan-delta", tool_plan="I will "),
    message("tool-plan-delta", tool_plan="look."),
    message("citation-start", 0, citations=PLAN_CITATION),
    message("citation-end", 0),
    start(0, "thinking"),
    grown(0, "thinking", "t"),
    message("content-end", 0),
    start(1, "text"),
    grown(1, "text", "a", logprobs=LOGPROBS),
    grown(1, "text", "é"),
    message("citation-start", 1, citations=CITATION),
    message("citation-end", 1),
    message("content-end", 1),
    message("citation-start", 2, citations=CITATION),
    message("citation-end", 2),
    message("tool-call-start", 0, tool_calls=CALL),
    message("tool-call-delta", 0, tool_calls={"function": {"arguments": '{"c":'}}),
    message("tool-call-delta", 0, tool_calls={"function": {"arguments": "1}"}}),
    message("tool-call-end", 0),
    {"type": "debug", "prompt": "<x>"},
    end("TOOL_CALL", usage=USAGE),
]


def frames(events: list[Event]) -> bytes:
    return b"".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events)


def context_for(target: Protocol = Protocol.COHERE) -> Context:
    return Context(
        caller=Protocol.COHERE, target=Target(protocol=target, model="m"), request=MessageRequest(), stream=True
    )


def read(events: list[Event] | bytes) -> tuple[list[StreamEvent], Batch, AnswerStream]:
    reader = COHERE.read_stream(StreamOptions(), context_for())
    batch = reader.feed(events if isinstance(events, bytes) else frames(events))
    last = reader.close()
    batch.error = batch.error or last.error
    return [*batch.events, *last.events], batch, reader


def write(events: list[StreamEvent], target: Protocol = Protocol.OPENAI) -> tuple[list[Event], set[str]]:
    notes = Notes(COHERE.fates)
    writer = COHERE.write_stream(context_for(target), notes)
    text = b"".join(writer.write([event]) for event in events) + writer.close()
    found = []
    for frame in text.split(b"\n\n")[:-1]:
        name, data = frame.split(b"\n")
        found.append(json.loads(data.removeprefix(b"data: ")))
        assert name == b"event: " + found[-1]["type"].encode()
    for note in notes:
        assert note.action in COHERE.fates.get(note.code, {}), note
    return found, {
        f"{NoteAction.Name(note.action).removeprefix('NOTE_ACTION_')} {note.code} {note.path}" for note in notes
    }


def test_a_stream_to_its_own_protocol_stays_as_it_is() -> None:
    events, batch, reader = read(WHOLE)
    assert (batch.ended, batch.real, batch.error, reader.malformed) == (True, True, None, 0)
    assert (reader.finished, reader.served_model) == (True, "")
    assert write(events, Protocol.COHERE) == (WHOLE, set())


def test_what_is_read_is_the_whole_answer() -> None:
    events, _, reader = read(WHOLE)
    body = {
        "id": "c-2",
        "finish_reason": "TOOL_CALL",
        "message": {
            "role": "assistant",
            "tool_plan": "I will look.",
            "content": [{"type": "thinking", "thinking": "t"}, {"type": "text", "text": "aé"}],
            "tool_calls": [{**CALL, "function": {"name": "w", "arguments": '{"c":1}'}}],
            "citations": [PLAN_CITATION, CITATION, CITATION],
        },
        "usage": USAGE,
        "logprobs": [LOGPROBS],
    }
    whole = COHERE.read_response(json.dumps(body).encode(), context_for(), Notes({}))
    assert accumulate(events) == whole
    assert reader.usage == whole.usage
    assert reader.finishes == [whole.choices[0].finish]


def test_records_are_written_in_one_line() -> None:
    answer = MessageResponse()
    part = answer.choices.add().parts.add(text="a")
    part.citations.add().sources.add(kind=2, data_json='{\n"a":\r\n1}')
    event = RawEvent(protocol=PROTOCOL_COHERE, name="de\nbug", data_json='{"type":\n"de bug"}')
    found, _ = write([*events_of(answer), StreamEvent(raw=event)])
    assert found[3]["delta"]["message"]["citations"]["sources"][0]["document"] == {"a": 1}
    assert found[-2] == {"type": "de bug"}


ODD: list[tuple[str, list[Event], list[dict[str, Any]]]] = [
    ("content without borders", [grown(0, "text", "a"), grown(0, "thinking", "t")], [
        {"text": "a"}, {"reasoning": {"text": "t"}}]),
    ("a start with text", [start(0, "text", "a")], [{"text": "a"}]),
    ("lists of old versions", [message("message-start", content=[], tool_calls=[]),
                               message("content-start", 0, content=[]), message("content-delta", 0, content=[])], []),
    ("nothing in an event", [message("content-delta", 0), message("tool-plan-delta"), grown(0, "text", "")], []),
    ("a start without index", [{**start(0, "text"), "index": None}], [{"text": ""}]),
    ("two blocks of one kind", [start(0, "text"), start(1, "text")], [{"text": ""}, {"text": ""}]),
    ("calls whole, without end", [
        message("tool-call-start", 0, tool_calls={"id": "1", "function": {"name": "f", "arguments": "{}"}}),
        message("tool-call-start", 1, tool_calls={"function": {}}),
        message("tool-call-delta", 1, tool_calls={}), message("tool-call-delta", 1, tool_calls={"function": {}})],
     [{"toolCall": {"id": "1", "name": "f", "argumentsJson": "{}"}}, {"toolCall": {"argumentsJson": ""}}]),
    ("probabilities of what is no text", [grown(0, "thinking", "t", logprobs=LOGPROBS)], [
        {"reasoning": {"text": "t"}}]),
    ("citations in a list, without index", [start(0, "text"), message("citation-start", 0, citations=[
        {"text": "x"}])], [{"text": "", "citations": [{"statement": "x"}]}]),
    ("citations without index, behind thinking", [start(0, "thinking"), start(1, "text"), message(
        "citation-start", 0, citations={"text": "x"})], [
            {"reasoning": {}}, {"text": "", "citations": [{"statement": "x"}]}]),
    ("citations of nothing", [message("citation-start", 0, citations=CITATION), {"type": "citation-start"},
                              message("citation-start", 1, citations=[]), message("citation-start", 2)], []),
    ("a block of a new kind", [message("content-start", 0, content={"type": "new", "x": 1})], []),
]  # fmt: skip


@pytest.mark.parametrize(("events", "parts"), [row[1:] for row in ODD], ids=[row[0] for row in ODD])
def test_odd_streams(events: list[Event], parts: list[dict[str, Any]]) -> None:
    found, batch, reader = read([*events, end()])
    assert (batch.ended, batch.error, reader.malformed) == (True, None, 0)
    assert MessageToDict(accumulate(found)).get("choices", [{}])[0].get("parts", []) == parts


def test_what_is_not_known_is_carried() -> None:
    odd = [{"type": "debug", "prompt": "x"}, message("content-start", 0, content={"type": "new"})]
    found, _, _ = read([BEGIN, *odd, message("citation-start", 0, citations=CITATION), end()])
    assert [event.raw.name for event in found if event.HasField("raw")] == ["debug", "content-start", "citation-start"]


@pytest.mark.parametrize(
    "event",
    [
        {"type": "\ud800", "x": 1},
        {**BEGIN, "id": "\ud800"},
        message("tool-call-start", 0, tool_calls={"id": "\ud800", "function": {"name": "\ud800"}}),
        message("citation-start", 0, citations={"text": "\ud800"}),
        grown(0, "text", "a", logprobs={"text": "\ud800", "token_ids": [], "logprobs": [0]}),
    ],
)
def test_halves_where_nothing_follows_are_replaced(event: Event) -> None:
    events = [event, end()] if "id" in event else [BEGIN, start(0, "text"), event, end()]
    found, batch, reader = read(b"".join(f"data: {json.dumps(each)}\n\n".encode() for each in events))
    assert (batch.ended, reader.malformed) == (True, 0)
    assert "\ufffd" in str([MessageToDict(each) for each in found])


@pytest.mark.parametrize(
    "event",
    [
        message("tool-call-start", 0),
        message("tool-call-start", 0, tool_calls={}),
        message("tool-call-delta", 0, tool_calls={"function": {"arguments": "x"}}),
        message("citation-start", 0, citations={"start": "x"}),
        {"type": 5},
    ],
)
def test_malformed_events_are_left_out(event: Event) -> None:
    text = b"".join(f"data: {json.dumps(each)}\n\n".encode() for each in (BEGIN, event, end()))
    _, batch, reader = read(b"data: [DONE]\n\n" + text)
    assert (reader.malformed, batch.ended) == (1, True)


def test_the_type_may_stand_in_the_name_of_the_event() -> None:
    found, _, _ = read(
        b'event: content-delta\ndata: {"delta":{"message":{"content":{"text":"a"}}}}\n\n' + frames([end()])
    )
    assert accumulate(found).choices[0].parts[0].text == "a"


def test_halves_of_a_pair_are_joined() -> None:
    halves = [r"a\ud83d", r"\ude00"]
    text = b"".join(
        b'data: {"type":"content-delta","delta":{"message":{"content":{"text":"%b"}}}}\n\n' % half.encode()
        for half in halves
    )
    found, _, _ = read(text + frames([end()]))
    assert accumulate(found).choices[0].parts[0].text == "a\U0001f600"


@pytest.mark.parametrize(
    "event",
    [
        end("ERROR", error="x"),
        end("ERROR", error={"message": "x"}),
        end("TIMEOUT"),
        {"type": "content-delta", "error": "x"},
        {"message": "x"},
    ],
)
def test_an_error_ends_a_stream(event: Event) -> None:
    watch = CohereWatch(StreamOptions())
    text = frames([BEGIN]) + f"data: {json.dumps(event)}\n\n".encode()
    _, batch, _ = read(text)
    assert isinstance(batch.error, ProviderError)
    native = watch.feed(text).error
    assert isinstance(native, ProviderError)
    assert batch.error.detail == native.detail


@pytest.mark.parametrize("events", [[BEGIN, grown(0, "text", "a")], [BEGIN, {"type": "message-end", "delta": {}}]])
def test_a_cut_is_no_end(events: list[Event]) -> None:
    _, batch, _ = read(events)
    assert isinstance(batch.error, AnswerFault)
    assert batch.error.detail == "STREAM_CUT"


def test_json_instead_of_a_stream() -> None:
    _, batch, _ = read(b'{"message":"too many tokens"}')
    assert isinstance(batch.error, ProviderError)


def test_the_event_reader_and_the_watcher_agree() -> None:
    for events in (WHOLE, *(row[1] for row in ODD)):
        watch = CohereWatch(StreamOptions())
        for event in events:
            reader = COHERE.read_stream(StreamOptions(), context_for())
            assert watch.feed(frames([event])).real is reader.feed(frames([event])).real or "tool-call" in event["type"]


# --- for callers ---


def said(*parts: dict[str, Any], finish: str = "STOP") -> list[StreamEvent]:
    choice = {"parts": list(parts), "finish": {"reason": f"FINISH_REASON_{finish}"}}
    return events_of(ParseDict({"id": "c-2", "choices": [choice]}, MessageResponse()))


PART = "choices[0].parts[0]"
PARTS: list[tuple[list[dict[str, Any]], list[Event], set[str]]] = [
    ([{"text": "a"}], [start(0, "text"), grown(0, "text", "a"), message("content-end", 0)], set()),
    ([{"text": ""}], [start(0, "text"), message("content-end", 0)], set()),
    ([{"refusal": "a"}], [start(0, "text"), grown(0, "text", "a"), message("content-end", 0)], {
        f"APPROXIMATED ANSWER_REFUSAL {PART}"}),
    ([{"reasoning": {"redacted": True}, "opaque": [{}]}, {"text": ""}], [start(0, "text"), message("content-end", 0)], {
        f"DROPPED ANSWER_REASONING {PART}", f"DROPPED REASONING_STATE {PART}.opaque"}),
    ([{"reasoning": {"summaries": ["a", "b"]}}], [
        start(0, "thinking"), grown(0, "thinking", "a"), grown(0, "thinking", "\n\nb"), message("content-end", 0)],
     set()),
    ([{"reasoning": {"text": "t", "summaries": ["a"]}}], [
        start(0, "thinking"), grown(0, "thinking", "t"), message("content-end", 0)], set()),
    ([{"audio": {"transcript": "a"}}], [start(0, "text"), grown(0, "text", "a"), message("content-end", 0)], {
        f"APPROXIMATED ANSWER_AUDIO {PART}"}),
    ([{"image": {"data": "QUJD"}}], [], {f"DROPPED ANSWER_IMAGE {PART}"}),
    ([{"raw": {"protocol": "PROTOCOL_COHERE", "bodyJson": '{"type":"n"}'}}], [
        message("content-start", 0, content={"type": "n"}), message("content-end", 0)], set()),
    ([{"raw": {"protocol": "PROTOCOL_OPENAI", "bodyJson": "{}"}}], [], {f"DROPPED ANSWER_RAW_PART {PART}"}),
    ([{"toolCall": {"id": "w_1", "name": "w"}}, {"toolCall": {"id": "w_1", "name": "w", "argumentsJson": "{}"}}], [
        event for index in (0, 1) for event in (
            message("tool-call-start", index, tool_calls=CALL),
            message("tool-call-delta", index, tool_calls={"function": {"arguments": "{}"}}),
            message("tool-call-end", index))], set()),
    ([{"toolCall": {"id": "w_1", "name": "w", "customText": 'a"b'}}], [
        message("tool-call-start", 0, tool_calls=CALL),
        message("tool-call-delta", 0, tool_calls={"function": {"arguments": '{"input":"a\\"b"}'}}),
        message("tool-call-end", 0)], set()),
    ([{"text": "p", "phase": "TEXT_PHASE_PLAN"}], [message("tool-plan-delta", tool_plan="p")], set()),
    ([{"text": "ab", "citations": [{"sources": [{"kind": "CITATION_SOURCE_KIND_URL", "url": "u"}]}]}], [
        start(0, "text"), grown(0, "text", "ab"),
        message("citation-start", 0, citations={"start": 0, "end": 2, "content_index": 0, "type": "TEXT_CONTENT",
                "sources": [{"type": "document", "id": "u", "document": {"url": "u"}}]}),
        message("citation-end", 0), message("content-end", 0)], {f"APPROXIMATED CITATION {PART}.citations"}),
    ([{"text": "ab", "logprobs": [{"token": "a", "logprob": -1}, {"token": "b", "logprob": -2, "tokenId": 3}]}], [
        start(0, "text"), grown(0, "text", "ab", logprobs={"text": "ab", "token_ids": [3], "logprobs": [-1, -2]}),
        message("content-end", 0)], set()),
    ([{"text": "a", "logprobs": [{"token": "a", "logprob": -1, "alternatives": [{"token": "b", "logprob": -2}]}]}], [
        start(0, "text"), grown(0, "text", "a", logprobs={"text": "a", "token_ids": [], "logprobs": [-1]}),
        message("content-end", 0)], {f"DROPPED ANSWER_LOGPROBS {PART}.logprobs"}),
]  # fmt: skip


@pytest.mark.parametrize(("parts", "expected", "noted"), PARTS)
def test_parts(parts: list[dict[str, Any]], expected: list[Event], noted: set[str]) -> None:
    found, notes = write(said(*parts))
    assert found == [BEGIN, *expected, end()]
    assert notes == noted


EVENTS: list[tuple[list[dict[str, Any]], list[Event], set[str]]] = [
    ([{"partStart": {"part": {"toolCall": {"id": "w_1", "name": "w"}}}},
      {"partStop": {"part": {"toolCall": {"id": "w_1", "name": "w", "argumentsJson": "{}"}}}}],
     [message("tool-call-start", 0, tool_calls=CALL),
      message("tool-call-delta", 0, tool_calls={"function": {"arguments": "{}"}}), message("tool-call-end", 0)], set()),
    ([{"partStart": {"part": {"reasoning": {"text": "t"}}}}, {"partDelta": {"opaque": {}}}, {"partStop": {}}],
     [start(0, "thinking"), grown(0, "thinking", "t"), message("content-end", 0)],
     {f"DROPPED REASONING_STATE {PART}.opaque"}),
    ([{"partStart": {"part": {"text": ""}}}, {"partDelta": {}}, {"partDelta": {"logprobs": [
        {"token": "a", "logprob": -0.5, "tokenId": 1}]}}, {"partStop": {"part": {"text": ""}}}],
     [start(0, "text"), grown(0, "text", "", logprobs=LOGPROBS), message("content-end", 0)], set()),
    ([{"partStart": {"part": {"image": {}}}}, {"partDelta": {"data": "QUJD"}},
      {"partDelta": {"summary": {"text": "x"}}}, {"partDelta": {"citation": {"sources": [
          {"kind": "CITATION_SOURCE_KIND_TOOL"}]}}}, {"partDelta": {"citation": {"start": 0, "end": 1, "sources": [
          {"kind": "CITATION_SOURCE_KIND_TOOL"}]}}}, {"partStop": {}}], [], {f"DROPPED ANSWER_IMAGE {PART}"}),
    ([{"partStart": {"part": {"reasoning": {}}}}, {"partDelta": {"summary": {"text": "x"}}},
      {"partDelta": {"reasoning": "t"}}, {"partStop": {}}],
     [start(0, "thinking"), grown(0, "thinking", "x"), message("content-end", 0)], set()),
    ([{"partStart": {"choiceIndex": 1, "part": {"text": ""}}}, {"partDelta": {"choiceIndex": 1, "text": "x"}},
      {"partStop": {"choiceIndex": 1}}, {"finish": {"choiceIndex": 1}}], [], {"DROPPED ANSWER_CHOICES choices[1]"}),
    ([{"raw": {"protocol": "PROTOCOL_OPENAI", "name": "x", "dataJson": "{}"}}, {}], [], {
        "DROPPED ANSWER_RAW_PART choices[0]"}),
]  # fmt: skip


@pytest.mark.parametrize(("events", "expected", "noted"), EVENTS)
def test_events(events: list[dict[str, Any]], expected: list[Event], noted: set[str]) -> None:
    given = [
        {"responseStart": {"id": "c-2", "usage": {"inputTokens": 1}}},
        *events,
        {"usage": {"outputTokens": 2}},
        {"finish": {"reason": "FINISH_REASON_STOP"}},
    ]
    found, notes = write([ParseDict(event, StreamEvent()) for event in given])
    assert found == [BEGIN, *expected, end(usage={"tokens": {"input_tokens": 1, "output_tokens": 2}})]
    assert notes == noted


def test_the_watcher_knows_usage_and_ends() -> None:
    watch = CohereWatch(StreamOptions())
    before = watch.usage
    assert watch.feed(b"data: [DONE]\n\n" + frames(WHOLE)).ended
    after = watch.usage
    assert before is None
    assert after is not None
    assert after.input_tokens == 4
    cut = CohereWatch(StreamOptions())
    assert isinstance(cut.feed(frames([BEGIN, {"type": "message-end"}])).error, AnswerFault)
    assert isinstance(cut.error_of(b"{}"), ProviderError)
