"""Bytes to server-sent events, without I/O: the event-stream format of the WHATWG HTML standard, section 9.2.

It is a framer as much as a parser: every frame keeps the bytes it came as, so a stream can be passed on unread.
It knows no protocol, no `[DONE]` and no JSON; `id` and `retry` fields are ignored (no provider resumes a stream).

Invariant: however the bytes are cut into chunks, the frames are the same, and the work is linear in the bytes.

Two paths give the same frames. A stream without carriage returns is split at C speed at double line
feeds; the first carriage return switches the stream to the general path for good.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from fluxrpc.errors import AnswerOversize

__all__ = ["Decoder", "Frame"]

_BOM = b"\xef\xbb\xbf"
_PLAIN = b"data: "

_BLANK_LINE = re.compile(rb"\r?\n(?:\r\n?|\n)|\r\r")
"""The end of a frame: a line end and the blank line behind it. Two carriage returns do not wait for a line feed that
might belong to them: the next frame skips line ends at its start, so it is dropped however the bytes are cut."""

_LINE_END = re.compile(rb"\r\n|\n|\r")

_LINE_ENDS = b"\r\n"


class Frame(NamedTuple):
    """One frame. Joined `raw`s are a valid event stream again."""

    raw: bytes
    """As it came, blank line included; blank lines in front of it and a byte order mark are left out."""
    event: bytes
    """The event name; empty where none was given."""
    data: bytes
    """The data lines joined by line feeds."""
    has_data: bool = True
    """False: only comments or ignored fields. The standard dispatches no event for it."""
    complete: bool = True
    """False: the stream ended before the blank line. The standard drops it."""


class Decoder:
    """A decoder for one stream. `max_event_bytes` bounds a frame, and with it what is held back."""

    __slots__ = ("_carriage_returns", "_max_event_bytes", "_oversize", "_pending", "_scanned", "_started")

    def __init__(self, max_event_bytes: int) -> None:
        self._max_event_bytes = max_event_bytes
        self._pending = bytearray()
        self._scanned = 0
        self._started = False
        self._carriage_returns = False
        self._oversize = False

    def feed(self, chunk: bytes) -> list[Frame]:
        """Take the next bytes and give the frames that they complete.

        Raises:
            AnswerOversize: a frame is over the limit. Frames completed before it are given first: the error then
                comes with the next call. After it the decoder is of no use.
        """
        if self._oversize:
            raise self._too_large()
        if not self._started:
            chunk = self._skip_mark(chunk)
            if not self._started:
                return []
        if self._carriage_returns or b"\r" in chunk:
            self._carriage_returns = True
            self._pending += chunk
            return self._checked(self._split_any())
        if self._pending:
            self._pending += chunk
            if self._pending.find(b"\n\n", self._scanned) < 0:
                self._scanned = max(0, len(self._pending) - 1)
                return self._checked([])
            chunk = bytes(self._pending)
            self._pending.clear()
        return self._checked(self._split_plain(chunk))

    def close(self) -> Frame | None:
        """The stream ended. Gives the frame that was still open, if any: `complete` says whether it counts."""
        if self._oversize:
            raise self._too_large()
        block = bytes(self._pending).lstrip(_LINE_ENDS)
        self._pending.clear()
        if not block:
            return None
        # A blank line of one `\r` was waiting for the `\n` that never came.
        complete = _BLANK_LINE.search(block) is not None
        return _parse(block, _LINE_END.split(block), complete=complete)

    def _skip_mark(self, chunk: bytes) -> bytes:
        """Drop a byte order mark at the very start; hold the bytes back while it may still be one."""
        head = bytes(self._pending) + chunk
        self._pending.clear()
        if len(head) < len(_BOM) and _BOM.startswith(head):
            self._pending += head
            return b""
        self._started = True
        return head.removeprefix(_BOM)

    def _split_plain(self, chunk: bytes) -> list[Frame]:
        """Split bytes without carriage returns; what follows the last blank line stays pending."""
        blocks = chunk.split(b"\n\n")
        rest = blocks.pop().lstrip(b"\n")
        if rest:
            self._pending += rest
        self._scanned = max(0, len(rest) - 1)
        frames: list[Frame] = []
        for each in blocks:
            block = each.lstrip(b"\n") if each[:1] == b"\n" else each
            if block[:6] == _PLAIN and b"\n" not in block:
                frames.append(Frame(block + b"\n\n", b"", block[6:]))
            elif block:
                frames.append(_parse(block + b"\n\n", block.split(b"\n")))
        return frames

    def _split_any(self) -> list[Frame]:
        """Split pending bytes with any mixture of line ends."""
        pending, frames, start, scan = self._pending, [], 0, self._scanned
        while True:
            if scan == start:
                start = scan = _skip_line_ends(pending, start)
            end = _BLANK_LINE.search(pending, scan)
            if end is None:
                scan = max(start, len(pending) - 2)
                break
            if end.end() == len(pending) and pending[-1:] == b"\r" and pending[-2:] != b"\r\r":
                scan = max(start, end.start())  # the line feed of this blank line may still be on its way
                break
            raw = bytes(pending[start : end.end()])
            frames.append(_parse(raw, _LINE_END.split(raw)))
            start = scan = end.end()
        del pending[:start]
        self._scanned = scan - start
        return frames

    def _checked(self, frames: list[Frame]) -> list[Frame]:
        """Hold the frames and what is pending against the limit."""
        limit = self._max_event_bytes
        for index, frame in enumerate(frames):
            if len(frame.raw) > limit:
                return self._fail(frames[:index])
        return self._fail(frames) if len(self._pending) > limit else frames

    def _fail(self, frames: list[Frame]) -> list[Frame]:
        self._oversize = True
        self._pending.clear()
        if frames:
            return frames
        raise self._too_large()

    def _too_large(self) -> AnswerOversize:
        return AnswerOversize("event over the limit", f"an event is over {self._max_event_bytes} bytes")


def _skip_line_ends(pending: bytearray, start: int) -> int:
    while start < len(pending) and pending[start] in _LINE_ENDS:
        start += 1
    return start


def _parse(raw: bytes, lines: list[bytes], *, complete: bool = True) -> Frame:
    """Read the fields of one frame from its lines; names are case-sensitive, one space after the colon is skipped."""
    event = b""
    data: list[bytes] = []
    for line in lines:
        name, _, value = line.partition(b":")
        if name == b"data":
            data.append(value[1:] if value[:1] == b" " else value)
        elif name == b"event":
            event = value[1:] if value[:1] == b" " else value
    return Frame(raw, event, data[0] if len(data) == 1 else b"\n".join(data), bool(data), complete)
