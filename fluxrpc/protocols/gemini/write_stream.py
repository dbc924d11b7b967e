"""Events to a stream of Gemini: frames that are partial answers.

Text goes out as it comes. Calls are held until they are whole, for a call stands in one frame; so are images and parts
of tools. Finish reasons and usage are said on the last frame, and nothing follows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import field

from fluxrpc.ir.usage import merge_usage
from fluxrpc.protocols.answer_items import BETWEEN_ITEMS, next_item
from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.context import Context
from fluxrpc.protocols.gemini.grounding import Grounding, written_grounding
from fluxrpc.protocols.gemini.offsets import Offsets
from fluxrpc.protocols.gemini.usage import written_usage
from fluxrpc.protocols.gemini.wire import GEMINI
from fluxrpc.protocols.gemini.write_answer import (
    note_trimmings,
    signature_of,
    write_finish,
    written_logprobs,
    written_part,
)
from fluxrpc.protocols.gemini.write_response import METADATA, written_feedback, written_head, written_traffic
from fluxrpc.protocols.node import merge_extras
from fluxrpc.protocols.notes import Notes
from fluxrpc.v1.part_pb2 import Part
from fluxrpc.v1.protocol_pb2 import Extra
from fluxrpc.v1.response_pb2 import Finish, MessageResponse
from fluxrpc.v1.stream_pb2 import PartDelta, PartStop, StreamEvent, SummaryDelta
from fluxrpc.v1.usage_pb2 import Usage

__all__ = ["GeminiEventWriter"]

_ENCODE = msgspec.json.Encoder().encode
_ONE_LINE = bytes.maketrans(b"\r\n", b"  ")
"""Between the tokens of JSON text that is carried as it stands; within strings they cannot be."""
_TEXTS = {
    "text": ("text",),
    "refusal": ("refusal",),
    "reasoning": ("reasoning", "text"),
    "compaction": ("compaction", "text"),
}
"""Kinds of parts that go out as they grow, to where their text is."""
_APPROXIMATED = {"refusal": "ANSWER_REFUSAL", "compaction": "COMPACTION"}
_THOUGHTS = frozenset({"reasoning", "compaction"})


class _Choice(msgspec.Struct):
    """How far one candidate has come."""

    index: int
    part: Part = field(default_factory=Part)
    kind: str = ""
    pieces: list[Any] = []
    """What came of a part that is held."""
    summary: int = -1
    has_grown: bool = False
    texts: list[Offsets | None] = []
    measured: Offsets | None = None
    """Where the open text is measured."""
    written: list[int] = []
    """Of each part the index that it has in a whole answer; -1 where it is left out."""
    count: int = 0
    """How many parts a whole answer would have so far."""
    item: str = ""
    begins_item: bool = False
    """The open text begins a message of its own."""
    cited: list[Grounding] = []
    finish: Finish | None = None
    extras: list[Extra] = []

    def place(self) -> None:
        """The open part is written: it takes the next place."""
        self.written[-1] = self.count
        self.count += 1

    @property
    def path(self) -> str:
        return f"choices[{self.index}].parts[{len(self.texts) - 1}]"


class GeminiEventWriter:
    """See `EventWriter`."""

    def __init__(self, context: Context, notes: Notes) -> None:
        self._own = context.target.protocol is Protocol.GEMINI
        self._notes = notes
        self._choices: dict[int, _Choice] = {}
        self._head = MessageResponse()
        self._tail = b"}\n\n"
        self._usage: Usage | None = None

    def write(self, events: Sequence[StreamEvent]) -> bytes:
        """See `EventWriter.write`."""
        frames: list[bytes] = []
        for event in events:
            kind = event.WhichOneof("event")
            if kind == "part_delta":
                self._take_delta(event.part_delta, frames)
            elif kind == "part_start":
                start = event.part_start
                self._start(self._choice(start.choice_index), start.part, event, frames)
            elif kind == "part_stop":
                self._stop(self._choice(event.part_stop.choice_index), event.part_stop, frames)
            elif kind == "response_start":
                self._begin(event)
            elif kind == "finish":
                choice = self._choice(event.finish.choice_index)
                choice.finish = event.finish
                choice.extras.extend(event.extras)
            elif kind == "usage":
                self._usage = Usage() if self._usage is None else self._usage
                merge_usage(self._usage, event.usage)
            elif kind == "raw":
                self._take_raw(event, frames)
        return b"".join(frames)

    def close(self) -> bytes:
        """See `EventWriter.close`."""
        body: dict[str, Any] = {}
        choices = [self._choices[index] for index in sorted(self._choices)]
        refused = [choice.finish for choice in choices if choice.finish and choice.finish.prompt_blocked]
        if refused:
            body["promptFeedback"] = written_feedback(refused[0], own=self._own)
        else:
            body["candidates"] = [self._last_of(choice) for choice in choices]
        if self._usage is not None:
            body["usageMetadata"] = written_usage(self._usage, self._notes, written_traffic(self._head))
        body |= written_head(self._head)
        merge_extras(body, self._head.extras, GEMINI)
        return b"data: " + _ENCODE(body).translate(_ONE_LINE) + b"\n\n"

    def _begin(self, event: StreamEvent) -> None:
        self._head.CopyFrom(event.response_start)
        self._notes.foreign_extras(self._head.extras, GEMINI, "", "ANSWER_EXTRA")
        head = written_head(self._head)
        if head:
            self._tail = b"," + _ENCODE(head)[1:] + b"\n\n"
        if self._head.HasField("usage"):
            self._usage = Usage()
            self._usage.CopyFrom(self._head.usage)

    def _choice(self, index: int) -> _Choice:
        choice = self._choices.get(index)
        if choice is None:
            choice = self._choices[index] = _Choice(index)
        return choice

    def _start(self, choice: _Choice, shell: Part, event: StreamEvent, frames: list[bytes]) -> None:
        kind = shell.WhichOneof("kind") or ""
        part = Part()
        part.CopyFrom(shell)
        part.extras.extend(event.extras)
        choice.part, choice.kind, choice.pieces = part, kind, []
        choice.summary, choice.has_grown, choice.begins_item = -1, False, False
        choice.measured = Offsets() if kind in {"text", "refusal"} else None
        choice.texts.append(choice.measured)
        choice.written.append(-1)
        if kind == "text":
            choice.begins_item, choice.item = next_item(choice.item, shell)
        code = _APPROXIMATED.get(kind)
        if code is not None:
            self._notes.approximated(code, choice.path)
        way = _TEXTS.get(kind, ())
        text: Any = part if way else ""
        for step in way:
            text = getattr(text, step)
        if text:
            self._grow(choice, text, frames)

    def _take_delta(self, delta: PartDelta, frames: list[bytes]) -> None:
        choice = self._choice(delta.choice_index)
        kind = delta.WhichOneof("delta")
        if kind == "text" or kind == "reasoning" or kind == "refusal":  # noqa: PLR1714  # faster than a set
            if delta.logprobs:
                self._grow(choice, getattr(delta, kind), frames, {"logprobsResult": written_logprobs(delta.logprobs)})
            else:
                self._grow(choice, getattr(delta, kind), frames)
        elif kind == "summary":
            self._take_summary(choice, delta.summary, frames)
        elif kind == "citation":
            choice.cited.append((delta.part_index, delta.citation))
        elif kind == "opaque":
            choice.part.opaque.append(delta.opaque)
        elif kind == "transcript":
            self._notes.dropped("ANSWER_AUDIO", f"{choice.path}.audio.transcript")
        elif kind is not None:
            choice.pieces.append(getattr(delta, kind))
        elif delta.logprobs:
            self._grow(choice, "", frames, {"logprobsResult": written_logprobs(delta.logprobs)})

    def _take_summary(self, choice: _Choice, summary: SummaryDelta, frames: list[bytes]) -> None:
        if summary.text:
            gap = "\n\n" if choice.has_grown and summary.summary_index != choice.summary else ""
            choice.summary = summary.summary_index
            self._grow(choice, gap + summary.text, frames)

    def _grow(self, choice: _Choice, text: str, frames: list[bytes], more: dict[str, Any] | None = None) -> None:
        """A frame with a piece of text, and with more fields of its candidate."""
        if not choice.has_grown:
            self._begin_text(choice, frames)
        end = b',"thought":true}],"role":"model"},"index":%d' if choice.kind in _THOUGHTS else _TEXT_END
        frames.append(
            b'data: {"candidates":[{"content":{"parts":[{"text":'
            + _ENCODE(text)
            + end % choice.index
            + (b"," + _ENCODE(more)[1:-1] if more else b"")
            + b"}]"
            + self._tail
        )
        if choice.measured is not None:
            choice.measured.feed(text)

    def _begin_text(self, choice: _Choice, frames: list[bytes]) -> None:
        choice.has_grown = True
        if choice.begins_item:
            choice.begins_item = False
            choice.count += 1
            self._put(choice, {"text": BETWEEN_ITEMS}, frames)
        choice.place()

    def _stop(self, choice: _Choice, stop: PartStop, frames: list[bytes]) -> None:
        part = choice.part
        if choice.kind in _TEXTS:
            self._end_text(choice, part, frames)
            return
        if stop.HasField("part"):
            part = stop.part
        else:
            _put_pieces(part, choice.kind, choice.pieces)
        written = written_part(part, choice.path, self._notes)
        if written is not None:
            choice.place()
            self._put(choice, written, frames)

    def _end_text(self, choice: _Choice, part: Part, frames: list[bytes]) -> None:
        """What a text leaves behind: a signature comes on a part of its own, with empty text."""
        wire: dict[str, Any] = {"text": ""}
        if choice.kind in _THOUGHTS:
            wire["thought"] = True
        length = len(wire)
        signature = signature_of(part.opaque)
        if signature:
            wire["thoughtSignature"] = signature
        note_trimmings(part, choice.path, self._notes)
        self._notes.foreign_extras(part.extras, GEMINI, choice.path, "ANSWER_EXTRA")
        merge_extras(wire, part.extras, GEMINI)
        if len(wire) > length:
            if not choice.has_grown:
                choice.place()
            self._put(choice, wire, frames)

    def _put(self, choice: _Choice, part: dict[str, Any], frames: list[bytes]) -> None:
        candidate = {"content": {"parts": [part], "role": "model"}, "index": choice.index}
        frames.append(b'data: {"candidates":[' + _ENCODE(candidate).translate(_ONE_LINE) + b"]" + self._tail)

    def _take_raw(self, event: StreamEvent, frames: list[bytes]) -> None:
        if event.raw.protocol == GEMINI:
            frames.append(b"data: " + event.raw.data_json.encode().translate(_ONE_LINE) + b"\n\n")
        else:
            self._notes.dropped("ANSWER_EXTRA", event.raw.name or "event")

    def _last_of(self, choice: _Choice) -> dict[str, Any]:
        """The end of a candidate."""
        candidate: dict[str, Any] = {
            "content": {"parts": [{"text": ""}], "role": "model"},
            "index": choice.index,
        }
        path = f"choices[{choice.index}]"
        finish = choice.finish or Finish(choice_index=choice.index)
        write_finish(candidate, finish, self._notes, own=self._own)
        cited = [(choice.written[at], citation) for at, citation in choice.cited if choice.written[at] >= 0]
        texts = dict(zip(choice.written, choice.texts, strict=True))
        grounding = written_grounding(cited, [texts.get(at) for at in range(choice.count)], self._notes, path)
        if grounding and not any(extra.key in METADATA for extra in choice.extras):
            candidate["groundingMetadata"] = grounding
        self._notes.foreign_extras(choice.extras, GEMINI, path, "ANSWER_EXTRA")
        merge_extras(candidate, choice.extras, GEMINI)
        merge_extras(candidate, finish.extras, GEMINI)
        return candidate


_TEXT_END = b'}],"role":"model"},"index":%d'


def _put_pieces(part: Part, kind: str, pieces: list[Any]) -> None:
    """The deltas of a part that was held, into the part."""
    if not pieces:
        return
    if kind == "tool_call":
        call = part.tool_call
        field = "custom_text" if call.WhichOneof("input") == "custom_text" else "arguments_json"
        setattr(call, field, getattr(call, field) + "".join(pieces))
    elif kind == "server_tool_call":
        part.server_tool_call.input_json += "".join(pieces)
    else:
        media = getattr(part, kind)
        media.data += b"".join(pieces)
