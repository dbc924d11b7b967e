"""What a caller is told: one status for each thing that can happen, with its details."""

from __future__ import annotations

import json
from typing import Any

import grpc
import msgspec
import pytest

from fluxrpc.simulator import Fault, Ok, Simulator
from fluxrpc.v1.router_pb2 import ExecuteRequest
from tests.integration.server.conftest import ENV, KEY
from tests.support.asking import PROTOCOLS, Failure, config_for, failure, native, raw, typed, wire_protocol
from tests.support.serving import serving

ONE_ATTEMPT = {"policy": {"retries_per_route": 0, "max_attempts": 1}}
LONG_TEXT = "é" * 20_000

# What the provider does; the status, its reason, seconds of RetryInfo, HTTP status of the native error.
ROWS = {
    "their 400": (Fault("bad_request"), "INVALID_ARGUMENT", "INVALID_REQUEST", None, 400),
    "their 413": (Fault("too_large"), "INVALID_ARGUMENT", "INVALID_REQUEST", None, 413),
    "their 422": (Fault("unprocessable"), "INVALID_ARGUMENT", "INVALID_REQUEST", None, 422),
    "context too long": (Fault("context_length"), "INVALID_ARGUMENT", "CONTEXT_LENGTH_EXCEEDED", None, 400),
    "refused with an error": (Fault("content_filter"), "INVALID_ARGUMENT", "CONTENT_REFUSED", None, 400),
    "our key rejected": (Fault("bad_key"), "FAILED_PRECONDITION", "PROVIDER_CREDENTIAL", None, 502),
    "our quota spent": (Fault("quota"), "FAILED_PRECONDITION", "PROVIDER_CREDENTIAL", None, 502),
    "limited": (Fault("rate_limit", retry_after_seconds=7), "RESOURCE_EXHAUSTED", "RATE_LIMITED", 7, 429),
    "provider sick": (Fault("server_error"), "UNAVAILABLE", "PROVIDER_FAILED", None, 500),
    "rubbish": (Fault("html"), "UNAVAILABLE", "PROVIDER_FAILED", None, 503),
    "provider unreachable": (Fault("reset"), "UNAVAILABLE", "PROVIDER_FAILED", 5, 503),
}


@pytest.mark.parametrize("what", ROWS)
async def test_what_happened_to_its_status(sim: Simulator, what: str) -> None:
    act, code, reason, wait_seconds, http_status = ROWS[what]
    sim.script("m", act)
    async with serving(config_for(sim, {"m": [{"model": "m"}]}, **ONE_ATTEMPT), ENV) as server:
        told = await failure(server.stub.Execute(native("openai", "m")))
    assert (told.code.name, told.reason) == (code, reason)
    assert told.info is not None
    assert told.info.domain == "fluxrpc"
    assert (told.retry is None) == (wait_seconds is None)
    if told.retry is not None and wait_seconds is not None:
        assert told.retry.retry_delay.ToSeconds() == pytest.approx(wait_seconds, abs=1)
    assert told.detail is not None
    assert told.detail.request_id == told.info.metadata["request_id"] == server.access_lines[0]["request_id"]
    assert [attempt.route for attempt in told.detail.attempts] == ["m/sim/m"]
    assert told.detail.native.http_status == http_status
    assert told.trailers["grpc-retry-pushback-ms"] == "-1"
    assert [line["code"] for line in server.access_lines] == [code]


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_key_of_ours_is_not_the_callers_fault(sim: Simulator, protocol: str) -> None:
    """Nothing of the provider's words about our key leaves; the caller's SDK sees a 5xx of its own protocol."""
    sim.script("m", Fault("bad_key", message=f"Incorrect key provided: {KEY}"))
    async with serving(config_for(sim, {"m": [{"model": "m"}]}), ENV) as server:
        told = await failure(server.stub.Execute(native(protocol, "m")))
        again = await failure(server.stub.Execute(native(protocol, "m")))
        typed_one = await failure(server.stub.Execute(typed("m")))
    for each in (told, again):
        assert each.detail is not None
        assert (each.code, each.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "PROVIDER_CREDENTIAL")
        assert each.detail.native.protocol == wire_protocol(protocol)
        assert each.detail.native.http_status == 502
        assert "credential" in json.dumps(json.loads(each.detail.native.body))
        assert KEY.encode() not in each.error.trailing_metadata()["grpc-status-details-bin"]
    assert typed_one.detail is not None
    assert not typed_one.detail.HasField("native")
    assert KEY not in server.log.getvalue()


