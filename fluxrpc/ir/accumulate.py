"""Gather the events of a typed stream into the answer that Execute would have given.

Not a translator: it knows the grammar of `StreamEvent` and no wire protocol. It takes linear time: fragments are kept
in lists and joined once, when their part ends. It also guards the grammar: an event that cannot come here raises
`EventOrderError`, so that a faulty reader is found at its first wrong event. Kinds of events, parts and deltas that
are newer than this code are passed over.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from fluxrpc.ir.usage import merge_usage
from fluxrpc.v1.part_pb2 import Part
from fluxrpc.v1.protocol_pb2 import OpaqueState
from fluxrpc.v1.response_pb2 import Choice, Finish, MessageResponse
from fluxrpc.v1.stream_pb2 import PartDelta, PartStart, PartStop, StreamEvent

__all__ = ["Accumulator", "EventOrderError", "accumulate"]

_SLOTS: Final[dict[tuple[str, str], tuple[str, ...]]] = {
    ("text", "text"): ("text",),
    ("compaction", "text"): ("compaction", "text"),
    ("refusal", "refusal"): ("refusal",),
    ("reasoning", "reasoning"): ("reasoning", "text"),
    ("tool_call", "arguments"): ("tool_call", "arguments_json"),
    ("server_tool_call", "arguments"): ("server_tool_call", "input_json"),
    ("image", "data"): ("image", "data"),
    ("audio", "data"): ("audio", "data"),
    ("video", "data"): ("video", "data"),
    ("audio", "transcript"): ("audio", "transcript"),
}
"""Where the fragments of a delta go: (kind of the open part, kind of the delta) to the path of the field."""

_CUSTOM_INPUT: Final = ("tool_call", "custom_text")


class EventOrderError(ValueError):
    """An event came that the grammar of `StreamEvent` does not allow there."""


class _OpenPart:
    """A part that still grows, and its fragments."""

    def __init__(self, shell: Part) -> None:
        self.part = Part()
        self.part.CopyFrom(shell)
        self.kind = shell.WhichOneof("kind")
        self._fragments: dict[tuple[str, ...], list[Any]] = {}
        self._summaries: list[list[str]] = [[summary] for summary in shell.reasoning.summaries]

    def add(self, delta: PartDelta) -> None:
        """Take one delta."""
        kind = delta.WhichOneof("delta")
        if self.kind is None or kind is None:
            pass
        elif kind == "opaque":
            _replace_opaque(self.part, delta.opaque)
        elif kind == "citation":
            self.part.citations.append(delta.citation)
        elif kind == "summary":
            self._add_summary(delta)
        else:
            self._add_fragment(kind, getattr(delta, kind))
        self.part.logprobs.extend(delta.logprobs)

    def _add_fragment(self, kind: str, fragment: Any) -> None:
        slot = _SLOTS.get((str(self.kind), kind))
        if slot is None:
            raise EventOrderError(f"a part of kind {self.kind} cannot grow by {kind}")
        if kind == "arguments" and self.part.tool_call.WhichOneof("input") == "custom_text":
            slot = _CUSTOM_INPUT
        self._fragments.setdefault(slot, []).append(fragment)

    def _add_summary(self, delta: PartDelta) -> None:
        index = delta.summary.summary_index
        if self.kind != "reasoning" or index > len(self._summaries):
            raise EventOrderError(f"summary {index} cannot come in a part of kind {self.kind} yet")
        if index == len(self._summaries):
            self._summaries.append([])
        self._summaries[index].append(delta.summary.text)

    def joined(self) -> Part:
        """The part as gathered so far; later deltas leave it as it is."""
        part = Part()
        part.CopyFrom(self.part)
        for path, fragments in self._fragments.items():
            owner: Any = part
            for name in path[:-1]:
                owner = getattr(owner, name)
            before = getattr(owner, path[-1])
            setattr(owner, path[-1], type(before)().join([before, *fragments]))
        if self._summaries:
            part.reasoning.summaries[:] = ["".join(fragments) for fragments in self._summaries]
        return part


class _OpenChoice:
    """One choice: its whole parts, the open one, its end."""

    def __init__(self, index: int) -> None:
        self.choice = Choice(index=index)
        self._open: _OpenPart | None = None

    @property
    def finished(self) -> bool:
        return self.choice.HasField("finish")

    def start(self, event: PartStart) -> Part:
        if self.finished or self._open is not None or event.part_index != len(self.choice.parts):
            raise EventOrderError(f"part {event.part_index} of choice {self.choice.index} cannot begin here")
        self._open = _OpenPart(event.part)
        return self._open.part

    def grow(self, delta: PartDelta) -> Part:
        whole = len(self.choice.parts)
        if self._open is not None and delta.part_index == whole:
            self._open.add(delta)
            return self._open.part
        # Gemini's grounding and Cohere's citations can name a part that has ended.
        if delta.WhichOneof("delta") == "citation" and delta.part_index < whole and not self.finished:
            part = self.choice.parts[delta.part_index]
            part.citations.append(delta.citation)
            return part
        raise EventOrderError(f"part {delta.part_index} of choice {self.choice.index} is not open")

    def stop(self, event: PartStop) -> Part:
        if self._open is None or event.part_index != len(self.choice.parts):
            raise EventOrderError(f"part {event.part_index} of choice {self.choice.index} is not open")
        part = event.part if event.HasField("part") else self._open.joined()
        self._open = None
        self.choice.parts.append(part)
        return self.choice.parts[-1]

    def finish(self, finish: Finish) -> Choice:
        if self.finished or self._open is not None:
            raise EventOrderError(f"choice {self.choice.index} cannot finish here")
        self.choice.finish.CopyFrom(finish)
        return self.choice

    def snapshot(self) -> Choice:
        choice = Choice()
        choice.CopyFrom(self.choice)
        if self._open is not None:
            choice.parts.append(self._open.joined())
        return choice


class Accumulator:
    """Takes events one by one and gives the answer so far at any time."""

    def __init__(self) -> None:
        self._head: MessageResponse | None = None
        self._choices: dict[int, _OpenChoice] = {}

    def feed(self, event: StreamEvent) -> None:
        """Take the next event.

        Raises:
            EventOrderError: the grammar does not allow it here. What was gathered before stays valid.

        """
        kind = event.WhichOneof("event")
        if kind == "response_start":
            if self._head is not None:
                raise EventOrderError("the answer began twice")
            self._head = MessageResponse()
            self._head.CopyFrom(event.response_start)
            self._head.extras.extend(event.extras)
        elif self._head is None:
            raise EventOrderError(f"{kind} came before response_start")
        elif kind == "usage":
            merge_usage(self._head.usage, event.usage)
            self._head.usage.extras.extend(event.extras)
        elif kind is not None and kind != "raw":
            self._feed_choice(event)

    def _feed_choice(self, event: StreamEvent) -> None:
        owner: Part | Choice
        if event.HasField("part_delta"):
            owner = self._choice(event.part_delta.choice_index).grow(event.part_delta)
        elif event.HasField("part_start"):
            owner = self._choice(event.part_start.choice_index).start(event.part_start)
        elif event.HasField("part_stop"):
            owner = self._choice(event.part_stop.choice_index).stop(event.part_stop)
        else:
            owner = self._choice(event.finish.choice_index).finish(event.finish)
        owner.extras.extend(event.extras)

    def _choice(self, index: int) -> _OpenChoice:
        choice = self._choices.get(index)
        if choice is None:
            choice = self._choices[index] = _OpenChoice(index)
        return choice

    @property
    def finished(self) -> bool:
        """Whether every choice that began has finished, and at least one did. More may follow until `completed`."""
        return bool(self._choices) and all(choice.finished for choice in self._choices.values())

    def response(self) -> MessageResponse:
        """The answer so far, as a message of its own; parts that are still open hold what has come.

        Each call costs time in proportion to the whole answer.
        """
        response = MessageResponse()
        if self._head is not None:
            response.CopyFrom(self._head)
        response.choices.extend(self._choices[index].snapshot() for index in sorted(self._choices))
        return response


def accumulate(events: Iterable[StreamEvent]) -> MessageResponse:
    """The answer that these events make.

    Raises:
        EventOrderError: an event came where the grammar does not allow it.

    """
    accumulator = Accumulator()
    for event in events:
        accumulator.feed(event)
    return accumulator.response()


def _replace_opaque(part: Part, state: OpaqueState) -> None:
    """State comes whole and replaces what is of the same kind: Anthropic's SDKs overwrite `signature` likewise."""
    for known in part.opaque:
        if (known.kind, known.kind_raw, known.origin) == (state.kind, state.kind_raw, state.origin):
            known.CopyFrom(state)
            return
    part.opaque.append(state)
