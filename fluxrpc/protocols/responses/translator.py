"""OpenAI Responses, translating: its readers and writers in one place."""

from __future__ import annotations

from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.responses.errors import write_error_view
from fluxrpc.protocols.responses.fates import FATES, FIELDS
from fluxrpc.protocols.responses.read_request import read_request
from fluxrpc.protocols.responses.read_response import read_response
from fluxrpc.protocols.responses.read_stream import ResponsesEventReader
from fluxrpc.protocols.responses.write_request import write_request
from fluxrpc.protocols.responses.write_response import write_response
from fluxrpc.protocols.responses.write_stream import ResponsesEventWriter


class ResponsesTranslator:
    """See `fluxrpc.protocols.base.Translator`."""

    protocol = Protocol.RESPONSES
    fates = FATES
    fields = FIELDS
    read_request = staticmethod(read_request)
    write_request = staticmethod(write_request)
    read_response = staticmethod(read_response)
    write_response = staticmethod(write_response)
    read_stream = ResponsesEventReader
    write_stream = ResponsesEventWriter
    write_error = staticmethod(write_error_view)
