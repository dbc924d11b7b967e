"""Watches the doors of credentials, and reports each change once for every route that goes through the door.

A door shuts by a provider's rejection and opens by the clock; it tells nobody. So it is looked at when an attempt has
ended, and again when it is due to open. This only observes: what a shut door keeps out is decided by the routes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from fluxrpc.clock import Monotonic
from fluxrpc.errors import Outcome
from fluxrpc.resilience.breaker import BreakerState
from fluxrpc.routing.route import Route
from fluxrpc.routing.service_endpoint import Credential
from fluxrpc.telemetry.hooks import Hooks


class CredentialWatch(Hooks):
    """An observer of attempts that reports `breaker_changed("credential", route, …)` to `report`."""

    def __init__(self, report: Hooks, clock: Monotonic, call_later: Callable[..., asyncio.TimerHandle]) -> None:
        """`call_later` is the loop's: seconds, a function, its arguments."""
        self._report = report
        self._clock = clock
        self._call_later = call_later
        self._doors: dict[str, Credential] = {}
        """By the name of a route."""
        self._shut: set[str] = set()
        """Routes that were last reported as shut."""
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def watch(self, routes: Iterable[Route]) -> None:
        """From now on these are the routes. A route with another key than before has another door."""
        self._doors = {route.desc.name: route.desc.credential for route in routes}
        for name in self._shut - self._doors.keys():
            self._forget(name)
        for name in tuple(self._shut):
            self._look(name)

    def attempt_finished(self, route: str, outcome: Outcome, detail: str, seconds: float) -> None:  # noqa: ARG002  # the hook's form
        """Look at the door that a rejection has shut."""
        rejected = self._doors.get(route) if outcome is Outcome.CREDENTIAL else None
        if rejected is not None:
            for name, credential in self._doors.items():
                if credential is rejected:
                    self._look(name)

    def close(self) -> None:
        """Look no more."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _look(self, name: str) -> None:
        remaining = self._doors[name].door.remaining_seconds(self._clock())
        if remaining > 0:
            self._await_opening(name, remaining)
            if name not in self._shut:
                self._shut.add(name)
                self._report.breaker_changed("credential", name, BreakerState.CLOSED.value, BreakerState.OPEN.value)
        elif name in self._shut:
            self._forget(name)
            self._report.breaker_changed("credential", name, BreakerState.OPEN.value, BreakerState.CLOSED.value)

    def _await_opening(self, name: str, seconds: float) -> None:
        earlier = self._timers.get(name)
        if earlier is not None:
            earlier.cancel()
        self._timers[name] = self._call_later(seconds, self._look, name)

    def _forget(self, name: str) -> None:
        self._shut.discard(name)
        timer = self._timers.pop(name, None)
        if timer is not None:
            timer.cancel()
