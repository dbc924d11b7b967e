"""Answers of the IR with everything that one can hold, generated."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from fluxrpc.v1.part_pb2 import (
    Citation,
    Compaction,
    Document,
    Media,
    Part,
    RawPart,
    Reasoning,
    ServerToolCall,
    ServerToolResult,
    TokenLogprob,
    ToolCall,
)
from fluxrpc.v1.protocol_pb2 import OPAQUE_KIND_SIGNATURE, PROTOCOL_ANTHROPIC, PROTOCOL_OPENAI, Extra, OpaqueState
from fluxrpc.v1.response_pb2 import FINISH_REASON_STOP, FINISH_REASON_TOOL_CALLS, Choice, Finish, MessageResponse
from fluxrpc.v1.stream_pb2 import StreamEvent
from fluxrpc.v1.usage_pb2 import Usage

_TEXTS = st.text("ab\u00e9\U0001f600 ", max_size=6)
_BYTES = st.binary(max_size=4)
_EXTRAS = st.lists(
    st.builds(Extra, protocol=st.just(PROTOCOL_OPENAI), key=st.sampled_from("xy"), value_json=st.just("1")), max_size=2
)
_MEDIA = st.builds(Media, mime_type=st.just("image/png"), data=_BYTES, transcript=_TEXTS)
_CALLS = st.one_of(
    st.builds(ToolCall, id=_TEXTS, name=st.sampled_from(["f", "g"]), arguments_json=_TEXTS),
    st.builds(ToolCall, id=_TEXTS, name=st.sampled_from(["f", "g"]), custom_text=_TEXTS),
    st.builds(ToolCall, id=_TEXTS, name=st.just("f")),
)
_KINDS: dict[str, st.SearchStrategy[Any]] = {
    "text": _TEXTS,
    "refusal": _TEXTS,
    "image": _MEDIA,
    "audio": _MEDIA,
    "video": _MEDIA,
    "document": st.builds(Document, text=_TEXTS),
    "reasoning": st.builds(Reasoning, text=_TEXTS, summaries=st.lists(_TEXTS, max_size=2), redacted=st.booleans()),
    "tool_call": _CALLS,
    "server_tool_call": st.builds(ServerToolCall, id=_TEXTS, input_json=_TEXTS),
    "server_tool_result": st.builds(ServerToolResult, call_id=_TEXTS, content_json=_TEXTS),
    "compaction": st.builds(Compaction, text=_TEXTS),
    "raw": st.builds(RawPart, protocol=st.just(PROTOCOL_ANTHROPIC), type=_TEXTS),
}
_STATES = st.builds(OpaqueState, kind=st.just(OPAQUE_KIND_SIGNATURE), origin=st.just(PROTOCOL_ANTHROPIC), value=_BYTES)


@st.composite
def parts(draw: Any) -> Part:
    """A part of any kind, or of one that is newer than this code."""
    kind = draw(st.sampled_from(["", *_KINDS]))
    part = Part(**{kind: draw(_KINDS[kind])}) if kind else Part()
    part.citations.extend(draw(st.lists(st.builds(Citation, start=st.integers(0, 3), statement=_TEXTS), max_size=2)))
    part.logprobs.extend(draw(st.lists(st.builds(TokenLogprob, token=_TEXTS, logprob=st.just(-0.5)), max_size=2)))
    part.opaque.extend(draw(st.lists(_STATES, max_size=1)))
    part.extras.extend(draw(_EXTRAS))
    return part


ANY_PART = parts()


@st.composite
def answers(draw: Any, of: st.SearchStrategy[Part] = ANY_PART) -> MessageResponse:
    """A complete answer of one or two choices, of these parts."""
    response = MessageResponse(id=draw(_TEXTS), model="m", extras=draw(_EXTRAS))
    for index in range(draw(st.integers(1, 2))):
        reason = draw(st.sampled_from([FINISH_REASON_STOP, FINISH_REASON_TOOL_CALLS]))
        found = draw(st.lists(of, max_size=4))
        finish = Finish(choice_index=index, reason=reason)
        response.choices.append(Choice(index=index, parts=found, finish=finish, extras=draw(_EXTRAS)))
    if draw(st.booleans()):
        response.usage.CopyFrom(Usage(input_tokens=1, output_tokens=draw(st.integers(0, 9))))
    return response


@st.composite
def recut(draw: Any, events: list[StreamEvent]) -> list[StreamEvent]:
    """The same stream with its pieces of text cut again."""
    cut: list[StreamEvent] = []
    for event in events:
        kind = event.part_delta.WhichOneof("delta") or ""
        if kind not in {"text", "arguments", "refusal", "reasoning"}:
            cut.append(event)
            continue
        text = getattr(event.part_delta, kind)
        places = sorted(draw(st.lists(st.integers(0, len(text)), max_size=3)))
        for start, end in zip([0, *places], [*places, len(text)], strict=True):
            piece = StreamEvent()
            piece.CopyFrom(event)
            setattr(piece.part_delta, kind, text[start:end])
            cut.append(piece)
            event.part_delta.ClearField("logprobs")  # they come with the first piece
            event.ClearField("extras")
    return cut
