"""Who may call, which models, and what needs no proof."""

from __future__ import annotations

import asyncio
import hashlib
import urllib.request
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2_grpc
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from fluxrpc.errors import ConfigError
from fluxrpc.simulator import Simulator
from fluxrpc.v1.router_pb2 import ListModelsRequest, TranslateRequest
from tests.integration.server.conftest import ENV
from tests.support.asking import Failure, config_for, failure, native, raw, typed
from tests.support.serving import serving

OLD, NEW, OTHER = "token-old-4711", "token-new-4712", "token-other-9"
SERVICE = "fluxrpc.v1.RouterService"


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


CALLERS = {
    "team": {"token_sha256": [_digest(OLD), _digest(NEW)]},
    "limited": {"token": "${OTHER}", "models": ["fast", "small-*"]},
}


def _bearer(token: str) -> list[tuple[str, str]]:
    return [("authorization", f"Bearer {token}")]


def _config(sim: Simulator, **sections: Any) -> dict[str, Any]:
    models = {name: [{"model": "m"}] for name in ("fast", "large", "small-one")}
    return config_for(sim, models, callers=CALLERS, **sections)


ENV_OTHER = {**ENV, "OTHER": OTHER}


@pytest.mark.parametrize(
    "metadata",
    [
        [],
        [("authorization", "")],
        [("authorization", "Bearer")],
        [("authorization", "Bearer ")],
        [("authorization", OLD)],
        [("authorization", f"Basic {OLD}")],
        _bearer("unknown"),
        _bearer(_digest(OLD)),
        [("x-api-key", OLD)],
        [("authorization-bin", OLD.encode())],
    ],
)
async def test_calls_without_a_known_token(sim: Simulator, metadata: list[tuple[str, Any]]) -> None:
    async with serving(_config(sim), ENV_OTHER) as server:
        # Who is not known is not even read: the rubbish in the second call has no say.
        calls: tuple[Any, ...] = (
            server.stub.Execute(native("openai", "fast"), metadata=metadata),
            raw(server.channel, f"/{SERVICE}/Execute")(b"\xff", metadata=metadata),
            server.stub.ExecuteStream(native("openai", "fast"), metadata=metadata),
            server.stub.ListModels(ListModelsRequest(), metadata=metadata),
            server.stub.Translate(TranslateRequest(), metadata=metadata),
        )
        for call in calls:
            told = await failure(call)
            assert (told.code, told.reason) == (grpc.StatusCode.UNAUTHENTICATED, "UNAUTHENTICATED")
    assert not sim.log
    assert OLD not in server.log.getvalue()


@pytest.mark.parametrize("token", [OLD, NEW])
async def test_both_tokens_of_a_caller(sim: Simulator, token: str) -> None:
    async with serving(_config(sim), ENV_OTHER) as server:
        await server.stub.Execute(native("openai", "large"), metadata=_bearer(token))
        await server.stub.Execute(native("openai", "large"), metadata=[("authorization", f"bearer  {token} ")])
    assert {line["caller"] for line in server.access_lines} == {"team"}
    assert token not in server.log.getvalue()
    assert token not in repr([seen.headers for seen in sim.log])


async def test_the_models_of_a_caller(sim: Simulator) -> None:
    async with serving(_config(sim), ENV_OTHER) as server:
        await server.stub.Execute(native("openai", "small-one"), metadata=_bearer(OTHER))
        denied = await failure(server.stub.Execute(native("openai", "large"), metadata=_bearer(OTHER)))
        unknown = await failure(server.stub.Execute(native("openai", "larg"), metadata=_bearer(OTHER)))
        dry = TranslateRequest(model="large", message=typed("").message)
        untranslated = await failure(server.stub.Translate(dry, metadata=_bearer(OTHER)))
        listed = await server.stub.ListModels(ListModelsRequest(), metadata=_bearer(OTHER))
        everything = await server.stub.ListModels(ListModelsRequest(), metadata=_bearer(OLD))
    assert (denied.code, denied.reason) == (grpc.StatusCode.PERMISSION_DENIED, "PERMISSION_DENIED")
    assert untranslated.code is grpc.StatusCode.PERMISSION_DENIED
    assert unknown.code is grpc.StatusCode.NOT_FOUND
    assert unknown.info is not None
    assert "large" not in unknown.info.metadata["nearest"]
    assert [model.name for model in listed.models] == ["fast", "small-one"]
    assert [model.name for model in everything.models] == ["fast", "large", "small-one"]
    assert len(everything.models[0].protocols) == 5
    assert (everything.models[0].route_count, everything.models[0].available_route_count) == (1, 1)


async def test_health_needs_no_token(sim: Simulator) -> None:
    async with serving(_config(sim), ENV_OTHER) as server:
        health = health_pb2_grpc.HealthStub(server.channel)
        for name in ("", SERVICE):
            assert (await health.Check(HealthCheckRequest(service=name))).status == HealthCheckResponse.SERVING
        watch = health.Watch(HealthCheckRequest())
        assert (await watch.read()).status == HealthCheckResponse.SERVING
        told = await failure(health.Check(HealthCheckRequest(service="nobody")))
        assert told.code is grpc.StatusCode.NOT_FOUND
        watch.cancel()
    assert server.access_lines == []


