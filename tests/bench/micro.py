"""The pure parts by themselves, in this process: what one decision costs, and that work grows with the input only."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from functools import partial

from fluxrpc.protocols.base import Protocol
from fluxrpc.routing.repository import MAX_ENTRIES, RouteRepository
from fluxrpc.routing.route import RouteDesc
from fluxrpc.routing.service_endpoint import Credential, Service, ServiceEndpoint
from fluxrpc.routing.table import RouteTable
from fluxrpc.sse import Decoder
from tests.bench import translation
from tests.bench.processes import BenchError

REPEATS = 5
SLICES = 25
GROWTH_ROUNDS = 25
READ_BYTES = 64 * 1024
LARGE_EVENT_BYTES = 16 * 1024 * 1024
SLOW_EVENT_BYTES = 64 * 1024
TABLE_ROUTES = 1000
SELECTIONS = 500
INSERTIONS = 5000
MICROSECONDS = 1_000_000

Figures = dict[str, float]


def fastest_seconds(work: Callable[[], object], *, repeats: int = REPEATS) -> float:
    """The least of several runs: noise only ever adds."""
    times = []
    for _ in range(repeats):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return min(times)


def decode(stream: bytes, *, read_bytes: int) -> None:
    """Decodes a stream of one event in reads of one size. Raises BenchError where it does not come out."""
    decoder = Decoder(2 * LARGE_EVENT_BYTES)
    frames = 0
    for start in range(0, len(stream), read_bytes):
        frames += len(decoder.feed(stream[start : start + read_bytes]))
    if frames != 1:
        raise BenchError(f"one event was encoded, {frames} decoded")


def large_event_growth() -> float:
    """One event of 16 MiB against one of 8 MiB, in the reads that a socket gives."""
    half, whole = (b"data: " + b"x" * size + b"\n\n" for size in (LARGE_EVENT_BYTES // 2, LARGE_EVENT_BYTES))
    return _growth(half, whole, read_bytes=READ_BYTES)


def single_byte_growth() -> float:
    """An event of 64 KiB that arrives byte by byte, against half of it."""
    half, whole = (b"data: " + b"x" * size + b"\n\n" for size in (SLOW_EVENT_BYTES // 2, SLOW_EVENT_BYTES))
    return _growth(half, whole, read_bytes=1)


def _growth(half: bytes, whole: bytes, *, read_bytes: int) -> float:
    """The time of the whole over that of the half, each the least of several runs in turns."""
    rounds = [
        (
            fastest_seconds(lambda: decode(half, read_bytes=read_bytes), repeats=1),
            fastest_seconds(lambda: decode(whole, read_bytes=read_bytes), repeats=1),
        )
        for _ in range(GROWTH_ROUNDS)
    ]
    return min(of_whole for _, of_whole in rounds) / min(of_half for of_half, _ in rounds)


def still_clock() -> float:
    """A clock that stands: no breaker recovers while it is measured."""
    return 1.0


def described_routes(count: int) -> Sequence[RouteDesc]:
    """Routes of equal priority through one endpoint."""
    service = Service(name="bench", base_urls={Protocol.OPENAI: "http://127.0.0.1:1/v1"})
    endpoint, credential = ServiceEndpoint(service, still_clock), Credential("sk-bench")
    return [
        RouteDesc(name=f"route-{number}", endpoint=endpoint, model=f"model-{number}", credential=credential)
        for number in range(count)
    ]


def selection_microseconds() -> float:
    """One selection from 1,000 routes of equal priority whose breakers are open, but for one in their midst."""
    repository = RouteRepository(still_clock)
    routes = [repository.find_or_create(desc) for desc in described_routes(TABLE_ROUTES)]
    chosen = routes[TABLE_ROUTES // 2]
    for route in routes:
        while route is not chosen and route.is_available(still_clock()):
            route.breaker.record_failure()
    table, draw = RouteTable(routes, Protocol.OPENAI), random.Random(1).random
    selection = table.select(still_clock(), draw)
    if selection is None or selection.route is not chosen:
        raise BenchError("the one route that can be had was not selected")

    def select() -> None:
        for _ in range(SELECTIONS):
            table.select(still_clock(), draw)

    return fastest_seconds(select) / SELECTIONS * MICROSECONDS


def insertion_microseconds() -> float:
    """One new route for a repository that is full, so that each also evicts."""
    descriptions = described_routes(MAX_ENTRIES + INSERTIONS * REPEATS)
    repository = RouteRepository(still_clock)
    for desc in descriptions[:MAX_ENTRIES]:
        repository.find_or_create(desc)
    waiting = iter(descriptions[MAX_ENTRIES:])

    def insert() -> None:
        for _ in range(INSERTIONS):
            repository.find_or_create(next(waiting))

    seconds = fastest_seconds(insert)
    if len(repository) != MAX_ENTRIES:
        raise BenchError(f"the repository holds {len(repository)} entries")
    return seconds / INSERTIONS * MICROSECONDS


def measure() -> Figures:
    """Every figure of this module."""
    return {
        "select": selection_microseconds(),
        "insert": insertion_microseconds(),
        "sse_large": large_event_growth(),
        "sse_bytes": single_byte_growth(),
        **translation.measure(partial(fastest_seconds, repeats=SLICES)),
    }
