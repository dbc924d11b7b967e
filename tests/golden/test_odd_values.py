"""The golden streams again, with one odd value in each place of each event: what a sloppy server may send.

Whatever it is, it makes an event malformed or an answer unusable. It never breaks a reader.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from fluxrpc.errors import AttemptError
from fluxrpc.protocols.base import AnswerStream, Protocol, StreamOptions
from fluxrpc.protocols.context import Context, Target
from fluxrpc.protocols.registry import NATIVE, TRANSLATORS
from fluxrpc.v1.message_pb2 import MessageRequest

VECTORS = Path(__file__).parent / "native_streams.jsonl"
CASES = [json.loads(line) for line in VECTORS.read_text(encoding="utf-8").splitlines()]
ODD: tuple[Any, ...] = (
    None,
    -1,
    2**31,
    2**64,
    1.5,
    1e308,
    "",
    "\ud800",
    [],
    {},
    [None],
    [{"index": -1}],
    {"text": 5},
    True,
)
START = b"data: "


def places(value: Any, parent: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of each value within a JSON value."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield (*parent, key)
        yield from places(inner, (*parent, key))


def with_odd_values(event: bytes) -> Iterator[bytes]:
    head, start, data = event.partition(START)
    try:
        value: Any = json.loads(data) if start else None
    except ValueError:
        return
    for place in places(value):
        *way, last = place
        holder: Any = value
        for key in way:
            holder = holder[key]
        usual = holder[last]
        for odd in ODD:
            holder[last] = odd
            yield head + START + json.dumps(value).encode()
        holder[last] = usual


def read_through(stream: AnswerStream, body: bytes) -> None:
    with suppress(AttemptError):
        batches = [stream.feed(body), stream.close()]
        assert all(event.SerializeToString() for batch in batches for event in batch.events)
    assert all(finish.choice_index >= 0 for finish in stream.finishes)
    assert stream.usage is None or stream.usage.ByteSize() >= 0
    assert stream.served_model.encode() is not None


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['protocol']}: {case['name']}")
def test_no_odd_value_breaks_a_reader(case: dict[str, Any]) -> None:
    protocol = Protocol(case["protocol"])
    events = case["upstream"].encode().split(b"\n\n")
    context = Context(caller=None, target=Target(protocol=protocol, model="m"), request=MessageRequest(), stream=True)
    for at, event in enumerate(events):
        for odd in with_odd_values(event):
            body = b"\n\n".join([*events[:at], odd, *events[at + 1 :]])
            read_through(NATIVE[protocol].watch(StreamOptions()), body)
            read_through(TRANSLATORS[protocol].read_stream(StreamOptions(), context), body)
