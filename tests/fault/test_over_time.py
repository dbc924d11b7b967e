"""Breakers over time: a sick route sees one probe each recovery period, and is used again when it is well."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from itertools import pairwise

import grpc
import pytest

from fluxrpc.resilience.breaker import BreakerState
from fluxrpc.simulator import Fault, Ok, Pace, Simulator, refused_port
from tests.fault.world import Told, Way, World, at, route, world

UNARY, STREAM = Way("openai", "unary"), Way("anthropic", "stream")
RECOVERY_SECONDS = 0.2
RECOVERY = {"recovery": "200ms"}
TWO = (route("primary"), route("well", priority=10, service="other"))


async def load(here: World, way: Way, until: Callable[[Told], bool]) -> list[Told]:
    """A steady stream of requests, until one of them is as wished."""
    told: list[Told] = []
    async with asyncio.timeout(10):
        while not told or not until(told[-1]):
            told.append(await here.ask(way))
            await asyncio.sleep(0.01)  # the pace of the callers
    return told


def after(seconds: float) -> Callable[[Told], bool]:
    end = time.monotonic() + seconds
    return lambda _told: time.monotonic() >= end


async def open_breaker(here: World, name: str, way: Way, *, scripted: bool = False) -> None:
    if not scripted:
        here.sim.script(name, Fault("server_error"))
    for _ in range(3):
        await here.ask(way)
    assert here.route(name).breaker.state is BreakerState.OPEN


async def recovered(here: World, name: str) -> None:
    await asyncio.sleep(here.route(name).breaker.remaining_seconds + 0.005)


@pytest.mark.parametrize("way", [UNARY, STREAM], ids=str)
async def test_f30_a_sick_primary_sees_one_probe_each_recovery_period(sim: Simulator, way: Way) -> None:
    sim.script("primary", Fault("overloaded"))
    async with world(sim, *TWO, route_breaker=RECOVERY, retries_per_route=0) as here:
        told = await load(here, way, after(1.1))
        assert all(each.is_complete for each in told)
        assert {each.trace[-1] for each in told} == {"well ok nobody 200"}
        knocks = [seen.arrived for seen in here.seen("primary")]
        gaps = [later - earlier for earlier, later in pairwise(knocks[2:])]
        # Three failures open it; then one knock for each period, not one for each request.
        assert all(gap >= RECOVERY_SECONDS - 0.005 for gap in gaps)
        assert 2 <= len(gaps) <= 5
        assert len(told) > 4 * len(knocks)
        sim.script("primary", Ok())
        healthy_at = time.monotonic()
        await load(here, way, lambda each: each.trace == ["primary ok nobody 200"])
        assert time.monotonic() - healthy_at < RECOVERY_SECONDS + 0.3
        assert (await here.ask(way)).trace == ["primary ok nobody 200"]
        assert here.route("primary").breaker.state is BreakerState.CLOSED


async def test_f30_a_host_that_was_down_is_found_again(sim: Simulator) -> None:
    primary = Simulator()
    async with primary:
        services = {"down": at(primary.base_url("openai"))}
    routes = (route("primary", service="down"), route("beside", service="down", priority=1), route("well", priority=10))
    async with world(sim, *routes, services=services, endpoint_breaker=RECOVERY) as here:
        told = await load(here, UNARY, after(0.7))
        assert {each.trace[-1] for each in told} == {"well ok nobody 200"}
        failed = [each.trace[0] for each in told if len(each.trace) > 1]
        # One probe each period for the host, whatever the number of routes through it.
        assert set(failed) == {"primary network endpoint 0"}
        assert 2 <= len(failed) <= 5
        async with primary:
            healthy_at = time.monotonic()
            await load(here, UNARY, lambda each: each.trace == ["primary ok nobody 200"])
            assert time.monotonic() - healthy_at < RECOVERY_SECONDS + 0.3


@pytest.mark.parametrize("way", [UNARY, STREAM], ids=str)
async def test_f31_half_open_admits_one_probe_and_takes_its_place_back(sim: Simulator, way: Way) -> None:
    async with world(sim, *TWO, route_breaker=RECOVERY, retries_per_route=0) as here:
        await open_breaker(here, "primary", way)
        sim.script("primary", [Fault("silence"), Ok(text="Well again.")])
        await recovered(here, "primary")
        calls = [asyncio.create_task(here.ask(way)) for _ in range(50)]
        await sim.wait_for(lambda: len(here.seen("well")) == 3 + 49)
        done, probes = await asyncio.wait(calls, timeout=1)
        assert (len(done), len(probes)) == (49, 1)
        assert {call.result().trace[-1] for call in done} == {"well ok nobody 200"}
        assert len(here.seen("primary")) == 3 + 1
        # Its caller leaves: the next request is the probe.
        probes.pop().cancel()
        await sim.wait_for(lambda: here.seen("primary")[3].socket_closed_by_peer, 1)
        await here.at_rest()
        assert here.route("primary").breaker.state is BreakerState.HALF_OPEN
        assert (await here.ask(way)).text == "Well again."
        assert here.route("primary").breaker.state is BreakerState.CLOSED
        assert len(here.seen("primary")) == 3 + 2


async def test_f31_a_stream_settles_its_probe_when_it_begins(sim: Simulator) -> None:
    async with world(sim, *TWO, route_breaker=RECOVERY, retries_per_route=0) as here:
        await open_breaker(here, "primary", STREAM)
        sim.script("primary", [Fault("stall", after_events=2), Ok(text="Well again.")])
        await recovered(here, "primary")
        probe = asyncio.create_task(here.ask(STREAM))
        await sim.wait_for(lambda: here.seen("primary")[-1].is_silent)
        # It has begun, so the route is well, however long it lasts.
        assert (await here.ask(STREAM)).text == "Well again."
        probe.cancel()
        await here.at_rest()


async def test_f32_results_from_before_the_change_are_ignored(sim: Simulator) -> None:
    sim.script("primary", [Ok(text="Late.", pace=Pace(before_headers_seconds=0.3)), Fault("server_error")])
    async with world(sim, *TWO, retries_per_route=0) as here:
        late = asyncio.create_task(here.ask(UNARY))
        await sim.wait_for(lambda: here.seen("primary"))
        for _ in range(3):
            await here.ask(UNARY)
        assert here.route("primary").breaker.state is BreakerState.OPEN
        assert (await late).text == "Late."
        assert here.route("primary").breaker.state is BreakerState.OPEN


async def test_f32_a_late_failure_does_not_count_against_a_route_that_is_well_again(sim: Simulator) -> None:
    late_fault = Fault("server_error", delay_seconds=0.4)
    sim.script("primary", [late_fault, *[Fault("server_error")] * 3, Ok()])
    async with world(sim, *TWO, retries_per_route=0, route_breaker={"recovery": "50ms"}) as here:
        late = asyncio.create_task(here.ask(UNARY))
        await sim.wait_for(lambda: here.seen("primary"))
        await open_breaker(here, "primary", UNARY, scripted=True)
        await recovered(here, "primary")
        assert (await here.ask(UNARY)).trace == ["primary ok nobody 200"]
        assert not late.done()
        assert (await late).trace == ["primary model route 500", "well ok nobody 200"]
        assert here.route("primary").breaker.state is BreakerState.CLOSED
        assert here.route("primary").breaker.snapshot().failures == 0


@pytest.mark.parametrize("way", [UNARY, STREAM], ids=str)
async def test_f33_with_every_route_open_nobody_is_asked(sim: Simulator, way: Way) -> None:
    sooner = {"route_breaker": {"recovery": "4s", "failure_threshold": 1}}
    later = {"route_breaker": {"recovery": "30s", "failure_threshold": 1}}
    for name in ("later", "sooner"):
        sim.script(name, Fault("server_error"))
    async with world(sim, route("later", policy=later), route("sooner", policy=sooner), retries_per_route=0) as here:
        first = await here.ask(way)
        assert (first.code, first.reason) == (grpc.StatusCode.UNAVAILABLE, "PROVIDER_FAILED")
        assert len(first.trace) == 2
        told = await here.ask(way)
        assert (told.code, told.reason) == (grpc.StatusCode.UNAVAILABLE, "CIRCUIT_OPEN")
        assert told.attempts == []
        assert told.retry_seconds == pytest.approx(4, abs=0.5)
        assert len(sim.log) == 2


async def test_f33_cut_off_from_every_host_one_probe_is_made_each_few_seconds(sim: Simulator) -> None:
    away = Simulator()
    async with away:
        services = {"down": at(away.base_url("openai")), "gone": at(f"http://127.0.0.1:{refused_port()}")}
    routes = (route("m1", service="down"), route("m2", service="gone", priority=10))
    async with world(sim, *routes, services=services, endpoint_probe="250ms") as here:
        first = await here.ask(UNARY)
        assert first.trace == ["m1 network endpoint 0", "m2 network endpoint 0"]
        told = await here.ask(UNARY)
        assert (told.code, told.reason, told.attempts) == (grpc.StatusCode.UNAVAILABLE, "CIRCUIT_OPEN", [])
        assert told.retry_seconds is not None
        assert 0 < told.retry_seconds <= 0.25
        await asyncio.sleep(told.retry_seconds + 0.02)
        many = await asyncio.gather(*(here.ask(UNARY) for _ in range(20)))
        # The endpoint that was left alone for longest is asked once; nobody else is.
        assert [each.trace for each in many if each.attempts] == [["m1 network endpoint 0"]]
        async with away:
            served = await load(here, UNARY, lambda each: each.is_complete)
            assert served[-1].trace == ["m1 ok nobody 200"]
