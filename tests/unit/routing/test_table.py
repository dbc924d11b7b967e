from __future__ import annotations

from collections import Counter
from collections.abc import Collection

import pytest

from fluxrpc.errors import Outcome
from fluxrpc.protocols.base import Protocol
from fluxrpc.resilience.breaker import BreakerState
from fluxrpc.routing.route import Door, Route
from fluxrpc.routing.service_endpoint import Account
from fluxrpc.routing.table import RouteTable
from tests.unit.routing.world import World, meet, permit_of


def chosen(world: World, table: RouteTable, exclude: Collection[Route] = ()) -> str | None:
    selection = table.select(world.now, world.random, exclude)
    return None if selection is None else selection.route.desc.name


def test_a_table_shows_its_routes_in_the_order_of_preference() -> None:
    world = World()
    late, first = world.route("late", priority=9, service="b"), world.route("first", key="x")
    table = RouteTable([late, first, world.route("second", priority=1, key="x")], Protocol.COHERE)
    assert (len(table), table.names) == (3, ("first", "second", "late"))
    assert list(table) == list(table.routes)
    assert [(a.service, a.credential.reveal()) for a in table.accounts] == [("svc", "x"), ("b", "k")]
    assert isinstance(table.accounts[0], Account)
    assert table.caller_protocol is Protocol.COHERE


def test_a_route_stands_in_a_table_once() -> None:
    route = World().route("a")
    with pytest.raises(ValueError, match="once"):
        RouteTable([route, route])


def test_the_target_protocol_is_fixed_for_each_caller_protocol() -> None:
    world = World()
    world.endpoint("both", Protocol.ANTHROPIC, Protocol.GEMINI)
    route = world.route("a", service="both")
    for caller, target in ((Protocol.GEMINI, Protocol.GEMINI), (None, Protocol.ANTHROPIC)):
        table = RouteTable([route], caller)
        selection = table.select(world.now, world.random)
        assert selection is not None
        assert selection.target_protocol is table.target_protocol(route) is target
    with pytest.raises(KeyError):
        RouteTable([]).target_protocol(route)


def test_an_empty_table_has_nothing_to_offer() -> None:
    world = World()
    assert chosen(world, RouteTable([])) is None
    assert RouteTable([]).soonest_recovery(world.now) is None


def test_the_best_priority_that_can_be_had_is_chosen() -> None:
    world = World()
    a, b = world.route("a"), world.route("b", priority=1, key="other")
    c = world.route("c", priority=1, key="third")
    table = RouteTable([c, b, a])
    assert chosen(world, table) == "a"
    assert chosen(world, table, [a, b]) == "c"
    assert {chosen(world, table, {a}) for _ in range(50)} == {"b", "c"}
    meet(a, Outcome.CREDENTIAL)
    meet(b, Outcome.LIMITED, retry_after_seconds=5)
    assert {chosen(world, table) for _ in range(20)} == {"c"}
    meet(c, *[Outcome.MODEL] * 3)
    assert chosen(world, table) is None
    assert table.shut_by(world.now) == {Door.CREDENTIAL, Door.HINT, Door.ROUTE}
    assert table.shut_by(world.now, [b]) == {Door.CREDENTIAL, Door.ROUTE}
    assert table.soonest_recovery(world.now) == 5
    assert table.soonest_recovery(world.now, {b}) == 60
    assert table.soonest_recovery(world.now, [a, b, c]) is None
    world.now += 60
    assert chosen(world, table) in {"b", "c"}
    assert table.soonest_recovery(world.now) == 0


def test_choosing_takes_nothing() -> None:
    world = World()
    route = world.route("a")
    meet(route, *[Outcome.MODEL] * 3)
    world.now += 60
    table = RouteTable([route])
    assert chosen(world, table) == chosen(world, table) == "a"
    assert route.breaker.state is BreakerState.OPEN
    probe = permit_of(route)
    assert chosen(world, table) is None, "the one probe is out"
    assert table.soonest_recovery(world.now) == 1.0
    probe.release()
    assert chosen(world, table) == "a"


