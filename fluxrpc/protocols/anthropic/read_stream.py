"""Streams of Anthropic Messages to events.

What counts as an event, an error, the end is what the watcher of native streams says (`stream.AnthropicWatch`). Blocks
have borders here, and come one after the other: where one grows that is not the open one, the answer is unusable.
"""

from __future__ import annotations

from typing import Any

import msgspec

from fluxrpc.errors import AnswerFault, ProviderError
from fluxrpc.protocols.anthropic.citations import read_citation
from fluxrpc.protocols.anthropic.errors import error_of
from fluxrpc.protocols.anthropic.read_parts import Source, read_part
from fluxrpc.protocols.anthropic.read_response import read_finish, read_head
from fluxrpc.protocols.anthropic.usage import USAGE, WireUsage, overwrite, to_usage
from fluxrpc.protocols.anthropic.words import ANTHROPIC
from fluxrpc.protocols.base import StreamOptions
from fluxrpc.protocols.context import Context
from fluxrpc.protocols.event_reader import EventReader
from fluxrpc.protocols.json_text import JsonFault, decode_answer, decode_halves, without_halves
from fluxrpc.protocols.node import Node
from fluxrpc.protocols.stream_watch import DROP, LAST, PASS, REAL
from fluxrpc.protocols.whole_answer import read_loosely, says_something
from fluxrpc.sse import Frame
from fluxrpc.v1.part_pb2 import Part, Reasoning
from fluxrpc.v1.protocol_pb2 import OPAQUE_KIND_COMPACTION, OPAQUE_KIND_SIGNATURE
from fluxrpc.v1.response_pb2 import MessageResponse

__all__ = ["AnthropicEventReader"]


class _Delta(msgspec.Struct):
    type: str | None = None
    text: str | None = None
    thinking: str | None = None
    partial_json: str | None = None
    signature: str | None = None
    content: str | None = None
    encrypted_content: str | None = None


class _Event(msgspec.Struct):
    """What the many events hold. The few others, and what is carried as text, are read once more."""

    type: str | None = None
    index: Any = None
    delta: _Delta | None = None
    error: Any = None


class _Message(msgspec.Struct):
    usage: msgspec.Raw = msgspec.Raw(b"")


class _CitationDelta(msgspec.Struct):
    citation: msgspec.Raw = msgspec.Raw(b"")


class _Rest(msgspec.Struct):
    message: msgspec.Raw = msgspec.Raw(b"")
    content_block: msgspec.Raw = msgspec.Raw(b"")
    delta: msgspec.Raw = msgspec.Raw(b"")
    usage: msgspec.Raw = msgspec.Raw(b"")


_EVENT = msgspec.json.Decoder(_Event)
_REST = msgspec.json.Decoder(_Rest)
_MESSAGE = msgspec.json.Decoder(_Message)
_CITATION = msgspec.json.Decoder(_CitationDelta)


def _rest(data: bytes) -> _Rest:
    """What comes whole: there the other half of a pair cannot come later."""
    return decode_answer(_REST, without_halves(data))


_GROWS = {
    "text": "text",
    "compaction": "text",
    "reasoning": "reasoning",
    "tool_call": "arguments",
    "server_tool_call": "arguments",
}
"""Kind of part to the kind of text that it grows by."""
_INPUTS = {"tool_call": "arguments_json", "server_tool_call": "input_json"}
_TEXTS = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("reasoning", "thinking"),
    "input_json_delta": ("arguments", "partial_json"),
    "compaction_delta": ("text", "content"),
}
"""Type of delta to the kind of text that it holds, and its field."""
_IMPLIED = {"text_delta": Part(text=""), "thinking_delta": Part(reasoning=Reasoning())}
"""What begins with a delta whose block was never started: some servers forget that."""


