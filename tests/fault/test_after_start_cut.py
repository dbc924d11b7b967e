"""A stream that breaks off after it began: never a success, no other route, and the caller keeps what it has."""

from __future__ import annotations

import json

import grpc
import pytest

from fluxrpc.resilience.breaker import BreakerState
from fluxrpc.simulator import Fault, Ok, Pace, Simulator
from tests.fault.world import STREAMS, Way, route, world

TWO = (route("cut"), route("well", priority=10))
ANSWER = Ok(fragments=("One ", "two ", "three ", "four."), pace=Pace(between_events_seconds=0.01))
WAYS_TO_CUT = ("close", "reset", "chunk", "end")


@pytest.mark.parametrize("how", WAYS_TO_CUT)
@pytest.mark.parametrize("way", STREAMS, ids=str)
async def test_f20_a_cut_is_never_a_success(sim: Simulator, way: Way, how: str) -> None:
    sim.script("cut", Fault("cut", after_events=2, how=how, answer=ANSWER))  # type: ignore[arg-type]  # the four ways
    async with world(sim, *TWO) as here:
        told = await here.ask(way)
        assert (told.code, told.reason) == (grpc.StatusCode.UNAVAILABLE, "STREAM_INTERRUPTED")
        assert not told.is_complete
        # A reset may overtake what was sent before it; nothing else may be lost, and nothing be added.
        assert told.text == "One two " or (how == "reset" and told.text == "One ")
        assert told.trace == ["cut model route 200"]
        assert not here.seen("well")
        assert here.route("cut").breaker.snapshot().failures == 1
        assert here.route("cut").endpoint_breaker.state is BreakerState.CLOSED
        await here.at_rest()


@pytest.mark.parametrize("way", STREAMS, ids=str)
async def test_f20_the_tokens_it_cost_are_told_where_they_are_known(sim: Simulator, way: Way) -> None:
    sim.script("cut", Fault("cut", after_events=2, answer=ANSWER))
    async with world(sim, *TWO) as here:
        told = await here.ask(way)
        known = way.form in ("anthropic", "gemini")  # the others tell usage at the end only
        assert (told.usage is not None) is known
        if told.usage is not None:
            assert told.usage.input_tokens == 2
            assert told.attempts[0].usage.input_tokens == 2


@pytest.mark.parametrize("how", WAYS_TO_CUT)
@pytest.mark.parametrize("way", STREAMS, ids=str)
async def test_f20_a_cut_before_the_first_token_fails_over(sim: Simulator, way: Way, how: str) -> None:
    sim.script("cut", Fault("cut", after_events=0, how=how, answer=ANSWER))  # type: ignore[arg-type]  # the four ways
    async with world(sim, route("cut"), route("well", priority=10, service="other")) as here:
        told = await here.ask(way)
        # A reset may overtake even the head of the answer: then no byte came, which is the network's fault.
        assert told.trace[0] == "cut model route 200" or (how == "reset" and told.trace[0] == "cut network endpoint 0")
        assert told.trace[1:] == ["well ok nobody 200"]
        assert told.is_complete


@pytest.mark.parametrize("way", STREAMS, ids=str)
async def test_f21_a_stall_ends_at_the_idle_limit(sim: Simulator, way: Way) -> None:
    sim.script("cut", Fault("stall", after_events=2, answer=ANSWER))
    async with world(sim, *TWO, idle="150ms") as here:
        told = await here.ask(way)
        assert (told.code, told.reason) == (grpc.StatusCode.UNAVAILABLE, "STREAM_INTERRUPTED")
        assert told.text == "One two "
        assert told.trace == ["cut model route 200"]
        assert 0.15 <= told.seconds < 1.5
        await sim.wait_for(lambda: here.seen("cut")[0].socket_closed_by_peer, 1)


@pytest.mark.parametrize("how", ["end", "close"])
@pytest.mark.parametrize("way", STREAMS, ids=str)
async def test_f23_without_its_terminator_a_finished_answer_is_complete(sim: Simulator, way: Way, how: str) -> None:
    sim.script("cut", Fault("no_terminator", how=how, answer=ANSWER))  # type: ignore[arg-type]  # two of the four ways
    async with world(sim, route("cut"), stream_end="150ms", idle="300ms") as here:
        told = await here.ask(way)
        if way.form in ("cohere", "responses"):
            # Their terminator is what says that the answer has finished: without it nothing does.
            assert (told.code, told.is_complete) == (grpc.StatusCode.UNAVAILABLE, False)
            return
        assert told.code is grpc.StatusCode.OK
        assert told.text == "One two three four."
        assert told.is_complete
        assert told.is_terminated  # added where the provider left it out
        assert told.trace == ["cut ok nobody 200"]
        assert told.seconds < 1.5
        await here.at_rest()


ERRORS = ("error_event", "bare_error", "failed_response")


@pytest.mark.parametrize("kind", ERRORS)
@pytest.mark.parametrize("at", [-1, 0])
@pytest.mark.parametrize("way", STREAMS, ids=str)
async def test_f24_an_error_before_any_output_fails_over(sim: Simulator, way: Way, at: int, kind: str) -> None:
    sim.script("cut", Fault(kind, after_events=at, problem="server_error", answer=ANSWER))  # type: ignore[arg-type]  # three kinds
    sim.script("well", Ok(text="All is well here."))
    async with world(sim, *TWO, retries_per_route=0) as here:
        told = await here.ask(way)
        assert told.text == "All is well here."
        assert told.trace[0] == "cut model route 200"
        assert told.trace[1:] == ["well ok nobody 200"]


@pytest.mark.parametrize("kind", ERRORS)
@pytest.mark.parametrize("way", STREAMS, ids=str)
async def test_f24_an_error_after_output_interrupts_with_the_provider_s_reason(
    sim: Simulator, way: Way, kind: str
) -> None:
    words = "The server caught fire."
    act = Fault(kind, after_events=2, problem="server_error", message=words, answer=ANSWER)  # type: ignore[arg-type]  # three kinds
    sim.script("cut", act)
    async with world(sim, *TWO) as here:
        told = await here.ask(way)
        assert (told.code, told.reason) == (grpc.StatusCode.UNAVAILABLE, "STREAM_INTERRUPTED")
        assert told.text == "One two "
        assert told.trace == ["cut model route 200"]
        assert told.reasons == ["PROVIDER_ERROR"]
        assert told.detail is not None
        assert words in json.dumps(json.loads(told.detail.native.body))
        assert not here.seen("well")
