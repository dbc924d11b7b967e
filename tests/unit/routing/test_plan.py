from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from math import nan

import pytest

from fluxrpc.errors import AnswerOversize, AttemptError, NetworkFault, Outcome, ProviderError, SilenceFault
from fluxrpc.protocols.base import Protocol
from fluxrpc.resilience.deadline import Deadline
from fluxrpc.routing.plan import GiveUp, Next, Plan, Stop, Tried
from fluxrpc.routing.route import Door, Route
from fluxrpc.routing.service_endpoint import Account
from fluxrpc.routing.table import RouteTable
from tests.unit.routing.world import World, meet, permit_of

HALF_A_BASE = 0.05


class Request(World):
    """One request: routes in a line, attempts that fail as told, chance always at one half."""

    def __init__(self, *, seconds: float = 600.0) -> None:
        super().__init__()
        self.seconds = seconds
        self.tried: list[Tried] = []

    def plan(
        self,
        *routes: Route,
        max_attempts: int = 4,
        pinned_to: Account | None = None,
        passed_over: Sequence[Route] = (),
    ) -> Plan:
        return Plan(
            table=RouteTable(routes),
            deadline=Deadline(ends_at=self.now + self.seconds),
            max_attempts=max_attempts,
            pinned_to=pinned_to,
            passed_over=frozenset(passed_over),
        )

    def retrying(self, name: str, *, times: int) -> Route:
        return self.repository.find_or_create(dataclasses.replace(self.desc(name), retries_per_route=times))

    def step(self, plan: Plan) -> Next | GiveUp:
        return plan.next_step(self.tried, now=self.now, random=lambda: 0.5)

    def go(self, plan: Plan) -> Next:
        step = self.step(plan)
        assert isinstance(step, Next), step
        return step

    def stop(self, plan: Plan) -> GiveUp:
        step = self.step(plan)
        assert isinstance(step, GiveUp), step
        return step

    def fail(self, route: Route, error: AttemptError) -> None:
        permit = permit_of(route)
        permit.fail(error)
        permit.release()
        self.tried.append(Tried.failed(route, error, self.now))

    def follow(self, plan: Plan, error: AttemptError) -> list[tuple[str, float]]:
        """Every attempt meets `error`: the routes in order, and the waits before them."""
        seen = []
        while isinstance(step := self.step(plan), Next):
            seen.append((step.route.desc.name, round(step.wait_seconds, 4)))
            self.now += step.wait_seconds
            self.fail(step.route, error)
        return seen


def broken(hint: float | None = None) -> ProviderError:
    return ProviderError(
        "HTTP_503", outcome=Outcome.MODEL, http_status=503, retry_same_route=True, retry_after_seconds=hint
    )


def limited(hint: float | None = None) -> ProviderError:
    return ProviderError(
        "HTTP_429", outcome=Outcome.LIMITED, http_status=429, retry_same_route=True, retry_after_seconds=hint
    )


def provider(outcome: Outcome, *, context_length: bool = False) -> ProviderError:
    return ProviderError("WORD", outcome=outcome, http_status=400, context_length=context_length)


def test_the_first_attempt_goes_to_the_best_route_at_once() -> None:
    request = Request()
    a, b = request.route("a"), request.route("b", priority=1)
    step = request.go(request.plan(b, a))
    assert step == Next(route=a, target_protocol=Protocol.OPENAI)


def test_equal_first_then_the_same_again_then_the_next_priority() -> None:
    request = Request()
    a, b = request.route("a", service="1"), request.route("b", service="2")
    c = request.route("c", service="3", priority=5)
    seen = request.follow(request.plan(a, b, c), broken())
    first, second = seen[0][0], seen[1][0]
    assert {first, second} == {"a", "b"}
    assert [wait for _, wait in seen] == [0, 0, HALF_A_BASE, 0]
    assert [name for name, _ in seen[2:]] == [second, "c"]
    assert request.stop(request.plan(a, b, c)).reason is Stop.ATTEMPTS_SPENT


def test_the_same_route_as_often_as_it_allows_with_growing_back_off() -> None:
    request = Request()
    a = request.retrying("a", times=2)
    plan = request.plan(a, max_attempts=9)
    assert request.follow(plan, broken()) == [("a", 0), ("a", 0.05), ("a", 0.1)]
    gave_up = request.stop(plan)
    assert gave_up.reason is Stop.ROUTES_SPENT
    assert gave_up.shut_by == {Door.ROUTE}
    assert gave_up.retry_after_seconds == pytest.approx(60)


