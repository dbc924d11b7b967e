"""Watching a stream of Cohere: named events from `message-start` to `message-end`, which also tells a failure."""

from __future__ import annotations

import msgspec

from fluxrpc.errors import ProviderError
from fluxrpc.protocols.base import StreamOptions
from fluxrpc.protocols.cohere.errors import error_of, failure
from fluxrpc.protocols.cohere.finish import FAILURES, finish_reason
from fluxrpc.protocols.cohere.usage import USAGE, WireUsage, to_usage
from fluxrpc.protocols.json_text import decode_answer
from fluxrpc.protocols.stream_watch import DROP, PASS, REAL, REAL_LAST, Watch
from fluxrpc.protocols.whole_answer import read_loosely, says_something
from fluxrpc.sse import Frame
from fluxrpc.v1.response_pb2 import Finish
from fluxrpc.v1.usage_pb2 import Usage


class _Content(msgspec.Struct):
    text: str | None = None
    thinking: str | None = None


class _Message(msgspec.Struct):
    # An object in content events; `message-start` of older versions has an empty list here.
    content: _Content | list[msgspec.Raw] | None = None
    tool_plan: str | None = None


class _Delta(msgspec.Struct):
    message: _Message | None = None
    finish_reason: str | None = None
    usage: msgspec.Raw = msgspec.Raw(b"")
    error: msgspec.Raw = msgspec.Raw(b"")


class _Event(msgspec.Struct):
    type: str | None = None
    delta: _Delta | None = None
    # An error body where an event belongs.
    message: msgspec.Raw = msgspec.Raw(b"")
    error: msgspec.Raw = msgspec.Raw(b"")


_EVENT = msgspec.json.Decoder(_Event)


class CohereWatch(Watch):
    """`message-end` is finish and terminator in one, so there is never one to add."""

    def __init__(self, options: StreamOptions) -> None:
        super().__init__(options)
        self._wire_usage: WireUsage | None = None

    @property
    def usage(self) -> Usage | None:
        """Only the last event has it."""
        return None if self._wire_usage is None else to_usage(self._wire_usage)

    def error_of(self, text: bytes) -> ProviderError:
        """An in-band error."""
        return error_of(text)

    def take(self, frame: Frame) -> int:
        """Read one event. Its type stands in the data; the event name repeats it."""
        if frame.data == b"[DONE]":
            return DROP
        event = decode_answer(_EVENT, frame.data)
        kind = event.type or frame.event.decode("utf-8", "replace")
        delta = event.delta
        if says_something(event.error) or (not kind and says_something(event.message)):
            raise error_of(frame.data)
        if kind == "message-end":
            return self._end(delta or _Delta())
        self.open_choice(0)
        if kind in ("content-start", "content-delta", "tool-plan-delta"):
            return REAL if delta is not None and delta.message is not None and _says(delta.message) else PASS
        return REAL if kind.startswith("tool-call-") else PASS

    def _end(self, delta: _Delta) -> int:
        word = delta.finish_reason
        self._wire_usage = read_loosely(USAGE, delta.usage)
        if word in FAILURES:
            raise error_of(failure(word or "", delta.error))
        if word:
            self.finish(Finish(reason=finish_reason(word), raw=word))
        return REAL_LAST


def _says(message: _Message) -> bool:
    """Whether the increment holds any text; an opening shell does not."""
    content = message.content
    return bool(message.tool_plan or (isinstance(content, _Content) and (content.text or content.thinking)))
