"""The pure parts by themselves, in this process: what one decision costs, and that work grows with the input only."""

from __future__ import annotations

import time
from collections.abc import Callable

from fluxrpc.sse import Decoder
from tests.bench.processes import BenchError

REPEATS = 5
READ_BYTES = 64 * 1024
LARGE_EVENT_BYTES = 16 * 1024 * 1024
SMALL_STREAM_BYTES = 256 * 1024
EVENT = b'data: {"choices":[{"index":0,"delta":{"content":" token"}}]}\n\n'

Figures = dict[str, float]


def fastest_seconds(work: Callable[[], object], *, repeats: int = REPEATS) -> float:
    """The least of several runs: noise only ever adds."""
    times = []
    for _ in range(repeats):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return min(times)


def decode(stream: bytes, *, read_bytes: int, expected_frames: int) -> None:
    """Decodes a stream in reads of one size. Raises BenchError where events are missing."""
    decoder = Decoder(2 * LARGE_EVENT_BYTES)
    frames = 0
    for start in range(0, len(stream), read_bytes):
        frames += len(decoder.feed(stream[start : start + read_bytes]))
    if frames != expected_frames:
        raise BenchError(f"{expected_frames} events were encoded, {frames} decoded")


def large_event_growth() -> float:
    """One event of 16 MiB against one of 8 MiB, in the reads that a socket gives."""
    half, whole = (b"data: " + b"x" * size + b"\n\n" for size in (LARGE_EVENT_BYTES // 2, LARGE_EVENT_BYTES))
    return _growth(half, whole, read_bytes=READ_BYTES, events=(1, 1))


def single_byte_growth() -> float:
    """A stream of small events that arrives byte by byte, against half of it."""
    count = SMALL_STREAM_BYTES // len(EVENT)
    return _growth(EVENT * (count // 2), EVENT * count, read_bytes=1, events=(count // 2, count))


def _growth(half: bytes, whole: bytes, *, read_bytes: int, events: tuple[int, int]) -> float:
    few, many = events
    return fastest_seconds(lambda: decode(whole, read_bytes=read_bytes, expected_frames=many)) / fastest_seconds(
        lambda: decode(half, read_bytes=read_bytes, expected_frames=few)
    )


def measure() -> Figures:
    """Every figure of this module."""
    return {"sse_large": large_event_growth(), "sse_bytes": single_byte_growth()}
