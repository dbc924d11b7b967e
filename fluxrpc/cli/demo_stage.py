"""What the demo is played on: two simulated providers, and the server of `serve` in front of them, in this process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import grpc

from fluxrpc.config.loader import parse
from fluxrpc.config.watcher import Reloader
from fluxrpc.server.lifecycle import Server
from fluxrpc.simulator import Fault, Ok, Pace, Simulator
from fluxrpc.telemetry.logs import Redaction, configure_logs
from fluxrpc.v1.router_pb2_grpc import RouterServiceStub

if TYPE_CHECKING:
    from fluxrpc.v1.router_pb2_grpc import RouterServiceAsyncStub  # a name of the type stubs only

ANSWER = "The first provider is down, so the second one answers you."
CUT_ANSWER = "This answer breaks off in the middle of the"
PACE_SECONDS = 0.06

_CONFIGURATION = """\
server: {{listen: "127.0.0.1:0", drain_delay: 0s, grace: 1s}}
services:
  broken:  {{protocols: {{openai: "{broken}"}}}}
  healthy: {{protocols: {{openai: "{healthy}"}}}}
models:
  chat:
    routes:
      - {{service: broken,  model: large, credential: "${{KEY}}", priority: 0}}
      - {{service: healthy, model: small, credential: "${{KEY}}", priority: 10}}
  cut:
    routes:
      - {{service: healthy, model: cut, credential: "${{KEY}}"}}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Everything in place."""

    configuration: str
    target: str
    stub: RouterServiceAsyncStub
    broken: Simulator
    healthy: Simulator


@asynccontextmanager
async def set_up() -> AsyncIterator[Stage]:
    """Start the providers, the server and a channel to it; stop them at the end of the block."""
    async with Simulator() as broken, Simulator() as healthy:
        broken.script("large", Fault("overloaded", status=503))
        healthy.script("small", Ok(text=ANSWER, pace=Pace(between_events_seconds=PACE_SECONDS)))
        cut_answer = Ok(text=CUT_ANSWER + " sentence.", pace=Pace(between_events_seconds=PACE_SECONDS))
        healthy.script("cut", Fault("cut", after_events=len(CUT_ANSWER.split()), how="reset", answer=cut_answer))
        urls = {"broken": broken.base_url("openai"), "healthy": healthy.base_url("openai")}
        configuration = _CONFIGURATION.format(**urls)
        async with _serving(configuration) as server:
            target = f"127.0.0.1:{server.port}"
            async with grpc.aio.insecure_channel(target, [("grpc.enable_retries", 0)]) as channel:
                yield Stage(
                    configuration=configuration,
                    target=target,
                    stub=RouterServiceStub(channel),
                    broken=broken,
                    healthy=healthy,
                )


@asynccontextmanager
async def _serving(configuration: str) -> AsyncIterator[Server]:
    load = partial(parse, configuration.encode(), file="demo.yaml", folder=Path(), environ={"KEY": "demo-key"})
    reloader = Reloader(load)
    redaction = Redaction(secret.reveal() for secret in reloader.state.settings.secrets())
    server = Server(reloader, configure_logs(level="error", json=False, redaction=redaction), redaction)
    player = asyncio.current_task()
    ready = asyncio.Event()
    running = asyncio.create_task(server.run(lambda _server: ready.set()))
    # Without its server the play ends: it could not start, or Ctrl-C has stopped it.
    running.add_done_callback(lambda _task: player.cancel() if player and not leaving else None)
    leaving = False
    try:
        await ready.wait()
        yield server
    finally:
        leaving = True
        server.stop()
        await running
