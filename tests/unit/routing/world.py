"""What routing tests stand on: a clock that only they move, a seeded chance, and routes in a line."""

from __future__ import annotations

from random import Random

from fluxrpc.errors import Outcome
from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.gates import ModelCapabilities
from fluxrpc.routing.repository import RouteRepository
from fluxrpc.routing.route import Route, RouteDesc, RoutePermit
from fluxrpc.routing.service_endpoint import Credential, Service, ServiceEndpoint


class World:
    def __init__(self) -> None:
        self.now = 1000.0
        self.random = Random(7).random
        self.repository = RouteRepository(self.clock)
        self.endpoints: dict[str, ServiceEndpoint] = {}
        self.credentials: dict[str, Credential] = {}

    def clock(self) -> float:
        return self.now

    def endpoint(self, name: str = "svc", *protocols: Protocol) -> ServiceEndpoint:
        if name not in self.endpoints:
            urls = dict.fromkeys(protocols or (Protocol.OPENAI,), f"http://{name}.test")
            self.endpoints[name] = ServiceEndpoint(Service(name=name, base_urls=urls), self.clock)
        return self.endpoints[name]

    def desc(
        self,
        name: str,
        *,
        service: str = "svc",
        key: str = "k",
        priority: int = 0,
        weight: float = 1.0,
        context_tokens: int | None = None,
    ) -> RouteDesc:
        """A description whose model is called like the route."""
        return RouteDesc(
            name=name,
            endpoint=self.endpoint(service),
            model=name,
            credential=self.credentials.setdefault(key, Credential(key)),
            priority=priority,
            weight=weight,
            capabilities=ModelCapabilities(context_tokens=context_tokens),
        )

    def route(
        self,
        name: str,
        *,
        service: str = "svc",
        key: str = "k",
        priority: int = 0,
        weight: float = 1.0,
        context_tokens: int | None = None,
    ) -> Route:
        desc = self.desc(
            name,
            service=service,
            key=key,
            priority=priority,
            weight=weight,
            context_tokens=context_tokens,
        )
        return self.repository.find_or_create(desc)


def permit_of(route: Route, *, early_probe: bool = False) -> RoutePermit:
    permit = route.acquire(early_probe=early_probe)
    assert permit is not None
    return permit


def meet(route: Route, *outcomes: Outcome, retry_after_seconds: float | None = None) -> None:
    """Attempts of a route, one after the other."""
    for outcome in outcomes:
        with permit_of(route) as permit:
            permit.settle(outcome, retry_after_seconds=retry_after_seconds)
