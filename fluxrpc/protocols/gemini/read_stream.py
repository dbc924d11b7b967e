"""Gemini generateContent: stream reader."""

from __future__ import annotations

from fluxrpc.errors import ProviderError
from fluxrpc.protocols.event_reader import EventReader
from fluxrpc.protocols.gemini.errors import error_of
from fluxrpc.sse import Frame


class GeminiEventReader(EventReader):
    def error_of(self, text: bytes) -> ProviderError:
        return error_of(text)

    def take(self, frame: Frame) -> int:
        raise NotImplementedError
