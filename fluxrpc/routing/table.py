"""The routes of one model for one caller protocol: an immutable snapshot, and the choice among them.

Not a plan: it chooses the best route that can be had now and knows nothing of attempts. It takes no permit and
changes no door.

Invariants: routes stand in the order of priority; the target protocol of each is fixed when the table is made.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from math import inf
from types import MappingProxyType
from typing import NamedTuple

from fluxrpc.protocols.base import Protocol
from fluxrpc.resilience.breaker import BreakerState
from fluxrpc.resilience.retry import Random
from fluxrpc.routing.route import Door, Route
from fluxrpc.routing.service_endpoint import Account

ENDPOINT_PROBE_SECONDS = 5.0
# What a caller is told to wait where all that is known is that a probe is out: it will be back within moments.
_PROBE_OUT_SECONDS = 1.0
# Draws before the whole group is looked through. With most routes healthy the first one hits.
_DRAWS = 2


class Selection(NamedTuple):
    """A chosen route, the protocol to speak to it, and whether it is the early probe of a shut endpoint."""

    route: Route
    target_protocol: Protocol
    early_probe: bool


class RouteTable:
    """See the module. `caller_protocol` None stands for typed callers."""

    __slots__ = ("_front", "_front_sums", "_probe_seconds", "_routes", "_targets", "caller_protocol")

    def __init__(
        self,
        routes: Iterable[Route],
        caller_protocol: Protocol | None = None,
        *,
        endpoint_probe_seconds: float = ENDPOINT_PROBE_SECONDS,
    ) -> None:
        """Sort the routes; those of equal priority keep their order, which never matters for the choice.

        Raises:
            ValueError: the same route object twice.
        """
        self.caller_protocol = caller_protocol
        self._probe_seconds = endpoint_probe_seconds
        self._routes = tuple(sorted(routes, key=lambda route: route.desc.priority))
        self._targets: Mapping[Route, Protocol] = MappingProxyType(
            {route: route.desc.endpoint.service.target_protocol(caller_protocol) for route in self._routes}
        )
        if len(self._targets) != len(self._routes):
            raise ValueError("a route stands in a table once")
        # The most preferred group apart, with its weights summed up, so that a draw from it costs one search.
        self._front = tuple(r for r in self._routes if r.desc.priority == self._routes[0].desc.priority)
        self._front_sums = tuple(accumulate(route.desc.weight for route in self._front))

    def __len__(self) -> int:
        return len(self._routes)

    def __iter__(self) -> Iterator[Route]:
        return iter(self._routes)

    @property
    def routes(self) -> tuple[Route, ...]:
        """The routes, most preferred first."""
        return self._routes

    @property
    def names(self) -> tuple[str, ...]:
        """The stable names of the routes, most preferred first."""
        return tuple(route.desc.name for route in self._routes)

    @property
    def accounts(self) -> tuple[Account, ...]:
        """The provider accounts behind the table, most preferred first, each once."""
        return tuple(dict.fromkeys(route.desc.account for route in self._routes))

    def target_protocol(self, route: Route) -> Protocol:
        """The protocol to speak to a route of this table.

        Raises:
            KeyError: not a route of this table.
        """
        return self._targets[route]

    def select(self, now: float, random: Random, exclude: Collection[Route] = ()) -> Selection | None:
        """The best route that every door lets through at `now`, leaving out `exclude`; None if there is none.

        Among equal priorities each call draws afresh, by weight. Leaving out what was chosen before gives the whole
        random order one by one. Where every route is shut by its endpoint, see `_early_probe`.
        """
        if not self._routes:
            return None
        route = self._drawn(now, random, exclude) or self._found(now, random, exclude)
        if route is None:
            return self._early_probe(now, exclude)
        return Selection(route, self._targets[route], early_probe=False)

    def soonest_recovery(self, now: float, exclude: Collection[Route] = ()) -> float | None:
        """Seconds until some route can be had, leaving out `exclude`: 0 if one can now, None if there is no route."""
        routes = [route for route in self._routes if route not in exclude]
        if not routes:
            return None
        moment = min(route.ready_at() for route in routes)
        if self._is_cut_off(now):
            moment = min(moment, self._next_probe_at())
        return _PROBE_OUT_SECONDS if moment == inf else max(0.0, moment - now)

    def shut_by(self, now: float, exclude: Collection[Route] = ()) -> frozenset[Door]:
        """The doors that keep routes from being used, leaving out `exclude`: why a table has nothing to offer."""
        doors = (route.shut_by(now) for route in self._routes if route not in exclude)
        return frozenset(door for door in doors if door is not None)

    def _drawn(self, now: float, random: Random, exclude: Collection[Route]) -> Route | None:
        """Draw from the most preferred group and take what can be had.

        Drawing again after a miss is fair: each route that can be had keeps its share of those that can.
        """
        front = self._front
        for _ in range(_DRAWS if len(front) > 1 else 1):
            drawn = front[_position(self._front_sums, random())]
            if drawn.is_available(now) and drawn not in exclude:
                return drawn
        return None

    def _found(self, now: float, random: Random, exclude: Collection[Route]) -> Route | None:
        """Go through the table to the first priority with something to offer, and draw from all that it has.

        The doors are compared in place, the likeliest first, because over a thousand routes a call for each costs
        several times as much. The rest is asked only of what is left, up to the end of the first priority found.
        """
        awake = [
            route
            for route in self._routes
            if route.breaker.shut_until <= now and route.endpoint_breaker.shut_until <= now
        ]
        found: list[Route] = []
        for route in awake:
            if route.door.shut_until > now or route.hint.shut_until > now or route in exclude:
                continue
            if found and route.desc.priority != found[0].desc.priority:
                break
            found.append(route)
        if len(found) < 2:
            return found[0] if found else None
        return found[_position(list(accumulate(route.desc.weight for route in found)), random())]

    def _early_probe(self, now: float, exclude: Collection[Route]) -> Selection | None:
        """One probe each few seconds where *every* route is shut by its endpoint.

        Nothing else could answer, so finding out early costs nobody anything. The endpoint that was left alone for
        longest is asked, the more preferred one among equals. The measure is the last knock at any of the endpoints,
        so that all tables on the same endpoints share the same few probes.
        """
        if not self._is_cut_off(now) or self._next_probe_at() > now:
            return None
        ready = [route for route in self._routes if _is_probe_worth(route, now) and route not in exclude]
        if not ready:
            return None
        route = min(ready, key=lambda candidate: candidate.endpoint_breaker.knocked_at)
        return Selection(route, self._targets[route], early_probe=True)

    def _is_cut_off(self, now: float) -> bool:
        return all(route.endpoint_breaker.shut_until > now for route in self._routes)

    def _next_probe_at(self) -> float:
        return max(route.endpoint_breaker.knocked_at for route in self._routes) + self._probe_seconds


def _is_probe_worth(route: Route, now: float) -> bool:
    """Whether nothing but its open endpoint stands in the way."""
    return (
        route.endpoint_breaker.state is BreakerState.OPEN
        and route.breaker.shut_until <= now
        and route.door.shut_until <= now
        and route.hint.shut_until <= now
    )


def _position(weight_sums: Sequence[float], chance: float) -> int:
    # `chance` is below 1, but its product may round up to the whole sum; the last one takes that.
    return min(bisect_right(weight_sums, chance * weight_sums[-1]), len(weight_sums) - 1)
