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
_OTHERS = frozenset({"OTHER", "LANGUAGE", "NO_IMAGE", "IMAGE_OTHER"})
_BLOCKS = frozenset({
    "SAFETY", "OTHER", "BLOCKLIST", "PROHIBITED_CONTENT", "IMAGE_SAFETY", "MODEL_ARMOR", "JAILBREAK",
})  # fmt: skip
_WORDS: dict[pb.FinishReason.ValueType, str] = {
    pb.FINISH_REASON_STOP: "STOP",
    pb.FINISH_REASON_STOP_SEQUENCE: "STOP",
    pb.FINISH_REASON_TOOL_CALLS: "STOP",
    pb.FINISH_REASON_LENGTH: "MAX_TOKENS",
    pb.FINISH_REASON_CONTEXT_WINDOW: "MAX_TOKENS",
    pb.FINISH_REASON_CONTENT_FILTER: "SAFETY",
    pb.FINISH_REASON_REFUSAL: "PROHIBITED_CONTENT",
    pb.FINISH_REASON_RECITATION: "RECITATION",
    pb.FINISH_REASON_PAUSE: "TOO_MANY_TOOL_CALLS",
    pb.FINISH_REASON_CONTINUE: "CONTINUATION",
    pb.FINISH_REASON_MALFORMED_TOOL_CALL: "MALFORMED_FUNCTION_CALL",
}
EXACT = frozenset(_REASONS.values()) | {pb.FINISH_REASON_TOOL_CALLS, pb.FINISH_REASON_OTHER}
"""Reasons that a word of Gemini says."""


def blocked(word: str, message: str = "") -> pb.Finish:
    """The end of an answer that never began: the prompt was refused, for whatever reason."""
    return pb.Finish(reason=pb.FINISH_REASON_CONTENT_FILTER, raw=word, message=message, prompt_blocked=True)


def finish_reason(word: str, *, has_calls: bool = False) -> pb.FinishReason.ValueType:
    """The reason. `STOP` also stands for function calls."""
    reason = _REASONS.get(word.upper(), pb.FINISH_REASON_OTHER)
    return pb.FINISH_REASON_TOOL_CALLS if reason == pb.FINISH_REASON_STOP and has_calls else reason


def is_refusal(word: str) -> bool:
    """Whether the word says that content was withheld."""
    return word.upper() in _REFUSALS


def written_reason(finish: pb.Finish, *, own: bool) -> str:
    """The word for an end: the provider's where it is one of ours and says the same. `own`: it is Gemini's anyway."""
    reason = pb.FINISH_REASON_STOP if finish.reason == pb.FINISH_REASON_TOOL_CALLS else finish.reason
    is_other = reason == pb.FINISH_REASON_OTHER
    is_ours = (own and finish.raw != "") or finish.raw in _OTHERS if is_other else _REASONS.get(finish.raw) == reason
    return finish.raw if is_ours else _WORDS.get(finish.reason, "OTHER")


def written_block(finish: pb.Finish, *, own: bool) -> str:
    """The word for a refused prompt."""
    return finish.raw if own or finish.raw in _BLOCKS else "PROHIBITED_CONTENT"
