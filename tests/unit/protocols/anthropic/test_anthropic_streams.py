"""Streams, read and written. The official SDK's accumulator judges what is written."""

from __future__ import annotations

import json
from typing import Any

import pytest
from anthropic._models import construct_type_unchecked
from anthropic.lib.streaming._messages import accumulate_event
from anthropic.types import RawMessageStreamEvent

from fluxrpc.errors import AnswerFault, ProviderError
from fluxrpc.ir.accumulate import accumulate
from fluxrpc.ir.events import events_of
from fluxrpc.protocols.base import Batch, Protocol, StreamOptions
from fluxrpc.protocols.notes import Notes
from fluxrpc.v1 import message_pb2 as msg
from fluxrpc.v1 import part_pb2 as pb
from fluxrpc.v1 import response_pb2 as rs
from fluxrpc.v1 import stream_pb2 as sp
from fluxrpc.v1.message_pb2 import MessageRequest, ReasoningOptions
from fluxrpc.v1.part_pb2 import Media, Part
from fluxrpc.v1.protocol_pb2 import (
    OPAQUE_KIND_SIGNATURE,
    PROTOCOL_ANTHROPIC,
    PROTOCOL_GEMINI,
    PROTOCOL_OPENAI,
    PROTOCOL_RESPONSES,
    Extra,
    OpaqueState,
)
from fluxrpc.v1.response_pb2 import Choice, Finish, MessageResponse
from fluxrpc.v1.stream_pb2 import StreamEvent
from fluxrpc.v1.usage_pb2 import Usage
from tests.unit.protocols.anthropic.saying import ANTHROPIC, context_for, frames, read_events, write_events

GEMINI = Protocol.GEMINI


def start(**fields: Any) -> dict[str, Any]:
    message: dict[str, Any] = {
        "id": "msg_x",
        "type": "message",
        "role": "assistant",
        "model": "g",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 0, "output_tokens": 0},
    }
    return {"type": "message_start", "message": message | fields}


