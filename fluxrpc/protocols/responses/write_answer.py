"""What whole and streamed answers of OpenAI Responses share: the response object, its items, end and counters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from fluxrpc.ir.presence import present
from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.classify import words
from fluxrpc.protocols.context import Context, Target
from fluxrpc.protocols.envelope import seal
from fluxrpc.protocols.node import merge_extras, raw
from fluxrpc.protocols.notes import Notes
from fluxrpc.protocols.responses import write_items as items
from fluxrpc.protocols.responses.read_input import SIGNATURE_ID
from fluxrpc.protocols.responses.words import ITEM, PHASES, TIERS, TTLS, extras_of
from fluxrpc.protocols.responses.write_content import said
from fluxrpc.protocols.responses.write_request import settings
from fluxrpc.v1 import part_pb2 as part_pb
from fluxrpc.v1 import response_pb2 as pb
from fluxrpc.v1.protocol_pb2 import PROTOCOL_RESPONSES, Extra, OpaqueState
from fluxrpc.v1.usage_pb2 import Usage

__all__ = ["AnswerWriter", "End"]

_REPEATED = words(
    "conversation instructions max_output_tokens max_tool_calls metadata parallel_tool_calls previous_response_id "
    "prompt_cache_key prompt_cache_options reasoning safety_identifier store temperature text tool_choice tools "
    "top_logprobs top_p background context_management prompt prompt_cache_retention truncation user"
)
"""Settings that an answer repeats."""
_ANYBODY = Target(protocol=Protocol.RESPONSES, model="")
"""The settings are repeated as they were said, whatever the model makes of them."""
_DEFAULTS: dict[str, Any] = {
    "instructions": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "temperature": None,
    "tool_choice": "auto",
    "tools": [],
    "top_p": None,
}
"""Those that must be there, and what they are where the request does not say: the API's reference demands them."""
_INCOMPLETE = {
    pb.FINISH_REASON_LENGTH: "max_output_tokens",
    pb.FINISH_REASON_CONTEXT_WINDOW: "max_output_tokens",
    pb.FINISH_REASON_CONTINUE: "max_output_tokens",
    pb.FINISH_REASON_CONTENT_FILTER: "content_filter",
    pb.FINISH_REASON_RECITATION: "content_filter",
}
_FAILED = frozenset({pb.FINISH_REASON_MALFORMED_TOOL_CALL, pb.FINISH_REASON_ERROR, pb.FINISH_REASON_TIMEOUT})
_STATUSES = frozenset({"completed", "cancelled", "queued", "in_progress"})
_EXACT_REASONS = frozenset(
    {
        pb.FINISH_REASON_STOP,
        pb.FINISH_REASON_LENGTH,
        pb.FINISH_REASON_TOOL_CALLS,
        pb.FINISH_REASON_CONTENT_FILTER,
        pb.FINISH_REASON_REFUSAL,
        pb.FINISH_REASON_CANCELLED,
    }
)
"""Reasons that callers of this protocol can tell apart."""
_LOST = {
    "server_tool_call": "ANSWER_SERVER_TOOLS",
    "server_tool_result": "ANSWER_SERVER_TOOLS",
    "image": "ANSWER_IMAGE",
    "audio": "ANSWER_AUDIO",
}
_LOST_COUNTERS = ("tool_use_input_tokens", "input_modalities", "output_modalities", "web_fetch_requests")
_NO_IMAGES: dict[str, Any] = {
    "input_tokens": 0,
    "input_tokens_details": {"image_tokens": 0, "text_tokens": 0},
    "output_tokens": 0,
    "total_tokens": 0,
}
"""Counters of images: the SDKs demand them wherever tools are counted, and kinds that were not used count zero."""
_PREFIXES = {
    "message": "msg",
    "reasoning": "rs",
    "function_call": "fc",
    "custom_tool_call": "ctc",
    "image_generation_call": "ig",
    "web_search_call": "ws",
    "compaction": "cmp",
}


class End(Struct, frozen=True, kw_only=True):
    """How an answer ended, in this protocol's words."""

    status: str
    reason: str = ""

    @property
    def event(self) -> str:
        """Name of the last event of its stream."""
        return "response." + (self.status if self.status in {"incomplete", "failed", "cancelled"} else "completed")


