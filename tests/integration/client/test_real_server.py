"""Both Python clients against the real server, in a process of its own, and simulated providers."""

from __future__ import annotations

import asyncio
import hashlib
import json
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from fluxrpc.simulator.server import Simulator
from fluxrpc_client import (
    Client,
    RateLimited,
    StreamInterrupted,
    SyncClient,
    Unauthenticated,
    UnknownModel,
    native,
    text_of,
)
from fluxrpc_client.v1 import OUTCOME_OK

ROOT = Path(__file__).resolve().parents[3]
TOKEN = "a token for tests"
START_SECONDS = 60
KEY_FILE = "key"
ROUTES = {
    "healthy": ["sim-ok"],
    "failing-over": ["sim-404", "sim-echo"],
    "limited": ["sim-429-retry-after-30"],
    "cut": ["sim-cut-after-2"],
    "slow": ["sim-slow-tokens-50"],
}
OPENAI_BODY = {"model": "anything", "messages": [{"role": "user", "content": "Hi"}]}


def configuration(target: str, simulator_url: str) -> str:
    """As JSON, which YAML includes."""
    return json.dumps(
        {
            "server": {"listen": target, "drain_delay": "0s", "grace": "5s"},
            "callers": {"test": {"token_sha256": hashlib.sha256(TOKEN.encode()).hexdigest()}},
            "services": {"simulator": {"protocols": {"openai": simulator_url}}},
            "models": {
                name: {"routes": [route(model, priority) for priority, model in enumerate(models)]}
                for name, models in ROUTES.items()
            },
        }
    )


def route(model: str, priority: int) -> dict[str, object]:
    return {"service": "simulator", "model": model, "priority": priority, "credential": {"file": KEY_FILE}}


def free_address() -> str:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return f"127.0.0.1:{found.getsockname()[1]}"


@asynccontextmanager
async def serving(path: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "fluxrpc", "serve", "--config", str(path), cwd=ROOT
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
        await asyncio.wait_for(process.wait(), 20)


@pytest.fixture
async def simulator() -> AsyncIterator[Simulator]:
    async with Simulator() as simulator:
        yield simulator


@pytest.fixture
async def target(simulator: Simulator, tmp_path: Path) -> AsyncIterator[str]:
    target = free_address()
    path = tmp_path / "fluxrpc.yaml"
    path.write_text(configuration(target, simulator.base_url("openai")), "utf-8")
    (tmp_path / KEY_FILE).write_text("a-key-of-the-simulator", "utf-8")
    async with serving(path) as process:
        async with Client(target) as client:
            ready = asyncio.create_task(client.wait_ready(timeout_seconds=START_SECONDS))
            ended = asyncio.create_task(process.wait())
            await asyncio.wait({ready, ended}, return_when=asyncio.FIRST_COMPLETED)
            assert not ended.done(), "the server did not start: see its standard error"
            ended.cancel()
            await ready
        yield target
        process.terminate()
        assert await asyncio.wait_for(process.wait(), 20) == 0


# One test, because each start of the server costs seconds.
async def test_both_clients_meet_the_real_server(target: str, simulator: Simulator) -> None:
    async with Client(target, token=TOKEN, timeout_seconds=30) as client:
        assert [model.name for model in await client.list_models()] == sorted(ROUTES)
        await fails_over(client)
        await passes_native(client)
        await fails_as_the_provider_does(client)
        await leaves_early(client, simulator)
    async with Client(target, token="wrong") as stranger:
        with pytest.raises(Unauthenticated):
            await stranger.list_models()
    await asyncio.to_thread(ask_from_a_thread, target)


async def fails_over(client: Client) -> None:
    response = await client.execute("failing-over", "Is it you?", request_id="test-1")
    assert "Is it you?" in text_of(response)
    assert response.request_id == "test-1"
    assert response.attempts[0].http_status == 404
    assert [attempt.outcome for attempt in response.attempts[1:]] == [OUTCOME_OK]
    async with client.stream("failing-over", "Is it you?") as stream:
        assert "Is it you?" in "".join([text async for text in stream.text()])
    assert stream.completed is not None
    assert stream.completed.usage.output_tokens > 0
    assert stream.route is not None
    assert stream.route.upstream_model == "sim-echo"


async def passes_native(client: Client) -> None:
    response = await client.execute("healthy", native("openai", OPENAI_BODY))
    assert json.loads(response.native.body)["choices"]
    async with client.stream("healthy", native("openai", OPENAI_BODY)) as stream:
        frames = b"".join([message.native async for message in stream])
    assert frames.endswith(b"data: [DONE]\n\n")


async def fails_as_the_provider_does(client: Client) -> None:
    with pytest.raises(UnknownModel) as unknown:
        await client.execute("healhty", "Hi")
    assert unknown.value.nearest[0] == "healthy"
    with pytest.raises(RateLimited) as limited:
        await client.execute("limited", "Hi")
    assert limited.value.retry_after_seconds == pytest.approx(30, abs=5)
    assert len(limited.value.attempts) == 1
    async with client.stream("cut", "Hi") as stream:
        with pytest.raises(StreamInterrupted) as cut:
            [text async for text in stream.text()]
    assert cut.value.attempts
    assert stream.completed is None


async def leaves_early(client: Client, simulator: Simulator) -> None:
    async with client.stream("slow", "Hi") as stream:
        async for _ in stream.text():
            break
    (seen,) = simulator.seen("sim-slow-tokens-50")
    await simulator.wait_for(lambda: seen.socket_closed_by_peer)


def ask_from_a_thread(target: str) -> None:
    with SyncClient(target, token=TOKEN, timeout_seconds=30) as client:
        assert text_of(client.execute("healthy", "Hi"))
        with client.stream("healthy", "Hi") as stream:
            assert "".join(stream.text())