def test_a_route_that_opened_meanwhile_is_not_asked_again() -> None:
    request = Request()
    a = request.route("a")
    meet(a, Outcome.MODEL, Outcome.MODEL)
    assert request.follow(request.plan(a), broken()) == [("a", 0)]


@pytest.mark.parametrize(
    "error",
    [SilenceFault("FIRST_TOKEN"), limited(), provider(Outcome.MODEL), NetworkFault("REFUSED")],
    ids=["silence", "429 without hint", "404", "network"],
)
def test_after_any_other_fault_never_the_same_route(error: AttemptError) -> None:
    request = Request()
    a, b = request.route("a", service="1"), request.route("b", service="2", priority=1)
    plan = request.plan(a, b)
    assert request.follow(plan, error) == [("a", 0), ("b", 0)]
    assert request.stop(plan).reason is Stop.ROUTES_SPENT


def test_waiting_would_not_help_where_no_door_is_shut() -> None:
    request = Request()
    a = request.route("a")
    request.fail(a, provider(Outcome.MODEL))
    assert request.stop(request.plan(a)) == GiveUp(reason=Stop.ROUTES_SPENT)


def test_a_limited_route_is_replaced_at_once_by_an_equal_one_even_at_the_same_endpoint() -> None:
    request = Request()
    a, b = request.route("a"), request.route("b", key="other")
    request.fail(a, limited(1.0))
    step = request.go(request.plan(a, b))
    assert (step.route, step.wait_seconds) == (b, 0.0)


def test_a_short_hint_is_waited_for_rather_than_a_less_preferred_route() -> None:
    request = Request()
    a, b = request.route("a"), request.route("b", service="2", priority=1)
    plan = request.plan(a, b)
    request.fail(a, limited(1.0))
    step = request.go(plan)
    assert (step.route, step.wait_seconds) == (a, 1.0)
    request.now += 0.5
    assert request.go(plan).wait_seconds == 0.5
    a.hint.heed(2.0, request.now)
    assert request.go(plan).wait_seconds == 2.0, "never earlier than the latest hint"


def test_a_hint_shorter_than_the_back_off_waits_for_the_back_off() -> None:
    request = Request()
    a = request.route("a")
    request.fail(a, limited(0.001))
    assert request.go(request.plan(a)).wait_seconds == pytest.approx(HALF_A_BASE)


@pytest.mark.parametrize(("hint", "seconds"), [(3.1, 600.0), (1.0, 1.2)], ids=["patience", "deadline"])
@pytest.mark.parametrize("error", [limited, broken])
def test_a_hint_beyond_patience_or_deadline_fails_over(hint: float, seconds: float, error: object) -> None:
    request = Request(seconds=seconds)
    a, b = request.route("a"), request.route("b", service="2", priority=1)
    request.fail(a, limited(hint) if error is limited else broken(hint))
    assert request.go(request.plan(a, b)).route is b
    assert request.stop(request.plan(a)).reason is Stop.ROUTES_SPENT


def test_a_hint_that_is_no_number_is_no_hint() -> None:
    request = Request()
    a = request.route("a")
    request.fail(a, limited(nan))
    assert request.stop(request.plan(a)).reason is Stop.ROUTES_SPENT


def test_another_route_of_a_troubled_endpoint_waits_a_little() -> None:
    request = Request()
    a, b, c = (request.retrying(name, times=0) for name in "abc")
    plan = request.plan(a, b, c, passed_over=[c])
    request.fail(a, broken())
    step = request.go(plan)
    assert step.route is b
    assert step.wait_seconds == pytest.approx(0.05)
    request.fail(b, broken())
    step = request.go(request.plan(a, b, c))
    assert step.route is c
    assert step.wait_seconds == pytest.approx(0.1)


@pytest.mark.parametrize("error", [limited(), provider(Outcome.MODEL)], ids=["limited", "model unknown"])
def test_what_waiting_relieves_at_an_endpoint(error: ProviderError) -> None:
    request = Request()
    a, b = request.route("a"), request.route("b")
    request.fail(a, error)
    expected = HALF_A_BASE if error.outcome is Outcome.LIMITED else 0.0
    assert request.go(request.plan(a, b)).wait_seconds == pytest.approx(expected)


def test_no_back_off_into_the_deadline() -> None:
    request = Request(seconds=0.28)
    a, b = request.route("a"), request.route("b")
    request.fail(a, broken())
    assert request.stop(request.plan(a, b)).reason is Stop.ROUTES_SPENT


