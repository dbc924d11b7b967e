"""Why a candidate of Gemini ended, and which words are a refusal."""

from __future__ import annotations

from fluxrpc.v1 import response_pb2 as pb

_FILTERS = (
    "SAFETY", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "ESCALATION",
    "PUP_LIMITED_DISABLED", "MODEL_ARMOR",
)  # fmt: skip
_REASONS: dict[str, pb.FinishReason.ValueType] = {
    "STOP": pb.FINISH_REASON_STOP,
    "MAX_TOKENS": pb.FINISH_REASON_LENGTH,
    "RECITATION": pb.FINISH_REASON_RECITATION,
    "IMAGE_RECITATION": pb.FINISH_REASON_RECITATION,
    "TOO_MANY_TOOL_CALLS": pb.FINISH_REASON_PAUSE,
    "CONTINUATION": pb.FINISH_REASON_CONTINUE,
    "MALFORMED_FUNCTION_CALL": pb.FINISH_REASON_MALFORMED_TOOL_CALL,
    "UNEXPECTED_TOOL_CALL": pb.FINISH_REASON_MALFORMED_TOOL_CALL,
    "MALFORMED_RESPONSE": pb.FINISH_REASON_ERROR,
    "MISSING_THOUGHT_SIGNATURE": pb.FINISH_REASON_ERROR,
    **dict.fromkeys(_FILTERS, pb.FINISH_REASON_CONTENT_FILTER),
}
_REFUSALS = frozenset(_FILTERS) | {"RECITATION", "IMAGE_RECITATION"}


def finish_reason(word: str, *, has_calls: bool = False) -> pb.FinishReason.ValueType:
    """The reason. `STOP` also stands for function calls."""
    reason = _REASONS.get(word.upper(), pb.FINISH_REASON_OTHER)
    return pb.FINISH_REASON_TOOL_CALLS if reason == pb.FINISH_REASON_STOP and has_calls else reason


def is_refusal(word: str) -> bool:
    """Whether the word says that content was withheld."""
    return word.upper() in _REFUSALS
