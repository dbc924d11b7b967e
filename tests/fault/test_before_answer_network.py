"""The host cannot be reached: its endpoint shuts at the first fault, and every route through it is passed over."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import grpc
import pytest
import trustme

from fluxrpc.resilience.breaker import BreakerState
from fluxrpc.simulator import BlackholeListener, Fault, Ok, Simulator, refused_port
from tests.fault.world import WAYS, Way, at, route, world

KINDS = ("refused", "no such host", "not tls", "certificate", "never connects")
WELL = Ok(text="All is well here.")


@asynccontextmanager
async def unreachable(kind: str, sim: Simulator) -> AsyncIterator[str]:
    """A base URL that fails in that way."""
    async with AsyncExitStack() as stack:
        if kind == "refused":
            yield f"http://127.0.0.1:{refused_port()}/v1"
        elif kind == "no such host":
            yield "http://no-such-host.invalid/v1"
        elif kind == "not tls":
            yield sim.url.replace("http:", "https:") + "/v1"
        elif kind == "certificate":
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
            yield (await stack.enter_async_context(Simulator(ssl_context=context))).url + "/v1"
        else:
            yield (await stack.enter_async_context(BlackholeListener(full_backlog=True))).url + "/v1"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", [WAYS[0], WAYS[3]], ids=str)
async def test_f07_the_endpoint_shuts_on_the_first(sim: Simulator, way: Way, kind: str) -> None:
    sim.script("well", WELL)
    async with unreachable(kind, sim) as url:
        dead = route("dead", service="gone"), route("beside", service="gone", priority=1)
        async with world(sim, *dead, route("well", priority=10), services={"gone": at(url)}, connect="300ms") as here:
            told = await here.ask(way)
            assert told.text == "All is well here."
            assert told.trace == ["dead network endpoint 0", "well ok nobody 200"]
            assert told.seconds < 2
            assert here.route("beside").endpoint_breaker.state is BreakerState.OPEN
            assert here.route("dead").breaker.state is BreakerState.CLOSED
            assert (await here.ask(way)).trace == ["well ok nobody 200"]


@pytest.mark.parametrize("way", WAYS, ids=str)
async def test_f07_a_refused_connection_in_every_protocol(sim: Simulator, way: Way) -> None:
    gone = at(f"http://127.0.0.1:{refused_port()}")
    async with world(sim, route("dead", service="gone"), route("well", priority=10), services={"gone": gone}) as here:
        told = await here.ask(way)
        assert told.trace == ["dead network endpoint 0", "well ok nobody 200"]
        assert told.reasons[0] == "CONNECTION_REFUSED"


@pytest.mark.parametrize("kind", ["reset", "close"])
@pytest.mark.parametrize("way", WAYS, ids=str)
async def test_f06_a_reset_on_a_fresh_connection_is_the_network(sim: Simulator, way: Way, kind: str) -> None:
    sim.script("cut", Fault(kind))  # type: ignore[arg-type]  # two kinds of the simulator
    async with world(sim, route("cut"), route("well", priority=10, service="other")) as here:
        told = await here.ask(way)
        assert told.trace == ["cut network endpoint 0", "well ok nobody 200"]
        assert len(here.seen("cut")) == 1
        assert here.route("cut").endpoint_breaker.state is BreakerState.OPEN


@pytest.mark.parametrize("way", WAYS, ids=str)
async def test_f06_a_reset_on_a_kept_connection_costs_one_reconnect_and_no_blame(sim: Simulator, way: Way) -> None:
    sim.script("m1", [Ok(), Fault("reset", on="reused"), Ok(text="Fresh.")])
    async with world(sim, route("m1")) as here:
        # A stream's connection is given back once its last chunk was read, a moment after the answer.
        await here.ask(Way(way.form, "unary"))
        told = await here.ask(way)
        assert told.text == "Fresh."
        assert told.trace == ["m1 ok nobody 200"]
        first, cut, fresh = here.seen("m1")
        assert cut.connection_id == first.connection_id != fresh.connection_id
        assert here.route("m1").endpoint_breaker.snapshot().failures == 0


async def test_f07_nothing_left_is_unavailable_with_the_attempt(sim: Simulator) -> None:
    gone = at(f"http://127.0.0.1:{refused_port()}")
    async with world(sim, route("dead", service="gone"), services={"gone": gone}) as here:
        told = await here.ask(Way("openai", "unary"))
        assert (told.code, told.reason) == (grpc.StatusCode.UNAVAILABLE, "PROVIDER_FAILED")
        assert told.trace == ["dead network endpoint 0"]
        assert "127.0.0.1" not in told.message
