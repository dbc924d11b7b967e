"""`MessageRequest` to a body of OpenAI Chat Completions: conversations of text, and the knobs of sampling.

Whatever else a request holds is refused by name, never dropped.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import msgspec

from fluxrpc.errors import InvalidRequest, TranslationMissing
from fluxrpc.v1 import message_pb2 as pb
from fluxrpc.v1.message_pb2 import Message, MessageRequest

_ROLES: Mapping[int, str] = {
    pb.ROLE_SYSTEM: "system",
    pb.ROLE_DEVELOPER: "developer",
    pb.ROLE_USER: "user",
    pb.ROLE_ASSISTANT: "assistant",
}
# Our field, theirs. `max_tokens` is refused by all newer models, `max_completion_tokens` is not.
_KNOBS: Mapping[str, str] = {
    "max_output_tokens": "max_completion_tokens",
    "temperature": "temperature",
    "top_p": "top_p",
    "seed": "seed",
    "presence_penalty": "presence_penalty",
    "frequency_penalty": "frequency_penalty",
    "choice_count": "n",
    "store": "store",
}
_WRITTEN = frozenset({"messages", "stop_sequences", *_KNOBS})


def write_body(request: MessageRequest, *, model: str, stream: bool, force_usage: bool) -> bytes:
    """The JSON body.

    Raises:
        InvalidRequest: the request says nothing, or something that has no meaning.
        TranslationMissing: it holds a field or a kind of part that is not written yet.
    """
    if not request.messages:
        raise InvalidRequest.at("messages", "at least one message is expected")
    for field, _ in request.ListFields():
        if field.name not in _WRITTEN:
            raise _missing(field.name)
    body: dict[str, Any] = {
        "model": model,
        "messages": [_message(message, f"messages[{at}]") for at, message in enumerate(request.messages)],
    }
    for ours, theirs in _KNOBS.items():
        if request.HasField(ours):  # type: ignore[arg-type]  # mypy cannot see that the table holds field names
            value = getattr(request, ours)
            if isinstance(value, float) and not math.isfinite(value):
                raise InvalidRequest.at(ours, "a finite number is expected")
            body[theirs] = value
    if request.stop_sequences:
        body["stop"] = list(request.stop_sequences)
    if stream:
        body["stream"] = True
        if force_usage:
            body["stream_options"] = {"include_usage": True}
    return msgspec.json.encode(body)


def _message(message: Message, path: str) -> dict[str, Any]:
    role = _ROLES.get(message.role)
    if role is None:
        if message.role == pb.ROLE_TOOL:
            raise _missing(f"{path}.role: ROLE_TOOL")
        raise InvalidRequest.at(f"{path}.role", "a role is expected")
    if message.text and message.parts:
        raise InvalidRequest.at(path, "text or parts are expected, not both")
    if message.extras:
        raise _missing(f"{path}.extras")
    written: dict[str, Any] = {"role": role, "content": message.text}
    if message.parts:
        written["content"] = [{"type": "text", "text": _text_of(message, at, path)} for at in range(len(message.parts))]
    if message.name:
        written["name"] = message.name
    return written


def _text_of(message: Message, at: int, path: str) -> str:
    part = message.parts[at]
    place = f"{path}.parts[{at}]"
    kind = part.WhichOneof("kind")
    if kind is None:
        raise InvalidRequest.at(place, "a kind of part is expected")
    for field, _ in part.ListFields():
        if field.name != "text":
            raise _missing(f"{place}.{field.name}")
    return part.text


def _missing(what: str) -> TranslationMissing:
    return TranslationMissing(f"{what} cannot be written for the openai protocol yet")
