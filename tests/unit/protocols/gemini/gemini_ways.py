"""Ways through the Gemini translator, for tables of tests."""

from __future__ import annotations

import json
from typing import Any

from google.protobuf.json_format import ParseDict

from fluxrpc.ir.accumulate import accumulate
from fluxrpc.protocols.base import Protocol, StreamOptions
from fluxrpc.protocols.context import Context, Target
from fluxrpc.protocols.gates import Gates
from fluxrpc.protocols.gemini.translator import GeminiTranslator
from fluxrpc.protocols.notes import Notes
from fluxrpc.v1.message_pb2 import MessageRequest
from fluxrpc.v1.outcome_pb2 import NoteAction
from fluxrpc.v1.response_pb2 import MessageResponse
from fluxrpc.v1.stream_pb2 import StreamEvent

GEMINI = GeminiTranslator()
ASKED = {"messages": [{"role": "ROLE_USER", "text": "?"}]}
"""The smallest request of the IR, as JSON."""


def context_of(
    request: dict[str, Any] | MessageRequest | None = None,
    *,
    caller: Protocol | None = Protocol.OPENAI,
    target: Protocol = Protocol.GEMINI,
    model: str = "gemini-2.5-flash",
    **gates: Any,
) -> Context:
    """The context of a request to a model with these gates."""
    message = request if isinstance(request, MessageRequest) else message_of(request or ASKED)
    return Context(
        caller=caller,
        target=Target(protocol=target, model=model, gates=Gates(**gates), service="google"),
        request=message,
    )


def message_of(request: dict[str, Any]) -> MessageRequest:
    """A request of the IR, written as JSON; without messages it asks `?`."""
    return ParseDict({**ASKED, **request}, MessageRequest())


def read(body: dict[str, Any]) -> MessageRequest:
    """A body to the IR."""
    return GEMINI.read_request(json.dumps(body).encode()).message


def write(context: Context) -> tuple[dict[str, Any], set[str]]:
    """The request of a context as a body, and its notes as `ACTION CODE path`."""
    notes = Notes(GEMINI.fates)
    body: dict[str, Any] = json.loads(GEMINI.write_request(context.request, context, notes).body)
    return body, said(notes)


def asked(request: dict[str, Any], **options: Any) -> tuple[dict[str, Any], set[str]]:
    """A request of the IR, written as JSON, to a body and notes."""
    return write(context_of(request, **options))


def answer(response: dict[str, Any] | MessageResponse, **options: Any) -> tuple[dict[str, Any], set[str]]:
    """An answer of the IR, perhaps written as JSON, to a body and notes. It comes from another protocol."""
    notes = Notes(GEMINI.fates)
    message = response if isinstance(response, MessageResponse) else ParseDict(response, MessageResponse())
    context = context_of(caller=Protocol.GEMINI, **{"target": Protocol.OPENAI, **options})
    return json.loads(GEMINI.write_response(message, context, notes)), said(notes)


def read_answer(body: dict[str, Any], **options: Any) -> MessageResponse:
    """A body of an answer to the IR."""
    return GEMINI.read_response(json.dumps(body).encode(), context_of(**options), Notes({}))


def sse(*frames: dict[str, Any] | str) -> bytes:
    """Frames as they come over the wire."""
    texts = [frame if isinstance(frame, str) else json.dumps(frame) for frame in frames]
    return "".join(f"data: {text}\r\n\r\n" for text in texts).encode()


def events_of_frames(data: bytes, **options: Any) -> list[StreamEvent]:
    """The events of a whole stream, which must be complete."""
    reader = GEMINI.read_stream(StreamOptions(), context_of(**options))
    first, last = reader.feed(data), reader.close()
    assert first.error is None
    assert last.error is None
    assert last.ended
    assert reader.malformed == 0
    return [*first.events, *last.events]


def gathered(*frames: dict[str, Any] | str, **options: Any) -> MessageResponse:
    """What a stream comes to."""
    return accumulate(events_of_frames(sse(*frames), **options))


def frames_of(
    events: list[StreamEvent], *, target: Protocol = Protocol.OPENAI
) -> tuple[list[dict[str, Any]], set[str]]:
    """The frames of events, the last one included, and the notes."""
    notes = Notes(GEMINI.fates)
    writer = GEMINI.write_stream(context_of(caller=Protocol.GEMINI, target=target), notes)
    text = (writer.write(events) + writer.close()).decode()
    assert text.endswith("\n\n")
    lines = text.removesuffix("\n\n").split("\n\n")
    assert all(line.startswith("data: ") and "\n" not in line for line in lines)
    return [json.loads(line.removeprefix("data: ")) for line in lines], said(notes)


def said(notes: Notes) -> set[str]:
    """Notes as `ACTION CODE path`; every one of them must be among the fates."""
    for note in notes:
        assert note.action in GEMINI.fates.get(note.code, {}), f"{note.code} {NoteAction.Name(note.action)}"
    return {f"{NoteAction.Name(note.action).removeprefix('NOTE_ACTION_')} {note.code} {note.path}" for note in notes}
