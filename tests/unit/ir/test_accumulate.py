from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluxrpc.ir import Accumulator, EventOrderError, accumulate
from fluxrpc.v1 import (
    FINISH_REASON_STOP,
    OPAQUE_KIND_SIGNATURE,
    PROTOCOL_ANTHROPIC,
    PROTOCOL_GEMINI,
    PROTOCOL_OPENAI,
    Choice,
    Citation,
    Compaction,
    Document,
    Extra,
    Finish,
    Media,
    MessageResponse,
    OpaqueState,
    Part,
    PartDelta,
    PartStart,
    PartStop,
    RawEvent,
    Reasoning,
    ServerToolCall,
    StreamEvent,
    SummaryDelta,
    TokenLogprob,
    ToolCall,
    Usage,
)

START = StreamEvent(response_start=MessageResponse(id="r1"))
STOP = StreamEvent(finish=Finish(reason=FINISH_REASON_STOP))
EXTRA = Extra(protocol=PROTOCOL_OPENAI, key="k", value_json="1")


def start(part: Part, index: int = 0) -> StreamEvent:
    return StreamEvent(part_start=PartStart(part_index=index, part=part))


def delta(fragment: PartDelta, index: int = 0) -> StreamEvent:
    fragment.part_index = index
    return StreamEvent(part_delta=fragment)


def stop(index: int = 0, part: Part | None = None) -> StreamEvent:
    return StreamEvent(part_stop=PartStop(part_index=index, part=part))


def part_of(shell: Part, *deltas: PartDelta) -> Part:
    return accumulate([START, start(shell), *map(delta, deltas), stop()]).choices[0].parts[0]


# ------------------------------------------------------------------------------ any answer, cut anywhere

texts = st.text("ab \nß€🎉", max_size=12)
kinds_of_part = st.one_of(
    st.builds(lambda text: Part(text=text), texts),
    st.builds(lambda text: Part(refusal=text), texts),
    st.builds(lambda text: Part(compaction=Compaction(text=text)), texts),
    st.builds(
        lambda text, summaries: Part(reasoning=Reasoning(text=text, summaries=summaries)),
        texts,
        st.lists(texts, max_size=3),
    ),
    st.builds(lambda text: Part(tool_call=ToolCall(id="c", name="f", arguments_json=text)), texts),
    st.builds(lambda text: Part(tool_call=ToolCall(id="c", name="f", custom_text=text)), texts),
    st.builds(lambda text: Part(server_tool_call=ServerToolCall(id="s", input_json=text)), texts),
    st.builds(lambda data: Part(image=Media(mime_type="image/png", data=data)), st.binary(max_size=12)),
    st.builds(lambda data, text: Part(audio=Media(data=data, transcript=text)), st.binary(max_size=12), texts),
)


def cut(draw: st.DrawFn, whole: str | bytes) -> list[str | bytes]:
    """The same text in pieces, some of them empty."""
    places = sorted(draw(st.lists(st.integers(0, len(whole)), max_size=3)))
    return [whole[a:b] for a, b in zip([0, *places], [*places, len(whole)], strict=True)]


def take(draw: st.DrawFn, shell: Part) -> list[PartDelta]:
    """Empty the shell of a few of its texts and give the deltas that bring them back."""
    kind = shell.WhichOneof("kind")
    deltas: list[PartDelta] = []
    if kind in {"text", "refusal"}:
        deltas = [PartDelta(**{kind: piece}) for piece in cut(draw, getattr(shell, kind))]  # type: ignore[arg-type]
        setattr(shell, str(kind), "")
    elif kind == "compaction":
        deltas = [PartDelta(text=str(piece)) for piece in cut(draw, shell.compaction.text)]
        shell.compaction.text = ""
    elif kind == "tool_call":
        name = str(shell.tool_call.WhichOneof("input"))
        deltas = [PartDelta(arguments=str(piece)) for piece in cut(draw, getattr(shell.tool_call, name))]
        setattr(shell.tool_call, name, "")
    elif kind == "server_tool_call":
        deltas = [PartDelta(arguments=str(piece)) for piece in cut(draw, shell.server_tool_call.input_json)]
        shell.server_tool_call.input_json = ""
    elif kind == "reasoning":
        deltas = [PartDelta(reasoning=str(piece)) for piece in cut(draw, shell.reasoning.text)]
        for index, summary in enumerate(shell.reasoning.summaries):
            deltas += [
                PartDelta(summary=SummaryDelta(summary_index=index, text=str(piece))) for piece in cut(draw, summary)
            ]
        shell.reasoning.CopyFrom(Reasoning())
    elif kind == "audio":
        deltas = [PartDelta(transcript=str(piece)) for piece in cut(draw, shell.audio.transcript)]
        deltas += [PartDelta(data=bytes(piece)) for piece in cut(draw, shell.audio.data)]  # type: ignore[arg-type]
        shell.audio.transcript, shell.audio.data = "", b""
    return deltas


