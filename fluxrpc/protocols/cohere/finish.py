"""Why an answer of Cohere ended, and which words are failures of the provider."""

from __future__ import annotations

from fluxrpc.v1 import response_pb2 as pb

FAILURES = frozenset({"ERROR", "TIMEOUT"})
"""An answer that ended so is not complete."""

_REASONS: dict[str, pb.FinishReason.ValueType] = {
    "COMPLETE": pb.FINISH_REASON_STOP,
    "STOP_SEQUENCE": pb.FINISH_REASON_STOP_SEQUENCE,
    "MAX_TOKENS": pb.FINISH_REASON_LENGTH,
    "TOOL_CALL": pb.FINISH_REASON_TOOL_CALLS,
}


def finish_reason(word: str) -> pb.FinishReason.ValueType:
    """The reason; unknown words are `OTHER`."""
    return _REASONS.get(word, pb.FINISH_REASON_OTHER)
