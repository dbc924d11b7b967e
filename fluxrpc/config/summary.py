"""What a configuration comes to, for people: one row for each route, nothing secret."""

from __future__ import annotations

from dataclasses import dataclass

from fluxrpc.config.schema import RouteSettings, ServiceSettings, Settings
from fluxrpc.protocols.gates import gate_rows

__all__ = ["RouteRow", "Summary", "summarise"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteRow:
    """One route as a table shows it."""

    model: str
    route: str
    service: str
    upstream_model: str
    protocols: tuple[str, ...]
    priority: int
    weight: float
    credential: str
    """Where the key comes from (`${NAME}`, `file …`), or `none`."""
    gates: tuple[str, ...] = ()
    """What its model is known to refuse or demand: rows of the built-in data, and what the file sets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A whole configuration as `fluxrpc check` shows it."""

    listen: str
    tls: bool
    callers: tuple[str, ...]
    metrics: str
    """Address of the metrics listener, or `off`."""
    services: int
    routes: tuple[RouteRow, ...]
    """By model, then in the order of preference."""


def _gates(route: RouteSettings, service: ServiceSettings) -> tuple[str, ...]:
    """By the protocols that the route may be spoken to in; a row that holds for several is named once."""
    version = service.anthropic_version or ""
    rows = {
        row.name: None
        for protocol in service.protocols
        for row in gate_rows(protocol, route.model, version)
        if row.gates  # others say only what the model can do
    }
    own = [f"set here: {', '.join(route.gates)}"] if route.gates else []
    return (*rows, *own)


def summarise(settings: Settings) -> Summary:
    """The summary of sound settings."""
    rows = [
        RouteRow(
            model=model.name,
            route=route.name,
            service=route.service,
            upstream_model=route.model,
            protocols=tuple(settings.services[route.service].protocols),
            priority=route.priority,
            weight=route.weight,
            credential="none" if route.credential is None else route.credential.source,
            gates=_gates(route, settings.services[route.service]),
        )
        for model in settings.models.values()
        for route in sorted(model.routes, key=lambda route: route.priority)
    ]
    return Summary(
        listen=str(settings.server.listen),
        tls=settings.server.tls is not None,
        callers=tuple(settings.callers),
        metrics="off" if settings.metrics.listen is None else str(settings.metrics.listen),
        services=len(settings.services),
        routes=tuple(rows),
    )
