"""Token counts of five dialects into one `Usage`. Totals include their parts, whichever way the provider counts.

Missing stays missing: 0 and unknown differ. Counters that are not whole numbers of tokens are rounded half up;
negative and absurd ones are unknown.
"""

from __future__ import annotations

import math
from typing import Any

from fluxrpc.v1.usage_pb2 import Usage

Count = Any
"""A counter as decoded: an integer, a float (Cohere), null, or rubbish from a compatible server."""

_MAX_TOKENS = 2**53


def whole(count: Count) -> int | None:
    """The counter as a whole number, or None where it is none."""
    if type(count) is int:
        return count if 0 <= count <= _MAX_TOKENS else None
    if type(count) is float and math.isfinite(count) and 0 <= count <= _MAX_TOKENS:
        return math.floor(count + 0.5)
    return None


def total(first: Count, *others: Count) -> int | None:
    """The sum of the known counters; None if the first, the main one, is unknown."""
    known = whole(first)
    if known is not None:
        for count in others:
            if count is not None:
                known += whole(count) or 0
    return known


def usage(
    input_tokens: int | None,
    output_tokens: int | None,
    *,
    total_tokens: int | None = None,
    cache_read: Count = None,
    cache_write: Count = None,
    reasoning: Count = None,
) -> Usage:
    """A `Usage` of what is known; the total is the sum where the provider gives none."""
    if total_tokens is None and input_tokens is not None and output_tokens is not None:
        total_tokens = input_tokens + output_tokens
    return Usage(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        total_tokens=total_tokens,
        cache_read_tokens=whole(cache_read),
        cache_write_tokens=whole(cache_write),
        reasoning_tokens=whole(reasoning),
    )
