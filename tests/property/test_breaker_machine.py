"""Any order of permits, reports and waiting: never two probes, every place comes back, the model agrees."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, multiple, rule

from fluxrpc.resilience.breaker import BreakerSettings, BreakerState, CircuitBreaker, Permit, Verdict

THRESHOLD = 2
RECOVERY_SECONDS = 10


class BreakerMachine(RuleBasedStateMachine):
    permits = Bundle("permits")
    reported = Bundle("reported")

    def __init__(self) -> None:
        super().__init__()
        self.now = 0
        self.out: set[Permit] = set()
        self.failures = 0
        self.changes: list[tuple[BreakerState, BreakerState]] = []
        self.breaker = CircuitBreaker(
            BreakerSettings(failure_threshold=THRESHOLD, recovery_seconds=RECOVERY_SECONDS),
            lambda: float(self.now),
            on_change=lambda old, new: self.changes.append((old, new)),
        )

    @rule(seconds=st.integers(1, 12))
    def wait(self, seconds: int) -> None:
        self.now += seconds

    @rule(target=permits, early=st.booleans())
    def acquire(self, early: bool) -> object:
        promised = self.breaker.is_available
        permit = self.breaker.acquire(early=early)
        if not early:
            assert promised == (permit is not None)
        if permit is None:
            assert self.breaker.state is not BreakerState.CLOSED
            return multiple()
        self.out.add(permit)
        return permit

    @rule(target=reported, permit=consumes(permits), verdict=st.sampled_from(Verdict))
    def report(self, permit: Permit, verdict: Verdict) -> Permit:
        before = self.breaker.snapshot()
        self.breaker.report(permit, verdict)
        self.out.discard(permit)
        after = self.breaker.snapshot()
        if permit.generation != before.generation or (verdict is Verdict.EXCLUDED and not permit.is_probe):
            assert after == before
        elif permit.is_probe:
            expected = {
                Verdict.SUCCESS: BreakerState.CLOSED,
                Verdict.FAILURE: BreakerState.OPEN,
                Verdict.EXCLUDED: BreakerState.HALF_OPEN,
            }
            assert after.state is expected[verdict]
        elif verdict is Verdict.SUCCESS:
            assert after.failures == 0
        else:
            assert after.failures == before.failures + 1
            assert (after.state is BreakerState.OPEN) == (after.failures >= THRESHOLD)
        return permit

    @rule(permit=reported, verdict=st.sampled_from(Verdict))
    def report_again(self, permit: Permit, verdict: Verdict) -> None:
        before = self.breaker.snapshot()
        self.breaker.report(permit, verdict)
        assert self.breaker.snapshot() == before

    @invariant()
    def at_most_one_probe_is_out(self) -> None:
        probes = [p for p in self.out if p.is_probe and p.generation == self.breaker.generation]
        assert len(probes) <= 1
        if self.breaker.state is BreakerState.HALF_OPEN:
            assert self.breaker.is_available == (not probes), "a place is neither lost nor given twice"

    @invariant()
    def every_change_is_told_once(self) -> None:
        assert len(self.changes) == self.breaker.generation
        states = [BreakerState.CLOSED] + [new for _, new in self.changes]
        assert [old for old, _ in self.changes] == states[:-1]

    @invariant()
    def an_open_breaker_recovers_in_time(self) -> None:
        if self.breaker.state is BreakerState.OPEN:
            assert self.breaker.remaining_seconds <= RECOVERY_SECONDS


TestBreaker = BreakerMachine.TestCase
TestBreaker.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
