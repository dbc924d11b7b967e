"""From routes to targets, and under strict fidelity whether a route is up to a request."""

from __future__ import annotations

from typing import Any

import pytest

from fluxrpc.errors import InvalidRequest, NotExpressible
from fluxrpc.protocols import gates
from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.bridge import CallerRequest, read_request
from fluxrpc.protocols.context import Target
from fluxrpc.protocols.gates import ModelCapabilities, model_capabilities
from fluxrpc.routing.bridging import bridge_to, is_long_work
from fluxrpc.routing.route import Route, RouteDesc, RouteHealth
from fluxrpc.routing.service_endpoint import Credential, Service, ServiceEndpoint
from fluxrpc.v1.message_pb2 import ROLE_USER, Message, MessageRequest
from fluxrpc.v1.part_pb2 import Media, Part

SEES = CallerRequest(
    message=MessageRequest(messages=[Message(role=ROLE_USER, parts=[Part(image=Media(url="https://h/cat"))])])
)


def route_of(service: dict[str, Any] | None = None, **fields: Any) -> Route:
    urls = {Protocol.OPENAI: "https://api.deepseek.com", Protocol.ANTHROPIC: "http://h.test"}
    endpoint = ServiceEndpoint(Service(**{"name": "svc", "base_urls": urls, **(service or {})}), float)
    desc = RouteDesc(**{"name": "r", "endpoint": endpoint, "model": "m", "credential": Credential(), **fields})
    return Route(desc, RouteHealth(desc.identity_key, desc.breaker, float))


def target_of(route: Route, protocol: Protocol) -> Target:
    bridge_to(SEES, route, protocol, wall_clock=float)
    target = route.prepared[protocol]
    assert isinstance(target, Target)
    bridge_to(SEES, route, protocol, wall_clock=float)
    assert route.prepared[protocol] is target
    return target


def test_a_target_says_what_is_known_of_a_route() -> None:
    target = target_of(route_of(), Protocol.OPENAI)
    assert (target.protocol, target.model, target.service) == (Protocol.OPENAI, "m", "svc")
    assert (target.dialect, target.force_usage) == ("deepseek", True)
    assert target_of(route_of(), Protocol.ANTHROPIC).dialect == ""
    assert target_of(route_of({"dialect": "vllm"}), Protocol.OPENAI).dialect == "vllm"


def test_gates_follow_version_and_configuration() -> None:
    route = route_of({"anthropic_version": "2026-10-21"}, gates={"prefill": False})
    target = target_of(route, Protocol.ANTHROPIC)
    assert target.version == "2026-10-21"
    assert "temperature" in target.gates.refused
    assert not target.gates.prefill
    plain = target_of(route_of(), Protocol.ANTHROPIC)
    assert plain.gates == gates.gates_of(Protocol.ANTHROPIC, "m")


def test_strict_routes_must_be_up_to_the_request() -> None:
    blind = route_of(capabilities=ModelCapabilities(vision=False))
    with pytest.raises(NotExpressible, match="vision") as caught:
        bridge_to(SEES, blind, Protocol.OPENAI, wall_clock=float, strict=True)
    assert caught.value.detail == "lacks vision"
    bridge_to(SEES, blind, Protocol.OPENAI, wall_clock=float)
    for seeing in (None, True):
        able = route_of(capabilities=ModelCapabilities(vision=seeing))
        bridge_to(SEES, able, Protocol.OPENAI, wall_clock=float, strict=True)


def test_bodies_of_the_same_protocol_are_judged_too() -> None:
    body = b'{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://h/cat"}}]}]}'
    blind = route_of(capabilities=ModelCapabilities(vision=False))
    with pytest.raises(NotExpressible):
        bridge_to(read_request(Protocol.OPENAI, body), blind, Protocol.OPENAI, wall_clock=float, strict=True)


def test_a_body_that_passes_as_it_is_is_judged_by_its_provider() -> None:
    request = read_request(Protocol.OPENAI, b'{"messages":[{"role":"user","content":7}]}')
    bridge_to(request, route_of(), Protocol.OPENAI, wall_clock=float, strict=True)
    with pytest.raises(InvalidRequest):
        bridge_to(request, route_of(), Protocol.ANTHROPIC, wall_clock=float, strict=True)


@pytest.mark.parametrize(("size", "is_long"), [(1000, False), (300_000, True)])
def test_what_is_large_is_translated_beside_the_loop(size: int, is_long: bool) -> None:
    body = b'{"messages":[{"role":"user","content":"%s"}]}' % (b"x" * size)
    request = read_request(Protocol.OPENAI, body)
    assert is_long_work(request) is is_long
    typed = CallerRequest(message=MessageRequest(messages=[Message(role=ROLE_USER, text="x" * size)]))
    assert is_long_work(typed) is is_long


def test_what_is_not_declared_comes_from_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    known = ModelCapabilities(vision=False, context_tokens=9)
    monkeypatch.setattr("fluxrpc.routing.route.model_capabilities", lambda protocol, model: known)
    assert route_of().capabilities == known
    declared = route_of(capabilities=ModelCapabilities(vision=True, tools=False))
    assert declared.capabilities == ModelCapabilities(vision=True, tools=False, context_tokens=9)
    assert model_capabilities(Protocol.OPENAI, "m") == ModelCapabilities()
