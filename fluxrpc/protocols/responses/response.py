"""What we read of a response object, which is the whole answer and also stands in the first and last event."""

from __future__ import annotations

import msgspec

from fluxrpc.protocols.responses.usage import TOOL_USAGE, USAGE, to_usage
from fluxrpc.protocols.whole_answer import read_loosely
from fluxrpc.v1 import response_pb2 as pb
from fluxrpc.v1.usage_pb2 import Usage

CALLS = frozenset({"function_call", "custom_tool_call"})
"""Output items that wait for a result of the caller's tools."""

_INCOMPLETE: dict[str, pb.FinishReason.ValueType] = {
    "max_output_tokens": pb.FINISH_REASON_LENGTH,
    "max_messages": pb.FINISH_REASON_LENGTH,
    "content_filter": pb.FINISH_REASON_CONTENT_FILTER,
}


class Piece(msgspec.Struct):
    """One piece of content of a message."""

    type: str | None = None


_PIECES = msgspec.json.Decoder(list[Piece])


class Item(msgspec.Struct):
    """One output item."""

    type: str | None = None
    content: msgspec.Raw = msgspec.Raw(b"")

    @property
    def is_refusal(self) -> bool:
        """Whether the model refuses here."""
        if b"refusal" not in bytes(self.content):
            return False
        return any(piece.type == "refusal" for piece in read_loosely(_PIECES, self.content) or ())


class Incomplete(msgspec.Struct):
    """Why a response stopped early."""

    reason: str | None = None


class Response(msgspec.Struct):
    """A response as far as we read it. `object` tells it from anything else."""

    object: str | None = None
    status: str | None = None
    model: str | None = None
    output: list[Item] | None = None
    usage: msgspec.Raw = msgspec.Raw(b"")
    tool_usage: msgspec.Raw = msgspec.Raw(b"")
    incomplete_details: Incomplete | None = None
    error: msgspec.Raw = msgspec.Raw(b"")

    @property
    def counts(self) -> Usage | None:
        """The counters in our words."""
        usage = read_loosely(USAGE, self.usage)
        return to_usage(usage, read_loosely(TOOL_USAGE, self.tool_usage)) if usage else None

    @property
    def is_refused(self) -> bool:
        """Whether the answer is a refusal, or a filter cut it."""
        return self._stopped_by == "content_filter" or any(item.is_refusal for item in self.output or ())

    @property
    def _stopped_by(self) -> str:
        return (self.incomplete_details.reason if self.incomplete_details else None) or ""

    def finish(self) -> tuple[pb.FinishReason.ValueType, str]:
        """Why it ended, and the provider's word. There is no finish reason on the wire: status and items tell."""
        if self.status == "incomplete":
            word = self._stopped_by or "incomplete"
            return _INCOMPLETE.get(word, pb.FINISH_REASON_OTHER), word
        word = self.status or "completed"
        if self.status == "cancelled":
            return pb.FINISH_REASON_CANCELLED, word
        if any(item.is_refusal for item in self.output or ()):
            return pb.FINISH_REASON_REFUSAL, word
        if any(item.type in CALLS for item in self.output or ()):
            return pb.FINISH_REASON_TOOL_CALLS, word
        return pb.FINISH_REASON_STOP, word


RESPONSE = msgspec.json.Decoder(Response)
