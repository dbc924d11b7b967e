"""Whatever a caller sends is the caller's fault, named by its path: never INTERNAL, never UNKNOWN, never passed on."""

from __future__ import annotations

import json
from typing import Any, cast

import grpc
import pytest

from fluxrpc.simulator import Ok, Simulator
from fluxrpc.v1.message_pb2 import ROLE_USER, MessageRequest
from fluxrpc.v1.router_pb2 import (
    FIDELITY_STRICT,
    PRIORITY_HIGH,
    STREAM_RECOVERY_RESTART,
    ExecuteOptions,
    ExecuteRequest,
    Hedging,
    NativeRequest,
)
from tests.integration.server.conftest import ENV
from tests.support.asking import PROTOCOLS, Failure, body_of, config_for, failure, native, typed, wire_protocol
from tests.support.serving import serving

MIB = 1024 * 1024
DEEP = 100_000

NEVER_VALID = {
    "empty": b"",
    "blank": b" \n",
    "no JSON": b"not json",
    "cut": b'{"model": "m", ',
    "a list": b"[]",
    "a number": b"7",
    "null": b"null",
    "trailing rubbish": b'{"model": "m"} x',
    "invalid UTF-8": b'{"model": "m\xff"}',
    "UTF-16": '{"model": "m"}'.encode("utf-16"),
    "deep lists": b'{"x": ' + b"[" * DEEP + b"]" * DEEP + b"}",
    "deep objects": b'{"x": ' + b'{"a":' * DEEP + b"1" + b"}" * DEEP + b"}",
    "deep and open": b"[" * DEEP,
    "lone surrogate": b'{"messages": [{"role": "user", "content": "\\ud800"}], "model": "m"}',
    "lone surrogate as key": b'{"\\udc00": 1, "model": "m"}',
    "NaN": b'{"model": "m", "temperature": NaN}',
    "Infinity": b'{"model": "m", "temperature": -Infinity}',
}