def block(index: int, content: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": content},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def end(reason: str, usage: dict[str, Any], **fields: Any) -> list[dict[str, Any]]:
    delta = {"stop_reason": reason, "stop_sequence": None} | fields
    return [{"type": "message_delta", "delta": delta, "usage": usage}, {"type": "message_stop"}]


TEXT = {"type": "text", "text": ""}
THINKING = {"type": "thinking", "thinking": "", "signature": ""}


def grow(text: str) -> dict[str, Any]:
    return {"type": "text_delta", "text": text}


def think(text: str) -> dict[str, Any]:
    return {"type": "thinking_delta", "thinking": text}


def sign(signature: str) -> dict[str, Any]:
    return {"type": "signature_delta", "signature": signature}


def arguments(text: str) -> dict[str, Any]:
    return {"type": "input_json_delta", "partial_json": text}


def tool_use(call_id: str, name: str = "f") -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": {}}


CITATION = {
    "type": "web_search_result_location",
    "cited_text": "c",
    "title": "T",
    "url": "https://a.test",
    "encrypted_index": "E",
}

OWN_STREAM = [
    start(usage={"input_tokens": 9, "cache_read_input_tokens": 90, "output_tokens": 1}),
    *block(0, THINKING, think("hm"), sign("QUJD")),
    *block(1, TEXT, grow("O"), grow("k")),
    *block(2, {"type": "redacted_thinking", "data": "R"}),
    *block(3, TEXT, {"type": "citations_delta", "citation": CITATION}, grow("x")),
    *block(
        4,
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
        arguments('{"query":'),
        arguments('"q"}'),
    ),
    *block(5, {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}),
    *block(6, {"type": "new", "x": 1}),
    *block(7, TEXT),
    *block(8, THINKING, sign("only")),
    *block(9, {"type": "compaction", "content": "c", "encrypted_content": "E"}),
    *block(10, tool_use("toolu_9"), arguments('{"a":'), arguments("1}")),
    *end(
        "tool_use",
        {"input_tokens": 9, "cache_read_input_tokens": 90, "output_tokens": 25},
        container={"id": "c", "expires_at": "2026-11-30T00:00:00Z"},
    ),
]


def test_own_streams_come_back() -> None:
    events = read_events(frames(OWN_STREAM))
    written, notes = write_events(events)
    assert written == OWN_STREAM
    assert notes == []


def test_an_own_stream_is_the_whole_answer() -> None:
    response = accumulate(read_events(frames(OWN_STREAM), service="svc"))
    body = ANTHROPIC.write_response(response, context_for(MessageRequest()), Notes({}))
    whole = ANTHROPIC.read_response(body, context_for(MessageRequest(), service="svc"), Notes({}))
    whole.choices[0].extras.extend(whole.extras)  # what a stream says at its end
    del whole.extras[:]
    assert whole == response
    assert assembled(OWN_STREAM[:8] + OWN_STREAM[-2:])["usage"]["output_tokens"] == 25


def assembled(events: list[dict[str, Any]]) -> dict[str, Any]:
    """What the official SDK makes of a stream."""
    snapshot: Any = None
    buffers: dict[int, bytes] = {}
    for event in events:
        typed: Any = construct_type_unchecked(type_=RawMessageStreamEvent, value=event)  # type: ignore[arg-type]  # a union
        snapshot = accumulate_event(event=typed, current_snapshot=snapshot, json_bufs=buffers)
    found: dict[str, Any] = snapshot.to_dict()
    return found


# --- reading ---


def test_noise_is_passed_over() -> None:
    text = {"type": "content_block_delta", "index": 0, "delta": grow("Hi")}
    stream = b"".join(
        [
            b": comment\n\n",
            frames([start(), {"type": "ping"}, {"type": "content_block_start", "index": 0, "content_block": TEXT}]),
            b"event: ping\ndata: \n\n",
            frames([{"type": "message_sparkle"}, {"type": "content_block_delta", "index": 0}]),
            frames([{"type": "content_block_delta", "index": 0, "delta": {"type": "sparkle", "text": "no"}}]),
            frames([{"type": "content_block_delta", "index": 0, "delta": {"type": "citations_delta"}}]),
            frames([{"type": "content_block_delta", "index": 0, "delta": sign("no place")}]),
            frames([{"type": "content_block_delta", "index": 7, "delta": grow("")}]),
            b"data: [DONE]\n\n",
            b"event: content_block_delta\ndata: " + json.dumps(text | {"type": None}).encode() + b"\n\n",
            frames([{"type": "content_block_stop", "index": 0}, {"type": "content_block_stop", "index": 0}]),
            frames(
                [{"type": "message_delta", "delta": None}, {"type": "message_delta", "delta": {"stop_reason": None}}]
            ),
            frames(end("end_turn", {"output_tokens": 2})),
        ]
    )
    response = accumulate(read_events(stream))
    assert [part.text for part in response.choices[0].parts] == ["Hi"]
    assert response.choices[0].finish.reason == rs.FINISH_REASON_STOP


def feed(*events: dict[str, Any]) -> tuple[Batch, Any]:
    reader = ANTHROPIC.read_stream(StreamOptions(), context_for(MessageRequest()))
    return reader.feed(frames(events)), reader


def test_what_begins_an_answer() -> None:
    opening = {"type": "content_block_start", "index": 0}
    for event, is_real in (
        (start(), False),
        (opening, False),
        (opening | {"content_block": TEXT}, False),
        (opening | {"content_block": THINKING}, False),
        (opening | {"content_block": {"type": "text", "text": "a"}}, True),
        (opening | {"content_block": tool_use("c")}, True),
        (opening | {"content_block": {"type": "redacted_thinking", "data": "x"}}, True),
        ({"type": "content_block_delta", "index": 0, "delta": grow("a")}, True),
        ({"type": "content_block_delta", "index": 0, "delta": grow("")}, False),
        ({"type": "content_block_delta", "index": 0, "delta": arguments("a")}, False),
        (end("end_turn", {})[0], True),
    ):
        assert feed(event)[0].real is is_real, event


def test_blocks_that_were_never_started() -> None:
    text = [{"type": "content_block_delta", "index": 0, "delta": grow(each)} for each in "ab"]
    thought = {"type": "content_block_delta", "index": 0, "delta": think("hm")}
    whole = [*text, {"type": "content_block_stop", "index": 0}, thought, *end("end_turn", {"output_tokens": 1})]
    parts = accumulate(read_events(frames(whole))).choices[0].parts
    assert [(part.text, part.reasoning.text) for part in parts] == [("ab", ""), ("", "hm")]


def test_a_block_that_is_never_stopped_ends_with_the_next() -> None:
    events = [start(), *block(0, TEXT, grow("a"))[:2], *block(1, TEXT, grow("b"))[:2], *end("end_turn", {})]
    parts = accumulate(read_events(frames(events))).choices[0].parts
    assert [part.text for part in parts] == ["a", "b"]


def test_calls_without_arguments_and_with_them_at_the_start() -> None:
    whole = tool_use("b") | {"input": {"a": 1}}
    events = [
        start(),
        *block(0, tool_use("a"), arguments("")),
        *block(1, whole),
        *block(2, whole, arguments("{}")),
        *end("tool_use", {}),
    ]
    calls = [part.tool_call.arguments_json for part in accumulate(read_events(frames(events))).choices[0].parts]
    assert calls == ["{}", '{"a": 1}', "{}"]


def test_compaction_in_pieces() -> None:
    deltas: list[dict[str, Any]] = [
        {"type": "compaction_delta", "content": "c"},
        {"type": "compaction_delta", "content": None, "encrypted_content": "E"},
    ]
    events = [start(), *block(0, {"type": "compaction", "content": None}, *deltas), *end("compaction", {})]
    part = accumulate(read_events(frames(events))).choices[0].parts[0]
    assert (part.compaction.text, part.opaque[0].value) == ("c", b"E")


def test_a_delta_of_another_kind_is_malformed() -> None:
    batch, reader = feed(start(), *block(0, TEXT, think("no"), grow("a")))
    assert reader.malformed == 1
    assert batch.real
    _, reader = feed(start(), *block(0, {"type": "new"}, grow("a")))
    assert reader.malformed == 0


def test_counts_are_cumulative_and_omitted_ones_stay() -> None:
    usage = {"input_tokens": 9, "cache_read_input_tokens": 1, "output_tokens": 1}
    events = [start(usage=usage), *end("end_turn", {"input_tokens": 10, "output_tokens": 8}), end("end_turn", {})[1]]
    batch, reader = feed(*events)
    assert batch.ended
    assert (reader.usage.input_tokens, reader.usage.cache_read_tokens, reader.usage.total_tokens) == (11, 1, 19)
    batch, reader = feed({"type": "message_start"}, {"type": "message_delta", "usage": {"output_tokens": 8}})
    assert reader.usage.output_tokens == 8


def test_halves_of_pairs_meet() -> None:
    stream = frames([start(), *block(0, TEXT, grow("a"), grow("b")), *end("end_turn", {})])
    stream = stream.replace(b'"a"', b'"\\ud83d"').replace(b'"b"', b'"\\ude00"')
    assert accumulate(read_events(stream)).choices[0].parts[0].text == "\U0001f600"


def test_halves_in_what_comes_whole_are_replaced() -> None:
    stream = frames([start(), *block(0, THINKING, sign("S")), *block(1, {"type": "x", "y": "Z"}), *end("end_turn", {})])
    stream = stream.replace(b'"S"', b'"\\ud83d"').replace(b'"Z"', b'"\\ude00"')
    signed, raw = accumulate(read_events(stream)).choices[0].parts
    assert signed.opaque[0].value == b"?"
    assert json.loads(raw.raw.body_json) == {"type": "x", "y": "\ufffd"}


def test_errors_and_cuts() -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    assert isinstance(feed(start(), error)[0].error, ProviderError)
    _, reader = feed(start(), *block(0, TEXT, grow("a"))[:2])
    assert isinstance(reader.close().error, AnswerFault)
    assert isinstance(feed(start(), {"type": "message_stop"})[0].error, AnswerFault)
    reader = ANTHROPIC.read_stream(StreamOptions(), context_for(MessageRequest()))
    reader.feed(json.dumps(error).encode())
    assert isinstance(reader.close().error, ProviderError)


# --- writing ---


def stream_of(*parts: Part, reason: int = rs.FINISH_REASON_STOP, usage: Usage | None = None) -> list[StreamEvent]:
    finish = Finish(reason=reason)  # type: ignore[arg-type]  # an enum's number
    return events_of(MessageResponse(id="x", model="g", choices=[Choice(parts=parts, finish=finish)], usage=usage))


def of_gemini(value: bytes = b"ABC") -> OpaqueState:
    return OpaqueState(kind=OPAQUE_KIND_SIGNATURE, origin=PROTOCOL_GEMINI, service="s", model="m", value=value)


SIGNED = "gw1.gemini.s.m.signature.QUJD"


def call(call_id: str, text: str = "", **fields: Any) -> Part:
    return Part(tool_call=pb.ToolCall(id=call_id, name="f", arguments_json=text), **fields)


def test_text_of_another() -> None:
    usage = Usage(input_tokens=12, output_tokens=2, cache_read_tokens=4)
    written, notes = write_events(stream_of(Part(text="Hello"), Part(text=""), usage=usage), upstream=GEMINI)
    assert written == [
        start(),
        *block(0, TEXT, grow("Hello")),
        *end("end_turn", {"input_tokens": 8, "cache_read_input_tokens": 4, "output_tokens": 2}),
    ]
    assert notes == []
    assert assembled(written)["content"] == [{"type": "text", "text": "Hello"}]


def test_calls_of_another() -> None:
    events = stream_of(call("c1", '{"a":1}'), call("c2"), reason=rs.FINISH_REASON_TOOL_CALLS)
    written, _ = write_events(events, upstream=Protocol.OPENAI)
    assert written[1:] == [
        *block(0, tool_use("c1"), arguments('{"a":1}')),
        *block(1, tool_use("c2")),
        *end("tool_use", {"output_tokens": 0}),
    ]
    assert [each["input"] for each in assembled(written)["content"]] == [{"a": 1}, {}]


def test_a_signature_goes_into_the_thinking_before_what_it_signs() -> None:
    parts = [Part(reasoning=pb.Reasoning(text="think ")), call("f1", "{}", opaque=[of_gemini()]), call("f2", "{}")]
    written, notes = write_events(stream_of(*parts, reason=rs.FINISH_REASON_TOOL_CALLS), upstream=GEMINI)
    assert written[1:-2] == [
        *block(0, THINKING, think("think "), sign(SIGNED)),
        *block(1, tool_use("f1"), arguments("{}")),
        *block(2, tool_use("f2"), arguments("{}")),
    ]
    assert notes == []


REASONS = MessageRequest(reasoning=ReasoningOptions(effort=msg.REASONING_EFFORT_LOW))

REASONED: dict[str, tuple[list[Part], MessageRequest | None, list[dict[str, Any]], list[str]]] = {
    "unsigned": (
        [Part(reasoning=pb.Reasoning(text="hm")), Part(text="a")],
        None,
        [*block(0, THINKING, think("hm")), *block(1, TEXT, grow("a"))],
        [],
    ),
    "at the end": ([Part(reasoning=pb.Reasoning(text="hm"))], None, block(0, THINKING, think("hm")), []),
    "twice": (
        [Part(reasoning=pb.Reasoning(text="a")), Part(reasoning=pb.Reasoning(text="b"))],
        None,
        [*block(0, THINKING, think("a")), *block(1, THINKING, think("b"))],
        [],
    ),
    "empty": ([Part(reasoning=pb.Reasoning())], None, [], []),
    "signed itself": (
        [Part(reasoning=pb.Reasoning(text="hm"), opaque=[of_gemini()]), Part(text="a")],
        None,
        [*block(0, THINKING, think("hm"), sign(SIGNED)), *block(1, TEXT, grow("a"))],
        [],
    ),
    "signed itself and what follows": (
        [Part(reasoning=pb.Reasoning(text="hm"), opaque=[of_gemini()]), call("c", opaque=[of_gemini()])],
        None,
        [*block(0, THINKING, think("hm"), sign(SIGNED)), *block(1, tool_use("c"))],
        ["dropped REASONING_STATE choices[0].parts[1].opaque"],
    ),
    "nothing before it": (
        [call("c", opaque=[of_gemini()])],
        REASONS,
        [*block(0, THINKING, sign(SIGNED)), *block(1, tool_use("c"))],
        [],
    ),
    "summaries": (
        [Part(reasoning=pb.Reasoning(summaries=["a", "b"]))],
        None,
        block(0, THINKING, think("a"), think("\n\nb")),
        [],
    ),
}


@pytest.mark.parametrize(("parts", "request_", "expected", "notes"), REASONED.values(), ids=REASONED.keys())
def test_reasoning_of_others(
    parts: list[Part], request_: MessageRequest | None, expected: list[dict[str, Any]], notes: list[str]
) -> None:
    written, told = write_events(stream_of(*parts), request_, upstream=GEMINI)
    assert written[1:-2] == expected
    assert told == notes
    assembled(written)


PARTS: dict[str, tuple[Part, list[dict[str, Any]], list[str]]] = {
    "refusal": (
        Part(refusal="No."),
        block(0, TEXT, grow("No.")),
        ["approximated ANSWER_REFUSAL choices[0].parts[0]"],
    ),
    "spoken": (
        Part(audio=Media(data=b"x", transcript="w")),
        block(0, TEXT, grow("w")),
        ["approximated ANSWER_AUDIO choices[0].parts[0]"],
    ),
    "image": (Part(image=Media(data=b"x")), [], ["dropped ANSWER_IMAGE choices[0].parts[0]"]),
    "server tool": (
        Part(server_tool_call=pb.ServerToolCall(id="s", input_json="{}")),
        [],
        ["dropped ANSWER_SERVER_TOOLS choices[0].parts[0]"],
    ),
    "citations": (
        Part(
            text="a",
            citations=[
                pb.Citation(
                    start=0, end=1, sources=[pb.CitationSource(url="https://a.test", cited_text="c", title="T")]
                ),
                pb.Citation(),
            ],
        ),
        block(0, TEXT, grow("a"), {"type": "citations_delta", "citation": CITATION | {"encrypted_index": ""}}),
        [
            "dropped CITATION_SPAN choices[0].parts[0].citations",
            "dropped CITATION choices[0].parts[0].citations",
        ],
    ),
    "extras": (
        Part(
            text="a",
            extras=[
                Extra(protocol=PROTOCOL_ANTHROPIC, key="new", value_json="1"),
                Extra(protocol=PROTOCOL_OPENAI, key="old", value_json="1"),
            ],
        ),
        block(0, TEXT | {"new": 1}, grow("a")),
        ["dropped ANSWER_EXTRA choices[0].parts[0].old"],
    ),
    "logprobs": (
        Part(text="", logprobs=[pb.TokenLogprob(token="a")]),
        [],
        ["dropped ANSWER_LOGPROBS choices[0].logprobs"],
    ),
}


@pytest.mark.parametrize(("part", "expected", "notes"), PARTS.values(), ids=PARTS.keys())
def test_parts_of_others(part: Part, expected: list[dict[str, Any]], notes: list[str]) -> None:
    written, told = write_events(stream_of(part), upstream=Protocol.OPENAI)
    assert written[1:-2] == expected
    assert told == notes


def delta(index: int = 0, choice: int = 0, **fields: Any) -> StreamEvent:
    return StreamEvent(part_delta=sp.PartDelta(choice_index=choice, part_index=index, **fields))


def opened(part: Part, index: int = 0, choice: int = 0) -> StreamEvent:
    return StreamEvent(part_start=sp.PartStart(choice_index=choice, part_index=index, part=part))


def stopped(part: Part | None = None, index: int = 0, choice: int = 0) -> StreamEvent:
    return StreamEvent(part_stop=sp.PartStop(choice_index=choice, part_index=index, part=part))


def written_parts(
    *events: StreamEvent, upstream: Protocol = Protocol.RESPONSES
) -> tuple[list[dict[str, Any]], list[str]]:
    head = StreamEvent(response_start=MessageResponse(id="x", model="g"))
    last = StreamEvent(finish=Finish(reason=rs.FINISH_REASON_STOP))
    written, notes = write_events([head, *events, last], upstream=upstream)
    assembled(written[:-2])
    return written[1:-2], notes


def test_what_a_provider_repeats_is_said_once() -> None:
    state = OpaqueState(origin=PROTOCOL_RESPONSES, value=b"ABC")
    signed = "gw1.responses...unspecified.QUJD"
    thought = Part(reasoning=pb.Reasoning(summaries=["a", "b"]), opaque=[state])
    events = [
        opened(Part(reasoning=pb.Reasoning())),
        delta(summary=sp.SummaryDelta(summary_index=0, text="a")),
        stopped(thought),
        opened(Part(reasoning=pb.Reasoning()), 1),
        stopped(thought, 1),
        opened(Part(text=""), 2),
        stopped(Part(text="whole"), 2),
        opened(call("c"), 3),
        stopped(call("c", "{}"), 3),
        opened(Part(text=""), 4),
        delta(4, text="x"),
        stopped(Part(text="x"), 4),
    ]
    written, notes = written_parts(*events)
    assert written == [
        *block(0, THINKING, think("a"), sign(signed)),
        *block(1, THINKING, think("a\n\nb"), sign(signed)),
        *block(2, TEXT, grow("whole")),
        *block(3, tool_use("c"), arguments("{}")),
        *block(4, TEXT, grow("x")),
    ]
    assert notes == []


def test_state_in_deltas() -> None:
    state = OpaqueState(origin=PROTOCOL_RESPONSES, value=b"ABC")
    events = [
        opened(Part(reasoning=pb.Reasoning())),
        delta(opaque=state),
        delta(opaque=state),
        stopped(),
        opened(Part(text=""), 1),
        delta(1, opaque=state),
        stopped(None, 1),
    ]
    written, notes = written_parts(*events)
    assert written == block(0, THINKING, sign("gw1.responses...unspecified.QUJD"))
    assert notes == [
        "dropped REASONING_STATE choices[0].parts[0].opaque",
        "dropped REASONING_STATE choices[0].parts[1].opaque",
    ]


def test_late_citations_and_bytes_have_no_place() -> None:
    events = [
        opened(Part(text="a")),
        stopped(),
        delta(citation=pb.Citation(sources=[pb.CitationSource(url="u")])),
        opened(Part(image=Media()), 1),
        delta(1, data=b"x"),
        delta(1, citation=pb.Citation(sources=[pb.CitationSource(url="u")])),
        delta(0, citation=pb.Citation(sources=[pb.CitationSource(url="u")])),
        stopped(None, 1),
    ]
    written, notes = written_parts(*events)
    assert written == block(0, TEXT, grow("a"))
    assert notes == [
        "dropped CITATION choices[0].parts[0].citations",
        "dropped ANSWER_IMAGE choices[0].parts[1]",
        "dropped CITATION choices[0].parts[1].citations",
    ]


def test_a_citation_can_open_a_block_with_text_of_the_start() -> None:
    part = Part(text="a", citations=[pb.Citation(sources=[pb.CitationSource(url="https://a.test")])])
    written, _ = written_parts(opened(part), stopped())
    assert [event.get("delta", {}).get("type") for event in written] == [None, "text_delta", "citations_delta", None]


def test_only_the_first_answer_is_said() -> None:
    events = [
        opened(Part(text=""), choice=1),
        delta(choice=1, text="b"),
        opened(Part(text="")),
        delta(text="a"),
        stopped(choice=1),
        StreamEvent(finish=Finish(choice_index=1, reason=rs.FINISH_REASON_LENGTH)),
        stopped(),
    ]
    written, notes = written_parts(*events)
    assert written == block(0, TEXT, grow("a"))
    assert notes == ["dropped ANSWER_CHOICES choices[1]"]


def test_events_that_one_protocol_knows() -> None:
    own = sp.RawEvent(protocol=PROTOCOL_ANTHROPIC, name="new", data_json='{"type":"new"}')
    written, _ = written_parts(
        StreamEvent(raw=own), StreamEvent(raw=sp.RawEvent(protocol=PROTOCOL_OPENAI)), StreamEvent()
    )
    assert written == [{"type": "new"}]


def test_the_head_and_the_end_of_others() -> None:
    response = MessageResponse(
        usage=Usage(input_tokens=7, output_tokens=2),
        extras=[Extra(protocol=PROTOCOL_OPENAI, key="x", value_json="1")],
    )
    events = [
        StreamEvent(response_start=response),
        StreamEvent(usage=Usage(output_tokens=13, reasoning_tokens=3)),
        StreamEvent(finish=Finish(reason=rs.FINISH_REASON_REFUSAL)),
    ]
    written, notes = write_events(events, upstream=GEMINI)
    assert written[0]["message"]["usage"] == {"input_tokens": 7, "output_tokens": 2}
    refused = {"type": "refusal", "category": None, "explanation": None}
    usage = {"input_tokens": 7, "output_tokens": 13, "output_tokens_details": {"thinking_tokens": 3}}
    assert written[1:] == end("refusal", usage, stop_details=refused)
    assert notes == ["dropped ANSWER_EXTRA x"]
