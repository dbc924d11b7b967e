"""Identity keys are never ambiguous, and a choice is always the best that can be had."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from fluxrpc.errors import Outcome
from fluxrpc.protocols.base import Protocol
from fluxrpc.routing.repository import RouteRepository
from fluxrpc.routing.route import RouteDesc
from fluxrpc.routing.service_endpoint import Credential, Service, ServiceEndpoint
from fluxrpc.routing.table import RouteTable
from tests.unit.routing.world import World, meet

# Few letters and the likely separators, so that equal concatenations are common.
WORDS = st.text(alphabet="ab/:\x00", min_size=1, max_size=4)
TRIPLES = st.tuples(WORDS, WORDS, WORDS)


def key_of(service: str, model: str, secret: str) -> str:
    endpoint = ServiceEndpoint(Service(name=service, base_urls={Protocol.OPENAI: "http://x"}), lambda: 0.0)
    return RouteDesc(name="r", endpoint=endpoint, model=model, credential=Credential(secret)).identity_key


@given(TRIPLES, TRIPLES)
def test_keys_are_equal_exactly_where_service_model_and_credential_are(
    one: tuple[str, str, str], other: tuple[str, str, str]
) -> None:
    assert (key_of(*one) == key_of(*other)) == (one == other)


@given(st.text(alphabet="ab", min_size=2, max_size=8), st.data())
def test_moving_letters_between_the_parts_gives_another_key(text: str, data: st.DataObject) -> None:
    cuts = st.integers(1, len(text) - 1)
    one, other = data.draw(cuts), data.draw(cuts)
    assert (key_of(text[:one], text[one:], "k") == key_of(text[:other], text[other:], "k")) == (one == other)


@settings(max_examples=80, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from([None, *Outcome]), st.integers(0, 2)), min_size=1, max_size=8
    ),
    st.integers(0, 130),
    st.integers(0, 2**32),
)
def test_a_choice_can_be_had_and_nothing_better_can(
    rows: list[tuple[int, Outcome | None, int]], wait: int, seed: int
) -> None:
    world = World()
    routes = [
        world.route(f"r{n}", service=f"s{service}", key=f"k{n % 2}", priority=priority)
        for n, (priority, _, service) in enumerate(rows)
    ]
    for route, (_, outcome, _) in zip(routes, rows, strict=True):
        for _ in range(3):
            if outcome is not None and route.is_available(world.now):
                meet(route, outcome, retry_after_seconds=20)
    world.now += wait
    excluded = set(routes[::3])
    selection = RouteTable(routes).select(world.now, Random(seed).random, excluded)
    available = [route for route in routes if route.is_available(world.now) and route not in excluded]
    if selection is None or selection.early_probe:
        assert not available
    else:
        assert selection.route in available
        assert selection.route.desc.priority == min(route.desc.priority for route in available)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from(["find", "ok", "trip", "wait"])), max_size=40),
    st.integers(1, 4),
)
def test_the_repository_is_bounded_and_keeps_what_is_open_while_there_is_room(
    steps: list[tuple[str, str]], room: int
) -> None:
    world = World()
    world.repository = RouteRepository(world.clock, max_entries=room, ttl_seconds=30.0)
    for name, action in steps:
        route = world.route(name)
        if action == "ok" and route.is_available(world.now):
            meet(route, Outcome.OK)
        while action == "trip" and route.is_available(world.now):
            meet(route, Outcome.MODEL)
        if action == "wait":
            world.now += 20
        assert len(world.repository) <= room
        assert world.route(name).health is route.health
