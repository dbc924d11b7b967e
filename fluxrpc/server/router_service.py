"""`fluxrpc.v1.RouterService`, thin: reads the request, lets the router work, writes the answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial
from typing import Any

from fluxrpc.clock import wall_clock
from fluxrpc.errors import PermissionDenied
from fluxrpc.protocols.base import Batch
from fluxrpc.routing.bridging import is_long_work
from fluxrpc.routing.router import Result, Router, StreamCompleted, StreamStarted
from fluxrpc.routing.table import RouteTable
from fluxrpc.server.call import Call, current_call
from fluxrpc.server.catalog import ModelEntry
from fluxrpc.server.chunks import messages_of
from fluxrpc.server.reading import WIRE_PROTOCOLS, Asked, is_strict, model_name, read_execute, read_request
from fluxrpc.server.state import ServingState
from fluxrpc.server.translating import Dry, fill_route_info, route_info, translate
from fluxrpc.v1 import router_pb2 as wire
from fluxrpc.v1.outcome_pb2 import TranslationNote
from fluxrpc.v1.protocol_pb2 import Header
from fluxrpc.v1.router_pb2_grpc import RouterServiceServicer


class RouterService(RouterServiceServicer):
    """See the module."""

    def __init__(self, state: ServingState, router: Router) -> None:
        self._state = state
        self._router = router

    async def Execute(self, request: wire.ExecuteRequest, context: Any) -> wire.ExecuteResponse:  # noqa: ARG002, N802
        """Ask a model and return the whole answer."""
        call = current_call.get()
        asked, table = self._find(request, call)
        result = await self._router.execute(
            table, asked.request, max_attempts=asked.max_attempts, options=asked.options
        )
        call.route = result.route.desc.name
        call.attempts = result.attempts
        call.usage = result.usage
        return _response(call, asked, result)

    async def ExecuteStream(  # noqa: N802
        self,
        request: wire.ExecuteRequest,
        context: Any,  # noqa: ARG002
    ) -> AsyncGenerator[wire.ExecuteStreamResponse, None]:
        """Ask a model and stream the answer."""
        call = current_call.get()
        asked, table = self._find(request, call)
        stream = self._router.execute_stream(
            table, asked.request, max_attempts=asked.max_attempts, options=asked.options
        )
        notes = asked.notes
        del request, asked  # a stream may run for hours, and does not need its request for it
        async with aclosing(stream) as items:
            async for item in items:
                if isinstance(item, Batch):
                    for message in messages_of(item):
                        yield message
                        del message  # not kept while the next one is awaited
                elif isinstance(item, StreamStarted):
                    yield _started(call, notes, item)
                else:
                    yield _completed(call, item)
                del item

    async def Translate(self, request: wire.TranslateRequest, context: Any) -> wire.TranslateResponse:  # noqa: ARG002, N802
        """Say what Execute would send; no provider is called."""
        call = current_call.get()
        caller_request, headers, notes = read_request(request, call)
        entry = None
        if request.model or not request.target:
            call.model = model_name(request.model, caller_request)
            entry = self._entry(call)
        strict = is_strict(request.fidelity, self._state.settings.policy)
        dry = Dry(request, caller_request, headers, notes, strict)
        work = partial(translate, dry, entry=entry, monotonic=self._state.clock, wall_clock=wall_clock)
        return await asyncio.to_thread(work) if is_long_work(caller_request) else work()

    async def ListModels(self, request: wire.ListModelsRequest, context: Any) -> wire.ListModelsResponse:  # noqa: ARG002, N802
        """The models that this caller may ask for."""
        allowed = self._state.allowed_models(current_call.get().caller)
        now = self._state.clock()
        return wire.ListModelsResponse(
            models=[
                _listed(entry, now)
                for name, entry in sorted(self._state.catalog.models.items())
                if allowed is None or name in allowed
            ]
        )

    def _find(self, request: wire.ExecuteRequest, call: Call) -> tuple[Asked, RouteTable]:
        call.asks_model = True
        asked = read_execute(request, call, self._state.settings.policy)
        call.model = asked.model
        return asked, self._entry(call).tables[asked.request.protocol]

    def _entry(self, call: Call) -> ModelEntry:
        """The model asked for.

        Raises:
            UnknownModel: nobody has it.
            PermissionDenied: it is there, and not for this caller.
        """
        allowed = self._state.allowed_models(call.caller)
        if allowed is not None and call.model in self._state.catalog.models and call.model not in allowed:
            raise PermissionDenied(f"{call.caller} may not use {call.model}")
        return self._state.catalog.find(call.model, allowed)


def _headers(headers: tuple[tuple[str, str], ...]) -> list[Header]:
    return [Header(name=name, value=value) for name, value in headers]


def _response(call: Call, asked: Asked, result: Result) -> wire.ExecuteResponse:
    answer = result.response
    response = wire.ExecuteResponse(request_id=call.request_id, usage=result.usage, attempts=result.attempts)
    # Set in place: fewer messages to build and to copy.
    fill_route_info(response.route, result.route, call.model, result.target_protocol, answer.served_model)
    if asked.notes or result.notes:
        response.notes.extend((*asked.notes, *result.notes))
    if answer.message is not None:
        response.message.CopyFrom(answer.message)
    else:
        native = response.native
        native.protocol = WIRE_PROTOCOLS[asked.request.protocol or result.target_protocol]
        native.body = answer.body
        for name, value in result.headers:
            native.headers.add(name=name, value=value)
    return response


def _started(call: Call, notes: tuple[TranslationNote, ...], item: StreamStarted) -> wire.ExecuteStreamResponse:
    call.route = item.route.desc.name
    return wire.ExecuteStreamResponse(
        started=wire.Started(
            request_id=call.request_id,
            route=route_info(item.route, call.model, item.target_protocol, item.served_model),
            headers=_headers(item.headers),
            notes=(*notes, *item.notes),
        )
    )


def _completed(call: Call, item: StreamCompleted) -> wire.ExecuteStreamResponse:
    call.attempts = item.attempts
    call.usage = item.usage
    return wire.ExecuteStreamResponse(
        completed=wire.Completed(usage=item.usage, finishes=item.finishes, attempts=item.attempts, notes=item.notes)
    )


def _listed(entry: ModelEntry, now: float) -> wire.Model:
    return wire.Model(
        name=entry.name,
        protocols=[WIRE_PROTOCOLS[protocol] for protocol in entry.protocols],
        route_count=len(entry.routes),
        available_route_count=sum(route.is_available(now) for route in entry.routes),
    )
