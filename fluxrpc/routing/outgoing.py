"""What goes to a provider: the HTTP request of one attempt. Pure.

All that depends on the route alone (host, key, limits) is made once for each route and protocol, and kept with it.
"""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct

from fluxrpc.protocols.base import Protocol, WireRequest
from fluxrpc.routing.options import CallOptions
from fluxrpc.routing.route import Route
from fluxrpc.upstream.address import AuthStyle, auth_headers, join
from fluxrpc.upstream.exchange import OutgoingRequest, TimeLimits
from fluxrpc.upstream.headers import towards
from fluxrpc.v1.outcome_pb2 import NOTE_ACTION_DROPPED, TranslationNote

HeaderList = tuple[tuple[str, str], ...]

_joined = lru_cache(maxsize=4096)(join)  # base URLs and paths come from the configuration, so they are few


class Fixed(Struct, frozen=True, kw_only=True):
    """The part of a request that is the same for every attempt of a route in one protocol and mode."""

    base_url: str
    headers: HeaderList
    time_limits: TimeLimits


def outgoing(
    route: Route, target: Protocol, wire: WireRequest, options: CallOptions, *, stream: bool
) -> OutgoingRequest:
    """The request for `wire`. The caller's own headers win over ours, except those that the allow-list leaves out."""
    fixed = route.prepared.get((target, stream))
    if not isinstance(fixed, Fixed):
        fixed = route.prepared[target, stream] = _fixed(route, target, stream=stream)
    headers = fixed.headers
    if wire.headers or options.headers:
        headers = _merged(headers, wire.headers, options.headers)
    time_limits = fixed.time_limits
    if options.idle_seconds is not None:
        time_limits = TimeLimits(connect_seconds=time_limits.connect_seconds, idle_seconds=options.idle_seconds)
    return OutgoingRequest(
        url=_joined(fixed.base_url, wire.path), headers=headers, body=wire.body, time_limits=time_limits
    )


def crossing(
    headers: HeaderList, caller: Protocol | None, target: Protocol
) -> tuple[HeaderList, tuple[TranslationNote, ...]]:
    """What of a caller's headers goes to a route of `target`, and notes on what belongs to the caller's protocol."""
    if not headers or caller == target:
        return headers, ()
    kept, dropped = towards(headers, target)
    return kept, tuple(
        TranslationNote(
            path=f"native.headers[{name}]",
            action=NOTE_ACTION_DROPPED,
            code="HEADER_NOT_ALLOWED",
            reason=f"it means nothing in the {target} protocol",
        )
        for name in dropped
    )


def _fixed(route: Route, target: Protocol, *, stream: bool) -> Fixed:
    service, limits = route.desc.endpoint.service, route.desc.limits
    secret = route.desc.credential.reveal()
    return Fixed(
        base_url=service.base_urls[target],
        headers=_merged(
            _content_headers(stream=stream),
            auth_headers(target, secret, style=service.auth_style if secret else AuthStyle.NONE),
            _version_headers(target, service.anthropic_version),
        ),
        time_limits=TimeLimits(connect_seconds=limits.connect_seconds, idle_seconds=limits.idle_seconds),
    )


def _version_headers(target: Protocol, version: str) -> HeaderList:
    return (("anthropic-version", version),) if version and target is Protocol.ANTHROPIC else ()


def open_headers(target: Protocol, *layers: HeaderList, stream: bool) -> HeaderList:
    """The headers of a request without its credential, for showing; `layers` are merged into them in order."""
    return _merged(_content_headers(stream=stream), auth_headers(target, "", style=AuthStyle.NONE), *layers)


def _content_headers(*, stream: bool) -> HeaderList:
    return (
        ("content-type", "application/json"),
        ("accept", "text/event-stream" if stream else "application/json"),
    )


def _merged(*layers: HeaderList) -> HeaderList:
    """One list in which a later layer's header replaces an earlier one's of the same name."""
    merged: dict[str, str] = {}
    for layer in layers:
        merged.update(layer)
    return tuple(merged.items())
