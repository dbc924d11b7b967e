"""Why a choice of OpenAI Chat Completions ended."""

from __future__ import annotations

from fluxrpc.v1 import response_pb2 as pb

_REASONS: dict[str, pb.FinishReason.ValueType] = {
    "stop": pb.FINISH_REASON_STOP,
    "length": pb.FINISH_REASON_LENGTH,
    "tool_calls": pb.FINISH_REASON_TOOL_CALLS,
    "function_call": pb.FINISH_REASON_TOOL_CALLS,
    "content_filter": pb.FINISH_REASON_CONTENT_FILTER,
}


def finish_reason(word: str, *, has_calls: bool = False, has_refusal: bool = False) -> pb.FinishReason.ValueType:
    """The reason. `stop` also stands for a refusal, and for calls where the caller forced a tool by name."""
    reason = _REASONS.get(word, pb.FINISH_REASON_OTHER)
    if reason == pb.FINISH_REASON_STOP and has_refusal:
        return pb.FINISH_REASON_REFUSAL
    if reason == pb.FINISH_REASON_STOP and has_calls:
        return pb.FINISH_REASON_TOOL_CALLS
    return reason
