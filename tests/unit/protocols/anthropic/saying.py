"""Short ways to read and write Anthropic Messages in tests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fluxrpc.protocols.anthropic.fates import FATES
from fluxrpc.protocols.anthropic.translator import AnthropicTranslator
from fluxrpc.protocols.base import Protocol, StreamOptions
from fluxrpc.protocols.context import Context, Target
from fluxrpc.protocols.gates import Gates
from fluxrpc.protocols.notes import Notes
from fluxrpc.v1.message_pb2 import ROLE_USER, Message, MessageRequest
from fluxrpc.v1.outcome_pb2 import NoteAction
from fluxrpc.v1.stream_pb2 import StreamEvent

NOW = 1_790_000_000
ANTHROPIC = AnthropicTranslator()
OWN = Protocol.ANTHROPIC
HI = Message(role=ROLE_USER, text="Hi")
ASKED = {"max_tokens": 9000}
"""What every written body here holds, beside the model and its messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A request as it was written."""

    body: dict[str, Any]
    notes: list[str]
    """`dropped TOP_K top_k`, in order."""
    context: Context
    headers: tuple[tuple[str, str], ...]
    text: bytes


def context_for(
    request: MessageRequest,
    *,
    caller: Protocol | None = None,
    gates: Gates | None = None,
    upstream: Protocol = OWN,
    version: str = "",
    service: str = "",
    stream: bool = False,
) -> Context:
    """A request on its way to a model."""
    target = Target(protocol=upstream, model="claude", gates=gates or Gates(), version=version, service=service)
    return Context(caller=caller, target=target, request=request, stream=stream, now=NOW)


def told(notes: Notes) -> list[str]:
    """Notes in words."""
    return [f"{NoteAction.Name(note.action)[12:].lower()} {note.code} {note.path}" for note in notes]


def write(request: MessageRequest, **options: Any) -> Written:
    """Write a request; what it needs and does not say is filled in."""
    if not request.messages:
        request.messages.append(HI)
    if not request.HasField("max_output_tokens"):
        request.max_output_tokens = ASKED["max_tokens"]
    return write_as_it_is(request, **options)


def write_as_it_is(request: MessageRequest, **options: Any) -> Written:
    """Write a request."""
    context = context_for(request, **options)
    notes = Notes(FATES)
    wire = ANTHROPIC.write_request(request, context, notes)
    assert wire.path == "/v1/messages"
    return Written(body=json.loads(wire.body), notes=told(notes), context=context, headers=wire.headers, text=wire.body)


def settings_of(written: Written) -> dict[str, Any]:
    """The body without what every body has."""
    return {key: value for key, value in written.body.items() if key not in ("model", "messages", "max_tokens")}


def frames(events: Sequence[dict[str, Any]]) -> bytes:
    """Events as they stand on the wire."""
    return b"".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events)


def events_in(stream: bytes) -> list[dict[str, Any]]:
    """The data of a stream's frames; each is whole and named as its data say."""
    found = []
    for frame in stream.decode().split("\n\n")[:-1]:
        name, data = frame.split("\n")
        event = json.loads(data.removeprefix("data: "))
        assert name == f"event: {event['type']}"
        found.append(event)
    return found


def read_events(stream: bytes, **options: Any) -> list[StreamEvent]:
    """A whole stream, read at once."""
    reader = ANTHROPIC.read_stream(StreamOptions(), context_for(MessageRequest(), **options))
    batch = reader.feed(stream)
    assert batch.error is None
    return [*batch.events, *reader.close().events]


def write_events(
    events: Sequence[StreamEvent], request: MessageRequest | None = None, **options: Any
) -> tuple[list[dict[str, Any]], list[str]]:
    """A whole stream, written at once, and the notes."""
    chosen: dict[str, Any] = {"caller": OWN, "stream": True} | options
    context = context_for(request or MessageRequest(), **chosen)
    notes = Notes(FATES)
    writer = ANTHROPIC.write_stream(context, notes)
    return events_in(writer.write(events) + writer.close()), told(notes)
