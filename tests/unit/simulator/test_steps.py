"""Cutting and compressing bodies."""

from __future__ import annotations

import zlib
from itertools import pairwise

import pytest

from fluxrpc.simulator.faults import split_frames
from fluxrpc.simulator.frames import Frame
from fluxrpc.simulator.http1 import BadRequest, RequestReader, head_bytes
from fluxrpc.simulator.steps import Cut, Data, Finish, Head, Step, Wait, compress, split

HEAD = Head(status=200, headers=(("a", "b"),), length_bytes=9)


def test_split_takes_sizes_in_turn_and_stops_at_other_steps() -> None:
    steps: list[Step] = [HEAD, Data(b"abcd", 1), Data(b"efg", 1), Wait(1.0), Data(b"hi"), Finish()]
    pieces = [Data(b"a", 1), Data(b"bcd"), Data(b"e", 1), Data(b"fg"), Wait(1.0), Data(b"hi"), Finish()]
    assert list(split(steps, (1, 3))) == [HEAD, *pieces]


def test_compress_flushes_each_piece() -> None:
    steps = list(compress([HEAD, Data(b"abc"), Wait(None), Data(b"def"), Finish()], "gzip"))
    head, first = steps[0], steps[1]
    assert isinstance(head, Head)
    assert (head.length_bytes, head.headers[-1]) == (None, ("content-encoding", "gzip"))
    assert isinstance(first, Data)
    assert zlib.decompressobj(wbits=31).decompress(first.body) == b"abc"
    body = b"".join(step.body for step in steps if isinstance(step, Data))
    assert zlib.decompress(body, wbits=31) == b"abcdef"
    assert list(compress([Cut("reset")], "deflate")) == [Cut("reset")]


def test_split_frames_counts_content_only() -> None:
    roles = ("opening", "content", "opening", "content", "finish", "terminator")
    frames = [Frame(data=str(at), role=role) for at, role in enumerate(roles)]  # type: ignore[arg-type]  # literals
    lengths = [len(split_frames(frames, after)[0]) for after in (-1, 0, 1, 2, 3)]
    assert lengths == [0, 1, 2, 4, 4]
    assert all(len(kept) + len(rest) == 6 for kept, rest in (split_frames(frames, after) for after in range(4)))
    assert all(a <= b for a, b in pairwise(lengths))
    assert len(split_frames(frames[:1], 3)[0]) == 1


def test_requests_in_any_pieces() -> None:
    data = b"POST /a%20b?x=1 HTTP/1.1\r\nX-A:  1 \r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
    for size in (1, 7, len(data)):
        reader = RequestReader()
        found = []
        for at in range(0, len(data), size):
            reader.feed(data[at : at + size])
            found += [request] if (request := reader.take()) else []
        (request,) = found
        assert (request.path, request.query, request.body) == ("/a b", "x=1", b"abc")
        assert request.headers == {"x-a": "1", "transfer-encoding": "chunked"}


def test_heads_that_never_end_are_refused() -> None:
    reader = RequestReader()
    reader.feed(b"x" * (1 << 19))
    with pytest.raises(BadRequest):
        reader.take()


def test_unknown_status_has_a_phrase() -> None:
    assert head_bytes(Head(status=529, headers=(), length_bytes=0)).startswith(b"HTTP/1.1 529 Unknown\r\n")
