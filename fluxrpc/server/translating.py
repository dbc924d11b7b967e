"""The dry run: what Execute would send, and what the translation would change. No provider is called."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import NamedTuple

from fluxrpc.clock import Monotonic, WallClock
from fluxrpc.errors import CircuitOpen, InvalidRequest, RouteUnfit
from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.bridge import Bridge, CallerRequest, open_bridge
from fluxrpc.routing.bridging import bare_target, bridge_to
from fluxrpc.routing.outgoing import HeaderList, crossing, open_headers
from fluxrpc.routing.route import Route
from fluxrpc.routing.table import RouteTable
from fluxrpc.server.catalog import ModelEntry
from fluxrpc.server.reading import PROTOCOLS, WIRE_PROTOCOLS
from fluxrpc.v1.outcome_pb2 import RouteInfo, TranslationNote
from fluxrpc.v1.protocol_pb2 import Header
from fluxrpc.v1.router_pb2 import TranslateRequest, TranslateResponse


class Dry(NamedTuple):
    """What is to be translated: the message with its request read, and what was left out of that."""

    message: TranslateRequest
    request: CallerRequest
    headers: HeaderList
    notes: tuple[TranslationNote, ...]
    strict: bool
    """Whether a loss is an error."""


class _Destination(NamedTuple):
    route: Route | None
    protocol: Protocol
    model: str


def translate(dry: Dry, *, entry: ModelEntry | None, monotonic: Monotonic, wall_clock: WallClock) -> TranslateResponse:
    """The answer of `Translate`.

    `entry` is the model that was asked for; None where only `target` decides, and the body's model is kept.

    Raises:
        InvalidRequest: not a body of its protocol, an unknown target, or no model to write.
        RouteUnfit: no route that can be used now can say it (strict fidelity), or hold its state.
        CircuitOpen: no route can be used now, and no target was named.
    """
    message = dry.message
    destination, bridge = _first_that_can(dry, _destinations(dry, entry, monotonic()), wall_clock)
    wire = bridge.wire(stream=message.stream)
    headers, foreign = crossing(dry.headers, dry.request.protocol, destination.protocol)
    shown = open_headers(destination.protocol, wire.headers, headers, stream=message.stream)
    requested = message.model or dry.request.model or ""
    return TranslateResponse(
        protocol=WIRE_PROTOCOLS[destination.protocol],
        body=wire.body,
        headers=[Header(name=name, value=value) for name, value in shown],
        notes=(*dry.notes, *foreign, *bridge.notes),
        route=None if destination.route is None else route_info(destination.route, requested, destination.protocol),
    )


def _first_that_can(
    dry: Dry, destinations: Iterator[_Destination], wall_clock: WallClock
) -> tuple[_Destination, Bridge]:
    """Where Execute would go: under strict fidelity it passes over what cannot say the request."""
    best: RouteUnfit | None = None
    for destination in destinations:
        try:
            bridge = _bridge(dry, destination, wall_clock)
            bridge.wire(stream=dry.message.stream)
        except RouteUnfit as why:
            best = best or why
        else:
            return destination, bridge
    if best is None:
        raise AssertionError("destinations were given, or an error raised")
    raise best


def _bridge(dry: Dry, destination: _Destination, wall_clock: WallClock) -> Bridge:
    if destination.route is not None:
        return bridge_to(dry.request, destination.route, destination.protocol, strict=dry.strict, wall_clock=wall_clock)
    target = bare_target(destination.protocol, destination.model)
    return open_bridge(dry.request, target, strict=dry.strict, now=int(wall_clock()))


def _destinations(dry: Dry, entry: ModelEntry | None, now: float) -> Iterator[_Destination]:
    """The assumed routes in the order in which they would be tried, and the protocol to write."""
    wanted = _wanted(dry.message)
    if entry is not None:
        table = entry.tables[dry.request.protocol]
        if wanted is None:
            yield from _selected(table, now)
            return
        speaking = [route for route in table if wanted in route.desc.endpoint.service.base_urls]
        if speaking:
            yield from (_Destination(route, wanted, route.desc.model) for route in speaking)
            return
    if wanted is None:
        raise InvalidRequest.at("target", "a model or a target is required")
    model = dry.request.model or dry.message.model
    if not model:
        raise InvalidRequest.at("model", "a model is required, here or in the body")
    yield _Destination(None, wanted, model)


def _wanted(message: TranslateRequest) -> Protocol | None:
    if not message.target:
        return None
    wanted = PROTOCOLS.get(message.target)
    if wanted is None:
        raise InvalidRequest.at("target", "an unknown protocol")
    return wanted


def _selected(table: RouteTable, now: float) -> Iterator[_Destination]:
    passed: set[Route] = set()
    while (selection := table.select(now, random.random, passed)) is not None:
        yield _Destination(selection.route, selection.target_protocol, selection.route.desc.model)
        passed.add(selection.route)
    if not passed:
        raise CircuitOpen("no route can be used now", retry_after_seconds=table.soonest_recovery(now))


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
