"""Token counts of Gemini. The answer there leaves thoughts out, the prompt leaves tool results out; ours hold them."""

from __future__ import annotations

from typing import Any

import msgspec

from fluxrpc.protocols.counters import total, usage, whole
from fluxrpc.v1.usage_pb2 import Usage


class WireUsage(msgspec.Struct, rename="camel"):
    """`usageMetadata` as it stands on the wire. Counters that are zero are left out there."""

    prompt_token_count: Any = None
    tool_use_prompt_token_count: Any = None
    candidates_token_count: Any = None
    thoughts_token_count: Any = None
    cached_content_token_count: Any = None
    total_token_count: Any = None


USAGE = msgspec.json.Decoder(WireUsage)


def to_usage(wire: WireUsage) -> Usage:
    """The counters in our words."""
    candidates = wire.candidates_token_count
    if candidates is None and wire.thoughts_token_count is not None:
        candidates = 0
    counts = usage(
        total(wire.prompt_token_count, wire.tool_use_prompt_token_count),
        total(candidates, wire.thoughts_token_count),
        total_tokens=whole(wire.total_token_count),
        cache_read=wire.cached_content_token_count,
        reasoning=wire.thoughts_token_count,
    )
    if (tool_use := whole(wire.tool_use_prompt_token_count)) is not None:
        counts.tool_use_input_tokens = tool_use
    return counts
