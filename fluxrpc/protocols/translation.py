"""From one protocol to another and back, for one request: reader of the caller, writer of the target, and the way home.

Knows no protocol: it holds the readers and writers against each other, gathers their notes, and decides under strict
fidelity. Pure; one `TranslatingBridge` serves one request on one route, and is written once however often it is sent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from http import HTTPStatus

from fluxrpc.errors import AttemptError, FieldViolation, InvalidRequest, NotExpressible, ProviderError
from fluxrpc.protocols.base import (
    Answer,
    AnswerStream,
    Batch,
    ErrorView,
    Headers,
    NativeCodec,
    Protocol,
    ReadRequest,
    StreamOptions,
    Translator,
    WireRequest,
)
from fluxrpc.protocols.context import Context, Target
from fluxrpc.protocols.notes import Locate, Notes, Places, locator
from fluxrpc.protocols.translated_stream import Gatherer, TranslatedStream, WholeAnswer, failure_in
from fluxrpc.protocols.undo import is_needed, undo_response
from fluxrpc.v1.outcome_pb2 import TranslationNote
from fluxrpc.v1.response_pb2 import FINISH_REASON_CONTENT_FILTER, FINISH_REASON_REFUSAL, MessageResponse

__all__ = ["TranslatingBridge", "Translators", "view_of"]

Translators = Mapping[Protocol, Translator]
_REFUSALS = frozenset({FINISH_REASON_CONTENT_FILTER, FINISH_REASON_REFUSAL})
_MAX_NAMED_LOSSES = 8


class TranslatingBridge:
    """See `fluxrpc.protocols.bridge.Bridge`."""

    __slots__ = ("_body", "_caller", "_context", "_native", "_strict", "_target", "_wired", "notes")

    def __init__(
        self,
        asked: ReadRequest,
        caller: Protocol | None,
        target: Target,
        *,
        translators: Translators,
        native: NativeCodec,
        body: bytes = b"",
        version: str = "",
        strict: bool = False,
        now: int = 0,
    ) -> None:
        """`body` is what the caller sent, `asked` what was read of it; of typed callers there is only the latter."""
        self._caller = None if caller is None else translators[caller]
        self._target = translators[target.protocol]
        self._native = native
        self._body = body
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
        self._context = _fresh(self._context, stream=stream)
        notes = Notes(self._target.fates)
        try:
            wire = self._target.write_request(self._context.request, self._context, notes)
        except (InvalidRequest, NotExpressible) as error:
            locate = self._locator(may_stand_in_list=True)
            found = [FieldViolation(path=locate(each.path), message=each.message) for each in error.violations]
            if isinstance(error, InvalidRequest):
                raise InvalidRequest(found) from error
            raise NotExpressible(_losses_text(found, self._context.target), violations=found) from error
        self._take_notes(notes)
        self._wired = stream, wire
        return wire

    def read_answer(self, body: bytes) -> Answer:
        """See `Bridge.read_answer`."""
        notes = self._answer_notes()
        return self._answer(self._read(body, notes), notes)

    def read_error(self, status: int, headers: Headers, body: bytes, *, now: float) -> AttemptError:
        """See `Bridge.read_error`: the native body is the caller's."""
        return self._in_callers_words(self._native.read_error(status, headers, body, now=now))

    def open_stream(self, options: StreamOptions) -> AnswerStream:
        """See `Bridge.open_stream`."""
        return self._stream(self._target.read_stream(options, self._context), self._answer_notes())

    def stream_of(self, body: bytes) -> tuple[AnswerStream, Batch]:
        """See `Bridge.stream_of`."""
        notes = self._answer_notes()
        stream = self._stream(WholeAnswer(self._read(body, notes)), notes)
        return stream, stream.close()

    def gatherer(self, options: StreamOptions) -> Gatherer:
        """See `Bridge.gatherer`."""
        return Gatherer(self._target.read_stream(options, self._context), self._gathered, self._in_callers_words)

    def _gathered(self, response: MessageResponse, notes: Sequence[TranslationNote]) -> Answer:
        self._refuse_failed(response)
        return self._answer(response, self._answer_notes(), notes)

    def _read(self, body: bytes, notes: Notes) -> MessageResponse:
        try:
            response = self._target.read_response(body, self._context, notes)
        except ProviderError as error:
            self._in_callers_words(error)
            raise
        self._refuse_failed(response)
        return response

    def _refuse_failed(self, response: MessageResponse) -> None:
        failure = failure_in([choice.finish for choice in response.choices], self._context)
        if failure is not None:
            raise failure

    def _answer(self, response: MessageResponse, notes: Notes, known_notes: Sequence[TranslationNote] = ()) -> Answer:
        if is_needed(self._context):
            undo_response(response, self._context, notes)
        body = b"" if self._caller is None else self._caller.write_response(response, self._context, notes)
        return Answer(
            body=body,
            message=response if self._caller is None else None,
            usage=response.usage if response.HasField("usage") else None,
            served_model=response.model,
            refused=not _REFUSALS.isdisjoint([choice.finish.reason for choice in response.choices]),
            notes=(*known_notes, *notes.messages(str)),
        )

    def _answer_notes(self) -> Notes:
        return Notes({} if self._caller is None else self._caller.fates)

    def _stream(self, reader: AnswerStream, notes: Notes) -> TranslatedStream:
        writer = None if self._caller is None else self._caller.write_stream(self._context, notes)
        # Not a method of this bridge: a stream may last for hours, and the body of its request need not.
        return TranslatedStream(reader, self._context, writer, notes, partial(_in_words_of, self._caller))

    def _in_callers_words(self, error: AttemptError) -> AttemptError:
        return _in_words_of(self._caller, error)

    def _locator(self, *, may_stand_in_list: bool) -> Locate:
        """From places in the IR to those in the caller's own body.

        The body is read again for where things stood in it, but only for what stands in lists: single fields are known
        by name.
        """
        if self._caller is None:
            return str
        places: Places = {}
        if may_stand_in_list:
            self._caller.read_request(self._body, version=self._context.caller_version, places=places)
        return locator(places, self._caller.fields)

    def _take_notes(self, notes: Notes) -> None:
        """Keep the notes with their places in the caller's own body."""
        if not notes:
            self.notes = ()
            return
        locate = self._locator(may_stand_in_list=any("[" in note.path for note in notes))
        self.notes = tuple(notes.messages(locate))
        losses = [FieldViolation(path=note.located(locate), message=note.reason) for note in notes if note.is_loss]
        if losses and self._strict:
            raise NotExpressible(_losses_text(losses, self._context.target), violations=losses)


