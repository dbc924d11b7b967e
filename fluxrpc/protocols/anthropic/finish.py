"""Why an answer of Anthropic Messages ended."""

from __future__ import annotations

from fluxrpc.v1 import response_pb2 as pb

_REASONS: dict[str, pb.FinishReason.ValueType] = {
    "end_turn": pb.FINISH_REASON_STOP,
    "stop_sequence": pb.FINISH_REASON_STOP_SEQUENCE,
    "max_tokens": pb.FINISH_REASON_LENGTH,
    "model_context_window_exceeded": pb.FINISH_REASON_CONTEXT_WINDOW,
    "tool_use": pb.FINISH_REASON_TOOL_CALLS,
    "refusal": pb.FINISH_REASON_REFUSAL,
    "pause_turn": pb.FINISH_REASON_PAUSE,
    "compaction": pb.FINISH_REASON_COMPACTION,
}
_WORDS = {reason: word for word, reason in _REASONS.items()}
_NEAREST: dict[pb.FinishReason.ValueType, str] = {
    pb.FINISH_REASON_CONTENT_FILTER: "refusal",
    pb.FINISH_REASON_RECITATION: "refusal",
    pb.FINISH_REASON_CONTINUE: "max_tokens",
}
_OTHERWISE = "end_turn"


def finish_reason(word: str) -> pb.FinishReason.ValueType:
    """The reason; unknown words are `OTHER`."""
    return _REASONS.get(word, pb.FINISH_REASON_OTHER)


def stop_reason(reason: pb.FinishReason.ValueType) -> tuple[str, bool]:
    """The word for a reason, and whether it says just that."""
    word = _WORDS.get(reason)
    if word is not None:
        return word, True
    return _NEAREST.get(reason, _OTHERWISE), False
