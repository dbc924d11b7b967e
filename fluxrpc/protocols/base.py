"""The codec interface: what every protocol folder gives, and the values that pass through it.

A codec is pure: bytes and messages in, bytes and messages out, no I/O and no clock. It knows one wire protocol.
Two kinds of use stand side by side:

* native: caller and route speak the same protocol. The body stays the caller's bytes but for the few spliced
  fields, the answer stays the provider's bytes; the codec only *watches* what passes (usage, finish, errors).
* translating: the caller speaks `MessageRequest` or another protocol; readers and writers meet in the IR.

`fluxrpc.protocols.bridge` joins them: it is what the router talks to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING
from typing import Protocol as Interface

from msgspec import Struct

from fluxrpc.errors import AttemptError, NativeErrorBody
from fluxrpc.v1.message_pb2 import MessageRequest
from fluxrpc.v1.outcome_pb2 import TranslationNote
from fluxrpc.v1.response_pb2 import Finish, MessageResponse
from fluxrpc.v1.stream_pb2 import StreamEvent
from fluxrpc.v1.usage_pb2 import Usage

if TYPE_CHECKING:
    from fluxrpc.protocols.context import Context
    from fluxrpc.protocols.notes import Fates, Notes, Places


class Protocol(StrEnum):
    """The wire protocols, in the order of preference when we must choose one."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    GEMINI = "gemini"
    COHERE = "cohere"
    RESPONSES = "responses"


Headers = Mapping[str, str]
"""Header names in lower case."""


class RequestHead(Struct, frozen=True, kw_only=True):
    """What routing must know of a native request body. Read once; the body stays bytes."""

    model: str | None
    """The model named in the body (gemini has none there)."""
    includes_usage: bool = False
    """openai: the caller asked for the usage frame of a stream (`stream_options.include_usage`)."""
    holds_state: bool = False
    """The body refers to state of one provider account (`previous_response_id`, file and container ids, …)."""
    splices: object = None
    """Where the fields that we replace stand in the body; opaque to everyone but the codec."""


class WireRequest(Struct, frozen=True, kw_only=True):
    """One HTTP request as far as the protocol decides it: path below the base URL (with query), headers, body."""

    path: str
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()


class Answer(Struct, frozen=True, kw_only=True):
    """A whole answer: what the caller gets (native `body` or typed `message`), and what was read of it."""

    body: bytes = b""
    message: MessageResponse | None = None
    usage: Usage | None = None
    served_model: str = ""
    refused: bool = False
    notes: tuple[TranslationNote, ...] = ()


class Batch(Struct, kw_only=True):
    """What one read of the upstream came to, in the caller's form.

    `frames` are whole native frames, blank lines included; `events` the typed ones. One of the two is used for a
    whole stream. `real` says that content, reasoning, a tool call, a refusal or a finish is among them (from then
    on the answer has begun). After `error` nothing of the stream counts. `ended` says that the terminator came.
    `abandon` goes with `ended`: the answer is complete for the caller, but the provider may go on for long, at a
    price (a stop sequence that it could not be told), and is to be left at once.
    """

    frames: bytes = b""
    events: Sequence[StreamEvent] = ()
    real: bool = False
    error: AttemptError | None = None
    ended: bool = False
    abandon: bool = False


class AnswerStream(Interface):
    """One streamed answer on its way to the caller: a state machine over the upstream's bytes."""

    @property
    def served_model(self) -> str:
        """The model name in the answer; "" where it gave none."""

    @property
    def malformed(self) -> int:
        """Events that were not passed on because they were broken."""

    @property
    def notes(self) -> Sequence[TranslationNote]:
        """What the translation changed so far."""

    @property
    def usage(self) -> Usage | None:
        """The latest usage seen, cumulative. Built at each access: ask once."""

    @property
    def finishes(self) -> Sequence[Finish]:
        """One for each choice that has finished, by choice index."""

    @property
    def finished(self) -> bool:
        """Whether every choice that began has finished, so that only a terminator is missing."""

    def feed(self, chunk: bytes) -> Batch:
        """Take what one read of the socket brought. Any cutting of the bytes gives the same frames.

        Raises:
            AnswerFault: an event is over the size limit, or the bytes are not an event stream.
        """

    def close(self) -> Batch:
        """The body ended. Gives what was held back and the terminator that the upstream left out.

        `error` is set where the answer is not complete: it was cut.
        """


class StreamOptions(Struct, frozen=True, kw_only=True):
    """How a stream is to be watched."""

    show_usage: bool = True
    """Pass the usage frame on (openai: only where the caller asked for it)."""
    max_event_bytes: int = 16 * 1024 * 1024


class WireOptions(Struct, frozen=True, kw_only=True):
    """What the service's settings say about writing requests to it."""

    force_usage: bool = True
    """openai: ask for the usage frame of streams; off for servers that refuse the field."""


