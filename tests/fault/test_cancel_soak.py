"""Ten thousand calls cancelled at random moments leave nothing behind.

`FLUXRPC_SOAK_CANCELS` sets another number. The moments are drawn from a seed; what they hit depends on the machine.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import grpc
import pytest

from fluxrpc.resilience.breaker import BreakerState
from fluxrpc.routing.route import Route
from fluxrpc.simulator import Fault, Ok, Pace, Simulator
from fluxrpc.v1.router_pb2 import ListModelsRequest
from tests.fault.world import WAYS, Way, World, request_for, route, tell, world

CANCELS = int(os.environ.get("FLUXRPC_SOAK_CANCELS", "10000"))
AFTERWARDS = max(20, CANCELS // 10)
AT_ONCE = 32
LATEST_SECONDS = 0.15
"""About how long a call takes while so many run: so the moments fall into every phase of a call."""
BETWEEN_WAITS = 5
SEED = 20261130
SLOW = Pace(before_headers_seconds=0.005, before_first_event_seconds=0.005, between_events_seconds=0.002)

# First the routes that make trouble, each over a service of its own, so that every door has something to do.
ROUTES = (
    route("flaky", priority=0, policy={"route_breaker": {"failure_threshold": 2, "recovery": "20ms"}}),
    route("limited", priority=1, service="other"),
    route("slow", priority=2),
    route("well", priority=3, service="other"),
)


def script(sim: Simulator) -> None:
    sim.script("flaky", [Fault("server_error"), Fault("silence"), Fault("overloaded"), Ok(pace=SLOW)] * CANCELS)
    sim.script(
        "limited", [Fault("rate_limit", retry_after_ms=10), Ok(pace=SLOW), Fault("reset", on="reused")] * CANCELS
    )
    sim.script("slow", [Ok(pace=SLOW), Fault("stall", after_events=3, answer=Ok(pace=SLOW))] * CANCELS)


@pytest.mark.timeout(600)
async def test_f40_cancels_at_random_moments_leave_nothing_behind(sim: Simulator) -> None:
    script(sim)
    async with world(sim, *ROUTES, patience="20ms", idle="1s", first_token="500ms", attempt_timeout="500ms") as here:
        await tell(here.server, WAYS[0], request_for(WAYS[0]), 20)
        tasks_before = len(asyncio.all_tasks())
        ends = await cancel_many(here, random.Random(SEED))
        assert sum(ends.values()) == CANCELS
        # Most were cut off somewhere, some were quicker; none met a fault of ours.
        assert ends.keys() <= {"CANCELLED", "OK", "UNAVAILABLE", "RESOURCE_EXHAUSTED"}, ends
        assert ends["CANCELLED"] > CANCELS // 2, ends

        left, served = (
            sum(bool(seen.socket_closed_by_peer) is is_left for seen in sim.log) for is_left in (True, False)
        )
        assert min(left, served) > CANCELS // 100, (left, served)  # they did fall before and after an answer

        await here.at_rest()
        await sim.wait_for(lambda: all(seen.finished is not None for seen in sim.log))
        await no_more_tasks_than(tasks_before)
        for each in here.server.app.state.catalog.models["m"].routes:
            is_given_back(each)
        assert [transport.in_use for _, transport in here.server.app.transports._current.values()] == [0, 0]
        # What stays open is kept alive for the next request, and bounded by how many ran at once.
        assert sim.open_connections <= AT_ONCE * 2

        await the_next_calls_succeed(here)


async def cancel_many(here: World, chance: random.Random) -> Counter[str]:
    ends: Counter[str] = Counter()

    async def caller(moments: Iterator[tuple[Way, float]]) -> None:
        for number, (way, moment) in enumerate(moments):
            ends[await cancelled(here, way, moment)] += 1
            if number % BETWEEN_WAITS == 0:
                # A cancelled call returns at once, while the server may not even have seen it. Without a call that is
                # waited for, they would pile up before it until gRPC drops all of them unseen.
                await here.server.stub.ListModels(ListModelsRequest(), timeout=20)

    moments = ((chance.choice(WAYS), chance.random() * LATEST_SECONDS) for _ in range(CANCELS))
    await asyncio.gather(*(caller(moments) for _ in range(AT_ONCE)))
    return ends


async def cancelled(here: World, way: Way, seconds: float) -> str:
    """Make a call and cancel it after so long; the name of the status that it ended with."""
    stub: Any = here.server.stub
    call = (stub.ExecuteStream if way.streams else stub.Execute)(request_for(way), timeout=20)
    asyncio.get_running_loop().call_later(seconds, call.cancel)
    try:
        if way.streams:
            async for _message in call:
                pass
        else:
            await call
    except asyncio.CancelledError:
        return "CANCELLED"
    except grpc.aio.AioRpcError as error:
        return str(error.code().name)
    return "OK"


async def no_more_tasks_than(count: int) -> None:
    """Connections that are drained in the background have a quarter of a second for it."""
    async with asyncio.timeout(3):
        while len(asyncio.all_tasks()) > count:  # noqa: ASYNC110  # the loop has no event for it
            await asyncio.sleep(0.01)


def is_given_back(each: Route) -> None:
    assert each.health.in_flight == 0
    for breaker in (each.breaker, each.endpoint_breaker):
        # Half-open with its place taken would be a probe that nobody will ever settle.
        assert breaker.state is not BreakerState.HALF_OPEN or breaker.is_available


async def the_next_calls_succeed(here: World) -> None:
    for name in ("flaky", "limited", "slow"):
        here.sim.script(name, Ok())
    began = time.monotonic()

    async def caller(ways: Iterator[Way]) -> None:
        for way in ways:
            told = await tell(here.server, way, request_for(way), 20)
            assert told.is_complete, told

    ways = (WAYS[number % len(WAYS)] for number in range(AFTERWARDS))
    await asyncio.gather(*(caller(ways) for _ in range(16)))
    assert time.monotonic() - began < max(5.0, AFTERWARDS * 0.03)
    await here.at_rest()
