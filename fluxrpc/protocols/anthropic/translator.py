"""Anthropic Messages, translating: its readers and writers in one place."""

from __future__ import annotations

from fluxrpc.protocols.anthropic.errors import write_error_view
from fluxrpc.protocols.anthropic.fates import FATES, FIELDS
from fluxrpc.protocols.anthropic.read_request import read_request
from fluxrpc.protocols.anthropic.read_response import read_response
from fluxrpc.protocols.anthropic.read_stream import AnthropicEventReader
from fluxrpc.protocols.anthropic.write_request import write_request
from fluxrpc.protocols.anthropic.write_response import write_response
from fluxrpc.protocols.anthropic.write_stream import AnthropicEventWriter
from fluxrpc.protocols.base import Protocol


class AnthropicTranslator:
    """See `fluxrpc.protocols.base.Translator`."""

    protocol = Protocol.ANTHROPIC
    fates = FATES
    fields = FIELDS
    read_request = staticmethod(read_request)
    write_request = staticmethod(write_request)
    read_response = staticmethod(read_response)
    write_response = staticmethod(write_response)
    read_stream = AnthropicEventReader
    write_stream = AnthropicEventWriter
    write_error = staticmethod(write_error_view)
