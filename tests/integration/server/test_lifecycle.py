"""From the first step to the last: when calls are welcome, how a server leaves, what keeps it from starting."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Callable
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2_grpc
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse

from fluxrpc.server.app import App, bind
from fluxrpc.server.lifecycle import StartError
from fluxrpc.simulator import Fault, Ok, Pace, Simulator
from tests.integration.server.conftest import ENV
from tests.support.asking import config_for, failure, native
from tests.support.serving import serving

SERVING, NOT_SERVING = HealthCheckResponse.SERVING, HealthCheckResponse.NOT_SERVING
SLOW_STREAM = Ok(fragments=("x",) * 30, pace=Pace(between_events_seconds=0.01))


def _config(sim: Simulator, **server: Any) -> dict[str, Any]:
    return config_for(sim, {"m": [{"model": "m"}]}, server=server)


async def test_health_says_no_until_calls_are_welcome(sim: Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked in the moment between listening and serving."""
    seen: list[int] = []

    async def bind_and_ask(app: App) -> int:
        port = await bind(app)
        start = app.server.start

        async def start_and_ask() -> None:
            await start()
            async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
                health = health_pb2_grpc.HealthStub(channel)
                names = ("", "fluxrpc.v1.RouterService")
                seen.extend([(await health.Check(HealthCheckRequest(service=name))).status for name in names])

        monkeypatch.setattr(app.server, "start", start_and_ask)
        return port

    monkeypatch.setattr("fluxrpc.server.lifecycle.bind", bind_and_ask)
    async with serving(_config(sim), ENV) as server:
        health = health_pb2_grpc.HealthStub(server.channel)
        seen.append((await health.Check(HealthCheckRequest())).status)
    assert seen == [NOT_SERVING, NOT_SERVING, SERVING]


async def test_running_streams_finish_while_it_drains(sim: Simulator) -> None:
    sim.script("m", SLOW_STREAM)
    async with serving(_config(sim, drain_delay="100ms", grace="5s"), ENV) as server:
        watch = health_pb2_grpc.HealthStub(server.channel).Watch(HealthCheckRequest())
        assert (await watch.read()).status == SERVING
        call = server.stub.ExecuteStream(native("openai", "m"))
        items = [await anext(aiter(call))]
        os.kill(os.getpid(), signal.SIGTERM)
        assert (await watch.read()).status == NOT_SERVING
        # Load balancers have not noticed yet, so calls are still served.
        assert (await server.stub.Execute(native("openai", "m"))).native.body
        await asyncio.sleep(0.12)
        late = await failure(server.stub.Execute(native("openai", "m"), timeout=2))
        items += [item async for item in call]
    assert items[-1].HasField("completed")
    assert late.code is grpc.StatusCode.UNAVAILABLE
    assert [line["event"] for line in server.log_lines if line["event"] in {"draining", "stopped"}] == [
        "draining",
        "stopped",
    ]


async def test_what_does_not_finish_within_the_grace_is_cut(sim: Simulator) -> None:
    sim.script("m", Fault("stall", after_events=1))
    async with serving(_config(sim, grace="100ms"), ENV) as server:
        call = server.stub.ExecuteStream(native("openai", "m"))
        await anext(aiter(call))
        server.server.stop()
        told = await failure(call)
        await sim.wait_for(lambda: sim.log[0].socket_closed_by_peer, timeout=1.0)
    assert told.code is grpc.StatusCode.UNAVAILABLE
    assert server.app.limiter.running == 0


@pytest.mark.parametrize("when", ["in the delay", "in the grace"])
async def test_a_second_signal_ends_at_once(sim: Simulator, when: str) -> None:
    sim.script("m", Fault("stall", after_events=1))
    delay = "30s" if when == "in the delay" else "0s"
    async with serving(_config(sim, drain_delay=delay, grace="30s"), ENV) as server:
        call = server.stub.ExecuteStream(native("openai", "m"))
        await anext(aiter(call))
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)
        async with asyncio.timeout(5):
            assert (await failure(call)).code is grpc.StatusCode.UNAVAILABLE


async def test_signals_reload_one_after_the_other(sim: Simulator) -> None:
    async with serving(_config(sim), ENV) as server:
        server.source.config = config_for(sim, {"other": [{"model": "m"}]})
        for _ in range(3):
            os.kill(os.getpid(), signal.SIGHUP)
            await asyncio.sleep(0)
        async with asyncio.timeout(5):
            while server.reloader.state.generation < 2:  # noqa: ASYNC110  # the log has no event
                await asyncio.sleep(0.01)
            answer = await server.stub.Execute(native("openai", "other"))
    assert answer.native.body
    # Ending waits for a reload that runs, so none is lost in the middle.
    assert len([line for line in server.log_lines if line["event"] == "reloaded"]) >= 2
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_DFL


@pytest.mark.parametrize("setting", ["server", "metrics"])
async def test_a_port_that_is_taken(sim: Simulator, setting: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        config = _config(sim)
        config[setting] = {**config.get(setting, {}), "listen": f"127.0.0.1:{taken.getsockname()[1]}"}
        config.setdefault("metrics", {"listen": "127.0.0.1:0"})
        with pytest.raises(StartError, match="in use"):
            async with serving(config, ENV):
                raise AssertionError("it serves")


@pytest.mark.parametrize("content", ["no certificate", "", "é", "-----BEGIN CERTIFICATE-----\nAAAA\n"])
async def test_an_authority_that_is_none(sim: Simulator, tmp_path: Any, content: str) -> None:
    (tmp_path / "ca.pem").write_text(content)
    services = {"tls": {"protocols": {"openai": "https://127.0.0.1:1"}, "http": {"ca": "ca.pem"}}}
    config = config_for(sim, {"m": [{"model": "m"}]}, services=services)
    with pytest.raises(StartError, match="expected certificates in PEM"):
        async with serving(config, ENV, folder=tmp_path):
            raise AssertionError("it serves")


async def test_it_leaves_nothing_behind(sim: Simulator, unraised: Callable[[], list[Any]]) -> None:
    before = asyncio.all_tasks()
    async with serving(_config(sim), ENV) as server:
        await server.stub.Execute(native("openai", "m"))
        [item async for item in server.stub.ExecuteStream(native("openai", "m"))]
    async with asyncio.timeout(2):
        while asyncio.all_tasks() - before:  # noqa: ASYNC110  # gRPC's own tasks end a moment later
            await asyncio.sleep(0.01)
        while sim.open_connections:  # noqa: ASYNC110  # as above
            await asyncio.sleep(0.01)
    assert unraised() == []
