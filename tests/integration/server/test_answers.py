"""What a caller gets: the answer in the form of the request, how it came about, and the grammar of streams."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fluxrpc.simulator import Fault, Ok, Simulator
from fluxrpc.v1.outcome_pb2 import OUTCOME_MODEL, OUTCOME_OK
from tests.integration.server.conftest import ENV, KEY
from tests.support.asking import PROTOCOLS, config_for, native, typed, wire_protocol
from tests.support.serving import serving

TWO_ROUTES: list[dict[str, Any]] = [{"model": "sick"}, {"model": "well", "priority": 1}]
ONCE = {"retries_per_route": 0}


@pytest.mark.parametrize("form", [*PROTOCOLS, "typed"])
async def test_an_answer_and_how_it_came_about(sim: Simulator, form: str) -> None:
    sim.script("sick", Fault("server_error"))
    sim.script("well", Ok(text="Well said."))
    request = typed("m") if form == "typed" else native(form, "m")
    async with serving(config_for(sim, {"m": TWO_ROUTES}, policy=ONCE), ENV) as server:
        answer = await server.stub.Execute(request)
    assert answer.WhichOneof("response") == ("message" if form == "typed" else "native")
    assert "Well said." in str(answer.message) + answer.native.body.decode()
    spoken = wire_protocol("openai" if form == "typed" else form)
    route = answer.route
    assert (route.route, route.requested_model, route.service) == ("m/sim/well", "m", "sim")
    assert (route.upstream_model, route.protocol) == ("well", spoken)
    assert [attempt.outcome for attempt in answer.attempts] == [OUTCOME_MODEL, OUTCOME_OK]
    assert answer.usage.output_tokens > 0
    assert KEY not in str(answer)


@pytest.mark.parametrize("form", [*PROTOCOLS, "typed"])
async def test_the_grammar_of_a_stream(sim: Simulator, form: str) -> None:
    sim.script("sick", Fault("error_event", after_events=-1))
    request = typed("m") if form == "typed" else native(form, "m")
    async with serving(config_for(sim, {"m": TWO_ROUTES}, policy=ONCE), ENV) as server:
        items = [item async for item in server.stub.ExecuteStream(request)]
    kinds = [item.WhichOneof("message") for item in items]
    assert (kinds[0], kinds[-1]) == ("started", "completed")
    assert set(kinds[1:-1]) == {"events" if form == "typed" else "native"}
    assert items[0].started.route.upstream_model == "well"
    completed = items[-1].completed
    assert [attempt.route for attempt in completed.attempts] == ["m/sim/sick", "m/sim/well"]
    assert len(completed.finishes) == 1
    assert all(item.native.endswith((b"\n\n", b"\r\n\r\n")) for item in items[1:-1] if item.native)


async def test_the_model_in_a_body_is_enough(sim: Simulator) -> None:
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hi"}]}).encode()
    async with serving(config_for(sim, {"m": [{"model": "upstream"}], "n": [{"model": "other"}]}), ENV) as server:
        from_body = await server.stub.Execute(native("openai", "", body))
        named = await server.stub.Execute(native("openai", "n", body))
    assert from_body.route.upstream_model == "upstream"
    assert named.route.upstream_model == "other"
