"""A streamed answer of one protocol as that of another, a whole answer as a stream, and a stream as a whole answer.

Pure state machines between a reader and a writer; they know no protocol. Invariant: nothing comes out behind an error
or behind the end, and a writer is closed exactly once, when the answer is complete.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from fluxrpc.errors import AnswerFault, AttemptError
from fluxrpc.ir.accumulate import Accumulator, EventOrderError
from fluxrpc.ir.events import events_of
from fluxrpc.protocols.base import Answer, AnswerStream, Batch, EventWriter
from fluxrpc.protocols.context import Context
from fluxrpc.protocols.notes import Notes
from fluxrpc.protocols.undo import Undo, is_needed
from fluxrpc.v1.outcome_pb2 import TranslationNote
from fluxrpc.v1.response_pb2 import (
    FINISH_REASON_CANCELLED,
    FINISH_REASON_ERROR,
    FINISH_REASON_TIMEOUT,
    Finish,
    MessageResponse,
)
from fluxrpc.v1.usage_pb2 import Usage

__all__ = ["Gatherer", "InCallersWords", "TranslatedStream", "WholeAnswer", "failure_in"]

_FAILURES = frozenset({FINISH_REASON_ERROR, FINISH_REASON_TIMEOUT, FINISH_REASON_CANCELLED})
InCallersWords = Callable[[AttemptError], AttemptError]
"""Puts the native body of an error into the caller's protocol."""


def failure_in(finishes: Iterable[Finish], context: Context) -> AnswerFault | None:
    """The fault that an answer is whose provider itself calls it failed, in an end like any other.

    Other protocols have no word for such an end (Chat would say `stop`), and nothing may look whole that is not.
    Callers of the provider's own protocol and typed ones are told its word and can judge.
    """
    if context.caller in (None, context.target.protocol):
        return None
    for finish in finishes:
        if finish.reason in _FAILURES:
            said = f"GENERATION_FAILED: the provider ended the answer with {finish.raw!r}"
            return AnswerFault("GENERATION_FAILED", said)
    return None


class WholeAnswer:
    """A whole answer that plays a stream: everything comes with its end."""

    def __init__(self, response: MessageResponse) -> None:
        self.served_model = response.model
        self.malformed = 0
        self.notes: Sequence[TranslationNote] = ()
        self.usage: Usage | None = response.usage if response.HasField("usage") else None
        self.finishes: Sequence[Finish] = [choice.finish for choice in response.choices]
        self.finished = True
        self._response = response

    def feed(self, chunk: bytes) -> Batch:  # noqa: ARG002  # nothing follows a whole answer
        """Nothing follows."""
        return Batch()

    def close(self) -> Batch:
        """The answer."""
        return Batch(events=events_of(self._response), real=True, ended=True)


class TranslatedStream:
    """A streamed answer of one protocol as that of another: an `AnswerStream`. Without a writer it stays typed."""

    __slots__ = ("_context", "_error", "_notes", "_reader", "_undo", "_writer")

    def __init__(
        self,
        reader: AnswerStream,
        context: Context,
        writer: EventWriter | None,
        notes: Notes,
        error: InCallersWords,
    ) -> None:
        """`notes` are those that `writer` makes."""
        self._context = context
        self._reader = reader
        self._writer = writer
        self._notes = notes
        self._error = error
        self._undo = Undo(context, notes) if is_needed(context) else None

    @property
    def served_model(self) -> str:
        """See `AnswerStream.served_model`."""
        return self._reader.served_model

    @property
    def malformed(self) -> int:
        """See `AnswerStream.malformed`."""
        return self._reader.malformed

    @property
    def notes(self) -> Sequence[TranslationNote]:
        """See `AnswerStream.notes`."""
        return [*self._reader.notes, *self._notes.messages(str)]

    @property
    def usage(self) -> Usage | None:
        """See `AnswerStream.usage`. What an answer that was cut at a stop sequence had cost so far."""
        return self._reader.usage

    @property
    def finishes(self) -> Sequence[Finish]:
        """See `AnswerStream.finishes`."""
        return (self._undo and self._undo.finishes) or self._reader.finishes

    @property
    def finished(self) -> bool:
        """See `AnswerStream.finished`."""
        return self._reader.finished or self._is_cut

    def feed(self, chunk: bytes) -> Batch:
        """See `AnswerStream.feed`."""
        return self._written(self._undone(self._reader.feed(chunk)))

    def close(self) -> Batch:
        """See `AnswerStream.close`."""
        return self._written(self._undone(self._reader.close()))

    @property
    def _is_cut(self) -> bool:
        return self._undo is not None and self._undo.is_over

    def _undone(self, batch: Batch) -> Batch:
        undo = self._undo
        if undo is None:
            return batch
        if self._is_cut:
            return Batch()
        batch.events = undo.events(batch.events)
        if undo.is_over:
            batch.abandon = not batch.ended
            batch.ended, batch.error = True, None
        return batch

    def _written(self, batch: Batch) -> Batch:
        if batch.ended and (failure := failure_in(self.finishes, self._context)) is not None:
            batch.ended, batch.error = False, failure
            batch.events = [event for event in batch.events if not event.HasField("finish")]
        if batch.error is not None:
            batch.error = self._error(batch.error)
        if self._writer is not None:
            batch.frames = self._writer.write(batch.events) if batch.events else b""
            batch.events = ()
            if batch.ended:
                batch.frames += self._writer.close()
        return batch


class Gatherer:
    """Gathers a stream for a caller that waits for the whole answer.

    It is read to its end, also where a stop sequence will cut the answer: the end brings the usage.

    It does not count bytes: who reads them does.
    """

    __slots__ = ("_accumulator", "_answer", "_error", "_reader", "ended")

    def __init__(
        self,
        reader: AnswerStream,
        answer: Callable[[MessageResponse, Sequence[TranslationNote]], Answer],
        error: InCallersWords,
    ) -> None:
        self.ended = False
        """The answer is complete; what follows does not count."""
        self._reader = reader
        self._answer = answer
        self._error = error
        self._accumulator = Accumulator()

    @property
    def malformed(self) -> int:
        """Events that were left out because they were broken."""
        return self._reader.malformed

    @property
    def finished(self) -> bool:
        """Whether every choice that began has finished, so that only a terminator is missing."""
        return self._reader.finished

    def feed(self, chunk: bytes) -> bool:
        """Take what one read of the socket brought; true once the answer is complete.

        Raises:
            AttemptError: the provider said an error, or what came is no answer.
        """
        self._take(self._reader.feed(chunk))
        return self.ended

    def close(self) -> Answer:
        """The body ended, or the answer is complete.

        Raises:
            AttemptError: the answer was cut, or is none.
        """
        if not self.ended:
            self._take(self._reader.close())
        return self._answer(self._accumulator.response(), self._reader.notes)

    def _take(self, batch: Batch) -> None:
        if batch.error is not None:
            raise self._error(batch.error)
        try:
            for event in batch.events:
                self._accumulator.feed(event)
        except EventOrderError as fault:
            raise AnswerFault("MALFORMED_ANSWER", f"MALFORMED_ANSWER: {fault}") from None
        self.ended |= batch.ended