async def test_all_doors_shut(sim: Simulator) -> None:
    sim.script("m", Fault("reset"))
    config = config_for(sim, {"m": [{"model": "m"}]}, **ONE_ATTEMPT)
    async with serving(config, ENV) as server:
        await failure(server.stub.Execute(native("openai", "m")))
        told = await failure(server.stub.ExecuteStream(native("openai", "m")))
    assert (told.code, told.reason) == (grpc.StatusCode.UNAVAILABLE, "CIRCUIT_OPEN")
    assert told.retry is not None
    assert 0 < told.retry.retry_delay.ToTimedelta().total_seconds() <= 5
    assert told.detail is not None
    assert not told.detail.attempts
    assert len(sim.seen("m")) == 1


async def test_a_client_may_retry_only_after_a_short_wait(sim: Simulator) -> None:
    sim.script("m", Fault("reset"))
    probing = {"policy": {"retries_per_route": 0, "max_attempts": 1, "endpoint_probe": "900ms"}}
    async with serving(config_for(sim, {"m": [{"model": "m"}]}, **probing), ENV) as server:
        await failure(server.stub.Execute(native("openai", "m")))
        told = await failure(server.stub.Execute(native("openai", "m")))
    assert 0 < int(told.trailers["grpc-retry-pushback-ms"]) <= 900


async def test_a_cut_stream_costs_what_it_cost(sim: Simulator) -> None:
    sim.script("m", Fault("cut", after_events=2))
    async with serving(config_for(sim, {"m": [{"model": "m"}]}), ENV) as server:
        call = server.stub.ExecuteStream(native("anthropic", "m"))
        assert (await anext(aiter(call))).HasField("started")
        told = await failure(call)
    assert (told.code, told.reason) == (grpc.StatusCode.UNAVAILABLE, "STREAM_INTERRUPTED")
    assert told.detail is not None
    assert told.detail.partial_usage.input_tokens > 0
    assert server.access_lines[0]["reason"] == "STREAM_INTERRUPTED"


@pytest.mark.parametrize("act", [Ok(refusal="I will not."), Ok(finish="content_filter")], ids=["refusal", "filter"])
async def test_a_refusal_is_an_answer(sim: Simulator, act: Ok) -> None:
    sim.script("m", act)
    async with serving(config_for(sim, {"m": [{"model": "m"}]}), ENV) as server:
        answer = await server.stub.Execute(native("openai", "m"))
    assert answer.attempts[0].outcome


async def test_an_unknown_model_and_its_neighbours(sim: Simulator) -> None:
    config = config_for(sim, {name: [{"model": "m"}] for name in ("chat-fast", "chat-slow", "embed")})
    async with serving(config, ENV) as server:
        told = await failure(server.stub.Execute(native("openai", "chat-fats")))
        listed = await failure(server.stub.ExecuteStream(native("openai", "\u0001weird\n\u2028" + "x" * 240)))
    assert (told.code, told.reason) == (grpc.StatusCode.NOT_FOUND, "UNKNOWN_MODEL")
    assert told.info is not None
    assert told.info.metadata["nearest"].split(", ")[0] == "chat-fast"
    assert "chat-fast" in told.message
    assert told.detail is not None
    assert told.detail.native.http_status == 404
    assert "chat-fast" in json.loads(told.detail.native.body)["error"]["message"]
    assert listed.code is grpc.StatusCode.NOT_FOUND


async def test_state_of_an_account_stays_there(sim: Simulator) -> None:
    sim.script("a", Fault("server_error"))
    routes: list[dict[str, Any]] = [{"model": "a"}, {"model": "b", "credential": "${OTHER}", "priority": 5}]
    async with serving(config_for(sim, {"m": routes}, **ONE_ATTEMPT), {**ENV, "OTHER": "sk-other-account"}) as server:
        server.app.state.catalog.models["m"].routes[0].desc.credential.door.shut(float("inf"))
        told = await failure(server.stub.Execute(native("responses", "m", previous_response_id="resp_1")))
    assert (told.code, told.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "STATE_NOT_PORTABLE")
    assert not sim.log


