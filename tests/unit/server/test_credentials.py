from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

from fluxrpc.errors import Outcome
from fluxrpc.routing.route import Route
from fluxrpc.routing.service_endpoint import Credential
from fluxrpc.server.credentials import CredentialWatch
from fluxrpc.telemetry.hooks import Hooks


class Report(Hooks):
    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []

    def breaker_changed(self, layer: str, target: str, old: str, new: str) -> None:
        assert (layer, old != new) == ("credential", True)
        self.seen.append((target, new))


class Timer:
    def __init__(self, seconds: float, ring: Callable[[], None]) -> None:
        self.seconds = seconds
        self.ring = ring
        self.is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True


class World:
    """A clock that a test moves, and timers that it rings."""

    def __init__(self) -> None:
        self.now = 100.0
        self.report = Report()
        self.timers: list[Timer] = []
        self.watch = CredentialWatch(self.report, lambda: self.now, self._call_later)

    def _call_later(self, seconds: float, function: Callable[..., None], *args: Any) -> Any:
        timer = Timer(seconds, lambda: function(*args))
        self.timers.append(timer)
        return timer

    def routes(self, **keys: Credential) -> None:
        described = [SimpleNamespace(name=name, credential=key) for name, key in keys.items()]
        self.watch.watch([cast("Route", SimpleNamespace(desc=desc)) for desc in described])

    def reject(self, route: str, key: Credential) -> None:
        key.door.reject(self.now)
        self.watch.attempt_finished(route, Outcome.CREDENTIAL, "rejected", 0.1)

    def pending(self) -> list[Timer]:
        return [timer for timer in self.timers if not timer.is_cancelled]


def test_a_shut_door_is_told_once_for_every_route_through_it() -> None:
    world, key, other = World(), Credential("k", shut_seconds=60), Credential("o")
    world.routes(a=key, b=key, c=other)
    world.reject("a", key)
    world.reject("b", key)
    world.watch.attempt_finished("c", Outcome.OK, "", 0.1)
    world.watch.attempt_finished("unheard-of", Outcome.CREDENTIAL, "", 0.1)
    assert world.report.seen == [("a", "open"), ("b", "open")]
    assert [timer.seconds for timer in world.pending()] == [60.0, 60.0]
    world.watch.close()
    assert world.pending() == []


def test_it_opens_by_the_clock() -> None:
    world, key = World(), Credential("k", shut_seconds=60)
    world.routes(a=key)
    world.reject("a", key)
    world.now += 59
    world.timers[-1].ring()  # a little early: looked at, still shut, looked at again later
    assert world.report.seen == [("a", "open")]
    assert world.pending()[-1].seconds == 1.0
    world.now += 1
    world.timers[-1].ring()
    assert world.report.seen == [("a", "open"), ("a", "closed")]
    assert world.pending() == []
    world.reject("a", key)
    assert world.report.seen[2:] == [("a", "open")]


def test_a_reload_brings_another_key_or_none() -> None:
    world, key = World(), Credential("k", shut_seconds=60)
    world.routes(kept=key, renewed=key, gone=key)
    world.reject("kept", key)
    world.routes(kept=key, renewed=Credential("new"))
    assert world.report.seen[3:] == [("renewed", "closed")]
    assert len(world.pending()) == 1
    world.routes()
    assert world.pending() == []


def test_a_door_that_another_attempt_has_opened_already() -> None:
    """The door is asked, not the outcome: a rejection that is over when it is told changes nothing."""
    world, key = World(), Credential("k", shut_seconds=60)
    world.routes(a=key)
    world.watch.attempt_finished("a", Outcome.CREDENTIAL, "", 0.1)
    assert world.report.seen == []
