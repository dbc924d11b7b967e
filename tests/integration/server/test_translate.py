"""The dry run: what would be sent, without a provider being asked."""

from __future__ import annotations

import json
from typing import Any, cast

import grpc
import pytest

from fluxrpc.errors import InvalidRequest
from fluxrpc.protocols.bridge import CallerRequest
from fluxrpc.server.translating import Dry, translate
from fluxrpc.simulator import Simulator
from fluxrpc.v1.router_pb2 import TranslateRequest
from tests.integration.server.conftest import ENV, KEY
from tests.support.asking import PROTOCOLS, body_of, config_for, failure, native, typed, wire_protocol
from tests.support.serving import serving


def _native(protocol: str, **fields: Any) -> TranslateRequest:
    body = json.dumps(body_of(protocol, model="from-the-body", temperature=0.5)).encode()
    request = TranslateRequest(native=native(protocol, "", body).native)
    for name, value in fields.items():
        setattr(request, name, value)
    return request


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_the_body_that_execute_would_send(sim: Simulator, protocol: str) -> None:
    request = _native(protocol, model="m")
    request.native.headers.add(name="OpenAI-Project", value="proj")
    request.native.headers.add(name="cookie", value="x")
    async with serving(config_for(sim, {"m": [{"model": "upstream"}]}), ENV) as server:
        dry = await server.stub.Translate(request)
        assert not sim.log
        await server.stub.Execute(native(protocol, "m", request.native.body))
    assert dry.body == sim.log[0].body
    assert dry.protocol == wire_protocol(protocol)
    assert (dry.route.route, dry.route.upstream_model) == ("m/sim/upstream", "upstream")
    assert ("openai-project", "proj") in [(header.name, header.value) for header in dry.headers]
    assert [note.code for note in dry.notes] == ["HEADER_NOT_ALLOWED"]
    assert KEY not in str(dry)


async def test_a_typed_request_to_a_stream(sim: Simulator) -> None:
    request = TranslateRequest(model="m", message=typed("").message, stream=True)
    async with serving(config_for(sim, {"m": [{"model": "upstream"}]}), ENV) as server:
        dry = await server.stub.Translate(request)
    body = json.loads(dry.body)
    assert (body["model"], body["stream"]) == ("upstream", True)


async def test_only_a_target(sim: Simulator) -> None:
    """No model of ours is meant: the name in the body stays."""
    async with serving(config_for(sim, {"m": [{"model": "upstream"}]}), ENV) as server:
        dry = await server.stub.Translate(_native("anthropic", target=wire_protocol("anthropic")))
        unnamed = TranslateRequest(message=typed("").message, target=wire_protocol("openai"))
        told = await failure(server.stub.Translate(unnamed))
    assert json.loads(dry.body)["model"] == "from-the-body"
    assert not dry.HasField("route")
    assert told.code is grpc.StatusCode.INVALID_ARGUMENT


async def test_a_model_and_a_target(sim: Simulator) -> None:
    services = {"half": {"protocols": {"cohere": sim.base_url("cohere")}}}
    routes: list[dict[str, Any]] = [{"model": "a"}, {"model": "b", "service": "half", "priority": 0}]
    config = config_for(sim, {"m": routes, "half": [{"model": "b", "service": "half"}]}, services=services)
    async with serving(config, ENV) as server:
        spoken = await server.stub.Translate(_native("openai", model="m", target=wire_protocol("openai")))
        unspoken = await server.stub.Translate(_native("openai", model="half", target=wire_protocol("openai")))
    assert spoken.route.upstream_model == "a"
    assert not unspoken.HasField("route")


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"target": cast("Any", 99)}, "INVALID_ARGUMENT"),
        ({"model": "m", "target": cast("Any", 99)}, "INVALID_ARGUMENT"),
        ({"model": "nobody"}, "NOT_FOUND"),
        ({}, "NOT_FOUND"),
    ],
    ids=["unknown target", "unknown target of a model", "unknown model", "the body's model"],
)
async def test_what_cannot_be_translated(sim: Simulator, fields: dict[str, Any], code: str) -> None:
    async with serving(config_for(sim, {"m": [{"model": "upstream"}]}), ENV) as server:
        told = await failure(server.stub.Translate(_native("openai", **fields)))
        nothing = await failure(server.stub.Translate(TranslateRequest()))
    assert told.code.name == code
    assert nothing.code is grpc.StatusCode.INVALID_ARGUMENT


async def test_no_route_now(sim: Simulator) -> None:
    async with serving(config_for(sim, {"m": [{"model": "upstream"}]}), ENV) as server:
        server.app.state.catalog.models["m"].routes[0].desc.credential.door.shut(server.app.state.clock() + 60)
        told = await failure(server.stub.Translate(_native("openai", model="m")))
    assert (told.code, told.reason) == (grpc.StatusCode.UNAVAILABLE, "CIRCUIT_OPEN")
    assert told.retry is not None


def test_a_dry_run_needs_a_model_or_a_target() -> None:
    asked = CallerRequest(message=typed("").message)
    with pytest.raises(InvalidRequest):
        translate(Dry(TranslateRequest(), asked, (), (), strict=False), entry=None, monotonic=float, wall_clock=float)
