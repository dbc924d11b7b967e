"""What a connection is told to do, one step after the other. Pure values; `connection` performs them."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import cycle
from typing import Literal


@dataclass(frozen=True, slots=True)
class Wait:
    """Pause; `None` until the peer leaves."""

    seconds: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """Status line and headers. `length_bytes` None: the body is chunked."""

    status: int
    headers: tuple[tuple[str, str], ...]
    length_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Data:
    """Bytes of the body: one write, and one HTTP chunk where the body is chunked."""

    body: bytes
    events: int = 0
    """Content events that it carries."""


@dataclass(frozen=True, slots=True)
class Finish:
    """The body ends as HTTP wants it; the connection may be used again."""


@dataclass(frozen=True, slots=True)
class Cut:
    """The connection ends here: FIN, RST, or FIN inside a chunk."""

    how: Literal["close", "reset", "chunk"]


Step = Wait | Head | Data | Finish | Cut


def split(steps: Iterable[Step], sizes: tuple[int, ...]) -> Iterator[Step]:
    """The same body, cut at the sizes (used in turn) without regard to events."""
    turn = cycle(sizes)
    pending = b""
    events = 0
    want = next(turn)
    for step in steps:
        if isinstance(step, Data):
            pending += step.body
            events += step.events
            at = 0
            while len(pending) - at >= want:
                yield Data(pending[at : at + want], events)
                events = 0
                at += want
                want = next(turn)
            pending = pending[at:]
            continue
        if pending:
            yield Data(pending, events)
            pending, events = b"", 0
        yield step


def compress(steps: Iterable[Step], encoding: Literal["gzip", "deflate"]) -> Iterator[Step]:
    """The same body compressed, flushed after each piece, with the header that says so; always chunked."""
    packer = zlib.compressobj(wbits=31 if encoding == "gzip" else 15)
    for step in steps:
        if isinstance(step, Head):
            headers = (*step.headers, ("content-encoding", encoding))
            yield Head(status=step.status, headers=headers)
        elif isinstance(step, Data):
            yield Data(packer.compress(step.body) + packer.flush(zlib.Z_SYNC_FLUSH), step.events)
        elif isinstance(step, Finish):
            yield Data(packer.flush())
            yield step
        else:
            yield step
