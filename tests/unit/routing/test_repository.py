from __future__ import annotations

import dataclasses

import pytest

from fluxrpc.errors import Outcome
from fluxrpc.resilience.breaker import BreakerSettings, BreakerState
from fluxrpc.routing.repository import RouteRepository
from fluxrpc.routing.route import Route
from tests.unit.routing.world import World, meet, permit_of


def small(world: World, entries: int) -> RouteRepository:
    return RouteRepository(world.clock, max_entries=entries)


def trip(route: Route) -> None:
    meet(route, *[Outcome.MODEL] * 3)


def test_one_identity_has_one_health_whatever_else_the_description_says() -> None:
    world = World()
    first = world.route("a", priority=0, weight=1)
    trip(first)
    second = world.route("a", priority=5, weight=9)
    assert second is not first
    assert second.health is first.health
    assert (second.desc.priority, second.desc.weight) == (5, 9), "the change takes effect"
    assert second.breaker.state is BreakerState.OPEN, "what was learned survives it"
    assert world.route("a", key="other").health is not first.health
    assert world.route("a", service="other").health is not first.health
    assert len(world.repository) == 3


def test_the_latest_thresholds_are_in_force() -> None:
    world = World()
    route = world.route("a")
    settings = BreakerSettings(failure_threshold=1, recovery_seconds=3)
    world.repository.find_or_create(dataclasses.replace(route.desc, breaker=settings))
    meet(route, Outcome.MODEL)
    assert route.breaker.remaining_seconds == 3


def test_health_lives_for_its_ttl_since_the_last_use() -> None:
    world = World()
    route = world.route("a")
    route.health.latency_seconds.add(1.0)
    world.now += 299
    assert world.route("a").health is route.health
    world.now += 299
    meet(route, Outcome.OK)
    world.now += 299
    assert world.route("a").health is route.health, "an attempt is a use"
    world.now += 300
    assert world.route("a").health is not route.health


def test_what_would_be_missed_outlives_its_ttl() -> None:
    world = World()
    opened, hinted, busy = world.route("open"), world.route("hinted"), world.route("busy")
    trip(opened)
    meet(hinted, Outcome.LIMITED, retry_after_seconds=1000)
    permit = permit_of(busy)
    world.now += 900
    assert [world.route(n).health for n in ("open", "hinted", "busy")] == [opened.health, hinted.health, busy.health]
    permit.release()
    meet(opened, Outcome.OK)
    world.now += 300
    assert world.route("open").health is not opened.health, "closed again, it is like any other"
    assert world.route("busy").health is not busy.health


def test_the_expired_go_by_the_way() -> None:
    world = World()
    for name in "abcdef":
        world.route(name)
    trip(world.route("open"))
    meet(world.route("hinted"), Outcome.LIMITED, retry_after_seconds=10)
    world.now += 300
    world.route("x")
    world.route("y")
    assert len(world.repository) == 4
    trip_key, hinted_key = world.desc("open").identity_key, world.desc("hinted").identity_key
    assert trip_key in world.repository
    assert hinted_key in world.repository, "behind an open one nothing is searched for"


def test_a_full_repository_drops_the_least_recently_used() -> None:
    world = World()
    world.repository = small(world, 3)
    a, b, c = (world.route(name) for name in "abc")
    world.route("a")
    meet(b, Outcome.OK)
    world.route("d")
    assert len(world.repository) == 3
    kept = {name for name in "abcd" if world.desc(name).identity_key in world.repository}
    assert kept == {"a", "b", "d"}
    assert world.route("a").health is a.health
    assert c.is_available(world.now), "who holds it goes on with it"


def test_open_breakers_are_dropped_only_when_there_is_nothing_else() -> None:
    world = World()
    world.repository = small(world, 2)
    first, second = world.route("a"), world.route("b")
    trip(first)
    world.route("c")
    assert world.route("a").health is first.health
    assert second.desc.identity_key not in world.repository
    trip(world.route("c"))
    newcomer = world.route("d")
    assert len(world.repository) == 2
    assert first.desc.identity_key not in world.repository, "all are open: the one unused for longest goes"
    assert world.route("d").health is newcomer.health


def test_dropped_health_in_use_comes_back_unless_it_was_replaced() -> None:
    world = World()
    world.repository = small(world, 1)
    a = world.route("a")
    world.route("b")
    meet(a, Outcome.MODEL)
    assert world.route("a").health is a.health
    world.route("b")
    replaced = world.route("a")
    meet(a, Outcome.MODEL)
    assert world.route("a").health is replaced.health
    assert len(world.repository) == 1


def test_every_change_of_a_breaker_is_told() -> None:
    world = World()
    told: list[tuple[str, BreakerState, BreakerState]] = []
    world.repository = RouteRepository(world.clock, on_change=lambda *change: told.append(change))
    route = world.route("a")
    trip(route)
    assert told == [(route.desc.identity_key, BreakerState.CLOSED, BreakerState.OPEN)]


def test_closing_is_final_and_idempotent() -> None:
    world = World()
    route = world.route("a")
    world.repository.close()
    world.repository.close()
    assert len(world.repository) == 0
    meet(route, Outcome.OK)
    assert len(world.repository) == 0
    with pytest.raises(RuntimeError, match="closed"):
        world.route("a")


@pytest.mark.parametrize(("entries", "ttl"), [(0, 1.0), (1, 0.0)])
def test_room_and_time_are_needed(entries: int, ttl: float) -> None:
    with pytest.raises(ValueError, match="positive"):
        RouteRepository(lambda: 0.0, max_entries=entries, ttl_seconds=ttl)
