"""Anthropic Messages: stream reader."""

from __future__ import annotations

from fluxrpc.errors import ProviderError
from fluxrpc.protocols.anthropic.errors import error_of
from fluxrpc.protocols.event_reader import EventReader
from fluxrpc.sse import Frame


class AnthropicEventReader(EventReader):
    def error_of(self, text: bytes) -> ProviderError:
        return error_of(text)

    def take(self, frame: Frame) -> int:
        raise NotImplementedError
