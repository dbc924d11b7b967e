"""What whole answers and streams have in common when they are written: the words and the shells of content blocks.

`own` is an answer that came from this protocol: nothing of it is changed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fluxrpc.protocols.anthropic.finish import stop_reason
from fluxrpc.protocols.anthropic.words import ANTHROPIC
from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.context import Context
from fluxrpc.protocols.envelope import seal
from fluxrpc.protocols.node import merge_extras, raw
from fluxrpc.protocols.notes import Notes
from fluxrpc.v1 import message_pb2 as msg
from fluxrpc.v1.part_pb2 import TEXT_PHASE_PLAN, TEXT_PHASE_UNSPECIFIED, Part
from fluxrpc.v1.protocol_pb2 import OpaqueState
from fluxrpc.v1.response_pb2 import FINISH_REASON_REFUSAL, Finish, MessageResponse

__all__ = ["Answered", "foreign_states", "signature_of", "whole_block"]

Block = dict[str, Any]

_REFUSAL = "refusal"
_PHASES = frozenset({TEXT_PHASE_UNSPECIFIED, TEXT_PHASE_PLAN})
_TIERS = {msg.SERVICE_TIER_STANDARD: "standard", msg.SERVICE_TIER_PRIORITY: "priority"}


class Answered:
    """The facts of one answer that its writer asks for again and again."""

    __slots__ = ("asked_to_reason", "context", "notes", "own")

    def __init__(self, context: Context, notes: Notes) -> None:
        self.context = context
        self.notes = notes
        self.own = context.target.protocol is Protocol.ANTHROPIC
        options = context.request.reasoning
        self.asked_to_reason = context.request.HasField("reasoning") and (
            options.mode != msg.REASONING_MODE_OFF and options.effort != msg.REASONING_EFFORT_NONE
        )

    def head(self, response: MessageResponse) -> Block:
        """Everything before `content`."""
        answer_id = response.id or f"gw_{self.context.now}"
        if not (self.own and response.id):
            answer_id = f"msg_{answer_id}"
        model = response.model or self.context.target.model
        return {"id": answer_id, "type": "message", "role": "assistant", "model": model}

    def tier(self, response: MessageResponse) -> str:
        """The tier that served it; "" where it is not known, or not a word of this protocol."""
        return _TIERS.get(response.service_tier, response.service_tier_raw if self.own else "")

    def end(self, finish: Finish, path: str) -> Block:
        """`stop_reason` and what explains it."""
        word, is_exact = stop_reason(finish.reason)
        if self.own and finish.raw:
            word, is_exact = finish.raw, True
        if not is_exact:
            self.notes.approximated("FINISH_REASON", f"{path}.reason")
        fields: Block = {"stop_reason": word, "stop_sequence": finish.matched_stop or None}
        if self.own:
            is_explained = bool(finish.category or finish.message)
        else:
            is_explained = word == _REFUSAL and bool(finish.message or finish.reason == FINISH_REASON_REFUSAL)
            if finish.category or (finish.message and not is_explained):
                self.notes.dropped("FINISH_DETAILS", path)
        if is_explained:
            fields["stop_details"] = {
                "type": "refusal",
                "category": (finish.category or None) if self.own else None,
                "explanation": finish.message or None,
            }
        merge_extras(fields, finish.extras, ANTHROPIC)
        self.notes.foreign_extras(finish.extras, ANTHROPIC, path, code="ANSWER_EXTRA")
        return fields

    def finish_block(self, block: Block, part: Part, path: str) -> None:
        """What hangs on a part: its extras; what it is for is not told here."""
        if part.phase not in _PHASES:
            self.notes.dropped("TEXT_PHASE", f"{path}.phase")
        if part.extras:
            merge_extras(block, part.extras, ANTHROPIC)
            self.notes.foreign_extras(part.extras, ANTHROPIC, path, code="ANSWER_EXTRA")


def signature_of(states: Iterable[OpaqueState]) -> str:
    """What stands in `signature`: our provider's own, or an envelope around another's; "" for none."""
    for state in states:
        return state.value.decode("utf-8", "replace") if state.origin == ANTHROPIC else seal(state)
    return ""


def foreign_states(part: Part) -> list[OpaqueState]:
    """State on a part that has no place for it here: what Gemini signs. It goes into the thinking before it."""
    return [state for state in part.opaque if state.origin != ANTHROPIC]


def whole_block(answered: Answered, part: Part, path: str) -> Block | None:
    """Blocks that are the same in a whole answer and at the start of a streamed one; None for others."""
    match part.WhichOneof("kind"):
        case "server_tool_call":
            return _server_call(answered, part, path)
        case "server_tool_result":
            return _server_result(answered, part, path)
        case "reasoning" if part.reasoning.redacted:
            return {"type": "redacted_thinking", "data": signature_of(part.opaque)}
        case "compaction" if answered.own:
            return _compaction(part)
    answered.notes.dropped(_LOST.get(part.WhichOneof("kind") or "", "ANSWER_RAW_PART"), path)
    return None


_LOST = {"image": "ANSWER_IMAGE", "audio": "ANSWER_AUDIO"}


def _server_call(answered: Answered, part: Part, path: str) -> Block | None:
    if not answered.own:
        answered.notes.dropped("ANSWER_SERVER_TOOLS", path)
        return None
    call = part.server_tool_call
    block: Block = {"type": "server_tool_use", "id": call.id, "name": call.kind_raw}
    if call.kind_raw == "mcp_tool_use":
        block = {"type": "mcp_tool_use", "id": call.id, "name": call.name}
    block["input"] = raw(call.input_json or "{}")
    return block


def _server_result(answered: Answered, part: Part, path: str) -> Block | None:
    if not answered.own:
        answered.notes.dropped("ANSWER_SERVER_TOOLS", path)
        return None
    result = part.server_tool_result
    return {"type": result.kind_raw, "tool_use_id": result.call_id, "content": raw(result.content_json or "[]")}


def _compaction(part: Part) -> Block:
    block: Block = {"type": "compaction", "content": part.compaction.text or None}
    state = signature_of(part.opaque)
    if state:
        block["encrypted_content"] = state
    return block
