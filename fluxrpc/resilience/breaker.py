"""A circuit breaker: stops asking what keeps failing, and finds out with one probe at a time when it is well again.

Not a decorator and not a retry: whoever wants to ask takes a permit, and reports once what came of it. That is the
form which streams need, where the verdict falls long after the call was let through.

Invariants: the state changes only as `TRANSITIONS` says; while half-open exactly one permit is out; a report
counts only for the generation that its permit was given in, so results from before a change are ignored.
All of it runs on one event loop; nothing here awaits, so nothing here locks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from math import inf
from types import MappingProxyType

from fluxrpc.clock import Monotonic


class BreakerState(Enum):
    """Closed is healthy: everyone passes. Open: nobody does. Half-open: one probe finds out."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half-open"


class BreakerEvent(Enum):
    """What moves a breaker from one state to another."""

    THRESHOLD_REACHED = "threshold reached"
    PROBE_ADMITTED = "probe admitted"
    PROBE_SUCCEEDED = "probe succeeded"
    PROBE_FAILED = "probe failed"


TRANSITIONS: Mapping[tuple[BreakerState, BreakerEvent], BreakerState] = MappingProxyType(
    {
        (BreakerState.CLOSED, BreakerEvent.THRESHOLD_REACHED): BreakerState.OPEN,
        (BreakerState.OPEN, BreakerEvent.PROBE_ADMITTED): BreakerState.HALF_OPEN,
        (BreakerState.HALF_OPEN, BreakerEvent.PROBE_SUCCEEDED): BreakerState.CLOSED,
        (BreakerState.HALF_OPEN, BreakerEvent.PROBE_FAILED): BreakerState.OPEN,
    }
)
"""The whole machine. A probe that is excluded moves nothing: its place becomes free and the state stays half-open."""


