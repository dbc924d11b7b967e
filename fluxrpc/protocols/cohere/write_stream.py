"""Events to the stream that callers of Cohere Chat, version 2, expect.

Blocks of content, calls and citations have indexes of their own; a plan has none. Hidden reasoning opens no block.
Finish and usage come in `message-end`, the last event, so they are held back for it.

Invariant: every block that starts ends, and nothing of a part is kept but where it stands and how long it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from fluxrpc.ir.usage import merge_usage
from fluxrpc.protocols.cohere.citations import PLAN, TEXT, THINKING, Place, written_citation
from fluxrpc.protocols.cohere.finish import written_finish
from fluxrpc.protocols.cohere.logprobs import written_items
from fluxrpc.protocols.cohere.usage import written_usage
from fluxrpc.protocols.cohere.write_answer import (
    BLOCKS,
    LAZY,
    NO_ARGUMENTS,
    note_answer,
    note_citation,
    note_part,
    note_said,
    text_in,
    written_call,
)
from fluxrpc.protocols.cohere.write_messages import written_arguments
from fluxrpc.protocols.context import Context
from fluxrpc.protocols.node import raw
from fluxrpc.protocols.notes import Notes
from fluxrpc.v1.part_pb2 import TEXT_PHASE_PLAN, Citation, Part, TokenLogprob, ToolCall
from fluxrpc.v1.protocol_pb2 import PROTOCOL_COHERE
from fluxrpc.v1.response_pb2 import Finish, MessageResponse
from fluxrpc.v1.stream_pb2 import PartDelta, PartStart, PartStop, RawEvent, StreamEvent
from fluxrpc.v1.usage_pb2 import Usage

__all__ = ["CohereEventWriter"]

_encode = msgspec.json.Encoder().encode
_HOLE: Final = "\0"
"""Stands where text goes in a frame; JSON escapes it."""
_BREAKS: Final = bytes.maketrans(b"\r\n", b"  ")
_CLOSE: Final = b"}\n\n"


def _frame(kind: str, fields: dict[str, Any]) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), _one_line(_encode({"type": kind, **fields})))


def _one_line(text: bytes) -> bytes:
    """JSON in one line: records that are embedded as they came may hold line breaks, outside of strings only."""
    return text.translate(_BREAKS) if b"\n" in text or b"\r" in text else text


class _Open(msgspec.Struct):
    """The part that grows: the frames around it, and how those of its text begin and end."""

    kind: str
    path: str
    part_index: int = 0
    block: str = ""
    """Field of its text in a block of content; "" where it is none."""
    start: bytes = b""
    """The frame that opens it, while it waits to be written."""
    head: bytes = b""
    """b"": it cannot grow."""
    tail: bytes = b""
    end: bytes = b""
    length: int = 0
    source: str = ""
    """By which delta it grows: reasoning and its summaries are not mixed."""
    summary: int = 0
    """Which summary grew last."""
    waiting: list[Citation] = msgspec.field(default_factory=list)
    """Citations of the whole part: they wait for its end."""
    held: list[str] | None = None
    """Free text of a call, which is written as one string within an object."""


class CohereEventWriter:
    """See `fluxrpc.protocols.base.EventWriter`."""

    def __init__(self, context: Context, notes: Notes) -> None:
        self._context = context
        self._notes = notes
        self._usage = Usage()
        self._finish = Finish()
        self._has_usage = False
        self._open = _Open("", "", -1)
        self._blocks = 0
        self._calls = 0
        self._citations = 0
        self._places: dict[int, Place] = {}

    def write(self, events: Sequence[StreamEvent]) -> bytes:
        """See `EventWriter.write`."""
        frames: list[bytes] = []
        for event in events:
            kind = event.WhichOneof("event")
            if kind == "part_delta":
                self._write_delta(event.part_delta, frames)
            elif kind is not None:
                self._write_event(kind, event, frames)
        return b"".join(frames)

    def close(self) -> bytes:
        """See `EventWriter.close`."""
        delta: dict[str, Any] = {
            "finish_reason": written_finish(self._finish, self._context, self._notes, "choices[0].finish")
        }
        if self._has_usage:
            delta["usage"] = written_usage(self._usage, self._notes)
        return _frame("message-end", {"delta": delta})

    def _write_event(self, kind: str, event: StreamEvent, frames: list[bytes]) -> None:
        if kind == "response_start":
            frames.append(self._begin(event.response_start))
        elif kind == "usage":
            self._count(event.usage)
        elif kind == "raw":
            self._write_raw(event.raw, frames)
        elif getattr(event, kind).choice_index:
            self._notes.dropped("ANSWER_CHOICES", "choices[1]")
        elif kind == "part_start":
            self._start_part(event.part_start, frames)
        elif kind == "part_stop":
            self._stop_part(event.part_stop, frames)
        else:
            self._finish = event.finish

    def _begin(self, head: MessageResponse) -> bytes:
        note_answer(head, self._notes)
        if head.HasField("usage"):
            self._count(head.usage)
        return _frame("message-start", {"id": head.id, "delta": {"message": {"role": "assistant"}}})

    def _count(self, usage: Usage) -> None:
        self._has_usage = True
        merge_usage(self._usage, usage)

    def _write_raw(self, event: RawEvent, frames: list[bytes]) -> None:
        if event.protocol != PROTOCOL_COHERE:
            self._notes.dropped("ANSWER_RAW_PART", "choices[0]")
            return
        name, data = (_one_line(text.encode()) for text in (event.name, event.data_json))
        frames.append(b"event: %b\ndata: %b\n\n" % (name, data))

    # --- parts ---

    def _start_part(self, event: PartStart, frames: list[bytes]) -> None:
        part = event.part
        kind = part.WhichOneof("kind") or ""
        path = f"choices[0].parts[{event.part_index}]"
        note_part(part, path, self._notes)
        self._open = _Open(kind, path, event.part_index)
        if kind == "tool_call":
            self._open_call(part)
        elif kind == "raw" and part.raw.protocol == PROTOCOL_COHERE:
            self._open_block(raw(part.raw.body_json))
        elif part.phase == TEXT_PHASE_PLAN:
            self._places[event.part_index] = Place(PLAN, None, 0)
            self._grow_in("tool-plan-delta", {"delta": {"message": {"tool_plan": _HOLE}}})
        elif kind in BLOCKS:
            block = self._open.block = BLOCKS[kind]
            self._open_block({"type": block, block: ""})
            self._grow_in("content-delta", {"index": self._blocks, "delta": {"message": {"content": {block: _HOLE}}}})
        if self._open.start and kind not in LAZY:
            self._flush_start(frames)
        text = part.tool_call.arguments_json or part.tool_call.custom_text or text_in(part)
        if text and self._open.head:
            self._grow(text, (), frames)

    def _open_call(self, part: Part) -> None:
        index, self._calls = self._calls, self._calls + 1
        call = written_call(part, "")
        self._open.start = _frame("tool-call-start", {"index": index, "delta": {"message": {"tool_calls": call}}})
        self._open.end = _frame("tool-call-end", {"index": index})
        grown = {"function": {"arguments": _HOLE}}
        self._grow_in("tool-call-delta", {"index": index, "delta": {"message": {"tool_calls": grown}}})
        if part.tool_call.HasField("custom_text"):
            self._open.held = []

    def _open_block(self, content: Any) -> None:
        """The index is that of the next block: it is taken once the frame that opens it is written."""
        self._open.start = _frame("content-start", {"index": self._blocks, "delta": {"message": {"content": content}}})
        self._open.end = _frame("content-end", {"index": self._blocks})

    def _grow_in(self, kind: str, fields: dict[str, Any]) -> None:
        self._open.head, self._open.tail = _frame(kind, fields).split(_encode(_HOLE))

    def _flush_start(self, frames: list[bytes]) -> None:
        now = self._open
        frames.append(now.start)
        now.start = b""
        if now.kind != "tool_call":
            kind = THINKING if now.block == "thinking" else TEXT
            self._places[now.part_index] = Place(kind, self._blocks, 0)
            self._blocks += 1

    def _write_delta(self, delta: PartDelta, frames: list[bytes]) -> None:
        kind = delta.WhichOneof("delta")
        logprobs = delta.logprobs
        if delta.choice_index or (kind is None and not logprobs):
            return
        if kind == "citation":
            self._cite(delta, frames)
        elif kind == "opaque":
            self._notes.dropped("REASONING_STATE", f"choices[0].parts[{delta.part_index}].opaque")
        elif kind == "summary":
            self._grow_summary(delta, frames)
        elif self._open.head:
            if logprobs and any(token.alternatives for token in logprobs):
                self._notes.dropped("ANSWER_LOGPROBS", f"{self._open.path}.logprobs")
            text = "" if kind is None else getattr(delta, kind)
            if self._open.source in ("", kind):
                self._open.source = kind or ""
                self._grow(text, logprobs, frames)

    def _grow(self, text: str, logprobs: Sequence[TokenLogprob], frames: list[bytes]) -> None:
        now = self._open
        if now.start:
            self._flush_start(frames)
        if now.held is not None:
            now.held.append(text)
            return
        now.length += len(text)
        tail = now.tail
        if logprobs and now.block:
            tail = b'%b,"logprobs":%b}\n\n' % (tail[: -len(_CLOSE)], _encode(_joined(logprobs)))
        frames.append(now.head + _encode(text) + tail)

    def _grow_summary(self, delta: PartDelta, frames: list[bytes]) -> None:
        now = self._open
        if now.source not in ("", "summary") or not now.head:
            return
        gap = "\n\n" if delta.summary.summary_index != now.summary else ""
        now.source, now.summary = "summary", delta.summary.summary_index
        self._grow(gap + delta.summary.text, (), frames)

    def _cite(self, delta: PartDelta, frames: list[bytes]) -> None:
        """A citation, also of a part that has ended. One of what was not written is lost with it."""
        note_citation(delta.citation, f"choices[0].parts[{delta.part_index}]", self._notes)
        is_open = delta.part_index == self._open.part_index
        if is_open and not delta.citation.HasField("start"):
            self._open.waiting.append(delta.citation)
        elif (place := self._places.get(delta.part_index)) is not None:
            if is_open:
                place = msgspec.structs.replace(place, length=self._open.length)
            self._write_citation(delta.citation, place, frames)

    def _write_citation(self, citation: Citation, place: Place, frames: list[bytes]) -> None:
        index, self._citations = self._citations, self._citations + 1
        written = written_citation(citation, place)
        frames.append(_frame("citation-start", {"index": index, "delta": {"message": {"citations": written}}}))
        frames.append(_frame("citation-end", {"index": index}))

    def _stop_part(self, event: PartStop, frames: list[bytes]) -> None:
        now = self._open
        whole = event.part.tool_call.arguments_json or text_in(event.part)
        if now.held is not None:
            call = ToolCall(custom_text="".join(now.held) or event.part.tool_call.custom_text)
            whole, now.held = written_arguments(call), None
        if not now.length and now.head:
            text = whole or (NO_ARGUMENTS if now.kind == "tool_call" else "")
            if text:
                self._grow(text, (), frames)
        if now.kind in BLOCKS or not now.end:
            note_said(now.kind, now.path, self._notes, has_text=bool(now.length))
        place = self._places.get(now.part_index)
        if place is not None:
            place = self._places[now.part_index] = msgspec.structs.replace(place, length=now.length)
            for citation in now.waiting:
                self._write_citation(citation, place, frames)
        if now.end and not now.start:
            frames.append(now.end)
        self._open = _Open("", "", -1)


def _joined(logprobs: Sequence[TokenLogprob]) -> dict[str, Any]:
    """One item for all tokens of an increment."""
    items = written_items(logprobs)
    first = items[0]
    for item in items[1:]:
        first = {key: first[key] + item[key] for key in first}
    return first
