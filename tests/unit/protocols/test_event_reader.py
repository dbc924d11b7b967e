from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluxrpc.errors import AnswerFault, Outcome, ProviderError
from fluxrpc.ir.accumulate import accumulate
from fluxrpc.protocols.base import Batch, Protocol, StreamOptions
from fluxrpc.protocols.context import Context, Target
from fluxrpc.protocols.event_reader import EventReader
from fluxrpc.protocols.json_text import JsonFault
from fluxrpc.protocols.stream_watch import LAST, PASS, REAL
from fluxrpc.sse import Frame
from fluxrpc.v1.message_pb2 import MessageRequest
from fluxrpc.v1.part_pb2 import Citation, Media, Part, Reasoning, TokenLogprob, ToolCall
from fluxrpc.v1.protocol_pb2 import PROTOCOL_OPENAI, Extra, OpaqueState
from fluxrpc.v1.response_pb2 import FINISH_REASON_LENGTH, FINISH_REASON_STOP, Finish, MessageResponse
from fluxrpc.v1.stream_pb2 import RawEvent, StreamEvent
from fluxrpc.v1.usage_pb2 import Usage

Step = Callable[[EventReader], object]
CONTEXT = Context(
    caller=None, target=Target(protocol=Protocol.OPENAI, model="m"), request=MessageRequest(), stream=True
)
FAULT = ProviderError("SERVER", outcome=Outcome.MODEL, http_status=500)
EXTRA = Extra(protocol=PROTOCOL_OPENAI, key="k", value_json="1")
STOP = Finish(reason=FINISH_REASON_STOP)
HIGH, LOW = "\ud83d", "\ude00"


class Scripted(EventReader):
    """Each frame names, by its number, what to call; `end` is the terminator."""

    def __init__(self, *steps: Step) -> None:
        super().__init__(StreamOptions(), CONTEXT)
        self.steps = steps

    def take(self, frame: Frame) -> int:
        if frame.data == b"end":
            return LAST
        if frame.data == b"error":
            raise FAULT
        self.steps[int(frame.data)](self)
        return REAL

    def error_of(self, text: bytes) -> ProviderError:
        assert text == b"{}"
        return FAULT


class Holding(Scripted):
    holds_finishes = True


def frames(*names: object) -> bytes:
    return b"".join(b"data: %s\n\n" % str(name).encode() for name in names)


def play(*steps: Step, kind: type[Scripted] = Scripted) -> tuple[Scripted, Sequence[StreamEvent]]:
    """All in one read, the end included."""
    reader = kind(*steps)
    batch = reader.feed(frames(*range(len(steps)), "end"))
    return reader, batch.events


def begin(reader: EventReader) -> None:
    reader.begin(MessageResponse(id="r", model="served", usage=Usage(input_tokens=3)))


def finish(reader: EventReader) -> None:
    reader.end_choice(STOP)


def grow(kind: str, text: str, choice: int = 0) -> Step:
    return lambda reader: reader.grow(choice, kind, text)


def test_an_answer() -> None:
    reader, events = play(
        begin,
        begin,
        grow("reasoning", "Hm"),
        grow("text", "Hel"),
        grow("text", "lo"),
        grow("refusal", "no"),
        lambda r: r.open_part(0, "call", Part(tool_call=ToolCall(id="c", name="f")), [EXTRA]),
        lambda r: r.add_text(0, "arguments", "{}"),
        lambda r: r.end_choice(STOP, [EXTRA]),
        finish,
        lambda r: r.report(Usage(output_tokens=2)),
        lambda r: r.report(None),
        lambda r: r.emit(StreamEvent(raw=RawEvent(name="n"))),
    )
    response = accumulate(events)
    assert [part.WhichOneof("kind") for part in response.choices[0].parts] == [
        "reasoning",
        "text",
        "refusal",
        "tool_call",
    ]
    assert response.choices[0].parts[1].text == "Hello"
    assert response.choices[0].parts[3].tool_call == ToolCall(id="c", name="f", arguments_json="{}")
    assert response.choices[0].parts[3].extras == response.choices[0].extras == [EXTRA]
    assert (reader.has_begun, reader.served_model, reader.finishes, reader.malformed) == (True, "served", [STOP], 0)
    assert reader.usage == Usage(input_tokens=3, output_tokens=2)
    assert (reader.had_calls(0), reader.had_refusal(0), reader.part_index(0)) == (True, True, 3)
    assert (reader.had_calls(1), reader.had_refusal(1), reader.part_index(1)) == (False, False, -1)


