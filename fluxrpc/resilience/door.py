"""Doors that shut for a stated time and open by themselves: no counting, no probe.

A credential's door shuts when the provider rejects the key or says that its quota is spent; another key (a reload)
comes with a door of its own. A route's hint is such a door too: the provider said when to come back.
"""

from __future__ import annotations

from math import inf, isfinite

CREDENTIAL_SHUT_SECONDS = 1800.0
MAX_HINT_SECONDS = 86_400.0
"""A hint beyond a day (the longest limit window that providers publish) is a mistake, and would shut for ever."""


class TimedDoor:
    """Open unless `shut_until` lies ahead. The attribute is public to read: selection compares it without a call."""

    __slots__ = ("shut_until",)

    def __init__(self) -> None:
        self.shut_until = -inf
        """The door is open from this moment of the monotonic clock on."""

    def shut(self, until: float) -> None:
        """Shut until that moment. Never opens it earlier than it was going to."""
        self.shut_until = max(self.shut_until, until)

    def is_open(self, now: float) -> bool:
        """Whether one may pass."""
        return self.shut_until <= now

    def remaining_seconds(self, now: float) -> float:
        """Seconds until it opens; 0 while open."""
        return max(0.0, self.shut_until - now)


class CredentialDoor(TimedDoor):
    """The door of one key."""

    __slots__ = ("shut_seconds",)

    def __init__(self, shut_seconds: float = CREDENTIAL_SHUT_SECONDS) -> None:
        super().__init__()
        self.shut_seconds = shut_seconds
        """For how long a rejection shuts it."""

    def reject(self, now: float) -> None:
        """The provider rejected the key, or its quota is spent."""
        self.shut(now + self.shut_seconds)


class HintDoor(TimedDoor):
    """Shut for as long as the provider's latest hints ask."""

    __slots__ = ()

    def heed(self, seconds: float | None, now: float) -> None:
        """Take a hint: seconds to wait from `now`. None, nonsense and the past bind nothing."""
        if seconds is not None and isfinite(seconds) and seconds > 0:
            self.shut(now + min(seconds, MAX_HINT_SECONDS))
