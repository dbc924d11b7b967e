"""Watching a stream of Anthropic Messages: named events from `message_start` to `message_stop`."""

from __future__ import annotations

import msgspec

from fluxrpc.errors import ProviderError
from fluxrpc.protocols.anthropic.errors import error_of
from fluxrpc.protocols.anthropic.finish import finish_reason
from fluxrpc.protocols.anthropic.usage import USAGE, WireUsage, overwrite, to_usage
from fluxrpc.protocols.base import StreamOptions
from fluxrpc.protocols.json_text import decode_answer
from fluxrpc.protocols.stream_watch import DROP, LAST, PASS, REAL, Watch
from fluxrpc.protocols.whole_answer import read_loosely, says_something
from fluxrpc.sse import Frame
from fluxrpc.v1.response_pb2 import Finish
from fluxrpc.v1.usage_pb2 import Usage


class _Message(msgspec.Struct):
    model: str | None = None
    usage: msgspec.Raw = msgspec.Raw(b"")


class _Block(msgspec.Struct):
    type: str | None = None
    text: str | None = None
    thinking: str | None = None


class _StopDetails(msgspec.Struct):
    category: str | None = None
    explanation: str | None = None


class _Delta(msgspec.Struct):
    text: str | None = None
    thinking: str | None = None
    partial_json: str | None = None
    signature: str | None = None
    citation: msgspec.Raw = msgspec.Raw(b"")
    stop_reason: str | None = None
    stop_sequence: str | None = None
    stop_details: msgspec.Raw = msgspec.Raw(b"")


class _Event(msgspec.Struct):
    type: str | None = None
    message: _Message | None = None
    content_block: _Block | None = None
    delta: _Delta | None = None
    usage: msgspec.Raw = msgspec.Raw(b"")
    error: msgspec.Raw = msgspec.Raw(b"")


_STOP_DETAILS = msgspec.json.Decoder(_StopDetails)
_EVENT = msgspec.json.Decoder(_Event)


class AnthropicWatch(Watch):
    """Reads blocks only as far as to know whether the answer has begun."""

    terminator = b'event: message_stop\ndata: {"type":"message_stop"}\n\n'

    def __init__(self, options: StreamOptions) -> None:
        super().__init__(options)
        self._wire_usage: WireUsage | None = None

    @property
    def usage(self) -> Usage | None:
        """The counters of `message_start`, overwritten by those of each `message_delta`."""
        return None if self._wire_usage is None else to_usage(self._wire_usage)

    def error_of(self, text: bytes) -> ProviderError:
        """An in-band error."""
        return error_of(text)

    def take(self, frame: Frame) -> int:
        """Read one event. Its type stands in the data; the event name repeats it."""
        if frame.data == b"[DONE]":  # some gateways end every stream the OpenAI way
            return DROP
        event = decode_answer(_EVENT, frame.data)
        kind = event.type or frame.event.decode("utf-8", "replace")
        if kind == "error" or says_something(event.error):
            raise error_of(frame.data)
        match kind:
            case "content_block_delta":
                return REAL if _says(event.delta) else PASS
            case "content_block_start":
                return self._block_start(event)
            case "message_start":
                return self._start(event)
            case "message_delta":
                return self._message_delta(event)
            case "message_stop":
                return LAST
        return PASS

    def _start(self, event: _Event) -> int:
        self.open_choice(0)
        if event.message is not None:
            self.served_model = event.message.model or ""
            self._count(event.message.usage)
        return PASS

    def _block_start(self, event: _Event) -> int:
        block = event.content_block
        self.open_choice(0)
        if block is None or (block.type in ("text", "thinking") and not block.text and not block.thinking):
            return PASS
        return REAL

    def _message_delta(self, event: _Event) -> int:
        self._count(event.usage)
        delta = event.delta
        if delta is None or not delta.stop_reason:
            return PASS
        details = read_loosely(_STOP_DETAILS, delta.stop_details) or _StopDetails()
        self.finish(
            Finish(
                reason=finish_reason(delta.stop_reason),
                raw=delta.stop_reason,
                matched_stop=delta.stop_sequence or "",
                category=details.category or "",
                message=details.explanation or "",
            )
        )
        return REAL

    def _count(self, text: msgspec.Raw) -> None:
        usage = read_loosely(USAGE, text)
        if usage is not None:
            self._wire_usage = overwrite(self._wire_usage, usage)


def _says(delta: _Delta | None) -> bool:
    """Whether a delta holds anything; the first of a tool's arguments is often empty."""
    return delta is not None and bool(
        delta.text or delta.thinking or delta.partial_json or delta.signature or says_something(delta.citation)
    )
