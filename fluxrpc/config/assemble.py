"""From the node tree of a file to `Settings`: which sections there are, how policies merge, what must agree.

Pure: secrets and files come through the `Reading`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Any, TypeVar

from fluxrpc.config.gates import read_gates
from fluxrpc.config.nodes import MappingNode, Node, ScalarNode, SequenceNode, describe, join
from fluxrpc.config.schema import (
    CallerSettings,
    Level,
    LogSettings,
    MediaSettings,
    MetricsSettings,
    ModelSettings,
    PolicySettings,
    RouteSettings,
    ServerSettings,
    ServiceSettings,
    Settings,
)
from fluxrpc.config.sections import ABSENT, Reading, nearest
from fluxrpc.config.values import Unfit, read_digest, read_name, read_url
from fluxrpc.errors import ConfigError
from fluxrpc.protocols.base import Protocol

__all__ = ["read_settings"]

T = TypeVar("T")
_SECTIONS = ("server", "metrics", "log", "media", "policy", "callers", "services", "models")


def read_settings(root: Node, reading: Reading) -> Settings:
    """The settings that a file describes.

    Raises:
        ConfigError: with every fault, in the order of the file; those noted in `reading` before count too.
    """
    settings = None
    mapping = reading.mapping(root, "")
    if mapping is not None:
        reading.keys(mapping, "", allowed=_SECTIONS, required=["services", "models"])
        settings = _read_root(mapping, reading)
    if reading.faults or settings is None:
        raise ConfigError(sorted(reading.faults, key=lambda fault: fault.line))
    return settings


def _read_root(root: MappingNode, reading: Reading) -> Settings:
    def section(key: str, kind: type[T], default: T) -> T:
        node = root.entries.get(key)
        found = default if node is None else reading.section(node, kind, key, base=default)
        return default if found is None else found

    server = section("server", ServerSettings, ServerSettings())
    policy = section("policy", PolicySettings, PolicySettings())
    services = _read_services(root, reading, policy)
    models = _read_models(root, reading, services, policy)
    callers = _read_callers(root, reading, models)
    metrics = section("metrics", MetricsSettings, MetricsSettings())
    _check_server(root, reading, server)
    _check_addresses(root, reading, server, metrics)
    return Settings(
        server=server,
        metrics=metrics,
        log=section("log", LogSettings, LogSettings()),
        media=section("media", MediaSettings, MediaSettings()),
        policy=policy,
        callers=MappingProxyType(callers),
        services=MappingProxyType({name: service for name, service in services.items() if service is not None}),
        models=MappingProxyType(models),
    )


def _named(root: MappingNode, key: str, reading: Reading) -> Iterator[tuple[str, Node, str]]:
    """The entries of a mapping of names: name, node, path."""
    node = root.entries.get(key)
    mapping = None if node is None else reading.mapping(node, key)
    if mapping is None:
        return
    if not mapping.entries:
        reading.fault(mapping.line, key, "expected at least one")
    for name, entry in mapping.entries.items():
        path, line = join(key, name), mapping.key_lines[name]
        if _is_name(name, line, path, reading):
            yield name, entry, path


def _is_name(name: str, line: int, path: str, reading: Reading) -> bool:
    return reading.scalar(ScalarNode.of_text(line, name), read_name, path) is not ABSENT


# ---------------------------------------------------------------------------------------------------- services


def _read_services(root: MappingNode, reading: Reading, policy: PolicySettings) -> dict[str, ServiceSettings | None]:
    """By name; None for those at fault, so that the routes through them are not at fault too."""
    services: dict[str, ServiceSettings | None] = {}
    for name, node, path in _named(root, "services", reading):
        services[name] = None
        if not isinstance(node, MappingNode):
            reading.mapping(node, path)
            continue
        given = {
            "name": name,
            "protocols": _read_protocols(node, reading, path),
            "policy": _read_policy(node, reading, path, base=policy, level=Level.SERVICE),
        }
        services[name] = reading.section(node, ServiceSettings, path, given=given)
    return services


def _read_protocols(service: MappingNode, reading: Reading, path: str) -> Mapping[Protocol, str]:
    place = join(path, "protocols")
    node = service.entries.get("protocols")
    if node is None:
        reading.fault(service.line, path, "protocols is missing")
        return {}
    mapping = reading.mapping(node, place)
    if mapping is None:
        return {}
    if not mapping.entries:
        reading.fault(mapping.line, place, f"expected at least one of {', '.join(Protocol)}")
    reading.keys(mapping, place, allowed=list(Protocol))
    urls = {p: reading.scalar(mapping.entries[p], read_url, join(place, p)) for p in Protocol if p in mapping.entries}
    return MappingProxyType({protocol: url for protocol, url in urls.items() if url is not ABSENT})


def _read_policy(
    owner: MappingNode, reading: Reading, path: str, *, base: PolicySettings, level: Level
) -> PolicySettings:
    node = owner.entries.get("policy")
    if node is None:
        return base
    return reading.section(node, PolicySettings, join(path, "policy"), base=base, level=level) or base


# ---------------------------------------------------------------------------------------------------- models


@dataclass(frozen=True, slots=True, kw_only=True)
class _Placed:
    """A route and where it stands."""

    route: RouteSettings
    line: int
    path: str


def _read_models(
    root: MappingNode, reading: Reading, services: Mapping[str, ServiceSettings | None], policy: PolicySettings
) -> dict[str, ModelSettings]:
    routes: dict[str, list[_Placed]] = {}
    for name, node, path in _named(root, "models", reading):
        routes[name] = list(_read_routes(node, reading, path, services=services, policy=policy))
        _check_duplicates(routes[name], reading)
    taken: dict[str, str] = {}
    for placed in (placed for of_model in routes.values() for placed in of_model if placed.route.name):
        if placed.route.name in taken:
            reading.fault(placed.line, join(placed.path, "name"), f"{taken[placed.route.name]} has this name already")
        taken.setdefault(placed.route.name, placed.path)
    return {
        model: ModelSettings(name=model, routes=tuple(_with_name(model, p.route, taken) for p in of_model))
        for model, of_model in routes.items()
    }


def _read_routes(
    model: Node,
    reading: Reading,
    path: str,
    *,
    services: Mapping[str, ServiceSettings | None],
    policy: PolicySettings,
) -> Iterator[_Placed]:
    mapping = reading.mapping(model, path)
    if mapping is None:
        return
    reading.keys(mapping, path, allowed=["routes"], required=["routes"])
    node = mapping.entries.get("routes")
    if node is None:
        return
    place = join(path, "routes")
    if not isinstance(node, SequenceNode) or not node.items:
        what = describe(node) if not isinstance(node, SequenceNode) else "an empty one"
        reading.fault(node.line, place, f"expected a list with at least one route, not {what}")
        return
    for index, item in enumerate(node.items):
        route = _read_route(item, reading, join(place, index), services=services, policy=policy)
        if route is not None:
            yield _Placed(route=route, line=item.line, path=join(place, index))


def _read_route(
    node: Node,
    reading: Reading,
    path: str,
    *,
    services: Mapping[str, ServiceSettings | None],
    policy: PolicySettings,
) -> RouteSettings | None:
    if not isinstance(node, MappingNode):
        reading.mapping(node, path)
        return None
    named = node.entries.get("service")
    name = named.value if isinstance(named, ScalarNode) and isinstance(named.value, str) else None
    service = services.get(name) if name is not None else None
    base = policy if service is None else service.policy
    merged = _read_policy(node, reading, path, base=base, level=Level.ROUTE)
    if name is not None and name not in services:
        place = join(path, "service")
        reading.fault(node.entries["service"].line, place, f"no service {name!r}{nearest(name, services)}")
    return reading.section(
        node, RouteSettings, path, given={"policy": merged, "gates": read_gates(node, reading, path)}
    )


def _check_duplicates(routes: list[_Placed], reading: Reading) -> None:
    """Two routes of one identity would be one health counted twice."""
    first: dict[Any, str] = {}
    for placed in routes:
        key = (placed.route.service, placed.route.model, placed.route.credential)
        if key in first:
            reading.fault(placed.line, placed.path, f"the same service, model and credential as {first[key]}")
        first.setdefault(key, placed.path)


def _with_name(model: str, route: RouteSettings, taken: dict[str, str]) -> RouteSettings:
    """The route with a unique name: its own, or one that stays the same while its neighbours' order does."""
    if route.name:
        return route
    stem = f"{model}/{route.service}/{route.model}"
    name, number = stem, 2
    while name in taken:
        name, number = f"{stem}#{number}", number + 1
    taken[name] = name
    return replace(route, name=name)


