"""Streams of OpenAI Responses as they are written: from events of other providers, and from its own."""

from __future__ import annotations

from typing import Any

import pytest

from fluxrpc.ir.events import events_of
from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.envelope import seal
from fluxrpc.v1 import part_pb2 as part_pb
from fluxrpc.v1 import response_pb2 as pb
from fluxrpc.v1 import tool_pb2 as tool_pb
from fluxrpc.v1.part_pb2 import Citation, CitationSource, Media, Part, Reasoning, TokenLogprob, ToolCall
from fluxrpc.v1.protocol_pb2 import OPAQUE_KIND_SIGNATURE, PROTOCOL_ANTHROPIC, PROTOCOL_GEMINI, OpaqueState
from fluxrpc.v1.response_pb2 import Finish, MessageResponse
from fluxrpc.v1.stream_pb2 import PartDelta, PartStart, PartStop, RawEvent, StreamEvent, SummaryDelta
from fluxrpc.v1.usage_pb2 import Usage
from tests.unit.protocols.responses.responses_ways import (
    context_of,
    frames_of,
    read_stream,
    write_answer,
    write_stream,
)

Event = dict[str, Any]


def _event(kind: str, index: int = 0, **fields: Any) -> Event:
    return {"type": f"response.{kind}", "output_index": index} | fields


def _done(index: int, **item: Any) -> Event:
    return _event("output_item.done", index, item=item)


def _piece(text: str, **more: Any) -> Event:
    return {"type": "output_text", "text": text} | more


_CREATED: Event = {
    "type": "response.created",
    "response": {"id": "r", "object": "response", "model": "g", "status": "in_progress"},
}
_COMPLETED: Event = {
    "type": "response.completed",
    "response": {"id": "r", "object": "response", "model": "g2", "status": "completed"},
}
_MESSAGE = {"type": "message", "id": "msg", "role": "assistant"}
_STOP = StreamEvent(finish=Finish(reason=pb.FINISH_REASON_STOP))
_START = StreamEvent(response_start=MessageResponse(id="7", model="c", usage=Usage(input_tokens=3)))


def _delta(index: int = 0, **delta: Any) -> StreamEvent:
    return StreamEvent(part_delta=PartDelta(part_index=index, **delta))


def _opened(part: Part, index: int = 0) -> StreamEvent:
    return StreamEvent(part_start=PartStart(part_index=index, part=part))


def _stopped(index: int = 0, part: Part | None = None) -> StreamEvent:
    return StreamEvent(part_stop=PartStop(part_index=index, part=part))


def _streamed(*events: StreamEvent, target: Protocol = Protocol.ANTHROPIC) -> tuple[list[Event], list[str]]:
    """Events between the opening and the end, short: without the name's beginning, places and numbers."""
    written, notes = write_stream([_START, *events], context_of(target=target, stream=True))
    assert [event["type"] for event in written[:2]] == ["response.created", "response.in_progress"]
    assert [event.pop("sequence_number") for event in written] == list(range(len(written)))
    last = written.pop()
    done = [event["item"] for event in written if event["type"] == "response.output_item.done"]
    assert last["response"]["output"] == done
    return written[2:], notes


def _short(events: list[Event], *keys: str) -> list[str]:
    """Names of events with some of their fields."""
    return [
        " ".join([event["type"].removeprefix("response."), *(str(event[key]) for key in keys if key in event)])
        for event in events
    ]


_CLAUDE = OpaqueState(kind=OPAQUE_KIND_SIGNATURE, origin=PROTOCOL_ANTHROPIC, value=b"sig")


def test_text_of_another_provider() -> None:
    token = TokenLogprob(token="a", logprob=-1.0, alternatives=[TokenLogprob(token="b", logprob=-2.0)])
    source = CitationSource(url="u", title="t")
    events, notes = _streamed(
        _opened(Part(text="")),
        _delta(text="Hi"),
        _delta(text="!", logprobs=[token]),
        _delta(citation=Citation(sources=[source])),
        _delta(logprobs=[token]),
        _stopped(),
        _opened(Part(text=""), 1),
        _delta(0, citation=Citation(start=0, end=1, sources=[source])),
        _delta(1, text="b"),
        _stopped(1),
        _opened(Part(text="", phase=part_pb.TEXT_PHASE_COMMENTARY), 2),
        _stopped(2),
        _delta(0, citation=Citation(sources=[source])),
        _STOP,
    )
    brief = {"token": "a", "logprob": -1.0, "top_logprobs": [{"token": "b", "logprob": -2.0}]}
    assert [event["logprobs"] for event in events if "logprobs" in event] == [[], [brief], [brief, brief], [], [], []]
    assert _short(events, "output_index", "content_index", "annotation_index", "delta", "text") == [
        "output_item.added 0",
        "content_part.added 0 0",
        "output_text.delta 0 0 Hi",
        "output_text.delta 0 0 !",
        "output_text.annotation.added 0 0 0",
        "output_text.done 0 0 Hi!",
        "content_part.done 0 0",
        "content_part.added 0 1",
        "output_text.annotation.added 0 0 1",
        "output_text.delta 0 1 b",
        "output_text.done 0 1 b",
        "content_part.done 0 1",
        "output_item.done 0",
        "output_item.added 1",
        "content_part.added 1 0",
        "output_text.done 1 0 ",
        "content_part.done 1 0",
        "output_item.done 1",
    ]
    first = events[12]["item"]["content"][0]
    assert [(each["start_index"], each["end_index"]) for each in first["annotations"]] == [(0, 3), (0, 1)]
    assert notes == [
        "APPROXIMATED CITATION_SPAN choices[0].parts[0].citations[0]",
        "DROPPED CITATION choices[0].parts[0].citations",
    ]


