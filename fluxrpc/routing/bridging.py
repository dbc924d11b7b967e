"""From a request to a route: what is known of the route's model as a target, and whether it is up to the request. Pure.

A `Target` depends on the route and the protocol alone: it is made once for both, and kept with the route.
"""

from __future__ import annotations

from fluxrpc.clock import WallClock
from fluxrpc.errors import InvalidRequest, NotExpressible, StateNotPortable
from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.bridge import Bridge, CallerRequest, open_bridge
from fluxrpc.protocols.capability import missing, requires
from fluxrpc.protocols.context import Target
from fluxrpc.protocols.dialects import dialect_of
from fluxrpc.protocols.gates import gates_of, overridden
from fluxrpc.routing.route import Route
from fluxrpc.routing.service_endpoint import Service

LONG_WORK_BYTES = 256 * 1024
"""Larger bodies are translated beside the event loop."""


def bridge_to(
    request: CallerRequest, route: Route, protocol: Protocol, *, wall_clock: WallClock, strict: bool = False
) -> Bridge:
    """The bridge for a request to a route that is spoken to in `protocol`.

    Raises:
        InvalidRequest: the body is not one of its protocol.
        NotExpressible: strict fidelity, and the route is known not to be up to the request.
        StateNotPortable: it goes on from a conversation that a provider of another protocol keeps.
    """
    target = route.prepared.get(protocol)
    if not isinstance(target, Target):
        target = route.prepared[protocol] = _target(route, protocol)
    if strict:
        _check_capabilities(request, route, protocol)
    if request.protocol == protocol:
        return open_bridge(request, target, strict=strict)
    _check_state(request, protocol)
    return open_bridge(request, target, strict=strict, now=int(wall_clock()))


def _check_capabilities(request: CallerRequest, route: Route, protocol: Protocol) -> None:
    try:
        message = request.read().message
    except InvalidRequest:
        if request.protocol == protocol:
            return  # it passes as it is, and the provider judges it
        raise
    lacking = missing(requires(message), route.capabilities)
    if lacking:
        words = ", ".join(lacking)
        raise NotExpressible(
            f"route {route.desc.name} ({route.desc.model}) cannot do what the request needs: {words}",
            detail=f"lacks {words}",
        )


def _check_state(request: CallerRequest, protocol: Protocol) -> None:
    """A conversation that a provider keeps cannot be told to another: what is left would be a request without it."""
    state = request.read().message.provider_state
    if protocol is not Protocol.RESPONSES and (state.previous_response_id or state.conversation_id):
        raise StateNotPortable(f"the request goes on from what its provider keeps, and {protocol} routes cannot")


def is_long_work(request: CallerRequest) -> bool:
    """Whether to translate it takes so long that everyone else on the event loop would notice.

    A megabyte of an image takes some 25 ms, a megabyte of short messages 500 ms. In a thread it takes as long, but only
    its single steps hold the others up.
    """
    size = len(request.body) if request.message is None else request.message.ByteSize()
    return size > LONG_WORK_BYTES


def bare_target(protocol: Protocol, model: str) -> Target:
    """The target for a model of which nothing is configured."""
    return Target(protocol=protocol, model=model, gates=gates_of(protocol, model))


def _dialect(service: Service, protocol: Protocol) -> str:
    if protocol is not Protocol.OPENAI:
        return ""
    return dialect_of(service.base_urls[protocol]) if service.dialect is None else service.dialect


def _target(route: Route, protocol: Protocol) -> Target:
    desc = route.desc
    service = desc.endpoint.service
    return Target(
        protocol=protocol,
        model=desc.model,
        gates=overridden(gates_of(protocol, desc.model, service.anthropic_version), desc.gates),
        version=service.anthropic_version,
        dialect=_dialect(service, protocol),
        service=service.name,
        force_usage=service.wire_options.force_usage,
    )
