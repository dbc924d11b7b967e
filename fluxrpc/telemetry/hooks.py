"""The hooks through which the service reports what happens, so that routing imports neither metrics nor logs.

Values are plain: names from the configuration, enums, seconds, token counts. A hook observes; it decides nothing. It is
called on the event loop, so it returns at once and does not wait. What it raises is counted and dropped
(`compose`): telemetry never breaks a call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from fluxrpc.errors import GrpcCode, Outcome
from fluxrpc.v1.usage_pb2 import Usage

__all__ = ["EVENTS", "Hooks", "compose"]


class Hooks:
    """Does nothing; observers override what they want to see. `route` is always the stable name of a route."""

    __slots__ = ()

    def call_started(self, method: str) -> None:
        """A call of ours began; `method` is `/package.Service/Method`."""

    def call_finished(self, method: str, code: GrpcCode, seconds: float) -> None:
        """That call ended, in whatever way, after `seconds`."""

    def request_finished(self, model: str, reason: str) -> None:
        """A request for a model is settled. `reason` is `OK` or the `reason` of one of our errors.

        `model` is what the caller asked for: an observer bounds it.
        """

    def attempt_finished(self, route: str, outcome: Outcome, detail: str, seconds: float) -> None:
        """An attempt of a route ended. `detail` is the safe word of its fault, empty where there was none."""

    def failed_over(self, from_route: str, to_route: str) -> None:
        """After a fault of the first route the second is tried."""

    def stream_committed(self, route: str, seconds: float) -> None:
        """The first real event came, `seconds` after the attempt began."""

    def tokens_used(self, route: str, usage: Usage) -> None:
        """What an attempt cost, failed ones too."""

    def notes_made(self, caller: str | None, target: str, codes: Sequence[str]) -> None:
        """A caller is told of changes: its protocol (None: typed), that of the route, the code of each note."""

    def breaker_changed(self, layer: str, target: str, old: str, new: str) -> None:
        """A door changed.

        Args:
            layer: `endpoint`, `credential` or `route`.
            target: the name of the service (endpoint) or route (credential, route).
            old: `closed`, `open` or `half-open`.
            new: likewise.
        """

    def config_loaded(self, generation: int, loaded_at: float) -> None:
        """A configuration was accepted, at `loaded_at` (Unix seconds)."""

    def config_refused(self) -> None:
        """A reload failed; the last good configuration holds."""


EVENTS = tuple(name for name in vars(Hooks) if not name.startswith("_"))
"""The names of all events."""


def compose(*observers: Hooks, on_error: Callable[[str, Exception], None] | None = None) -> Hooks:
    """One object that reports to all the observers, in order.

    An observer that raises loses this event; the others still see it. `on_error` is told the name of the event and the
    exception; what it raises is dropped. What was composed before is taken apart, so that nothing is reported through
    two layers; its own `on_error` still hears of its observers where none is given here.
    """
    parts = [o.observers if isinstance(o, _Composed) else (o,) for o in observers]
    if on_error is None:
        on_error = next((o.on_error for o in observers if isinstance(o, _Composed) and o.on_error), None)
    composed = _Composed(tuple(o for part in parts for o in part), on_error)
    observers = composed.observers
    for event in EVENTS:
        default = getattr(Hooks, event)
        # An observer that does not override an event costs nothing when it happens.
        calls = tuple(call for o in observers if getattr(call := getattr(o, event), "__func__", None) is not default)
        setattr(composed, event, _fan_out(event, calls, on_error))
    return composed


class _Composed(Hooks):
    """Its methods are set for each instance, which needs a dictionary."""

    __slots__ = ("__dict__", "observers", "on_error")

    def __init__(self, observers: tuple[Hooks, ...], on_error: Callable[[str, Exception], None] | None) -> None:
        self.observers = observers
        self.on_error = on_error


def _fan_out(
    event: str, calls: tuple[Callable[..., None], ...], on_error: Callable[[str, Exception], None] | None
) -> Callable[..., None]:
    if len(calls) == 1:
        (only,) = calls

        def report_one(*values: Any, **named: Any) -> None:
            try:
                only(*values, **named)
            except Exception as error:  # noqa: BLE001  # an observer is foreign to the call that it observes
                _tell(event, error, on_error)

        return report_one

    def report(*values: Any, **named: Any) -> None:
        for call in calls:
            try:
                call(*values, **named)
            except Exception as error:  # noqa: BLE001  # an observer is foreign to the call that it observes
                _tell(event, error, on_error)

    return report


def _tell(event: str, error: Exception, on_error: Callable[[str, Exception], None] | None) -> None:
    if on_error is not None:
        with suppress(Exception):  # nobody is left to tell
            on_error(event, error)
