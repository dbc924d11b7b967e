"""Rate limits and spent quotas before the answer starts: a hint binds, a limit without one opens the route."""

from __future__ import annotations

import time

import grpc
import pytest

from fluxrpc.resilience.breaker import BreakerState
from fluxrpc.simulator import Fault, Ok, Simulator
from tests.fault.world import FIRST, FORMS, WAYS, Way, route, world

WELL = Ok(text="All is well here.")
EQUALS = (route("first", weight=FIRST), route("equal"))
LEVELS = (route("first"), route("last", priority=10))


def hints(seconds: float) -> dict[str, Fault]:
    """The same hint in every form, for each protocol that knows the form."""
    every = ("openai", "anthropic", "gemini", "cohere", "responses")
    forms = {
        "retry-after": (Fault("rate_limit", retry_after_seconds=seconds), every),
        "date": (Fault("rate_limit", retry_after_date_seconds=seconds + 1), every),  # whole seconds, cut down
        "retry-after-ms": (Fault("rate_limit", retry_after_ms=round(seconds * 1000)), ("openai", "responses")),
        "reset": (Fault("rate_limit", ratelimit_reset_seconds=seconds), ("openai", "responses", "anthropic")),
        "body": (Fault("rate_limit", retry_info_seconds=seconds), ("gemini",)),
    }
    return {f"{protocol}-{form}": act for form, (act, spoken) in forms.items() for protocol in spoken}


@pytest.mark.parametrize("mode", ["unary", "stream"])
@pytest.mark.parametrize("name", hints(2))
async def test_f01_an_equal_route_takes_over_at_once_and_the_hint_binds(sim: Simulator, name: str, mode: str) -> None:
    sim.script("first", [hints(2)[name], WELL])
    sim.script("equal", WELL)
    way = Way(name.partition("-")[0], mode)
    async with world(sim, *EQUALS) as here:
        told = await here.ask(way)
        assert told.trace == ["first limited route 429", "equal ok nobody 200"]
        assert told.seconds < 0.9
        assert 0.9 < here.route("first").hint.remaining_seconds(time.monotonic()) <= 3
        later = [await here.ask(way) for _ in range(3)]
        assert [each.trace for each in later] == [["equal ok nobody 200"]] * 3
        assert len(here.seen("first")) == 1
        # It is one failure of the route, and none of its host.
        assert here.route("first").breaker.snapshot().failures == 1
        assert here.route("first").endpoint_breaker.state is BreakerState.CLOSED


@pytest.mark.parametrize("mode", ["unary", "stream"])
@pytest.mark.parametrize("name", [name for name in hints(0.2) if "date" not in name])
async def test_f01_a_short_hint_is_waited_for_rather_than_a_worse_route(sim: Simulator, name: str, mode: str) -> None:
    sim.script("first", [hints(0.2)[name], WELL])
    async with world(sim, *LEVELS) as here:
        told = await here.ask(Way(name.partition("-")[0], mode))
        assert told.trace == ["first limited route 429", "first ok nobody 200"]
        once, again = here.seen("first")
        assert 0.2 <= again.arrived - once.arrived < 1
        assert not here.seen("last")


async def test_f01_a_date_is_waited_for_too(sim: Simulator) -> None:
    sim.script("first", [Fault("rate_limit", retry_after_date_seconds=1), WELL])
    async with world(sim, *LEVELS) as here:
        told = await here.ask(Way("cohere", "unary"))
        assert told.trace == ["first limited route 429", "first ok nobody 200"]
        promised = int(time.time() - (time.monotonic() - here.seen("first")[0].arrived) + 1)
        knocked = time.time() - (time.monotonic() - here.seen("first")[1].arrived)
        assert knocked >= promised - 0.01


@pytest.mark.parametrize("way", WAYS, ids=str)
async def test_f01_a_hint_beyond_patience_fails_over(sim: Simulator, way: Way) -> None:
    sim.script("first", Fault("rate_limit", retry_after_seconds=1))
    async with world(sim, *LEVELS, patience="300ms") as here:
        told = await here.ask(way)
        assert told.trace == ["first limited route 429", "last ok nobody 200"]
        assert told.seconds < 0.9


