"""Streams gathered for callers that wait for the whole answer: what is read, and when that is enough."""

from __future__ import annotations

from typing import cast

import pytest

from fluxrpc.errors import AnswerFault, AnswerOversize
from fluxrpc.protocols.base import Answer
from fluxrpc.protocols.translated_stream import Gatherer
from fluxrpc.routing.gathering import gather_answer
from fluxrpc.routing.route import RouteLimits
from tests.unit.routing.provider import FOREVER, FakeExchange, stream

WHOLE = Answer(body=b"whole")


class FakeGatherer:
    """Finished at a chunk `finish`, ended at a chunk `end`."""

    def __init__(self) -> None:
        self.ended = False
        self.finished = False
        self.malformed = 0
        self.fed: list[bytes] = []

    def feed(self, chunk: bytes) -> bool:
        self.fed.append(chunk)
        self.finished |= chunk == b"finish"
        self.ended |= chunk == b"end"
        return self.ended

    def close(self) -> Answer:
        if not (self.ended or self.finished):
            raise AnswerFault("stream cut")
        return WHOLE


async def gathered(*pieces: object, limits: RouteLimits | None = None) -> Answer:
    exchange = FakeExchange(stream(*pieces))
    limits = limits or RouteLimits(stream_end_seconds=0.001)
    return await gather_answer(exchange, cast("Gatherer", FakeGatherer()), limits)


@pytest.mark.parametrize(
    "pieces",
    [
        [b"text", b"end", FOREVER],
        [b"text", b"finish", FOREVER],
        [b"text", b"finish", AnswerFault("body cut")],
        [b"text", b"finish"],
    ],
    ids=["its end", "no terminator, open", "no terminator, cut", "no terminator, closed"],
)
async def test_it_ends_with_the_answer(pieces: list[object]) -> None:
    assert await gathered(*pieces) is WHOLE


@pytest.mark.parametrize("pieces", [[b"text"], [b"text", AnswerFault("stream cut")]], ids=["closed", "cut"])
async def test_a_cut_answer_is_none(pieces: list[object]) -> None:
    with pytest.raises(AnswerFault, match="stream cut"):
        await gathered(*pieces)


async def test_it_is_no_longer_than_a_whole_answer_may_be() -> None:
    with pytest.raises(AnswerOversize):
        await gathered(b"x" * 60, b"x" * 60, b"end", limits=RouteLimits(max_answer_bytes=100))
