"""The models that callers may ask for, as route tables: settings turned into living routes.

A `Catalog` is one immutable snapshot; a request uses the one that it started with. `CatalogBuilder` makes the next one
at a reload on the endpoints, credentials and route health of the last, so that what was learned of them survives.
"""

from __future__ import annotations

import difflib
import ssl
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path

from fluxrpc.clock import Monotonic
from fluxrpc.config.schema import AuthStyle as ConfiguredAuth
from fluxrpc.config.schema import (
    ReadTimeoutBlames,
    RouteSettings,
    ServiceSettings,
    Settings,
    StreamUse,
)
from fluxrpc.errors import ConfigError, ConfigFault, UnknownModel
from fluxrpc.protocols.base import Protocol, WireOptions
from fluxrpc.protocols.gates import ModelCapabilities
from fluxrpc.resilience.breaker import BreakerState
from fluxrpc.routing.repository import RouteRepository
from fluxrpc.routing.route import Route, RouteDesc, RouteLimits
from fluxrpc.routing.service_endpoint import Credential, Service, ServiceEndpoint
from fluxrpc.routing.table import RouteTable
from fluxrpc.telemetry.hooks import Hooks
from fluxrpc.upstream.address import AuthStyle
from fluxrpc.upstream.exchange import HeadLimits, TransportSettings

_NEAREST = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEntry:
    """One model: its routes, and a table for each way of asking."""

    name: str
    routes: tuple[Route, ...]
    tables: Mapping[Protocol | None, RouteTable]
    """By caller protocol; None for typed callers."""

    @property
    def protocols(self) -> tuple[Protocol, ...]:
        """What at least one route speaks, by preference."""
        spoken = {protocol for route in self.routes for protocol in route.desc.endpoint.service.base_urls}
        return tuple(protocol for protocol in Protocol if protocol in spoken)


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """All models of one configuration."""

    models: Mapping[str, ModelEntry]

    @property
    def routes(self) -> Iterator[Route]:
        """The routes of all models."""
        return (route for entry in self.models.values() for route in entry.routes)

    def find(self, name: str, allowed: Collection[str] | None = None) -> ModelEntry:
        """The model of that name. `allowed` are the names that the caller may know of; None: all.

        Raises:
            UnknownModel: there is none, or not for this caller; with the nearest names that there are for it.
        """
        entry = self.models.get(name)
        if entry is None or (allowed is not None and name not in allowed):
            known = self.models if allowed is None else [model for model in self.models if model in allowed]
            raise UnknownModel(name, difflib.get_close_matches(name[:200], known, n=_NEAREST))
        return entry


