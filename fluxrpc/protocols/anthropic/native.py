"""Anthropic Messages, native. `anthropic-version` is a header, and headers are the caller's business."""

from __future__ import annotations

import msgspec

from fluxrpc.protocols.anthropic import errors
from fluxrpc.protocols.anthropic.stream import AnthropicWatch
from fluxrpc.protocols.anthropic.usage import USAGE, to_usage
from fluxrpc.protocols.base import Answer, Protocol, RequestHead, WireOptions, WireRequest
from fluxrpc.protocols.native_codec import NativeParts
from fluxrpc.protocols.native_request import (
    StateMarks,
    is_present,
    read_fields,
    read_model_head,
    write_body,
)
from fluxrpc.protocols.whole_answer import explain_answer, read_loosely, read_whole

PATH = "/v1/messages"


class _Message(msgspec.Struct):
    content: list[msgspec.Raw]
    type: str | None = None
    model: str | None = None
    stop_reason: str | None = None
    usage: msgspec.Raw = msgspec.Raw(b"")


class _Container(msgspec.Struct):
    id: str | None = None


_MESSAGE = msgspec.json.Decoder(_Message)
# Signatures and withheld reasoning are bound to the model, not to an account: they may move to another credential.
_STATE = StateMarks(keys=("file_id",))


class AnthropicNative(NativeParts):
    """The native codec of Anthropic Messages."""

    protocol = Protocol.ANTHROPIC
    error_rows = errors.ROWS
    watcher = AnthropicWatch
    write_error = staticmethod(errors.write_error)

    def read_head(self, body: bytes) -> RequestHead:
        """See `NativeCodec.read_head`."""
        fields = read_fields(body)
        holds_state = (
            is_present(fields, "fallback_credit_token")
            or _names_container(fields.get("container"))
            or _STATE.found_in(body, fields.get("messages"))
        )
        return read_model_head(fields, body, holds_state=holds_state)

    def write_wire(
        self, head: RequestHead, body: bytes, *, model: str, stream: bool, options: WireOptions
    ) -> WireRequest:
        """See `NativeCodec.write_wire`."""
        del options
        return WireRequest(path=PATH, body=write_body(head, body, model=model, stream=stream))

    def read_answer(self, body: bytes) -> Answer:
        """See `NativeCodec.read_answer`."""
        message = read_whole(_MESSAGE, body, errors.error_of)
        if message.type not in (None, "message"):
            raise explain_answer(body, errors.error_of)
        usage = read_loosely(USAGE, message.usage)
        return Answer(
            body=body,
            usage=to_usage(usage) if usage else None,
            served_model=message.model or "",
            refused=message.stop_reason == "refusal",
        )


def _names_container(container: msgspec.Raw | None) -> bool:
    """A string is an id; an object may only list skills for a new container."""
    if container is None:
        return False
    try:
        named = msgspec.json.decode(container, type=str | _Container | None)
    except msgspec.ValidationError:
        return False
    return bool(named.id if isinstance(named, _Container) else named)
