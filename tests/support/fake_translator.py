"""A protocol of one line: small enough to see what the joining of readers and writers does by itself.

Requests are `ask:<words>`, answers `<reason>:<words>`; in a stream each event is a letter of text, `.` ends it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fluxrpc.errors import (
    AnswerFault,
    AttemptError,
    FieldViolation,
    InvalidRequest,
    NativeErrorBody,
    NotExpressible,
    Outcome,
    ProviderError,
)
from fluxrpc.ir.accumulate import accumulate
from fluxrpc.protocols.base import (
    AnswerStream,
    Batch,
    ErrorView,
    EventWriter,
    Protocol,
    ReadRequest,
    StreamOptions,
    WireRequest,
)
from fluxrpc.protocols.context import Context
from fluxrpc.protocols.json_text import JsonFault
from fluxrpc.protocols.notes import Fates, Notes, Places
from fluxrpc.v1.message_pb2 import ROLE_USER, Message, MessageRequest
from fluxrpc.v1.outcome_pb2 import NOTE_ACTION_DROPPED, TranslationNote
from fluxrpc.v1.part_pb2 import Part
from fluxrpc.v1.response_pb2 import FINISH_REASON_REFUSAL, FINISH_REASON_STOP, Choice, Finish, MessageResponse
from fluxrpc.v1.stream_pb2 import PartDelta, PartStart, PartStop, StreamEvent
from fluxrpc.v1.usage_pb2 import Usage

USAGE = Usage(output_tokens=1)
END = Finish(reason=FINISH_REASON_STOP)
READER_NOTE = TranslationNote(code="LONE_SURROGATE")


class FakeStream:
    """Reads letters."""

    def __init__(self) -> None:
        self.served_model = "served"
        self.malformed = 2
        self.notes: Sequence[TranslationNote] = [READER_NOTE]
        self.usage: Usage | None = USAGE
        self.finishes: Sequence[Finish] = ()
        self.finished = False

    def feed(self, chunk: bytes) -> Batch:
        """`<` begins, `.` ends, `!` is an error, `?` breaks the grammar, and each letter is text."""
        events: list[StreamEvent] = []
        error: AttemptError | None = None
        for letter in chunk.decode():
            if letter == "<":
                events.append(StreamEvent(response_start=MessageResponse(model="served")))
                events.append(StreamEvent(part_start=PartStart(part=Part(text=""))))
            elif letter == ".":
                events += [StreamEvent(part_stop=PartStop()), StreamEvent(finish=END), StreamEvent(usage=USAGE)]
                self.finishes, self.finished = [END], True
            elif letter == "!":
                error = fault_of("said")
            else:
                events.append(StreamEvent(part_delta=PartDelta(text=letter, part_index=9 if letter == "?" else 0)))
        return Batch(events=events, real=bool(events), error=error, ended=self.finished)

    def close(self) -> Batch:
        """Cut, unless it had ended."""
        return Batch() if self.finished else Batch(error=AnswerFault("STREAM_CUT"))


class FakeWriter:
    """Writes letters back, and an end."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes

    def write(self, events: Sequence[StreamEvent]) -> bytes:
        """The text of the deltas; a finish is noted."""
        if any(event.HasField("finish") for event in events):
            self._notes.dropped("FINISH_DETAILS", "choices[0].finish")
        return "".join(event.part_delta.text for event in events).encode()

    def close(self) -> bytes:
        """The end."""
        return b"|"


def fault_of(message: str) -> ProviderError:
    """An error as a provider of this protocol says it."""
    native = NativeErrorBody(
        protocol=Protocol.COHERE, http_status=429, body=b"native", headers=(("x-request-id", "r1"),)
    )
    return ProviderError(
        "RATE_LIMITED",
        outcome=Outcome.LIMITED,
        http_status=429,
        provider_code="slow",
        provider_message=message,
        retry_after_seconds=2.0,
        native=native,
    )


class FakeTranslator:
    """See `fluxrpc.protocols.base.Translator`."""

    def __init__(self) -> None:
        self.protocol = Protocol.OPENAI
        self.fates: Fates = {"TOP_K": {NOTE_ACTION_DROPPED: "never heard of it"}}
        self.fields: Mapping[str, str] = {"top_k": "k"}
        self.views: list[ErrorView] = []
        self.contexts: list[Context] = []
        self.readings = 0

    def read_request(self, body: bytes, *, version: str = "", places: Places | None = None) -> ReadRequest:
        """`ask:<words>`; `top_k` among the words sets it."""
        self.readings += 1
        if not body.startswith(b"ask:"):
            raise JsonFault("a question is expected", path="say")
        if places is not None:
            places["messages[0]"] = f"say{version}"
        message = MessageRequest(messages=[Message(role=ROLE_USER, text=body[4:].decode())])
        if b"top_k" in body:
            message.top_k = 3
        return ReadRequest(message=message, model="asked", show_usage=False)

    def write_request(self, request: MessageRequest, context: Context, notes: Notes) -> WireRequest:
        """`ask:<words>`; neither top_k nor images can be said, and the answer must be cut for a word `stop`."""
        self.contexts.append(context)
        words = request.messages[0].text
        if request.HasField("top_k"):
            notes.dropped("TOP_K", "top_k")
            if "plain" not in words:
                notes.dropped("METADATA", "messages[0].metadata")
        fault = FieldViolation(path="messages[0].x", message="no")
        if "unsayable" in words:
            raise NotExpressible("no", violations=[fault])
        if "senseless" in words:
            raise InvalidRequest([fault])
        if "stop" in words:
            context.stops = ("st",)
        for number in range(words.count("image")):
            notes.dropped("IMAGE", f"messages[{number}]")
        return WireRequest(path="stream" if context.stream else "whole", body=f"ask:{words}".encode())

    def read_response(self, body: bytes, context: Context, notes: Notes) -> MessageResponse:
        """`<reason>:<words>`."""
        reason, _, words = body.decode().partition(":")
        if reason == "error":
            raise fault_of(words)
        notes.dropped("MATCHED_STOP", "choices[0].finish.matched_stop")
        finish = Finish(reason=FINISH_REASON_REFUSAL if reason == "refused" else FINISH_REASON_STOP)
        usage = None if reason == "free" else USAGE
        return MessageResponse(model="served", choices=[Choice(parts=[Part(text=words)], finish=finish)], usage=usage)

    def write_response(self, response: MessageResponse, context: Context, notes: Notes) -> bytes:
        """The words."""
        notes.dropped("FINISH_DETAILS", "created")
        return f"{context.now}:{response.choices[0].parts[0].text}".encode()

    def read_stream(self, options: StreamOptions, context: Context) -> AnswerStream:
        """Letters."""
        self.contexts.append(context)
        return FakeStream()

    def write_stream(self, context: Context, notes: Notes) -> EventWriter:
        """Letters."""
        self.contexts.append(context)
        return FakeWriter(notes)

    def write_error(self, error: ErrorView) -> NativeErrorBody:
        """Keeps what it was told."""
        self.views.append(error)
        return NativeErrorBody(protocol=self.protocol, http_status=error.http_status, body=b"translated")


def text_of(events: Sequence[StreamEvent]) -> str:
    """What the events of one answer say."""
    return accumulate(events).choices[0].parts[0].text
