"""Cohere Chat, version 2: stream reader."""

from __future__ import annotations

from fluxrpc.errors import ProviderError
from fluxrpc.protocols.cohere.errors import error_of
from fluxrpc.protocols.event_reader import EventReader
from fluxrpc.sse import Frame


class CohereEventReader(EventReader):
    def error_of(self, text: bytes) -> ProviderError:
        return error_of(text)

    def take(self, frame: Frame) -> int:
        raise NotImplementedError
