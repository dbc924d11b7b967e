"""Gemini generateContent, translating: its readers and writers in one place."""

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
from fluxrpc.protocols.context import Context
from fluxrpc.protocols.gemini.errors import write_error_view
from fluxrpc.protocols.gemini.fates import FATES, FIELDS
from fluxrpc.protocols.gemini.read_request import read_request
from fluxrpc.protocols.gemini.read_response import read_response
from fluxrpc.protocols.gemini.read_stream import GeminiEventReader
from fluxrpc.protocols.gemini.write_request import write_request
from fluxrpc.protocols.gemini.write_response import write_response
from fluxrpc.protocols.gemini.write_stream import GeminiEventWriter
from fluxrpc.protocols.notes import Notes, Places
from fluxrpc.v1.message_pb2 import MessageRequest
from fluxrpc.v1.response_pb2 import MessageResponse


class GeminiTranslator:
    """See `fluxrpc.protocols.base.Translator`."""

    protocol = Protocol.GEMINI
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
        return GeminiEventReader(options, context)

    def write_stream(self, context: Context, notes: Notes) -> EventWriter:
        """See `Translator.write_stream`."""
        return GeminiEventWriter(context, notes)

    def write_error(self, error: ErrorView) -> NativeErrorBody:
        """See `Translator.write_error`."""
        return write_error_view(error)
