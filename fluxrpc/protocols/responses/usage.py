"""Token counts of OpenAI Responses. Totals include cached and reasoning tokens already."""

from __future__ import annotations

from typing import Any

import msgspec
from google.protobuf.duration_pb2 import Duration

from fluxrpc.protocols.counters import usage, whole
from fluxrpc.v1.usage_pb2 import Usage


class _Written(msgspec.Struct):
    ttl_30m_tokens: Any = None
    ttl_12h_tokens: Any = None


class _InputDetails(msgspec.Struct):
    cached_tokens: Any = None
    cache_write_tokens: Any = None
    cache_write_tokens_details: _Written | None = None


class _OutputDetails(msgspec.Struct):
    reasoning_tokens: Any = None


class WireUsage(msgspec.Struct):
    """`usage` as it stands on the wire."""

    input_tokens: Any = None
    output_tokens: Any = None
    total_tokens: Any = None
    input_tokens_details: _InputDetails | None = None
    output_tokens_details: _OutputDetails | None = None


class _WebSearch(msgspec.Struct):
    num_requests: Any = None


class ToolUsage(msgspec.Struct):
    """`tool_usage`, which stands beside `usage`."""

    web_search: _WebSearch | None = None


USAGE = msgspec.json.Decoder(WireUsage)
TOOL_USAGE = msgspec.json.Decoder(ToolUsage)


def to_usage(wire: WireUsage, tools: ToolUsage | None = None) -> Usage:
    """The counters in our words."""
    given = wire.input_tokens_details or _InputDetails()
    made = wire.output_tokens_details or _OutputDetails()
    counts = usage(
        whole(wire.input_tokens),
        whole(wire.output_tokens),
        total_tokens=whole(wire.total_tokens),
        cache_read=given.cached_tokens,
        cache_write=given.cache_write_tokens,
        reasoning=made.reasoning_tokens,
    )
    written = given.cache_write_tokens_details
    if written is not None:
        for seconds, tokens in ((1800, written.ttl_30m_tokens), (43200, written.ttl_12h_tokens)):
            if amount := whole(tokens):
                counts.cache_writes.add(ttl=Duration(seconds=seconds), tokens=amount)
    if tools and tools.web_search and (searches := whole(tools.web_search.num_requests)) is not None:
        counts.web_search_requests = searches
    return counts
