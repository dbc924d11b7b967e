"""A caller who leaves stops the token bill at once, and leaves nothing behind: no task, no permit, no connection."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import pytest

from fluxrpc.simulator import Fault, Ok, Pace, Simulator
from tests.integration.server.conftest import ENV
from tests.support.asking import PROTOCOLS, config_for, native, typed
from tests.support.serving import Serving, serving

SILENT = Fault("silence")
STALLED = Fault("stall", after_events=1)


async def _settled(condition: Callable[[], bool], seconds: float = 3.0) -> None:
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110  # counters, which have no event
            await asyncio.sleep(0.005)


async def _until_still(count: Callable[[], int], *, still_seconds: float = 0.5, seconds: float = 15.0) -> None:
    """Waits until a counter has not moved for a while; the buffers in between fill as fast as the machine is free."""
    async with asyncio.timeout(seconds):
        before = -1
        while before != (before := count()):  # noqa: ASYNC110  # a counter, which has no event
            await asyncio.sleep(still_seconds)


async def _assert_nothing_left(server: Serving, sim: Simulator) -> None:
    await _settled(server.at_rest)
    await _settled(lambda: not _tasks_of_calls())
    await _settled(lambda: sim.open_connections == 0)


def _tasks_of_calls() -> list[Any]:
    """Tasks that run our code; those of the test, the simulator and the server's own life are not meant."""
    return [task for task in asyncio.all_tasks() if "_handle_rpc" in repr(task.get_coro()) or "execute" in repr(task)]


@pytest.mark.parametrize("protocol", [*PROTOCOLS, "typed"])
@pytest.mark.parametrize("how", ["cancel", "deadline", "channel"])
async def test_leaving_a_unary_call(sim: Simulator, protocol: str, how: str) -> None:
    sim.script("m", SILENT)
    request = typed("m") if protocol == "typed" else native(protocol, "m")
    async with serving(config_for(sim, {"m": [{"model": "m"}]}, server={"reserve": "0s"}), ENV) as server:
        call = server.stub.Execute(request, timeout=0.3 if how == "deadline" else None)
        await sim.wait_for(lambda: sim.log and sim.log[0].is_silent)
        await _leave(server, call, how)
        await sim.wait_for(lambda: sim.log[0].socket_closed_by_peer, timeout=1.0)
        await _assert_nothing_left(server, sim)
        await _settled(lambda: len(server.access_lines) == 1)
        assert server.access_lines[0]["code"] == ("DEADLINE_EXCEEDED" if how == "deadline" else "CANCELLED")


@pytest.mark.parametrize("protocol", [*PROTOCOLS, "typed"])
@pytest.mark.parametrize("how", ["cancel", "channel"])
async def test_leaving_a_stream(sim: Simulator, protocol: str, how: str) -> None:
    sim.script("m", STALLED)
    request = typed("m") if protocol == "typed" else native(protocol, "m")
    async with serving(config_for(sim, {"m": [{"model": "m"}]}), ENV) as server:
        call: Any = server.stub.ExecuteStream(request)
        assert (await call.read()).HasField("started")
        await sim.wait_for(lambda: sim.log[0].is_silent)
        await _leave(server, call, how)
        await sim.wait_for(lambda: sim.log[0].socket_closed_by_peer, timeout=1.0)
        await _assert_nothing_left(server, sim)
        await _settled(lambda: len(server.access_lines) == 1)
        assert server.access_lines[0]["code"] == "CANCELLED"


async def _leave(server: Serving, call: Any, how: str) -> None:
    if how == "channel":
        await server.channel.close()
    elif how == "cancel":
        call.cancel()
    else:
        with pytest.raises(grpc.aio.AioRpcError):
            await call


async def test_leaving_before_the_first_event(sim: Simulator) -> None:
    sim.script("m", Ok(pace=Pace(before_first_event_seconds=20)))
    async with serving(config_for(sim, {"m": [{"model": "m"}]}), ENV) as server:
        call = server.stub.ExecuteStream(native("openai", "m"))
        await sim.wait_for(lambda: sim.log and sim.log[0].first_byte_sent)
        call.cancel()
        await sim.wait_for(lambda: sim.log[0].socket_closed_by_peer, timeout=1.0)
        await _assert_nothing_left(server, sim)


async def test_a_slow_reader_holds_the_provider_back(sim: Simulator) -> None:
    """Whoever does not read is not read for: what waits in between is bounded, and leaving frees it."""
    piece, pieces = "x" * 20_000, 5_000  # 100 MB
    sim.script("m", Ok(fragments=(piece,) * pieces))
    async with serving(config_for(sim, {"m": [{"model": "m"}]}), ENV) as server:
        call: Any = server.stub.ExecuteStream(native("openai", "m"))
        assert (await call.read()).HasField("started")
        await _until_still(lambda: sim.log[0].bytes_sent)
        assert sim.log[0].is_held_back
        assert sim.log[0].bytes_sent < 40_000_000
        call.cancel()
        await sim.wait_for(lambda: sim.log[0].socket_closed_by_peer, timeout=1.0)
        await _assert_nothing_left(server, sim)
        await _settled(lambda: len(server.access_lines) == 1)
    assert server.access_lines[0]["code"] == "CANCELLED"
    assert not [line for line in server.log_lines if line["event"] == "unhandled"]


async def test_a_reader_who_pauses_gets_everything(sim: Simulator) -> None:
    sim.script("m", Ok(fragments=("x" * 20_000,) * 600))
    async with serving(config_for(sim, {"m": [{"model": "m"}]}), ENV) as server:
        call = server.stub.ExecuteStream(native("openai", "m"))
        first = await anext(aiter(call))
        await sim.wait_for(lambda: sim.log[0].is_held_back)
        rest = [message async for message in call]
        sizes = [len(message.native) for message in rest if message.WhichOneof("message") == "native"]
    assert first.HasField("started")
    assert rest[-1].HasField("completed")
    assert sum(sizes) > 12_000_000
    assert max(sizes) <= 256 * 1024


async def test_many_callers_who_leave_at_any_moment(sim: Simulator) -> None:
    chance = random.Random(7)
    sim.script("m", Ok(pace=Pace(before_headers_seconds=0.005, between_events_seconds=0.002)))
    async with serving(config_for(sim, {"m": [{"model": "m"}]}), ENV) as server:

        async def leave(_: int) -> None:
            request = native(chance.choice(PROTOCOLS), "m")
            if chance.random() < 0.5:
                call: Any = server.stub.Execute(request)
            else:
                call = server.stub.ExecuteStream(request)
            await asyncio.sleep(chance.random() * 0.03)
            call.cancel()

        for _ in range(5):
            await asyncio.gather(*(leave(n) for n in range(60)))
        await _settled(server.at_rest)
        await _settled(lambda: not _tasks_of_calls())
        answers: list[Awaitable[Any]] = [server.stub.Execute(native("openai", "m")) for _ in range(20)]
        assert all(answer.native.body for answer in await asyncio.gather(*answers))
    assert not [line for line in server.log_lines if line["event"] == "unhandled"]
