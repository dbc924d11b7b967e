"""OpenAI Chat Completions, translating: its readers and writers in one place."""

from __future__ import annotations

from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.openai.errors import write_error_view
from fluxrpc.protocols.openai.fates import FATES, FIELDS
from fluxrpc.protocols.openai.read_request import read_request
from fluxrpc.protocols.openai.read_response import read_response
from fluxrpc.protocols.openai.read_stream import OpenAIEventReader
from fluxrpc.protocols.openai.write_request import write_request
from fluxrpc.protocols.openai.write_response import write_response
from fluxrpc.protocols.openai.write_stream import OpenAIEventWriter


class OpenAITranslator:
    """See `fluxrpc.protocols.base.Translator`."""

    protocol = Protocol.OPENAI
    fates = FATES
    fields = FIELDS
    read_request = staticmethod(read_request)
    write_request = staticmethod(write_request)
    read_response = staticmethod(read_response)
    write_response = staticmethod(write_response)
    read_stream = OpenAIEventReader
    write_stream = OpenAIEventWriter
    write_error = staticmethod(write_error_view)
