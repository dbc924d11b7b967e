"""OpenAI Responses: stream reader."""

from __future__ import annotations

from fluxrpc.errors import ProviderError
from fluxrpc.protocols.event_reader import EventReader
from fluxrpc.protocols.responses.errors import error_of
from fluxrpc.sse import Frame


class ResponsesEventReader(EventReader):
    def error_of(self, text: bytes) -> ProviderError:
        return error_of(text)

    def take(self, frame: Frame) -> int:
        raise NotImplementedError