@pytest.mark.parametrize("message", [LONG_TEXT, "line\r\nx-evil: 1\n\0", "\ud800 half", "плохо"])
async def test_no_words_of_a_provider_break_the_status(sim: Simulator, message: str) -> None:
    sim.script("m", Fault("bad_request", message=message, headers={"x-request-id": "caf\u00e9", "retry-after": "1"}))
    async with serving(config_for(sim, {"m": [{"model": "m"}]}), ENV) as server:
        for protocol in PROTOCOLS:
            told = await failure(server.stub.Execute(native(protocol, "m")))
            _assert_fits(told)
            assert (told.code, told.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_REQUEST")


async def test_odd_headers_of_an_answer(sim: Simulator) -> None:
    """Bytes beyond ASCII in a header: the answer comes all the same, without that header."""
    sim.script("m", Ok(headers={"x-request-id": "caf\u00e9", "openai-version": "7"}))
    async with serving(config_for(sim, {"m": [{"model": "m"}]}), ENV) as server:
        answer = await server.stub.Execute(native("openai", "m"))
        items = [item async for item in server.stub.ExecuteStream(native("openai", "m"))]
    assert ("openai-version", "7") in [(header.name, header.value) for header in answer.native.headers]
    assert "x-request-id" not in {header.name for header in answer.native.headers}
    assert items[-1].HasField("completed")


async def test_huge_errors_and_many_attempts(sim: Simulator) -> None:
    """Thirty long route names and a huge body at once still fit, and the end of the trace is kept."""
    error = {"error": {"message": "é\n" * 9000, "type": "server_error", "details": [["x" * 900] * 9] * 9}}
    routes = []
    for n in range(16):
        sim.script(f"m{n}", Fault("raw_body", status=500, data=json.dumps(error)))
        routes.append({"model": f"m{n}", "name": f"{n:02} " + "route" * 40, "priority": n})
    policy = {"policy": {"max_attempts": 16, "retries_per_route": 0, "backoff_base": "1ms", "backoff_max": "1ms"}}
    async with serving(config_for(sim, {"m": routes}, **policy), ENV) as server:
        told = await failure(server.stub.Execute(native("openai", "m")))
    _assert_fits(told)
    assert told.detail is not None
    assert told.detail.attempts
    assert told.detail.attempts[-1].route.startswith("15")
    if told.detail.native.body:
        msgspec.json.decode(told.detail.native.body)


async def test_a_bug_of_ours_says_the_request_id_only(sim: Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(config_for(sim, {"m": [{"model": "m"}]}), ENV) as server:

        def broken(*_: Any) -> None:
            raise ValueError(f"api_key={KEY} at /srv/fluxrpc")

        monkeypatch.setattr(type(server.app.state), "allowed_models", broken)
        for call in (server.stub.Execute(native("openai", "m")), server.stub.ExecuteStream(native("openai", "m"))):
            told = await failure(call)
            assert told.code is grpc.StatusCode.INTERNAL
            assert told.info is not None
            assert told.detail is not None
            request_id = told.info.metadata["request_id"]
            assert told.message == f"internal error, request {request_id}"
            assert told.detail.ByteSize() == len(request_id) + 2
            assert b"api_key" not in told.trailers["grpc-status-details-bin"]
    unhandled = [line for line in server.log_lines if line["event"] == "unhandled"]
    assert len(unhandled) == 2
    assert "ValueError" in unhandled[0]["exception"]
    assert KEY not in server.log.getvalue()


async def test_bytes_that_are_no_message(sim: Simulator) -> None:
    async with serving(config_for(sim, {"m": [{"model": "m"}]}), ENV) as server:
        for rubbish in (
            b"\xff\xff",
            b"\x0a\xff",
            b"{}",
            ExecuteRequest(model="m").SerializeToString() * 2 + b"\x12\x05",
        ):
            call = raw(server.channel, "/fluxrpc.v1.RouterService/Execute")(rubbish)
            told = await failure(call)
            assert (told.code, told.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_REQUEST")


async def test_a_method_that_nobody_serves(sim: Simulator) -> None:
    async with serving(config_for(sim, {"m": [{"model": "m"}]}), ENV) as server:
        told = await failure(raw(server.channel, "/fluxrpc.v1.RouterService/Nothing")(b""))
    assert told.code is grpc.StatusCode.UNIMPLEMENTED


def _assert_fits(told: Failure) -> None:
    assert told.status is not None
    assert told.status.ByteSize() <= 4000
    assert told.info is not None
    wire_bytes = sum(len(name) + len(value) + 32 for name, value in told.trailers.items()) + 3 * len(told.message)
    assert wire_bytes < 8192


@pytest.mark.parametrize("mode", ["unary", "stream"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_provider_that_repeats_our_key_does_not_tell_the_caller(
    sim: Simulator, protocol: str, mode: str
) -> None:
    sim.script("m", Fault("bad_request", message=f"the key {KEY} may not do this"))
    async with serving(config_for(sim, {"m": [{"model": "m"}]}, **ONE_ATTEMPT), ENV) as server:
        method = server.stub.Execute if mode == "unary" else server.stub.ExecuteStream
        told = await failure(method(native(protocol, "m")))
    assert told.code is grpc.StatusCode.INVALID_ARGUMENT
    assert told.detail is not None
    assert "may not do this" in told.message
    assert KEY not in told.message
    assert KEY.encode() not in told.detail.SerializeToString()
    assert KEY not in server.log.getvalue()
