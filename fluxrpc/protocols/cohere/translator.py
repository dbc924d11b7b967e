"""Cohere Chat, version 2, translating: its readers and writers in one place."""

from __future__ import annotations

from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.cohere.errors import write_error_view
from fluxrpc.protocols.cohere.fates import FATES, FIELDS
from fluxrpc.protocols.cohere.read_request import read_request
from fluxrpc.protocols.cohere.read_response import read_response
from fluxrpc.protocols.cohere.read_stream import CohereEventReader
from fluxrpc.protocols.cohere.write_request import write_request
from fluxrpc.protocols.cohere.write_response import write_response
from fluxrpc.protocols.cohere.write_stream import CohereEventWriter


class CohereTranslator:
    """See `fluxrpc.protocols.base.Translator`."""

    protocol = Protocol.COHERE
    fates = FATES
    fields = FIELDS
    read_request = staticmethod(read_request)
    write_request = staticmethod(write_request)
    read_response = staticmethod(read_response)
    write_response = staticmethod(write_response)
    read_stream = CohereEventReader
    write_stream = CohereEventWriter
    write_error = staticmethod(write_error_view)