def test_reasoning_and_calls_of_another_provider() -> None:
    events, notes = _streamed(
        _opened(Part(reasoning=Reasoning())),
        _delta(summary=SummaryDelta(summary_index=0, text="s")),
        _delta(summary=SummaryDelta(summary_index=0, text="")),
        _delta(reasoning="h"),
        _delta(reasoning="m"),
        _delta(opaque=_CLAUDE),
        _delta(opaque=_CLAUDE),
        _stopped(),
        _opened(Part(tool_call=ToolCall(id="c", name="f", arguments_json="")), 1),
        _delta(1, opaque=_CLAUDE),
        _stopped(1),
        _opened(Part(tool_call=ToolCall(id="d", name="g", custom_text="")), 2),
        _delta(2, arguments="x"),
        _stopped(2),
        _STOP,
    )
    assert _short(events, "item_id", "output_index", "summary_index", "delta", "text", "arguments", "input") == [
        "output_item.added 0",
        "reasoning_summary_part.added rs_gw_0 0 0",
        "reasoning_summary_text.delta rs_gw_0 0 0 s",
        "reasoning_summary_text.done rs_gw_0 0 0 s",
        "reasoning_summary_part.done rs_gw_0 0 0",
        "reasoning_summary_part.added rs_gw_0 0 1",
        "reasoning_summary_text.delta rs_gw_0 0 1 h",
        "reasoning_summary_text.delta rs_gw_0 0 1 m",
        "reasoning_summary_text.done rs_gw_0 0 1 hm",
        "reasoning_summary_part.done rs_gw_0 0 1",
        "output_item.done 0",
        "output_item.added 1",
        "function_call_arguments.delta fc_gw_1 1 {}",
        "function_call_arguments.done fc_gw_1 1 {}",
        "output_item.done 1",
        "output_item.added 2",
        "output_item.done 2",
        "output_item.added 3",
        "custom_tool_call_input.delta ctc_gw_3 3 x",
        "custom_tool_call_input.done ctc_gw_3 3 x",
        "output_item.done 3",
    ]
    assert events[10]["item"]["encrypted_content"] == seal(_CLAUDE)
    assert events[16]["item"] == {
        "type": "reasoning",
        "id": "rs_gw_sig_2",
        "summary": [],
        "encrypted_content": seal(_CLAUDE),
    }
    assert notes == []


def test_what_comes_whole_and_what_has_no_form() -> None:
    search = part_pb.ServerToolCall(id="x", kind=tool_pb.SERVER_TOOL_KIND_WEB_SEARCH)
    events, notes = _streamed(
        _opened(Part(server_tool_call=search)),
        _delta(arguments='{"query":"q"}'),
        _stopped(),
        _opened(Part(server_tool_result=part_pb.ServerToolResult(call_id="x")), 1),
        _stopped(1),
        _opened(Part(server_tool_call=search), 2),
        _stopped(2),
        _opened(Part(image=Media(mime_type="image/png")), 3),
        _delta(3, data=b"A"),
        _delta(3, data=b"BC"),
        _stopped(3),
        _opened(Part(audio=Media(data=b"A")), 4),
        _delta(4, transcript="words"),
        _stopped(4),
        _opened(Part(server_tool_result=part_pb.ServerToolResult()), 5),
        _stopped(5),
        _opened(Part(refusal=""), 6),
        _delta(6, refusal="no"),
        _stopped(6),
        StreamEvent(raw=RawEvent(protocol=PROTOCOL_GEMINI, name="x")),
        StreamEvent(finish=Finish(reason=pb.FINISH_REASON_REFUSAL)),
    )
    assert _short([event for event in events if "item" in event], "output_index") == [
        "output_item.added 0",
        "output_item.done 0",
        "output_item.added 1",
        "output_item.done 1",
        "output_item.added 2",
        "output_item.done 2",
        "output_item.added 3",
        "output_item.done 3",
    ]
    items = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    assert items[0]["action"] == {"type": "search", "query": "q"}
    assert items[2]["result"] == "QUJD"
    assert items[3]["content"] == [{"type": "refusal", "refusal": "no"}]
    assert notes == [
        "DROPPED ANSWER_SERVER_TOOLS choices[0].parts[0]",
        "DROPPED ANSWER_AUDIO choices[0].parts[4]",
        "DROPPED ANSWER_SERVER_TOOLS choices[0].parts[5]",
        "DROPPED ANSWER_EXTRA x",
    ]


