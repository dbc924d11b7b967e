"""From a request to a route: what is known of the route's model as a target, and whether it is up to the request. Pure.

A `Target` depends on the route and the protocol alone: it is made once for both, and kept with the route.
"""

from __future__ import annotations

from fluxrpc.clock import WallClock
from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.bridge import Bridge, CallerRequest, open_bridge
from fluxrpc.protocols.context import Target
from fluxrpc.protocols.gates import gates_of, overridden
from fluxrpc.routing.route import Route


def bridge_to(
    request: CallerRequest, route: Route, protocol: Protocol, *, wall_clock: WallClock, strict: bool = False
) -> Bridge:
    """The bridge for a request to a route that is spoken to in `protocol`.

    Raises:
        InvalidRequest: the body is not one of its protocol.
        NotExpressible: strict fidelity, and the route is known not to be up to the request.
    """
    target = route.prepared.get(protocol)
    if not isinstance(target, Target):
        target = route.prepared[protocol] = _target(route, protocol)
    now = 0 if request.protocol == protocol else int(wall_clock())
    return open_bridge(request, target, strict=strict, now=now)


def bare_target(protocol: Protocol, model: str) -> Target:
    """The target for a model of which nothing is configured."""
    return Target(protocol=protocol, model=model, gates=gates_of(protocol, model))


def _target(route: Route, protocol: Protocol) -> Target:
    desc = route.desc
    service = desc.endpoint.service
    return Target(
        protocol=protocol,
        model=desc.model,
        gates=overridden(gates_of(protocol, desc.model, service.anthropic_version), desc.gates),
        version=service.anthropic_version,
        dialect=service.dialect or "",
        service=service.name,
        force_usage=service.wire_options.force_usage,
    )
