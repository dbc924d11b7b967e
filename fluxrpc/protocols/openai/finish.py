"""Why a choice of OpenAI Chat Completions ended, in both directions."""

from __future__ import annotations

from collections.abc import Mapping

from fluxrpc.protocols.notes import Notes
from fluxrpc.v1 import response_pb2 as pb

_REASONS: dict[str, pb.FinishReason.ValueType] = {
    "stop": pb.FINISH_REASON_STOP,
    "length": pb.FINISH_REASON_LENGTH,
    "tool_calls": pb.FINISH_REASON_TOOL_CALLS,
    "function_call": pb.FINISH_REASON_TOOL_CALLS,
    "content_filter": pb.FINISH_REASON_CONTENT_FILTER,
}
_EXACT: Mapping[pb.FinishReason.ValueType, str] = {
    pb.FINISH_REASON_STOP: "stop",
    pb.FINISH_REASON_STOP_SEQUENCE: "stop",
    pb.FINISH_REASON_LENGTH: "length",
    pb.FINISH_REASON_TOOL_CALLS: "tool_calls",
    pb.FINISH_REASON_CONTENT_FILTER: "content_filter",
}
_NEAREST: Mapping[pb.FinishReason.ValueType, str] = {
    pb.FINISH_REASON_CONTEXT_WINDOW: "length",
    pb.FINISH_REASON_CONTINUE: "length",
    pb.FINISH_REASON_REFUSAL: "content_filter",
    pb.FINISH_REASON_RECITATION: "content_filter",
}


def finish_reason(word: str, *, has_calls: bool = False, has_refusal: bool = False) -> pb.FinishReason.ValueType:
    """The reason. `stop` also stands for a refusal, and for calls where the caller forced a tool by name."""
    reason = _REASONS.get(word, pb.FINISH_REASON_OTHER)
    if reason == pb.FINISH_REASON_STOP and has_refusal:
        return pb.FINISH_REASON_REFUSAL
    if reason == pb.FINISH_REASON_STOP and has_calls:
        return pb.FINISH_REASON_TOOL_CALLS
    return reason


def finish_word(finish: pb.Finish, notes: Notes, *, has_refusal: bool) -> str:
    """The word for how a choice ended; SDKs know five. A refusal in the model's own words is a `stop`."""
    if finish.matched_stop:
        notes.dropped("MATCHED_STOP", f"choices[{finish.choice_index}].finish.matched_stop")
    if finish.message or finish.category:
        notes.dropped("FINISH_DETAILS", f"choices[{finish.choice_index}].finish.message")
    if has_refusal and finish.reason == pb.FINISH_REASON_REFUSAL:
        return "stop"
    word = _EXACT.get(finish.reason)
    if word is None:
        notes.approximated("FINISH_REASON", f"choices[{finish.choice_index}].finish.reason")
        word = _NEAREST.get(finish.reason, "stop")
    return word
