from __future__ import annotations

import asyncio
from typing import Any

import pytest

from fluxrpc.errors import Outcome
from fluxrpc.telemetry.deferred import Deferred, defer
from fluxrpc.telemetry.hooks import Hooks


class Seen(Hooks):
    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []

    def attempt_finished(self, route: str, outcome: Outcome, detail: str, seconds: float) -> None:
        self.events.append((route, outcome, detail, seconds))


async def test_work_is_done_in_order_and_together() -> None:
    done: list[int] = []
    finished = asyncio.Event()
    later = Deferred(delay_seconds=0.001)
    for n in range(3):
        later.put(done.append, n)
    later.put(finished.set)
    assert done == []
    await finished.wait()
    assert done == [0, 1, 2]
    later.put(done.append, 3)
    later.flush()
    assert done == [0, 1, 2, 3]


async def test_what_waits_is_bounded() -> None:
    done: list[int] = []
    later = Deferred(delay_seconds=60, max_waiting=3)
    for n in range(4):
        later.put(done.append, n)
    assert done == [0, 1, 2]
    later.flush()


def test_outside_of_a_loop_nothing_waits() -> None:
    done: list[int] = []
    Deferred().put(done.append, 1)
    assert done == [1]


async def test_hooks_report_later() -> None:
    seen, later = Seen(), Deferred(delay_seconds=60)
    hooks = defer(seen, later)
    hooks.attempt_finished("r", Outcome.OK, "", 0.5)
    hooks.config_refused()
    assert seen.events == []
    later.flush()
    assert seen.events == [("r", Outcome.OK, "", 0.5)]


@pytest.mark.parametrize("event", ["call_started", "breaker_changed", "tokens_used"])
def test_every_event_is_deferred(event: str) -> None:
    assert getattr(defer(Hooks(), Deferred()), event).func.__name__ == "put"
