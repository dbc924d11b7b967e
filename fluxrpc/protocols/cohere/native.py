"""Cohere Chat version 2, native. It keeps no state of an account that a request could refer to."""

from __future__ import annotations

import msgspec

from fluxrpc.protocols.base import Answer, Protocol, RequestHead, WireOptions, WireRequest
from fluxrpc.protocols.cohere import errors
from fluxrpc.protocols.cohere.finish import FAILURES
from fluxrpc.protocols.cohere.stream import CohereWatch
from fluxrpc.protocols.cohere.usage import USAGE, to_usage
from fluxrpc.protocols.native_codec import NativeParts
from fluxrpc.protocols.native_request import read_fields, read_model_head, write_body
from fluxrpc.protocols.whole_answer import read_loosely, read_whole

PATH = "/v2/chat"


class _Message(msgspec.Struct):
    role: str | None = None


class _Answer(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None
    usage: msgspec.Raw = msgspec.Raw(b"")


_ANSWER = msgspec.json.Decoder(_Answer)


class CohereNative(NativeParts):
    """The native codec of Cohere Chat version 2."""

    protocol = Protocol.COHERE
    error_rows = errors.ROWS
    watcher = CohereWatch
    write_error = staticmethod(errors.write_error)

    def read_head(self, body: bytes) -> RequestHead:
        """See `NativeCodec.read_head`."""
        return read_model_head(read_fields(body), body)

    def write_wire(
        self, head: RequestHead, body: bytes, *, model: str, stream: bool, options: WireOptions
    ) -> WireRequest:
        """See `NativeCodec.write_wire`."""
        del options
        return WireRequest(path=PATH, body=write_body(head, body, model=model, stream=stream))

    def read_answer(self, body: bytes) -> Answer:
        """See `NativeCodec.read_answer`. An answer that ended with ERROR or TIMEOUT is none."""
        answer = read_whole(_ANSWER, body, errors.error_of)
        if answer.finish_reason in FAILURES:
            raise errors.error_of(errors.failure(answer.finish_reason or "", msgspec.Raw(b"")))
        usage = read_loosely(USAGE, answer.usage)
        return Answer(body=body, usage=to_usage(usage) if usage else None)
