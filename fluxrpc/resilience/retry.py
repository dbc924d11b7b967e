"""How long to wait before asking the same side again: exponential back-off with full jitter.

Full jitter spreads the retries of many callers over the whole interval instead of letting them return together
(https://aws.amazon.com/builders-library/timeouts-retries-and-backoff-with-jitter/). Whether to retry at all is the
plan's decision, not made here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Random = Callable[[], float]
"""A fresh number, uniform in [0, 1)."""

# Far above any maximum in use already; more would only risk an overflow.
_MAX_DOUBLINGS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class BackoffSettings:
    """The interval that back-off is drawn from."""

    base_seconds: float = 0.1
    """Upper end before the first retry; doubled for each further one."""
    max_seconds: float = 5.0
    """Where doubling ends."""


def backoff_seconds(retry_number: int, random: Random, settings: BackoffSettings) -> float:
    """Seconds before the `retry_number`-th retry, counted from 1: random * min(base * 2^(n-1), max)."""
    doublings = min(retry_number - 1, _MAX_DOUBLINGS)
    return random() * min(settings.base_seconds * 2.0**doublings, settings.max_seconds)
