"""What is measured and how: each function returns one figure or a few, of one server or of two run in turns.

Ratios and differences come from runs that alternate within one session, as the median over the rounds: the machine
may slow down between two minutes, but hardly between two neighbours. Every run also proves that the work was done:
the upstream must have completed as many answers as the load generator counted successes.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tests.bench.load import Call, Load, Pace, Report, Upstream
from tests.bench.processes import BenchError, cpu_seconds, resident_bytes

ROUNDS = 3
MICROSECONDS = 1_000_000
MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Rig:
    """What every measurement needs."""

    load: Load
    upstream: Upstream


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One measured server: a process and the calls it is sent. `direct` is the upstream itself, without a process."""

    name: str
    pid: int
    call: Call


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughput:
    """One saturated run."""

    calls_per_second: float
    cpu_microseconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """Milliseconds added over the direct way."""

    p50_ms: float
    p99_ms: float


def proven(rig: Rig, call: Call, pace: Pace) -> Report:
    """One run whose successes the upstream confirms. Raises BenchError where the two counts differ."""
    before = rig.upstream.stats()
    report = rig.load.run(call, pace)
    served = rig.upstream.stats().completed - before.completed
    if served != report.succeeded:
        raise BenchError(f"{report.succeeded} calls succeeded, but the upstream completed {served}")
    return report


def warm_up(rig: Rig, subjects: Sequence[Subject]) -> None:
    for subject in subjects:
        proven(rig, subject.call, Pace(seconds=1))


def unary_throughput(rig: Rig, subjects: Sequence[Subject], *, seconds: float) -> dict[str, Throughput]:
    """Saturated unary calls, 64 at a time, the subjects in turns."""
    warm_up(rig, subjects)
    runs: dict[str, list[Throughput]] = {subject.name: [] for subject in subjects}
    for _ in range(ROUNDS):
        for subject in subjects:
            before = cpu_seconds(subject.pid)
            report = proven(rig, subject.call, Pace(seconds=seconds))
            spent = cpu_seconds(subject.pid) - before
            runs[subject.name].append(
                Throughput(
                    calls_per_second=report.succeeded / report.seconds,
                    cpu_microseconds=spent / report.succeeded * MICROSECONDS,
                )
            )
    return {name: _median_throughput(found) for name, found in runs.items()}


def _median_throughput(runs: Sequence[Throughput]) -> Throughput:
    return Throughput(
        calls_per_second=statistics.median(run.calls_per_second for run in runs),
        cpu_microseconds=statistics.median(run.cpu_microseconds for run in runs),
    )


def added_latency(rig: Rig, calls: Mapping[str, Call], direct: Call, *, pace: Pace) -> dict[str, Latency]:
    """Latency of whole answers at a fixed rate, minus the same straight at the upstream."""
    return _added(rig, calls, direct, pace, lambda run: (run.latency_p50_ms, run.latency_p99_ms))


def added_first_chunk(rig: Rig, calls: Mapping[str, Call], direct: Call, *, pace: Pace) -> dict[str, Latency]:
    """Time to the first event at a fixed rate of streams, minus the same straight at the upstream."""
    return _added(rig, calls, direct, pace, lambda run: (run.first_data_p50_ms, run.first_data_p99_ms))


def _added(
    rig: Rig, calls: Mapping[str, Call], direct: Call, pace: Pace, read: Callable[[Report], tuple[float, float]]
) -> dict[str, Latency]:
    differences: dict[str, list[tuple[float, float]]] = {name: [] for name in calls}
    for _ in range(ROUNDS):
        straight = read(proven(rig, direct, pace))
        for name, call in calls.items():
            through = read(proven(rig, call, pace))
            differences[name].append((through[0] - straight[0], through[1] - straight[1]))
    return {
        name: Latency(
            p50_ms=statistics.median(p50 for p50, _ in found),
            p99_ms=statistics.median(p99 for _, p99 in found),
        )
        for name, found in differences.items()
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenStreams:
    """A number of paced streams held open for a while."""

    cpu_microseconds_per_event: float
    resident_bytes: int
    events_per_message: float


def hold_streams(rig: Rig, subject: Subject, *, count: int, seconds: float) -> OpenStreams:
    """Opens `count` paced streams at once and watches the server while all of them run."""
    pace = Pace(seconds=seconds, concurrency=count, once=True, stagger_seconds=0.1)
    child = rig.load.start(subject.call, pace)
    try:
        held = _watch_streams(rig.upstream, subject.pid, count=count, seconds=seconds)
    except BenchError:
        child.kill()
        child.communicate()
        raise
    report = rig.load.finish(child)
    spent_seconds, events, resident = held
    return OpenStreams(
        cpu_microseconds_per_event=spent_seconds / max(events, 1) * MICROSECONDS,
        resident_bytes=resident,
        events_per_message=report.events / report.messages,
    )


def _watch_streams(upstream: Upstream, pid: int, *, count: int, seconds: float) -> tuple[float, int, int]:
    """CPU seconds, events and resident bytes of the middle half of the time."""
    _await_streams(upstream, count, deadline=time.monotonic() + seconds)
    time.sleep(seconds / 4)
    cpu, events = cpu_seconds(pid), upstream.stats().events
    time.sleep(seconds / 2)
    spent, passed = cpu_seconds(pid) - cpu, upstream.stats().events - events
    if upstream.stats().open_streams != count:
        raise BenchError("streams ended while they were being watched")
    return spent, passed, resident_bytes(pid)


def _await_streams(upstream: Upstream, count: int, *, deadline: float) -> None:
    while upstream.stats().open_streams < count:
        if time.monotonic() > deadline:
            raise BenchError(f"only {upstream.stats().open_streams} of {count} streams were opened")
        time.sleep(0.02)


@dataclass(frozen=True, slots=True, kw_only=True)
class Flood:
    """Streams as fast as they go."""

    events_per_second: float
    events_per_message: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FloodPlan:
    """One kind of flood: which streams, and how many at once."""

    call: Call
    streams: int


def flood(rig: Rig, plans: Mapping[str, FloodPlan]) -> dict[str, Flood]:
    """Each kind of flood in turns; a run ends when all its streams have ended."""
    runs: dict[str, list[Flood]] = {name: [] for name in plans}
    for _ in range(ROUNDS):
        for name, plan in plans.items():
            before = rig.upstream.stats().events
            report = proven(rig, plan.call, Pace(seconds=60, concurrency=plan.streams, once=True))
            sent = rig.upstream.stats().events - before
            if report.events < sent:
                raise BenchError(f"the upstream sent {sent} events, but {report.events} arrived")
            runs[name].append(
                Flood(
                    events_per_second=report.events / report.seconds,
                    events_per_message=report.events / report.messages,
                )
            )
    return {
        name: Flood(
            events_per_second=statistics.median(run.events_per_second for run in found),
            events_per_message=statistics.median(run.events_per_message for run in found),
        )
        for name, found in runs.items()
    }
