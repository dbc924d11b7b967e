"""Halves of surrogate pairs in streamed text: a provider may cut a pair in two, half in one event, half in the next.

JSON can say a half in an escape, protobuf and UTF-8 cannot. Invariant: what comes out holds no half.
"""

from __future__ import annotations

_HIGH_FIRST, _HIGH_LAST = "\ud800", "\udbff"


class HalfJoiner:
    """Joins the halves within one piece of text that grows. `replaced` counts those whose other half never came."""

    __slots__ = ("_held", "replaced")

    def __init__(self) -> None:
        self._held = ""
        self.replaced = 0

    @property
    def is_holding(self) -> bool:
        """Whether a half waits."""
        return bool(self._held)

    def feed(self, text: str) -> str:
        """The text with joined pairs; a high half at its end waits for what comes next."""
        if not self._held and text.isascii():
            return text
        text = self._held + text
        self._held = ""
        if _HIGH_FIRST <= text[-1:] <= _HIGH_LAST:
            self._held = text[-1]
            text = text[:-1]
        return self._joined(text)

    def close(self) -> str:
        """Nothing more comes: a half that waited is replaced."""
        held, self._held = self._held, ""
        return self._joined(held)

    def _joined(self, text: str) -> str:
        try:
            text.encode()
        except UnicodeEncodeError:
            text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
            whole = "".join("\ufffd" if "\ud800" <= each <= "\udfff" else each for each in text)
            self.replaced += whole.count("\ufffd") - text.count("\ufffd")
            text = whole
        return text
