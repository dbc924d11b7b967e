"""A stream of OpenAI Responses to `StreamEvent`s.

Items may in principle grow side by side, parts of the IR do not: what comes for a later item waits until the one that
is open is done. `.done` events repeat what deltas said; only what was not said yet is taken from them.

Invariant: real, malformed, failed and complete is what `ResponsesWatch` takes for it.
"""

from __future__ import annotations

from typing import Any

import msgspec

from fluxrpc.errors import ProviderError
from fluxrpc.protocols.base import Protocol, StreamOptions
from fluxrpc.protocols.context import Context
from fluxrpc.protocols.event_reader import EventReader
from fluxrpc.protocols.json_text import Index, JsonFault, decode_answer, decode_halves, without_halves
from fluxrpc.protocols.node import Node
from fluxrpc.protocols.responses.errors import error_of
from fluxrpc.protocols.responses.live_item import LiveItem
from fluxrpc.protocols.responses.read_items import parts_of
from fluxrpc.protocols.responses.read_response import (
    content_reader,
    finish_of,
    read_head,
    split_extras,
    usage_of,
)
from fluxrpc.protocols.responses.response import RESPONSE
from fluxrpc.protocols.responses.stream import ENDS, FAILURES, OPENING, SHELLS
from fluxrpc.protocols.stream_watch import DROP, PASS, REAL, REAL_LAST
from fluxrpc.sse import Frame
from fluxrpc.v1 import response_pb2 as pb
from fluxrpc.v1.protocol_pb2 import PROTOCOL_RESPONSES
from fluxrpc.v1.stream_pb2 import RawEvent, StreamEvent

__all__ = ["ResponsesEventReader"]


class _Event(msgspec.Struct):
    """What all events have, and the texts that they may have."""

    type: str | None = None
    output_index: Index = 0
    content_index: Index = 0
    summary_index: Index = 0
    item_id: str | None = None
    delta: Any = None
    text: Any = None
    refusal: Any = None
    arguments: Any = None
    input: Any = None
    logprobs: Any = None
    error: Any = None


_EVENT = msgspec.json.Decoder(_Event)
_DELTAS = {
    "response.output_text.delta": "text",
    "response.refusal.delta": "refusal",
    "response.reasoning_text.delta": "reasoning",
    "response.reasoning_summary_text.delta": "summary",
    "response.function_call_arguments.delta": "arguments",
    "response.custom_tool_call_input.delta": "arguments",
}
"""Events that grow a part, and what of it grows."""
_DONES = {
    "response.output_text.done": ("text", "text"),
    "response.refusal.done": ("refusal", "refusal"),
    "response.reasoning_text.done": ("reasoning", "text"),
    "response.reasoning_summary_text.done": ("summary", "text"),
    "response.function_call_arguments.done": ("arguments", "arguments"),
    "response.custom_tool_call_input.done": ("arguments", "input"),
}
"""Events that repeat what grew: what of the part, and the field that holds it."""
_ADDED, _DONE = "response.output_item.added", "response.output_item.done"
_PART_DONE, _ANNOTATION = "response.content_part.done", "response.output_text.annotation.added"
_BORDERS = frozenset(
    {
        "response.content_part.added",
        "response.reasoning_summary_part.added",
        "response.reasoning_summary_part.done",
    }
)
"""Events that say nothing which others do not say."""
_MAY_SEE_RAW = frozenset({None, Protocol.RESPONSES})


