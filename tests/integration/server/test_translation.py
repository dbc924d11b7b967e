"""Callers of one protocol, providers of another, over real sockets: answers, streams, errors, strictness."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import grpc
import pytest

from fluxrpc.simulator import Fault, Ok, Simulator
from fluxrpc.telemetry.hooks import Hooks
from fluxrpc.v1.outcome_pb2 import NOTE_ACTION_DROPPED
from fluxrpc.v1.router_pb2 import FIDELITY_STRICT, ExecuteRequest, TranslateRequest
from tests.integration.server.conftest import ENV, KEY
from tests.support.asking import PROTOCOLS, Failure, failure, native, typed, wire_protocol
from tests.support.serving import serving

PAIRS = [(caller, target) for caller in (*PROTOCOLS, "typed") for target in PROTOCOLS if caller != target]
TEXT_OF: dict[str, Callable[[Any], str]] = {
    "openai": lambda body: body["choices"][0]["message"]["content"],
    "anthropic": lambda body: body["content"][0]["text"],
    "gemini": lambda body: body["candidates"][0]["content"]["parts"][0]["text"],
    "cohere": lambda body: body["message"]["content"][0]["text"],
    "responses": lambda body: body["output"][0]["content"][0]["text"],
}
ENDS = {
    "openai": "data: [DONE]\n\n",
    "anthropic": 'event: message_stop\ndata: {"type":"message_stop"}\n\n',
    "gemini": "\n\n",
    "cohere": "\n\n",
    "responses": "\n\n",
}
IMAGE = {"type": "image_url", "image_url": {"url": "https://h.test/cat.png"}}


class Notes(Hooks):
    """The notes that were counted."""

    def __init__(self) -> None:
        self.made: list[tuple[str | None, str, str]] = []

    def notes_made(self, caller: str | None, target: str, codes: Any) -> None:
        self.made.extend((caller, target, code) for code in codes)


def config(sim: Simulator, *routes: dict[str, Any], **sections: Any) -> dict[str, Any]:
    """A model `m` with these routes, in this order; one service for each protocol, called like it."""
    services = {protocol: {"protocols": {protocol: sim.base_url(protocol)}} for protocol in PROTOCOLS}
    listed = [{"credential": "${KEY}", "priority": index, **route} for index, route in enumerate(routes)]
    return {**sections, "services": services, "models": {"m": {"routes": listed}}}


def asked(form: str, **fields: Any) -> ExecuteRequest:
    return typed("m") if form == "typed" else native(form, "m", **fields)


def strict(request: ExecuteRequest) -> ExecuteRequest:
    request.options.fidelity = FIDELITY_STRICT
    return request


@pytest.mark.parametrize(("caller", "target"), PAIRS)
async def test_an_answer_in_the_callers_form(sim: Simulator, caller: str, target: str) -> None:
    sim.script("up", Ok(text="Well said."))
    async with serving(config(sim, {"service": target, "model": "up"}), ENV) as server:
        answer = await server.stub.Execute(asked(caller))
    assert sim.log[0].protocol == target
    assert answer.route.protocol == wire_protocol(target)
    assert answer.usage.output_tokens > 0
    if caller == "typed":
        assert answer.message.choices[0].parts[0].text == "Well said."
    else:
        assert answer.native.protocol == wire_protocol(caller)
        assert TEXT_OF[caller](json.loads(answer.native.body)) == "Well said."


@pytest.mark.parametrize(("caller", "target"), PAIRS)
async def test_a_stream_in_the_callers_form(sim: Simulator, caller: str, target: str) -> None:
    sim.script("up", Ok(fragments=("Well", " said.")))
    async with serving(config(sim, {"service": target, "model": "up"}), ENV) as server:
        items = [item async for item in server.stub.ExecuteStream(asked(caller))]
    assert [items[0].WhichOneof("message"), items[-1].WhichOneof("message")] == ["started", "completed"]
    assert len(items[-1].completed.finishes) == 1
    if caller == "typed":
        events = [event for item in items[1:-1] for event in item.events.events]
        assert "".join(event.part_delta.text for event in events) == "Well said."
    else:
        frames = b"".join(item.native for item in items).decode()
        assert "Well" in frames
        assert frames.endswith(ENDS[caller])


@pytest.mark.parametrize("target", PROTOCOLS)
@pytest.mark.parametrize("caller", PROTOCOLS)
async def test_json_where_a_stream_was_asked_becomes_one(sim: Simulator, caller: str, target: str) -> None:
    sim.script("up", Fault("json_for_stream"))
    async with serving(config(sim, {"service": target, "model": "up"}), ENV) as server:
        items = [item async for item in server.stub.ExecuteStream(asked(caller))]
    frames = b"".join(item.native for item in items).decode()
    assert frames.endswith(ENDS[caller])
    assert items[-1].completed.usage.output_tokens > 0
    assert [attempt.reason for attempt in items[-1].completed.attempts] == [""]


@pytest.mark.parametrize("target", PROTOCOLS)
@pytest.mark.parametrize("caller", ["openai", "anthropic", "typed"])
async def test_a_route_that_can_only_stream(sim: Simulator, caller: str, target: str) -> None:
    sim.script("up", Ok(fragments=("Well", " said.")))
    async with serving(config(sim, {"service": target, "model": "up", "stream": "only"}), ENV) as server:
        answer = await server.stub.Execute(asked(caller))
    assert sim.log[0].events_sent > 0
    if caller == "typed":
        assert answer.message.choices[0].parts[0].text == "Well said."
    else:
        assert TEXT_OF[caller](json.loads(answer.native.body)) == "Well said."


@pytest.mark.parametrize("caller", ["openai", "typed"])
async def test_large_requests_and_answers(sim: Simulator, caller: str) -> None:
    sim.script("up", Ok(text="y" * 300_000))
    request = typed("m", "x" * 300_000) if caller == "typed" else native("openai", "m", prompt="x" * 300_000)
    async with serving(config(sim, {"service": "anthropic", "model": "up"}), ENV) as server:
        answer = await server.stub.Execute(request)
        items = [item async for item in server.stub.ExecuteStream(request)]
    assert b"x" * 300_000 in sim.log[0].body
    assert "y" * 300_000 in str(answer)
    assert items[-1].HasField("completed")


async def test_a_large_request_that_strict_refuses(sim: Simulator) -> None:
    async with serving(config(sim, {"service": "openai", "model": "up"}), ENV) as server:
        told = await failure(server.stub.Execute(strict(native("anthropic", "m", prompt="x" * 300_000, top_k=5))))
    assert told.reason == "NOT_EXPRESSIBLE"


# ---------------------------------------------------------------------------------------------------- notes


async def test_notes_are_told_and_counted(sim: Simulator) -> None:
    counted = Notes()
    request = asked("anthropic", top_k=5)
    async with serving(config(sim, {"service": "openai", "model": "up"}), ENV, observers=[counted]) as server:
        answer = await server.stub.Execute(request)
        items = [item async for item in server.stub.ExecuteStream(request)]
        server.settle()
    (note,) = [note for note in answer.notes if note.code == "TOP_K"]
    assert (note.path, note.action) == ("top_k", NOTE_ACTION_DROPPED)
    assert note.reason
    assert [note.code for note in items[0].started.notes] == ["TOP_K"]
    assert counted.made.count(("anthropic", "openai", "TOP_K")) == 2


async def test_headers_of_one_protocol_stay_there(sim: Simulator) -> None:
    request = asked("anthropic")
    request.native.headers.add(name="Anthropic-Beta", value="x")
    async with serving(config(sim, {"service": "openai", "model": "up"}), ENV) as server:
        answer = await server.stub.Execute(request)
    assert "anthropic-beta" not in sim.log[0].headers
    assert ("native.headers[anthropic-beta]", "HEADER_NOT_ALLOWED") in [(n.path, n.code) for n in answer.notes]


# ---------------------------------------------------------------------------------------------------- strict


async def test_strict_is_refused_before_any_provider_is_called(sim: Simulator) -> None:
    async with serving(config(sim, {"service": "openai", "model": "up"}), ENV) as server:
        request = strict(asked("anthropic", top_k=5))
        for call in (server.stub.Execute(request), server.stub.ExecuteStream(request)):
            told = await failure(call)
            assert (told.code, told.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "NOT_EXPRESSIBLE")
            assert "top_k" in told.message
            assert told.bad_request is not None
            assert [violation.field for violation in told.bad_request.field_violations] == ["top_k"]
            assert told.detail is not None
            assert [attempt.reason for attempt in told.detail.attempts] == ["NOT_EXPRESSIBLE"]
            assert json.loads(told.detail.native.body)["type"] == "error"
        fine = await server.stub.Execute(strict(asked("anthropic")))
    assert len(sim.log) == 1
    assert fine.attempts


async def test_strict_takes_the_route_that_can_say_it(sim: Simulator) -> None:
    routes = ({"service": "openai", "model": "cannot"}, {"service": "anthropic", "model": "can"})
    async with serving(config(sim, *routes), ENV) as server:
        answer = await server.stub.Execute(strict(asked("gemini", generationConfig={"topK": 5})))
        dry = TranslateRequest(model="m", native=asked("gemini", generationConfig={"topK": 5}).native)
        assert (await server.stub.Translate(dry)).route.upstream_model == "cannot"
        dry.fidelity = FIDELITY_STRICT
        assert (await server.stub.Translate(dry)).route.upstream_model == "can"
    assert [(a.route, a.reason) for a in answer.attempts] == [
        ("m/openai/cannot", "NOT_EXPRESSIBLE"),
        ("m/anthropic/can", ""),
    ]
    assert [seen.model for seen in sim.log] == ["can"]


async def test_strict_passes_over_models_that_cannot_do_it(sim: Simulator) -> None:
    blind = {"service": "openai", "model": "blind", "capabilities": {"vision": False}}
    sees = asked("openai", messages=[{"role": "user", "content": [IMAGE]}])
    config_ = config(sim, blind, {"service": "anthropic", "model": "sees"}, policy={"fidelity": "strict"})
    async with serving(config_, ENV) as server:
        answer = await server.stub.Execute(sees)
        plain = await server.stub.Execute(asked("openai"))
    assert [(a.route, a.reason) for a in answer.attempts] == [
        ("m/openai/blind", "LACKS_VISION"),
        ("m/anthropic/sees", ""),
    ]
    assert plain.route.upstream_model == "blind"


async def test_a_conversation_that_a_provider_keeps_goes_nowhere_else(sim: Simulator) -> None:
    request = asked("responses", previous_response_id="resp_1")
    only = config(sim, {"service": "anthropic", "model": "up"})
    async with serving(only, ENV) as server:
        told = await failure(server.stub.Execute(request))
    assert (told.code, told.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "STATE_NOT_PORTABLE")
    assert not sim.log
    both = config(sim, {"service": "anthropic", "model": "up"}, {"service": "responses", "model": "home"})
    async with serving(both, ENV) as server:
        answer = await server.stub.Execute(request)
    assert [attempt.route for attempt in answer.attempts] == ["m/responses/home"]


# ---------------------------------------------------------------------------------------------------- errors


async def _failed(sim: Simulator, caller: str, target: str, fault: Fault, **sections: Any) -> Failure:
    sim.script("up", fault)
    policy = {"retries_per_route": 0, **sections}
    async with serving(config(sim, {"service": target, "model": "up"}, policy=policy), ENV) as server:
        return await failure(server.stub.Execute(asked(caller)))


@pytest.mark.parametrize(("caller", "target"), [pair for pair in PAIRS if pair[0] != "typed"])
async def test_an_error_in_the_callers_protocol(sim: Simulator, caller: str, target: str) -> None:
    told = await _failed(sim, caller, target, Fault("status", status=400))
    assert told.code is grpc.StatusCode.INVALID_ARGUMENT
    assert told.detail is not None
    assert told.detail.native.protocol == wire_protocol(caller)
    assert told.detail.native.http_status == 400
    assert (
        set(json.loads(told.detail.native.body))
        & {
            "openai": {"error"},
            "anthropic": {"error"},
            "gemini": {"error"},
            "cohere": {"message"},
            "responses": {"error"},
        }[caller]
    )


@pytest.mark.parametrize("target", PROTOCOLS)
async def test_our_bad_key_is_not_the_callers_fault(sim: Simulator, target: str) -> None:
    told = await _failed(sim, "openai", target, Fault("bad_key"))
    assert (told.code, told.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "PROVIDER_CREDENTIAL")
    assert told.detail is not None
    assert told.detail.native.http_status == 502
    assert KEY not in str(told.detail)


@pytest.mark.parametrize("target", PROTOCOLS)
async def test_nor_is_our_choice_of_a_model(sim: Simulator, target: str) -> None:
    told = await _failed(sim, "anthropic", target, Fault("model_not_found"))
    assert told.code is grpc.StatusCode.UNAVAILABLE
    assert told.detail is not None
    assert told.detail.native.http_status == 503


async def test_a_body_that_is_none_of_its_protocol(sim: Simulator) -> None:
    async with serving(config(sim, {"service": "anthropic", "model": "up"}), ENV) as server:
        told = await failure(server.stub.Execute(asked("openai", messages=[{"role": "user", "content": 7}])))
    assert (told.code, told.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_REQUEST")
    assert told.bad_request is not None
    assert told.bad_request.field_violations[0].field == "messages[0].content"
    assert told.detail is not None
    assert told.detail.native.protocol == wire_protocol("openai")
    assert not told.detail.attempts
    assert not sim.log


# ---------------------------------------------------------------------------------------------------- Translate


@pytest.mark.parametrize(("caller", "target"), PAIRS)
async def test_the_dry_run_shows_what_is_sent(sim: Simulator, caller: str, target: str) -> None:
    request = asked(caller)
    dry = TranslateRequest(model="m")
    if caller == "typed":
        dry.message.CopyFrom(request.message)
    else:
        dry.native.CopyFrom(request.native)
    async with serving(config(sim, {"service": target, "model": "up"}), ENV) as server:
        shown = await server.stub.Translate(dry)
        assert not sim.log
        await server.stub.Execute(request)
        bare = await server.stub.Translate(
            TranslateRequest(model="m", target=wire_protocol(target), native=dry.native) if caller != "typed" else dry
        )
    assert shown.body == bare.body == sim.log[0].body
    assert shown.protocol == wire_protocol(target)
