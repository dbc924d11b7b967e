"""A router that answers as the model's name says: no provider, no routing, only what a client can meet."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import grpc
from grpc_health.v1.health import aio as health
from grpc_health.v1.health_pb2 import HealthCheckResponse

from fluxrpc.errors import CircuitOpen, FluxError, InvalidRequest, RateLimited, StreamInterrupted, UnknownModel
from fluxrpc.server.status import wire_status
from fluxrpc.v1 import Attempt as ServerAttempt
from fluxrpc.v1 import Usage as ServerUsage
from fluxrpc_client.v1 import (
    Choice,
    Completed,
    Events,
    ExecuteRequest,
    ExecuteResponse,
    ExecuteStreamResponse,
    ListModelsRequest,
    ListModelsResponse,
    MessageResponse,
    Model,
    NativeResponse,
    Part,
    PartDelta,
    Restarted,
    RouteInfo,
    Started,
    StreamEvent,
    TranslateRequest,
    TranslateResponse,
    Usage,
)
from fluxrpc_client.v1.router_pb2_grpc import RouterServiceServicer

SERVICE = "fluxrpc.v1.RouterService"
MIB = 1024 * 1024

ERRORS: dict[str, FluxError] = {
    "limited": RateLimited("slow down", retry_after_seconds=1.5, attempts=[ServerAttempt(route="a", http_status=429)]),
    "recovering": CircuitOpen("all doors are shut", retry_after_seconds=0.05),
    "open": CircuitOpen("all doors are shut", retry_after_seconds=30.0),
    "invalid": InvalidRequest.at("messages[0].text", "must not be empty"),
    "unknown": UnknownModel("unknown", ["text", "native"]),
}


def text_events(*texts: str) -> ExecuteStreamResponse:
    return ExecuteStreamResponse(events=Events(events=[StreamEvent(part_delta=PartDelta(text=text)) for text in texts]))


STARTED = ExecuteStreamResponse(started=Started(request_id="r-1", route=RouteInfo(route="a")))
RESTARTED = ExecuteStreamResponse(restarted=Restarted(route=RouteInfo(route="b")))
COMPLETED = ExecuteStreamResponse(completed=Completed(usage=Usage(output_tokens=2)))

STREAMS: dict[str, list[ExecuteStreamResponse]] = {
    "text": [STARTED, text_events("Hel", "lo"), COMPLETED],
    "native": [STARTED, ExecuteStreamResponse(native=b"data: [DONE]\n\n"), COMPLETED],
    "incomplete": [STARTED, text_events("Hel")],
    "silent-end": [],
    "early-restart": [STARTED, RESTARTED, text_events("Hello"), COMPLETED],
    "restart": [STARTED, text_events("Hel"), RESTARTED, text_events("Hello"), COMPLETED],
}


class FakeRouter(RouterServiceServicer):
    """Answers as the model's name says, and remembers what it was asked."""

    def __init__(self) -> None:
        self.requests: list[ExecuteRequest] = []
        self.metadata: dict[str, str | bytes] = {}
        self.seconds_left: float | None = None
        self.calls: Counter[str] = Counter()
        self.begun = asyncio.Event()
        self.cancelled = asyncio.Event()

    async def Execute(self, request: ExecuteRequest, context: Any) -> ExecuteResponse:  # noqa: N802  # gRPC's name
        await self._meet(request, context)
        if request.WhichOneof("request") == "native":
            return ExecuteResponse(native=NativeResponse(body=request.native.body))
        text = "x" * (6 * MIB) if request.model == "large" else "Hello"
        return ExecuteResponse(
            request_id="r-1", message=MessageResponse(choices=[Choice(parts=[Part(text=text)])]), usage=Usage()
        )

    async def ExecuteStream(  # noqa: N802  # gRPC's name
        self, request: ExecuteRequest, context: Any
    ) -> AsyncIterator[ExecuteStreamResponse]:
        await self._meet(request, context)
        if request.model == "interrupted":
            yield STARTED
            yield text_events("Hel")
            await self._fail(StreamInterrupted("cut", partial_usage=ServerUsage(output_tokens=1)), context)
        if request.model == "endless":
            yield STARTED
            with self._noting_cancellation():
                while True:
                    yield text_events("x" * 100_000)
                    await self._wait(0.001)
        for message in STREAMS[request.model]:
            yield message

    async def Translate(self, request: TranslateRequest, context: Any) -> TranslateResponse:  # noqa: N802
        return TranslateResponse(protocol=request.target, body=b"{}")

    async def ListModels(self, request: ListModelsRequest, context: Any) -> ListModelsResponse:  # noqa: N802
        return ListModelsResponse(models=[Model(name="native"), Model(name="text")])

    async def _meet(self, request: ExecuteRequest, context: Any) -> None:
        self.requests.append(request)
        self.metadata = dict(context.invocation_metadata())
        self.seconds_left = context.time_remaining()
        self.calls[request.model] += 1
        if request.model in ERRORS:
            await self._fail(ERRORS[request.model], context)
        if request.model == "down" or (request.model == "down-once" and self.calls[request.model] == 1):
            await context.abort(grpc.StatusCode.UNAVAILABLE, "the server went away")
        if request.model == "hangs":
            await self._wait(60)

    async def _wait(self, seconds: float) -> None:
        self.begun.set()
        with self._noting_cancellation():
            await asyncio.sleep(seconds)

    @contextmanager
    def _noting_cancellation(self) -> Iterator[None]:
        try:
            yield
        except (asyncio.CancelledError, GeneratorExit):  # the latter where gRPC was sending
            self.cancelled.set()
            raise

    async def _fail(self, error: FluxError, context: Any) -> None:
        wire = wire_status(error, "r-1")
        await context.abort(wire.code, wire.details, wire.trailing_metadata)


class Served:
    """The router and where it listens."""

    def __init__(self, router: FakeRouter, server: grpc.aio.Server) -> None:
        self.router = router
        self.server = server
        self.health = health.HealthServicer()
        self.target = ""

    async def set_health(self, status: HealthCheckResponse.ServingStatus.ValueType) -> None:
        await self.health.set(SERVICE, status)
