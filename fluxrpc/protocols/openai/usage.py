"""Token counts of OpenAI Chat Completions. Totals include cached and reasoning tokens already."""

from __future__ import annotations

from typing import Any

import msgspec

from fluxrpc.protocols.counters import usage, whole
from fluxrpc.v1.usage_pb2 import Usage


class _PromptDetails(msgspec.Struct):
    cached_tokens: Any = None
    cache_write_tokens: Any = None


class _CompletionDetails(msgspec.Struct):
    reasoning_tokens: Any = None


class WireUsage(msgspec.Struct):
    """`usage` as it stands on the wire."""

    prompt_tokens: Any = None
    completion_tokens: Any = None
    total_tokens: Any = None
    prompt_cache_hit_tokens: Any = None
    """DeepSeek's word for cached tokens."""
    prompt_tokens_details: _PromptDetails | None = None
    completion_tokens_details: _CompletionDetails | None = None


USAGE = msgspec.json.Decoder(WireUsage)


def to_usage(wire: WireUsage) -> Usage:
    """The counters in our words."""
    prompt = wire.prompt_tokens_details or _PromptDetails()
    completion = wire.completion_tokens_details or _CompletionDetails()
    cached = prompt.cached_tokens
    return usage(
        whole(wire.prompt_tokens),
        whole(wire.completion_tokens),
        total_tokens=whole(wire.total_tokens),
        cache_read=wire.prompt_cache_hit_tokens if cached is None else cached,
        cache_write=prompt.cache_write_tokens,
        reasoning=completion.reasoning_tokens,
    )
