"""The dry run: what Execute would send, and what the translation would change. No provider is called."""

from __future__ import annotations

import random

from fluxrpc.errors import CircuitOpen, InvalidRequest
from fluxrpc.protocols.base import Protocol, WireOptions
from fluxrpc.protocols.bridge import CallerRequest, open_bridge
from fluxrpc.routing.outgoing import open_headers
from fluxrpc.routing.route import Route
from fluxrpc.server.catalog import ModelEntry
from fluxrpc.server.reading import PROTOCOLS, WIRE_PROTOCOLS
from fluxrpc.v1.outcome_pb2 import RouteInfo, TranslationNote
from fluxrpc.v1.protocol_pb2 import Header
from fluxrpc.v1.router_pb2 import TranslateRequest, TranslateResponse


def translate(
    message: TranslateRequest,
    request: CallerRequest,
    headers: tuple[tuple[str, str], ...],
    notes: tuple[TranslationNote, ...],
    *,
    entry: ModelEntry | None,
    now: float,
) -> TranslateResponse:
    """The answer of `Translate`.

    `entry` is the model that was asked for; None where only `target` decides, and the body's model is kept.

    Raises:
        InvalidRequest: an unknown target, or no model to write.
        TranslationMissing: no translator between the two protocols.
        CircuitOpen: no route can be used now, and no target was named.
    """
    route, target = _destination(message, request, entry, now)
    model = route.desc.model if route is not None else (request.model or message.model)
    if not model:
        raise InvalidRequest.at("model", "a model is required, here or in the body")
    options = WireOptions() if route is None else route.desc.endpoint.service.wire_options
    bridge = open_bridge(request, target)
    wire = bridge.wire(model=model, stream=message.stream, options=options)
    return TranslateResponse(
        protocol=WIRE_PROTOCOLS[target],
        body=wire.body,
        headers=[
            Header(name=name, value=value)
            for name, value in open_headers(target, wire.headers, headers, stream=message.stream)
        ],
        notes=(*notes, *bridge.notes),
        route=None if route is None else route_info(route, message.model or request.model or "", target),
    )


def _destination(
    message: TranslateRequest, request: CallerRequest, entry: ModelEntry | None, now: float
) -> tuple[Route | None, Protocol]:
    """The assumed route, and the protocol to write."""
    wanted = None
    if message.target:
        wanted = PROTOCOLS.get(message.target)
        if wanted is None:
            raise InvalidRequest.at("target", "an unknown protocol")
    if entry is None:
        if wanted is None:
            raise InvalidRequest.at("target", "a model or a target is required")
        return None, wanted
    table = entry.tables[request.protocol]
    if wanted is not None:
        speaking = [route for route in table if wanted in route.desc.endpoint.service.base_urls]
        return (speaking[0] if speaking else None), wanted
    selection = table.select(now, random.random)
    if selection is None:
        raise CircuitOpen("no route can be used now", retry_after_seconds=table.soonest_recovery(now))
    return selection.route, selection.target_protocol


def route_info(route: Route, requested: str, protocol: Protocol, served: str = "") -> RouteInfo:
    """The public face of a route. It holds no secret."""
    info = RouteInfo()
    fill_route_info(info, route, requested, protocol, served)
    return info


def fill_route_info(info: RouteInfo, route: Route, requested: str, protocol: Protocol, served: str) -> None:
    """The same, written into a message that is there already."""
    desc = route.desc
    info.route = desc.name
    info.requested_model = requested
    info.service = desc.endpoint.service.name
    info.protocol = WIRE_PROTOCOLS[protocol]
    info.upstream_model = desc.model
    info.served_model = served
