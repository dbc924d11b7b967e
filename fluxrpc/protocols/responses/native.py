"""OpenAI Responses, native: the caller's bytes with model and stream switch replaced, the answer watched."""

from __future__ import annotations

from fluxrpc.protocols.base import Answer, Protocol, RequestHead, WireOptions, WireRequest
from fluxrpc.protocols.native_codec import NativeParts
from fluxrpc.protocols.native_request import (
    StateMarks,
    is_present,
    read_fields,
    read_model_head,
    without_stream_options,
    write_body,
)
from fluxrpc.protocols.responses import errors
from fluxrpc.protocols.responses.response import RESPONSE
from fluxrpc.protocols.responses.stream import ResponsesWatch
from fluxrpc.protocols.whole_answer import explain_answer, read_whole, says_something

PATH = "/v1/responses"


_REPLACED = frozenset({"model", "stream", "stream_options"})
_INPUT_STATE = StateMarks(keys=("encrypted_content", "file_id"), types=("item_reference",))
# `container` of a code interpreter is an id, or an object that asks for a new one with files.
_TOOL_STATE = StateMarks(keys=("vector_store_ids", "container", "file_ids"))


class ResponsesNative(NativeParts):
    """The native codec of OpenAI Responses."""

    protocol = Protocol.RESPONSES
    error_rows = errors.ROWS
    watcher = ResponsesWatch
    write_error = staticmethod(errors.write_error)

    def read_head(self, body: bytes) -> RequestHead:
        """See `NativeCodec.read_head`."""
        fields = read_fields(body)
        holds_state = (
            is_present(fields, "previous_response_id", "conversation", "prompt")
            or _INPUT_STATE.found_in(body, fields.get("input"))
            or _TOOL_STATE.found_in(body, fields.get("tools"))
        )
        return read_model_head(fields, body, replaced=_REPLACED, holds_state=holds_state)

    def write_wire(
        self, head: RequestHead, body: bytes, *, model: str, stream: bool, options: WireOptions
    ) -> WireRequest:
        """See `NativeCodec.write_wire`."""
        if not stream and (rest := without_stream_options(head, body)) is not None:
            # Rare enough to take the field out and look again.
            return self.write_wire(self.read_head(rest), rest, model=model, stream=stream, options=options)
        return WireRequest(path=PATH, body=write_body(head, body, model=model, stream=stream))

    def read_answer(self, body: bytes) -> Answer:
        """See `NativeCodec.read_answer`."""
        response = read_whole(RESPONSE, body, errors.error_of)
        failed = response.status == "failed" or says_something(response.error)
        if failed or response.object != "response":
            raise errors.error_of(body) if failed else explain_answer(body, errors.error_of)
        return Answer(
            body=body,
            usage=response.counts,
            served_model=response.model or "",
            refused=response.is_refused,
        )
