"""Decompression of response bodies in bounded steps, so that a small body cannot unfold into all of our memory.

Both transports leave bodies as they came and decode here: what is accepted must not depend on the HTTP client.
Pure; only what `ACCEPT_ENCODING` asks for is understood.
"""

from __future__ import annotations

import zlib

from fluxrpc.errors import AnswerFault

__all__ = ["ACCEPT_ENCODING", "Inflater", "inflater_for"]

ACCEPT_ENCODING = "gzip, deflate"

_STEP_BYTES = 256 * 1024

_AUTO_HEADER = 32 + zlib.MAX_WBITS
"""zlib finds out by itself whether the header is gzip's or zlib's."""

_HEADER_BYTES = 2
"""Enough to tell a zlib or gzip header from bare deflate data."""

_ENCODINGS = {"gzip": True, "x-gzip": True, "deflate": True, "identity": False, "": False}


class Inflater:
    """Compressed pieces in (`give`), plain pieces of at most 256 KiB out (`take`)."""

    __slots__ = ("_decoder", "_input", "_virgin")

    def __init__(self) -> None:
        self._decoder = zlib.decompressobj(_AUTO_HEADER)
        self._input = b""
        self._virgin = True

    def give(self, piece: bytes) -> None:
        """Take compressed bytes. Call `take` until it is empty before giving more."""
        self._input = self._input + piece if self._input else piece

    def take(self) -> bytes:
        """The next plain piece; empty when more input is needed.

        Raises:
            AnswerFault: the bytes are not what the header said.
        """
        if self._virgin and len(self._input) < _HEADER_BYTES:
            return b""
        while self._input:
            if self._decoder.eof:  # members may follow each other (RFC 1952, 2.2)
                self._decoder = zlib.decompressobj(_AUTO_HEADER)
            plain = self._step()
            self._input = self._decoder.unconsumed_tail or self._decoder.unused_data
            if plain:
                return plain
        # Output may still wait inside zlib although all input is consumed.
        return b"" if self._decoder.eof else self._step()

    def finish(self) -> None:
        """The body ended.

        Raises:
            AnswerFault: in the middle of a compressed member.
        """
        if not self._decoder.eof and (self._input or not self._virgin):
            raise AnswerFault("compressed body cut")

    def _step(self) -> bytes:
        try:
            if self._virgin:
                self._virgin = False
                return self._first_step()
            return self._decoder.decompress(self._input, _STEP_BYTES)
        except zlib.error as error:
            raise AnswerFault("compressed body broken") from error

    def _first_step(self) -> bytes:
        try:
            return self._decoder.decompress(self._input, _STEP_BYTES)
        except zlib.error:
            # Some servers send bare deflate data under the name of "deflate" (RFC 9110, 8.4.1.2).
            self._decoder = zlib.decompressobj(-zlib.MAX_WBITS)
            return self._decoder.decompress(self._input, _STEP_BYTES)


def inflater_for(content_encoding: str) -> Inflater | None:
    """What decodes a body of this `content-encoding`; None for plain bodies.

    Raises:
        AnswerFault: an encoding that was not asked for.
    """
    compressed = _ENCODINGS.get(content_encoding.strip().lower())
    if compressed is None:
        raise AnswerFault("content-encoding not asked for")
    return Inflater() if compressed else None
