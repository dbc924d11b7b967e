"""A provider, the real server and a caller on loopback, and what both sides saw.

    async with world(sim, route("sick"), route("well", priority=10)) as here:
        told = await here.ask(Way("openai", "stream"))
        assert told.trace == ["sick model route 500", "well ok nobody 200"]

Times are scaled down by the configuration alone (`policy`), never by patching.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc
from google.protobuf.duration_pb2 import Duration

from fluxrpc.routing.route import Route
from fluxrpc.simulator import Seen, Simulator
from fluxrpc.v1.outcome_pb2 import Attempt, Blame, ErrorDetail, Outcome, RouteInfo
from fluxrpc.v1.protocol_pb2 import Header
from fluxrpc.v1.router_pb2 import ExecuteOptions, ExecuteRequest, ExecuteStreamResponse
from fluxrpc.v1.stream_pb2 import StreamEvent
from fluxrpc.v1.usage_pb2 import Usage
from tests.fault.bodies import is_terminated, said_events, said_frames, said_message, said_whole
from tests.support.asking import PROTOCOLS, Failure, config_for, native, typed
from tests.support.serving import Serving, serving

KEY = "sk-test-one-7f3a"
OTHER_KEY = "sk-test-two-91bc"
SPENT_KEY = "spent-key"
BAD_KEY = "bad-key"
ENV = {"KEY": KEY, "OTHER": OTHER_KEY, "BAD": BAD_KEY, "SPENT": SPENT_KEY}
FIRST = 1e6
"""Weight of the route that is drawn first among equals, as good as always: the others weigh 1."""
LONG_SECONDS = 20.0
"""Deadline of calls that are not about deadlines."""

QUICK = {"backoff_base": "5ms", "backoff_max": "20ms"}


@dataclass(frozen=True, slots=True)
class Way:
    """How a caller asks: a protocol or `typed`, and `unary` or `stream`."""

    form: str
    mode: str

    @property
    def protocol(self) -> str:
        """What is spoken to the provider: typed requests go out as openai."""
        return "openai" if self.form == "typed" else self.form

    @property
    def streams(self) -> bool:
        return self.mode == "stream"

    def __str__(self) -> str:
        return f"{self.form}-{self.mode}"


FORMS = (*PROTOCOLS, "typed")
WAYS = tuple(Way(form, mode) for form in FORMS for mode in ("unary", "stream"))
UNARY = tuple(way for way in WAYS if not way.streams)
STREAMS = tuple(way for way in WAYS if way.streams)


@dataclass(slots=True, kw_only=True)
class Told:
    """All that one call told its caller."""

    way: Way
    seconds: float = 0.0
    code: grpc.StatusCode = grpc.StatusCode.OK
    message: str = ""
    reason: str = ""
    retry_seconds: float | None = None
    text: str = ""
    is_complete: bool = False
    is_terminated: bool = False
    attempts: list[Attempt] = field(default_factory=list)
    usage: Usage | None = None
    route: RouteInfo | None = None
    detail: ErrorDetail | None = None
    headers: list[Header] = field(default_factory=list)

    @property
    def trace(self) -> list[str]:
        """Route, outcome, blame and HTTP status of each attempt, in words."""
        return [_words(attempt) for attempt in self.attempts]

    @property
    def reasons(self) -> list[str]:
        return [attempt.reason for attempt in self.attempts]


def _words(attempt: Attempt) -> str:
    outcome = Outcome.Name(attempt.outcome).removeprefix("OUTCOME_").lower()
    blame = Blame.Name(attempt.blame).removeprefix("BLAME_").lower()
    return f"{attempt.route} {outcome} {blame} {attempt.http_status}"


def route(model: str, *, priority: int = 0, **settings: Any) -> dict[str, Any]:
    """A route that is named after its model."""
    return {"name": model, "model": model, "priority": priority, **settings}


@dataclass(slots=True, kw_only=True)
class World:
    """See the module."""

    sim: Simulator
    server: Serving

    async def ask(self, way: Way, *, timeout: float = LONG_SECONDS, **options: Any) -> Told:  # noqa: ASYNC109  # gRPC's word
        """Make one call and take in everything that comes back."""
        return await tell(self.server, way, request_for(way, **options), timeout)

    def route(self, name: str) -> Route:
        routes = [route for model in self.server.app.state.catalog.models.values() for route in model.routes]
        return next(route for route in routes if route.desc.name == name)

    def seen(self, model: str) -> list[Seen]:
        return self.sim.seen(model)

    async def at_rest(self) -> None:
        """Wait until no call runs and no permit is held; both end with the calls, after at most a few turns."""
        async with asyncio.timeout(2):
            while not self.server.at_rest():  # noqa: ASYNC110  # counters of the server, which has no event for them
                await asyncio.sleep(0.005)


@asynccontextmanager
async def world(
    sim: Simulator,
    *routes: dict[str, Any],
    services: Mapping[str, Any] | None = None,
    server: Mapping[str, Any] | None = None,
    **policy: Any,
) -> AsyncIterator[World]:
    """Serve model `m` with these routes. Service `sim` is the provider, `other` is the same one as another service."""
    every = {protocol: sim.base_url(protocol) for protocol in PROTOCOLS}
    config = config_for(
        sim,
        {"m": list(routes)},
        services={"other": {"protocols": every}, **(services or {})},
        policy={**QUICK, **policy},
        **({"server": dict(server)} if server else {}),
    )
    async with serving(config, ENV) as running:
        yield World(sim=sim, server=running)


def at(url: str, **settings: Any) -> dict[str, Any]:
    """A service at another address, in all protocols."""
    return {"protocols": dict.fromkeys(PROTOCOLS, url), **settings}


_BODY_OPTIONS = ("body", "model", "prompt")


def request_for(way: Way, **options: Any) -> ExecuteRequest:
    """A small request; `options` are those of ExecuteOptions, durations as seconds."""
    headers = options.pop("headers", {})
    own = {name: options.pop(name) for name in _BODY_OPTIONS if name in options}
    request = (
        typed("m", own.get("prompt", "Hi")) if way.form == "typed" else native(way.form, own.pop("model", "m"), **own)
    )
    if way.form == "anthropic":
        request.native.headers.add(name="anthropic-version", value="2023-06-01")
    for name, value in headers.items():
        request.native.headers.add(name=name, value=value)
    if options:
        request.options.CopyFrom(ExecuteOptions(**{name: _value(value) for name, value in options.items()}))
    return request


def _value(value: Any) -> Any:
    if not isinstance(value, float):
        return value
    return Duration(seconds=int(value), nanos=int(value % 1 * 1e9))


async def tell(server: Serving, way: Way, request: ExecuteRequest, seconds: float) -> Told:
    """Make a call; errors are told, not raised."""
    told = Told(way=way)
    began = time.monotonic()
    gathered = Gathered()
    try:
        if way.streams:
            async for message in server.stub.ExecuteStream(request, timeout=seconds):
                gathered.take(message)
        else:
            answer = await server.stub.Execute(request, timeout=seconds)
            told.text = (
                said_message(answer.message) if way.form == "typed" else said_whole(way.form, answer.native.body)
            )
            told.is_complete = told.is_terminated = True
            told.attempts, told.usage, told.route = list(answer.attempts), answer.usage, answer.route
            told.headers = list(answer.native.headers)
    except grpc.aio.AioRpcError as error:
        _take_failure(told, Failure(error))
    told.seconds = time.monotonic() - began
    if way.streams:
        gathered.put(told)
    return told


@dataclass(slots=True)
class Gathered:
    """The messages of one stream, held to the grammar of the contract."""

    native: bytearray = field(default_factory=bytearray)
    events: list[StreamEvent] = field(default_factory=list)
    started: Any = None
    completed: Any = None

    def take(self, message: ExecuteStreamResponse) -> None:
        kind = message.WhichOneof("message")
        assert self.completed is None, f"{kind} after completed"
        assert (kind == "started") == (self.started is None), f"{kind} out of order"
        if kind == "started":
            self.started = message.started
        elif kind == "native":
            self.native += message.native
        elif kind == "events":
            self.events += message.events.events
        else:
            assert kind == "completed", kind
            self.completed = message.completed

    def put(self, told: Told) -> None:
        is_typed = told.way.form == "typed"
        told.text = said_events(self.events) if is_typed else said_frames(told.way.form, bytes(self.native))
        if self.started is not None:
            told.route, told.headers = self.started.route, list(self.started.headers)
        if self.completed is not None:
            told.is_complete = True
            told.is_terminated = bool(self.completed.finishes) and (
                is_typed or is_terminated(told.way.form, bytes(self.native))
            )
            told.attempts, told.usage = list(self.completed.attempts), self.completed.usage


def _take_failure(told: Told, failure: Failure) -> None:
    told.code, told.reason, told.message = failure.code, failure.reason, failure.message
    told.detail = failure.detail
    if failure.retry is not None:
        told.retry_seconds = failure.retry.retry_delay.seconds + failure.retry.retry_delay.nanos / 1e9
    if failure.detail is not None:
        told.attempts = list(failure.detail.attempts)
        told.usage = failure.detail.partial_usage if failure.detail.HasField("partial_usage") else None
