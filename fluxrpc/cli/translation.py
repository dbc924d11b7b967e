"""Translation without a server: bytes of one protocol in, those of another out, with the notes. No I/O.

Both sides may speak the same protocol: what comes out is then the same said in our words, which Execute never does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import msgspec
from google.protobuf import json_format
from google.protobuf.message import Message

from fluxrpc.errors import AttemptError, InvalidRequest, ProviderError
from fluxrpc.ir.validate import validate_request
from fluxrpc.protocols.base import Protocol, StreamOptions
from fluxrpc.protocols.bridge import CallerRequest, read_request, translating_bridge
from fluxrpc.protocols.context import Target
from fluxrpc.protocols.gates import gates_of
from fluxrpc.protocols.translation import TranslatingBridge
from fluxrpc.v1.message_pb2 import MessageRequest
from fluxrpc.v1.outcome_pb2 import NoteAction, TranslationNote

_FRAME_END = re.compile(rb"(?<=\n\n)")


class Kind(StrEnum):
    """What is translated."""

    REQUEST = "request"
    RESPONSE = "response"
    STREAM = "stream"
    ERROR = "error"


class Unusable(ValueError):
    """What was asked makes no sense; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What to translate. `source` and `goal` are the protocols of what is read and written; None is the typed form."""

    kind: Kind
    source: Protocol | None
    goal: Protocol | None
    content: bytes
    request: bytes | None = None
    """The caller's original request, in the goal's protocol: what is not a request answers it."""
    model: str = ""
    """The provider's name of the model; "" = the one that the request names."""
    strict: bool = False
    http_status: int = 400
    """Of an error."""
    now: int = 0
    """Unix seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Translated:
    """What came of it."""

    output: bytes
    """JSON."""
    notes: Sequence[TranslationNote]
    error: AttemptError | None = None
    """Why a stream is not complete."""

    def as_json(self) -> bytes:
        """`{"output": …, "notes": […]}`. Numbers, the order of keys and repeated keys stay as they are."""
        return msgspec.json.encode({"output": msgspec.Raw(self.output), "notes": [_plain(note) for note in self.notes]})


def translate(task: Task) -> Translated:
    """Do it.

    Raises:
        Unusable: the task makes no sense.
        InvalidRequest: a request is not one of its protocol.
        NotExpressible: strict, and something would be lost.
        AttemptError: an answer is not one of its protocol, or an error.
    """
    if task.kind is Kind.REQUEST:
        return _request(task)
    if task.source is None:
        raise Unusable("typed answers are not read: --from typed is for requests")
    bridge = _answer_bridge(task, task.source)
    if task.kind is Kind.RESPONSE:
        return _response(task, bridge)
    if task.kind is Kind.STREAM:
        return _stream(task, bridge)
    return _error(task, bridge)


def _request(task: Task) -> Translated:
    request = _read(task.source, task.content)
    if task.goal is None:
        return Translated(output=_message(request.read().message), notes=())
    read = request.read()
    model = task.model or read.model
    if not model:
        raise Unusable("--model is needed: the request names none")
    bridge = translating_bridge(request, _target(task.goal, model), strict=task.strict, now=task.now)
    wire = bridge.wire(stream=read.stream)
    return Translated(output=wire.body, notes=bridge.notes)


def _answer_bridge(task: Task, provider: Protocol) -> TranslatingBridge:
    """The bridge over which an answer comes back: it knows what the request's writer has left to be undone."""
    if task.request is None:
        request = CallerRequest(protocol=task.goal, message=MessageRequest())
        return translating_bridge(request, _target(provider, task.model), now=task.now)
    request = _read(task.goal, task.request)
    bridge = translating_bridge(request, _target(provider, task.model or request.read().model), now=task.now)
    bridge.wire(stream=task.kind is Kind.STREAM)
    return bridge


def _response(task: Task, bridge: TranslatingBridge) -> Translated:
    answer = bridge.read_answer(task.content)
    output = answer.body if answer.message is None else _message(answer.message)
    return Translated(output=output, notes=answer.notes)


def _stream(task: Task, bridge: TranslatingBridge) -> Translated:
    stream = bridge.open_stream(StreamOptions())
    batches = [stream.feed(task.content)]
    if not (batches[0].ended or batches[0].error):
        batches.append(stream.close())
    if task.goal is None:
        items: list[object] = [msgspec.Raw(_message(event)) for batch in batches for event in batch.events]
    else:
        frames = _FRAME_END.split(b"".join(batch.frames for batch in batches))
        items = [frame.decode() for frame in frames if frame]
    return Translated(output=msgspec.json.encode(items), notes=stream.notes, error=batches[-1].error)


def _error(task: Task, bridge: TranslatingBridge) -> Translated:
    if task.goal is None:
        raise Unusable("errors have no typed form: typed callers get a status")
    error = bridge.read_error(task.http_status, {}, task.content, now=task.now)
    if not isinstance(error, ProviderError) or error.native is None:
        raise error
    return Translated(output=error.native.body, notes=())


def _read(protocol: Protocol | None, content: bytes) -> CallerRequest:
    if protocol is not None:
        return read_request(protocol, content)
    try:
        message = json_format.Parse(content, MessageRequest())
    except (json_format.ParseError, UnicodeDecodeError) as error:
        raise InvalidRequest.at("", f"not a MessageRequest: {error}") from None
    violations = validate_request(message)
    if violations:
        raise InvalidRequest(violations)
    return CallerRequest(message=message)


def _target(protocol: Protocol, model: str) -> Target:
    return Target(protocol=protocol, model=model, gates=gates_of(protocol, model))


def _message(message: Message) -> bytes:
    return json_format.MessageToJson(message, indent=None, ensure_ascii=False).encode()


def _plain(note: TranslationNote) -> dict[str, str]:
    action = NoteAction.Name(note.action).removeprefix("NOTE_ACTION_").lower()
    return {"path": note.path, "action": action, "code": note.code, "reason": note.reason}
