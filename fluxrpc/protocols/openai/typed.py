"""OpenAI Chat Completions, typed: `MessageRequest` out, `MessageResponse` and `StreamEvent` in. Text only so far."""

from __future__ import annotations

from fluxrpc.protocols.base import Answer, AnswerStream, Protocol, StreamOptions, WireOptions, WireRequest
from fluxrpc.protocols.openai.native import PATH
from fluxrpc.protocols.openai.typed_request import write_body
from fluxrpc.protocols.openai.typed_response import read_response
from fluxrpc.protocols.openai.typed_stream import OpenAIReader
from fluxrpc.v1.message_pb2 import MessageRequest
from fluxrpc.v1.outcome_pb2 import TranslationNote


class OpenAITyped:
    """The typed codec of OpenAI Chat Completions."""

    protocol = Protocol.OPENAI

    def write_request(
        self, request: MessageRequest, *, model: str, stream: bool, options: WireOptions
    ) -> tuple[WireRequest, tuple[TranslationNote, ...]]:
        """See `TypedCodec.write_request`."""
        body = write_body(request, model=model, stream=stream, force_usage=options.force_usage)
        return WireRequest(path=PATH, body=body), ()

    def read_response(self, body: bytes) -> Answer:
        """See `TypedCodec.read_response`."""
        return read_response(body)

    def read_stream(self, options: StreamOptions) -> AnswerStream:
        """See `TypedCodec.read_stream`."""
        return OpenAIReader(options)
