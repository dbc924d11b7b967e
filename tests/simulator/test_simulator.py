"""Scripts, names, the log, TLS, ports, the command, and the guide's list of names."""

from __future__ import annotations

import asyncio
import signal
import ssl
import sys
from pathlib import Path

import pytest
import trustme

from fluxrpc.simulator import BlackholeListener, Fault, Ok, Simulator, refused_port
from fluxrpc.simulator.names import CLAUSES, act_of_name
from fluxrpc.simulator.script import Act
from tests.simulator.raw import PROTOCOLS, RawClient, ask, request_bytes

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "simulator.md"


async def test_a_script_is_met_act_by_act_and_the_last_one_repeats(sim: Simulator) -> None:
    sim.script("m", [Fault("status", status=500), Fault("overloaded"), Ok(text="fine")])
    assert [(await ask(sim, "openai", "m")).status for _ in range(5)] == [500, 503, 200, 200, 200]
    sim.script("m", Ok(text="other"))
    assert (await ask(sim, "openai", "m")).json["choices"][0]["message"]["content"] == "other"
    sim.clear_script("m")
    assert "All is well." in (await ask(sim, "openai", "m")).json["choices"][0]["message"]["content"]
    with pytest.raises(ValueError, match="at least one"):
        sim.script("m", [])


async def test_the_log_tells_what_came(sim: Simulator) -> None:
    client = await RawClient.connect(sim)
    data = request_bytes("gemini", "m", stream=True)
    await client.send(data)
    await client.send(request_bytes("openai", "other"))
    await client.close()
    await ask(sim, "openai", "other")
    seen = sim.seen("m")[0]
    assert (seen.protocol, seen.method, seen.query) == ("gemini", "POST", "alt=sse")
    assert seen.path == "/v1beta/models/m:streamGenerateContent"
    assert seen.headers["x-goog-api-key"] == "k"
    assert seen.body == data.partition(b"\r\n\r\n")[2]
    assert seen.first_byte_sent is not None
    assert seen.finished is not None
    assert seen.arrived <= seen.first_byte_sent <= seen.finished
    assert (seen.completed, seen.socket_closed_by_peer, seen.status) == (True, False, 200)
    assert [(each.connection_id, each.request_of_connection) for each in sim.log] == [(1, 1), (1, 2), (2, 1)]


async def test_requests_sent_together_are_answered_in_turn(sim: Simulator) -> None:
    client = await RawClient.connect(sim)
    client.writer.write(request_bytes("openai", "a"))
    first = await client.send(request_bytes("openai", "b"))
    second = await client.send(b"")
    assert [first.json["model"], second.json["model"]] == ["a", "b"]
    await client.close()


async def test_waiting_ends_with_the_log_in_words(sim: Simulator) -> None:
    waiting = asyncio.create_task(sim.wait_for(lambda: len(sim.seen("m")) == 2))
    for _ in range(2):
        await ask(sim, "cohere", "m")
    await waiting
    with pytest.raises(TimeoutError, match="cohere m status=200"):
        await sim.wait_for(lambda: False, timeout=0.01)


async def test_leaving_drops_what_hangs() -> None:
    async with Simulator() as sim:
        client = await RawClient.connect(sim)
        client.writer.write(request_bytes("openai", "sim-silent"))
        await sim.wait_for(lambda: sim.log)
    assert sim.open_connections == 0
    assert await client.reader.read() == b""
    await client.close()


async def test_tls() -> None:
    authority = trustme.CA()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    async with Simulator(ssl_context=context) as sim:
        assert sim.url.startswith("https://")
        for name, ended in (("echo", "complete"), ("sim-reset", "reset")):
            reader, writer = await asyncio.open_connection("127.0.0.1", sim.port, ssl=trusting)
            client = RawClient(reader, writer)
            assert (await client.send(request_bytes("openai", name))).ended == ended
            await client.close()


@pytest.mark.parametrize(
    ("name", "act"),
    [
        ("anything", Ok()),
        ("echo", Ok(echo=True)),
        ("sim-503", Fault("status", status=503)),
        ("sim-429-retry-after-2", Fault("status", status=429, retry_after_seconds=2)),
        ("sim-cut-after-3-reset", Fault("cut", after_events=3, how="reset")),
        ("sim-tool", Ok(tool_calls=1)),
        ("sim-tools-2", Ok(tool_calls=2)),
        ("sim-unheard-of", Fault("model_not_found")),
        ("sim-503-sometimes", Fault("model_not_found")),
    ],
)
def test_names(name: str, act: Act) -> None:
    assert act_of_name(name, earlier_requests=0) == act


@pytest.mark.parametrize(("ending", "faulty"), [("once", 1), ("twice", 2), ("times-4", 4)])
def test_names_with_a_count(ending: str, faulty: int) -> None:
    acts = [act_of_name(f"sim-cut-after-2-{ending}", earlier_requests=count) for count in range(6)]
    assert acts == [Fault("cut", after_events=2)] * faulty + [Ok()] * (6 - faulty)


@pytest.mark.parametrize("clause", CLAUSES)
def test_every_clause_is_reached_and_explained(clause: str) -> None:
    short = clause.partition("[")[0]
    name = "sim-" + short.replace("STATUS", "503").replace("MS", "5").replace("N", "3")
    assert act_of_name(name, earlier_requests=0) != (Fault("model_not_found") if clause != "no-model" else Ok())
    assert f"| `sim-{clause}` | {CLAUSES[clause][0]} |" in GUIDE.read_text()


async def test_refused_and_silent_ports() -> None:
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", refused_port())
    async with BlackholeListener() as hole:
        reader, writer = await asyncio.open_connection("127.0.0.1", hole.port)
        writer.write(b"hello")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(reader.read(), 0.05)
        assert hole.accepted == 1
        writer.close()
        await writer.wait_closed()


@pytest.mark.skipif(sys.platform != "linux", reason="other kernels queue differently")
async def test_a_connect_that_never_completes() -> None:
    async with BlackholeListener(full_backlog=True) as hole:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.open_connection("127.0.0.1", hole.port), 0.2)


async def test_the_command_prints_its_addresses_and_ends_on_a_signal() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "fluxrpc.simulator", "--port", "0", stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    lines = [(await process.stdout.readline()).decode().split() for _ in PROTOCOLS]
    assert {name for name, _ in lines} == set(PROTOCOLS)
    assert all(url.startswith("http://127.0.0.1:") for _, url in lines)
    process.send_signal(signal.SIGTERM)
    assert await process.wait() == 0


async def test_a_host_goes_down_and_comes_back() -> None:
    sim = Simulator()
    async with sim:
        await ask(sim, "openai", "m")
        port = sim.port
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", port)
    async with sim:
        assert sim.port == port
        assert (await ask(sim, "openai", "m")).status == 200
    assert len(sim.log) == 2
