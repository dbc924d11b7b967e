"""The caller cancels or runs out of time: the provider's socket closes, everything is given back, nobody is blamed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest

from fluxrpc.resilience.breaker import BreakerState
from fluxrpc.simulator import BlackholeListener, Fault, Ok, Pace, Simulator
from tests.fault.world import STREAMS, WAYS, Way, World, at, request_for, route, world

UNARY, STREAM = Way("openai", "unary"), Way("gemini", "stream")
ANSWER = Ok(fragments=("One ", "two ", "three ", "four."), pace=Pace(between_events_seconds=0.005))


@asynccontextmanager
async def calling(here: World, way: Way) -> AsyncIterator[asyncio.Task[Any]]:
    """A call that runs; cancelling its task cancels the call."""
    task = asyncio.create_task(here.ask(way))
    yield task
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def is_unharmed(here: World, *names: str) -> None:
    """Nothing is held, nobody was blamed, and the route serves."""
    await here.at_rest()
    for name in names:
        assert here.route(name).breaker.snapshot().failures == 0
        assert here.route(name).endpoint_breaker.state is BreakerState.CLOSED


@pytest.mark.parametrize("way", WAYS, ids=str)
async def test_f40_cancelled_while_waiting_for_headers(sim: Simulator, way: Way) -> None:
    sim.script("m1", [Fault("silence"), Ok()])
    async with world(sim, route("m1")) as here:
        async with calling(here, way):
            await sim.wait_for(lambda: here.seen("m1") and here.seen("m1")[0].is_silent)
            left_at = sim.clock()
        await sim.wait_for(lambda: here.seen("m1")[0].socket_closed_by_peer)
        assert (here.seen("m1")[0].socket_closed_at or 0) - left_at < 1
        await is_unharmed(here, "m1")
        assert (await here.ask(way)).is_complete


@pytest.mark.parametrize("way", STREAMS, ids=str)
async def test_f40_cancelled_in_mid_stream(sim: Simulator, way: Way) -> None:
    sim.script("m1", [Fault("stall", after_events=2, answer=ANSWER), Ok()])
    async with world(sim, route("m1")) as here:
        call = here.server.stub.ExecuteStream(request_for(way), timeout=20)
        messages = aiter(call)
        assert (await anext(messages)).WhichOneof("message") == "started"
        await anext(messages)
        await sim.wait_for(lambda: here.seen("m1")[0].is_silent)
        left_at = sim.clock()
        call.cancel()
        await sim.wait_for(lambda: here.seen("m1")[0].socket_closed_by_peer)
        assert (here.seen("m1")[0].socket_closed_at or 0) - left_at < 1
        await is_unharmed(here, "m1")
        assert (await here.ask(way)).is_complete


@pytest.mark.parametrize("way", [UNARY, STREAM], ids=str)
async def test_f40_cancelled_while_queued(sim: Simulator, way: Way) -> None:
    sim.script("m1", [Fault("silence"), Ok()])
    narrow = at(sim.url, http={"max_connections": 1})
    async with world(sim, route("m1", service="narrow"), services={"narrow": narrow}) as here:
        async with calling(here, way):
            await sim.wait_for(lambda: here.seen("m1") and here.seen("m1")[0].is_silent)
            async with calling(here, way):
                await _in_flight(here, 2)
            await _in_flight(here, 1)
            assert len(sim.log) == 1  # it never got its turn
            assert not here.seen("m1")[0].socket_closed_by_peer
        await is_unharmed(here, "m1")
        assert (await here.ask(way)).is_complete


@pytest.mark.parametrize("way", [UNARY, STREAM], ids=str)
async def test_f40_cancelled_while_connecting(sim: Simulator, way: Way) -> None:
    async with (
        BlackholeListener(full_backlog=True) as nowhere,
        world(sim, route("m1", service="gone"), services={"gone": at(nowhere.url)}) as here,
    ):
        async with calling(here, way):
            await _in_flight(here, 1)
        await is_unharmed(here, "m1")


@pytest.mark.parametrize("way", [UNARY, STREAM], ids=str)
async def test_f40_cancelled_while_waiting_for_a_hint(sim: Simulator, way: Way) -> None:
    sim.script("m1", Fault("rate_limit", retry_after_seconds=1))
    async with world(sim, route("m1")) as here:
        async with calling(here, way):
            await sim.wait_for(lambda: here.seen("m1") and here.seen("m1")[0].completed)
        await here.at_rest()
        hint = here.route("m1").hint
        await asyncio.sleep(hint.remaining_seconds(sim.clock()) + 0.05)
        assert len(sim.log) == 1  # nobody knocks for a caller who has left


async def _in_flight(here: World, count: int) -> None:
    async with asyncio.timeout(2):
        while here.route("m1").health.in_flight != count:  # noqa: ASYNC110  # a counter without an event
            await asyncio.sleep(0.002)


@pytest.mark.parametrize("way", WAYS, ids=str)
async def test_f41_a_deadline_shorter_than_the_work(sim: Simulator, way: Way) -> None:
    sim.script("m1", Fault("silence"))
    async with world(sim, route("m1"), server={"reserve": "200ms"}) as here:
        told = await here.ask(way, timeout=0.7)
        assert (told.code, told.reason) == (grpc.StatusCode.DEADLINE_EXCEEDED, "DEADLINE_EXCEEDED")
        # Told by the server, so that the details arrive; the client's own clock has not gone off.
        assert 0.45 <= told.seconds < 0.7
        assert told.trace == ["m1 abandoned nobody 0"]
        await sim.wait_for(lambda: here.seen("m1")[0].socket_closed_by_peer, 1)
        await is_unharmed(here, "m1")


@pytest.mark.parametrize("way", STREAMS, ids=str)
async def test_f41_a_deadline_in_mid_stream(sim: Simulator, way: Way) -> None:
    sim.script("m1", Fault("stall", after_events=2, answer=ANSWER))
    async with world(sim, route("m1"), server={"reserve": "200ms"}) as here:
        told = await here.ask(way, timeout=0.7)
        assert (told.code, told.reason) == (grpc.StatusCode.DEADLINE_EXCEEDED, "DEADLINE_EXCEEDED")
        assert 0.45 <= told.seconds < 0.7
        assert told.text == "One two "
        assert told.trace == ["m1 abandoned nobody 0"]
        await sim.wait_for(lambda: here.seen("m1")[0].socket_closed_by_peer, 1)
        await is_unharmed(here, "m1")


async def test_f41_the_attempts_before_are_told_too(sim: Simulator) -> None:
    sim.script("m1", Fault("server_error"))
    sim.script("m2", Fault("silence"))
    routes = (route("m1"), route("m2", priority=1))
    async with world(sim, *routes, retries_per_route=0, server={"reserve": "200ms"}) as here:
        told = await here.ask(UNARY, timeout=0.8)
        assert told.code is grpc.StatusCode.DEADLINE_EXCEEDED
        assert told.trace == ["m1 model route 500", "m2 abandoned nobody 0"]


async def test_f41_no_attempt_begins_with_too_little_time(sim: Simulator) -> None:
    async with world(sim, route("m1"), min_attempt="500ms") as here:
        told = await here.ask(UNARY, timeout=0.4)
        assert (told.code, told.reason) == (grpc.StatusCode.DEADLINE_EXCEEDED, "DEADLINE_EXCEEDED")
        assert told.seconds < 0.3
        assert told.attempts == []
        assert sim.log == []
