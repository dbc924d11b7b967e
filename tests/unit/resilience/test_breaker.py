from __future__ import annotations

from itertools import product
from math import inf

import pytest

from fluxrpc.resilience.breaker import (
    TRANSITIONS,
    BreakerEvent,
    BreakerSettings,
    BreakerState,
    CircuitBreaker,
    Permit,
    Verdict,
)

CLOSED, OPEN, HALF_OPEN = BreakerState.CLOSED, BreakerState.OPEN, BreakerState.HALF_OPEN


class Bench:
    """A breaker, its clock, and the changes that it told."""

    def __init__(
        self, threshold: int = 3, recovery: float = 60.0, growth: float = 1.0, longest: float = 3600.0
    ) -> None:
        self.now = 1000.0
        self.changes: list[tuple[BreakerState, BreakerState]] = []
        settings = BreakerSettings(
            failure_threshold=threshold,
            recovery_seconds=recovery,
            recovery_growth=growth,
            recovery_max_seconds=longest,
        )
        self.breaker = CircuitBreaker(settings, lambda: self.now, on_change=self._changed)

    def _changed(self, old: BreakerState, new: BreakerState) -> None:
        assert self.breaker.state is new, "told before the state is consistent"
        self.changes.append((old, new))

    def permit(self) -> Permit:
        permit = self.breaker.acquire()
        assert permit is not None
        return permit

    @property
    def state(self) -> BreakerState:
        return self.breaker.state

    def meet(self, *verdicts: Verdict) -> None:
        for verdict in verdicts:
            self.breaker.report(self.permit(), verdict)

    def trip(self) -> None:
        while self.breaker.state is not OPEN:
            self.meet(Verdict.FAILURE)


def test_the_table_is_the_whole_machine() -> None:
    moves = {(old.value, event.value, new.value) for (old, event), new in TRANSITIONS.items()}
    assert moves == {
        ("closed", "threshold reached", "open"),
        ("open", "probe admitted", "half-open"),
        ("half-open", "probe succeeded", "closed"),
        ("half-open", "probe failed", "open"),
    }
    assert len(list(product(BreakerState, BreakerEvent))) == 12


def test_opens_on_the_threshold_and_not_before() -> None:
    bench = Bench(threshold=3)
    bench.meet(Verdict.FAILURE, Verdict.FAILURE)
    assert (bench.state, bench.breaker.is_available) == (CLOSED, True)
    bench.meet(Verdict.FAILURE)
    assert (bench.state, bench.breaker.is_available) == (OPEN, False)
    assert bench.breaker.acquire() is None
    assert bench.changes == [(CLOSED, OPEN)]


def test_a_success_starts_the_count_again_and_an_exclusion_does_not() -> None:
    bench = Bench(threshold=3)
    bench.meet(Verdict.FAILURE, Verdict.FAILURE, Verdict.SUCCESS, Verdict.FAILURE, Verdict.FAILURE, Verdict.EXCLUDED)
    assert bench.breaker.snapshot().failures == 2
    bench.meet(Verdict.FAILURE)
    assert bench.state is OPEN


def test_recovers_through_exactly_one_probe() -> None:
    bench = Bench(recovery=60)
    bench.trip()
    bench.now += 59.5
    assert bench.breaker.acquire() is None
    assert bench.breaker.remaining_seconds == pytest.approx(0.5)
    bench.now += 0.5
    assert bench.breaker.is_available
    assert bench.changes == [(CLOSED, OPEN)], "looking takes nothing"
    probe = bench.permit()
    assert probe.is_probe
    assert bench.state is HALF_OPEN
    assert bench.breaker.acquire() is None
    assert bench.breaker.acquire(early=True) is None
    assert bench.breaker.remaining_seconds == inf
    bench.breaker.report(probe, Verdict.SUCCESS)
    assert bench.breaker.snapshot().failures == 0
    assert bench.changes == [(CLOSED, OPEN), (OPEN, HALF_OPEN), (HALF_OPEN, CLOSED)]


def test_a_failed_probe_opens_for_another_whole_recovery() -> None:
    bench = Bench(recovery=60)
    bench.trip()
    bench.now += 100
    bench.meet(Verdict.FAILURE)
    assert bench.state is OPEN
    assert bench.breaker.remaining_seconds == 60
    assert bench.breaker.snapshot().trips == 2


def test_an_excluded_probe_gives_its_place_back_and_changes_nothing_else() -> None:
    bench = Bench()
    bench.trip()
    bench.now += 60
    probe = bench.permit()
    before = bench.breaker.snapshot()
    bench.breaker.report(probe, Verdict.EXCLUDED)
    after = bench.breaker.snapshot()
    assert (after.state, after.generation, after.failures) == (HALF_OPEN, before.generation, before.failures)
    assert after.remaining_seconds == 0
    second = bench.permit()
    assert second.is_probe
    bench.breaker.report(probe, Verdict.FAILURE)
    assert bench.state is HALF_OPEN, "a permit reports once"
    bench.breaker.report(second, Verdict.SUCCESS)
    assert bench.state is CLOSED