@st.composite
def streamed(draw: st.DrawFn) -> tuple[MessageResponse, list[StreamEvent]]:
    """An answer and one of the streams that make it, its choices interleaved."""
    answer = MessageResponse(id="r1", model="m", usage=Usage(input_tokens=1))
    queues: list[list[StreamEvent]] = []
    for choice_index in range(draw(st.integers(0, 3))):
        parts = draw(st.lists(kinds_of_part, max_size=3))
        finish = Finish(choice_index=choice_index, reason=FINISH_REASON_STOP)
        answer.choices.append(Choice(index=choice_index, parts=parts, finish=finish))
        queue: list[StreamEvent] = []
        for index, part in enumerate(parts):
            shell = Part.FromString(part.SerializeToString())
            deltas = take(draw, shell)
            queue.append(StreamEvent(part_start=PartStart(choice_index=choice_index, part_index=index, part=shell)))
            for piece in deltas:
                piece.choice_index, piece.part_index = choice_index, index
                queue.append(StreamEvent(part_delta=piece))
            queue.append(StreamEvent(part_stop=PartStop(choice_index=choice_index, part_index=index)))
        queues.append([*queue, StreamEvent(finish=finish)])
    events = [StreamEvent(response_start=MessageResponse(id="r1", model="m", usage=Usage(input_tokens=1)))]
    while queues := [queue for queue in queues if queue]:
        events.append(draw(st.sampled_from(queues)).pop(0))
    return answer, events


@given(streamed())
def test_any_stream_of_an_answer_gives_the_answer(case: tuple[MessageResponse, list[StreamEvent]]) -> None:
    answer, events = case
    accumulator = Accumulator()
    assert not accumulator.finished
    for event in events:
        accumulator.feed(event)
    assert accumulator.response() == answer
    assert accumulator.finished == bool(answer.choices)


@pytest.mark.timeout(20)
def test_time_is_linear_in_the_number_of_fragments() -> None:
    """Copying what was gathered at each of these fragments would move a hundred gigabytes."""
    count = 100_000
    fragment = delta(PartDelta(text="twenty characters it"))
    whole = accumulate([START, start(Part(text="")), *([fragment] * count), stop(), STOP])
    assert len(whole.choices[0].parts[0].text) == 20 * count


# ------------------------------------------------------------------------------ what fragments do


def test_fragments_come_after_what_the_shell_holds() -> None:
    assert part_of(Part(text="a"), PartDelta(text="b"), PartDelta(text="c")) == Part(text="abc")
    shell = Part(reasoning=Reasoning(summaries=["x"]))
    grown = part_of(shell, PartDelta(summary=SummaryDelta(summary_index=0, text="y")))
    assert grown.reasoning.summaries == ["xy"]
    grown = part_of(shell, PartDelta(summary=SummaryDelta(summary_index=1, text="z")))
    assert grown.reasoning.summaries == ["x", "z"]


def test_a_call_without_a_named_input_takes_json_arguments() -> None:
    assert part_of(Part(tool_call=ToolCall(id="c")), PartDelta(arguments="{}")).tool_call.arguments_json == "{}"


def test_a_custom_call_takes_text() -> None:
    shell = Part(tool_call=ToolCall(id="c", custom_text=""))
    assert part_of(shell, PartDelta(arguments="ls")) == Part(tool_call=ToolCall(id="c", custom_text="ls"))


def test_opaque_state_replaces_its_like_and_joins_others() -> None:
    def state(value: bytes, origin: int = PROTOCOL_ANTHROPIC) -> OpaqueState:
        return OpaqueState(kind=OPAQUE_KIND_SIGNATURE, origin=origin, value=value)  # type: ignore[arg-type]

    part = part_of(
        Part(reasoning=Reasoning()),
        PartDelta(opaque=state(b"1")),
        PartDelta(opaque=state(b"2", PROTOCOL_GEMINI)),
        PartDelta(opaque=state(b"3")),
    )
    assert part.opaque == [state(b"3"), state(b"2", PROTOCOL_GEMINI)]


def test_logprobs_and_citations_are_gathered() -> None:
    one, two = TokenLogprob(token="a", logprob=-1), TokenLogprob(token="b", logprob=-2)
    part = part_of(
        Part(text=""),
        PartDelta(text="a", logprobs=[one]),
        PartDelta(logprobs=[two]),
        PartDelta(citation=Citation(statement="a")),
    )
    assert part == Part(text="a", logprobs=[one, two], citations=[Citation(statement="a")])


