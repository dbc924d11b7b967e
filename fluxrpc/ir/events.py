"""A whole answer as the events of a stream: the other way round than `accumulate`.

Each part comes in one start, one delta for each of its texts, and one stop; `accumulate(events_of(x)) == x`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from fluxrpc.v1.part_pb2 import Part
from fluxrpc.v1.response_pb2 import Choice, MessageResponse
from fluxrpc.v1.stream_pb2 import PartDelta, PartStop, StreamEvent, SummaryDelta

__all__ = ["events_of"]

_TEXTS: Final[dict[str, tuple[tuple[tuple[str, ...], str], ...]]] = {
    "text": ((("text",), "text"),),
    "refusal": ((("refusal",), "refusal"),),
    "reasoning": ((("reasoning", "text"), "reasoning"),),
    "tool_call": ((("tool_call", "arguments_json"), "arguments"), (("tool_call", "custom_text"), "arguments")),
    "server_tool_call": ((("server_tool_call", "input_json"), "arguments"),),
    "compaction": ((("compaction", "text"), "text"),),
}
"""Kind of part to the fields that come in deltas, and the kind of delta. Media come whole in the start."""


def events_of(response: MessageResponse) -> list[StreamEvent]:
    """The events of a complete stream that says what `response` says."""
    head = MessageResponse()
    head.CopyFrom(response)
    head.ClearField("choices")
    head.ClearField("usage")
    events = [StreamEvent(response_start=head)]
    for choice in response.choices:
        for index, part in enumerate(choice.parts):
            events.extend(_part_events(choice.index, index, part))
        events.append(_finish_event(choice))
    if response.HasField("usage"):
        events.append(StreamEvent(usage=response.usage))
    return events


def _part_events(choice: int, index: int, part: Part) -> Iterator[StreamEvent]:
    start = StreamEvent()
    start.part_start.choice_index = choice
    start.part_start.part_index = index
    shell = start.part_start.part
    shell.CopyFrom(part)
    deltas = _deltas(shell) if part.WhichOneof("kind") else []  # what is newer than this code stays whole
    yield start
    for delta in deltas:
        delta.choice_index = choice
        delta.part_index = index
        yield StreamEvent(part_delta=delta)
    yield StreamEvent(part_stop=PartStop(choice_index=choice, part_index=index))


def _deltas(shell: Part) -> list[PartDelta]:
    """Take what comes in deltas out of the shell."""
    texts = [(kind, _cut_text(shell, way)) for way, kind in _TEXTS.get(shell.WhichOneof("kind") or "", ())]
    deltas = [_text_delta(kind, text) for kind, text in texts if text]
    if shell.HasField("reasoning"):
        deltas += [
            PartDelta(summary=SummaryDelta(summary_index=number, text=text))
            for number, text in enumerate(shell.reasoning.summaries)
        ]
        shell.reasoning.ClearField("summaries")
    deltas += [PartDelta(citation=citation) for citation in shell.citations]
    shell.ClearField("citations")
    if shell.logprobs:
        deltas = deltas or [PartDelta()]
        deltas[0].logprobs.extend(shell.logprobs)
        shell.ClearField("logprobs")
    return deltas


def _text_delta(kind: str, text: str) -> PartDelta:
    delta = PartDelta()
    setattr(delta, kind, text)
    return delta


def _cut_text(shell: Part, way: tuple[str, ...]) -> str:
    """Take a text out of the shell; a member of a oneof stays set, so that the kind stays known."""
    *owners, name = way
    owner: Any = shell
    for step in owners:
        owner = getattr(owner, step)
    text = str(getattr(owner, name))
    if text:
        setattr(owner, name, "")
    return text


def _finish_event(choice: Choice) -> StreamEvent:
    event = StreamEvent(extras=choice.extras)
    event.finish.CopyFrom(choice.finish)
    event.finish.choice_index = choice.index
    return event
