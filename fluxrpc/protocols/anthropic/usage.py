"""Token counts of Anthropic Messages. `input_tokens` there leaves cached tokens out; ours holds them."""

from __future__ import annotations

from typing import Any

import msgspec
from google.protobuf.duration_pb2 import Duration

from fluxrpc.protocols.counters import total, usage, whole
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
