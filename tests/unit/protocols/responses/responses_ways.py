"""Short ways through the translator of OpenAI Responses, for its tests."""

from __future__ import annotations

import json
from typing import Any

from fluxrpc.ir.accumulate import accumulate
from fluxrpc.protocols.base import Protocol, StreamOptions
from fluxrpc.protocols.context import Context, Target
from fluxrpc.protocols.gates import Gates
from fluxrpc.protocols.notes import Notes
from fluxrpc.protocols.responses.translator import ResponsesTranslator
from fluxrpc.v1.message_pb2 import MessageRequest
from fluxrpc.v1.outcome_pb2 import NoteAction
from fluxrpc.v1.response_pb2 import MessageResponse
from fluxrpc.v1.stream_pb2 import StreamEvent

RESPONSES = ResponsesTranslator()
OWN = Protocol.RESPONSES
NOW = 1790000000


def context_of(
    request: MessageRequest | None = None,
    *,
    caller: Protocol | None = OWN,
    target: Protocol = OWN,
    stream: bool = False,
    service: str = "",
    gates: Gates | None = None,
) -> Context:
    """A context."""
    return Context(
        caller=caller,
        target=Target(protocol=target, model="m", service=service, gates=gates or Gates()),
        request=request or MessageRequest(),
        stream=stream,
        now=NOW,
    )


def read(body: Any) -> MessageRequest:
    """A body as a message."""
    return RESPONSES.read_request(json.dumps(body).encode(), places={}).message


def write(request: MessageRequest, context: Context | None = None) -> tuple[dict[str, Any], list[str]]:
    """The body for a message, of a Chat caller unless the context says otherwise, and its notes."""
    notes = Notes(RESPONSES.fates)
    context = context or context_of(request, caller=Protocol.OPENAI)
    wire = RESPONSES.write_request(request, context, notes)
    assert wire.path == "/v1/responses"
    return json.loads(wire.body), said(notes)


def said(notes: Notes) -> list[str]:
    """Notes as `ACTION CODE path`; every one of them must be among the fates."""
    for note in notes:
        assert note.action in RESPONSES.fates.get(note.code, {}), f"{note.code} {NoteAction.Name(note.action)}"
    return [f"{NoteAction.Name(note.action).removeprefix('NOTE_ACTION_')} {note.code} {note.path}" for note in notes]


def read_answer(body: Any, context: Context | None = None) -> MessageResponse:
    """A whole answer."""
    return RESPONSES.read_response(json.dumps(body).encode(), context or context_of(), Notes(RESPONSES.fates))


def write_answer(response: MessageResponse, context: Context | None = None) -> tuple[dict[str, Any], list[str]]:
    """The whole answer for callers, of a provider of another protocol unless the context says otherwise."""
    notes = Notes(RESPONSES.fates)
    context = context or context_of(target=Protocol.ANTHROPIC)
    return json.loads(RESPONSES.write_response(response, context, notes)), said(notes)


def frames_of(events: list[dict[str, Any]]) -> bytes:
    """Events as a stream."""
    return b"".join(
        b"event: %s\ndata: %s\n\n" % (event["type"].encode(), json.dumps(event).encode()) for event in events
    )


def events_in(frames: bytes) -> list[dict[str, Any]]:
    """The events of a stream, each with its name where it belongs."""
    found = []
    for frame in frames.decode().split("\n\n")[:-1]:
        name, data = frame.split("\n")
        event = json.loads(data.removeprefix("data: "))
        assert name == f"event: {event['type']}"
        found.append(event)
    return found


def read_stream(frames: bytes, context: Context | None = None, *, step: int = 0) -> list[StreamEvent]:
    """All events of a complete stream that is fed in pieces of `step` bytes."""
    reader = RESPONSES.read_stream(StreamOptions(), context or context_of(stream=True))
    events: list[StreamEvent] = []
    for at in range(0, len(frames), step or len(frames)):
        batch = reader.feed(frames[at : at + (step or len(frames))])
        assert batch.error is None, batch.error
        events.extend(batch.events)
    batch = reader.close()
    assert batch.error is None, batch.error
    return [*events, *batch.events]


def gathered(frames: bytes, context: Context | None = None) -> MessageResponse:
    """The answer that a stream makes."""
    return accumulate(read_stream(frames, context))


def write_stream(events: list[StreamEvent], context: Context | None = None) -> tuple[list[dict[str, Any]], list[str]]:
    """The events of the stream for callers."""
    notes = Notes(RESPONSES.fates)
    writer = RESPONSES.write_stream(context or context_of(target=Protocol.ANTHROPIC, stream=True), notes)
    frames = writer.write(events)
    frames += writer.close()
    return events_in(frames), said(notes)
