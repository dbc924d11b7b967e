"""The request itself is at fault, or the answer over our limits: one attempt, one clear error, nobody else blamed."""

from __future__ import annotations

import json

import grpc
import pytest

from fluxrpc.resilience.breaker import BreakerState
from fluxrpc.simulator import Fault, Ok, Shape, Simulator
from tests.fault.world import FORMS, WAYS, Way, route, world

TWO = (route("m1"), route("m2", priority=10))
KIB = 1024


@pytest.mark.parametrize("status", [400, 413, 422])
@pytest.mark.parametrize("way", WAYS, ids=str)
async def test_f12_the_caller_s_fault_is_told_and_not_retried(sim: Simulator, way: Way, status: int) -> None:
    sim.script("m1", Fault("status", status=status, message="The temperature is above 2."))
    async with world(sim, *TWO) as here:
        told = await here.ask(way)
        for _ in range(3):  # more than any threshold
            told = await here.ask(way)
            assert (told.code, told.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_REQUEST")
            assert told.trace == [f"m1 caller caller {status}"]
        assert len(here.seen("m1")) == 4
        assert not here.seen("m2")
        assert here.route("m1").breaker.snapshot().failures == 0
        assert here.route("m1").endpoint_breaker.state is BreakerState.CLOSED
        assert "The temperature is above 2." in told.message
        assert told.detail is not None
        native = told.detail.native
        assert native.http_status == status
        # In the caller's own protocol, word for word.
        assert "The temperature is above 2." in json.dumps(json.loads(native.body))


@pytest.mark.parametrize("form", FORMS)
async def test_f17_a_whole_answer_over_the_limit_ends_clearly(sim: Simulator, form: str) -> None:
    sim.script("m1", Fault("huge_body", n_bytes=8 * KIB * KIB))
    async with world(sim, *TWO, limits={"max_answer": "64KiB"}) as here:
        told = await here.ask(Way(form, "unary"))
        assert (told.code, told.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "TOO_LARGE")
        assert told.trace == ["m1 model route 200"]
        assert told.text == ""
        seen = here.seen("m1")[0]
        await sim.wait_for(lambda: seen.socket_closed_by_peer, 1)
        # What was not wanted was not read: the rest stayed with the provider.
        assert seen.bytes_sent < 6 * KIB * KIB
        assert not here.seen("m2")


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
async def test_f17_a_small_body_that_inflates_over_the_limit_is_over_it(sim: Simulator, encoding: str) -> None:
    shape = Shape(encoding=encoding)  # type: ignore[arg-type]  # two encodings of the simulator
    sim.script("m1", Ok(text="a" * (KIB * KIB), shape=shape))
    async with world(sim, *TWO, limits={"max_answer": "64KiB"}) as here:
        told = await here.ask(Way("openai", "unary"))
        assert (told.code, told.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "TOO_LARGE")
        assert here.seen("m1")[0].bytes_sent < 64 * KIB


@pytest.mark.parametrize("form", FORMS)
async def test_f17_an_event_over_the_limit_is_never_cut(sim: Simulator, form: str) -> None:
    sim.script("m1", Ok(fragments=("b" * (256 * KIB),)))
    async with world(sim, *TWO, limits={"max_event": "64KiB"}) as here:
        told = await here.ask(Way(form, "stream"))
        assert (told.code, told.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "TOO_LARGE")
        assert told.text == ""
        assert not told.is_complete


@pytest.mark.parametrize("form", FORMS)
async def test_f17_an_event_over_the_limit_in_the_middle_interrupts(sim: Simulator, form: str) -> None:
    sim.script("m1", Ok(fragments=("Short. ", "b" * (256 * KIB))))
    async with world(sim, *TWO, limits={"max_event": "64KiB"}) as here:
        told = await here.ask(Way(form, "stream"))
        assert (told.code, told.reason) == (grpc.StatusCode.UNAVAILABLE, "STREAM_INTERRUPTED")
        assert told.text == "Short. "
        assert not told.is_complete


async def test_f17_a_head_over_the_limit_fails_over(sim: Simulator) -> None:
    sim.script("m1", Fault("huge_headers", n_bytes=200 * KIB))
    async with world(sim, *TWO) as here:
        told = await here.ask(Way("openai", "unary"))
        assert told.trace == ["m1 model route 0", "m2 ok nobody 200"]
