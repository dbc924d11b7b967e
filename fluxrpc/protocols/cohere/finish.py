"""Why an answer of Cohere ended, and which words are failures of the provider."""

from __future__ import annotations

from typing import Final

from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.context import Context
from fluxrpc.protocols.notes import Notes
from fluxrpc.v1 import response_pb2 as pb

FAILURES = frozenset({"ERROR", "TIMEOUT"})
"""An answer that ended so is not complete."""

_REASONS: dict[str, pb.FinishReason.ValueType] = {
    "COMPLETE": pb.FINISH_REASON_STOP,
    "STOP_SEQUENCE": pb.FINISH_REASON_STOP_SEQUENCE,
    "MAX_TOKENS": pb.FINISH_REASON_LENGTH,
    "TOOL_CALL": pb.FINISH_REASON_TOOL_CALLS,
}

_WORDS: Final[dict[int, str]] = {reason: word for word, reason in _REASONS.items()}
_NEAREST: Final[dict[int, str]] = {
    pb.FINISH_REASON_CONTEXT_WINDOW: "MAX_TOKENS",
    pb.FINISH_REASON_CONTINUE: "MAX_TOKENS",
    pb.FINISH_REASON_MALFORMED_TOOL_CALL: "ERROR",
    pb.FINISH_REASON_ERROR: "ERROR",
    pb.FINISH_REASON_CANCELLED: "ERROR",
    pb.FINISH_REASON_TIMEOUT: "TIMEOUT",
}
"""Words that say nearly the same; all other reasons are `COMPLETE`."""


def finish_reason(word: str, *, has_calls: bool = False) -> pb.FinishReason.ValueType:
    """The reason; unknown words are `OTHER`. An answer with calls that is complete waits for their results."""
    reason = _REASONS.get(word, pb.FINISH_REASON_OTHER)
    return pb.FINISH_REASON_TOOL_CALLS if has_calls and reason == pb.FINISH_REASON_STOP else reason


def written_finish(finish: pb.Finish, context: Context, notes: Notes, path: str) -> str:
    """The word for a finish; its own where Cohere gave it."""
    if finish.matched_stop:
        notes.dropped("MATCHED_STOP", f"{path}.matched_stop")
    if finish.message or finish.category or finish.prompt_blocked:
        notes.dropped("FINISH_DETAILS", path)
    has_calls = finish.reason == pb.FINISH_REASON_TOOL_CALLS
    is_own = context.target.protocol is Protocol.COHERE and bool(finish.raw)
    if is_own and finish_reason(finish.raw, has_calls=has_calls) == finish.reason:
        return finish.raw
    word = _WORDS.get(finish.reason)
    if word is None:
        word = _NEAREST.get(finish.reason, "COMPLETE")
        notes.approximated("FINISH_REASON", f"{path}.reason")
    return word
