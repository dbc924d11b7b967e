"""Golden streams: what a caller is shown of a provider's native stream, and what is read of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fluxrpc.errors import AttemptError
from fluxrpc.protocols.base import AnswerStream, Protocol, StreamOptions
from fluxrpc.protocols.registry import NATIVE
from fluxrpc.v1 import response_pb2 as pb
from fluxrpc.v1.usage_pb2 import Usage

CASES = [
    json.loads(line)
    for line in (Path(__file__).parent / "native_streams.jsonl").read_text(encoding="utf-8").splitlines()
]
IDS = [f"{case['protocol']}: {case['name']}" for case in CASES]


def run(stream: AnswerStream, chunks: list[bytes]) -> tuple[bytes, AttemptError | None, bool]:
    """Frames, error and whether the stream ended well."""
    frames = b""
    for chunk in chunks:
        try:
            batch = stream.feed(chunk)
        except AttemptError as error:
            return frames, error, False
        frames += batch.frames
        if batch.error is not None or batch.ended:
            assert not stream.feed(b"data: late\n\n").frames
            assert not stream.close().frames
            return frames, batch.error, batch.ended
    batch = stream.close()
    return frames + batch.frames, batch.error, batch.ended


def plain(usage: Usage) -> dict[str, Any]:
    """A usage as a vector writes it."""
    fields: dict[str, Any] = {field.name: value for field, value in usage.ListFields()}
    if usage.cache_writes:
        fields["cache_writes"] = [[each.ttl.seconds, each.tokens] for each in usage.cache_writes]
    if usage.extras:
        fields["extras"] = [[extra.key, extra.value_json] for extra in usage.extras]
    return fields


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_stream(case: dict[str, Any]) -> None:
    stream = NATIVE[Protocol(case["protocol"])].watch(StreamOptions(show_usage=case.get("show_usage", False)))

    frames, error, ended = run(stream, [case["upstream"].encode()])

    assert frames.decode() == case["shown"]
    assert (error.detail if error else None) == case.get("error")
    assert ended is (error is None)
    assert [
        [each.choice_index, pb.FinishReason.Name(each.reason).removeprefix("FINISH_REASON_"), each.raw]
        for each in stream.finishes
    ] == case["finishes"]
    assert stream.finished or error is not None
    assert stream.malformed == case.get("malformed", 0)
    assert not stream.notes
    if "model" in case:
        assert stream.served_model == case["model"]
    if "usage" in case:
        assert stream.usage is not None
        assert plain(stream.usage) == case["usage"]


def test_every_protocol_has_vectors() -> None:
    assert {Protocol(case["protocol"]) for case in CASES} == set(NATIVE)
