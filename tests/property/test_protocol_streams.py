"""Any cutting of a stream's bytes gives the same frames, and no bytes at all break a reader."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fluxrpc.errors import AttemptError, InvalidRequest
from fluxrpc.protocols.base import Answer, AnswerStream, Protocol, StreamOptions, WireOptions
from fluxrpc.protocols.context import Context, Target
from fluxrpc.protocols.json_text import JsonFault
from fluxrpc.protocols.notes import Notes
from fluxrpc.protocols.registry import NATIVE, TRANSLATORS
from fluxrpc.v1.message_pb2 import MessageRequest
from fluxrpc.v1.stream_pb2 import StreamEvent

VECTORS = Path(__file__).parents[1] / "golden" / "native_streams.jsonl"
CASES = [json.loads(line) for line in VECTORS.read_text(encoding="utf-8").splitlines()]

case = st.sampled_from(CASES)
protocols = st.sampled_from(list(Protocol))
bytes_like_json = st.one_of(
    st.binary(max_size=200),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(
                st.sampled_from([
                    "model", "stream", "choices", "error", "message", "type", "delta", "index", "content", "usage",
                    "finish_reason", "candidates", "response", "parts", "stream_options", "object", "details", "code",
                ]),
                inner,
                max_size=5,
            )
        ),
        max_leaves=20,
    ).map(lambda value: json.dumps(value).encode()),
)  # fmt: skip


def observe(stream: AnswerStream, chunks: list[bytes]) -> dict[str, Any]:
    frames = b""
    events: list[StreamEvent] = []
    real = ended = False
    error: AttemptError | None = None
    try:
        for chunk in chunks:
            batch = stream.feed(chunk)
            frames += batch.frames
            events += batch.events
            real, ended, error = real or batch.real, ended or batch.ended, error or batch.error
        batch = stream.close()
        frames += batch.frames
        events += batch.events
        real, ended, error = real or batch.real, ended or batch.ended, error or batch.error
    except AttemptError as fault:
        error = fault
    return {
        "frames": frames,
        "events": events,
        "real": real,
        "ended": ended,
        "error": error.detail if error else None,
        "finishes": list(stream.finishes),
        "usage": stream.usage,
        "malformed": stream.malformed,
        "model": stream.served_model,
        "notes": list(stream.notes),
    }


def context_of(protocol: Protocol) -> Context:
    return Context(caller=None, target=Target(protocol=protocol, model="m"), request=MessageRequest(), stream=True)


def reading(protocol: Protocol) -> AnswerStream:
    return TRANSLATORS[protocol].read_stream(StreamOptions(), context_of(protocol))


def cut(body: bytes, places: list[int]) -> list[bytes]:
    ends = sorted({place % (len(body) + 1) for place in places})
    return [body[start:end] for start, end in zip([0, *ends], [*ends, len(body)], strict=True)]


@settings(deadline=None, max_examples=150)
@given(case=case, places=st.lists(st.integers(0, 10_000), max_size=8))
def test_any_cutting_gives_the_same_frames(case: dict[str, Any], places: list[int]) -> None:
    body = case["upstream"].encode()
    codec = NATIVE[Protocol(case["protocol"])]

    assert observe(codec.watch(StreamOptions()), cut(body, places)) == observe(codec.watch(StreamOptions()), [body])


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['protocol']}: {case['name']}")
def test_single_bytes_give_the_same_frames(case: dict[str, Any]) -> None:
    body = case["upstream"].encode()
    codec = NATIVE[Protocol(case["protocol"])]
    single = [body[at : at + 1] for at in range(len(body))]

    assert observe(codec.watch(StreamOptions()), single) == observe(codec.watch(StreamOptions()), [body])


@settings(deadline=None, max_examples=60)
@given(
    case=case,
    places=st.lists(st.integers(0, 10_000), max_size=8),
)
def test_any_cutting_gives_the_same_events(case: dict[str, Any], places: list[int]) -> None:
    body = case["upstream"].encode()
    protocol = Protocol(case["protocol"])

    whole = observe(reading(protocol), [body])

    assert observe(reading(protocol), cut(body, places)) == whole


@settings(deadline=None, max_examples=200)
@given(protocol=protocols, body=bytes_like_json)
@example(protocol=Protocol.OPENAI, body=b"[" * 3_000)
@example(protocol=Protocol.OPENAI, body=b'{"a":' * 500 + b"1" + b"}" * 500)
@example(protocol=Protocol.OPENAI, body=b'{"a":' + b"9" * 5000 + b',"b":"\\ud800"}')
def test_no_request_breaks_a_reader(protocol: Protocol, body: bytes) -> None:
    codec = NATIVE[protocol]
    with suppress(JsonFault):
        assert TRANSLATORS[protocol].read_request(body).message.ByteSize() >= 0
    for stream in (False, True):
        try:
            head = codec.read_head(body)
            wire = codec.write_wire(head, body, model="m", stream=stream, options=WireOptions())
        except InvalidRequest:
            continue
        else:
            written = json.loads(wire.body)
            if protocol is not Protocol.GEMINI:
                assert written["model"] == "m"
                assert bool(written.get("stream")) is stream


@settings(deadline=None, max_examples=200)
@given(protocol=protocols, body=bytes_like_json, status=st.integers(300, 599))
@example(protocol=Protocol.GEMINI, body=b"[" * 3_000, status=500)
def test_no_answer_breaks_a_reader(protocol: Protocol, body: bytes, status: int) -> None:
    translator = TRANSLATORS[protocol]
    with suppress(AttemptError):
        assert isinstance(NATIVE[protocol].read_answer(body), Answer)
    with suppress(AttemptError):
        assert translator.read_response(body, context_of(protocol), Notes(translator.fates)).ByteSize() >= 0
    assert NATIVE[protocol].read_error(status, {}, body, now=0.0).detail


@settings(deadline=None, max_examples=200)
@given(protocol=protocols, events=st.lists(bytes_like_json, max_size=4))
def test_no_stream_breaks_a_reader(protocol: Protocol, events: list[bytes]) -> None:
    body = b"".join(b"data: " + event + b"\n\n" for event in events)
    seen = observe(NATIVE[protocol].watch(StreamOptions()), [body, b"rest"])
    assert seen["ended"] is not bool(seen["error"])
    typed = observe(reading(protocol), [body, b"rest"])
    assert typed["ended"] is not bool(typed["error"])


@settings(deadline=None, max_examples=200)
@given(protocol=protocols, headers=st.dictionaries(
    st.sampled_from([
        "date", "retry-after", "retry-after-ms", "x-ratelimit-reset-tokens", "x-ratelimit-remaining-tokens",
        "x-should-retry",
    ]),
    st.text(max_size=20) | st.floats().map(str) | st.datetimes().map(str),
))  # fmt: skip
@example(protocol=Protocol.OPENAI, headers={"retry-after": "Mon, 01 Jan 0001 00:00:00 GMT"})
@example(protocol=Protocol.OPENAI, headers={"date": "Fri, 31 Dec 9999 23:59:59 -2359", "retry-after": "9" * 400})
def test_no_header_breaks_a_hint(protocol: Protocol, headers: dict[str, str]) -> None:
    hint = NATIVE[protocol].read_error(429, headers, b"", now=1e9).retry_after_seconds  # type: ignore[attr-defined]
    assert hint is None or hint >= 0
