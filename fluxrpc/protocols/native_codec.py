"""What the native codecs of all protocols do alike: choose their watcher, classify errors by their rows.

Invariant: nothing here knows a protocol; a codec names its parts, and reads and writes bodies itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from fluxrpc.errors import ProviderError
from fluxrpc.protocols.base import AnswerStream, Headers, Protocol, StreamOptions
from fluxrpc.protocols.classify import Row
from fluxrpc.protocols.provider_error import read_error
from fluxrpc.protocols.stream_watch import Watch


class NativeParts:
    """Base of the native codecs."""

    protocol: Protocol
    error_rows: ClassVar[Sequence[Row]]
    """The protocol's own words for errors."""
    watcher: ClassVar[type[Watch]]

    def watch(self, options: StreamOptions) -> AnswerStream:
        """See `NativeCodec.watch`."""
        return self.watcher(options)

    def read_error(self, status: int, headers: Headers, body: bytes, *, now: float) -> ProviderError:
        """See `NativeCodec.read_error`."""
        return read_error(self.protocol, self.error_rows, status, headers, body, now=now)
