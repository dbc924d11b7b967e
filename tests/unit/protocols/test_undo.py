from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fluxrpc.ir.accumulate import Accumulator, accumulate
from fluxrpc.ir.events import events_of
from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.context import Context, Target
from fluxrpc.protocols.notes import Notes
from fluxrpc.protocols.undo import Undo, is_needed, undo_response
from fluxrpc.v1.message_pb2 import MessageRequest
from fluxrpc.v1.part_pb2 import Citation, Part, Reasoning, TokenLogprob, ToolCall
from fluxrpc.v1.protocol_pb2 import PROTOCOL_OPENAI, Extra
from fluxrpc.v1.response_pb2 import (
    FINISH_REASON_STOP,
    FINISH_REASON_STOP_SEQUENCE,
    FINISH_REASON_TOOL_CALLS,
    Choice,
    Finish,
    MessageResponse,
)
from fluxrpc.v1.stream_pb2 import PartDelta, PartStart, PartStop, RawEvent, StreamEvent
from fluxrpc.v1.tool_pb2 import FunctionTool
from fluxrpc.v1.usage_pb2 import Usage
from tests.support.ir_answers import answers, parts, recut

EXTRA = Extra(protocol=PROTOCOL_OPENAI, key="k", value_json="1")
USAGE = Usage(output_tokens=7)


def context(choices: int = 1, **undo: Any) -> Context:
    target = Target(protocol=Protocol.COHERE, model="m")
    return Context(caller=None, target=target, request=MessageRequest(choice_count=choices), **undo)


def answer(*parts: Part, reason: Any = FINISH_REASON_STOP) -> MessageResponse:
    return MessageResponse(id="r", choices=[Choice(parts=parts, finish=Finish(reason=reason))], usage=USAGE)


def call(name: str, arguments: str = "{}") -> Part:
    return Part(tool_call=ToolCall(id=name, name=name, arguments_json=arguments))


def undone(response: MessageResponse, known: Context, notes: Notes | None = None) -> MessageResponse:
    copy = MessageResponse()
    copy.CopyFrom(response)
    undo_response(copy, known, Notes({}) if notes is None else notes)
    return copy


def test_arguments_get_back_the_form_of_the_callers_schema() -> None:
    function = FunctionTool(name="f", parameters_json='{"properties":{"a":{"type":"string"}}}')
    known = context(narrowed_tools={"f": function}, tool_names={"f_1": "f"})
    assert is_needed(known)
    given = answer(call("f_1", '{"a":null,"b":1.50}'), call("g", '{"a":null}'))
    restored = undone(given, known).choices[0].parts
    assert [part.tool_call.name for part in restored] == ["f", "g"]
    assert [part.tool_call.arguments_json for part in restored] == ['{"b":1.50}', '{"a":null}']
    streamed = Undo(known, Notes({})).events(
        [
            start(call("f_1", '{"a":')),
            StreamEvent(part_delta=PartDelta(arguments='null,"b"')),
            StreamEvent(part_delta=PartDelta(arguments=":1}")),
            StreamEvent(part_stop=PartStop(part=call("f_1", '{"a":null,"b":1}'))),
        ]
    )
    assert [event.WhichOneof("event") for event in streamed] == ["part_start", "part_delta", "part_stop"]
    assert not streamed[0].part_start.part.tool_call.HasField("custom_text")
    assert streamed[1].part_delta.arguments == '{"b":1}'
    assert streamed[2].part_stop.part.tool_call.arguments_json == '{"b":1}'


def start(part: Part, index: int = 0) -> StreamEvent:
    return StreamEvent(part_start=PartStart(part_index=index, part=part))


def text(piece: str, index: int = 0, **more: Any) -> StreamEvent:
    return StreamEvent(part_delta=PartDelta(part_index=index, text=piece), **more)


def arguments(piece: str, index: int = 0) -> StreamEvent:
    return StreamEvent(part_delta=PartDelta(part_index=index, arguments=piece))


