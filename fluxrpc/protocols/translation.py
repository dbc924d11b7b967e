"""From one protocol to another and back, for one request: reader of the caller, writer of the target, and the way home.

Knows no protocol: it holds the readers and writers against each other, gathers their notes, and decides under strict
fidelity. Pure; one `TranslatingBridge` serves one request on one route, and is written once however often it is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from fluxrpc.errors import AttemptError, FieldViolation, NotExpressible, ProviderError
from fluxrpc.ir.events import events_of
from fluxrpc.protocols.base import (
    Answer,
    AnswerStream,
    Batch,
    ErrorView,
    EventWriter,
    Headers,
    NativeCodec,
    Protocol,
    ReadRequest,
    StreamOptions,
    Translator,
    WireRequest,
)
from fluxrpc.protocols.context import Context, Target
from fluxrpc.protocols.notes import Notes, Places, locator
from fluxrpc.protocols.undo import Undo, is_needed, undo_response
from fluxrpc.v1.outcome_pb2 import TranslationNote
from fluxrpc.v1.response_pb2 import FINISH_REASON_CONTENT_FILTER, FINISH_REASON_REFUSAL, Finish, MessageResponse
from fluxrpc.v1.usage_pb2 import Usage

__all__ = ["TranslatingBridge", "whole_as_stream"]

Translators = Mapping[Protocol, Translator]
_REFUSALS = frozenset({FINISH_REASON_CONTENT_FILTER, FINISH_REASON_REFUSAL})
_MAX_NAMED_LOSSES = 8


class TranslatingBridge:
    """See `fluxrpc.protocols.bridge.Bridge`."""

    __slots__ = ("_caller", "_context", "_native", "_places_of", "_strict", "_target", "_wired", "notes")

    def __init__(
        self,
        asked: ReadRequest,
        caller: Protocol | None,
        target: Target,
        *,
        translators: Translators,
        native: NativeCodec,
        places_of: Callable[[], Places],
        version: str = "",
        strict: bool = False,
        now: int = 0,
    ) -> None:
        """`places_of` tells, when there is something to note, where the nodes of the IR stood in the caller's body."""
        self._caller = None if caller is None else translators[caller]
        self._target = translators[target.protocol]
        self._native = native
        self._places_of = places_of
        self._strict = strict
        self._context = Context(
            caller=caller,
            target=target,
            request=asked.message,
            show_usage=asked.show_usage,
            caller_version=version,
            now=now,
        )
        self._wired: tuple[bool, WireRequest] | None = None
        self.notes: tuple[TranslationNote, ...] = ()

    @property
    def context(self) -> Context:
        """What the request's writer has left for the answer."""
        return self._context

    def wire(self, *, stream: bool) -> WireRequest:
        """See `Bridge.wire`."""
        if self._wired is not None and self._wired[0] is stream:
            return self._wired[1]
        self._context.stream = stream
        notes = Notes(self._target.fates)
        wire = self._target.write_request(self._context.request, self._context, notes)
        self._wired = stream, wire
        if notes:
            self._take_notes(notes)
        return wire

    def read_answer(self, body: bytes) -> Answer:
        """See `Bridge.read_answer`."""
        notes = self._answer_notes()
        response = self._target.read_response(body, self._context, notes)
        return self._answer(response, notes)

    def read_error(self, status: int, headers: Headers, body: bytes, *, now: float) -> AttemptError:
        """See `Bridge.read_error`: the native body is the caller's."""
        return self._translated(self._native.read_error(status, headers, body, now=now))

    def open_stream(self, options: StreamOptions) -> AnswerStream:
        """See `Bridge.open_stream`."""
        reader = self._target.read_stream(options, self._context)
        return TranslatedStream(reader, self._context, *self._writer(), self._translated)

    def stream_of(self, body: bytes) -> tuple[AnswerStream, Batch]:
        """See `Bridge.stream_of`."""
        notes = self._answer_notes()
        response = self._target.read_response(body, self._context, notes)
        stream = TranslatedStream(WholeAnswer(response), self._context, *self._writer(notes), self._translated)
        return stream, stream.close()

    def gathered(self, response: MessageResponse) -> Answer:
        """A streamed answer that was gathered for a unary caller."""
        return self._answer(response, self._answer_notes())

    def _answer(self, response: MessageResponse, notes: Notes) -> Answer:
        if is_needed(self._context):
            undo_response(response, self._context)
        body = b"" if self._caller is None else self._caller.write_response(response, self._context, notes)
        return Answer(
            body=body,
            message=response if self._caller is None else None,
            usage=response.usage if response.HasField("usage") else None,
            served_model=response.model,
            refused=any(choice.finish.reason in _REFUSALS for choice in response.choices),
            notes=tuple(notes.messages(str)) if notes else (),
        )

    def _answer_notes(self) -> Notes:
        return Notes({} if self._caller is None else self._caller.fates)

    def _writer(self, notes: Notes | None = None) -> tuple[EventWriter | None, Notes]:
        notes = self._answer_notes() if notes is None else notes
        return (None if self._caller is None else self._caller.write_stream(self._context, notes)), notes

    def _translated(self, error: AttemptError) -> AttemptError:
        if not isinstance(error, ProviderError) or error.native is None:
            return error
        if self._caller is None:
            return error
        error.native = self._caller.write_error(view_of(error))
        return error

    def _take_notes(self, notes: Notes) -> None:
        places: Places = {}
        fields: Mapping[str, str] = {}
        if self._caller is not None:
            places = self._places_of()
            fields = self._caller.fields
        locate = locator(places, fields)
        self.notes = tuple(notes.messages(locate))
        if self._strict:
            losses = [note for note in notes if note.is_loss]
            if losses:
                violations = [FieldViolation(path=locate(note.path), message=note.reason) for note in losses]
                raise NotExpressible(_losses_text(violations, self._context.target), violations=violations)


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

    __slots__ = ("_error", "_notes", "_reader", "_undo", "_writer")

    def __init__(
        self,
        reader: AnswerStream,
        context: Context,
        writer: EventWriter | None,
        notes: Notes,
        error: Callable[[AttemptError], AttemptError],
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._notes = notes
        self._error = error
        self._undo = Undo(context) if is_needed(context) else None

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
        """See `AnswerStream.usage`."""
        return self._reader.usage

    @property
    def finishes(self) -> Sequence[Finish]:
        """See `AnswerStream.finishes`."""
        if self._undo is not None and self._undo.finishes:
            return self._undo.finishes
        return self._reader.finishes

    @property
    def finished(self) -> bool:
        """See `AnswerStream.finished`."""
        return self._reader.finished or (self._undo is not None and self._undo.is_over)

    def feed(self, chunk: bytes) -> Batch:
        """See `AnswerStream.feed`."""
        return self._turned(self._reader.feed(chunk))

    def close(self) -> Batch:
        """See `AnswerStream.close`."""
        return self._turned(self._reader.close())

    def _turned(self, batch: Batch) -> Batch:
        if self._undo is not None and batch.events:
            if self._undo.is_over:
                return Batch(ended=True)
            batch.events = self._undo.events(batch.events)
            if self._undo.is_over:
                batch.ended, batch.error = True, None
        if batch.error is not None:
            batch.error = self._error(batch.error)
        if self._writer is not None:
            batch.frames = self._writer.write(batch.events) if batch.events else b""
            batch.events = ()
            if batch.ended:
                batch.frames += self._writer.close()
        return batch


def whole_as_stream(
    body: bytes, asked: ReadRequest, protocol: Protocol, target: Target, *, translators: Translators
) -> tuple[AnswerStream, Batch]:
    """A whole answer of the caller's own protocol as a stream of it."""
    translator = translators[protocol]
    context = Context(caller=protocol, target=target, request=asked.message, stream=True, show_usage=asked.show_usage)
    notes = Notes(translator.fates)
    response = translator.read_response(body, context, notes)
    writer = translator.write_stream(context, notes)
    stream = TranslatedStream(WholeAnswer(response), context, writer, notes, _as_it_is)
    return stream, stream.close()


def view_of(error: ProviderError) -> ErrorView:
    """What the writer of another protocol needs of an error."""
    headers = {} if error.native is None else dict(error.native.headers)
    return ErrorView(
        http_status=error.http_status,
        message=error.provider_message or error.safe_message,
        detail=error.detail,
        code=error.provider_code,
        request_id=headers.get("x-request-id") or headers.get("request-id") or "",
        retry_after_seconds=error.retry_after_seconds,
    )


def _as_it_is(error: AttemptError) -> AttemptError:
    return error


def _losses_text(losses: Sequence[FieldViolation], target: Target) -> str:
    named = "; ".join(f"{loss.path}: {loss.message}" for loss in losses[:_MAX_NAMED_LOSSES])
    more = f"; and {len(losses) - _MAX_NAMED_LOSSES} more" if len(losses) > _MAX_NAMED_LOSSES else ""
    return f"{target.protocol} ({target.model}) cannot say it: {named}{more}"
