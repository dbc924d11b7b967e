from __future__ import annotations

import pytest

from fluxrpc.protocols.base import Batch
from fluxrpc.server.chunks import MAX_MESSAGE_BYTES, messages_of, split_frames
from fluxrpc.v1.stream_pb2 import PartDelta, StreamEvent

ENDS = (b"\n\n", b"\r\n\r\n", b"\r\r")


def test_a_batch_is_one_message() -> None:
    assert [message.native for message in messages_of(Batch(frames=b"data: 1\n\n"))] == [b"data: 1\n\n"]
    events = [StreamEvent(part_delta=PartDelta(text="a")), StreamEvent(part_delta=PartDelta(text="b"))]
    (message,) = messages_of(Batch(events=events))
    assert list(message.events.events) == events
    assert list(messages_of(Batch())) == []


def test_a_large_batch_is_several() -> None:
    frames = b"".join(b"data: %d %s\n\n" % (n, b"x" * 10_000) for n in range(60))
    parts = [message.native for message in messages_of(Batch(frames=frames))]
    assert b"".join(parts) == frames
    assert all(len(part) <= MAX_MESSAGE_BYTES and part.endswith(b"\n\n") for part in parts)
    assert len(parts) == 3


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("limit", [1, 5, 8, 9, 10, 11, 12, 19, 20, 21, 37, 400])
def test_frames_are_never_cut(end: bytes, limit: int) -> None:
    frames = [b"data: %d" % n + b"x" * (n % 5 * 3) + end for n in range(12)]
    parts = list(split_frames(b"".join(frames), limit))
    assert b"".join(parts) == b"".join(frames)
    assert all(part.endswith(end) for part in parts)
    # Over the limit only where one frame alone is.
    assert all(len(part) <= limit or part in frames for part in parts)


def test_what_ends_without_a_blank_line_goes_as_it_is() -> None:
    assert list(split_frames(b"data: 1\n\ndata: and the rest is missing", 12)) == [
        b"data: 1\n\n",
        b"data: and the rest is missing",
    ]
    assert list(split_frames(b"", 12)) == []
