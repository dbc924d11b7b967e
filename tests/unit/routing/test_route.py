from __future__ import annotations

import dataclasses
from math import inf, nan

import pytest

from fluxrpc.errors import AnswerFault, NetworkFault, Outcome, ProviderError, SilenceFault
from fluxrpc.resilience.blame import Blame
from fluxrpc.resilience.breaker import BreakerState
from fluxrpc.routing.route import Door, Route, RouteDesc, RouteHealth
from fluxrpc.routing.service_endpoint import Account, Credential, ServiceEndpoint
from tests.unit.routing.world import World, meet, permit_of

CLOSED, OPEN, HALF_OPEN = BreakerState.CLOSED, BreakerState.OPEN, BreakerState.HALF_OPEN


def provider_error(outcome: Outcome, hint: float | None = None) -> ProviderError:
    return ProviderError("WORD", outcome=outcome, http_status=500, retry_after_seconds=hint)


def test_the_route_opens_on_three_faults_of_its_own_for_a_minute() -> None:
    world = World()
    a, neighbour = world.route("a"), world.route("b")
    meet(a, Outcome.MODEL, Outcome.LIMITED, Outcome.REFUSED, Outcome.MODEL, Outcome.CALLER, Outcome.LIMITED)
    assert a.is_available(world.now)
    meet(a, Outcome.MODEL)
    assert (a.is_available(world.now), neighbour.is_available(world.now)) == (False, True)
    assert a.shut_by(world.now) is Door.ROUTE
    world.now += 60
    probe = permit_of(a)
    assert a.acquire() is None
    probe.settle(Outcome.OK)
    assert a.breaker.state is CLOSED


def test_a_rejected_key_passes_over_all_its_routes_for_half_an_hour() -> None:
    world = World()
    a, same_key, other_key = world.route("a"), world.route("b"), world.route("c", key="other")
    meet(a, Outcome.CREDENTIAL)
    assert [r.is_available(world.now) for r in (a, same_key, other_key)] == [False, False, True]
    assert same_key.acquire() is None
    assert same_key.shut_by(world.now) is Door.CREDENTIAL
    assert a.breaker.snapshot().failures == 0
    world.now += 1800
    assert same_key.is_available(world.now)


def test_a_new_key_after_a_reload_is_not_shut() -> None:
    world = World()
    meet(world.route("a"), Outcome.CREDENTIAL)
    assert world.route("a", key="rotated").is_available(world.now)


def test_a_hint_binds_every_later_request_to_this_route_only() -> None:
    world = World()
    a, neighbour = world.route("a"), world.route("b")
    meet(a, Outcome.LIMITED, retry_after_seconds=2.0)
    again = world.route("a")
    assert (again.is_available(world.now), neighbour.is_available(world.now)) == (False, True)
    assert again.acquire() is None
    assert again.shut_by(world.now) is Door.HINT
    world.now += 2.0
    assert again.is_available(world.now)
    assert again.shut_by(world.now) is None


def test_only_a_rate_limit_binds_its_hint() -> None:
    world = World()
    route = world.route("a")
    meet(route, Outcome.MODEL, retry_after_seconds=30.0)
    assert route.is_available(world.now)


def test_a_door_that_refuses_takes_nothing_from_the_others() -> None:
    world = World()
    a, neighbour = world.route("a"), world.route("b")
    meet(a, Outcome.MODEL, Outcome.MODEL, Outcome.MODEL)
    meet(neighbour, Outcome.NETWORK)
    world.endpoint().breaker.knocked_at = -inf
    a.breaker.shut_until += 200
    world.now += 120
    assert a.acquire() is None, "its own breaker refuses"
    assert a.health.in_flight == 0
    assert world.endpoint().breaker.is_available, "the endpoint's probe place came back"
    meet(neighbour, Outcome.OK)


def test_a_cancelled_probe_gives_both_places_back() -> None:
    world = World()
    a = world.route("a")
    meet(a, Outcome.MODEL, Outcome.MODEL, Outcome.MODEL)
    a.endpoint_breaker.record_failure()
    world.now += 120
    permit = permit_of(a)
    assert (a.breaker.state, a.endpoint_breaker.state) == (HALF_OPEN, HALF_OPEN)
    assert a.ready_at() == inf
    permit.abandon()
    permit.abandon()
    assert a.is_available(world.now)
    assert (a.breaker.state, a.endpoint_breaker.state) == (HALF_OPEN, HALF_OPEN)


def test_leaving_without_a_verdict_is_abandoning() -> None:
    world = World()
    a = world.route("a")
    with permit_of(a) as permit:
        assert (a.health.in_flight, permit.is_settled) == (1, False)
    assert permit.is_settled
    assert a.health.in_flight == 0
    assert a.breaker.snapshot().failures == 0


def test_settling_counts_once_and_release_counts_once() -> None:
    world = World()
    a = world.route("a")
    permit = permit_of(a)
    assert permit.settle(Outcome.MODEL, detail="FIRST").blame is Blame.ROUTE
    assert permit.settle(Outcome.NETWORK, detail="SECOND").blame is Blame.ENDPOINT, "says it, but does not do it"
    permit.release()
    permit.release()
    assert a.breaker.snapshot().failures == 1
    assert a.endpoint_breaker.state is CLOSED
    assert (a.health.in_flight, a.health.last_error) == (0, "FIRST")