def test_a_refusal_by_the_finish_alone() -> None:
    finish = Finish(reason=pb.FINISH_REASON_REFUSAL, message="I cannot.")
    events, _ = _streamed(_opened(Part(text="")), _delta(text="a"), _stopped(), StreamEvent(finish=finish))
    assert _short(events, "content_index", "refusal")[-4:] == [
        "content_part.added 1",
        "refusal.done 1 I cannot.",
        "content_part.done 1",
        "output_item.done",
    ]


def test_only_the_first_answer_is_streamed() -> None:
    further = [
        StreamEvent(part_start=PartStart(choice_index=1, part=Part(text=""))),
        StreamEvent(part_delta=PartDelta(choice_index=1, text="b")),
        StreamEvent(part_stop=PartStop(choice_index=1)),
        StreamEvent(finish=Finish(choice_index=1)),
        StreamEvent(),
        _stopped(),
        _delta(text="stray"),
    ]
    assert _streamed(*further, _STOP) == ([], ["DROPPED ANSWER_CHOICES choices[1]"])


def test_a_part_that_is_given_whole_at_its_end() -> None:
    events, _ = _streamed(
        _opened(Part(text="")),
        _delta(text="a"),
        _stopped(0, Part(text="ab")),
        _opened(Part(reasoning=Reasoning()), 1),
        _delta(1, summary=SummaryDelta(text="s")),
        _stopped(1, Part(reasoning=Reasoning())),
        _STOP,
        target=Protocol.RESPONSES,
    )
    items = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    assert items[0]["content"][0]["text"] == "ab"
    assert items[1]["summary"] == []


_ENDS = [
    (Finish(reason=pb.FINISH_REASON_LENGTH), "response.incomplete", "incomplete"),
    (Finish(reason=pb.FINISH_REASON_ERROR), "response.failed", "failed"),
    (Finish(reason=pb.FINISH_REASON_CANCELLED), "response.cancelled", "cancelled"),
]


@pytest.mark.parametrize(("finish", "name", "status"), _ENDS, ids=range(len(_ENDS)))
def test_the_last_event_is_named_by_the_end(finish: Finish, name: str, status: str) -> None:
    usage = StreamEvent(usage=Usage(output_tokens=4))
    events, _ = write_stream([_START, _opened(Part(text="")), _stopped(), StreamEvent(finish=finish), usage])
    last = events[-1]
    assert (last["type"], last["response"]["status"]) == (name, status)
    assert last["response"]["usage"]["total_tokens"] == 7
    cut = "incomplete" if status == "incomplete" else "completed"
    assert last["response"]["output"][0]["status"] == cut


def test_a_whole_answer_and_its_stream_say_the_same() -> None:
    parts = [
        Part(reasoning=Reasoning(text="hm"), opaque=[_CLAUDE]),
        Part(text="Hi"),
        Part(tool_call=ToolCall(id="c", name="f", arguments_json="{}"), opaque=[_CLAUDE]),
    ]
    finish = Finish(reason=pb.FINISH_REASON_TOOL_CALLS)
    response = MessageResponse(id="7", choices=[pb.Choice(parts=parts, finish=finish)])
    whole, _ = write_answer(response)
    streamed, _ = write_stream(events_of(response))
    assert streamed[-1]["response"] == whole


def test_own_items_whose_events_say_little() -> None:
    thought = {
        "type": "reasoning",
        "id": "rs",
        "summary": [{"type": "summary_text", "text": ""}, {"type": "summary_text", "text": "s"}],
    }
    token = {"token": "a", "bytes": [97], "logprob": -1.0, "top_logprobs": []}
    said = [_piece("a", annotations=[], logprobs=[token]), {"type": "output_novelty"}]
    message = _MESSAGE | {"status": "completed", "content": said}
    events = [_CREATED, _done(0, **thought), _done(1, **message), _COMPLETED]
    context = context_of(stream=True)
    written, _ = write_stream(read_stream(frames_of(events), context), context)
    assert written[-1]["response"]["output"] == [thought, message]


def test_own_events_that_nobody_reads_are_passed_on() -> None:
    events = [_CREATED, _event("foo", note=1), _COMPLETED]
    context = context_of(stream=True)
    written, _ = write_stream(read_stream(frames_of(events), context), context)
    assert written[2] == {"type": "response.foo", "sequence_number": 2, "output_index": 0, "note": 1}
