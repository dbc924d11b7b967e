"""`fluxrpc serve` as a process: what keeps it from starting, signals, reloads."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from fluxrpc.simulator import Fault, Ok, Simulator
from fluxrpc.v1.router_pb2_grpc import RouterServiceStub
from tests.support.asking import config_for, typed
from tests.support.command import run, serve, write_config

MODELS = {"chat": [{"model": "sim-ok"}]}


@pytest.fixture
async def sim() -> AsyncIterator[Simulator]:
    async with Simulator() as simulator:
        yield simulator


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


# ---------------------------------------------------------------------------------------------------- not starting


async def test_every_fault_of_the_configuration_is_listed_and_nothing_listens(sim: Simulator, tmp_path: Path) -> None:
    port = free_port()
    config = config_for(sim, MODELS, server={"listen": f"127.0.0.1:{port}", "colour": "red"})
    config["models"]["chat"]["routes"][0]["service"] = "nobody"
    path = write_config(tmp_path, config)
    done = await run("serve", "--config", str(path))
    assert done.status == 1
    assert done.stdout == ""
    *faults, count = done.stderr.splitlines()
    assert count == "2 faults"
    lines = path.read_text().splitlines()
    expected = {"server.colour": '"colour"', "models.chat.routes[0].service": '"nobody"'}
    for place, word in expected.items():
        number = next(n for n, line in enumerate(lines, 1) if word in line)
        assert any(fault.startswith(f"{path}:{number}: {place}: ") for fault in faults), faults
    assert not is_listening(port)


@pytest.mark.parametrize("section", ["server", "metrics"])
async def test_a_taken_port_is_one_clear_line(sim: Simulator, tmp_path: Path, taken_port: int, section: str) -> None:
    config = config_for(sim, MODELS, log={"level": "error"}, **{section: {"listen": f"127.0.0.1:{taken_port}"}})
    done = await run("serve", "--config", str(write_config(tmp_path, config)))
    assert done.status == 1
    [line] = done.stderr.splitlines()
    what = "cannot listen on" if section == "server" else "cannot serve metrics on"
    assert line.startswith(f"fluxrpc: {what} 127.0.0.1:{taken_port}: ")
    assert "in use" in line


async def test_a_missing_certificate_is_a_fault_of_the_configuration(sim: Simulator, tmp_path: Path) -> None:
    config = config_for(sim, MODELS, server={"tls": {"cert": "no.pem", "key": "no.key"}})
    done = await run("serve", "--config", str(write_config(tmp_path, config)))
    assert done.status == 1
    assert "server.tls.cert" in done.stderr
    assert "server.tls.key" in done.stderr
    assert done.stderr.endswith("2 faults\n")


async def test_a_certificate_that_is_none_is_one_clear_line(sim: Simulator, tmp_path: Path) -> None:
    (tmp_path / "odd.pem").write_text("no certificate")
    tls = {"cert": "odd.pem", "key": "odd.pem"}
    config = config_for(sim, MODELS, log={"level": "error"}, server={"tls": tls})
    done = await run("serve", "--config", str(write_config(tmp_path, config)))
    assert done.status == 1
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == 1


# ---------------------------------------------------------------------------------------------------- ending


async def test_sigterm_lets_a_running_stream_finish(sim: Simulator, tmp_path: Path) -> None:
    sim.script("slow", Fault("stall", after_events=1, seconds=1.0, answer=Ok(text="one two three")))
    config = config_for(sim, {"chat": [{"model": "slow"}]})
    async with serve(tmp_path, config) as server, grpc.aio.insecure_channel(await server.target()) as channel:
        stub = RouterServiceStub(channel)
        stream = aiter(stub.ExecuteStream(typed("chat"), timeout=20))
        kinds = [(await anext(stream)).WhichOneof("message")]
        server.process.send_signal(signal.SIGTERM)
        await server.log_line("draining")
        text = ""
        async for message in stream:
            kinds.append(message.WhichOneof("message"))
            text += "".join(event.part_delta.text for event in message.events.events)
        assert kinds[0] == "started"
        assert kinds[-1] == "completed"
        assert text == "one two three"
        assert await server.exit_status() == 0
        assert server.events("stopped")


async def test_while_draining_new_calls_are_refused(sim: Simulator, tmp_path: Path) -> None:
    config = config_for(sim, {"chat": [{"model": "sim-stall-after-1"}], "more": [{"model": "sim-ok"}]})
    async with serve(tmp_path, config) as server, grpc.aio.insecure_channel(await server.target()) as channel:
        stub = RouterServiceStub(channel)
        stream = aiter(stub.ExecuteStream(typed("chat"), timeout=20))
        await anext(stream)
        server.process.send_signal(signal.SIGTERM)
        await server.log_line("draining")
        await call_until_unavailable(stub, "more")
        # The second signal does not wait for the grace.
        server.process.send_signal(signal.SIGTERM)
        with pytest.raises(grpc.aio.AioRpcError):
            async for _ in stream:
                pass
        assert await server.exit_status() == 0


async def test_a_second_signal_ends_at_once(sim: Simulator, tmp_path: Path) -> None:
    config = config_for(sim, MODELS, server={"drain_delay": "1h", "grace": "1h"})
    async with serve(tmp_path, config) as server:
        await server.target()
        server.process.send_signal(signal.SIGINT)
        await server.log_line("draining")
        server.process.send_signal(signal.SIGINT)
        assert await server.exit_status() == 0


# ---------------------------------------------------------------------------------------------------- reloading


async def test_sighup_takes_a_sound_file_and_refuses_a_faulty_one(sim: Simulator, tmp_path: Path) -> None:
    config = config_for(sim, MODELS)
    async with serve(tmp_path, config) as server, grpc.aio.insecure_channel(await server.target()) as channel:
        stub = RouterServiceStub(channel)
        write_config(tmp_path, config_for(sim, {"new": [{"model": "sim-ok"}]}))
        server.process.send_signal(signal.SIGHUP)
        assert (await server.log_line("reloaded"))["generation"] == 2
        assert (await stub.Execute(typed("new"), timeout=20)).route.upstream_model == "sim-ok"
        assert await unknown(stub, "chat")

        (tmp_path / "fluxrpc.yaml").write_text(json.dumps({**config, "colour": "red"}))
        server.process.send_signal(signal.SIGHUP)
        [fault] = (await server.log_line("reload_refused"))["faults"]
        assert "fluxrpc.yaml:1: colour: " in fault
        assert (await stub.Execute(typed("new"), timeout=20)).route.upstream_model == "sim-ok"
        assert await unknown(stub, "chat")


async def call_until_unavailable(stub: Any, model: str) -> None:
    """The last calls before the listener closes are still welcome; gRPC's core cancels what is on its way just then."""
    async with asyncio.timeout(20):
        while True:
            try:
                await stub.Execute(typed(model), timeout=20)
            except grpc.aio.AioRpcError as error:
                if error.code() is grpc.StatusCode.CANCELLED:
                    continue
                if error.code() is grpc.StatusCode.UNAVAILABLE:
                    return
                raise


async def unknown(stub: Any, model: str) -> bool:
    try:
        await stub.Execute(typed(model), timeout=20)
    except grpc.aio.AioRpcError as error:
        return error.code() is grpc.StatusCode.NOT_FOUND
    return False
