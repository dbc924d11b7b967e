"""The same answer in other bytes: however it is cut and written, callers get the same events."""

from __future__ import annotations

import time

import pytest

from fluxrpc.simulator import Ok, Shape, Simulator
from tests.fault.world import STREAMS, Way, route, world

WORDS = ("Žluťoučký ", "kůň 🐎 ", "pěl\nďábelské ", "ódy \u2028 \u200b😀.")
MIB = 1024 * 1024

SHAPES = {
    "one byte at a time": Shape(split_bytes=(1,)),
    "inside UTF-8": Shape(split_bytes=(1, 2, 3, 5, 7)),
    "CRLF": Shape(newline="\r\n"),
    "inside CRLF": Shape(newline="\r\n", split_bytes=(1,)),
    "CR": Shape(newline="\r", split_bytes=(3,)),
    "byte order mark": Shape(bom=True),
    "byte order mark in pieces": Shape(bom=True, split_bytes=(1,)),
    "comments": Shape(comments=3),
    "pings": Shape(pings=3),
    "multi-line data": Shape(multiline=True),
    "multi-line data in pieces": Shape(multiline=True, newline="\r\n", split_bytes=(2, 1)),
    "gzip": Shape(encoding="gzip"),
    "gzip in pieces": Shape(encoding="gzip", split_bytes=(1,)),
    "deflate": Shape(encoding="deflate", split_bytes=(4,)),
}


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("way", STREAMS, ids=str)
async def test_f27_any_shape_gives_the_same_events(sim: Simulator, way: Way, name: str) -> None:
    sim.script("m1", Ok(fragments=WORDS, shape=SHAPES[name]))
    async with world(sim, route("m1")) as here:
        told = await here.ask(way)
        assert told.text == "".join(WORDS)
        assert told.is_complete
        assert told.is_terminated
        assert told.trace == ["m1 ok nobody 200"]
        assert told.usage is not None
        assert told.usage.output_tokens > 0


@pytest.mark.parametrize("piece", [0, 997], ids=["whole", "in pieces"])
@pytest.mark.parametrize("way", STREAMS, ids=str)
async def test_f27_an_event_of_one_mebibyte(sim: Simulator, way: Way, piece: int) -> None:
    shape = Shape(split_bytes=(piece,)) if piece else Shape()
    sim.script("m1", Ok(fragments=("Begin ", "b" * MIB, " end."), shape=shape))
    async with world(sim, route("m1")) as here:
        began = time.monotonic()
        told = await here.ask(way)
        assert told.text == "Begin " + "b" * MIB + " end."
        assert told.is_complete
        assert time.monotonic() - began < 5  # quadratic work would take minutes
