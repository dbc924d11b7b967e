"""Arguments of tool calls as the object that `tool_use.input` must be."""

from __future__ import annotations

import msgspec

from fluxrpc.protocols.node import raw
from fluxrpc.v1.part_pb2 import ToolCall

__all__ = ["input_of"]

_ANYTHING = msgspec.json.Decoder(msgspec.Raw)


def input_of(call: ToolCall) -> tuple[msgspec.Raw, bool]:
    """The object, its text as the model wrote it, and whether something that is none was wrapped.

    Models write invalid JSON at times, and one broken call must not make a whole conversation unusable.
    """
    if call.HasField("custom_text"):
        return _wrapped("input", call.custom_text), False
    text = call.arguments_json.strip()
    if not text:
        return raw("{}"), False
    try:
        _ANYTHING.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return _wrapped("INVALID_JSON", call.arguments_json), True
    if text.startswith("{"):
        return raw(text), False
    return raw(f'{{"value":{text}}}'), True


def _wrapped(key: str, text: str) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode({key: text}))