class ResponsesEventReader(EventReader):
    """Reads one stream."""

    def __init__(self, options: StreamOptions, context: Context) -> None:
        super().__init__(options, context)
        self._content = content_reader(context)
        self._live: LiveItem | None = None
        self._waiting: list[tuple[str, _Event, bytes]] = []
        self._done: set[int] = set()

    def error_of(self, text: bytes) -> ProviderError:
        """An in-band error."""
        return error_of(text)

    def take(self, frame: Frame) -> int:
        """Read one event. Its type stands in the data; the event name repeats it."""
        data = frame.data
        if data == b"[DONE]":  # some servers end every stream the Chat way
            return DROP
        event = decode_halves(_EVENT, data)
        kind = event.type or frame.event.decode("utf-8", "replace")
        if kind.endswith(".delta"):
            live, grown, delta = self._live, _DELTAS.get(kind), event.delta
            if live is not None and live.index == event.output_index and grown and type(delta) is str:
                self._grow(live, grown, event)
            else:
                self._step(kind, event, data)
            return PASS if event.delta in (None, "") else REAL
        if kind in FAILURES or event.error:
            raise error_of(data)
        if kind in ENDS:
            return self._end(data)
        if kind in OPENING:
            self.open_choice(0)
            self._take_opening(data)
            return PASS
        self._step(kind, event, data)
        if kind == _ADDED:
            return PASS if _item_type(data) in SHELLS else REAL
        return REAL if kind.endswith((".done", ".annotation.added")) else PASS

    # --- the answer around the items ---

    def _take_opening(self, data: bytes) -> None:
        found = Node.root(without_halves(data)).node("response")
        if found is not None:
            self._begin_with(found)

    def _begin_with(self, found: Node) -> None:
        head = read_head(found)
        if not self.has_begun:
            repeated, _ = split_extras(found, self.context)
            head.extras.extend(repeated)
        self.begin(head)
        self.served_model = head.model or self.served_model

    def _end(self, data: bytes) -> int:
        node = Node.root(without_halves(data))
        text = node.json("response")
        if not text:
            return REAL_LAST
        found = decode_answer(RESPONSE, text.encode())
        response = Node.root(text.encode())
        outputs = dict(enumerate(response.nodes("output")))
        self._begin_with(response)
        while self._live is not None:
            self._finish_item(self._live, outputs.get(self._live.index))
        for index, item in outputs.items():
            if index not in self._done:
                self._finish_item(LiveItem(self, index, ""), item)
        _, rest = split_extras(response, self.context)
        self.end_choice(self._seen(finish_of(found)), rest)
        self.report(usage_of(found))
        return REAL_LAST

    def _seen(self, finish: pb.Finish) -> pb.Finish:
        """The end in the light of what came: some servers leave the output out of the last event."""
        if finish.reason == pb.FINISH_REASON_STOP:
            if self.had_refusal(0):
                finish.reason = pb.FINISH_REASON_REFUSAL
            elif self.had_calls(0):
                finish.reason = pb.FINISH_REASON_TOOL_CALLS
        return finish

    # --- items ---

    def _step(self, kind: str, event: _Event, data: bytes) -> None:
        """An event of an item: now, or when its turn comes."""
        live = self._live
        if live is not None and live.index != event.output_index:
            self._waiting.append((kind, event, data))
            return
        if live is None:
            if event.output_index in self._done or not self._is_known(kind):
                self._pass_on(kind, data)
                return
            if not self.has_begun:
                self.begin(pb.MessageResponse())
            live = self._live = LiveItem(self, event.output_index, _whole_text(event.item_id or ""))
        self._apply(live, kind, event, data)

    def _is_known(self, kind: str) -> bool:
        return kind in _DELTAS or kind in _DONES or kind in {_ADDED, _DONE, _PART_DONE, _ANNOTATION} | _BORDERS

    def _apply(self, live: LiveItem, kind: str, event: _Event, data: bytes) -> None:
        grown = _DELTAS.get(kind)
        if grown is not None:
            self._grow(live, grown, event)
        elif kind in _DONES:
            name, field = _DONES[kind]
            text = getattr(event, field)
            if isinstance(text, str):
                live.complete(name, text, content=event.content_index, summary=event.summary_index)
        elif kind in {_ADDED, _DONE, _PART_DONE, _ANNOTATION}:
            self._apply_whole(live, kind, event, Node.root(without_halves(data)))
        elif kind not in _BORDERS:
            self._pass_on(kind, data)

    def _grow(self, live: LiveItem, grown: str, event: _Event) -> None:
        if isinstance(event.delta, str):
            live.grow(grown, event.delta, content=event.content_index, summary=event.summary_index)
            if event.logprobs:
                live.add_logprobs(event.logprobs)

    def _apply_whole(self, live: LiveItem, kind: str, event: _Event, node: Node) -> None:
        if kind == _ANNOTATION:
            found = node.node("annotation")
            if found is not None:
                live.add_citation(self._content.citation(found), content=event.content_index)
        elif kind == _PART_DONE:
            found = node.node("part")
            if found is not None:
                live.end_content(self._content.said(found), content=event.content_index)
        elif kind == _ADDED:
            found = node.node("item")
            if found is not None:
                live.begin(found)
        else:
            self._finish_item(live, node.node("item"))

    def _finish_item(self, live: LiveItem, item: Node | None) -> None:
        live.finish([] if item is None else parts_of(self._content, item))
        self._done.add(live.index)
        self._live = None
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            try:
                self._step(*each)
            except JsonFault:
                self.malformed += 1

    def _pass_on(self, kind: str, data: bytes) -> None:
        """An event that nobody reads further."""
        if self.has_begun and self.context.caller in _MAY_SEE_RAW:
            raw = RawEvent(protocol=PROTOCOL_RESPONSES, name=_whole_text(kind), data_json=without_halves(data).decode())
            self.emit(StreamEvent(raw=raw))


def _whole_text(text: str) -> str:
    """The text with halves of surrogate pairs replaced, where it is no text that grows."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class _ItemType(msgspec.Struct):
    type: str | None = None


class _Added(msgspec.Struct):
    item: _ItemType | None = None


_ADDED_ITEM = msgspec.json.Decoder(_Added)


def _item_type(data: bytes) -> str | None:
    item = decode_halves(_ADDED_ITEM, data).item
    return None if item is None else item.type
