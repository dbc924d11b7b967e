"""The benchmark: starts upstream, forwarder and gateway, measures them in turns, and holds the figures to the goals.

Prints a table, writes build/bench.json, and exits 1 where a goal is missed, 2 where it could not be run.
"""

from __future__ import annotations

import argparse
import platform
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec
from rich.console import Console

from tests.bench import gateway, micro
from tests.bench.gateway import Server
from tests.bench.goals import CPU, Verdict, judge, show
from tests.bench.load import Load, Pace, running_upstream
from tests.bench.measure import (
    MEGABYTE,
    FloodPlan,
    Rig,
    added_first_chunk,
    added_latency,
    flood,
    hold_streams,
    unary_throughput,
)
from tests.bench.processes import ROOT, BenchError, Cores, build_loadgen, build_upstream, resident_bytes

STREAMS = 100
FURTHER_STREAMS = 500
HELD_SECONDS = 7
BATCHED_STREAMS = 8
UNARY_SECONDS = 3
AT_FIXED_RATE = Pace(seconds=8, rps=50)
FIRST_CHUNKS = Pace(seconds=3, rps=20)
KILOBYTE = 1000
TABLE_WIDTH = 120

Figures = dict[str, float]


def measure_streams(rig: Rig, server: Server, forwarder: Server) -> Figures:
    """Memory and the cost of paced events; the server must be fresh."""
    idle = resident_bytes(server.pid)
    few = hold_streams(rig, server.stream(gateway.HELD), count=STREAMS, seconds=HELD_SECONDS)
    many = hold_streams(rig, server.stream(gateway.HELD_SLOWLY), count=STREAMS + FURTHER_STREAMS, seconds=HELD_SECONDS)
    bare = hold_streams(rig, forwarder.stream(gateway.HELD), count=STREAMS, seconds=HELD_SECONDS)
    return {
        "memory_idle": idle / MEGABYTE,
        "memory_streams": few.resident_bytes / MEGABYTE,
        "memory_each": max(many.resident_bytes - few.resident_bytes, 0) / FURTHER_STREAMS / KILOBYTE,
        "paced_cpu": few.cpu_microseconds_per_event,
        "paced_batch": few.events_per_message,
        "paced_plain_cpu": bare.cpu_microseconds_per_event,
    }


def measure_unary(rig: Rig, server: Server, forwarder: Server) -> Figures:
    """CPU of a whole answer, native and typed, beside the forwarder's."""
    native, typed = gateway.native_request(gateway.UNARY), gateway.typed_request(gateway.UNARY)
    found = unary_throughput(
        rig,
        [
            forwarder.unary(native, name="plain"),
            server.unary(native, name="native"),
            forwarder.unary(typed, name="translate"),
            server.unary(typed, name="typed"),
        ],
        seconds=UNARY_SECONDS,
    )
    cpu = {name: run.cpu_microseconds for name, run in found.items()}
    return {
        "native_ratio": cpu["native"] / cpu["plain"],
        "typed_ratio": cpu["typed"] / cpu["translate"],
        "native_rps": found["native"].calls_per_second,
        "plain_rps": found["plain"].calls_per_second,
        **{f"{name}_cpu": value for name, value in cpu.items()},
    }


def measure_latency(rig: Rig, server: Server, forwarder: Server) -> Figures:
    """What the gateway adds for a lone caller, and what the forwarder does."""
    whole = added_latency(
        rig,
        {
            "": server.unary(gateway.native_request(gateway.UNARY)).call,
            "_plain": forwarder.unary(gateway.typed_request(gateway.UNARY)).call,
        },
        gateway.direct_call(rig.upstream, gateway.UNARY),
        pace=AT_FIXED_RATE,
    )
    first = added_first_chunk(
        rig,
        {"": server.stream(gateway.FIRST).call, "_plain": forwarder.stream(gateway.FIRST).call},
        gateway.direct_call(rig.upstream, gateway.FIRST, stream=True),
        pace=FIRST_CHUNKS,
    )
    return {
        **{f"latency{name}_p50": found.p50_ms for name, found in whole.items()},
        **{f"latency{name}_p99": found.p99_ms for name, found in whole.items()},
        **{f"first_chunk{name}_p50": found.p50_ms for name, found in first.items()},
    }


def measure_flood(rig: Rig, server: Server) -> Figures:
    """Events a second where more is offered than one at a time can pass.

    A socket that is written without pause hands over many events in each read. So that most reads find one event,
    the first kind spreads 50,000 a second evenly over many streams; the second writes 16 at once without pause.
    """
    single, batched = server.stream(gateway.FLOOD_SINGLE).call, server.stream(gateway.FLOOD_BATCHED).call
    found = flood(
        rig,
        {
            "single": FloodPlan(call=single, streams=STREAMS),
            "batched": FloodPlan(call=batched, streams=BATCHED_STREAMS),
        },
    )
    return {
        "flood_single": found["single"].events_per_second,
        "flood_single_batch": found["single"].events_per_message,
        "flood_batched": found["batched"].events_per_second,
        "flood_batched_batch": found["batched"].events_per_message,
    }


@contextmanager
def assembled(cores: Cores) -> Iterator[tuple[Rig, Server, Server]]:
    """Everything compiled and running."""
    upstream_binary, loadgen = build_upstream(), build_loadgen()
    with (
        running_upstream(upstream_binary, cores=cores) as upstream,
        gateway.running_forwarder(upstream, cores=cores) as forwarder,
        gateway.running_gateway(upstream, cores=cores) as server,
    ):
        yield Rig(load=Load(binary=loadgen, cores=cores), upstream=upstream), server, forwarder


def measure_all(console: Console) -> Figures:
    cores = Cores.of_this_machine()
    console.print(f"server on cores {sorted(cores.server)}, load and upstream on {sorted(cores.load)}")
    with assembled(cores) as (rig, server, forwarder):
        steps: dict[str, Callable[[], Figures]] = {
            "streams held open, memory": lambda: measure_streams(rig, server, forwarder),
            "unary calls": lambda: measure_unary(rig, server, forwarder),
            "latency": lambda: measure_latency(rig, server, forwarder),
            "flooded streams": lambda: measure_flood(rig, server),
        }
        figures: Figures = {}
        for title, step in steps.items():
            began = time.monotonic()
            figures |= step()
            console.print(f"{title}: {time.monotonic() - began:.0f} s")
    return figures | micro.measure()


def write(verdicts: list[Verdict]) -> None:
    document = {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "unix_seconds": int(time.time()),
        "results": verdicts,
    }
    file = ROOT / "build" / "bench.json"
    file.write_bytes(msgspec.json.format(msgspec.json.encode(document)))


def main() -> int:
    argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__).parse_args()
    console = Console(width=TABLE_WIDTH)
    try:
        figures = measure_all(console)
    except BenchError as error:
        console.print(f"[bold red]bench:[/] {error}", highlight=False)
        return 2
    verdicts = judge(figures)
    write(verdicts)
    show(verdicts, console)
    console.print(f"times of computing are allowed {CPU.slowdown(figures):.2f} x: see tests/bench/goals.py")
    return 0 if all(verdict.holds for verdict in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