async def test_f01_a_hint_beyond_the_deadline_fails_over(sim: Simulator) -> None:
    sim.script("first", Fault("rate_limit", retry_after_seconds=2))
    async with world(sim, *LEVELS, patience="3s") as here:
        told = await here.ask(Way("openai", "unary"), timeout=1.5)
        assert told.trace == ["first limited route 429", "last ok nobody 200"]


@pytest.mark.parametrize("way", WAYS, ids=str)
async def test_f01_nothing_left_says_when_to_come_back(sim: Simulator, way: Way) -> None:
    sim.script("first", Fault("rate_limit", retry_after_seconds=7))
    async with world(sim, route("first")) as here:
        told = await here.ask(way)
        assert (told.code, told.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "RATE_LIMITED")
        assert told.trace == ["first limited route 429"]
        assert told.retry_seconds == pytest.approx(7, abs=0.5)
        # Known to be shut: nobody knocks to hear it again.
        again = await here.ask(way)
        assert (again.code, again.reason, again.attempts) == (told.code, told.reason, [])
        assert again.retry_seconds == pytest.approx(7, abs=1)
        assert len(here.seen("first")) == 1


@pytest.mark.parametrize("way", WAYS, ids=str)
async def test_f02_a_limit_without_hint_fails_over_and_opens_the_route(sim: Simulator, way: Way) -> None:
    sim.script("first", Fault("rate_limit"))
    sim.script("last", WELL)
    async with world(sim, *LEVELS) as here:
        traces = [(await here.ask(way)).trace for _ in range(4)]
        limited, served = "first limited route 429", "last ok nobody 200"
        assert traces == [[limited, served]] * 3 + [[served]]
        assert here.route("first").breaker.state is BreakerState.OPEN


async def test_f02_attempts_are_bounded(sim: Simulator) -> None:
    names = [f"limited-{number}" for number in range(6)]
    for name in names:
        sim.script(name, Fault("rate_limit"))
    async with world(sim, *(route(name, priority=at) for at, name in enumerate(names)), max_attempts=3) as here:
        told = await here.ask(Way("anthropic", "stream"))
        assert (told.code, told.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "RATE_LIMITED")
        assert told.trace == [f"{name} limited route 429" for name in names[:3]]
        assert len(sim.log) == 3


@pytest.mark.parametrize("form", FORMS)
async def test_f03_a_spent_quota_shuts_the_key_and_only_the_key(sim: Simulator, form: str) -> None:
    sim.script("first", Fault("quota"))
    same_key, other_key = route("beside", priority=1), route("last", priority=10, credential="${OTHER}")
    async with world(sim, route("first"), same_key, other_key) as here:
        for mode in ("unary", "stream"):
            told = await here.ask(Way(form, mode))
            spent = ["first credential credential 429"] if mode == "unary" else []
            assert told.trace == [*spent, "last ok nobody 200"]
        # No second knock with this key, on whatever model.
        assert (len(here.seen("first")), len(here.seen("beside"))) == (1, 0)
        assert here.route("first").breaker.state is BreakerState.CLOSED
        assert here.route("first").breaker.snapshot().failures == 0


async def test_f03_a_limit_that_names_its_minute_does_not_shut_the_key(sim: Simulator) -> None:
    # Gemini words both its limits like a spent quota; a delay of seconds says which of the two it is.
    message = "You exceeded your current quota, please check your plan and billing details. Please retry in 37s."
    sim.script("first", Fault("rate_limit", message=message, retry_info_seconds=37))
    async with world(sim, *LEVELS) as here:
        told = await here.ask(Way("gemini", "unary"))
        assert told.trace == ["first limited route 429", "last ok nobody 200"]
        assert here.route("last").desc.credential.door.shut_until < time.monotonic()