def test_usage_without_a_beginning() -> None:
    reader, _ = play(lambda r: r.begin(MessageResponse()), lambda r: r.report(Usage(output_tokens=2)), finish)
    assert reader.usage == Usage(output_tokens=2)


def test_what_else_a_part_grows_by() -> None:
    state, citation = OpaqueState(value=b"s"), Citation(statement="s")
    _, events = play(
        begin,
        lambda r: r.open_part(0, "r", Part(reasoning=Reasoning())),
        lambda r: r.add_summary(0, 0, "one"),
        lambda r: r.add_summary(0, 1, "two"),
        lambda r: r.add_opaque(0, state),
        lambda r: r.open_part(0, "audio", Part(audio=Media())),
        lambda r: r.add_data(0, b"12"),
        lambda r: r.add_text(0, "transcript", "t"),
        lambda r: r.add_citation(0, citation),
        lambda r: r.add_citation(0, citation, part=0),
        lambda r: r.close_part(0, whole=Part(tool_call=ToolCall(id="w"))),
        finish,
    )
    first, second = accumulate(events).choices[0].parts
    assert first == Part(reasoning=Reasoning(summaries=["one", "two"]), opaque=[state], citations=[citation])
    assert second == Part(tool_call=ToolCall(id="w"))


def test_choices_interleave() -> None:
    _, events = play(
        begin,
        grow("text", "a", 0),
        grow("text", "b", 1),
        grow("text", "c", 0),
        finish,
        lambda r: r.end_choice(Finish(choice_index=1)),
    )
    assert [choice.parts[0].text for choice in accumulate(events).choices] == ["ac", "b"]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda r: r.add_text(0, "text", "x"),
        lambda r: r.add_summary(0, 0, "x"),
        lambda r: r.add_data(0, b"x"),
        lambda r: r.add_citation(0, Citation()),
        lambda r: r.add_citation(0, Citation(), part=1),
        lambda r: r.add_citation(0, Citation(), part=-1),
    ],
)
def test_more_of_what_is_not_open_is_malformed(wrong: Step) -> None:
    reader, events = play(begin, lambda r: r.open_part(0, "t", Part(text="")), lambda r: r.close_part(0), wrong, finish)
    assert reader.malformed == 1
    assert accumulate(events).choices[0].parts == [Part(text="")]


@pytest.mark.parametrize("late", [grow("text", "x"), lambda r: r.add_citation(0, Citation(), part=0)])
def test_nothing_follows_a_finish(late: Step) -> None:
    reader, events = play(begin, grow("text", "a"), finish, late, lambda r: r.close_part(0))
    assert reader.malformed == 1
    assert events[-1].WhichOneof("event") == "finish"


def test_finishes_that_are_held_come_last() -> None:
    length = Finish(reason=FINISH_REASON_LENGTH)
    reader, events = play(
        begin, grow("text", "a"), finish, grow("text", "b"), lambda r: r.end_choice(length), kind=Holding
    )
    assert reader.malformed == 0
    response = accumulate(events)
    assert [part.text for part in response.choices[0].parts] == ["a", "b"]
    assert response.choices[0].finish == length


def test_finishes_that_are_held_come_without_a_terminator_too() -> None:
    reader = Holding(begin, grow("text", "a"), finish)
    assert reader.feed(frames(0, 1, 2)).events[-1].WhichOneof("event") == "part_stop"
    assert [event.WhichOneof("event") for event in reader.close().events] == ["finish"]


def test_a_cut_stream_keeps_its_finishes() -> None:
    reader = Holding(begin, grow("text", "a", 1), finish)
    reader.feed(frames(0, 1, 2))
    batch = reader.close()
    assert isinstance(batch.error, AnswerFault)
    assert not batch.events


def test_what_stands_before_an_error_is_told() -> None:
    reader = Scripted(begin, grow("text", "a"))
    batch = reader.feed(frames(0, 1, "error", 1))
    assert batch.error is FAULT
    assert len(batch.events) == 3
    assert batch.frames == b""


# --- halves of surrogate pairs ---


@pytest.mark.parametrize(
    ("pieces", "text", "notes"),
    [
        ([HIGH, LOW], "\U0001f600", 0),
        (["a" + HIGH, LOW + "b"], "a\U0001f600b", 0),
        (["a" + HIGH, "b"], "a\ufffdb", 1),
        (["a", HIGH], "a\ufffd", 1),
        (["a\u00e9", "b"], "a\u00e9b", 0),
    ],
)
@pytest.mark.parametrize("kind", ["text", "summary"])
def test_halves_are_joined(kind: str, pieces: list[str], text: str, notes: int) -> None:
    def more(piece: str) -> Step:
        if kind == "text":
            return grow("text", piece)
        return lambda r: r.add_summary(0, 0, piece)

    opening: list[Step] = [begin]
    if kind == "summary":
        opening.append(lambda r: r.open_part(0, "r", Part(reasoning=Reasoning())))
    reader, events = play(*opening, *map(more, pieces), finish)
    part = accumulate(events).choices[0].parts[0]
    assert (part.text or part.reasoning.summaries[0]) == text
    assert [(note.code, note.path) for note in reader.notes] == [("LONE_SURROGATE", "choices[0].parts[0]")] * notes


