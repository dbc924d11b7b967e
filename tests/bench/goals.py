"""The goals as a table, and the verdicts: what was measured, what it must not pass, whether it holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

import msgspec
from rich.console import Console
from rich.table import Table


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

    def holds(self, measured: float) -> bool:
        if self.bound is Bound.AT_MOST:
            return measured <= self.limit
        if self.bound is Bound.AT_LEAST:
            return measured >= self.limit
        return True


def _at_most(key: str, title: str, limit: float, unit: str) -> Goal:
    return Goal(key=key, title=title, unit=unit, bound=Bound.AT_MOST, limit=limit)


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
    _at_most("latency_p50", "added latency at 50 requests/s, p50", 1.5, "ms"),
    _at_most("latency_p99", "added latency at 50 requests/s, p99", 2.5, "ms"),
    _at_most("first_chunk_p50", "time to first chunk, added, p50", 1.3, "ms"),
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
    _at_most("sse_large", "SSE, one event of 16 MiB: time for twice the input", 2.2, "x"),
    _at_most("sse_bytes", "SSE, single bytes: time for twice the input", 2.2, "x"),
)


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """One goal and what became of it, as it is written to the JSON file."""

    key: str
    title: str
    measured: float
    unit: str
    bound: str
    limit: float | None
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
            holds=goal.holds(measured[goal.key]),
        )
        for goal in GOALS
    ]


def show(verdicts: Iterable[Verdict], console: Console) -> None:
    """Prints the table."""
    titles = {goal.key: goal.title for goal in GOALS}
    table = Table("measured", title="fluxrpc bench", title_justify="left")
    table.columns[0].header = "what"
    table.add_column("goal", justify="right")
    table.add_column("measured", justify="right")
    table.add_column("verdict")
    for verdict in verdicts:
        goal = "" if verdict.limit is None else f"{verdict.bound} {_number(verdict.limit)}"
        word = "" if verdict.limit is None else ("[green]holds[/]" if verdict.holds else "[bold red]missed[/]")
        table.add_row(titles[verdict.key], goal, f"{_number(verdict.measured)} {verdict.unit}", word)
    console.print(table)


def _number(value: float) -> str:
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.0f}" if abs(value) >= 100 or float(value).is_integer() else f"{value:.2f}"
