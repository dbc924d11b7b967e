"""However the bytes are cut, the frames are the same, and they are those of a slow reading of the standard."""

from __future__ import annotations

import itertools
import re

from hypothesis import example, given, settings
from hypothesis import strategies as st

from fluxrpc.errors import AnswerOversize
from fluxrpc.sse import Decoder, Frame

LIMIT = 1 << 20

FIELDS = b"data|data: |data:|event: x|event:|:|: ping|id: 7|retry: 1| |{}|Data: no|\xff|\x00|\xef\xbb\xbf".split(b"|")
ENDS = [b"\n", b"\n\n", b"\r", b"\r\r", b"\r\n", b"\r\n\r\n"]
PLAIN = [b"data: a\n\n", b"data: ", b"\n", b"\n\n", b"event: e\ndata: d\n\n", b":c\n\n", b"x", b"\xef\xbb\xbf"]
pieces = st.sampled_from([*FIELDS, *ENDS])
plain = st.sampled_from(PLAIN)
streams = st.one_of(st.lists(pieces, max_size=24), st.lists(plain, max_size=24)).map(b"".join)


def decode(chunks: list[bytes]) -> list[Frame]:
    decoder = Decoder(LIMIT)
    frames = [frame for chunk in chunks for frame in decoder.feed(chunk)]
    last = decoder.close()
    return [*frames, last] if last else frames


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    marks = [0, *sorted(place % (len(stream) + 1) for place in places), len(stream)]
    return [stream[a:b] for a, b in itertools.pairwise(marks)]


def reference(stream: bytes) -> list[tuple[bytes, bytes]]:
    """The interpretation steps of the standard, line by line."""
    found, event, data = [], b"", b""
    lines = re.split(rb"\r\n|\n|\r", stream.removeprefix(b"\xef\xbb\xbf"))
    for line in lines[:-1]:  # what follows the last line end is no line
        if not line:
            if data:
                found.append((event, data[:-1]))
            event, data = b"", b""
            continue
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            data += value + b"\n"
        elif name == b"event":
            event = value
    return found


@settings(max_examples=300, deadline=None)
@given(streams, st.lists(st.integers(0, 300), max_size=8))
@example(b"\xef\xbb\xbf\r\n\r\n", [2])
def test_any_cutting_gives_the_same_frames(stream: bytes, places: list[int]) -> None:
    whole = decode([stream])
    assert decode(cut(stream, places)) == whole
    assert decode([stream[i : i + 1] for i in range(len(stream))]) == whole


@settings(max_examples=300, deadline=None)
@given(streams)
def test_events_are_those_of_the_standard(stream: bytes) -> None:
    events = [(f.event, f.data) for f in decode([stream]) if f.complete and f.has_data]
    assert events == reference(stream)


@settings(max_examples=300, deadline=None)
@given(streams)
def test_joined_raw_bytes_are_the_same_stream_again(stream: bytes) -> None:
    frames = [frame for frame in decode([stream]) if frame.complete]
    # In the middle of a stream, as after a restart: a byte order mark means nothing there.
    first, *again = decode([b":\n\n", b"".join(frame.raw for frame in frames)])
    assert not first.has_data
    assert [f[1:] for f in again] == [f[1:] for f in frames]


@settings(max_examples=300, deadline=None)
@given(streams, st.lists(st.integers(0, 300), max_size=8), st.integers(1, 40))
def test_the_limit_strikes_at_the_same_frame(stream: bytes, places: list[int], limit: int) -> None:
    def until_error(chunks: list[bytes]) -> tuple[list[Frame], bool]:
        decoder = Decoder(limit)
        frames: list[Frame] = []
        try:
            for chunk in chunks:
                frames += decoder.feed(chunk)
            decoder.close()
        except AnswerOversize:
            return frames, True
        return frames, False

    assert until_error(cut(stream, places)) == until_error([stream])
