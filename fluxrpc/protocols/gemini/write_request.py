"""`MessageRequest` to a request of generateContent or streamGenerateContent."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import msgspec

from fluxrpc.ir.presence import present
from fluxrpc.protocols.base import Protocol, WireRequest
from fluxrpc.protocols.context import Context
from fluxrpc.protocols.envelope import is_replayable
from fluxrpc.protocols.gemini.native import request_path
from fluxrpc.protocols.gemini.wire import GEMINI, TIERS, inverse
from fluxrpc.protocols.gemini.write_config import write_config
from fluxrpc.protocols.gemini.write_contents import write_conversation
from fluxrpc.protocols.gemini.write_tools import tool_names, write_tool_choice, write_tools
from fluxrpc.protocols.node import merge_extras
from fluxrpc.protocols.notes import Notes
from fluxrpc.v1 import message_pb2 as msg
from fluxrpc.v1.message_pb2 import MessageRequest

__all__ = ["write_request"]

_TIER_WORDS = {
    **inverse(TIERS), msg.SERVICE_TIER_FAST: "priority", msg.SERVICE_TIER_ULTRAFAST: "priority",
}  # fmt: skip
_UNSAID_TIERS = frozenset({msg.SERVICE_TIER_UNSPECIFIED, msg.SERVICE_TIER_AUTO})
_DROPPED = {
    "verbosity": "VERBOSITY",
    "citation_mode": "CITATION_MODE",
    "cache": "CACHE_OPTIONS",
    "end_user_id": "END_USER_ID",
}
"""Fields without a counterpart."""
_TOOL_FIELDS = frozenset({"tools", "tool_choice", "parallel_tool_calls", "max_tool_calls"})
_ENVELOPE = frozenset({*_DROPPED, "metadata", "store", "service_tier", "service_tier_raw", "provider_state"})
"""Who asks, what is kept, what it may cost."""


def write_request(request: MessageRequest, context: Context, notes: Notes) -> WireRequest:
    """See `Translator.write_request`."""
    body: dict[str, Any] = {}
    names = tool_names(context, notes)
    said = present(request)
    if not _TOOL_FIELDS.isdisjoint(said):
        write_tools(body, request, context, notes, names)
        write_tool_choice(body, request, context, notes, names)
    write_conversation(body, request, context, notes, names)
    config = write_config(request, said, context, notes)
    if config:
        body["generationConfig"] = config
    if not _ENVELOPE.isdisjoint(said):
        _write_envelope(body, request, said, context, notes)
    if "extras" in said:
        notes.foreign_extras(request.extras, GEMINI, "")
        merge_extras(body, request.extras, GEMINI)
    return WireRequest(path=request_path(context.target.model, stream=context.stream), body=msgspec.json.encode(body))


def _write_envelope(
    body: dict[str, Any], request: MessageRequest, said: Container[str], context: Context, notes: Notes
) -> None:
    for name, code in _DROPPED.items():
        if name in said:
            notes.dropped(code, name)
    if "metadata" in said:
        body["labels"] = dict(request.metadata)
    if "store" in said:
        body["store"] = request.store
    _write_tier(body, request, context, notes)
    state = request.provider_state
    for name in ("previous_response_id", "conversation_id", "container_id"):
        if getattr(state, name):
            notes.dropped("PROVIDER_STATE", f"provider_state.{name}")
    if state.cached_content:
        body["cachedContent"] = state.cached_content
    if state.HasField("continuation"):
        if is_replayable(state.continuation, GEMINI, context.target.service):
            body["continuationToken"] = state.continuation.value.decode()
        else:
            notes.dropped("PROVIDER_STATE", "provider_state.continuation")


def _write_tier(body: dict[str, Any], request: MessageRequest, context: Context, notes: Notes) -> None:
    tier = request.service_tier
    word = _TIER_WORDS.get(tier) or (request.service_tier_raw if context.caller is Protocol.GEMINI else "")
    if word:
        body["serviceTier"] = word
    if word and tier in {msg.SERVICE_TIER_FAST, msg.SERVICE_TIER_ULTRAFAST}:
        notes.approximated("SERVICE_TIER", "service_tier")
    if not word and tier not in _UNSAID_TIERS:
        notes.dropped("SERVICE_TIER", "service_tier")