def _fresh(context: Context, *, stream: bool) -> Context:
    """The context of a request that is about to be written, whatever was written of it before."""
    return Context(
        caller=context.caller,
        target=context.target,
        request=context.request,
        stream=stream,
        show_usage=context.show_usage,
        caller_version=context.caller_version,
        now=context.now,
    )


def _in_words_of(caller: Translator | None, error: AttemptError) -> AttemptError:
    if caller is not None and isinstance(error, ProviderError) and error.native is not None:
        error.native = caller.write_error(view_of(error))
    return error


def view_of(error: ProviderError) -> ErrorView:
    """What the writer of another protocol needs of an error."""
    headers = {} if error.native is None else dict(error.native.headers)
    return ErrorView(
        http_status=error.http_status,
        message=error.provider_message or _status_text(error),
        detail=error.detail,
        code=error.provider_code,
        request_id=headers.get("x-request-id") or headers.get("request-id") or "",
        retry_after_seconds=error.retry_after_seconds,
    )


def _status_text(error: ProviderError) -> str:
    """What is said of an error whose provider said nothing (a proxy's page, an empty body)."""
    try:
        return f"{error.http_status} {HTTPStatus(error.http_status).phrase}"
    except ValueError:
        return f"HTTP status {error.http_status}"


def _losses_text(losses: Sequence[FieldViolation], target: Target) -> str:
    named = "; ".join(f"{loss.path}: {loss.message}" for loss in losses[:_MAX_NAMED_LOSSES])
    more = f"; and {len(losses) - _MAX_NAMED_LOSSES} more" if len(losses) > _MAX_NAMED_LOSSES else ""
    return f"{target.protocol} ({target.model}) cannot say it: {named}{more}"