def test_the_last_fault_stands_until_a_success() -> None:
    world = World()
    a = world.route("a")
    permit_of(a).fail(AnswerFault("EMPTY_ANSWER"))
    permit_of(a).abandon()
    assert a.health.last_error == "EMPTY_ANSWER"
    meet(a, Outcome.OK)
    assert a.health.last_error == ""


def test_an_error_says_what_it_settles() -> None:
    world = World()
    limited, silent, unreachable = world.route("a"), world.route("b"), world.route("c")
    assert permit_of(limited).fail(provider_error(Outcome.LIMITED, 4.0)).binds_hint
    assert limited.hint.remaining_seconds(world.now) == 4.0
    permit_of(silent).fail(SilenceFault("FIRST_TOKEN_TIMEOUT"))
    assert (silent.breaker.snapshot().failures, silent.endpoint_breaker.state) == (1, CLOSED)
    permit_of(unreachable).fail(NetworkFault("REFUSED"))
    assert unreachable.endpoint_breaker.state is OPEN


def _where_silence_blames_the_endpoint(world: World) -> Route:
    desc = world.desc("a")
    service = dataclasses.replace(desc.endpoint.service, read_timeout_blames_endpoint=True)
    return world.repository.find_or_create(dataclasses.replace(desc, endpoint=ServiceEndpoint(service, world.clock)))


@pytest.mark.parametrize("is_late", [False, True])
def test_silence_means_a_dead_host_where_the_service_says_so(is_late: bool) -> None:
    world = World()
    route = _where_silence_blames_the_endpoint(world)
    fault = SilenceFault("IDLE")
    with permit_of(route) as permit:
        if is_late:
            permit.settle(Outcome.OK)
            judgement = route.record_failure(fault)
        else:
            judgement = permit.fail(fault)
    assert judgement.blame is Blame.ENDPOINT
    assert (route.endpoint_breaker.state, route.breaker.snapshot().failures) == (OPEN, 0)


def test_a_cut_after_the_commit_is_a_new_failure() -> None:
    world = World()
    a = world.route("a")
    meet(a, Outcome.MODEL, Outcome.MODEL, Outcome.MODEL)
    world.now += 60
    probe = permit_of(a)
    probe.settle(Outcome.OK)
    assert a.breaker.snapshot().state is CLOSED, "the probe is settled when the stream commits"
    a.record_failure(AnswerFault("CUT"))
    assert a.breaker.snapshot().failures == 1
    assert a.health.last_error == "CUT"
    probe.release()
    assert a.breaker.snapshot().failures == 1
    a.record_failure(provider_error(Outcome.LIMITED, 3.0))
    assert not a.is_available(world.now)
    a.record_failure(provider_error(Outcome.CREDENTIAL))
    assert a.door.shut_until == world.now + 1800
    assert a.breaker.snapshot().failures == 2


def test_a_route_works_without_a_repository() -> None:
    world = World()
    desc = world.desc("a")
    route = Route(desc, RouteHealth(desc.identity_key, desc.breaker, world.clock))
    meet(route, *[Outcome.MODEL] * 3)
    assert not route.is_available(world.now)


def test_a_hook_that_raises_costs_no_place() -> None:
    world = World()

    def broken(*_: object) -> None:
        raise RuntimeError("telemetry is down")

    desc = world.desc("a")
    endpoint = ServiceEndpoint(desc.endpoint.service, world.clock, on_change=broken)
    route = world.repository.find_or_create(dataclasses.replace(desc, endpoint=endpoint))
    permit = permit_of(route)
    other = permit_of(route)
    with pytest.raises(RuntimeError, match="telemetry"), permit:
        permit.settle(Outcome.NETWORK)
    assert endpoint.breaker.state is OPEN
    other.release()
    assert route.health.in_flight == 0


@pytest.mark.parametrize("weight", [0.0, -1.0, nan, inf])
def test_a_weight_that_no_share_can_be_made_of(weight: float) -> None:
    with pytest.raises(ValueError, match="weight"):
        World().desc("a", weight=weight)


def test_a_route_has_a_name_and_a_model() -> None:
    desc = World().desc("a")
    for broken in ({"name": ""}, {"model": ""}):
        with pytest.raises(ValueError, match="name"):
            dataclasses.replace(desc, **broken)  # type: ignore[arg-type]  # each is one field's text


def test_descriptions_are_values() -> None:
    world = World()
    desc = world.desc("a")
    assert desc == world.desc("a")
    assert hash(desc) == hash(world.desc("a"))
    assert desc.account == Account("svc", Credential("k"))
    with pytest.raises(dataclasses.FrozenInstanceError):
        desc.priority = 3  # type: ignore[misc]  # what must not be possible
    assert isinstance(desc, RouteDesc)
    assert repr(world.route("a")) == "Route('a', closed)"
