"""A whole answer as the events of a stream: the other way round than `accumulate`.

Each part comes in one start, one delta for each of its texts, and one stop; `accumulate(events_of(x)) == x`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from fluxrpc.v1.part_pb2 import Part
from fluxrpc.v1.response_pb2 import Choice, MessageResponse
from fluxrpc.v1.stream_pb2 import StreamEvent

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
    shell = Part()
    shell.CopyFrom(part)
    deltas: list[StreamEvent] = []
    for path, delta in _TEXTS.get(part.WhichOneof("kind") or "", ()):
        text = _cut_text(shell, path)
        if text:
            event = _delta_event(choice, index)
            setattr(event.part_delta, delta, text)
            deltas.append(event)
    for number, summary in enumerate(part.reasoning.summaries):
        event = _delta_event(choice, index)
        event.part_delta.summary.summary_index = number
        event.part_delta.summary.text = summary
        deltas.append(event)
    if part.HasField("reasoning"):
        del shell.reasoning.summaries[:]
    for citation in part.citations:
        event = _delta_event(choice, index)
        event.part_delta.citation.CopyFrom(citation)
        deltas.append(event)
    del shell.citations[:]
    if part.logprobs:
        event = deltas[0] if deltas else _delta_event(choice, index)
        event.part_delta.logprobs.extend(part.logprobs)
        deltas = deltas or [event]
        del shell.logprobs[:]
    start = StreamEvent()
    start.part_start.choice_index = choice
    start.part_start.part_index = index
    start.part_start.part.CopyFrom(shell)
    yield start
    yield from deltas
    stop = StreamEvent()
    stop.part_stop.choice_index = choice
    stop.part_stop.part_index = index
    yield stop


def _cut_text(shell: Part, path: tuple[str, ...]) -> str:
    """Take a text out of the shell; a member of a oneof stays set, so that the kind stays known."""
    owner: Any = shell if len(path) == 1 else getattr(shell, path[0])
    name = path[-1]
    if len(path) > 1 and name in {"arguments_json", "custom_text"} and not owner.HasField(name):
        return ""
    text = str(getattr(owner, name))
    setattr(owner, name, "")
    return text


def _delta_event(choice: int, index: int) -> StreamEvent:
    event = StreamEvent()
    event.part_delta.choice_index = choice
    event.part_delta.part_index = index
    return event


def _finish_event(choice: Choice) -> StreamEvent:
    event = StreamEvent(extras=choice.extras)
    event.finish.CopyFrom(choice.finish)
    event.finish.choice_index = choice.index
    return event
