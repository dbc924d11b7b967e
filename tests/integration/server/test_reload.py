"""A new configuration under running calls: they end on the old one, new calls see the new, what was learned stays."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path
from typing import Any

import grpc
import trustme

from fluxrpc.resilience.breaker import BreakerState
from fluxrpc.routing.route import Route
from fluxrpc.simulator import Fault, Ok, Pace, Simulator
from fluxrpc.telemetry.hooks import Hooks
from fluxrpc.v1.router_pb2 import ListModelsRequest
from tests.integration.server.conftest import ENV
from tests.support.asking import config_for, failure, native
from tests.support.serving import Serving, serving

ONE_ATTEMPT = {"retries_per_route": 0, "max_attempts": 1}


class Doors(Hooks):
    """Records what doors did."""

    def __init__(self) -> None:
        self.changes: list[tuple[str, str, str]] = []

    def breaker_changed(self, layer: str, target: str, old: str, new: str) -> None:  # the hook's form
        self.changes.append((layer, target, new))


def _route(server: Serving, at: int = 0, model: str = "m") -> Route:
    return server.app.state.catalog.models[model].routes[at]


async def test_a_stream_ends_on_the_configuration_that_it_began_with(sim: Simulator) -> None:
    sim.script("a", Ok(fragments=("x",) * 20, pace=Pace(between_events_seconds=0.01)))
    async with serving(config_for(sim, {"m": [{"model": "a"}], "gone": [{"model": "a"}]}), ENV) as server:
        call = server.stub.ExecuteStream(native("openai", "gone"))
        items = [await anext(aiter(call))]
        assert await server.reload(config_for(sim, {"m": [{"model": "b"}], "new": [{"model": "c"}]}))
        missing = await failure(server.stub.Execute(native("openai", "gone")))
        answer = await server.stub.Execute(native("openai", "new"))
        items += [item async for item in call]
        listed = await server.stub.ListModels(ListModelsRequest())
    assert items[-1].HasField("completed")
    assert items[0].started.route.upstream_model == "a"
    assert missing.code is grpc.StatusCode.NOT_FOUND
    assert answer.route.upstream_model == "c"
    assert [model.name for model in listed.models] == ["m", "new"]


async def test_what_was_learned_survives(sim: Simulator) -> None:
    sim.script("sick", Fault("server_error"))
    policy: dict[str, Any] = {**ONE_ATTEMPT, "route_breaker": {"failure_threshold": 1}}
    config = config_for(sim, {"m": [{"model": "sick"}, {"model": "ok", "priority": 5}]}, policy=policy)
    async with serving(config, ENV) as server:
        await failure(server.stub.Execute(native("openai", "m")))
        assert _route(server).breaker.state is BreakerState.OPEN
        before = _route(server)
        # Another order, other weights, another name: the same model, service and key.
        changed = config_for(
            sim,
            {"m": [{"model": "ok", "priority": 5}, {"model": "sick", "priority": 9, "weight": 3, "name": "later"}]},
            policy=policy,
        )
        assert await server.reload(changed)
        after = _route(server, 1)
        assert (after.desc.name, after.desc.priority) == ("later", 9)
        assert after.health is before.health
        assert (await server.stub.Execute(native("openai", "m"))).route.upstream_model == "ok"
    assert len(sim.seen("sick")) == 1


async def test_a_changed_priority_takes_effect(sim: Simulator) -> None:
    def config(first: int, second: int) -> dict[str, Any]:
        return config_for(sim, {"m": [{"model": "a", "priority": first}, {"model": "b", "priority": second}]})

    async with serving(config(0, 1), ENV) as server:
        assert (await server.stub.Execute(native("openai", "m"))).route.upstream_model == "a"
        assert await server.reload(config(1, 0))
        assert (await server.stub.Execute(native("openai", "m"))).route.upstream_model == "b"


async def test_a_changed_url_is_another_host(sim: Simulator) -> None:
    def config(url: str) -> dict[str, Any]:
        services = {"other": {"protocols": {"openai": url}}}
        return config_for(sim, {"m": [{"model": "m", "service": "other"}]}, services=services, policy=ONE_ATTEMPT)

    doors = Doors()
    async with serving(config("http://127.0.0.1:9/v1"), ENV, observers=[doors]) as server:
        told = await failure(server.stub.Execute(native("openai", "m")))
        assert told.reason == "PROVIDER_FAILED"
        assert _route(server).endpoint_breaker.state is BreakerState.OPEN
        assert await server.reload(config("http://127.0.0.1:9/v1"))
        assert _route(server).endpoint_breaker.state is BreakerState.OPEN
        assert await server.reload(config(sim.base_url("openai")))
        assert _route(server).endpoint_breaker.state is BreakerState.CLOSED
        await server.stub.Execute(native("openai", "m"))
    assert ("endpoint", "other", "open") in doors.changes


async def test_a_shut_credential_opens_with_another_key_and_says_so(sim: Simulator) -> None:
    sim.script("m", [Fault("bad_key"), Ok()])
    doors = Doors()
    routes: list[dict[str, Any]] = [{"model": "m"}, {"model": "n", "priority": 1}]
    keys = {**ENV, "NEXT": "sk-renewed-key"}
    async with serving(config_for(sim, {"m": routes}, policy=ONE_ATTEMPT), keys, observers=[doors]) as server:
        await failure(server.stub.Execute(native("openai", "m")))
        shut = {("credential", "m/sim/m", "open"), ("credential", "m/sim/n", "open")}
        assert set(doors.changes) == shut
        # The same key: still shut, and nothing new to tell.
        assert await server.reload(config_for(sim, {"m": routes}, policy=ONE_ATTEMPT))
        assert (await failure(server.stub.Execute(native("openai", "m")))).reason == "PROVIDER_CREDENTIAL"
        assert set(doors.changes) == shut
        renewed = [{**route, "credential": "${NEXT}"} for route in routes]
        assert await server.reload(config_for(sim, {"m": renewed}, policy=ONE_ATTEMPT))
        assert (await server.stub.Execute(native("openai", "m"))).native.body
        assert set(doors.changes) - shut == {("credential", "m/sim/m", "closed"), ("credential", "m/sim/n", "closed")}
    assert sim.seen("m")[-1].headers["authorization"] == "Bearer sk-renewed-key"


async def test_a_shut_credential_opens_in_time_and_says_so(sim: Simulator) -> None:
    sim.script("m", [Fault("bad_key"), Ok()])
    doors = Doors()
    config = config_for(sim, {"m": [{"model": "m"}]}, policy={**ONE_ATTEMPT, "credential_shut": "150ms"})
    async with serving(config, ENV, observers=[doors]) as server:
        await failure(server.stub.Execute(native("openai", "m")))
        async with asyncio.timeout(2):
            while len(doors.changes) < 2:  # noqa: ASYNC110  # a hook has no event
                await asyncio.sleep(0.01)
        await server.stub.Execute(native("openai", "m"))
    assert [new for _, _, new in doors.changes] == ["open", "closed"]


async def test_other_callers_and_limits(sim: Simulator) -> None:
    token = "a-token-of-some-length"
    async with serving(config_for(sim, {"m": [{"model": "m"}]}), {**ENV, "TOKEN": token}) as server:
        await server.stub.Execute(native("openai", "m"))
        strict = config_for(
            sim,
            {"m": [{"model": "m"}]},
            callers={"team": {"token": "${TOKEN}"}},
            server={"max_concurrent_rpcs": 1, "max_message": "1MiB"},
            policy={"min_attempt": "30s"},
        )
        assert await server.reload(strict)
        assert (await failure(server.stub.Execute(native("openai", "m")))).code is grpc.StatusCode.UNAUTHENTICATED
        metadata = [("authorization", f"Bearer {token}")]
        told = await failure(server.stub.Execute(native("openai", "m"), metadata=metadata, timeout=20))
        assert told.reason == "DEADLINE_EXCEEDED"  # no attempt begins with less than 30 s left
        assert server.app.limiter.max_calls == 1
    reloaded = next(line for line in server.log_lines if line["event"] == "reloaded")
    assert reloaded["needs_restart"] == ["server.max_message_bytes"]


async def test_a_broken_configuration_changes_nothing(sim: Simulator, tmp_path: Path) -> None:
    no_certificate = tmp_path / "ca.pem"
    no_certificate.write_text("-----BEGIN NONSENSE-----")
    config = config_for(sim, {"m": [{"model": "m"}]})
    broken_ca = {"tls": {"protocols": {"openai": "https://127.0.0.1:1"}, "http": {"ca": str(no_certificate)}}}
    async with serving(config, ENV) as server:
        assert not await server.reload({"services": {}, "models": {"m": 7}})
        assert not await server.reload(config_for(sim, {"m": [{"model": "m", "service": "tls"}]}, services=broken_ca))
        no_certificate.unlink()
        assert not await server.reload(config_for(sim, {"m": [{"model": "m", "service": "tls"}]}, services=broken_ca))
        assert (await server.stub.Execute(native("openai", "m"))).native.body
        assert await server.reload(config)
    refused = [line for line in server.log_lines if line["event"] == "reload_refused"]
    assert len(refused) == 3
    assert f"{no_certificate}:1: services.tls.http.ca: expected certificates in PEM" in refused[1]["faults"]


async def test_a_service_behind_a_private_authority(tmp_path: Path) -> None:
    authority = trustme.CA()
    ca = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(ca)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    async with Simulator(ssl_context=context) as sim:
        services = {"tls": {"protocols": {"openai": sim.base_url("openai")}, "http": {"ca": str(ca)}}}
        config = config_for(sim, {"m": [{"model": "m", "service": "tls"}]}, services=services)
        async with serving(config, ENV) as server:
            await server.stub.Execute(native("openai", "m"))
            assert await server.reload(config)
            await server.stub.Execute(native("openai", "m"))
        assert sim.seen("m")[1].request_of_connection == 2  # the same bundle, so the same connections
