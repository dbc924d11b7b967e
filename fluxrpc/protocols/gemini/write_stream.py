"""Gemini generateContent: stream writer."""

from __future__ import annotations

from collections.abc import Sequence

from fluxrpc.protocols.context import Context
from fluxrpc.protocols.notes import Notes
from fluxrpc.v1.stream_pb2 import StreamEvent


class GeminiEventWriter:
    def __init__(self, context: Context, notes: Notes) -> None:
        raise NotImplementedError

    def write(self, events: Sequence[StreamEvent]) -> bytes:
        raise NotImplementedError

    def close(self) -> bytes:
        raise NotImplementedError
