"""Places in a text that grows: code points, which the IR counts, and UTF-8 bytes, which Gemini counts.

Keeps only what is not ASCII, so a long answer in plain English costs nothing.
"""

from __future__ import annotations

from bisect import bisect_right

__all__ = ["Offsets"]


class Offsets:
    """One text. Offsets beyond its end come out at its end; those within a character at its beginning."""

    __slots__ = ("_bytes", "_points", "_starts", "_texts")

    def __init__(self, text: str = "") -> None:
        self._points = 0
        self._bytes = 0
        # Pieces in which bytes and code points differ, and where they start (points, bytes).
        self._texts: list[str] = []
        self._starts: list[tuple[int, int]] = []
        self.feed(text)

    @property
    def points(self) -> int:
        """Length in code points."""
        return self._points

    @property
    def bytes(self) -> int:
        """Length in UTF-8 bytes."""
        return self._bytes

    def feed(self, text: str) -> None:
        """The text grows."""
        length = len(text)
        if not text.isascii():
            self._starts.append((self._points, self._bytes))
            self._texts.append(text)
            length = len(text.encode(errors="replace"))
        self._points += len(text)
        self._bytes += length

    def to_bytes(self, point: int) -> int:
        """The byte at which a code point begins."""
        point = min(point, self._points)
        at = bisect_right(self._starts, point, key=lambda start: start[0]) - 1
        if at < 0:
            return point
        first_point, first_byte = self._starts[at]
        inside = self._texts[at][: point - first_point]
        return first_byte + len(inside.encode(errors="replace")) + (point - first_point - len(inside))

    def to_points(self, byte: int) -> int:
        """The code point that a byte belongs to."""
        byte = min(byte, self._bytes)
        at = bisect_right(self._starts, byte, key=lambda start: start[1]) - 1
        if at < 0:
            return byte
        first_point, first_byte = self._starts[at]
        encoded = self._texts[at].encode(errors="replace")
        inside = encoded[: byte - first_byte]
        return first_point + len(inside.decode(errors="ignore")) + (byte - first_byte - len(inside))
