from __future__ import annotations

import copy
import dataclasses
import json
import pickle

import msgspec
import pytest

from fluxrpc.errors import Outcome
from fluxrpc.protocols.base import Protocol
from fluxrpc.resilience.breaker import BreakerSettings, BreakerState
from fluxrpc.routing.service_endpoint import Account, Credential, Service, ServiceEndpoint
from tests.unit.routing.world import World, meet, permit_of

SECRET = "sk-very-secret-0123456789"


def service(**urls: str) -> Service:
    return Service(name="svc", base_urls={Protocol(name): url for name, url in urls.items()})


def test_a_service_keeps_what_it_was_given() -> None:
    urls = {Protocol.RESPONSES: "http://r", Protocol.ANTHROPIC: "http://a"}
    made = Service(name="svc", base_urls=urls)
    urls.clear()
    assert list(made.base_urls) == [Protocol.ANTHROPIC, Protocol.RESPONSES], "in the order of preference"
    with pytest.raises(TypeError):
        made.base_urls[Protocol.OPENAI] = "http://o"  # type: ignore[index]  # what must not be possible
    assert made == service(anthropic="http://a", responses="http://r")
    assert hash(made) == hash(service(anthropic="http://a", responses="http://r"))


def test_a_service_needs_a_name_and_a_protocol() -> None:
    with pytest.raises(ValueError, match="name"):
        Service(name="", base_urls={Protocol.OPENAI: "http://o"})
    with pytest.raises(ValueError, match="protocol"):
        Service(name="svc", base_urls={})
    with pytest.raises(ValueError, match=r"'svc', base URL of openai: expected a URL .* host or port"):
        Service(name="svc", base_urls={Protocol.OPENAI: "http://a..b"})


@pytest.mark.parametrize(
    ("spoken", "caller", "target"),
    [
        ("gemini anthropic", "gemini", "gemini"),
        ("gemini anthropic", "openai", "anthropic"),
        ("responses cohere", "openai", "cohere"),
        ("responses openai", "responses", "responses"),
        ("responses openai", None, "openai"),
        ("responses", None, "responses"),
    ],
)
def test_the_target_protocol_is_the_callers_or_the_first_by_preference(
    spoken: str, caller: str | None, target: str
) -> None:
    made = service(**dict.fromkeys(spoken.split(), "http://x"))
    assert made.target_protocol(None if caller is None else Protocol(caller)) is Protocol(target)


def test_the_endpoint_opens_on_the_first_network_failure_for_two_minutes_and_for_all_its_routes() -> None:
    world = World()
    a, b, elsewhere = world.route("a"), world.route("b"), world.route("c", service="other")
    meet(a, Outcome.NETWORK)
    assert [r.is_available(world.now) for r in (a, b, elsewhere)] == [False, False, True]
    assert a.breaker.state is BreakerState.CLOSED, "the model is not to blame"
    assert b.acquire() is None
    world.now += 119.9
    assert not b.is_available(world.now)
    world.now += 0.1
    meet(b, Outcome.MODEL)
    assert world.endpoint().breaker.state is BreakerState.CLOSED, "any answer shows that the host lives"


def test_a_successor_takes_the_breaker_along_unless_a_url_changed() -> None:
    changes: list[tuple[str, str, str]] = []
    now = 5.0
    endpoint = ServiceEndpoint(
        service(openai="http://a"),
        lambda: now,
        on_change=lambda name, old, new: changes.append((name, old.value, new.value)),
    )
    endpoint.breaker.record_failure()
    assert changes == [("svc", "closed", "open")]
    patient = BreakerSettings(failure_threshold=5, recovery_seconds=9)
    same = endpoint.update(dataclasses.replace(endpoint.service, breaker=patient))
    assert same.breaker is endpoint.breaker
    assert (same.breaker.settings, same.breaker.state) == (patient, BreakerState.OPEN)
    moved = same.update(service(openai="http://b"))
    assert moved.breaker.state is BreakerState.CLOSED
    assert endpoint.service.base_urls == {Protocol.OPENAI: "http://a"}, "what still runs on it is not disturbed"
    moved.breaker.record_failure()
    assert changes[-1] == ("svc", "closed", "open")
    assert repr(moved) == "ServiceEndpoint('svc', open)"


def test_a_credential_never_shows_its_secret() -> None:
    credential = Credential(SECRET)
    world = World()
    desc = dataclasses.replace(world.desc("r"), credential=credential)
    route = world.repository.find_or_create(desc)
    account = Account("svc", credential)
    shown = [repr(credential), str(credential), f"{credential}", f"{credential:>40}"]
    shown += [repr(thing) for thing in (desc, route, account, permit_of(route), route.health, [credential])]
    shown += [repr(dataclasses.asdict(account)), desc.identity_key]
    for text in shown:
        assert SECRET not in text
        assert "very-secret" not in text
    for dump in (pickle.dumps, json.dumps, msgspec.json.encode, msgspec.to_builtins):
        with pytest.raises(TypeError) as caught:
            dump(credential)
        assert SECRET not in str(caught.value)
    with pytest.raises(TypeError):
        credential.__getstate__()
    with pytest.raises(TypeError):
        vars(credential)
    assert SECRET.encode() not in credential.digest


def test_a_credential_is_its_key() -> None:
    a, same, other = Credential(SECRET), Credential(SECRET), Credential("x")
    assert a == same
    assert hash(a) == hash(same)
    assert a != other
    assert a != SECRET
    assert copy.copy(a) is copy.deepcopy(a) is a, "one key has one door"
    assert (a.reveal(), Credential().reveal()) == (SECRET, "")
