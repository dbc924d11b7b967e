from __future__ import annotations

import pytest

from fluxrpc.errors import AnswerOversize, Outcome
from fluxrpc.sse import Decoder, Frame

LIMIT = 1 << 16


def feed(*chunks: bytes) -> list[Frame]:
    decoder = Decoder(LIMIT)
    return [frame for chunk in chunks for frame in decoder.feed(chunk)]


def test_plain_frames_keep_their_bytes() -> None:
    assert feed(b"data: 1\n\ndata: 2\n\n") == [
        Frame(b"data: 1\n\n", b"", b"1"),
        Frame(b"data: 2\n\n", b"", b"2"),
    ]


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_every_line_end_works(end: bytes) -> None:
    raw = b"event: delta" + end + b"data: {}" + end + end
    assert feed(raw + raw) == [Frame(raw, b"delta", b"{}")] * 2


@pytest.mark.parametrize(
    ("block", "event", "data"),
    [
        (b"data: a\ndata: b", b"", b"a\nb"),
        (b"data:a", b"", b"a"),
        (b"data:  a", b"", b" a"),
        (b"data", b"", b""),
        (b"data: a:b", b"", b"a:b"),
        (b": note\nid: 7\nretry: 10\ndata: a", b"", b"a"),
        (b"event: a\nevent: b\ndata: 1", b"b", b"1"),
        (b"Data: no\ndata: yes", b"", b"yes"),
    ],
)
def test_fields(block: bytes, event: bytes, data: bytes) -> None:
    raw = block + b"\n\n"
    assert feed(raw) == [Frame(raw, event, data)]


@pytest.mark.parametrize("block", [b": ping", b"event: ping", b"id: 3", b"nonsense"])
def test_a_frame_without_data_is_recognisable(block: bytes) -> None:
    (frame,) = feed(block + b"\n\n")
    assert not frame.has_data
    assert frame.data == b""


def test_blank_lines_between_frames_carry_nothing() -> None:
    assert [f.raw for f in feed(b"\n\n\ndata: a\n\n\n", b"\ndata: b\n\n")] == [b"data: a\n\n", b"data: b\n\n"]
    assert [f.raw for f in feed(b"\r\n\r\ndata: a\r\n\r\n\r\n")] == [b"data: a\r\n\r\n"]


def test_a_byte_order_mark_counts_only_at_the_start() -> None:
    assert feed(b"\xef", b"\xbb", b"\xbfdata: a\n\n") == [Frame(b"data: a\n\n", b"", b"a")]
    (_, second) = feed(b"data: a\n\n\xef\xbb\xbfdata: b\n\n")
    assert not second.has_data
    assert not feed(b"\xef\xbb", b"data: a\n\n")[0].has_data


def test_a_split_inside_crlf_neither_loses_nor_doubles_a_frame() -> None:
    decoder = Decoder(LIMIT)
    assert decoder.feed(b"data: a\r\n\r") == []
    assert decoder.feed(b"\ndata: b") == [Frame(b"data: a\r\n\r\n", b"", b"a")]
    assert decoder.feed(b"\r\n\r\n") == [Frame(b"data: b\r\n\r\n", b"", b"b")]


def test_a_bare_carriage_return_frame_is_not_delayed() -> None:
    assert feed(b"data: a\r\r") == [Frame(b"data: a\r\r", b"", b"a")]


def test_close_reports_what_was_left_open() -> None:
    decoder = Decoder(LIMIT)
    decoder.feed(b"data: a\n\nevent: x\ndata: [DO")
    assert decoder.close() == Frame(b"event: x\ndata: [DO", b"x", b"[DO", True, False)
    assert decoder.close() is None


def test_close_gives_a_frame_whose_blank_line_was_a_lone_carriage_return() -> None:
    decoder = Decoder(LIMIT)
    assert decoder.feed(b"data: a\r\n\r") == []
    assert decoder.close() == Frame(b"data: a\r\n\r", b"", b"a", True, True)


def test_close_of_a_whole_stream_gives_nothing() -> None:
    decoder = Decoder(LIMIT)
    decoder.feed(b"data: a\n\n\n")
    assert decoder.close() is None


def test_an_event_over_the_limit_is_an_error_and_stays_one() -> None:
    decoder = Decoder(16)
    with pytest.raises(AnswerOversize) as caught:
        decoder.feed(b"data: " + b"x" * 20)
    assert caught.value.outcome is Outcome.MODEL
    for call in (lambda: decoder.feed(b"\n\n"), decoder.close):
        with pytest.raises(AnswerOversize):
            call()


def test_frames_before_an_oversize_one_are_given_first() -> None:
    decoder = Decoder(16)
    assert [f.data for f in decoder.feed(b"data: a\n\ndata: " + b"x" * 20 + b"\n\n")] == [b"a"]
    with pytest.raises(AnswerOversize):
        decoder.feed(b"")


def test_an_event_of_exactly_the_limit_passes() -> None:
    raw = b"data: " + b"x" * 8 + b"\n\n"
    assert [f.raw for f in Decoder(16).feed(raw)] == [raw]


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_work_is_linear_however_an_event_is_cut(end: bytes) -> None:
    """Counts the bytes that searching looks at, which no clock can blur."""
    chunk, chunks = b"x" * 64, 4096
    decoder = Decoder(1 << 20)
    decoder.feed(b"data: " + end[:1])
    for _ in range(chunks):
        decoder.feed(chunk)
        assert len(decoder._pending) - decoder._scanned <= 2
    assert len(decoder.feed(end + end)) == 1
