"""A stream of Cohere Chat, version 2, into events. Its blocks have borders, so parts begin and end with them.

Agrees with the native watcher (`stream`) on what is content, an error, the end and a cut.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from fluxrpc.errors import ProviderError
from fluxrpc.protocols.base import StreamOptions
from fluxrpc.protocols.cohere.citations import PLAN, read_citation
from fluxrpc.protocols.cohere.errors import error_of, failure
from fluxrpc.protocols.cohere.finish import FAILURES, finish_reason
from fluxrpc.protocols.cohere.logprobs import LogprobItem, tokens_of
from fluxrpc.protocols.cohere.usage import read_usage
from fluxrpc.protocols.context import Context
from fluxrpc.protocols.event_reader import EventReader
from fluxrpc.protocols.json_text import JsonFault, decode_answer, decode_halves, without_halves
from fluxrpc.protocols.node import Node
from fluxrpc.protocols.stream_watch import DROP, PASS, REAL, REAL_LAST
from fluxrpc.sse import Frame
from fluxrpc.v1.part_pb2 import TEXT_PHASE_PLAN, Part, Reasoning
from fluxrpc.v1.protocol_pb2 import PROTOCOL_COHERE
from fluxrpc.v1.response_pb2 import Finish, MessageResponse
from fluxrpc.v1.stream_pb2 import StreamEvent

__all__ = ["CohereEventReader"]


class _Content(msgspec.Struct):
    type: str | None = None
    text: str | None = None
    thinking: str | None = None


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: str | None = None


class _Call(msgspec.Struct):
    id: str | None = None
    function: _Function | None = None


class _Message(msgspec.Struct):
    # Objects in events of content and of calls; `message-start` of older versions has empty lists here.
    content: _Content | list[Any] | None = None
    tool_calls: _Call | list[Any] | None = None
    tool_plan: str | None = None


class _Delta(msgspec.Struct):
    message: _Message | None = None


class _Event(msgspec.Struct):
    type: str | None = None
    id: str | None = None
    index: int | None = None
    delta: _Delta | None = None
    logprobs: LogprobItem | None = None
    # An error body where an event belongs.
    message: Any = None
    error: Any = None


class _EndDelta(msgspec.Struct):
    finish_reason: str | None = None
    usage: msgspec.Raw = msgspec.Raw(b"")
    error: msgspec.Raw = msgspec.Raw(b"")


class _End(msgspec.Struct):
    delta: _EndDelta | None = None


_EVENT: Final = msgspec.json.Decoder(_Event)
_END: Final = msgspec.json.Decoder(_End)
_NOTHING: Final = _Message()
_GROWING: Final = frozenset({"tool-plan-delta", "tool-call-delta"})
"""Besides `content-delta`."""
_KINDS: Final = {"text": "text", "thinking": "reasoning"}
_SHELLS: Final = {"text": Part(text=""), "reasoning": Part(reasoning=Reasoning())}
_PLAN: Final = Part(text="", phase=TEXT_PHASE_PLAN)


class CohereEventReader(EventReader):
    """Part indexes are remembered by block, because citations name blocks, also those that have ended."""

    def __init__(self, options: StreamOptions, context: Context) -> None:
        super().__init__(options, context)
        self._blocks: dict[int | None, int] = {}
        """None stands for the first text, which citations mean that name no block."""
        self._plan: int | None = None
        self._takers: dict[str, Callable[[_Event, _Message, bytes], int]] = {
            "content-start": self._open_block,
            "content-end": self._close,
            "tool-plan-delta": self._grow_plan,
            "tool-call-start": self._open_call,
            "tool-call-delta": self._grow_call,
            "tool-call-end": self._close_call,
            "message-start": _pass,
            "citation-start": self._cite,
            "citation-end": _pass,
        }

    def error_of(self, text: bytes) -> ProviderError:
        """An in-band error."""
        return error_of(text)

    def take(self, frame: Frame) -> int:
        """Read one event. Its type stands in the data; the event name repeats it."""
        data = frame.data
        if data == b"[DONE]":
            return DROP
        event = decode_halves(_EVENT, data)
        kind = event.type or frame.event.decode("utf-8", "replace")
        if event.error or (not kind and event.message):
            raise error_of(data)
        if kind != "content-delta":  # nearly all are, so these come before all else
            return self._take_other(kind, event, data)
        if not self.has_begun:
            self.begin(MessageResponse())
        delta = event.delta
        content = None if delta is None or delta.message is None else delta.message.content
        return self._grow(event, content) if isinstance(content, _Content) else PASS

    def _take_other(self, kind: str, event: _Event, data: bytes) -> int:
        """Only what grows may hold half of a surrogate pair."""
        if kind not in _GROWING:
            whole = without_halves(data)
            if whole != data:
                data, event = whole, decode_answer(_EVENT, whole)
                kind = event.type or kind
        self.begin(MessageResponse(id=event.id or ""))
        if kind == "message-end":
            return self._end(data)
        self.open_choice(0)
        delta = event.delta
        message = _NOTHING if delta is None or delta.message is None else delta.message
        taker = self._takers.get(kind)
        return self._carry(kind, data) if taker is None else taker(event, message, data)

    def _open_block(self, event: _Event, message: _Message, data: bytes) -> int:
        content = message.content
        if not isinstance(content, _Content):
            return PASS
        kind = _KINDS.get(content.type or "")
        if kind is None:
            return self._carry("content-start", data)
        part = self.open_part(0, kind, _SHELLS[kind])
        if event.index is not None:
            self._blocks[event.index] = part
        if kind == "text":
            self._blocks.setdefault(None, part)
        return self._grow(event, content)

    def _grow(self, event: _Event, content: _Content) -> int:
        step = PASS
        if content.thinking:
            self.grow(0, "reasoning", content.thinking)
            step = REAL
        if content.text:
            self.grow(0, "text", content.text)
            step = REAL
        if event.logprobs is not None and self.is_open(0, "text"):
            self.add_logprobs(0, tokens_of(event.logprobs))
        return step

    def _close(self, event: _Event, message: _Message, data: bytes) -> int:
        del event, message, data
        self.close_part(0)
        return PASS

    def _grow_plan(self, event: _Event, message: _Message, data: bytes) -> int:
        del event, data
        if not message.tool_plan:
            return PASS
        if not self.is_open(0, "plan"):
            self._plan = self.open_part(0, "plan", _PLAN)
        self.add_text(0, "text", message.tool_plan)
        return REAL

    def _open_call(self, event: _Event, message: _Message, data: bytes) -> int:
        del event, data
        call = message.tool_calls
        function = call.function if isinstance(call, _Call) else None
        if not isinstance(call, _Call) or function is None:
            raise JsonFault("a call without a function")
        part = Part()
        part.tool_call.id = call.id or ""
        part.tool_call.name = function.name or ""
        part.tool_call.arguments_json = ""
        self.open_part(0, "call", part)
        if function.arguments:
            self.add_text(0, "arguments", function.arguments)
        return REAL

    def _grow_call(self, event: _Event, message: _Message, data: bytes) -> int:
        del event, data
        call = message.tool_calls
        if not self.is_open(0, "call"):
            raise JsonFault("arguments of a call that is not open")
        if isinstance(call, _Call) and call.function is not None and call.function.arguments:
            self.add_text(0, "arguments", call.function.arguments)
        return REAL

    def _close_call(self, event: _Event, message: _Message, data: bytes) -> int:
        self._close(event, message, data)
        return REAL

    def _cite(self, event: _Event, message: _Message, data: bytes) -> int:
        """Read again, for its records keep their own spelling. Where what it speaks of never came, it is carried."""
        del event, message
        found = _cited(data)
        if found is None:
            return self._carry("citation-start", data)
        citation, block = read_citation(found)
        part = self._plan if citation.kind_raw == PLAN else self._blocks.get(block)
        if part is None:
            return self._carry("citation-start", data)
        self.add_citation(0, citation, part)
        return PASS

    def _carry(self, kind: str, data: bytes) -> int:
        event = StreamEvent()
        event.raw.protocol = PROTOCOL_COHERE
        event.raw.name = kind
        event.raw.data_json = data.decode("utf-8", "replace")
        self.emit(event)
        return PASS

    def _end(self, data: bytes) -> int:
        delta = decode_answer(_END, data).delta or _EndDelta()
        word = delta.finish_reason
        if word in FAILURES:
            raise error_of(failure(word or "", delta.error))
        if word:
            reason = finish_reason(word, has_calls=self.had_calls(0))
            self.end_choice(Finish(reason=reason, raw=word))
        self.report(read_usage(delta.usage))
        return REAL_LAST


def _pass(event: _Event, message: _Message, data: bytes) -> int:
    """Nothing that the answer needs."""
    del event, message, data
    return PASS


def _cited(data: bytes) -> Node | None:
    """The citation of an event; newer versions write an object, a list of one is the form of whole answers."""
    delta = Node.root(data).node("delta")
    message = None if delta is None else delta.node("message")
    if message is None:
        return None
    return next(iter(message.nodes("citations")), None) if message.is_list("citations") else message.node("citations")
