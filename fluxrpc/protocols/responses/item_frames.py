"""The frames of the items of a stream of OpenAI Responses: added, grown, done.

A message stays open until something comes that does not belong to it, because pieces of content that follow each other
are one message; a hosted tool's call waits for its result, because both are one item.
"""

from __future__ import annotations

from typing import Any

import msgspec

from fluxrpc.protocols.responses.growing_part import GrowingPart
from fluxrpc.protocols.responses.read_items import HOSTED_CALLS
from fluxrpc.protocols.responses.words import PHASES
from fluxrpc.protocols.responses.write_answer import AnswerWriter
from fluxrpc.protocols.responses.write_content import logprobs, written_citations
from fluxrpc.protocols.responses.write_items import hosted_item
from fluxrpc.protocols.responses.write_response import belongs_to_message, is_same_message
from fluxrpc.v1 import part_pb2 as pb
from fluxrpc.v1.stream_pb2 import PartDelta

__all__ = ["ItemFrames"]

_encode = msgspec.json.Encoder().encode
_TEXT = (
    b"event: response.output_text.delta\n"
    b'data: {"type":"response.output_text.delta","sequence_number":%d%b%b,"logprobs":[]}\n\n'
)
_EMPTY = {"text": {"type": "output_text", "text": "", "annotations": []}, "refusal": {"type": "refusal", "refusal": ""}}
_CALLS = {
    "function_call": ("response.function_call_arguments", "arguments"),
    "custom_tool_call": ("response.custom_tool_call_input", "input"),
}
"""Item type to the beginning of its events' names and the field that its `.done` repeats."""