@pytest.mark.parametrize("metadata", [[], _bearer(OLD)])
async def test_reflection_needs_a_token(sim: Simulator, metadata: list[tuple[str, str]]) -> None:
    async with serving(_config(sim, server={"reflection": True}), ENV_OTHER) as server:
        call = reflection_pb2_grpc.ServerReflectionStub(server.channel).ServerReflectionInfo(metadata=metadata)
        if metadata:
            await call.write(reflection_pb2.ServerReflectionRequest(list_services=""))
            answer = await call.read()
            assert SERVICE in {service.name for service in answer.list_services_response.service}
            await call.done_writing()
            assert await call.read() is grpc.aio.EOF
            return
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call.read()
        assert Failure(caught.value).reason == "UNAUTHENTICATED"


async def test_no_reflection_unless_asked_for(sim: Simulator) -> None:
    async with serving(_config(sim), ENV_OTHER) as server:
        call = reflection_pb2_grpc.ServerReflectionStub(server.channel).ServerReflectionInfo(metadata=_bearer(OLD))
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call.read()
        assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


@pytest.mark.parametrize(
    ("server", "callers"),
    [({"listen": "0.0.0.0:0"}, CALLERS), ({"listen": "0.0.0.0:0", "allow_plaintext": True}, {})],
    ids=["plaintext", "anonymous"],
)
async def test_off_loopback_nothing_starts_unprotected(sim: Simulator, server: Any, callers: Any) -> None:
    config = config_for(sim, {"m": [{"model": "m"}]}, server=server, callers=callers)
    with pytest.raises(ConfigError):
        async with serving(config, ENV_OTHER):
            raise AssertionError("it listens")


async def test_request_ids(sim: Simulator) -> None:
    async with serving(config_for(sim, {"m": [{"model": "m"}]}), ENV) as server:
        ids = []
        for given in ("trace-1.a:b", "x" * 65, "two words", "<script>"):
            answer = await server.stub.Execute(native("openai", "m"), metadata=[("x-request-id", given)])
            ids.append(answer.request_id)
    assert ids[0] == "trace-1.a:b"
    assert all(len(made) == 32 and made.isalnum() for made in ids[1:])
    assert [line["request_id"] for line in server.access_lines] == ids


async def test_the_access_line(sim: Simulator) -> None:
    async with serving(_config(sim), ENV_OTHER) as server:
        await server.stub.Execute(native("openai", "fast", prompt="a secret prompt"), metadata=_bearer(NEW))
        items = [item async for item in server.stub.ExecuteStream(typed("fast"), metadata=_bearer(NEW))]
        await failure(server.stub.Execute(native("openai", ENV["KEY"]), metadata=_bearer(NEW)))
    unary, stream, unknown = server.access_lines
    for line in (unary, stream):
        assert (line["caller"], line["model"], line["route"]) == ("team", "fast", "fast/sim/m")
        assert (line["code"], line["attempts"]) == ("OK", 1)
        assert line["output_tokens"] > 0
        assert line["duration_seconds"] > 0
    assert items[0].started.request_id == stream["request_id"]
    assert unknown["model"] == "[hidden]"
    for secret in ("a secret prompt", NEW, ENV["KEY"], "All is well"):
        assert secret not in server.log.getvalue()


async def test_the_metrics_of_calls(sim: Simulator) -> None:
    config = config_for(
        sim,
        {
            "m": [{"model": "m"}],
            "twin": [{"model": "sim-500"}],
            "triplet": [{"model": "sim-500"}],
            "dead": [{"model": "sim-reset"}],
        },
        metrics={"listen": "127.0.0.1:0"},
        policy={"retries_per_route": 0, "max_attempts": 1, "route_breaker": {"failure_threshold": 1}},
    )
    async with serving(config, ENV) as server:
        await server.stub.Execute(native("openai", "m"))
        await failure(server.stub.Execute(native("openai", "nobody")))
        url = f"http://127.0.0.1:{server.server.metrics_port}/metrics"
        server.settle()
        before = await asyncio.to_thread(_fetch, url)
        await failure(server.stub.Execute(native("openai", "twin")))
        await failure(server.stub.Execute(native("openai", "dead")))
        server.settle()
        after = await asyncio.to_thread(_fetch, url)
    assert 'fluxrpc_requests_total{model="m",reason="OK"} 1.0' in before
    assert 'reason="UNKNOWN_MODEL"} 1.0' in before
    assert 'fluxrpc_attempts_total{outcome="ok",route="m/sim/m"} 1.0' in before
    assert 'fluxrpc_breaker_state{layer="endpoint",target="sim"} 0.0' in before
    assert 'fluxrpc_breaker_state{layer="endpoint",target="sim"} 2.0' in after
    # One model at one service with one key: the same health, whatever callers name it.
    for name in ("twin", "triplet"):
        assert f'fluxrpc_breaker_state{{layer="route",target="{name}/sim/sim-500"}} 2.0' in after


def _fetch(url: str) -> str:
    with urllib.request.urlopen(url, timeout=5) as answer:
        return str(answer.read().decode())
