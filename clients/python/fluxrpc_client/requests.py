"""Short ways to write requests and to read answers. They build the messages of `fluxrpc_client.v1` and hide nothing.

"Hello"                                              what a user says
[system("Be brief."), user("Hello")]                 a conversation
MessageRequest(messages=[user("Hello")], top_p=0.9)  the typed request, in full
native("anthropic", {"messages": [...], ...})        a request in a provider's own protocol
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from fluxrpc_client.v1 import (
    ROLE_ASSISTANT,
    ROLE_SYSTEM,
    ROLE_USER,
    ExecuteOptions,
    ExecuteRequest,
    ExecuteResponse,
    Header,
    Message,
    MessageRequest,
    MessageResponse,
    NativeRequest,
    Protocol,
    Role,
)

__all__ = ["Prompt", "ProtocolName", "assistant", "build_request", "native", "system", "text_of", "user"]

Prompt = str | Sequence[Message] | MessageRequest | NativeRequest
"""What to ask: see the head of this module."""

ProtocolName = Literal["openai", "anthropic", "gemini", "cohere", "responses"]


def user(text: str) -> Message:
    """What the user says."""
    return _message(ROLE_USER, text)


def system(text: str) -> Message:
    """Instructions, usually first."""
    return _message(ROLE_SYSTEM, text)


def assistant(text: str) -> Message:
    """What the model said before."""
    return _message(ROLE_ASSISTANT, text)


def _message(role: Role.ValueType, text: str) -> Message:
    return Message(role=role, text=text)


def native(
    protocol: ProtocolName, body: bytes | str | Mapping[str, Any], *, headers: Mapping[str, str] | None = None
) -> NativeRequest:
    """A request in a protocol's own JSON. Bytes and text go as they are; anything else is written as JSON first.

    The headers are those that the caller would send to the provider, such as `anthropic-beta`.
    Raises `ValueError` for an unknown protocol and `TypeError` or `ValueError` for what JSON cannot say.
    """
    if isinstance(body, Mapping):
        body = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return NativeRequest(
        protocol=Protocol.Value(f"PROTOCOL_{protocol.upper()}"),
        body=body.encode() if isinstance(body, str) else body,
        headers=[Header(name=name.lower(), value=value) for name, value in (headers or {}).items()],
    )


def build_request(
    model: str | ExecuteRequest, prompt: Prompt | None = None, options: ExecuteOptions | None = None
) -> ExecuteRequest:
    """The request for a model and a prompt. A whole request is taken as it is, and then stands alone.

    Raises `TypeError` for anything else.
    """
    if isinstance(model, ExecuteRequest):
        if prompt is not None or options is not None:
            raise TypeError("a whole ExecuteRequest holds its prompt and options already")
        return model
    match prompt:
        case NativeRequest():
            return ExecuteRequest(model=model, native=prompt, options=options)
        case MessageRequest():
            return ExecuteRequest(model=model, message=prompt, options=options)
        case None:
            raise TypeError("a prompt is needed: text, messages, a MessageRequest or a NativeRequest")
        case _:
            messages = [user(prompt)] if isinstance(prompt, str) else prompt
            return ExecuteRequest(model=model, message=MessageRequest(messages=messages), options=options)


def text_of(answer: ExecuteResponse | MessageResponse, *, choice_index: int = 0) -> str:
    """The text of a typed answer: all text parts of one choice, joined.

    Raises `TypeError` for a native answer: its text lies in its own JSON.
    """
    if isinstance(answer, ExecuteResponse):
        if answer.WhichOneof("response") != "message":
            raise TypeError("only typed answers have text; a native one is JSON: response.native.body")
        answer = answer.message
    parts = (part for choice in answer.choices if choice.index == choice_index for part in choice.parts)
    return "".join(part.text for part in parts)
