from __future__ import annotations

import asyncio
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


class World:
    """A clock that a test moves, and timers that ring when it says so."""

    def __init__(self) -> None:
        self.now = 100.0
        self.report = Report()
        self.watch = CredentialWatch(self.report, lambda: self.now)

    def routes(self, **keys: Credential) -> None:
        self.watch.watch(
            [cast("Route", SimpleNamespace(desc=SimpleNamespace(name=n, credential=c))) for n, c in keys.items()]
        )

    def reject(self, route: str, key: Credential) -> None:
        key.door.reject(self.now)
        self.watch.attempt_finished(route, Outcome.CREDENTIAL, "rejected", 0.1)

    def timers(self) -> list[Any]:
        handles = getattr(asyncio.get_running_loop(), "_scheduled")  # noqa: B009  # asyncio shows its timers nowhere else
        return [handle for handle in handles if not handle.cancelled() and "CredentialWatch" in repr(handle)]


async def test_a_shut_door_is_told_once_for_every_route_through_it() -> None:
    world, key, other = World(), Credential("k", shut_seconds=60), Credential("o")
    world.routes(a=key, b=key, c=other)
    world.reject("a", key)
    world.reject("b", key)
    world.watch.attempt_finished("c", Outcome.OK, "", 0.1)
    world.watch.attempt_finished("unheard-of", Outcome.CREDENTIAL, "", 0.1)
    assert world.report.seen == [("a", "open"), ("b", "open")]
    assert len(world.timers()) == 2
    world.watch.close()
    assert world.timers() == []


async def test_it_opens_by_the_clock() -> None:
    world, key = World(), Credential("k", shut_seconds=0.02)
    world.routes(a=key)
    world.reject("a", key)
    await asyncio.sleep(0.03)
    assert world.report.seen == [("a", "open")]  # the clock of the doors stands still: looked at, still shut
    world.now += 1
    await asyncio.sleep(0.03)
    assert world.report.seen == [("a", "open"), ("a", "closed")]
    assert world.timers() == []


async def test_a_reload_brings_another_key_or_none() -> None:
    world, key = World(), Credential("k", shut_seconds=60)
    world.routes(kept=key, renewed=key, gone=key)
    world.reject("kept", key)
    world.routes(kept=key, renewed=Credential("new"))
    assert world.report.seen[3:] == [("renewed", "closed")]
    assert len(world.timers()) == 1
    world.watch.close()