def stop(index: int = 0, **more: Any) -> StreamEvent:
    return StreamEvent(part_stop=PartStop(part_index=index, **more))


def test_without_need_there_is_no_pass() -> None:
    assert not is_needed(context())
    for undo in ({"tool_names": {"a": "b"}}, {"stops": ("x",)}, {"single_call": True}, {"unwrap_key": "value"}):
        assert is_needed(context(**undo))


# --- names ---


def test_names_of_tools_come_back() -> None:
    response = answer(Part(text="get_weather"), call("get_weather"), call("other"))
    whole = undone(response, context(tool_names={"get_weather": "get-weather"}))
    assert [part.tool_call.name for part in whole.choices[0].parts] == ["", "get-weather", "other"]
    assert whole.choices[0].parts[0].text == "get_weather"


def test_with_names_alone_text_passes_untouched() -> None:
    undo = Undo(context(tool_names={"f": "f-1"}), Notes({}))
    delta, named, whole = text("f"), start(call("f")), stop(part=call("f"))
    assert undo.events([delta, named, whole]) == [text("f"), named, whole]
    assert named.part_start.part.tool_call.name == whole.part_stop.part.tool_call.name == "f-1"
    assert not undo.finishes
    assert not undo.is_over


# --- custom tools ---


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ('{"input": "ls -l\\n"}', "ls -l\n"),
        ('{"input": "\\ud83d\\ude00 \\ud83d"}', "\U0001f600 \ufffd"),
        ('{"input": "a", "more": 1}', "a"),
        ('{"input": 1}', '{"input": 1}'),
        ('{"inp', '{"inp'),
        ("", ""),
    ],
)
def test_custom_tools_get_their_text(written: str, meant: str) -> None:
    known = context(custom_tools={"sh-1"}, tool_names={"sh_1": "sh-1"})
    found = undone(answer(call("sh_1", written), call("g")), known).choices[0].parts
    assert found[0].tool_call == ToolCall(id="sh_1", name="sh-1", custom_text=meant)
    assert found[1] == call("g")


def test_the_input_of_a_custom_tool_comes_in_one_piece() -> None:
    undo = Undo(context(custom_tools={"sh"}), Notes({}))
    assert undo.events([start(call("sh", "")), arguments('{"inp'), arguments('ut":"ls"}')])[1:] == []
    assert undo.events([stop()]) == [arguments("ls"), stop()]


def test_a_call_that_is_repeated_at_its_end() -> None:
    undo = Undo(context(custom_tools={"sh"}), Notes({}))
    events = undo.events([start(call("sh", '{"input":"')), arguments('a"}'), stop(part=call("sh", '{"input":"b"}'))])
    assert [event.WhichOneof("event") for event in events] == ["part_start", "part_delta", "part_stop"]
    assert events[2].part_stop.part.tool_call.custom_text == "b"


# --- stop sequences ---


def test_text_is_cut_at_a_stop_sequence() -> None:
    response = answer(Part(reasoning=Reasoning(text="END")), call("END", '"END"'), Part(text="a END b"), Part(text="c"))
    whole = undone(response, context(stops=("END",)))
    assert list(whole.choices[0].parts) == [*response.choices[0].parts[:2], Part(text="a ")]
    assert whole.choices[0].finish == Finish(reason=FINISH_REASON_STOP_SEQUENCE, matched_stop="END")
    assert whole.usage == USAGE


def test_without_a_stop_sequence_nothing_changes() -> None:
    response = answer(Part(text="a EN"), Part(text="D"))
    assert undone(response, context(stops=("END",))) == response


