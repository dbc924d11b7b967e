"""Stop sequences that a provider does not take: text is cut where the first of them is complete.

The end of a text that could still become a stop sequence is held back. Invariant: how a text is cut into pieces changes
nothing, and each character is looked at a constant number of times for each sequence (Knuth, Morris and Pratt).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

__all__ = ["Stop", "StopScanner", "compiled_stops"]


class Stop(NamedTuple):
    """A sequence, and for each of its beginnings the length of the longest one that is also its end."""

    text: str
    borders: Sequence[int]


def compiled_stops(sequences: Iterable[str]) -> tuple[Stop, ...]:
    """What scanners need, made once for each request. Empty sequences never match and are left out."""
    return tuple(Stop(each, _borders(each)) for each in sequences if each)


class StopScanner:
    """Scans one text that grows."""

    __slots__ = ("_held", "_lengths", "_stops", "matched", "sent_length")

    def __init__(self, stops: Sequence[Stop]) -> None:
        self._stops = stops
        self._lengths = [0] * len(stops)  # how much of each sequence stands at the end of the text
        self._held = ""
        self.matched = ""
        """The sequence that was met, once one was. The longest, if several ended at the same character."""
        self.sent_length = 0
        """Characters that were given out."""

    def feed(self, text: str) -> str:
        """What can be given out: nothing of a sequence that was met or may be, nothing behind it."""
        if self.matched:
            return ""
        known = len(self._held)
        whole = self._held + text
        end = len(text) + 1
        waiting = 0
        for number, stop in enumerate(self._stops):
            length = self._lengths[number]
            if not length and stop.text[0] not in text:
                continue  # the usual thing
            found, length = _advance(stop, length, text)
            self._lengths[number] = length
            waiting = max(waiting, length)
            if 0 < found < end or (found == end and len(stop.text) > len(self.matched)):
                end, self.matched = found, stop.text
        if self.matched:
            self._held = ""
            return self._sent(whole[: known + end - len(self.matched)])
        cut = len(whole) - waiting
        self._held = whole[cut:]
        return self._sent(whole[:cut])

    def close(self) -> str:
        """The text ends: what was held back is no stop sequence."""
        held, self._held = self._held, ""
        return self._sent(held)

    def _sent(self, text: str) -> str:
        self.sent_length += len(text)
        return text


def _advance(stop: Stop, length: int, text: str) -> tuple[int, int]:
    """Where in `text` a sequence of which `length` characters stood before it ends (0: nowhere), and its new length."""
    wanted, borders = stop
    at = 0
    while at < len(text):
        if not length:
            at = text.find(wanted[0], at)
            if at < 0:
                return 0, 0
        while length and wanted[length] != text[at]:
            length = borders[length - 1]
        length += wanted[length] == text[at]
        at += 1
        if length == len(wanted):
            return at, 0
    return 0, length


def _borders(text: str) -> Sequence[int]:
    borders = [0] * len(text)
    length = 0
    for at in range(1, len(text)):
        while length and text[length] != text[at]:
            length = borders[length - 1]
        length += text[length] == text[at]
        borders[at] = length
    return borders