@pytest.mark.parametrize("what", NEVER_VALID)
async def test_bodies_that_are_no_request(sim: Simulator, what: str) -> None:
    body = NEVER_VALID[what]
    async with serving(config_for(sim, {"m": [{"model": "m"}]}), ENV) as server:
        for protocol in PROTOCOLS:
            request = native(protocol, "m", body)
            for told in (
                await failure(server.stub.Execute(request)),
                await failure(server.stub.ExecuteStream(request)),
            ):
                assert (told.code, told.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_REQUEST"), protocol
                assert told.bad_request is not None
                assert len(told.bad_request.field_violations) == 1
                assert told.status is not None
                assert told.status.ByteSize() < 4000
    assert not sim.log
    assert {line["code"] for line in server.access_lines} == {"INVALID_ARGUMENT"}


async def test_a_huge_body_of_nothing(sim: Simulator) -> None:
    async with serving(config_for(sim, {"m": [{"model": "m"}]}), ENV) as server:
        told = await failure(server.stub.Execute(native("openai", "m", b" " * (31 * MIB))))
        too_large = await failure(server.stub.Execute(native("openai", "m", b" " * (50 * MIB))))
    assert told.code is grpc.StatusCode.INVALID_ARGUMENT
    assert (too_large.code, too_large.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "TOO_LARGE")


# Bodies that a provider may well accept: what counts is that they reach it as they are, or are refused by name.
ODD = {
    "a huge integer": b'"seed": ' + b"9" * 5000,
    "a huge exponent": b'"x": 1e999999',
    "an empty key": b'"": {"": []}',
    "duplicate keys": b'"x": 1, "x": 2',
    "NUL": b'"x": "\\u0000"',
    "a surrogate pair": b'"x": "\\ud83d\\ude00"',
}


@pytest.mark.parametrize("what", ODD)
async def test_odd_bodies_pass_as_they_are_or_are_refused(sim: Simulator, what: str) -> None:
    sim.script("m", Ok(text="fine"))
    async with serving(config_for(sim, {"m": [{"model": "m"}]}), ENV) as server:
        for protocol in PROTOCOLS:
            body = json.dumps(body_of(protocol)).encode()[:-1] + b", " + ODD[what] + b"}"
            code = await _code(server.stub.Execute(native(protocol, "m", body)))
            assert code in {"OK", "INVALID_ARGUMENT"}, protocol
            assert code != "OK" or ODD[what] in sim.log[-1].body


@pytest.mark.parametrize("protocol", ["openai", "anthropic", "cohere", "responses"])
async def test_a_model_named_twice(sim: Simulator, protocol: str) -> None:
    """Which of the two a provider would take is anybody's guess, so neither is asked."""
    body = json.dumps(body_of(protocol)).encode()[:-1] + b', "model": "m", "model": "other"}'
    async with serving(config_for(sim, {"m": [{"model": "m"}]}), ENV) as server:
        told = await failure(server.stub.Execute(native(protocol, "m", body)))
    assert told.code is grpc.StatusCode.INVALID_ARGUMENT
    assert _paths(told) == ["model"]


def _options(**fields: Any) -> ExecuteOptions:
    options = ExecuteOptions(
        **{name: value for name, value in fields.items() if not name.endswith(("timeout", "tags"))}
    )
    for name, value in fields.items():
        if name.endswith("timeout"):
            getattr(options, name).FromNanoseconds(round(value * 1e9))
    options.tags.update(fields.get("tags", {}))
    return options


BAD_OPTIONS = {
    "no attempts": (_options(max_attempts=0), "options.max_attempts"),
    "too many attempts": (_options(max_attempts=17), "options.max_attempts"),
    "no time": (_options(attempt_timeout=0.0), "options.attempt_timeout"),
    "negative time": (_options(first_token_timeout=-1.0), "options.first_token_timeout"),
    "a time of years": (_options(idle_timeout=1e9), "options.idle_timeout"),
    "unknown fidelity": (_options(fidelity=77), "options.fidelity"),
    "too many tags": (_options(tags={str(n): "x" for n in range(17)}), "options.tags"),
    "an empty tag": (_options(tags={"": "x"}), "options.tags"),
    "a long tag": (_options(tags={"team": "x" * 257}), "options.tags"),
}


@pytest.mark.parametrize("what", BAD_OPTIONS)
async def test_options_out_of_range(sim: Simulator, what: str) -> None:
    options, path = BAD_OPTIONS[what]
    request = native("openai", "m")
    request.options.CopyFrom(options)
    async with serving(config_for(sim, {"m": [{"model": "m"}]}), ENV) as server:
        told = await failure(server.stub.Execute(request))
    assert told.code is grpc.StatusCode.INVALID_ARGUMENT
    assert _paths(told) == [path]


@pytest.mark.parametrize(
    "options",
    [
        _options(stream_recovery=STREAM_RECOVERY_RESTART),
        _options(priority=PRIORITY_HIGH),
        _options(affinity_key="me"),
        ExecuteOptions(hedging=Hedging()),
    ],
    ids=["recovery", "priority", "affinity", "hedging"],
)
async def test_what_is_not_done_yet_is_said(sim: Simulator, options: ExecuteOptions) -> None:
    request = native("openai", "m")
    request.options.CopyFrom(options)
    async with serving(config_for(sim, {"m": [{"model": "m"}]}), ENV) as server:
        told = await failure(server.stub.Execute(request))
    assert (told.code, told.reason) == (grpc.StatusCode.UNIMPLEMENTED, "UNSUPPORTED")


async def test_good_options_are_taken(sim: Simulator) -> None:
    request = native("openai", "m")
    request.options.CopyFrom(
        _options(max_attempts=16, fidelity=FIDELITY_STRICT, attempt_timeout=5.0, tags={"team": "x" * 256})
    )
    async with serving(config_for(sim, {"m": [{"model": "m"}]}), ENV) as server:
        assert (await server.stub.Execute(request)).native.body


def _message(text: str = "", role: Any = ROLE_USER) -> MessageRequest:
    message = MessageRequest()
    message.messages.add(role=role, text=text)
    return message


BAD_REQUESTS = {
    "nothing asked": (ExecuteRequest(model="m"), "request"),
    "no protocol": (ExecuteRequest(model="m", native=NativeRequest(body=b"{}")), "native.protocol"),
    "an unknown protocol": (
        ExecuteRequest(model="m", native=NativeRequest(protocol=cast("Any", 99), body=b"{}")),
        "native.protocol",
    ),
    "no model anywhere": (native("openai", ""), "model"),
    "no model for gemini": (native("gemini", ""), "model"),
    "a model that is no text": (native("openai", "m", b'{"model": 7, "messages": []}'), "model"),
    "a model too long": (native("openai", "x" * 257), "model"),
    "no messages": (ExecuteRequest(model="m", message=MessageRequest()), "message.messages"),
    "no role": (ExecuteRequest(model="m", message=_message("hi", role=0)), "message.messages[0].role"),
}


@pytest.mark.parametrize("what", BAD_REQUESTS)
async def test_requests_that_lack_something(sim: Simulator, what: str) -> None:
    request, path = BAD_REQUESTS[what]
    async with serving(config_for(sim, {"m": [{"model": "m"}]}), ENV) as server:
        told = await failure(server.stub.Execute(request))
    assert told.code is grpc.StatusCode.INVALID_ARGUMENT
    assert _paths(told) == [path]
    assert not sim.log


@pytest.mark.parametrize("value", ["a\r\nx-evil: 1", "a\nb", "a\0b", "é"])
async def test_headers_cannot_be_injected(sim: Simulator, value: str) -> None:
    request = native("openai", "m")
    request.native.headers.add(name="X-Other", value="whatever")
    request.native.headers.add(name="OpenAI-Organization", value=value)
    async with serving(config_for(sim, {"m": [{"model": "m"}]}), ENV) as server:
        told = await failure(server.stub.Execute(request))
    assert told.code is grpc.StatusCode.INVALID_ARGUMENT
    assert _paths(told) == ["native.headers[1]"]
    assert not sim.log


async def test_only_listed_headers_pass(sim: Simulator) -> None:
    """What a caller proves itself with to us, or means for others, never reaches a provider."""
    request = native("openai", "m")
    for name in ("authorization", "x-api-key", "x-goog-api-key", "cookie", "api-key", "host"):
        request.native.headers.add(name=name, value="CALLER-SECRET")
    request.native.headers.add(name="OpenAI-Project", value="proj_1")
    metadata = [(name, "CALLER-SECRET") for name in ("x-api-key", "x-goog-api-key", "cookie")]
    async with serving(config_for(sim, {"m": [{"model": "m"}]}), ENV) as server:
        answer = await server.stub.Execute(request, metadata=[*metadata, ("authorization", "Bearer CALLER-SECRET")])
    seen = sim.log[0]
    assert "CALLER-SECRET" not in repr(seen.headers)
    assert seen.headers["openai-project"] == "proj_1"
    assert len([note for note in answer.notes if note.code == "HEADER_NOT_ALLOWED"]) == 6
    assert "CALLER-SECRET" not in server.log.getvalue()


NASTY_MODELS = [
    "../../v1/files",
    "..",
    "a/../../b",
    "x?key=1#f",
    "a\nb",
    "a b",
    "http://evil.example/",
    "%2e%2e%2f",
    "模型",
]


@pytest.mark.parametrize("model", NASTY_MODELS)
async def test_no_name_of_a_model_leads_elsewhere(sim: Simulator, model: str) -> None:
    """The body's model is the caller's text; the provider's is the configuration's. Neither moves the request."""
    routes = [{"model": model}] if model.isprintable() else [{"model": "m"}]
    async with serving(config_for(sim, {"m": routes}), ENV) as server:
        for protocol in PROTOCOLS:
            body = json.dumps(body_of(protocol, model=model)).encode()
            for asked in ("m", ""):
                request = ExecuteRequest(model=asked, native=NativeRequest(protocol=wire_protocol(protocol), body=body))
                # UNAVAILABLE: the provider was asked, at the right place, and knows no such model.
                codes = {"OK", "NOT_FOUND", "INVALID_ARGUMENT", "UNAVAILABLE"}
                assert await _code(server.stub.Execute(request)) in codes, protocol
    paths = {seen.path for seen in sim.log}
    fixed = {"/v1/chat/completions", "/v1/messages", "/v2/chat", "/v1/responses"}
    # The simulator logs paths unescaped; that the name is one escaped segment is the address's own test.
    assert paths <= {*fixed, f"/v1beta/models/{model}:generateContent", "/v1beta/models/m:generateContent"}


async def test_large_requests_and_answers(sim: Simulator) -> None:
    sim.script("m", Ok(text="y" * (5 * MIB)))
    async with serving(config_for(sim, {"m": [{"model": "m"}]}), ENV) as server:
        answer = await server.stub.Execute(native("openai", "m", prompt="x" * (5 * MIB)))
    assert len(answer.native.body) > 5 * MIB
    assert len(sim.log[0].body) > 5 * MIB


async def test_messages_over_the_limit(sim: Simulator) -> None:
    """Both ways with a reason, and even where gRPC itself has to refuse, the same status."""
    sim.script("m", Ok(text="y" * 600_000))
    config = config_for(sim, {"m": [{"model": "m"}]}, server={"max_message": "512KiB"})
    async with serving(config, ENV) as server:
        over = await failure(server.stub.Execute(native("openai", "m", prompt="x" * 524_288)))
        far_over = await failure(server.stub.Execute(native("openai", "m", prompt="x" * 3_000_000)))
        assert not sim.log
        answer = await failure(server.stub.Execute(native("openai", "m")))
        frame = await failure(server.stub.ExecuteStream(native("openai", "m")))
        sim.script("m", Ok(fragments=("y" * 6000,) * 100))
        stream = server.stub.ExecuteStream(native("openai", "m"))
        assert [message async for message in stream][-1].HasField("completed")
    for told in (over, answer, frame):
        assert (told.code, told.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "TOO_LARGE")
        assert "524288" in told.message
    assert far_over.code is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert answer.detail is not None
    assert len(answer.detail.attempts) == 1
    assert server.at_rest()


async def test_an_answer_over_the_limit_of_answers(sim: Simulator) -> None:
    sim.script("m", Ok(text="y" * 600_000))
    config = config_for(sim, {"m": [{"model": "m"}]}, policy={"limits": {"max_answer": "512KiB"}})
    async with serving(config, ENV) as server:
        told = await failure(server.stub.Execute(native("openai", "m")))
    assert (told.code, told.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "TOO_LARGE")


async def test_an_unsayable_typed_request(sim: Simulator) -> None:
    request = typed("m")
    request.message.messages[0].parts.add(text="both")
    async with serving(config_for(sim, {"m": [{"model": "m"}]}), ENV) as server:
        told = await failure(server.stub.Execute(request))
    assert told.code is grpc.StatusCode.INVALID_ARGUMENT
    assert _paths(told)[0].startswith("message.messages[0]")


async def _code(call: Any) -> str:
    return str((await call.code()).name)


def _paths(told: Failure) -> list[str]:
    assert told.bad_request is not None
    return [violation.field for violation in told.bad_request.field_violations]
