"""Our key is rejected: another key or service answers, and nobody outside learns more than that."""

from __future__ import annotations

import json

import grpc
import pytest

from fluxrpc.resilience.breaker import BreakerState
from fluxrpc.simulator import Fault, Simulator
from tests.fault.world import BAD_KEY, FORMS, SPENT_KEY, WAYS, Way, route, world


@pytest.mark.parametrize("way", WAYS, ids=str)
async def test_f10_the_next_key_answers(sim: Simulator, way: Way) -> None:
    bad, good = route("m1", credential="${BAD}"), route("m2", priority=10, credential="${OTHER}")
    async with world(sim, bad, good) as here:
        told = await here.ask(way)
        status = here.sim.log[0].status
        assert told.trace == [f"m1 credential credential {status}", "m2 ok nobody 200"]
        assert (await here.ask(way)).trace == ["m2 ok nobody 200"]
        assert len(sim.log) == 3
        assert here.route("m1").endpoint_breaker.state is BreakerState.CLOSED
        assert here.route("m1").breaker.snapshot().failures == 0


@pytest.mark.parametrize("form", FORMS)
async def test_f10_a_403_that_names_the_key_counts(sim: Simulator, form: str) -> None:
    sim.script("m1", Fault("bad_key", status=403))
    async with world(sim, route("m1"), route("m2", priority=10, credential="${OTHER}")) as here:
        told = await here.ask(Way(form, "unary"))
        assert told.trace == ["m1 credential credential 403", "m2 ok nobody 200"]


@pytest.mark.parametrize("form", [form for form in FORMS if form not in ("openai", "responses", "typed")])
async def test_f10_another_403_is_about_the_model(sim: Simulator, form: str) -> None:
    sim.script("m1", Fault("forbidden"))
    async with world(sim, route("m1"), route("m2", priority=10)) as here:
        assert (await here.ask(Way(form, "unary"))).trace == ["m1 model route 403", "m2 ok nobody 200"]


@pytest.mark.parametrize("way", WAYS, ids=str)
async def test_f10_with_no_key_left_it_is_not_the_caller_s_fault(sim: Simulator, way: Way) -> None:
    async with world(sim, route("m1", credential="${BAD}"), route("m2", priority=1, credential="${SPENT}")) as here:
        told = await here.ask(way)
        assert (told.code, told.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "PROVIDER_CREDENTIAL")
        assert [line.split()[1] for line in told.trace] == ["credential", "credential"]
        again = await here.ask(way)
        assert (again.code, again.reason, again.attempts) == (told.code, told.reason, [])
        assert len(sim.log) == 2
        for each in (told, again):
            assert each.detail is not None
            native = each.detail.native
            if way.form != "typed":
                assert 500 <= native.http_status < 600
                assert json.loads(native.body)
            assert BAD_KEY not in str(each) + native.body.decode()


async def test_f10_the_log_names_the_route_and_not_the_key(sim: Simulator) -> None:
    async with world(sim, route("m1", credential="${SPENT}"), route("m2", priority=1)) as here:
        await here.ask(Way("openai", "unary"))
        shut = [line for line in here.server.log_lines if line["event"] == "credential_shut"]
        assert [line["route"] for line in shut] == ["m1"]
        assert SPENT_KEY not in here.server.log.getvalue()
        assert sim.log[0].headers["authorization"] == f"Bearer {SPENT_KEY}"