# ---------------------------------------------------------------------------------------------------- callers


def _read_callers(
    root: MappingNode, reading: Reading, models: Mapping[str, ModelSettings]
) -> dict[str, CallerSettings]:
    callers: dict[str, CallerSettings] = {}
    owner: dict[bytes, str] = {}
    for name, node, path in _named(root, "callers", reading):
        mapping = reading.mapping(node, path)
        if mapping is None:
            continue
        reading.keys(mapping, path, allowed=["token_sha256", "token", "models"])
        digests = _read_digests(mapping, reading, path)
        for digest in digests:
            if owner.setdefault(digest, path) != path:
                reading.fault(mapping.line, path, f"the same token as {owner[digest]}")
        allowed = _read_allowed(mapping, reading, path, models)
        callers[name] = CallerSettings(name=name, token_digests=digests, models=allowed)
    return callers


def _read_digests(caller: MappingNode, reading: Reading, path: str) -> tuple[bytes, ...]:
    if not {"token_sha256", "token"} & caller.entries.keys():
        reading.fault(caller.line, path, "token_sha256 (or token, by reference) is missing")
        return ()
    digests: tuple[bytes, ...] = ()
    if (node := caller.entries.get("token_sha256")) is not None:
        digests = reading.several(node, read_digest, join(path, "token_sha256"))
    if (node := caller.entries.get("token")) is not None:
        secret = reading.secret(node, join(path, "token"))
        if secret is not ABSENT:
            digests += (hashlib.sha256(secret.reveal().encode()).digest(),)
    return tuple(dict.fromkeys(digests))


