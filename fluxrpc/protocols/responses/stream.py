"""Watching a stream of OpenAI Responses: named events from `response.created` to the whole response."""

from __future__ import annotations

import msgspec

from fluxrpc.errors import ProviderError
from fluxrpc.protocols.base import StreamOptions
from fluxrpc.protocols.json_text import decode_answer
from fluxrpc.protocols.responses.errors import error_of
from fluxrpc.protocols.responses.response import Item, Response
from fluxrpc.protocols.stream_watch import DROP, PASS, REAL, REAL_LAST, Watch
from fluxrpc.protocols.whole_answer import says_something
from fluxrpc.sse import Frame
from fluxrpc.v1.response_pb2 import Finish
from fluxrpc.v1.usage_pb2 import Usage


class _Event(msgspec.Struct):
    type: str | None = None
    delta: msgspec.Raw = msgspec.Raw(b"")
    item: Item | None = None
    error: msgspec.Raw = msgspec.Raw(b"")


class _Snapshot(msgspec.Struct):
    response: Response | None = None


_EVENT = msgspec.json.Decoder(_Event)
_SNAPSHOT = msgspec.json.Decoder(_Snapshot)
OPENING = frozenset({"response.created", "response.in_progress", "response.queued"})
ENDS = frozenset({"response.completed", "response.incomplete", "response.cancelled"})
FAILURES = frozenset({"error", "response.failed", "response.error"})
# Items that only open; what fills them comes in events of its own.
SHELLS = frozenset({"message", "reasoning", None})


class ResponsesWatch(Watch):
    """The last event is finish, usage and terminator in one, so there is never one to add."""

    def __init__(self, options: StreamOptions) -> None:
        super().__init__(options)
        self._last: Response | None = None

    @property
    def usage(self) -> Usage | None:
        """Only the last event has it."""
        return None if self._last is None else self._last.counts

    def error_of(self, text: bytes) -> ProviderError:
        """An in-band error."""
        return error_of(text)

    def take(self, frame: Frame) -> int:
        """Read one event. Its type stands in the data; the event name repeats it."""
        if frame.data == b"[DONE]":  # some servers end every stream the Chat way
            return DROP
        event = decode_answer(_EVENT, frame.data)
        kind = event.type or frame.event.decode("utf-8", "replace")
        if kind.endswith(".delta"):
            return REAL if bytes(event.delta) not in (b"", b'""', b"null") else PASS
        if kind in FAILURES or says_something(event.error):
            raise error_of(frame.data)
        if kind in ENDS:
            return self._end(frame.data)
        if kind in OPENING:
            self.open_choice(0)
            response = decode_answer(_SNAPSHOT, frame.data).response
            self.served_model = (response.model if response else None) or self.served_model
            return PASS
        if kind == "response.output_item.added":
            return PASS if event.item is None or event.item.type in SHELLS else REAL
        return REAL if kind.endswith((".done", ".annotation.added")) else PASS

    def _end(self, data: bytes) -> int:
        response = decode_answer(_SNAPSHOT, data).response
        if response is not None:
            self._last = response
            self.served_model = response.model or self.served_model
            reason, word = response.finish()
            self.finish(Finish(reason=reason, raw=word))
        return REAL_LAST
