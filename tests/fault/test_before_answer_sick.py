"""Faults of a model before its answer starts: the next route answers, and only the sick route is blamed."""

from __future__ import annotations

import asyncio

import grpc
import pytest

from fluxrpc.resilience.breaker import BreakerState
from fluxrpc.simulator import Act, Fault, Ok, Shape, Simulator
from tests.fault.world import FIRST, FORMS, STREAMS, WAYS, Way, at, route, world

TWO = (route("sick"), route("well", priority=10))
WELL = Ok(text="All is well here.")

# The act, HTTP status of the attempt, its reason.
RUBBISH: dict[str, tuple[Fault, int, str]] = {
    "empty": (Fault("empty"), 200, "EMPTY_ANSWER"),
    "html": (Fault("html"), 200, "HTML_ANSWER"),
    "half-json": (Fault("truncated_json"), 200, "TRUNCATED_ANSWER"),
    "not-json": (Fault("raw_body", data="nonsense"), 200, "MALFORMED_ANSWER"),
    "foreign-json": (Fault("raw_body", data='{"hello": 1}'), 200, "FOREIGN_ANSWER"),
    "raw-bytes": (Fault("raw_body", data="\udcff\udcfe"), 200, "MALFORMED_ANSWER"),
    "redirect": (Fault("redirect"), 307, "REDIRECT"),
}


@pytest.mark.parametrize("way", WAYS, ids=str)
async def test_f04_a_500_once_is_tried_again_on_the_same_route(sim: Simulator, way: Way) -> None:
    sim.script("sick", [Fault("status", status=500), WELL])
    async with world(sim, *TWO) as here:
        told = await here.ask(way)
        assert (told.code, told.text) == (grpc.StatusCode.OK, "All is well here.")
        assert told.trace == ["sick model route 500", "sick ok nobody 200"]
        assert told.is_complete
        assert told.is_terminated
        assert [seen.status for seen in here.seen("sick")] == [500, 200]
        assert not here.seen("well")


@pytest.mark.parametrize("way", WAYS, ids=str)
async def test_f04_a_route_of_equal_priority_goes_before_a_second_try(sim: Simulator, way: Way) -> None:
    sim.script("sick", Fault("status", status=500))
    async with world(sim, route("sick", weight=FIRST), route("equal"), route("well", priority=10)) as here:
        told = await here.ask(way)
        assert told.trace == ["sick model route 500", "equal ok nobody 200"]


@pytest.mark.parametrize("status", [503, 529])
@pytest.mark.parametrize("way", WAYS, ids=str)
async def test_f05_overload_fails_over_and_opens_the_route(sim: Simulator, way: Way, status: int) -> None:
    sim.script("sick", Fault("status", status=status))
    sim.script("well", WELL)
    async with world(sim, *TWO) as here:
        traces = [(await here.ask(way)).trace for _ in range(3)]
        failed, served = f"sick model route {status}", "well ok nobody 200"
        # Three failures open the route: from then on it is not touched at all.
        assert traces == [[failed, failed, served], [failed, served], [served]]
        assert len(here.seen("sick")) == 3
        assert here.route("sick").breaker.state is BreakerState.OPEN
        assert here.route("sick").endpoint_breaker.state is BreakerState.CLOSED