def _read_allowed(
    caller: MappingNode, reading: Reading, path: str, models: Mapping[str, ModelSettings]
) -> frozenset[str] | None:
    """The models that its patterns match now; a pattern that matches none is a misspelling."""
    node = caller.entries.get("models")
    if node is None:
        return None

    def matches(scalar: ScalarNode) -> list[str]:
        pattern = read_name(scalar)
        found = [model for model in models if fnmatchcase(model, pattern)]
        if not found:
            raise Unfit(f"no model matches {pattern!r}{nearest(pattern, models)}")
        return found

    return frozenset(model for found in reading.several(node, matches, join(path, "models")) for model in found)


# ---------------------------------------------------------------------------------------------------- server


def _check_addresses(root: MappingNode, reading: Reading, server: ServerSettings, metrics: MetricsSettings) -> None:
    if metrics.listen == server.listen and server.listen.port != 0:
        reading.fault(root.key_lines["metrics"], "metrics.listen", "expected another address than server.listen")


def _check_server(root: MappingNode, reading: Reading, server: ServerSettings) -> None:
    node = root.entries.get("server")
    if not isinstance(node, MappingNode):
        return  # the defaults are sound
    if server.default_deadline_seconds > server.max_deadline_seconds:
        reading.fault(node.line, "server.default_deadline", "expected at most max_deadline")
    # What is at fault has its default here: no second complaint that follows from the first.
    decisive = ("server.listen", "server.tls", "server.allow_")
    if server.listen.is_loopback or any(fault.path.startswith(decisive) for fault in reading.faults):
        return
    line = node.key_lines["listen"]
    if server.tls is None and not server.allow_plaintext:
        message = f"{server.listen} can be reached from elsewhere: set tls, or allow_plaintext: true"
        reading.fault(line, "server.listen", message)
    known_by_certificate = server.tls is not None and server.tls.client_ca is not None
    if not (known_by_certificate or "callers" in root.entries or server.allow_anonymous):
        message = f"{server.listen} can be reached from elsewhere: list callers, or allow_anonymous: true"
        reading.fault(line, "server.listen", message)
