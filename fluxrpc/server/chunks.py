"""Batches of a stream as messages: what arrived together leaves together, within a size."""

from __future__ import annotations

from collections.abc import Iterator

from fluxrpc.protocols.base import Batch
from fluxrpc.v1.router_pb2 import Events, ExecuteStreamResponse

MAX_MESSAGE_BYTES = 256 * 1024
_FRAME_ENDS = (b"\n\n", b"\r\n\r\n", b"\r\r")


def messages_of(batch: Batch) -> Iterator[ExecuteStreamResponse]:
    """The messages for a batch: one, unless it is over 256 KiB and holds several frames."""
    if batch.frames:
        for frames in split_frames(batch.frames):
            yield ExecuteStreamResponse(native=frames)
    elif batch.events:
        yield ExecuteStreamResponse(events=Events(events=batch.events))


def split_frames(frames: bytes, max_bytes: int = MAX_MESSAGE_BYTES) -> Iterator[bytes]:
    """Whole frames in pieces of at most `max_bytes`; a frame that is larger makes a piece of its own."""
    start = 0
    while len(frames) - start > max_bytes:
        end = _last_frame_end(frames, start, start + max_bytes) or _first_frame_end(frames, start, start + max_bytes)
        yield frames[start:end]
        start = end
    if start < len(frames):
        yield frames[start:] if start else frames


def _last_frame_end(frames: bytes, start: int, limit: int) -> int:
    """The end of the last frame that ends within `limit`; 0 if none does."""
    found = ((frames.rfind(mark, start, limit), mark) for mark in _FRAME_ENDS)
    return max((at + len(mark) for at, mark in found if at >= start), default=0)


def _first_frame_end(frames: bytes, start: int, limit: int) -> int:
    """The end of the frame that begins at `start` and goes over the limit."""
    look_from = max(start, limit - 3)  # the blank line may have begun before the limit
    found = ((frames.find(mark, look_from), mark) for mark in _FRAME_ENDS)
    return min((at + len(mark) for at, mark in found if at >= 0), default=len(frames))