def test_a_citation_may_come_for_a_whole_part_until_the_choice_finishes() -> None:
    late = delta(PartDelta(citation=Citation(statement="a")))
    answer = accumulate([START, start(Part(text="a")), stop(), start(Part(text="b"), 1), late, stop(1), late])
    assert answer.choices[0].parts == [Part(text="a", citations=[Citation(statement="a")] * 2), Part(text="b")]
    with pytest.raises(EventOrderError, match="part 0 of choice 0 is not open"):
        accumulate([START, start(Part(text="a")), stop(), STOP, late])


def test_a_whole_part_at_its_end_replaces_what_was_gathered() -> None:
    answer = accumulate([START, start(Part(text="a")), delta(PartDelta(text="b")), stop(part=Part(text="right"))])
    assert answer.choices[0].parts == [Part(text="right")]


def test_kinds_of_part_that_are_newer_grow_without_harm() -> None:
    assert part_of(Part(item_id="x"), PartDelta(text="?")) == Part(item_id="x")


def test_usage_is_merged() -> None:
    head = StreamEvent(response_start=MessageResponse(usage=Usage(input_tokens=1, output_tokens=1)))
    answer = accumulate([head, StreamEvent(usage=Usage(output_tokens=9), extras=[EXTRA])])
    assert answer.usage == Usage(input_tokens=1, output_tokens=9, extras=[EXTRA])


def test_extras_of_an_event_join_what_it_is_about() -> None:
    def with_extra(event: StreamEvent) -> StreamEvent:
        copy = StreamEvent(extras=[EXTRA])
        copy.MergeFrom(event)
        return copy

    events = [START, start(Part(text="")), delta(PartDelta(text="a")), stop(), STOP]
    answer = accumulate(map(with_extra, events))
    assert answer.extras == [EXTRA]
    assert answer.choices[0].extras == [EXTRA]
    assert answer.choices[0].parts[0].extras == [EXTRA] * 3


def test_raw_and_newer_events_are_passed_over() -> None:
    raw = StreamEvent(raw=RawEvent(protocol=PROTOCOL_OPENAI, name="x", data_json="{}"))
    assert accumulate([START, raw, StreamEvent()]) == MessageResponse(id="r1")


def test_an_answer_can_be_read_while_it_comes() -> None:
    accumulator = Accumulator()
    assert accumulator.response() == MessageResponse()
    for event in (START, start(Part(text="")), delta(PartDelta(text="a"))):
        accumulator.feed(event)
    early = accumulator.response()
    assert early.choices[0].parts == [Part(text="a")]
    assert not accumulator.finished
    accumulator.feed(delta(PartDelta(text="b")))
    assert accumulator.response().choices[0].parts == [Part(text="ab")]
    assert early.choices[0].parts == [Part(text="a")]


# ------------------------------------------------------------------------------ what cannot come


@pytest.mark.parametrize(
    ("events", "message"),
    [
        ([STOP], "finish came before response_start"),
        ([START, START], "began twice"),
        ([START, start(Part(text=""), 1)], "part 1 of choice 0 cannot begin"),
        ([START, start(Part(text="")), start(Part(text=""), 1)], "part 1 of choice 0 cannot begin"),
        ([START, STOP, start(Part(text=""))], "part 0 of choice 0 cannot begin"),
        ([START, delta(PartDelta(text="a"))], "part 0 of choice 0 is not open"),
        ([START, start(Part(text="")), delta(PartDelta(text="a"), 1)], "part 1 of choice 0 is not open"),
        ([START, stop()], "part 0 of choice 0 is not open"),
        ([START, start(Part(text="")), stop(1)], "part 1 of choice 0 is not open"),
        ([START, start(Part(text="")), STOP], "choice 0 cannot finish"),
        ([START, STOP, STOP], "choice 0 cannot finish"),
        ([START, start(Part(text="")), delta(PartDelta(refusal="a"))], "kind text cannot grow by refusal"),
        ([START, start(Part(document=Document(text="a"))), delta(PartDelta(data=b"a"))], "cannot grow by data"),
        (
            [START, start(Part(text="")), delta(PartDelta(summary=SummaryDelta(text="a")))],
            "summary 0 cannot come in a part of kind text",
        ),
        (
            [START, start(Part(reasoning=Reasoning())), delta(PartDelta(summary=SummaryDelta(summary_index=1)))],
            "summary 1 cannot come in a part of kind reasoning yet",
        ),
    ],
)
def test_events_out_of_order_are_refused(events: list[StreamEvent], message: str) -> None:
    accumulator = Accumulator()
    for event in events[:-1]:
        accumulator.feed(event)
    with pytest.raises(EventOrderError, match=message):
        accumulator.feed(events[-1])