@pytest.mark.parametrize("verdict", Verdict)
def test_results_from_before_a_change_are_ignored(verdict: Verdict) -> None:
    bench = Bench(threshold=1)
    old, other = bench.permit(), bench.permit()
    bench.trip()
    before = bench.breaker.snapshot()
    bench.breaker.report(old, verdict)
    assert bench.breaker.snapshot() == before
    bench.now += 60
    probe = bench.permit()
    bench.breaker.report(other, verdict)
    assert bench.state is HALF_OPEN
    assert bench.breaker.acquire() is None, "a late result does not free the probe's place"
    bench.breaker.report(probe, Verdict.SUCCESS)
    assert bench.breaker.snapshot().failures == 0


def test_an_early_probe_is_the_one_probe() -> None:
    bench = Bench(recovery=120, threshold=1)
    bench.trip()
    assert bench.breaker.knocked_at == bench.now
    bench.now += 5
    probe = bench.breaker.acquire(early=True)
    assert probe is not None
    assert probe.is_probe
    assert bench.breaker.knocked_at == bench.now
    assert bench.breaker.acquire(early=True) is None
    bench.breaker.report(probe, Verdict.SUCCESS)
    assert bench.state is CLOSED


def test_recovery_grows_only_where_configured_and_not_beyond_its_end() -> None:
    grown, constant = Bench(recovery=10, growth=2, longest=35), Bench(recovery=10)
    seen: dict[str, list[float]] = {"grown": [], "constant": []}
    for name, bench in (("grown", grown), ("constant", constant)):
        bench.trip()
        for _ in range(4):
            seen[name].append(bench.breaker.remaining_seconds)
            bench.now = bench.breaker.shut_until
            bench.meet(Verdict.FAILURE)
    assert seen == {"grown": [10, 20, 35, 35], "constant": [10, 10, 10, 10]}
    grown.now += 35
    grown.meet(Verdict.SUCCESS)
    grown.trip()
    assert grown.breaker.remaining_seconds == 10, "closing ends the growth"


def test_a_recovery_longer_than_the_end_of_growth_is_not_shortened() -> None:
    bench = Bench(recovery=100, growth=2, longest=50)
    bench.trip()
    bench.now += 100
    bench.meet(Verdict.FAILURE)
    assert bench.breaker.remaining_seconds == 100


def test_a_failure_without_a_permit_counts_only_while_closed() -> None:
    bench = Bench(threshold=2)
    bench.breaker.record_failure()
    bench.breaker.record_failure()
    assert bench.state is OPEN
    before = bench.breaker.snapshot()
    bench.breaker.record_failure()
    assert bench.breaker.snapshot() == before
    bench.now += 60
    bench.permit()
    bench.breaker.record_failure()
    assert bench.state is HALF_OPEN


def test_other_settings_count_from_the_next_event_on() -> None:
    bench = Bench(threshold=3)
    bench.meet(Verdict.FAILURE)
    settings = BreakerSettings(failure_threshold=2, recovery_seconds=7)
    bench.breaker.configure(settings)
    assert bench.breaker.settings is settings
    assert bench.state is CLOSED
    bench.meet(Verdict.FAILURE)
    assert bench.breaker.remaining_seconds == 7


def test_a_hook_that_raises_does_not_cost_the_place_of_the_probe() -> None:
    def broken(_: BreakerState, new: BreakerState) -> None:
        if new is HALF_OPEN:
            raise RuntimeError("telemetry is down")

    now = [0.0]
    breaker = CircuitBreaker(BreakerSettings(failure_threshold=1, recovery_seconds=1), lambda: now[0], on_change=broken)
    breaker.record_failure()
    now[0] = 2
    with pytest.raises(RuntimeError, match="telemetry"):
        breaker.acquire()
    probe = breaker.acquire()
    assert probe is not None
    assert breaker.acquire() is None
    breaker.report(probe, Verdict.SUCCESS)
    assert breaker.state is CLOSED


def test_nobody_needs_to_listen() -> None:
    breaker = CircuitBreaker(BreakerSettings(failure_threshold=1, recovery_seconds=1), lambda: 0.0)
    breaker.record_failure()
    assert breaker.state is OPEN


def test_a_hook_may_use_the_breaker() -> None:
    taken: list[Permit | None] = []
    breaker = CircuitBreaker(
        BreakerSettings(failure_threshold=1, recovery_seconds=1),
        lambda: 0.0,
        on_change=lambda _old, _new: taken.append(breaker.acquire()),
    )
    breaker.record_failure()
    assert taken == [None]


@pytest.mark.parametrize(
    ("threshold", "recovery", "growth", "longest"),
    [(0, 1, 1, 1), (1, 0, 1, 1), (1, inf, 1, 1), (1, 1, 0.5, 1), (1, 1, inf, 1), (1, 1, 1, 0), (1, 1, 1, inf)],
)
def test_settings_that_no_breaker_could_work_with(
    threshold: int, recovery: float, growth: float, longest: float
) -> None:
    with pytest.raises(ValueError, match=r"failure_threshold|recovery"):
        Bench(threshold, recovery, growth, longest)
