"""A body of generateContent to `MessageRequest`. Model and stream switch are not in it: they stand in the path."""

from __future__ import annotations

import msgspec

from fluxrpc.protocols.base import ReadRequest
from fluxrpc.protocols.gemini.read_config import read_config
from fluxrpc.protocols.gemini.read_contents import read_contents, read_instruction
from fluxrpc.protocols.gemini.read_tools import read_tool_choice, read_tools
from fluxrpc.protocols.gemini.wire import GEMINI, TIERS, CamelNode
from fluxrpc.protocols.notes import Places
from fluxrpc.v1.message_pb2 import SERVICE_TIER_OTHER, MessageRequest
from fluxrpc.v1.protocol_pb2 import OPAQUE_KIND_CONTINUATION, OpaqueState

__all__ = ["read_request"]

_TOOL_FIELDS = frozenset({"tools", "toolConfig"})
_ENVELOPE = frozenset({"labels", "store", "serviceTier", "cachedContent", "continuationToken"})
_LABELS = msgspec.json.Decoder(dict[str, str])


def read_request(body: bytes, *, version: str = "", places: Places | None = None) -> ReadRequest:
    """See `Translator.read_request`."""
    del version
    node = CamelNode.root(body)
    request = MessageRequest()
    read_instruction(node, request, places)
    read_contents(node, request, places)
    if node.has_any(_TOOL_FIELDS):
        read_tools(node, request, places)
        read_tool_choice(node, request)
    read_config(node, request)
    if node.has_any(_ENVELOPE):
        _read_envelope(node, request)
    node.carry(request, GEMINI)
    return ReadRequest(message=request)


def _read_envelope(node: CamelNode, request: MessageRequest) -> None:
    """What stands around the conversation."""
    try:
        request.metadata.update(_LABELS.decode(node.json("labels") or "{}"))
    except msgspec.MsgspecError:
        raise node.fault("labels", "an object of strings") from None
    store = node.flag("store")
    if store is not None:
        request.store = store
    tier = node.text("serviceTier") or ""
    if tier:
        request.service_tier = TIERS.get(tier.lower(), SERVICE_TIER_OTHER)
        request.service_tier_raw = "" if tier.lower() in TIERS else tier
    cached = node.text("cachedContent")
    if cached is not None:
        request.provider_state.cached_content = cached
    token = node.text("continuationToken")
    if token is not None:
        state = OpaqueState(kind=OPAQUE_KIND_CONTINUATION, origin=GEMINI, value=token.encode())
        request.provider_state.continuation.CopyFrom(state)