class Verdict(Enum):
    """What a finished permit says about the thing behind the breaker."""

    SUCCESS = "success"
    FAILURE = "failure"
    EXCLUDED = "excluded"
    """Says nothing about it: the caller left, or something else was at fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerSettings:
    """When a breaker opens and for how long.

    Raises:
        ValueError: a value that no breaker could work with.
    """

    failure_threshold: int
    """Failures since the last success that open it; at least 1."""
    recovery_seconds: float
    """How long it stays open before a probe is admitted."""
    recovery_growth: float = 1.0
    """Each consecutive trip multiplies the recovery by this; 1 keeps it constant."""
    recovery_max_seconds: float = 3600.0
    """Where growth ends. A longer `recovery_seconds` is never shortened by it."""

    def __post_init__(self) -> None:
        if self.failure_threshold < 1:
            raise ValueError("failure_threshold must be at least 1")
        if not 0 < self.recovery_seconds < inf:
            raise ValueError("recovery_seconds must be positive and finite")
        if not 1 <= self.recovery_growth < inf:
            raise ValueError("recovery_growth must be at least 1 and finite")
        if not 0 < self.recovery_max_seconds < inf:
            raise ValueError("recovery_max_seconds must be positive and finite")


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerSnapshot:
    """A breaker at one moment, for showing."""

    state: BreakerState
    failures: int
    """Since the last success."""
    trips: int
    """Openings since it was last closed."""
    generation: int
    remaining_seconds: float
    """Until a probe may be admitted; 0 where a permit can be had now, infinite while a probe is out."""


class Permit:
    """The right to ask once. Give it back through `CircuitBreaker.report`; only the first report counts."""

    __slots__ = ("generation", "is_probe", "is_reported")

    def __init__(self, generation: int, *, is_probe: bool) -> None:
        self.generation = generation
        self.is_probe = is_probe
        self.is_reported = False


ChangeHook = Callable[[BreakerState, BreakerState], None]
"""Told of each change, old state and new, once the breaker is consistent again: it may take permits and report."""


class CircuitBreaker:
    """See the module. `shut_until` and `knocked_at` are public to read: selection compares them without a call."""

    __slots__ = (
        "_clock",
        "_failures",
        "_generation",
        "_on_change",
        "_recovery_seconds",
        "_settings",
        "_state",
        "_trips",
        "knocked_at",
        "shut_until",
    )

    def __init__(self, settings: BreakerSettings, clock: Monotonic, *, on_change: ChangeHook | None = None) -> None:
        self._settings = settings
        self._clock = clock
        self._on_change = on_change
        self._state = BreakerState.CLOSED
        self._generation = 0
        self._failures = 0
        self._trips = 0
        self._recovery_seconds = settings.recovery_seconds
        self.shut_until = -inf
        """A permit can be had from this moment of the clock on; infinite while a probe is out."""
        self.knocked_at = -inf
        """When it last opened or last let a probe through."""

    @property
    def settings(self) -> BreakerSettings:
        """The settings in force."""
        return self._settings

    @property
    def state(self) -> BreakerState:
        """The state. An open breaker stays open until a probe is admitted, however long ago it recovered."""
        return self._state

    @property
    def generation(self) -> int:
        """Grows with each change of state."""
        return self._generation

    @property
    def is_available(self) -> bool:
        """Whether `acquire` would give a permit now. Takes none."""
        return self.shut_until <= self._clock()

    @property
    def remaining_seconds(self) -> float:
        """Seconds until a permit can be had: 0 if now, infinite while a probe is out."""
        return max(0.0, self.shut_until - self._clock())

    def configure(self, settings: BreakerSettings) -> None:
        """Take other settings from the next event on. State, count and a running recovery stay."""
        self._settings = settings

    def acquire(self, *, early: bool = False) -> Permit | None:
        """A permit, or None while shut.

        `early` admits the one probe of an open breaker before its recovery is over, for when nothing else is left
        to ask. It never admits a second probe.
        """
        if self._state is BreakerState.CLOSED:
            return Permit(self._generation, is_probe=False)
        if self.shut_until > self._clock() and not (early and self._state is BreakerState.OPEN):
            return None
        if self._state is BreakerState.OPEN:
            # Made before the move: its hook may already run the breaker on to another generation.
            probe = Permit(self._generation + 1, is_probe=True)
            try:
                self._move(BreakerEvent.PROBE_ADMITTED)
            except BaseException:
                self.report(probe, Verdict.EXCLUDED)  # a hook that raises must not cost the probe's place
                raise
            return probe
        self.shut_until = inf
        self.knocked_at = self._clock()
        return Permit(self._generation, is_probe=True)

    def report(self, permit: Permit, verdict: Verdict) -> None:
        """Say what came of a permit. Ignored: a second report, and one from an earlier generation."""
        if permit.is_reported:
            return
        permit.is_reported = True
        if permit.generation != self._generation:
            return
        if permit.is_probe:
            self._settle_probe(verdict)
        elif verdict is Verdict.SUCCESS:
            self._failures = 0
        elif verdict is Verdict.FAILURE:
            self.record_failure()

    def record_failure(self) -> None:
        """Count a failure that no open permit stands for (an answer that broke off after its success was reported).

        Counts only while closed: open, it is known already; half-open, the probe decides.
        """
        if self._state is not BreakerState.CLOSED:
            return
        self._failures += 1
        if self._failures >= self._settings.failure_threshold:
            self._move(BreakerEvent.THRESHOLD_REACHED)

    def snapshot(self) -> BreakerSnapshot:
        """All that can be shown of it."""
        return BreakerSnapshot(
            state=self._state,
            failures=self._failures,
            trips=self._trips,
            generation=self._generation,
            remaining_seconds=self.remaining_seconds,
        )

    def _settle_probe(self, verdict: Verdict) -> None:
        if verdict is Verdict.SUCCESS:
            self._move(BreakerEvent.PROBE_SUCCEEDED)
        elif verdict is Verdict.FAILURE:
            self._failures += 1
            self._move(BreakerEvent.PROBE_FAILED)
        else:
            self.shut_until = -inf

    def _move(self, event: BreakerEvent) -> None:
        old, new = self._state, TRANSITIONS[self._state, event]
        self._state = new
        self._generation += 1
        if new is BreakerState.CLOSED:
            self._failures = self._trips = 0
            self.shut_until = -inf
        elif new is BreakerState.OPEN:
            self._trips += 1
            self._recovery_seconds = self._next_recovery_seconds()
            self.knocked_at = self._clock()
            self.shut_until = self.knocked_at + self._recovery_seconds
        else:
            self.knocked_at = self._clock()
            self.shut_until = inf
        if self._on_change is not None:
            self._on_change(old, new)

    def _next_recovery_seconds(self) -> float:
        settings = self._settings
        if self._trips == 1:
            return settings.recovery_seconds
        # Grown step by step: a power of the number of trips would overflow one day.
        grown = min(self._recovery_seconds * settings.recovery_growth, settings.recovery_max_seconds)
        return max(grown, settings.recovery_seconds)