def test_halves_of_different_texts_are_not_joined() -> None:
    _, events = play(
        begin,
        lambda r: r.open_part(0, "r", Part(reasoning=Reasoning())),
        lambda r: r.add_text(0, "reasoning", HIGH),
        lambda r: r.add_summary(0, 0, LOW),
        finish,
    )
    assert accumulate(events).choices[0].parts[0] == Part(reasoning=Reasoning(text="\ufffd", summaries=["\ufffd"]))


# --- probabilities ---


def logged(kind: str, text: str, choice: int = 0) -> Step:
    def step(reader: EventReader) -> None:
        reader.grow(choice, kind, text)
        reader.add_logprobs(choice, [TokenLogprob(token=text if text.isascii() else "?")])

    return step


def test_probabilities_go_with_the_text_of_their_frame() -> None:
    _, events = play(begin, logged("text", "a"), logged("refusal", "b"), finish)
    deltas = [event.part_delta for event in events if event.HasField("part_delta")]
    assert [(delta.text or delta.refusal, delta.logprobs[0].token) for delta in deltas] == [("a", "a"), ("b", "b")]


@pytest.mark.parametrize(
    "step",
    [
        lambda r: r.add_logprobs(0, [TokenLogprob(token="x")]),
        logged("text", HIGH),
        logged("reasoning", "x"),
        lambda r: (r.grow(1, "text", "x"), r.add_logprobs(0, [TokenLogprob(token="x")])),
    ],
)
def test_probabilities_without_text_come_alone(step: Step) -> None:
    _, events = play(begin, grow("text", "a"), step, finish)
    alone = [e.part_delta for e in events if e.HasField("part_delta") and e.part_delta.logprobs]
    assert [delta.WhichOneof("delta") for delta in alone] == [None]


def test_probabilities_of_no_part_are_left_out() -> None:
    reader, events = play(begin, lambda r: r.add_logprobs(0, [TokenLogprob()]), finish)
    assert [event.WhichOneof("event") for event in events] == ["response_start", "finish"]
    assert reader.malformed == 0


# --- any cutting, any calls ---


def _wild() -> st.SearchStrategy[Step]:
    choices = st.integers(0, 1)
    return st.one_of(
        st.builds(grow, st.sampled_from(["text", "reasoning", "refusal"]), st.sampled_from(["a", HIGH, LOW]), choices),
        st.builds(logged, st.just("text"), st.sampled_from(["a", HIGH]), choices),
        choices.map(lambda c: lambda r: r.close_part(c)),
        choices.map(lambda c: lambda r: r.end_choice(Finish(choice_index=c))),
        choices.map(lambda c: lambda r: r.add_citation(c, Citation(), part=0)),
        choices.map(lambda c: lambda r: r.add_opaque(c, OpaqueState())),
        choices.map(lambda c: lambda r: r.add_logprobs(c, [TokenLogprob()])),
    )


@given(st.lists(_wild(), max_size=12), st.lists(st.integers(1, 30), max_size=12), st.sampled_from([Scripted, Holding]))
def test_the_grammar_holds_for_any_calls_and_any_cutting(
    steps: list[Step], cuts: list[int], kind: type[Scripted]
) -> None:
    def everything(batches: Sequence[Batch]) -> list[StreamEvent]:
        return [event for batch in batches for event in batch.events]

    body = frames(*range(len(steps) + 1))
    whole, pieces = kind(begin, *steps), kind(begin, *steps)
    events = everything([whole.feed(body), whole.close()])
    accumulate(events)
    batches = []
    for cut in cuts:
        batches.append(pieces.feed(body[:cut]))
        body = body[cut:]
    assert everything([*batches, pieces.feed(body), pieces.close()]) == events


def test_comments_pass_without_events() -> None:
    class Silent(Scripted):
        def take(self, frame: Frame) -> int:
            if frame.data == b"broken":
                raise JsonFault("broken")
            return PASS

    reader = Silent()
    assert reader.feed(b": ping\n\ndata: {}\n\ndata: broken\n\n") == Batch(events=[])
    assert reader.malformed == 1
