"""The cache of route health: what we learned of a route survives a reload and a request.

Not a registry of routes: tables hold those, and a table's route goes on with its health even after it was dropped
here. One event loop uses it; it is not safe for threads.

Invariants: at most one health for a key; never more than `max_entries` of them. Health that someone would miss (its
breaker not closed, a provider's hint running, an attempt in flight) outlives its TTL and is dropped for room only
when there is nothing else to drop.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from fluxrpc.clock import Monotonic, monotonic
from fluxrpc.resilience.breaker import BreakerState
from fluxrpc.routing.route import Route, RouteDesc, RouteHealth

MAX_ENTRIES = 50_000
TTL_SECONDS = 300.0
# Dropped at most with one call, so that no call pays for thousands that expired together.
_SWEEP = 4


class RouteRepository:
    """Route health by identity key.

    Two queues, each in the order of last use: idle health, and health that is kept. Every use puts the health at the
    end of the queue where it belongs then, so insertion and eviction cost the same however many entries there are.
    """

    def __init__(
        self,
        clock: Monotonic = monotonic,
        *,
        max_entries: int = MAX_ENTRIES,
        ttl_seconds: float = TTL_SECONDS,
        on_change: Callable[[str, BreakerState, BreakerState], None] | None = None,
    ) -> None:
        """`on_change` is told of every change of a route's breaker: identity key, old state, new state.

        Raises:
            ValueError: no room for an entry, or no time to keep it.
        """
        if max_entries < 1 or ttl_seconds <= 0:
            raise ValueError("max_entries and ttl_seconds must be positive")
        self._clock = clock
        self._max_entries = max_entries
        self._ttl_seconds = ttl_seconds
        self._on_change = on_change
        self._idle: OrderedDict[str, RouteHealth] = OrderedDict()
        self._kept: OrderedDict[str, RouteHealth] = OrderedDict()
        self._is_closed = False

    def __len__(self) -> int:
        return len(self._idle) + len(self._kept)

    def __contains__(self, identity_key: object) -> bool:
        return identity_key in self._idle or identity_key in self._kept

    def find_or_create(self, desc: RouteDesc) -> Route:
        """A route with this description, on the health that all routes of its identity share.

        The breaker settings of `desc` are in force for that health from now on.

        Raises:
            RuntimeError: the repository is closed.
        """
        if self._is_closed:
            raise RuntimeError("the repository is closed")
        now = self._clock()
        self._sweep(now)
        key = desc.identity_key
        health = self._idle.get(key) or self._kept.get(key)
        if health is None or self._is_expired(health, now):
            self._forget(key)
            health = RouteHealth(key, desc.breaker, self._clock, on_use=self._place, on_change=self._on_change)
        else:
            health.breaker.configure(desc.breaker)
        health.touch()
        return Route(desc, health)

    def close(self) -> None:
        """Forget everything. Routes in use go on with the health that they have. Idempotent."""
        self._is_closed = True
        self._idle.clear()
        self._kept.clear()

    def _is_expired(self, health: RouteHealth, now: float) -> bool:
        return now - health.last_used_at >= self._ttl_seconds and health.is_idle(now)

    def _sweep(self, now: float) -> None:
        for queue in (self._idle, self._kept):
            for _ in range(_SWEEP):
                oldest = next(iter(queue.values()), None)
                if oldest is None or not self._is_expired(oldest, now):
                    break
                del queue[oldest.key]

    def _forget(self, key: str) -> None:
        self._idle.pop(key, None)
        self._kept.pop(key, None)

    def _place(self, health: RouteHealth) -> None:
        """The health was used: put it where it belongs now."""
        if self._is_closed:
            return
        key = health.key
        present = self._idle.get(key) or self._kept.get(key)
        if present is None:
            self._make_room()
        elif present is not health:
            return  # an old route that outlived its entry; the newer health stands for the key
        queue, other = self._idle, self._kept
        if not health.is_idle(health.last_used_at):
            queue, other = other, queue
        other.pop(key, None)
        queue[key] = health
        queue.move_to_end(key)

    def _make_room(self) -> None:
        # Where all are kept, the one unused for longest goes: bounded memory wins over a breaker nobody asks about.
        if len(self) >= self._max_entries:
            (self._idle or self._kept).popitem(last=False)