class CatalogBuilder:
    """Makes catalogs, and keeps between them what a reload must not forget."""

    def __init__(self, *, clock: Monotonic, hooks: Hooks) -> None:
        self._clock = clock
        self._hooks = hooks
        self._repository = RouteRepository(clock, on_change=self._route_changed)
        self._endpoints: dict[str, ServiceEndpoint] = {}
        self._credentials: dict[tuple[str, bytes], Credential] = {}
        self._names: dict[str, list[str]] = {}

    def build(self, settings: Settings, services: Mapping[str, Service]) -> Catalog:
        """The catalog of a sound configuration and its services (`services_of`)."""
        self._endpoints = {name: self._endpoint(service) for name, service in services.items()}
        self._names.clear()
        kept: dict[tuple[str, bytes], Credential] = {}
        models = {}
        for name, model in settings.models.items():
            routes = tuple(self._repository.find_or_create(self._desc(route, settings, kept)) for route in model.routes)
            for route in routes:
                self._names.setdefault(route.desc.identity_key, []).append(route.desc.name)
            probe_seconds = settings.policy.endpoint_probe_seconds
            tables = {
                protocol: RouteTable(routes, protocol, endpoint_probe_seconds=probe_seconds)
                for protocol in (None, *Protocol)
            }
            models[name] = ModelEntry(name=name, routes=routes, tables=tables)
        self._credentials = kept
        return Catalog(models=models)

    def _endpoint(self, service: Service) -> ServiceEndpoint:
        known = self._endpoints.get(service.name)
        if known is not None:
            return known.update(service)
        return ServiceEndpoint(service, self._clock, on_change=self._endpoint_changed)

    def _endpoint_changed(self, service: str, old: BreakerState, new: BreakerState) -> None:
        self._hooks.breaker_changed("endpoint", service, old.value, new.value)

    def _route_changed(self, identity_key: str, old: BreakerState, new: BreakerState) -> None:
        # Routes of one identity, under several models, share their health: what happens to it happens to each.
        for name in self._names.get(identity_key, ()):
            self._hooks.breaker_changed("route", name, old.value, new.value)

    def _desc(self, route: RouteSettings, settings: Settings, kept: dict[tuple[str, bytes], Credential]) -> RouteDesc:
        policy = route.policy
        return RouteDesc(
            name=route.name,
            endpoint=self._endpoints[route.service],
            model=route.model,
            credential=self._credential(route, settings.services[route.service], kept),
            priority=route.priority,
            weight=route.weight,
            capabilities=ModelCapabilities(**asdict(route.capabilities)),
            gates=route.gates,
            streams_only=route.stream is StreamUse.ONLY,
            limits=RouteLimits(
                connect_seconds=policy.connect_seconds,
                first_token_seconds=policy.first_token_seconds,
                idle_seconds=policy.idle_seconds,
                attempt_seconds=policy.attempt_timeout_seconds,
                stream_end_seconds=policy.stream_end_seconds,
                max_answer_bytes=policy.limits.max_answer_bytes,
                max_event_bytes=policy.limits.max_event_bytes,
            ),
            breaker=policy.route_breaker,
            retries_per_route=policy.retries_per_route,
            patience_seconds=policy.patience_seconds,
        )

    def _credential(
        self, route: RouteSettings, service: ServiceSettings, kept: dict[tuple[str, bytes], Credential]
    ) -> Credential:
        """One object for each key of a service: its door outlives a reload, unless the key changed."""
        secret = "" if route.credential is None else route.credential.reveal()
        fresh = Credential(secret, shut_seconds=service.policy.credential_shut_seconds)
        key = (service.name, fresh.digest)
        credential = kept.get(key) or self._credentials.get(key) or fresh
        credential.door.shut_seconds = service.policy.credential_shut_seconds
        kept[key] = credential
        return credential


def services_of(settings: Settings) -> dict[str, Service]:
    """The services by name. It reads certificate files, so it has no place on an event loop.

    Raises:
        ConfigError: a file is not what it should be.
    """
    return {name: _service_of(service) for name, service in settings.services.items()}


def _service_of(settings: ServiceSettings) -> Service:
    policy = settings.policy
    return Service(
        name=settings.name,
        base_urls=dict(settings.protocols),
        breaker=policy.endpoint_breaker,
        read_timeout_blames_endpoint=policy.read_timeout_blames is ReadTimeoutBlames.ENDPOINT,
        dialect=settings.dialect,
        anthropic_version=settings.anthropic_version or "",
        wire_options=WireOptions(force_usage=settings.include_usage),
        auth_style=None if settings.auth is ConfiguredAuth.PROTOCOL else AuthStyle(settings.auth.value),
        transport=_transport_of(settings),
    )


def _transport_of(service: ServiceSettings) -> TransportSettings:
    http = service.http
    return TransportSettings(
        max_connections=http.max_connections,
        keepalive_seconds=http.keep_alive_seconds,
        proxy_url=None if http.proxy is None else http.proxy.reveal(),
        trust_env=http.trust_env,
        ssl_context=None if http.ca is None else _trusting_file(http.ca, f"services.{service.name}.http.ca"),
        head_limits=HeadLimits(line_bytes=http.max_header_bytes),
    )


def _trusting_file(file: str, setting: str) -> ssl.SSLContext:
    unfit = "expected certificates in PEM"
    try:
        authorities = Path(file).read_bytes()
        if authorities:  # none at all would mean the system's, which were to be replaced
            return _trusting(authorities)
    except (ssl.SSLError, UnicodeDecodeError):
        pass
    except OSError:
        unfit = "cannot be read"
    raise ConfigError([ConfigFault(file=file, line=1, path=setting, message=unfit)])


@lru_cache(maxsize=64)
def _trusting(authorities: bytes) -> ssl.SSLContext:
    """A TLS context for a PEM bundle. The same for the same bundle, so that a reload keeps its connections."""
    return ssl.create_default_context(cadata=authorities.decode("ascii"))