class ItemFrames:
    """Gathers frames; `output` holds the items that are done."""

    def __init__(self, writer: AnswerWriter) -> None:
        self.output: list[Any] = []
        self.refusals: list[pb.Part] = []
        self._writer = writer
        self._frames: list[bytes] = []
        self._number = 0
        self._place: dict[str, Any] = {}
        """`item_id` and `output_index` of the open item."""
        self._message: list[pb.Part] = []
        """Pieces of the open message that are whole."""
        self._message_parts: list[int] = []
        """Their indexes in the IR."""
        self._is_message_open = False
        self._path = ""
        self._text_tail = b""
        self._held: pb.Part | None = None
        self._held_path = ""
        self._summary = -1
        self._waiting: list[pb.Citation] = []
        """Citations of the open text that name no place in it: it is of the whole, whose end is not known yet."""

    def taken(self) -> bytes:
        """The frames so far, which are then the caller's."""
        frames, self._frames = self._frames, []
        return b"".join(frames)

    def add(self, name: str, fields: dict[str, Any]) -> None:
        """One frame."""
        data = {"type": name, "sequence_number": self._number} | fields
        self._number += 1
        self._frames.append(b"event: %s\ndata: %s\n\n" % (name.encode(), _encode(data)))

    # --- parts ---

    def begin(self, opened: GrowingPart, path: str) -> None:
        """A part begins."""
        part, kind = opened.part, opened.kind
        if not (kind == "server_tool_result" and self._held is not None):
            self._release(None)
        if belongs_to_message(part):
            self._begin_piece(opened, path)
            return
        self._close_message("completed")
        self._path = path
        item = self._shell_item(part, kind)
        if item is not None:
            self._begin_item(item, part)

    def _shell_item(self, part: pb.Part, kind: str) -> dict[str, Any] | None:
        """How an item begins that is shown while it grows; None for those that come whole."""
        if kind == "reasoning":
            self._summary = -1
            return {"type": "reasoning", "summary": []}
        if kind == "tool_call":
            call = part.tool_call
            is_custom = call.HasField("custom_text")
            return {
                "type": "custom_tool_call" if is_custom else "function_call",
                "call_id": call.id,
                "name": call.name,
                "input" if is_custom else "arguments": "",
                "status": "in_progress",
            }
        if kind == "server_tool_call" and part.server_tool_call.kind_raw in HOSTED_CALLS:
            return hosted_item(part, None)
        return None

    def _begin_item(self, item: dict[str, Any], part: pb.Part) -> None:
        index = len(self.output)
        item_id = part.item_id or self._writer.made_up_id(item["type"], index)
        self._place = {"item_id": item_id, "output_index": index}
        added = {"type": item.pop("type"), "id": item_id} | item
        self.add("response.output_item.added", {"output_index": index, "item": added})

    def _begin_piece(self, opened: GrowingPart, path: str) -> None:
        part = opened.part
        if self._is_message_open and not is_same_message(self._message[-1], part):
            self._close_message("completed")
        if not self._is_message_open:
            item: dict[str, Any] = {"type": "message", "role": "assistant", "status": "in_progress"}
            phase = PHASES.write(part.phase, part.phase_raw if self._writer.is_own else "")
            if phase:
                item["phase"] = phase
            item["content"] = []
            self._begin_item(item, part)
            self._is_message_open = True
            self._path = path
        piece = _EMPTY.get(opened.kind) or self._writer.piece(part, path)
        self.add("response.content_part.added", self._content_place() | {"part": piece})
        place = _encode(self._content_place())
        self._text_tail = b"," + place[1:-1] + b',"delta":'

    def _content_place(self) -> dict[str, Any]:
        return self._place | {"content_index": len(self._message)}

    # --- growth ---

    def text(self, text: str) -> None:
        """More text: nearly all of a stream is this."""
        self._frames.append(_TEXT % (self._number, self._text_tail, _encode(text)))
        self._number += 1

    def grow(self, opened: GrowingPart, delta: PartDelta, name: str) -> None:
        """More of anything else."""
        if name == "text" and opened.kind == "text":
            fields = {"delta": delta.text, "logprobs": [_brief(each) for each in delta.logprobs]}
            self.add("response.output_text.delta", self._content_place() | fields)
        elif name == "refusal" and opened.kind == "refusal":
            self.add("response.refusal.delta", self._content_place() | {"delta": delta.refusal})
        elif name == "citation" and opened.kind == "text":
            if self._writer.is_own or delta.citation.HasField("end"):
                self._cite(opened.part, opened.text(), delta.citation, self._content_place())
            else:
                self._waiting.append(delta.citation)
        elif opened.kind == "reasoning":
            self._think(opened, delta, name)
        elif opened.kind == "tool_call" and name == "arguments":
            kind = "custom_tool_call" if opened.part.tool_call.HasField("custom_text") else "function_call"
            self.add(f"{_CALLS[kind][0]}.delta", self._place | {"delta": delta.arguments})

    def _think(self, opened: GrowingPart, delta: PartDelta, name: str) -> None:
        if name == "summary":
            self._grow_summary(delta.summary.summary_index, delta.summary.text, opened.summaries)
        elif name == "reasoning" and self._writer.is_own:
            self._end_summary(opened.summaries)
            self.add("response.reasoning_text.delta", self._place | {"content_index": 0, "delta": delta.reasoning})
        elif name == "reasoning":
            self._grow_summary(len(opened.summaries), delta.reasoning, opened.summaries)

    def _grow_summary(self, index: int, text: str, summaries: list[list[str]]) -> None:
        if index != self._summary:
            self._end_summary(summaries)
            self._summary = index
            part = {"type": "summary_text", "text": ""}
            self.add("response.reasoning_summary_part.added", self._place | {"summary_index": index, "part": part})
        if text:
            self.add("response.reasoning_summary_text.delta", self._place | {"summary_index": index, "delta": text})

    def _end_summary(self, summaries: list[list[str]]) -> None:
        """The open summary is whole, if there is one."""
        index, self._summary = self._summary, -1
        if not 0 <= index < len(summaries):
            return
        text = "".join(summaries[index])
        place = self._place | {"summary_index": index}
        part = {"type": "summary_text", "text": text}
        self.add("response.reasoning_summary_text.done", place | {"text": text})
        self.add("response.reasoning_summary_part.done", place | {"part": part})

    def _cite_whole(self, part: pb.Part, piece: Any) -> None:
        """The citations that waited for the end of their text."""
        for citation in self._waiting:
            alone = pb.Part(text=part.text, citations=[citation])
            for found in written_citations(alone, self._writer.notes, self._path, "CITATION"):
                fields = {"annotation_index": piece["annotations"].index(found), "annotation": found}
                self.add("response.output_text.annotation.added", self._content_place() | fields)
        self._waiting = []

    def _cite(self, part: pb.Part, text: str, citation: pb.Citation, place: dict[str, Any]) -> None:
        before = len(written_citations(part, self._writer.notes, self._path, "CITATION")) - 1
        alone = pb.Part(text=text, citations=[citation])
        for found in written_citations(alone, self._writer.notes, self._path, "CITATION"):
            fields = {"annotation_index": before, "annotation": found}
            self.add("response.output_text.annotation.added", place | fields)

    def cite_late(self, part_index: int, citation: pb.Citation) -> None:
        """A citation of a piece that is whole, in a message that is still open."""
        if part_index not in self._message_parts:
            self._writer.notes.dropped("CITATION", f"choices[0].parts[{part_index}].citations")
            return
        at = self._message_parts.index(part_index)
        part = self._message[at]
        part.citations.append(citation)
        self._cite(part, part.text, citation, self._place | {"content_index": at})

    # --- ends ---

    def end(self, opened: GrowingPart, whole: pb.Part, part_index: int) -> None:
        """A part is whole."""
        if belongs_to_message(opened.part):
            self._end_piece(whole, part_index)
        elif opened.kind == "server_tool_call":
            self._held, self._held_path = whole, self._path
        elif opened.kind == "server_tool_result" and self._held is not None:
            self._release(whole)
        else:
            self._end_item(whole, None, opened)

    def _end_piece(self, whole: pb.Part, part_index: int) -> None:
        place = self._content_place()
        piece = self._writer.piece(whole, self._path)
        if whole.HasField("refusal"):
            self.refusals.append(whole)
            self.add("response.refusal.done", place | {"refusal": whole.refusal})
        elif not whole.HasField("raw"):
            self._cite_whole(whole, piece)
            found = [_brief(each) for each in whole.logprobs]
            self.add("response.output_text.done", place | {"text": whole.text, "logprobs": found})
        self.add("response.content_part.done", place | {"part": piece})
        kept = pb.Part()
        kept.CopyFrom(whole)
        self._message.append(kept)
        self._message_parts.append(part_index)

    def end_message(self, status: str) -> None:
        """Nothing more belongs to the open message, if there is one."""
        self._release(None)
        self._close_message(status)

    def _close_message(self, status: str) -> None:
        if not self._is_message_open:
            return
        parts, self._message, self._message_parts = self._message, [], []
        self._is_message_open = False
        written = "incomplete" if status == "incomplete" else "completed"
        item = self._writer.message(parts, self._place["item_id"], self._path, written)
        self._done(item, parts[-1])

    def _release(self, result: pb.Part | None) -> None:
        """The call that waited for its result."""
        held, self._held = self._held, None
        if held is not None:
            self._path = self._held_path
            self._end_item(held, result, None)

    def _end_item(self, whole: pb.Part, result: pb.Part | None, opened: GrowingPart | None) -> None:
        index = len(self.output)
        item = self._writer.item(whole, result, index, self._path)
        if item is None:
            return
        if opened is None and whole.server_tool_call.kind_raw not in HOSTED_CALLS:
            self._begin_item(dict(item), whole)
        elif opened is not None and opened.kind == "reasoning":
            self._end_thought(whole.reasoning)
        elif opened is not None and opened.kind == "tool_call":
            self._end_call(item, opened)
        elif opened is not None:
            self.add("response.output_item.added", {"output_index": index, "item": item})
        self._done(item, whole)

    def _end_thought(self, thought: pb.Reasoning) -> None:
        summaries = [[summary] for summary in thought.summaries]
        if self._writer.is_own:
            self._end_summary(summaries)
            if thought.text:
                fields = {"content_index": 0, "text": thought.text}
                self.add("response.reasoning_text.done", self._place | fields)
        else:
            self._end_summary([*summaries, [thought.text]])

    def _end_call(self, item: dict[str, Any], opened: GrowingPart) -> None:
        name, field = _CALLS[item["type"]]
        if item[field] and not opened.fragments:
            self.add(f"{name}.delta", self._place | {"delta": item[field]})
        self.add(f"{name}.done", self._place | {field: item[field]})

    def _done(self, item: Any, last: pb.Part) -> None:
        """An item is done; behind it goes the state that its last part carries."""
        index = len(self.output)
        self.add("response.output_item.done", {"output_index": index, "item": item})
        self.output.append(msgspec.Raw(_encode(item)))
        signature = self._writer.signature(last, index + 1)
        if signature is not None:
            self.add("response.output_item.added", {"output_index": index + 1, "item": signature})
            self.add("response.output_item.done", {"output_index": index + 1, "item": signature})
            self.output.append(msgspec.Raw(_encode(signature)))


def _brief(token: pb.TokenLogprob) -> dict[str, Any]:
    """A probability as events have it: without bytes."""
    written = logprobs(token)
    for each in (written, *written["top_logprobs"]):
        del each["bytes"]
    return written
