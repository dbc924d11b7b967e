"""Cohere Chat, version 2, translating: its readers and writers in one place."""

from __future__ import annotations

from fluxrpc.errors import NativeErrorBody
from fluxrpc.protocols.base import (
    AnswerStream,
    ErrorView,
    EventWriter,
    Protocol,
    ReadRequest,
    StreamOptions,
    WireRequest,
)
from fluxrpc.protocols.cohere.errors import write_error_view
from fluxrpc.protocols.cohere.fates import FATES, FIELDS
from fluxrpc.protocols.cohere.read_request import read_request
from fluxrpc.protocols.cohere.read_response import read_response
from fluxrpc.protocols.cohere.read_stream import CohereEventReader
from fluxrpc.protocols.cohere.write_request import write_request
from fluxrpc.protocols.cohere.write_response import write_response
from fluxrpc.protocols.cohere.write_stream import CohereEventWriter
from fluxrpc.protocols.context import Context
from fluxrpc.protocols.notes import Notes, Places
from fluxrpc.v1.message_pb2 import MessageRequest
from fluxrpc.v1.response_pb2 import MessageResponse


class CohereTranslator:
    """See `fluxrpc.protocols.base.Translator`."""

    protocol = Protocol.COHERE
    fates = FATES
    fields = FIELDS

    def read_request(self, body: bytes, *, version: str = "", places: Places | None = None) -> ReadRequest:
        """See `Translator.read_request`."""
        return read_request(body, version=version, places=places)

    def write_request(self, request: MessageRequest, context: Context, notes: Notes) -> WireRequest:
        """See `Translator.write_request`."""
        return write_request(request, context, notes)

    def read_response(self, body: bytes, context: Context, notes: Notes) -> MessageResponse:
        """See `Translator.read_response`."""
        return read_response(body, context, notes)

    def write_response(self, response: MessageResponse, context: Context, notes: Notes) -> bytes:
        """See `Translator.write_response`."""
        return write_response(response, context, notes)

    def read_stream(self, options: StreamOptions, context: Context) -> AnswerStream:
        """See `Translator.read_stream`."""
        return CohereEventReader(options, context)

    def write_stream(self, context: Context, notes: Notes) -> EventWriter:
        """See `Translator.write_stream`."""
        return CohereEventWriter(context, notes)

    def write_error(self, error: ErrorView) -> NativeErrorBody:
        """See `Translator.write_error`."""
        return write_error_view(error)