class NativeCodec(Interface):
    """The native half of a protocol: same protocol in and out."""

    protocol: Protocol

    def read_head(self, body: bytes) -> RequestHead:
        """Read what routing needs.

        Raises:
            InvalidRequest: not a JSON object, nested too deep, or a field that we must replace is unusable.
        """

    def write_wire(
        self, head: RequestHead, body: bytes, *, model: str, stream: bool, options: WireOptions
    ) -> WireRequest:
        """The request for the provider: the caller's bytes with the model and the stream switch replaced."""

    def read_answer(self, body: bytes) -> Answer:
        """Read a 2xx unary answer without changing it.

        Raises:
            AnswerFault: empty, not JSON, cut, or not an answer of this protocol.
            ProviderError: an error body inside a 2xx.
        """

    def watch(self, options: StreamOptions) -> AnswerStream:
        """A watcher over a streamed answer; one for each stream."""

    def read_error(self, status: int, headers: Headers, body: bytes, *, now: float) -> AttemptError:
        """Classify a non-2xx answer: outcome, code word, retry hint, the native body for the caller.

        `now` (Unix seconds) turns dates in hints into seconds to wait.
        """

    def write_error(self, status: int, message: str, code: str) -> bytes:
        """An error body in this protocol for a fault of ours (5xx of the caller's protocol)."""


class ReadRequest(Struct, frozen=True, kw_only=True):
    """A native request body, read."""

    message: MessageRequest
    model: str = ""
    """The model that the body names."""
    stream: bool = False
    """The body asks for a stream."""
    show_usage: bool = True
    """openai: the caller asked for the usage frame of a stream. Others always show it."""


class ErrorView(Struct, frozen=True, kw_only=True):
    """An error as a protocol's writer needs it; `http_status` is that of the protocol it was met in."""

    http_status: int
    message: str
    detail: str = ""
    """The verdict's word, such as `RATE_LIMITED` (`fluxrpc.protocols.classify`)."""
    code: str = ""
    """The provider's code word."""
    param: str = ""
    """The field at fault, as the provider names it."""
    request_id: str = ""
    retry_after_seconds: float | None = None


class EventWriter(Interface):
    """`StreamEvent`s to the frames of a native stream. One for each stream; its memory does not grow with it.

    A writer whose protocol repeats the whole answer at its end (responses) keeps that answer, and nothing else.
    """

    def write(self, events: Sequence[StreamEvent]) -> bytes:
        """The frames for these events; b"" where they say nothing in this protocol yet."""

    def close(self) -> bytes:
        """The answer is complete: what was held back for the end, and the terminator."""


class Translator(Interface):
    """The translating half of a protocol: native bytes to the IR and back, for requests, answers, streams, errors."""

    protocol: Protocol
    fates: Fates
    """What becomes of each concept that this protocol cannot say."""
    fields: Mapping[str, str]
    """Names of IR fields (`max_output_tokens`, `image.detail`) to those of this protocol's bodies, for notes."""

    def read_request(self, body: bytes, *, version: str = "", places: Places | None = None) -> ReadRequest:
        """Read a caller's body. `places`, where given, is filled with where the nodes of the message stood.

        Raises:
            JsonFault: not a body of this protocol; with the path.
        """

    def write_request(self, request: MessageRequest, context: Context, notes: Notes) -> WireRequest:
        """The request for `context.target`, which notes what it changes and fills `context` with what to undo.

        Raises:
            InvalidRequest: it cannot be said in any way, and not for a lack of this protocol.
        """

    def read_response(self, body: bytes, context: Context, notes: Notes) -> MessageResponse:
        """Read a 2xx answer.

        Raises:
            AnswerFault: empty, not JSON, cut, or not an answer of this protocol.
            ProviderError: an error body inside a 2xx.
        """

    def write_response(self, response: MessageResponse, context: Context, notes: Notes) -> bytes:
        """The answer as this protocol's callers expect it."""

    def read_stream(self, options: StreamOptions, context: Context) -> AnswerStream:
        """A reader of a streamed answer into events (`Batch.events`); one for each stream."""

    def write_stream(self, context: Context, notes: Notes) -> EventWriter:
        """A writer of a streamed answer; one for each stream."""

    def write_error(self, error: ErrorView) -> NativeErrorBody:
        """The error as this protocol's callers expect it: status, headers, body."""


__all__ = [
    "Answer",
    "AnswerStream",
    "Batch",
    "ErrorView",
    "EventWriter",
    "Headers",
    "NativeCodec",
    "Protocol",
    "ReadRequest",
    "RequestHead",
    "StreamOptions",
    "Translator",
    "WireOptions",
    "WireRequest",
]
