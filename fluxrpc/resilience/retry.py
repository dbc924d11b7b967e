"""How long to wait before asking the same side again: exponential back-off with full jitter.

Full jitter spreads the retries of many callers over the whole interval instead of letting them return together
(https://aws.amazon.com/builders-library/timeouts-retries-and-backoff-with-jitter/). Whether to retry at all is the
plan's decision, not made here.
"""

from __future__ import annotations

from collections.abc import Callable

Random = Callable[[], float]
"""A fresh number, uniform in [0, 1)."""

BACKOFF_BASE_SECONDS = 0.1
BACKOFF_MAX_SECONDS = 5.0
# 2 ** 6 * 0.1 s is over the maximum already; more would only risk an overflow.
_MAX_DOUBLINGS = 6


def backoff_seconds(retry_number: int, random: Random) -> float:
    """Seconds to wait before the `retry_number`-th retry, counted from 1: random * min(0.1 s * 2^(n-1), 5 s)."""
    doublings = min(retry_number - 1, _MAX_DOUBLINGS)
    return float(random() * min(BACKOFF_BASE_SECONDS * 2**doublings, BACKOFF_MAX_SECONDS))