@pytest.mark.parametrize("outcome", [Outcome.CALLER, Outcome.REFUSED, Outcome.ABANDONED, Outcome.OK])
def test_what_no_other_route_could_do_better_is_final(outcome: Outcome) -> None:
    request = Request()
    a, b = request.route("a"), request.route("b")
    request.fail(a, provider(outcome))
    assert request.stop(request.plan(a, b)) == GiveUp(reason=Stop.FINAL)


def test_an_answer_over_our_limits_is_final() -> None:
    request = Request()
    a, b = request.route("a"), request.route("b")
    request.fail(a, AnswerOversize("TOO_LARGE"))
    assert request.stop(request.plan(a, b)).reason is Stop.FINAL


def test_a_rejected_key_bars_its_other_routes_even_with_another_door() -> None:
    request = Request()
    a, same_key, other = request.route("a"), request.route("b"), request.route("c", key="other", priority=3)
    request.fail(a, provider(Outcome.CREDENTIAL))
    a.door.shut_until = request.now
    step = request.go(request.plan(a, same_key, other))
    assert (step.route, step.wait_seconds) == (other, 0.0)


def test_a_too_long_request_moves_only_to_a_larger_declared_context() -> None:
    request = Request()
    a = request.route("a", context_tokens=8000)
    others = [
        request.route("same", service="2", context_tokens=8000),
        request.route("unsaid", service="3"),
        request.route("large", service="4", priority=7, context_tokens=32_000),
    ]
    request.fail(a, provider(Outcome.CALLER, context_length=True))
    assert request.go(request.plan(a, *others)).route is others[2]
    assert request.stop(request.plan(a, *others[:2])).reason is Stop.ROUTES_SPENT


def test_nothing_starts_with_less_than_the_minimum_left() -> None:
    request = Request(seconds=0.3)
    plan = request.plan(request.route("a"))
    assert request.go(plan).wait_seconds == 0
    request.now += 0.06
    assert request.stop(plan) == GiveUp(reason=Stop.DEADLINE)


def test_all_doors_shut_says_which_and_for_how_long() -> None:
    request = Request()
    a, b = request.route("a", key="1"), request.route("b", key="2")
    meet(a, *[Outcome.MODEL] * 3)
    meet(b, Outcome.CREDENTIAL)
    gave_up = request.stop(request.plan(a, b))
    assert gave_up == GiveUp(
        reason=Stop.DOORS_SHUT, retry_after_seconds=60, shut_by=frozenset({Door.ROUTE, Door.CREDENTIAL})
    )


def test_a_new_request_waits_for_a_short_hint_where_nothing_else_is_left() -> None:
    request = Request()
    a, b = request.route("a", priority=1), request.route("b")
    meet(a, Outcome.LIMITED, retry_after_seconds=0.5)
    meet(b, Outcome.LIMITED, retry_after_seconds=2.0)
    plan = request.plan(a, b)
    step = request.go(plan)
    assert (step.route, step.wait_seconds) == (b, 2.0)
    b.hint.heed(10, request.now)
    assert request.go(plan).route is a
    a.hint.heed(4, request.now)
    assert request.stop(plan).shut_by == {Door.HINT}


def test_state_of_an_account_never_leaves_it() -> None:
    request = Request()
    home = request.route("a", key="1")
    twin, other_key = request.route("b", key="1", priority=2), request.route("c", key="2", priority=1)
    elsewhere = request.route("d", service="2", key="1")
    plan = request.plan(home, twin, other_key, elsewhere, pinned_to=home.desc.account)
    assert request.follow(plan, SilenceFault("FIRST_TOKEN")) == [("a", 0), ("b", 0)]
    meet(home, *[Outcome.MODEL] * 2)
    meet(twin, *[Outcome.MODEL] * 2)
    request.tried.clear()
    assert request.stop(plan).retry_after_seconds == 60, "of this account, though others can be had"


def test_routes_that_cannot_serve_the_request_are_passed_over() -> None:
    request = Request()
    a, b = request.route("a"), request.route("b", priority=1)
    plan = request.plan(a, b, passed_over=[a])
    assert request.follow(plan, provider(Outcome.MODEL)) == [("b", 0)]


def test_the_early_probe_of_a_cut_off_table_is_marked() -> None:
    request = Request()
    a = request.route("a")
    meet(a, Outcome.NETWORK)
    plan = request.plan(a)
    gave_up = request.stop(plan)
    assert (gave_up.reason, gave_up.retry_after_seconds) == (Stop.DOORS_SHUT, 5)
    request.now += 5
    assert request.go(plan).early_probe
