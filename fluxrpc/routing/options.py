"""What one request asks of the router, beside its content."""

from __future__ import annotations

from math import inf

from msgspec import Struct


class CallOptions(Struct, frozen=True, kw_only=True):
    """Options of one request. What is None or absent takes the route's own limit."""

    ends_at: float = inf
    """The caller's deadline, in monotonic seconds."""
    attempt_seconds: float | None = None
    """Unary: one whole attempt."""
    first_token_seconds: float | None = None
    """Streams: one attempt, to its first content."""
    idle_seconds: float | None = None
    """Silence between two reads of an answer."""
    strict: bool = False
    """Routes that cannot say the whole request are passed over."""
    headers: tuple[tuple[str, str], ...] = ()
    """The caller's own headers for the provider, allow-listed, names in lower case."""