class AnswerWriter:
    """Writes the pieces of one answer."""

    def __init__(self, context: Context, notes: Notes) -> None:
        self.context = context
        self.notes = notes
        self.is_own = context.target.protocol is Protocol.RESPONSES
        """The provider speaks this protocol too: nothing is to be made up."""

    # --- the response object ---

    def head(self, response: pb.MessageResponse) -> dict[str, Any]:
        """The object but for its output and end."""
        context = self.context
        answer_id = response.id if self.is_own else f"resp_{response.id or f'gw_{context.now}'}"
        fields: dict[str, Any] = {
            "id": answer_id,
            "object": "response",
            "created_at": response.created.seconds if response.HasField("created") else context.now,
            "status": "in_progress",
            "error": None,
            "incomplete_details": None,
            "model": response.model or context.target.model,
            "output": [],
        }
        fields |= _DEFAULTS
        fields |= self._repeated()
        if response.service_tier:
            tier = TIERS.write(response.service_tier, response.service_tier_raw if self.is_own else "")
            if tier:
                fields["service_tier"] = tier
            else:
                self.notes.dropped("SERVICE_TIER", "service_tier")
        self._merge(fields, response.extras)
        return fields

    def end(self, fields: dict[str, Any], output: list[Any], choice: pb.Choice, usage: Usage | None) -> None:
        """Put output, end and counters into the object."""
        end = self.end_of(choice.finish)
        self._note_finish(choice.finish, end)
        fields["status"] = end.status
        fields["output"] = output
        if end.reason:
            fields["incomplete_details"] = {"reason": end.reason}
        if end.status == "failed":
            message = choice.finish.message or "the model failed"
            fields["error"] = {"code": "server_error", "message": message}
        if usage is not None:
            self._write_usage(fields, usage)
        self._merge(fields, choice.extras)
        self._merge(fields, choice.finish.extras)

    def _note_finish(self, finish: pb.Finish, end: End) -> None:
        if finish.reason not in _EXACT_REASONS and not self.is_own:
            self.notes.approximated("FINISH_REASON", f"choices[{finish.choice_index}].finish.reason")
        if finish.matched_stop:
            self.notes.dropped("MATCHED_STOP", f"choices[{finish.choice_index}].finish.matched_stop")
        is_said = end.status == "failed" or finish.reason == pb.FINISH_REASON_REFUSAL
        if finish.category or (finish.message and not is_said):
            self.notes.dropped("FINISH_DETAILS", f"choices[{finish.choice_index}].finish")

    def end_of(self, finish: pb.Finish) -> End:
        """Status and reason of an end."""
        if self.is_own and finish.raw:
            if finish.raw in _STATUSES:
                return End(status=finish.raw)
            return End(status="incomplete", reason="" if finish.raw == "incomplete" else finish.raw)
        if finish.reason in _INCOMPLETE:
            return End(status="incomplete", reason=_INCOMPLETE[finish.reason])
        if finish.reason in _FAILED:
            return End(status="failed")
        return End(status="cancelled" if finish.reason == pb.FINISH_REASON_CANCELLED else "completed")

    def _repeated(self) -> dict[str, Any]:
        """What the request said, in the form in which it said it."""
        request = self.context.request
        own = Context(caller=Protocol.RESPONSES, target=_ANYBODY, request=request)
        fields = settings(request, own, Notes({}), None)
        if extras := request.extras:
            merge_extras(fields, extras, PROTOCOL_RESPONSES)
        return {key: value for key, value in fields.items() if key in _REPEATED}

    def _merge(self, fields: dict[str, Any], extras: Sequence[Extra]) -> None:
        if extras:
            merge_extras(fields, extras, PROTOCOL_RESPONSES)
            self.notes.foreign_extras(extras, PROTOCOL_RESPONSES, "", "ANSWER_EXTRA")

    def _write_usage(self, fields: dict[str, Any], usage: Usage) -> None:
        details: dict[str, Any] = {
            "cached_tokens": usage.cache_read_tokens,
            "cache_write_tokens": usage.cache_write_tokens,
        }
        said = present(usage)
        if "cache_writes" in said:
            self._write_cache_writes(details, usage)
        counts: dict[str, Any] = {
            "input_tokens": usage.input_tokens,
            "input_tokens_details": details,
            "output_tokens": usage.output_tokens,
            "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
            "total_tokens": usage.total_tokens if "total_tokens" in said else usage.input_tokens + usage.output_tokens,
        }
        for name in _LOST_COUNTERS:
            if name in said:
                self.notes.dropped("USAGE_DETAIL", f"usage.{name}")
        if "extras" in said:
            merge_extras(counts, usage.extras, PROTOCOL_RESPONSES)
            self.notes.foreign_extras(usage.extras, PROTOCOL_RESPONSES, "usage", "USAGE_DETAIL")
        fields["usage"] = counts
        if "web_search_requests" in said:
            fields["tool_usage"] = {
                "image_gen": _NO_IMAGES,
                "web_search": {"num_requests": usage.web_search_requests},
            }

    def _write_cache_writes(self, details: dict[str, Any], usage: Usage) -> None:
        by_ttl = {each.ttl.seconds: each.tokens for each in usage.cache_writes}
        if set(by_ttl) <= set(TTLS.values()):
            details["cache_write_tokens_details"] = {
                f"ttl_{word}_tokens": by_ttl.get(seconds, 0) for word, seconds in TTLS.items()
            }
        else:
            self.notes.approximated("USAGE_DETAIL", "usage.cache_writes")

    # --- items ---

    def made_up_id(self, kind: str, index: int) -> str:
        """The id of an item whose provider gave none, by its place: the same in every event."""
        return f"{_PREFIXES.get(kind, 'item')}_gw_{index}"

    def message(self, parts: Sequence[part_pb.Part], item_id: str, path: str, status: str) -> dict[str, Any]:
        """A message of pieces of content."""
        item: dict[str, Any] = {"type": "message", "id": item_id, "role": "assistant", "status": status}
        first = parts[0]
        if first.phase:
            phase = PHASES.write(first.phase, first.phase_raw if self.is_own else "")
            if phase:
                item["phase"] = phase
            else:
                self.notes.approximated("TEXT_PHASE", f"{path}.phase")
        item["content"] = [self.piece(part, path) for part in parts]
        for part in parts:
            for each in extras_of(part.extras) if part.extras else ():
                key = each.key.removeprefix("~")
                if key.startswith(ITEM):
                    sign = "~" if each.key.startswith("~") else ""
                    outer = Extra(protocol=each.protocol, key=sign + key.removeprefix(ITEM), value_json=each.value_json)
                    merge_extras(item, [outer], PROTOCOL_RESPONSES)
        return item

    def piece(self, part: part_pb.Part, path: str) -> Any:
        """A piece of content."""
        if extras := part.extras:
            self.notes.foreign_extras(extras, PROTOCOL_RESPONSES, path, "ANSWER_EXTRA")
        return said(part, with_annotations=True, notes=self.notes, path=path, code="CITATION")

    def item(self, part: part_pb.Part, result: part_pb.Part | None, index: int, path: str) -> Any:
        """The item for a part that is no piece of a message; None where it has none."""
        kind = part.WhichOneof("kind") or "raw"
        item: dict[str, Any] | None = None
        self.notes.foreign_extras(part.extras, PROTOCOL_RESPONSES, path, "ANSWER_EXTRA")
        if kind == "raw" and part.raw.protocol == PROTOCOL_RESPONSES:
            return raw(part.raw.body_json)
        if len(part.opaque) > 1:
            self.notes.dropped("REASONING_STATE", f"{path}.opaque", "an item has room for one")
        if kind == "reasoning":
            item = items.reasoning_item(part, sealed(part.opaque), keeps_kind=self.is_own)
        elif kind == "tool_call":
            default = "" if self.is_own else "{}"
            item = items.call_item(part, call_id=part.tool_call.id, name=part.tool_call.name, default=default)
            item.setdefault("status", "completed")
        elif kind == "server_tool_call":
            item = items.hosted_item(part, result)
            if result is not None and item is not None and part.server_tool_call.kind_raw not in items.HOSTED:
                self.notes.dropped("ANSWER_SERVER_TOOLS", path, "results of another provider's search have no form")
        elif kind == "image" and part.image.data:
            item = items.image_item(part)
        elif kind == "compaction" and part.opaque:
            item = items.compaction_item(part, sealed(part.opaque) or "")
        if item is None:
            self.notes.dropped(_LOST.get(kind, "ANSWER_RAW_PART"), path)
            return None
        return {"type": item["type"], "id": part.item_id or self.made_up_id(item["type"], index)} | item

    def signature(self, part: part_pb.Part, index: int) -> dict[str, Any] | None:
        """An item that carries state of the part before it: only reasoning has a place for state here."""
        encrypted = sealed(part.opaque)
        if encrypted is None or part.HasField("reasoning") or part.HasField("compaction"):
            return None
        return {
            "type": "reasoning",
            "id": f"{SIGNATURE_ID}{index}",
            "summary": [],
            "encrypted_content": encrypted,
        }


def sealed(states: Sequence[OpaqueState]) -> str | None:
    """State as callers carry it: our own provider's as it is, another's in an envelope."""
    for state in states:
        return state.value.decode() if state.origin == PROTOCOL_RESPONSES else seal(state)
    return None
