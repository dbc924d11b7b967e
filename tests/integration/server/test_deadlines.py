"""When a call ends: deadlines by default and by wish, the reserve for the answer, how many run at once."""

from __future__ import annotations

import asyncio
import time

import grpc
import pytest

from fluxrpc.simulator import Fault, Ok, Pace, Simulator
from fluxrpc.v1.outcome_pb2 import BLAME_NOBODY, OUTCOME_ABANDONED
from fluxrpc.v1.router_pb2 import ListModelsRequest
from tests.integration.server.conftest import ENV
from tests.support.asking import Failure, config_for, failure, native
from tests.support.serving import Serving, serving

SLOW = Ok(pace=Pace(before_headers_seconds=20))
QUICK_ATTEMPT = {"min_attempt": "20ms"}


def _assert_out_of_time(told: Failure, server: Serving, *, attempts: int = 1) -> None:
    assert (told.code, told.reason) == (grpc.StatusCode.DEADLINE_EXCEEDED, "DEADLINE_EXCEEDED")
    assert told.detail is not None
    assert len(told.detail.attempts) == attempts
    if attempts:
        assert told.detail.attempts[-1].outcome == OUTCOME_ABANDONED
        assert told.detail.attempts[-1].blame == BLAME_NOBODY
    route = server.app.state.catalog.models["m"].routes[0]
    assert route.endpoint_breaker.state.value == "closed"
    assert route.breaker.state.value == "closed"
    assert server.at_rest()


async def test_the_callers_deadline(sim: Simulator) -> None:
    """Answered by us, with the attempts, before gRPC's own bare DEADLINE_EXCEEDED."""
    sim.script("m", SLOW)
    async with serving(config_for(sim, {"m": [{"model": "m"}]}, server={"reserve": "300ms"}), ENV) as server:
        for method in (server.stub.Execute, server.stub.ExecuteStream):
            began = time.monotonic()
            told = await failure(method(native("openai", "m"), timeout=0.8))
            assert 0.4 < time.monotonic() - began < 0.8
            _assert_out_of_time(told, server)
        await sim.wait_for(lambda: all(seen.socket_closed_by_peer for seen in sim.log))
    assert [line["code"] for line in server.access_lines] == ["DEADLINE_EXCEEDED"] * 2


async def test_a_deadline_in_the_middle_of_a_stream(sim: Simulator) -> None:
    sim.script("m", Fault("stall", after_events=2))
    async with serving(config_for(sim, {"m": [{"model": "m"}]}, server={"reserve": "300ms"}), ENV) as server:
        call = server.stub.ExecuteStream(native("anthropic", "m"), timeout=0.8)
        assert (await anext(aiter(call))).HasField("started")
        told = await failure(call)
        _assert_out_of_time(told, server)
        assert told.detail is not None
        assert told.detail.partial_usage.input_tokens > 0
        await sim.wait_for(lambda: sim.log[0].socket_closed_by_peer)


async def test_without_a_deadline_the_default_holds(sim: Simulator) -> None:
    sim.script("m", SLOW)
    config = config_for(sim, {"m": [{"model": "m"}]}, server={"default_deadline": "200ms"}, policy=QUICK_ATTEMPT)
    async with serving(config, ENV) as server:
        _assert_out_of_time(await failure(server.stub.Execute(native("openai", "m"))), server)


async def test_a_long_deadline_is_cut(sim: Simulator) -> None:
    sim.script("m", SLOW)
    config = config_for(
        sim,
        {"m": [{"model": "m"}]},
        server={"default_deadline": "200ms", "max_deadline": "200ms"},
        policy=QUICK_ATTEMPT,
    )
    async with serving(config, ENV) as server:
        _assert_out_of_time(await failure(server.stub.Execute(native("openai", "m"), timeout=30)), server)


async def test_too_little_time_for_an_attempt(sim: Simulator) -> None:
    async with serving(config_for(sim, {"m": [{"model": "m"}]}), ENV) as server:
        _assert_out_of_time(await failure(server.stub.Execute(native("openai", "m"), timeout=0.2)), server, attempts=0)
    assert not sim.log


async def test_deadlines_follow_a_reload(sim: Simulator) -> None:
    """What is asked anew for each call needs no restart: deadlines, reserve, least attempt."""
    sim.script("m", SLOW)
    async with serving(config_for(sim, {"m": [{"model": "m"}]}), ENV) as server:
        quick = config_for(
            sim,
            {"m": [{"model": "m"}]},
            server={"default_deadline": "2s", "reserve": "1800ms"},
            policy={"min_attempt": "10ms", "backoff_base": "1ms", "backoff_max": "2ms"},
        )
        assert await server.reload(quick)
        began = time.monotonic()
        _assert_out_of_time(await failure(server.stub.Execute(native("openai", "m"))), server)
        assert time.monotonic() - began < 1.9
    line = next(line for line in server.log_lines if line["event"] == "reloaded")
    assert line["needs_restart"] == []


async def test_more_calls_than_allowed(sim: Simulator) -> None:
    sim.script("m", SLOW)
    config = config_for(sim, {"m": [{"model": "m"}]}, server={"max_concurrent_rpcs": 2})
    async with serving(config, ENV) as server:
        running = [server.stub.Execute(native("openai", "m")) for _ in range(2)]
        await sim.wait_for(lambda: len(sim.log) == 2)
        told = await failure(server.stub.Execute(native("openai", "m")))
        assert (told.code, told.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "OVERLOADED")
        assert told.retry is not None
        assert told.retry.retry_delay.ToSeconds() == 1
        running[0].cancel()
        await sim.wait_for(lambda: any(seen.socket_closed_by_peer for seen in sim.log))
        await server.stub.ListModels(ListModelsRequest())  # there is room again
        running[1].cancel()
        with pytest.raises(asyncio.CancelledError):
            await running[1]
