"""The first-event gate: a stream is held back until its first real event, and only then is it an answer.

Opening frames and signs of life say nothing about whether a provider will answer, so nothing of them reaches the
caller before content does. Until then failing over costs nothing; afterwards the caller has seen something.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from fluxrpc.errors import AnswerFault, AnswerOversize, AttemptError
from fluxrpc.protocols.base import AnswerStream, Batch
from fluxrpc.routing.route import RouteLimits
from fluxrpc.upstream.exchange import Exchange


async def open_stream(
    exchange: Exchange, watch: AnswerStream, headers: tuple[tuple[str, str], ...], limits: RouteLimits
) -> LiveStream:
    """Read up to the first real event.

    Raises:
        AttemptError: an error, the end or rubbish came first.
    """
    held: list[Batch] = []
    held_bytes = 0
    while True:
        chunk = await exchange.next_chunk()
        batch = watch.feed(chunk) if chunk else watch.close()
        if batch.error is not None:
            raise batch.error
        held.append(batch)
        if batch.real:
            break
        if not chunk or batch.ended:
            raise AnswerFault("stream without an answer")
        held_bytes += len(chunk)
        if held_bytes > limits.max_event_bytes:
            raise AnswerOversize("opening of the stream over the limit")
    first = join_batches(held)
    return LiveStream(
        exchange=exchange,
        watch=watch,
        headers=headers,
        limits=limits,
        first=first,
        ended=first.ended or not chunk,
        abandon=first.abandon,
    )


def join_batches(batches: Sequence[Batch]) -> Batch:
    """Several batches as one: what arrived before the gate opened leaves together."""
    if len(batches) == 1:
        return batches[0]
    return Batch(
        frames=b"".join(batch.frames for batch in batches),
        events=[event for batch in batches for event in batch.events],
        real=True,
        ended=batches[-1].ended,
        abandon=batches[-1].abandon,
    )


@dataclass(slots=True, kw_only=True)
class LiveStream:
    """An answer that has begun. `next` gives what follows; `close` must be called, and may be at any moment."""

    exchange: Exchange
    watch: AnswerStream
    headers: tuple[tuple[str, str], ...]
    limits: RouteLimits
    first: Batch | None
    """What opened the stream, until it is taken."""
    ended: bool
    """Nothing more comes: the terminator was seen or written."""
    abandon: bool = False
    """The provider goes on all the same: it is left at once."""
    _fault: AttemptError | None = None
    """Told by the read before, after what it brought."""

    def take_first(self) -> Batch:
        """What opened the stream. It is asked for once, and then not kept for as long as the stream runs.

        Raises:
            RuntimeError: it was taken before.
        """
        first, self.first = self.first, None
        if first is None:
            raise RuntimeError("the opening was taken before")
        return first

    async def next(self) -> Batch:
        """What the next read brings.

        Raises:
            AttemptError: the answer broke off. It is not complete.
        """
        if self._fault is not None:
            raise self._fault
        try:
            # Each coroutine in between costs a running stream its frame.
            chunk = await (rest_of(self.exchange, self.limits) if self.watch.finished else self.exchange.next_chunk())
        except AttemptError:
            if not self.watch.finished:
                raise
            chunk = b""  # every choice has finished: only the terminator was lost
        batch = self.watch.feed(chunk) if chunk else self.watch.close()
        if batch.error is not None:
            if not (batch.frames or batch.events):
                raise batch.error
            # What stood before the fault in the same read is sound: whether it reaches the caller must not depend on
            # how the network cut the bytes.
            self._fault = batch.error
            return batch
        self.ended = batch.ended or not chunk
        self.abandon = batch.abandon
        return batch

    def close(self) -> None:
        """Give the connection back if the answer is complete and the provider is done, else close the socket now.

        Idempotent.
        """
        if self.ended and not self.abandon:
            self.exchange.finish()
        else:
            self.exchange.close()


async def rest_of(exchange: Exchange, limits: RouteLimits) -> bytes:
    """What follows when every choice has finished: the terminator, soon."""
    try:
        async with asyncio.timeout(limits.stream_end_seconds):
            return await exchange.next_chunk()
    except TimeoutError:
        return b""  # it stays open without its terminator: the answer is complete all the same