def test_a_stream_is_cut_across_borders() -> None:
    undo = Undo(context(stops=("END",)), Notes({}))
    assert undo.events([start(Part(text="")), text("a E")]) == [start(Part(text="")), text("a ")]
    assert undo.events([text("N")]) == []
    assert undo.events([text("-", extras=[EXTRA])]) == [text("EN-", extras=[EXTRA])]
    assert undo.events([text("E", extras=[EXTRA])]) == [text("", extras=[EXTRA])]
    assert not undo.finishes
    end = Finish(reason=FINISH_REASON_STOP_SEQUENCE, matched_stop="END")
    usage = StreamEvent(usage=USAGE)
    late = [start(Part(text=""), 1), text("x"), stop(), StreamEvent(finish=Finish(reason=FINISH_REASON_STOP)), usage]
    assert undo.events([text("ND"), *late]) == [stop(), StreamEvent(finish=end), usage]
    assert undo.is_over
    assert undo.finishes == [end]


def test_every_choice_is_cut_by_itself() -> None:
    undo = Undo(context(choices=2, stops=("END",)), Notes({}))
    response = MessageResponse(
        choices=[
            Choice(index=0, parts=[Part(text="aENDb")], finish=Finish(reason=FINISH_REASON_STOP)),
            Choice(index=1, parts=[Part(text="cd")], finish=Finish(choice_index=1, reason=FINISH_REASON_STOP)),
        ]
    )
    first, second = events_of(MessageResponse(choices=response.choices[:1])), events_of(response)[5:]
    assert undo.events(first)
    assert not undo.is_over
    assert undo.events(second) == events_of(response)[5:]
    assert [finish.reason for finish in undo.finishes] == [FINISH_REASON_STOP_SEQUENCE, FINISH_REASON_STOP]
    assert not undo.is_over, "the provider ends it"

    undo = Undo(context(choices=2, stops=("END",)), Notes({}))
    undo.events(events_of(response)[5:])
    undo.events(events_of(MessageResponse(choices=response.choices[:1])))
    assert undo.is_over


def test_text_that_stands_in_the_start_or_the_end_of_a_part() -> None:
    undo = Undo(context(stops=("END",)), Notes({}))
    assert undo.events([start(Part(text="aE")), text("x")]) == [start(Part(text="")), text("a"), text("Ex")]
    assert undo.events([stop(part=Part(text="aEx"))]) == [stop(part=Part(text="aEx"))]
    tokens = [TokenLogprob(token="b"), TokenLogprob(token="END")]
    whole = Part(text="bENDc", logprobs=tokens, citations=[Citation(start=0)])
    events = undo.events([start(Part(text=""), 1), stop(1, part=whole)])
    assert events[1] == stop(1, part=Part(text="b", logprobs=tokens[:1], citations=[Citation(start=0)]))
    assert events[2].finish.matched_stop == "END"
    assert undo.is_over
    refusal = [start(Part(refusal="")), stop(part=Part(refusal="END"))]
    assert Undo(context(stops=("END",)), Notes({})).events(refusal) == refusal


def test_probabilities_go_with_their_tokens() -> None:
    tokens = [TokenLogprob(token=each) for each in ("a", "E", "N", "D")]
    assert undone(answer(Part(text="aEND", logprobs=tokens)), context(stops=("END",))).choices[0].parts == [
        Part(text="a", logprobs=tokens[:1])
    ]
    undo = Undo(context(stops=("END",)), Notes({}))
    undo.events([start(Part(text=""))])
    piece = PartDelta(text="aE", logprobs=tokens[:2])
    assert undo.events([StreamEvent(part_delta=piece)]) == [
        StreamEvent(part_delta=PartDelta(text="a", logprobs=tokens[:1]))
    ]
    assert undo.events([StreamEvent(part_delta=PartDelta(logprobs=tokens[2:3]))]) == []
    rest = StreamEvent(part_delta=PartDelta(text="E", logprobs=tokens[1:3]))
    assert undo.events([stop()]) == [rest, stop()], "what covers more than the text comes at the end"


# --- one call ---


def test_calls_after_the_first_are_left_out() -> None:
    notes = Notes({})
    response = answer(call("a"), call("b"), Part(text="t"), call("c"), reason=FINISH_REASON_TOOL_CALLS)
    whole = undone(response, context(single_call=True), notes)
    assert list(whole.choices[0].parts) == [call("a"), Part(text="t")]
    assert whole.choices[0].finish.reason == FINISH_REASON_TOOL_CALLS
    assert [(note.code, note.path) for note in notes] == [
        ("TOOL_CALL_CUT", "choices[0].parts[1]"),
        ("TOOL_CALL_CUT", "choices[0].parts[3]"),
    ]


