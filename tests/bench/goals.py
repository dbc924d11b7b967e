"""The goals as a table, and the verdicts: what was measured, what it must not pass, whether it holds.

Ratios and bytes are held to as they stand. Times are those of the machine on which the goals were set, and are scaled
by what the bare forwarder takes here in the same run: by its CPU a request; added latency and the time to the first
chunk also by the forwarder's like figure, measured in turns with ours, where that has grown more, since waking
processes scales otherwise than computing. A faster machine gets no stricter goals.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

import msgspec
from rich.console import Console
from rich.table import Table

TIME_UNITS = frozenset({"ms", "µs", "µs/event", "µs/request", "events/s"})


@dataclass(frozen=True, slots=True)
class Yardstick:
    """What the bare forwarder takes: the figure of that key, and what it was where the goals were set."""

    key: str
    there: float

    def slowdown(self, measured: Mapping[str, float]) -> float:
        """How much longer it takes here and now; at least 1."""
        return max(1.0, measured[self.key] / self.there)


CPU = Yardstick("translate_cpu", 361)
LATENCY_P50 = Yardstick("latency_plain_p50", 1.2)
LATENCY_P99 = Yardstick("latency_plain_p99", 1.2)
FIRST_CHUNK = Yardstick("first_chunk_plain_p50", 1.0)


class Bound(Enum):
    """Which side of the limit is good; `NONE` is a figure without a goal."""

    AT_MOST = "≤"
    AT_LEAST = "≥"
    NONE = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """One line of the table."""

    key: str
    title: str
    unit: str
    bound: Bound = Bound.NONE
    limit: float = 0
    yardstick: Yardstick = CPU
    """What times are scaled by, beside the CPU."""

    def limit_here(self, measured: Mapping[str, float]) -> float:
        """The limit for this machine, by what the forwarder takes on it."""
        if self.unit not in TIME_UNITS:
            return self.limit
        slowdown = max(CPU.slowdown(measured), self.yardstick.slowdown(measured))
        return self.limit / slowdown if self.bound is Bound.AT_LEAST else self.limit * slowdown

    def is_met(self, value: float, limit: float) -> bool:
        """Whether a figure is on the good side of a limit."""
        if self.bound is Bound.AT_MOST:
            return value <= limit
        if self.bound is Bound.AT_LEAST:
            return value >= limit
        return True


def _at_most(key: str, title: str, limit: float, unit: str, yardstick: Yardstick = CPU) -> Goal:
    return Goal(key=key, title=title, unit=unit, bound=Bound.AT_MOST, limit=limit, yardstick=yardstick)


def _at_least(key: str, title: str, limit: float, unit: str) -> Goal:
    return Goal(key=key, title=title, unit=unit, bound=Bound.AT_LEAST, limit=limit)


def _figure(key: str, title: str, unit: str) -> Goal:
    return Goal(key=key, title=title, unit=unit)


GOALS = (
    _at_most("native_ratio", "unary CPU, native body, against the bare forwarder", 1.25, "x"),
    _figure("native_cpu", "  fluxrpc, native body", "µs/request"),
    _figure("plain_cpu", "  bare forwarder", "µs/request"),
    _figure("native_rps", "  fluxrpc, native body, 64 at a time on one core", "requests/s"),
    _figure("plain_rps", "  bare forwarder, 64 at a time on one core", "requests/s"),
    _figure("typed_ratio", "unary CPU, typed message, against the forwarder that translates", "x"),
    _figure("typed_cpu", "  fluxrpc, typed message", "µs/request"),
    _figure("translate_cpu", "  bare forwarder that translates", "µs/request"),
    _at_most("latency_p50", "added latency at 50 requests/s, p50", 1.5, "ms", LATENCY_P50),
    _figure("latency_plain_p50", "  bare forwarder", "ms"),
    _at_most("latency_p99", "added latency at 50 requests/s, p99", 2.5, "ms", LATENCY_P99),
    _figure("latency_plain_p99", "  bare forwarder", "ms"),
    _at_most("first_chunk_p50", "time to first chunk, added, p50", 1.3, "ms", FIRST_CHUNK),
    _figure("first_chunk_plain_p50", "  bare forwarder", "ms"),
    _at_most("paced_cpu", "100 streams of 100 events/s, one event at a time", 70, "µs/event"),
    _figure("paced_batch", "  events in one message", "events"),
    _figure("paced_plain_cpu", "  bare forwarder", "µs/event"),
    _at_least("flood_single", "flooded, one event in a read: 100 streams offered 50,000 events/s", 30_000, "events/s"),
    _figure("flood_single_batch", "  events in one message", "events"),
    _at_least("flood_batched", "flooded, 16 events in a write", 100_000, "events/s"),
    _figure("flood_batched_batch", "  events in one message", "events"),
    _at_most("memory_idle", "memory, idle", 80, "MB"),
    _at_most("memory_streams", "memory, 100 streams", 110, "MB"),
    _at_most("memory_each", "memory, each further stream", 40, "KB"),
    _at_most("select", "selection among 1,000 routes of which 999 are open", 20, "µs"),
    _at_most("insert", "repository insert at 50,000 entries", 10, "µs"),
    _at_most("translated_call", "translation of a whole call, worst pair, over passing it through", 80, "µs"),
    _at_most("translated_event", "translation of an event of a stream, worst pair", 4, "µs"),
    _at_most("sse_large", "SSE, one event of 16 MiB: time for twice the input", 2.2, "x"),
    _at_most("sse_bytes", "SSE, an event in single bytes: time for twice the input", 2.2, "x"),
)


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """One goal and what became of it, as it is written to the JSON file."""

    key: str
    title: str
    measured: float
    unit: str
    bound: str
    limit: float | None
    limit_here: float | None
    holds: bool


def judge(measured: Mapping[str, float]) -> list[Verdict]:
    """Sets every goal against its figure. Raises KeyError where a goal was not measured."""
    return [
        Verdict(
            key=goal.key,
            title=goal.title.strip(),
            measured=measured[goal.key],
            unit=goal.unit,
            bound=goal.bound.value,
            limit=None if goal.bound is Bound.NONE else goal.limit,
            limit_here=None if goal.bound is Bound.NONE else goal.limit_here(measured),
            holds=goal.is_met(measured[goal.key], goal.limit_here(measured)),
        )
        for goal in GOALS
    ]


def show(verdicts: Iterable[Verdict], console: Console) -> None:
    """Prints the table."""
    goals = {goal.key: goal for goal in GOALS}
    table = Table("what", title="fluxrpc bench", title_justify="left")
    table.add_column("goal", justify="right")
    table.add_column("measured", justify="right")
    table.add_column("verdict")
    for verdict in verdicts:
        goal = "" if verdict.limit is None else f"{verdict.bound} {_number(verdict.limit)}"
        measured = f"{_number(verdict.measured)} {verdict.unit}"
        table.add_row(goals[verdict.key].title, goal, measured, _word(goals[verdict.key], verdict))
    console.print(table)


def _word(goal: Goal, verdict: Verdict) -> str:
    if verdict.limit is None or verdict.limit_here is None:
        return ""
    if not verdict.holds:
        return "[bold red]missed[/]"
    if goal.is_met(verdict.measured, goal.limit):
        return "[green]holds[/]"
    return f"[yellow]holds[/] ({verdict.bound} {_number(verdict.limit_here)} here)"


def _number(value: float) -> str:
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.0f}" if abs(value) >= 100 or float(value).is_integer() else f"{value:.2f}"
