"""The caller's deadline as a value: whether an attempt is still worth starting, when to answer.

The answer must leave a little before the end, or its details arrive after the caller has hung up.
"""

from __future__ import annotations

from msgspec import Struct

MIN_ATTEMPT_SECONDS = 0.25
REPLY_RESERVE_SECONDS = 0.05


class Deadline(Struct, frozen=True, kw_only=True):
    """A moment of the monotonic clock, and the two margins that are kept before it."""

    ends_at: float
    min_attempt_seconds: float = MIN_ATTEMPT_SECONDS
    """No attempt starts with less than this left."""
    reply_reserve_seconds: float = REPLY_RESERVE_SECONDS
    """The answer leaves this long before the end."""

    @property
    def answer_by(self) -> float:
        """The moment at which the caller is answered, whatever is still running."""
        return self.ends_at - self.reply_reserve_seconds

    def admits_attempt(self, now: float) -> bool:
        """Whether an attempt that starts at `now` has enough time left."""
        return self.ends_at - now >= self.min_attempt_seconds
