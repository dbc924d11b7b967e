"""Gemini generateContent, translating: its readers and writers in one place."""

from __future__ import annotations

from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.gemini.errors import write_error_view
from fluxrpc.protocols.gemini.fates import FATES, FIELDS
from fluxrpc.protocols.gemini.read_request import read_request
from fluxrpc.protocols.gemini.read_response import read_response
from fluxrpc.protocols.gemini.read_stream import GeminiEventReader
from fluxrpc.protocols.gemini.write_request import write_request
from fluxrpc.protocols.gemini.write_response import write_response
from fluxrpc.protocols.gemini.write_stream import GeminiEventWriter


class GeminiTranslator:
    """See `fluxrpc.protocols.base.Translator`."""

    protocol = Protocol.GEMINI
    fates = FATES
    fields = FIELDS
    read_request = staticmethod(read_request)
    write_request = staticmethod(write_request)
    read_response = staticmethod(read_response)
    write_response = staticmethod(write_response)
    read_stream = GeminiEventReader
    write_stream = GeminiEventWriter
    write_error = staticmethod(write_error_view)