@pytest.mark.parametrize("way", [Way("openai", "unary"), Way("cohere", "stream")], ids=str)
async def test_f05_an_error_that_never_finishes_its_body_is_not_waited_for(sim: Simulator, way: Way) -> None:
    async def half_an_error(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b'HTTP/1.1 503 Busy\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{"err')
        await reader.read()
        writer.close()

    server = await asyncio.start_server(half_an_error, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    routes = (route("sick", service="slow"), route("well", priority=10))
    async with server, world(sim, *routes, services={"slow": at(url)}, retries_per_route=0) as here:
        told = await here.ask(way)
        assert told.trace == ["sick model route 503", "well ok nobody 200"]
        assert told.seconds < 2


async def test_f05_retries_per_route_bound_the_tries(sim: Simulator) -> None:
    sim.script("sick", Fault("overloaded"))
    async with world(sim, *TWO, retries_per_route=2, max_attempts=3) as here:
        told = await here.ask(Way("openai", "unary"))
        assert told.trace == ["sick model route 503"] * 3
        assert (told.code, told.reason) == (grpc.StatusCode.UNAVAILABLE, "PROVIDER_FAILED")
        assert len(here.seen("sick")) == 3


@pytest.mark.parametrize("way", WAYS, ids=str)
async def test_f08_silence_ends_the_attempt_and_the_route_is_not_tried_again(sim: Simulator, way: Way) -> None:
    sim.script("sick", Fault("silence"))
    sim.script("well", WELL)
    async with world(sim, *TWO, first_token="150ms", attempt_timeout="150ms") as here:
        told = await here.ask(way)
        assert told.trace == ["sick model route 0", "well ok nobody 200"]
        assert told.reasons[0] == ("FIRST_TOKEN_TIMEOUT" if way.streams else "ATTEMPT_TIMEOUT")
        assert 0.15 <= told.seconds < 1.5
        assert len(here.seen("sick")) == 1
        await sim.wait_for(lambda: here.seen("sick")[0].socket_closed_by_peer, 1)


@pytest.mark.parametrize("act", [Fault("headers_then_silence"), Fault("stall")], ids=["headers", "opening"])
@pytest.mark.parametrize("way", WAYS, ids=str)
async def test_f08_signs_of_life_are_no_tokens(sim: Simulator, way: Way, act: Act) -> None:
    sim.script("sick", act)
    async with world(sim, *TWO, first_token="150ms", attempt_timeout="150ms") as here:
        told = await here.ask(way)
        assert told.trace == ["sick model route 0", "well ok nobody 200"]
        await sim.wait_for(lambda: here.seen("sick")[0].socket_closed_by_peer, 1)


@pytest.mark.parametrize("way", STREAMS, ids=str)
async def test_f09_comments_and_pings_do_not_put_off_the_limit(sim: Simulator, way: Way) -> None:
    sim.script("sick", Ok(shape=Shape(comments=20, pings=20, ping_seconds=0.03)))
    async with world(sim, *TWO, first_token="150ms") as here:
        told = await here.ask(way)
        assert told.trace == ["sick model route 0", "well ok nobody 200"]
        assert told.reasons[0] == "FIRST_TOKEN_TIMEOUT"
        await sim.wait_for(lambda: here.seen("sick")[0].socket_closed_by_peer, 1)


async def test_f08_silence_may_be_the_endpoint_s_fault_by_configuration(sim: Simulator) -> None:
    sim.script("sick", Fault("silence"))
    deaf = {"protocols": {"openai": sim.base_url("openai")}, "policy": {"read_timeout_blames": "endpoint"}}
    routes = (route("sick", service="deaf"), route("beside", service="deaf", priority=5), route("well", priority=10))
    async with world(sim, *routes, services={"deaf": deaf}, attempt_timeout="150ms") as here:
        told = await here.ask(Way("openai", "unary"))
        assert told.trace == ["sick model endpoint 0", "well ok nobody 200"]
        assert here.route("beside").endpoint_breaker.state is BreakerState.OPEN


@pytest.mark.parametrize("way", WAYS, ids=str)
async def test_f11_a_model_that_is_not_there_leaves_the_endpoint_open(sim: Simulator, way: Way) -> None:
    sim.script("sick", Fault("model_not_found"))
    sim.script("well", WELL)
    async with world(sim, *TWO) as here:
        told = await here.ask(way)
        assert told.text == "All is well here."
        assert told.trace == ["sick model route 404", "well ok nobody 200"]
        assert here.route("sick").endpoint_breaker.state is BreakerState.CLOSED


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("name", RUBBISH)
async def test_f15_f16_rubbish_fails_over(sim: Simulator, way: Way, name: str) -> None:
    act, status, reason = RUBBISH[name]
    sim.script("sick", act)
    sim.script("well", WELL)
    async with world(sim, *TWO) as here:
        told = await here.ask(way)
        assert told.text == "All is well here."
        assert told.trace == [f"sick model route {status}", "well ok nobody 200"]
        assert told.reasons[0] == reason
        assert len(here.seen("sick")) == 1


@pytest.mark.parametrize("way", STREAMS, ids=str)
async def test_f15_a_whole_answer_becomes_the_stream_that_was_asked_for(sim: Simulator, way: Way) -> None:
    sim.script("sick", Fault("json_for_stream"))
    async with world(sim, *TWO) as here:
        told = await here.ask(way)
        assert told.trace == ["sick ok nobody 200"]
        assert told.text.startswith("Model sick heard")
        assert told.is_complete
        assert told.is_terminated
        assert told.usage is not None


@pytest.mark.parametrize("way", WAYS, ids=str)
async def test_f15_an_error_under_status_200_is_an_error(sim: Simulator, way: Way) -> None:
    sim.script("sick", Fault("error_in_200"))
    sim.script("well", WELL)
    async with world(sim, *TWO) as here:
        told = await here.ask(way)
        assert told.text == "All is well here."
        assert set(told.trace[:-1]) == {"sick model route 200"}
        assert told.trace[-1] == "well ok nobody 200"


@pytest.mark.parametrize("how", ["close", "reset", "chunk", "end"])
@pytest.mark.parametrize("form", FORMS)
async def test_f15_a_cut_whole_answer_fails_over(sim: Simulator, form: str, how: str) -> None:
    sim.script("sick", Fault("cut", how=how))  # type: ignore[arg-type]  # the four ways of the simulator
    sim.script("well", WELL)
    async with world(sim, *TWO) as here:
        told = await here.ask(Way(form, "unary"))
        assert told.text == "All is well here."
        assert told.trace[0] == "sick model route 200"
        assert told.trace[1:] == ["well ok nobody 200"]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_f16_a_redirect_never_reaches_the_other_host(sim: Simulator, status: int) -> None:
    async with Simulator() as elsewhere:
        location = elsewhere.base_url("openai") + "/chat/completions"
        sim.script("sick", Fault("redirect", status=status, location=location))
        async with world(sim, route("sick")) as here:
            told = await here.ask(Way("openai", "unary"))
            assert (told.code, told.reason) == (grpc.StatusCode.UNAVAILABLE, "PROVIDER_FAILED")
            assert told.trace == [f"sick model route {status}"]
            assert elsewhere.log == []
            assert elsewhere.open_connections == 0