@pytest.mark.parametrize("shut", [0, 1, 12])
def test_equal_priorities_share_by_weight_afresh_at_each_selection(shut: int) -> None:
    world = World()
    routes = [world.route("one", weight=1), world.route("two", weight=2), world.route("five", weight=5)]
    out = [world.route(f"out{n}", weight=3) for n in range(shut)]
    for route in out:
        meet(route, *[Outcome.MODEL] * 3)
    table = RouteTable([*out, *routes, world.route("later", priority=1)])
    draws = 4000
    counts = Counter(chosen(world, table) for _ in range(draws))
    assert set(counts) == {"one", "two", "five"}
    for name, share in (("one", 1 / 8), ("two", 2 / 8), ("five", 5 / 8)):
        assert counts[name] / draws == pytest.approx(share, abs=0.03)


def test_leaving_out_what_was_chosen_gives_the_whole_random_order() -> None:
    world = World()
    table = RouteTable([world.route(name) for name in "abc"])
    orders = Counter[str]()
    for _ in range(600):
        order: list[Route] = []
        while (selection := table.select(world.now, world.random, order)) is not None:
            order.append(selection.route)
        orders["".join(route.desc.name for route in order)] += 1
    assert len(orders) == 6
    assert min(orders.values()) > 60, "each of six orders about a hundred times"


def test_chance_at_its_ends_stays_inside_the_group() -> None:
    world = World()
    table = RouteTable([world.route("a", weight=0.1), world.route("b", weight=0.2)])
    first, last = table.select(world.now, lambda: 0.0), table.select(world.now, lambda: 1.0)
    assert first is not None
    assert last is not None
    assert (first.route.desc.name, last.route.desc.name) == ("a", "b")


class CutOff(World):
    """Two services, both of them unreachable."""

    def __init__(self) -> None:
        super().__init__()
        self.near, self.far = self.route("near", service="n"), self.route("far", service="f", priority=1)
        self.table = RouteTable([self.near, self.far])
        meet(self.near, Outcome.NETWORK)
        self.now += 1
        meet(self.far, Outcome.NETWORK)

    def probe(self) -> str | None:
        selection = self.table.select(self.now, self.random)
        if selection is None:
            return None
        assert selection.early_probe
        with permit_of(selection.route, early_probe=True) as permit:
            permit.settle(Outcome.NETWORK)
        return selection.route.desc.name


def test_where_every_endpoint_is_shut_one_probe_each_five_seconds_is_admitted() -> None:
    world = CutOff()
    seen = []
    for _ in range(40):
        seen.append((world.now - 1001, world.probe()))
        world.now += 0.5
    probes = [(at, name) for at, name in seen if name is not None]
    assert probes == [(5.0, "near"), (10.0, "far"), (15.0, "near")], "in turn, the one left alone for longest"
    assert world.table.soonest_recovery(world.now) == pytest.approx(0.0)


def test_a_probe_that_finds_the_host_well_ends_it() -> None:
    world = CutOff()
    assert world.table.soonest_recovery(world.now) == 5.0
    world.now += 5
    selection = world.table.select(world.now, world.random)
    assert selection is not None
    assert world.near.acquire() is None, "not without being chosen for it"
    permit = permit_of(selection.route, early_probe=True)
    assert world.probe() is None, "one probe is out"
    permit.settle(Outcome.OK)
    assert chosen(world, world.table) == "near"
    assert world.far.shut_by(world.now) is Door.ENDPOINT


def test_no_early_probe_where_something_else_is_shut_too() -> None:
    world = CutOff()
    world.now += 5
    for route in (world.near, world.far):
        assert chosen(world, world.table, [world.near, world.far]) is None
        route.hint.heed(60, world.now)
    assert chosen(world, world.table) is None


def test_no_early_probe_while_one_route_is_shut_for_another_reason() -> None:
    world = CutOff()
    other = world.route("other", service="o")
    meet(other, *[Outcome.MODEL] * 3)
    world.now += 30
    assert chosen(world, RouteTable([*world.table, other])) is None
