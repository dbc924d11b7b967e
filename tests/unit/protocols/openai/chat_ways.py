"""Ways through the translator of OpenAI Chat Completions, and the official SDK's types as judges of what it writes."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from pydantic import ConfigDict, TypeAdapter
from typing_extensions import is_typeddict

from fluxrpc.protocols.base import Batch, Protocol, StreamOptions
from fluxrpc.protocols.context import Context, Target
from fluxrpc.protocols.gates import Gates
from fluxrpc.protocols.notes import Notes
from fluxrpc.protocols.registry import TRANSLATORS
from fluxrpc.v1.message_pb2 import MessageRequest
from fluxrpc.v1.outcome_pb2 import NoteAction
from fluxrpc.v1.response_pb2 import MessageResponse
from fluxrpc.v1.stream_pb2 import StreamEvent

OPENAI = TRANSLATORS[Protocol.OPENAI]
NOW = 1_790_000_000
HI = {"role": "user", "content": "Hi"}


class Written(NamedTuple):
    """A body, what was noted, and what was left for the answer."""

    body: dict[str, Any]
    notes: list[tuple[str, str, str]]
    context: Context


def context_of(
    request: MessageRequest | None = None,
    *,
    caller: Protocol | None = None,
    gates: Gates | None = None,
    dialect: str = "",
    stream: bool = False,
    target: Protocol = Protocol.OPENAI,
    force_usage: bool = True,
    **more: Any,
) -> Context:
    model = Target(
        protocol=target,
        model="gpt-x",
        gates=gates or Gates(),
        dialect=dialect,
        service="svc",
        force_usage=force_usage,
    )
    return Context(caller=caller, target=model, request=request or MessageRequest(), stream=stream, now=NOW, **more)


def noted(notes: Notes) -> list[tuple[str, str, str]]:
    """Code, action and path of each note; each must have a reason among the fates."""
    for note in notes:
        assert note.action in OPENAI.fates.get(note.code, {}), note
    return [(note.code, NoteAction.Name(note.action).removeprefix("NOTE_ACTION_"), note.path) for note in notes]


def write(request: MessageRequest, **options: Any) -> Written:
    """An IR request for a Chat target."""
    context = context_of(request, **options)
    notes = Notes(OPENAI.fates)
    body = json.loads(OPENAI.write_request(request, context, notes).body)
    return Written(body, noted(notes), context)


def back(body: dict[str, Any], **options: Any) -> Written:
    """A Chat body through the IR to a Chat target."""
    read = OPENAI.read_request(json.dumps(body).encode())
    return write(read.message, caller=Protocol.OPENAI, stream=read.stream, **options)


@lru_cache(maxsize=1)
def _params() -> TypeAdapter[Any]:
    for name, module in list(sys.modules.items()):
        if name.startswith(("openai.types.chat", "openai.types.shared_params")):
            for each in vars(module).values():
                if is_typeddict(each):
                    each.__pydantic_config__ = ConfigDict(extra="forbid")
    return TypeAdapter(CompletionCreateParamsNonStreaming)


def sdk_accepts(body: dict[str, Any]) -> None:
    """The official SDK's types allow this body, and know every field of it."""
    _walk(_params().validate_python(body))


def _walk(value: Any) -> None:
    """Pydantic checks the items of an `Iterable` only when they are taken."""
    if isinstance(value, str | bytes):
        return
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, Iterable) else ():
        _walk(each)


def read_answer(body: dict[str, Any] | bytes, **options: Any) -> MessageResponse:
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    return OPENAI.read_response(text, context_of(**options), Notes(OPENAI.fates))


def write_answer(
    response: MessageResponse, *, judged: bool = True, **options: Any
) -> tuple[dict[str, Any], list[tuple[str, str, str]]]:
    notes = Notes(OPENAI.fates)
    body = json.loads(OPENAI.write_response(response, context_of(**options), notes))
    if judged:
        ChatCompletion.model_validate(body)
    return body, noted(notes)


def chunk(delta: dict[str, Any] | None, finish: str | None = None, index: int = 0, **more: Any) -> bytes:
    choice = {"index": index, "delta": delta, "finish_reason": finish, **more.pop("choice", {})}
    fields = {"id": "c1", "object": "chat.completion.chunk", "created": 7, "model": "m", "choices": [choice], **more}
    return b"data: " + json.dumps(fields).encode() + b"\n\n"


DONE = b"data: [DONE]\n\n"


def read_events(*chunks: bytes, **options: Any) -> list[StreamEvent]:
    """The events of a whole stream."""
    stream = OPENAI.read_stream(StreamOptions(), context_of(stream=True, **options))
    batches: list[Batch] = [stream.feed(b"".join(chunks)), stream.close()]
    assert [batch.error for batch in batches if batch.error] == []
    return [event for batch in batches for event in batch.events]


def write_events(
    events: Iterable[StreamEvent], *, judged: bool = True, **options: Any
) -> tuple[list[dict[str, Any]], list[tuple[str, str, str]]]:
    """The chunks of a whole stream, each one judged by the SDK; the terminator must be there."""
    notes = Notes(OPENAI.fates)
    writer = OPENAI.write_stream(context_of(stream=True, **options), notes)
    text = b"".join([*(writer.write([event]) for event in events), writer.close()])
    *frames, last, rest = text.split(b"\n\n")
    assert (last, rest) == (b"data: [DONE]", b"")
    chunks = [json.loads(frame.removeprefix(b"data: ")) for frame in frames]
    for each in chunks if judged else ():
        ChatCompletionChunk.model_validate(each)
    return chunks, noted(notes)


def deltas(chunks: Iterable[dict[str, Any]]) -> list[Any]:
    """What the chunks of choice 0 say: deltas, and at last the finish."""
    choices = [choice for each in chunks for choice in each["choices"]]
    return [choice["finish_reason"] or choice["delta"] for choice in choices]
