"""`StreamEvent`s to a stream of OpenAI Responses.

Every event is numbered, names its item and its place, and the end of each thing repeats the whole of it; the last event
repeats the answer. So this writer keeps the answer, as encoded items, and of the open part its pieces.

Invariant: items have the form that a whole answer gives them, because the same code writes both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from fluxrpc.ir.usage import merge_usage
from fluxrpc.protocols.context import Context
from fluxrpc.protocols.notes import Notes
from fluxrpc.protocols.responses.growing_part import GrowingPart
from fluxrpc.protocols.responses.item_frames import ItemFrames
from fluxrpc.protocols.responses.write_answer import AnswerWriter
from fluxrpc.protocols.responses.write_response import refusal_of
from fluxrpc.v1 import response_pb2 as pb
from fluxrpc.v1.protocol_pb2 import PROTOCOL_RESPONSES
from fluxrpc.v1.stream_pb2 import PartDelta, RawEvent, StreamEvent
from fluxrpc.v1.usage_pb2 import Usage

__all__ = ["ResponsesEventWriter"]

_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])


class ResponsesEventWriter:
    """Writes one stream."""

    def __init__(self, context: Context, notes: Notes) -> None:
        self._writer = AnswerWriter(context, notes)
        self._notes = notes
        self._frames = ItemFrames(self._writer)
        self._head: dict[str, Any] = {}
        self._choice = pb.Choice()
        self._usage: Usage | None = None
        self._open: GrowingPart | None = None
        self._open_index = -1

    def write(self, events: Sequence[StreamEvent]) -> bytes:
        """See `EventWriter.write`."""
        for event in events:
            kind = event.WhichOneof("event")
            if kind == "part_delta":
                self._grow(event.part_delta)
            elif kind is not None:
                _HANDLERS[kind](self, event)
        return self._frames.taken()

    def close(self) -> bytes:
        """See `EventWriter.close`."""
        frames = self._frames
        frames.end_message("completed")
        fields = self._head
        self._writer.end(fields, frames.output, self._choice, self._usage)
        frames.add(self._writer.end_of(self._choice.finish).event, {"response": fields})
        return frames.taken()

    def _start(self, event: StreamEvent) -> None:
        response = event.response_start
        self._head = self._writer.head(response)
        if response.HasField("usage"):
            self._report(response.usage)
        for name in ("response.created", "response.in_progress"):
            self._frames.add(name, {"response": self._head})

    def _begin_part(self, event: StreamEvent) -> None:
        start = event.part_start
        if start.choice_index:
            self._notes.dropped("ANSWER_CHOICES", f"choices[{start.choice_index}]")
            return
        self._open = GrowingPart(start.part)
        self._open.part.extras.extend(event.extras)
        self._open_index = start.part_index
        self._frames.begin(self._open, f"choices[0].parts[{start.part_index}]")

    def _grow(self, delta: PartDelta) -> None:
        opened = self._open
        if delta.choice_index:
            return
        if opened is None or delta.part_index != self._open_index:
            if delta.HasField("citation"):
                self._frames.cite_late(delta.part_index, delta.citation)
            return
        name = delta.WhichOneof("delta")
        if name == "text" and not delta.logprobs and opened.kind == "text":
            text = delta.text
            opened.fragments.append(text)
            self._frames.text(text)
        else:
            opened.grow(delta, name or "")
            self._frames.grow(opened, delta, name or "")

    def _end_part(self, event: StreamEvent) -> None:
        stop, opened = event.part_stop, self._open
        if stop.choice_index or opened is None:
            return
        whole = stop.part if stop.HasField("part") else opened.whole()
        self._frames.end(opened, whole, stop.part_index)
        self._open = None

    def _finish(self, event: StreamEvent) -> None:
        finish = event.finish
        if finish.choice_index:
            return
        self._choice.finish.CopyFrom(finish)
        self._choice.extras.extend(event.extras)
        for part in refusal_of(finish, self._frames.refusals):
            self._open = GrowingPart(part)
            self._frames.begin(self._open, "choices[0].finish")
            self._frames.end(self._open, part, -1)
            self._open = None
        self._frames.end_message(self._writer.end_of(finish).status)

    def _report(self, usage: Usage) -> None:
        if self._usage is None:
            self._usage = Usage()
        merge_usage(self._usage, usage)

    def _take_usage(self, event: StreamEvent) -> None:
        self._report(event.usage)

    def _repeat(self, event: StreamEvent) -> None:
        """An event that only this protocol knows gets a number of ours."""
        raw: RawEvent = event.raw
        if raw.protocol != PROTOCOL_RESPONSES:
            self._notes.dropped("ANSWER_EXTRA", raw.name)
            return
        fields = _OBJECT.decode(raw.data_json)
        fields.pop("type", None)
        fields.pop("sequence_number", None)
        self._frames.add(raw.name, fields)


_HANDLERS = {
    "response_start": ResponsesEventWriter._start,  # noqa: SLF001  # its own methods
    "part_start": ResponsesEventWriter._begin_part,  # noqa: SLF001  # its own methods
    "part_stop": ResponsesEventWriter._end_part,  # noqa: SLF001  # its own methods
    "finish": ResponsesEventWriter._finish,  # noqa: SLF001  # its own methods
    "usage": ResponsesEventWriter._take_usage,  # noqa: SLF001  # its own methods
    "raw": ResponsesEventWriter._repeat,  # noqa: SLF001  # its own methods
}
