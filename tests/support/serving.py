"""The whole server in the process of a test: real configuration, real listener, the generated client.

    async with serving(CONFIG, {"KEY": "sk-test"}) as server:
        answer = await server.stub.Execute(request)

What a test leaves out of the configuration is made quick and local: port 0 on loopback, no drain delay, grace of 1 s.
"""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc
import yaml

from fluxrpc.clock import Monotonic, monotonic
from fluxrpc.config.loader import parse
from fluxrpc.config.watcher import Reloader
from fluxrpc.server.app import App
from fluxrpc.server.lifecycle import Server
from fluxrpc.telemetry.hooks import Hooks
from fluxrpc.telemetry.logs import AccessLog, Redaction, configure_logs
from fluxrpc.v1.router_pb2_grpc import RouterServiceStub

if TYPE_CHECKING:
    from fluxrpc.v1.router_pb2_grpc import RouterServiceAsyncStub  # a name of the type stubs only

Config = str | Mapping[str, Any]
"""YAML text, or the same as a value."""

START_SECONDS = 10.0
STOP_SECONDS = 10.0
MESSAGE_BYTES = 64 * 1024 * 1024
QUICK: Mapping[str, Any] = {"listen": "127.0.0.1:0", "drain_delay": "0s", "grace": "1s"}


@dataclass(slots=True, kw_only=True)
class Serving:
    """A running server and a plain client of it."""

    server: Server
    reloader: Reloader
    channel: grpc.aio.Channel
    stub: RouterServiceAsyncStub
    log: io.StringIO
    access_log: AccessLog
    source: _Source

    @property
    def app(self) -> App:
        return self.server.app

    @property
    def target(self) -> str:
        """Where it listens, as gRPC clients take it."""
        return f"127.0.0.1:{self.server.port}"

    @property
    def log_lines(self) -> list[dict[str, Any]]:
        """Every line of the log so far."""
        self.settle()
        self.access_log.flush()
        return [json.loads(line) for line in self.log.getvalue().splitlines()]

    @property
    def access_lines(self) -> list[dict[str, Any]]:
        """The line of each ended call."""
        return [line for line in self.log_lines if line["event"] == "call"]

    def settle(self) -> None:
        """Let what waits to be counted and written be counted and written now."""
        self.server.app.later.flush()

    async def reload(self, config: Config) -> bool:
        """Replace the configuration, as SIGHUP does with a changed file."""
        self.source.config = config
        return await self.server.reload()

    def at_rest(self) -> bool:
        """Whether no call runs and no permit is held."""
        routes = [route for model in self.app.state.catalog.models.values() for route in model.routes]
        return self.app.limiter.running == 0 and all(route.health.in_flight == 0 for route in routes)


class _Source:
    """Where the reloader reads: the value that the test gave last."""

    def __init__(self, config: Config, env: Mapping[str, str], folder: Path) -> None:
        self.config = config
        self._env = env
        self._folder = folder

    def load(self) -> Any:
        value = yaml.safe_load(self.config) if isinstance(self.config, str) else dict(self.config)
        value["server"] = {**QUICK, **value.get("server", {})}
        content = json.dumps(value, indent=1).encode()  # JSON is YAML
        return parse(content, file="test.yaml", folder=self._folder, environ=self._env)


@asynccontextmanager
async def serving(
    config: Config,
    env: Mapping[str, str] | None = None,
    *,
    folder: Path = Path(),
    credentials: grpc.ChannelCredentials | None = None,
    channel_options: Sequence[tuple[str, Any]] = (),
    observers: Sequence[Hooks] = (),
    clock: Monotonic = monotonic,
) -> AsyncIterator[Serving]:
    """Start the server, give it with a channel, drain it at the end of the block.

    Args:
        config: the configuration; `server.listen` and the drain times may be left out.
        env: where its `${NAME}` are looked up.
        folder: where its relative paths start.
        credentials: for a client that speaks TLS.
        channel_options: for the client.
        observers: hooks that see what the metrics see.
        clock: monotonic seconds, of doors and deadlines.
    """
    source = _Source(config, {} if env is None else env, folder)
    reloader = await asyncio.to_thread(Reloader, source.load)  # a process loads before its loop begins
    redaction = Redaction(secret.reveal() for secret in reloader.state.settings.secrets())
    log = io.StringIO()
    access_log = configure_logs(level="debug", json=True, redaction=redaction, stream=log)
    server = Server(reloader, access_log, redaction, observers=observers, clock=clock)
    ready = asyncio.Event()
    running = asyncio.create_task(server.run(lambda _server: ready.set()))
    await _until_ready(ready, running)
    async with _channel(f"127.0.0.1:{server.port}", credentials, channel_options) as channel:
        try:
            yield Serving(
                server=server,
                reloader=reloader,
                channel=channel,
                stub=RouterServiceStub(channel),
                log=log,
                access_log=access_log,
                source=source,
            )
        finally:
            server.stop()
            async with asyncio.timeout(STOP_SECONDS):
                await running


async def _until_ready(ready: asyncio.Event, running: asyncio.Task[None]) -> None:
    waiting = asyncio.ensure_future(ready.wait())
    await asyncio.wait([waiting, running], timeout=START_SECONDS, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if running.done():
        running.result()
    assert ready.is_set(), "the server did not start in time"


def _channel(
    target: str, credentials: grpc.ChannelCredentials | None, options: Sequence[tuple[str, Any]]
) -> grpc.aio.Channel:
    every = [
        ("grpc.max_receive_message_length", MESSAGE_BYTES),
        ("grpc.max_send_message_length", MESSAGE_BYTES),
        # Connections of an earlier test to the same port are not to be used again.
        ("grpc.use_local_subchannel_pool", 1),
        *options,
    ]
    if credentials is None:
        return grpc.aio.insecure_channel(target, options=every)
    return grpc.aio.secure_channel(target, credentials, options=every)
