from __future__ import annotations

import inspect

import pytest

from fluxrpc.errors import GrpcCode, Outcome
from fluxrpc.telemetry.hooks import Hooks, compose
from fluxrpc.telemetry.metrics import Metrics
from fluxrpc.v1.usage_pb2 import Usage

EVENTS: dict[str, tuple[object, ...]] = {
    "call_started": ("/p.S/M",),
    "call_finished": ("/p.S/M", GrpcCode.OK, 0.1),
    "request_finished": ("fast", "OK"),
    "attempt_finished": ("r", Outcome.OK, "", 0.1),
    "failed_over": ("r", "q"),
    "stream_committed": ("r", 0.1),
    "tokens_used": ("r", Usage()),
    "notes_made": ("openai", "cohere", ["TOP_K"]),
    "breaker_changed": ("route", "r", "closed", "open"),
    "config_loaded": (1, 5.0),
    "config_refused": (),
}


class Recorder(Hooks):
    def __init__(self) -> None:
        self.seen: list[tuple[object, ...]] = []

    def attempt_finished(self, route: str, outcome: Outcome, detail: str, seconds: float) -> None:
        self.seen.append((route, outcome, detail, seconds))


class Broken(Hooks):
    def attempt_finished(self, route: str, outcome: Outcome, detail: str, seconds: float) -> None:
        raise ZeroDivisionError


def test_every_event_is_listed_here() -> None:
    assert {name for name in vars(Hooks) if not name.startswith("_")} == EVENTS.keys()


@pytest.mark.parametrize("event", EVENTS)
def test_every_event_reaches_nobody_somebody_and_metrics(event: str) -> None:
    values = EVENTS[event]
    seen: list[tuple[object, ...]] = []
    observer = type("Observer", (Hooks,), {event: lambda self, *given: seen.append(given)})()
    for hooks in (Hooks(), compose(), compose(observer, Metrics())):
        assert getattr(hooks, event)(*values) is None
    assert seen == [values]


@pytest.mark.parametrize("event", EVENTS)
def test_metrics_keep_the_signatures(event: str) -> None:
    assert inspect.signature(getattr(Metrics, event)) == inspect.signature(getattr(Hooks, event))


def test_an_observer_that_raises_breaks_nothing() -> None:
    before, after, errors = Recorder(), Recorder(), []
    hooks = compose(before, Broken(), after, on_error=lambda event, error: errors.append((event, type(error))))
    hooks.attempt_finished("r", Outcome.MODEL, "cut", seconds=0.1)
    assert before.seen == after.seen == [("r", Outcome.MODEL, "cut", 0.1)]
    assert errors == [("attempt_finished", ZeroDivisionError)]


def test_neither_does_whoever_is_told_of_it() -> None:
    def broken(event: str, error: Exception) -> None:
        raise error

    compose(Broken(), on_error=broken).attempt_finished("r", Outcome.OK, "", 0.1)
    compose(Broken()).attempt_finished("r", Outcome.OK, "", 0.1)


def test_what_is_composed_can_be_composed_again() -> None:
    seen = Recorder()
    compose(compose(seen), Hooks()).attempt_finished("r", Outcome.OK, "", seconds=0.1)
    assert seen.seen == [("r", Outcome.OK, "", 0.1)]
