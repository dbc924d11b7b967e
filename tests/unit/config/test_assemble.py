from __future__ import annotations

import hashlib
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from fluxrpc.config.loader import parse
from fluxrpc.config.schema import (
    AuthStyle,
    Capabilities,
    LogFormat,
    PolicySettings,
    ReadTimeoutBlames,
    Settings,
    StreamUse,
)
from fluxrpc.config.sections import yaml_key
from fluxrpc.errors import ConfigError
from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.gates import Gates, overridden

DIGEST = "ab" * 32
A = 'a: {protocols: {openai: "http://127.0.0.1:1/v1"}}'


def read(text: str, folder: Path = Path("/nowhere"), **environ: str) -> Settings:
    return parse(text.encode(), file="f.yaml", folder=folder, environ=environ)


def faults(text: str, folder: Path = Path("/nowhere"), **environ: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        read(text, folder, **environ)
    return [str(fault) for fault in caught.value.faults]


def config(*extra: str, services: str = A, routes: str = "[{service: a, model: m}]") -> str:
    return "\n".join([f"services: {{{services}}}", f"models: {{fast: {{routes: {routes}}}}}", *extra]) + "\n"


# ---------------------------------------------------------------------------------------------------- what is read


def test_defaults_are_the_documented_ones() -> None:
    settings = read(config())
    assert str(settings.server.listen) == "127.0.0.1:50051"
    assert (settings.server.default_deadline_seconds, settings.server.reserve_seconds) == (600.0, 0.05)
    assert settings.server.max_message_bytes == 32 * 1024 * 1024
    policy = settings.models["fast"].routes[0].policy
    assert policy == settings.policy == settings.services["a"].policy == PolicySettings()
    assert (policy.max_attempts, policy.retries_per_route, policy.patience_seconds) == (4, 1, 3.0)
    assert (policy.connect_seconds, policy.first_token_seconds, policy.idle_seconds) == (5.0, 120.0, 60.0)
    assert policy.attempt_timeout_seconds is None
    assert (policy.route_breaker.failure_threshold, policy.route_breaker.recovery_seconds) == (3, 60.0)
    assert (policy.endpoint_breaker.failure_threshold, policy.endpoint_breaker.recovery_seconds) == (1, 120.0)
    assert policy.credential_shut_seconds == 1800.0
    assert settings.metrics.listen is None
    assert settings.callers == {}


def test_a_full_service_and_route() -> None:
    services = (
        'a: {protocols: {gemini: "https://g.example", openai: "https://o.example/v1/"}, auth: api-key, '
        'dialect: azure, anthropic_version: "2026-10-21", '
        'include_usage: false, http: {proxy: "http://proxy:3128", trust_env: true, keep_alive: 5s, max_connections: 9}}'
    )
    routes = (
        '[{service: a, model: m, credential: "${KEY}", priority: 3, weight: 2.5, name: own, '
        "stream: only, capabilities: {context_tokens: 128000, prefill: true, vision: false}, "
        "gates: {refused: [top_p, seed], efforts: low, prefill: false, max_tokens_field: max_tokens, "
        "default_max_output_tokens: 9}}]"
    )
    settings = read(config("log: {format: console}", services=services, routes=routes), KEY="k-123456")
    service, route = settings.services["a"], settings.models["fast"].routes[0]
    assert service.protocols == {Protocol.OPENAI: "https://o.example/v1/", Protocol.GEMINI: "https://g.example"}
    assert next(iter(service.protocols)) is Protocol.OPENAI
    assert (service.auth, service.include_usage) == (AuthStyle.API_KEY, False)
    assert service.http.proxy is not None
    assert service.http.proxy.reveal() == "http://proxy:3128"
    assert (service.http.trust_env, service.http.keep_alive_seconds, service.http.max_connections) == (True, 5.0, 9)
    assert (route.name, route.priority, route.weight) == ("own", 3, 2.5)
    assert route.capabilities == Capabilities(context_tokens=128_000, prefill=True, vision=False)
    assert route.stream is StreamUse.ONLY
    gates = overridden(Gates(), route.gates)
    assert (set(gates.refused), gates.efforts, gates.prefill) == ({"top_p", "seed"}, ("low",), False)
    assert (gates.max_tokens_field, gates.default_max_output_tokens) == ("max_tokens", 9)
    assert (service.dialect, service.anthropic_version) == ("azure", "2026-10-21")
    assert settings.log.format is LogFormat.CONSOLE
    assert {secret.reveal() for secret in settings.secrets()} == {"k-123456", "http://proxy:3128"}
    assert "k-123456" not in repr(settings)


def test_route_names_are_stable_and_unique() -> None:
    routes = (
        '[{service: a, model: m, credential: "${K1}"}, {service: a, model: m, credential: "${K2}"}, '
        "{service: a, model: n, name: x}]"
    )
    settings = read(config(routes=routes), K1="k1", K2="k2")
    assert [route.name for route in settings.models["fast"].routes] == ["fast/a/m", "fast/a/m#2", "x"]
    clash = "[{service: a, model: n, name: fast/a/m}, {service: a, model: m}]"
    assert [route.name for route in read(config(routes=clash)).models["fast"].routes] == ["fast/a/m", "fast/a/m#2"]


def test_callers() -> None:
    settings = read(
        config(
            "callers:",
            f'  one: {{token_sha256: "{DIGEST}"}}',
            f'  two: {{token_sha256: ["{"cd" * 32}", "{"ef" * 32}"], token: "${{T}}", models: ["f*"]}}',
        ),
        T="the-token",
    )
    one, two = settings.callers["one"], settings.callers["two"]
    assert (one.name, one.token_digests, one.models) == ("one", (b"\xab" * 32,), None)
    assert two.token_digests == (b"\xcd" * 32, b"\xef" * 32, hashlib.sha256(b"the-token").digest())
    assert two.models == frozenset({"fast"})
    assert "the-token" not in repr(settings)


# ---------------------------------------------------------------------------------------------------- merging

VALUES: dict[str, tuple[str, str, str]] = {
    "retries_per_route": ("2", "3", "4"),
    "patience": ("2s", "4s", "0s"),
    "connect": ("1s", "2s", "6s"),
    "first_token": ("1s", "2s", "3s"),
    "idle": ("1s", "2s", "3s"),
    "attempt_timeout": ("1s", "2s", "null"),
    "stream_end": ("1s", "3s", "4s"),
    "route_breaker": ("{failure_threshold: 5}", "{failure_threshold: 6}", "{failure_threshold: 7}"),
    "limits": ("{max_answer: 1KiB}", "{max_answer: 2KiB}", "{max_answer: 3KiB}"),
}
FOR_SERVICES = {
    "endpoint_breaker": ("{recovery: 5s}", "{recovery: 6s}"),
    "credential_shut": ("1m", "2m"),
    "read_timeout_blames": ("endpoint", "route"),
}
GLOBAL = {
    "fidelity": "strict",
    "max_attempts": "9",
    "min_attempt": "1s",
    "endpoint_probe": "1s",
    "backoff_base": "1s",
    "backoff_max": "1s",
}


def at_levels(key: str, globally: str = "", service: str = "", route: str = "") -> str:
    def policy(value: str) -> str:
        return f", policy: {{{key}: {value}}}" if value else ""

    return config(
        f"policy: {{{key}: {globally}}}" if globally else "",
        services=A[:-1] + policy(service) + '}, b: {protocols: {openai: "http://127.0.0.1:2"}}',
        routes=f"[{{service: a, model: m{policy(route)}}}, {{service: a, model: n}}, {{service: b, model: m}}]",
    )


def effective(settings: Settings, field: str) -> list[Any]:
    owners = [settings, settings.services["a"], settings.services["b"], *settings.models["fast"].routes]
    return [getattr(owner.policy, field) for owner in owners]  # type: ignore[attr-defined]


def test_every_policy_setting_is_covered() -> None:
    assert {yaml_key(f.name) for f in fields(PolicySettings)} == VALUES.keys() | FOR_SERVICES.keys() | GLOBAL.keys()


def field_of(key: str) -> str:
    return next(f.name for f in fields(PolicySettings) if yaml_key(f.name) == key)


@pytest.mark.parametrize("key", VALUES)
def test_the_narrowest_level_wins(key: str) -> None:
    field, (wide, middle, narrow) = field_of(key), VALUES[key]
    default = getattr(PolicySettings(), field)

    def value(text: str) -> Any:
        return getattr(read(at_levels(key, globally=text)).policy, field)

    g, s, r = value(wide), value(middle), value(narrow)
    assert len({str(g), str(default)}) == 2
    everywhere = read(at_levels(key, globally=wide))
    assert effective(everywhere, field) == [g] * 6
    of_service = read(at_levels(key, globally=wide, service=middle))
    assert effective(of_service, field) == [g, s, g, s, s, g]
    of_route = read(at_levels(key, globally=wide, service=middle, route=narrow))
    assert effective(of_route, field) == [g, s, g, r, s, g]
    alone = read(at_levels(key, route=narrow))
    assert effective(alone, field) == [default, default, default, r, default, default]


@pytest.mark.parametrize("key", FOR_SERVICES)
def test_settings_of_a_service(key: str) -> None:
    field, (wide, middle) = field_of(key), FOR_SERVICES[key]
    found = effective(read(at_levels(key, globally=wide, service=middle)), field)
    assert found[0] == found[2] == found[5] != found[1] == found[3]
    (fault,) = faults(at_levels(key, route=middle))
    assert fault == (
        f"f.yaml:2: models.fast.routes[0].policy.{key}: can be set globally or for a service, not for a route"
    )


@pytest.mark.parametrize("key", GLOBAL)
def test_settings_of_a_request_are_global(key: str) -> None:
    value = getattr(read(at_levels(key, globally=GLOBAL[key])).policy, field_of(key))
    assert value != getattr(PolicySettings(), field_of(key))
    for level in ("service", "route"):
        (fault,) = faults(at_levels(key, **{level: GLOBAL[key]}))
        assert fault.endswith(f"policy.{key}: can be set in the global policy only")


def test_parts_of_a_section_come_from_different_levels() -> None:
    text = config(
        "policy: {route_breaker: {failure_threshold: 9}, read_timeout_blames: endpoint}",
        services=A[:-1] + ", policy: {route_breaker: {recovery: 2s}}}",
        routes="[{service: a, model: m, policy: {route_breaker: {recovery_growth: 2}}}]",
    )
    policy = read(text).models["fast"].routes[0].policy
    breaker = policy.route_breaker
    assert (breaker.failure_threshold, breaker.recovery_seconds, breaker.recovery_growth) == (9, 2.0, 2.0)
    assert policy.read_timeout_blames is ReadTimeoutBlames.ENDPOINT


def test_metrics_need_an_address_of_their_own() -> None:
    assert faults(config('metrics: {listen: "127.0.0.1:50051"}')) == [
        "f.yaml:3: metrics.listen: expected another address than server.listen"
    ]
    read(config('server: {listen: "127.0.0.1:0"}', 'metrics: {listen: "127.0.0.1:0"}'))
