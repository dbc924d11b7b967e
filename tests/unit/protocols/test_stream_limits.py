from __future__ import annotations

import pytest

from fluxrpc.errors import AnswerOversize
from fluxrpc.protocols.base import Protocol, StreamOptions
from fluxrpc.protocols.context import Context, Target
from fluxrpc.protocols.registry import NATIVE, TRANSLATORS
from fluxrpc.v1.message_pb2 import MessageRequest

FINISH = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'


@pytest.mark.parametrize("body", [b"data: " + b"x" * 200, b'{"a":"' + b"x" * 200])
@pytest.mark.parametrize("protocol", list(Protocol))
def test_memory_is_bounded(protocol: Protocol, body: bytes) -> None:
    stream = NATIVE[protocol].watch(StreamOptions(max_event_bytes=100))
    stream.feed(body[:60])
    with pytest.raises(AnswerOversize):
        stream.feed(body[60:])


def test_the_answer_begins_with_the_first_real_event() -> None:
    stream = NATIVE[Protocol.OPENAI].watch(StreamOptions())
    assert not stream.feed(b": ping\n\n").real
    assert not stream.feed(b'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}\n\n').real
    assert stream.feed(b'data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n').real
    finished = [stream.finished]
    assert stream.feed(FINISH).real
    assert [*finished, stream.finished] == [False, True]
    assert not stream.feed(FINISH.replace(b"stop", b"length")).ended
    assert [finish.raw for finish in stream.finishes] == ["length"]


def test_frames_that_came_together_travel_together() -> None:
    stream = NATIVE[Protocol.OPENAI].watch(StreamOptions())
    assert stream.feed(FINISH + FINISH).frames == FINISH + FINISH
    assert stream.feed(b"").frames == b""


@pytest.mark.parametrize(("first", "second"), [(b"\xef", b"\xbb\xbf"), (b"\xef\xbb\xbf", b""), (b"\n\r\n", b"\n")])
def test_marks_and_blank_lines_before_the_first_event(first: bytes, second: bytes) -> None:
    stream = NATIVE[Protocol.OPENAI].watch(StreamOptions())
    assert not stream.feed(first).frames
    assert stream.feed(second + FINISH).frames == FINISH


@pytest.mark.parametrize("index", [b"-1", b"2147483648", b"99999999999999999999", b"1.5", b'"0"'])
def test_a_choice_without_a_place_is_malformed(index: bytes) -> None:
    context = Context(caller=None, target=Target(protocol=Protocol.OPENAI, model="m"), request=MessageRequest())
    options = StreamOptions()
    for stream in (NATIVE[Protocol.OPENAI].watch(options), TRANSLATORS[Protocol.OPENAI].read_stream(options, context)):
        stream.feed(FINISH.replace(b":0", b":" + index))
        assert (stream.malformed, stream.finishes) == (1, [])