def test_what_comes_for_parts_that_are_left_out_goes_with_them() -> None:
    undo = Undo(context(single_call=True), Notes({}))
    opening = [start(call("a", "")), stop(), start(call("b", ""), 1), arguments("{}", 1), stop(1)]
    assert undo.events(opening) == [start(call("a", "")), stop()]
    assert undo.events([start(Part(text=""), 2), text("t", 2)]) == [start(Part(text=""), 1), text("t", 1)]
    late = [StreamEvent(part_delta=PartDelta(part_index=at, citation=Citation(start=0))) for at in (0, 1, 2)]
    assert [event.part_delta.part_index for event in undo.events(late)] == [0, 1]
    assert undo.events([stop(2)]) == [stop(1)]
    assert not undo.is_over


# --- one word ---


@pytest.mark.parametrize(
    ("written", "meant"), [('{"value":"red"}', "red"), (' {"value" : "r\\n"} ', "r\n"), ("red", "red"), ("[1]", "[1]")]
)
def test_a_word_is_unwrapped(written: str, meant: str) -> None:
    known = context(unwrap_key="value")
    assert undone(answer(Part(text=written)), known) == answer(Part(text=meant))


def test_an_unwrapped_word_is_cut_too() -> None:
    whole = undone(answer(Part(text='{"value":"redEND"}')), context(unwrap_key="value", stops=("END",)))
    assert [part.text for part in whole.choices[0].parts] == ["red"]
    assert whole.choices[0].finish.matched_stop == "END"


def test_citations_of_a_wrapped_word_lose_their_place() -> None:
    cited = Part(text='{"value":"red"}', citations=[Citation(start=1, end=3, statement="s")])
    whole = undone(answer(cited), context(unwrap_key="value"))
    assert whole.choices[0].parts[0] == Part(text="red", citations=[Citation(statement="s")])


# --- all of it ---


def test_other_events_pass() -> None:
    undo = Undo(context(stops=("END",)), Notes({}))
    others = [
        StreamEvent(response_start=MessageResponse(id="r")),
        StreamEvent(raw=RawEvent(name="n")),
        StreamEvent(usage=USAGE),
        StreamEvent(),
    ]
    assert undo.events(others) == others


_WRAPPED = st.sampled_from(['{"value":"a"}', '{"input":"ab"}', '{"input":"b', "ab"])
_PARTS = st.one_of(
    parts(),
    st.builds(Part, text=st.one_of(st.text("ab", max_size=6), _WRAPPED)),
    st.builds(call, st.sampled_from("fgh"), _WRAPPED),
)
_UNDO = st.fixed_dictionaries(
    {
        "tool_names": st.sampled_from([{}, {"f": "f-1"}]),
        "custom_tools": st.sampled_from([set(), {"f-1", "g"}]),
        "stops": st.lists(st.text("ab", min_size=1, max_size=3), max_size=2).map(tuple),
        "single_call": st.booleans(),
        "unwrap_key": st.sampled_from(["", "", "value"]),
    }
)


@given(answers(_PARTS), _UNDO, st.data())
@settings(max_examples=150, deadline=None)
def test_however_a_stream_is_cut_the_answer_is_the_same(
    response: MessageResponse, undo: dict[str, Any], data: st.DataObject
) -> None:
    whole = undone(response, context(**undo))
    events = data.draw(recut(events_of(response)))
    streamed = Undo(context(**undo), Notes({}))
    accumulator = Accumulator()
    while events:
        count = data.draw(st.integers(1, len(events)))
        for event in streamed.events(events[:count]):
            accumulator.feed(event)
        events = events[count:]
    assert accumulator.response() == whole
    assert accumulate(events_of(whole)) == whole
