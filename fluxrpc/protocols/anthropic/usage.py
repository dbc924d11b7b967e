"""Token counts of Anthropic Messages. `input_tokens` there leaves cached tokens out; ours holds them."""

from __future__ import annotations

from typing import Any

import msgspec
from google.protobuf.duration_pb2 import Duration

from fluxrpc.protocols.anthropic.words import ANTHROPIC
from fluxrpc.protocols.counters import total, usage, whole
from fluxrpc.protocols.json_text import JsonFault, decode_answer
from fluxrpc.protocols.node import Node, merge_extras
from fluxrpc.protocols.notes import Notes
from fluxrpc.v1.protocol_pb2 import Extra
from fluxrpc.v1.usage_pb2 import Usage


class _CacheCreation(msgspec.Struct):
    ephemeral_5m_input_tokens: Any = None
    ephemeral_1h_input_tokens: Any = None


class _OutputDetails(msgspec.Struct):
    thinking_tokens: Any = None


class _ServerTools(msgspec.Struct):
    web_search_requests: Any = None
    web_fetch_requests: Any = None


class WireUsage(msgspec.Struct):
    """`usage` as it stands on the wire."""

    input_tokens: Any = None
    output_tokens: Any = None
    cache_creation_input_tokens: Any = None
    cache_read_input_tokens: Any = None
    cache_creation: _CacheCreation | None = None
    output_tokens_details: _OutputDetails | None = None
    server_tool_use: _ServerTools | None = None


USAGE = msgspec.json.Decoder(WireUsage)


def overwrite(old: WireUsage | None, new: WireUsage) -> WireUsage:
    """Counters of a stream are cumulative: a later one replaces, an omitted one keeps."""
    if old is None:
        return new
    for name in WireUsage.__struct_fields__:
        if getattr(new, name) is None:
            setattr(new, name, getattr(old, name))
    return new


def to_usage(wire: WireUsage) -> Usage:
    """The counters in our words."""
    details = wire.output_tokens_details
    counts = usage(
        total(wire.input_tokens, wire.cache_creation_input_tokens, wire.cache_read_input_tokens),
        whole(wire.output_tokens),
        cache_read=wire.cache_read_input_tokens,
        cache_write=wire.cache_creation_input_tokens,
        reasoning=details.thinking_tokens if details else None,
    )
    if (tools := wire.server_tool_use) is not None:
        if (searches := whole(tools.web_search_requests)) is not None:
            counts.web_search_requests = searches
        if (fetches := whole(tools.web_fetch_requests)) is not None:
            counts.web_fetch_requests = fetches
    if (written := wire.cache_creation) is not None:
        for seconds, tokens in ((300, written.ephemeral_5m_input_tokens), (3600, written.ephemeral_1h_input_tokens)):
            if amount := whole(tokens):
                counts.cache_writes.add(ttl=Duration(seconds=seconds), tokens=amount)
    return counts


# --- for answers that are translated ---

_COUNTERS = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_UNSAID = ("tool_use_input_tokens", "input_modalities", "output_modalities")
_TTLS = {300: "ephemeral_5m_input_tokens", 3600: "ephemeral_1h_input_tokens"}


def read_usage(text: bytes) -> tuple[Usage | None, str]:
    """The counters of an answer, with what only this protocol counts, and the tier that served it.

    Counters are good to know, but no reason to refuse an answer: odd ones are unknown.
    """
    try:
        wire = decode_answer(USAGE, text)
        node = Node.root(text)
        counts = to_usage(wire)
        tier = node.text("service_tier") or ""
        counts.extras.extend(_rest(node, counts))
    except JsonFault:
        return None, ""
    return counts, tier


def _rest(node: Node, counts: Usage) -> list[Extra]:
    for key in _COUNTERS:
        node.take(key)
    if counts.cache_writes:  # zeros in both times to live say nothing, and are carried as they stand
        node.take("cache_creation")
    if counts.HasField("reasoning_tokens"):
        node.take("output_tokens_details")
    rest: list[Extra] = []
    tools = node.node("server_tool_use")
    if tools is not None:
        for key in ("web_search_requests", "web_fetch_requests"):
            tools.take(key)
        rest.extend(tools.extras(ANTHROPIC, "server_tool_use.", nulls=False))
    rest.extend(node.extras(ANTHROPIC, nulls=False))
    return rest


def written_usage(counts: Usage, tier: str = "") -> dict[str, Any]:
    """`usage` of a whole answer. `input_tokens` leaves out what the cache took or gave."""
    fields = _counters(counts)
    fields = {"input_tokens": fields.pop("input_tokens", 0), **fields}
    writes = {_TTLS[each.ttl.seconds]: each.tokens for each in counts.cache_writes if each.ttl.seconds in _TTLS}
    if writes:
        fields["cache_creation"] = {name: writes.get(name, 0) for name in _TTLS.values()}
    if tier:
        fields["service_tier"] = tier
    merge_extras(fields, counts.extras, ANTHROPIC)
    return fields


def note_unsaid(counts: Usage, notes: Notes, *, has_writes: bool) -> None:
    """Note the counters that callers are not told. `has_writes` says that those by time to live can be."""
    present = {field.name for field, _ in counts.ListFields()}
    for name in _UNSAID:
        if name in present:
            notes.dropped("USAGE_DETAIL", f"usage.{name}")
    if any(not has_writes or each.ttl.seconds not in _TTLS for each in counts.cache_writes):
        notes.dropped("USAGE_DETAIL", "usage.cache_writes")
    notes.foreign_extras(counts.extras, ANTHROPIC, "usage", code="USAGE_DETAIL")


def written_delta(counts: Usage) -> dict[str, Any]:
    """`usage` of `message_delta`: what is known, and the one counter that it must have."""
    return _counters(counts)


def _counters(counts: Usage) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if counts.HasField("input_tokens"):
        cached = counts.cache_read_tokens + counts.cache_write_tokens
        fields["input_tokens"] = max(0, counts.input_tokens - cached)
    if counts.HasField("cache_write_tokens"):
        fields["cache_creation_input_tokens"] = counts.cache_write_tokens
    if counts.HasField("cache_read_tokens"):
        fields["cache_read_input_tokens"] = counts.cache_read_tokens
    fields["output_tokens"] = counts.output_tokens
    if counts.HasField("reasoning_tokens"):
        fields["output_tokens_details"] = {"thinking_tokens": counts.reasoning_tokens}
    if counts.HasField("web_search_requests") or counts.HasField("web_fetch_requests"):
        fields["server_tool_use"] = {
            "web_search_requests": counts.web_search_requests,
            "web_fetch_requests": counts.web_fetch_requests,
        }
    return fields