class AnthropicEventReader(EventReader):
    """See the module."""

    def __init__(self, options: StreamOptions, context: Context) -> None:
        super().__init__(options, context)
        self._wire_usage: WireUsage | None = None
        self._index: Any = None
        """The wire's index of the open block."""
        self._grows = ""
        self._input = ""
        """The arguments that the start of a call held: they count where no others come."""

    def error_of(self, text: bytes) -> ProviderError:
        """An in-band error."""
        return error_of(text)

    def take(self, frame: Frame) -> int:
        """Read one event. Its type stands in the data; the event name repeats it."""
        if frame.data == b"[DONE]":  # some gateways end every stream the OpenAI way
            return DROP
        event = decode_halves(_EVENT, frame.data)
        delta = event.delta
        if (
            delta is not None
            and event.type == "content_block_delta"
            and delta.type == "text_delta"
            and self._grows == "text"
            and event.index == self._index
            and delta.text
            and not event.error
        ):  # nine in ten events
            self.add_text(0, "text", delta.text)
            return REAL
        kind = event.type or frame.event.decode("utf-8", "replace")
        if kind == "error" or event.error:
            raise error_of(frame.data)
        if kind == "content_block_delta":
            return self._take_delta(event, frame.data)
        match kind:
            case "content_block_start":
                return self._start_block(event.index, frame.data)
            case "content_block_stop":
                self._stop_block()
            case "message_start":
                self._start(frame.data)
            case "message_delta":
                return self._end(frame.data)
            case "message_stop":
                return LAST
        return PASS

    # --- the answer ---

    def _start(self, data: bytes) -> None:
        self.open_choice(0)
        text = _rest(data).message
        if not says_something(text):
            return
        node = Node.root(bytes(text))
        node.take("content")
        read_finish(node)
        self.begin(read_head(node))
        self._count(decode_answer(_MESSAGE, bytes(text)).usage)

    def _end(self, data: bytes) -> int:
        self._begin_late()
        rest = _rest(data)
        if self._count(rest.usage) and self._wire_usage is not None:
            self.report(to_usage(self._wire_usage))
        if not says_something(rest.delta):
            return PASS
        node = Node.root(bytes(rest.delta))
        finish = read_finish(node)
        if finish is None:
            return PASS
        self._stop_block()
        self.end_choice(finish, node.extras(ANTHROPIC, nulls=False))
        return REAL

    def _count(self, text: msgspec.Raw) -> bool:
        usage = read_loosely(USAGE, text)
        if usage is None:
            return False
        self._wire_usage = overwrite(self._wire_usage, usage)
        return True

    def _begin_late(self) -> None:
        if not self.has_begun:
            self.begin(MessageResponse())

    # --- blocks ---

    def _start_block(self, index: Any, data: bytes) -> int:
        self._begin_late()
        self.open_choice(0)
        text = _rest(data).content_block
        if not says_something(text):
            return PASS
        node = Node.root(bytes(text))
        part = read_part(node, self._source)
        kind = part.WhichOneof("kind") or ""
        self._stop_block()
        self._input = ""
        if kind in _INPUTS:
            call = getattr(part, kind)
            self._input = getattr(call, _INPUTS[kind]) or "{}"
            call.ClearField(_INPUTS[kind])
        self._begin_block(index, part)
        is_empty = kind in ("text", "reasoning") and not part.text and not part.reasoning.text
        return PASS if is_empty and not part.reasoning.redacted else REAL

    def _begin_block(self, index: Any, part: Part) -> None:
        self._index = index
        self._grows = _GROWS.get(part.WhichOneof("kind") or "", "")
        self.open_part(0, "block", part)

    def _stop_block(self) -> None:
        if self.is_open(0, "block"):
            if self._input:
                self.add_text(0, "arguments", self._input)
                self._input = ""
            self._grows = ""
            self.close_part(0)

    def _take_delta(self, event: _Event, data: bytes) -> int:
        delta = event.delta
        if delta is None:
            return PASS
        kind = delta.type or ""
        if not self.is_open(0, "block") and kind in _IMPLIED:
            self._begin_late()
            self._begin_block(event.index, _IMPLIED[kind])
        elif not self.is_open(0, "block") or event.index not in (None, self._index):
            return _passed_over(delta, kind)
        if kind in _TEXTS:
            return self._grow(delta, *_TEXTS[kind])
        return self._add(kind, delta, data)

    def _grow(self, delta: _Delta, grows: str, field: str) -> int:
        text = getattr(delta, field)
        if delta.encrypted_content:
            self.add_opaque(0, self._source.state(delta.encrypted_content, OPAQUE_KIND_COMPACTION))
        if not text or not self._grows:  # what a block that is not known grows by is not known either
            return PASS
        if grows != self._grows:
            raise JsonFault("a delta of another kind than its block")
        self._input = ""
        self.add_text(0, grows, text)
        return REAL

    def _add(self, kind: str, delta: _Delta, data: bytes) -> int:
        """What comes whole: a signature, a citation. Deltas that are not known are passed over."""
        if kind == "signature_delta" and delta.signature and self._grows == "reasoning":
            self.add_opaque(0, self._source.state(delta.signature, OPAQUE_KIND_SIGNATURE))
            return REAL
        if kind == "citations_delta" and self._grows == "text":
            citation = decode_answer(_CITATION, bytes(_rest(data).delta)).citation
            if says_something(citation):
                node = Node.root(bytes(citation))
                source = self._source
                self.add_citation(0, read_citation(node, service=source.service, model=source.model, nulls=False))
                return REAL
        return PASS

    @property
    def _source(self) -> Source:
        return Source(service=self.context.target.service, model=self.served_model, nulls=False)


def _passed_over(delta: _Delta, kind: str) -> int:
    """What grows a block that is not open cannot be placed. A text or arguments with a hole would look whole.

    Raises:
        AnswerFault: it is more than a trimming.
    """
    _, field = _TEXTS.get(kind, ("", "text"))
    if kind in _TEXTS and getattr(delta, field):
        raise AnswerFault("MALFORMED_ANSWER", "MALFORMED_ANSWER: a block grows that is not open")
    return PASS
