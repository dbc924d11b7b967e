"""Requests of Cohere's callers to Cohere: what goes in comes out, and what is no request is told with its place."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fluxrpc.ir.validate import validate_request
from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.cohere.translator import CohereTranslator
from fluxrpc.protocols.context import Context, Target
from fluxrpc.protocols.gates import Gates
from fluxrpc.protocols.json_text import JsonFault
from fluxrpc.protocols.notes import Notes, Places
from fluxrpc.v1.message_pb2 import MessageRequest

COHERE = CohereTranslator()
NO_GATES = Gates()
USER = {"role": "user", "content": "Hi"}
CALL = {"id": "q_1", "type": "function", "function": {"name": "query", "arguments": '{"y": 2025}'}}
QUERY = {"type": "function", "function": {"name": "query", "parameters": {"type": "object", "required": ["y"]}}}
SOURCE = {"type": "document", "id": "doc:0", "document": {"id": "doc:0", "title": "Guide"}}
CITATION = {"start": 0, "end": 4, "text": "Café", "sources": [SOURCE], "content_index": 0, "type": "TEXT_CONTENT"}


def body_with(*messages: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"model": "command-a", "stream": False, "messages": list(messages) or [USER], **fields}


def said(content: Any, **fields: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **fields}


def result(content: Any, **fields: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": "q_1", "content": content, **fields}


OWN = [
    body_with(),
    body_with(
        max_tokens=5,
        temperature=1.5,
        p=0.3,
        k=7,
        seed=2**64 - 1,
        frequency_penalty=0.5,
        presence_penalty=0.5,
        logprobs=True,
        stop_sequences=list("abcdefg"),
        safety_mode="OFF",
        priority=3,
        raw_prompting=None,
    ),
    body_with(safety_mode="CONTEXTUAL"),
    body_with(seed=5, logprobs=False, tools=[], documents=[], stop_sequences=[]),
    body_with(thinking={"type": "enabled", "token_budget": 9}, citation_options={"mode": "DISABLED", "x": 1}),
    body_with(thinking={"type": "disabled", "level": 1}, citation_options={"mode": "NEW"}),
    body_with(thinking={"type": "adaptive"}, citation_options={"mode": "FAST"}),
    body_with(thinking={"token_budget": 9}),
    body_with(thinking={"level": 1}, tools=[{"type": "web"}], strict_tools=True),
    body_with(response_format={"type": "json_object"}, citation_options={"x": 1}),
    body_with(response_format={"type": "json_object", "json_schema": {"type": "object"}, "x": 1}, tools=[QUERY]),
    body_with(response_format={"type": "json_object", "schema": {"type": "object"}}),
    body_with(response_format={"type": "xml"}),
    body_with(response_format={"type": "text"}),
    body_with(tools=[QUERY], tool_choice="REQUIRED", strict_tools=True),
    body_with(tools=[QUERY], tool_choice="NONE", strict_tools=False),
    body_with(
        tools=[
            {"type": "function", "function": {"name": "get-weather", "description": "", "x": 1}, "y": 2},
            {"type": "web", "name": "w"},
            {"type": "other", "function": {"name": "o"}},
            {"type": "function"},
        ],
        tool_choice="AUTO",
    ),
    body_with(documents=["plain", {"data": {"title": "T", "text": "x"}, "id": "1"}, {"data": {"text": "x", "n": 1.0}}]),
    body_with(documents=[{"data": {"text": "x"}}, {"data": {"title": "T", "text": "x"}, "extra": 1}, {"data": "x"}]),
    body_with({"role": "system", "content": "S"}, {"role": "user", "content": ""}, {"role": "user", "content": []}),
    body_with(
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "", "x": 1},
                {"type": "image_url", "image_url": {"url": "https://x.test/a.png"}},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD", "detail": "low", "x": 1}},
                {"type": "image_url", "image_url": {"url": "https://x.test/a.png", "detail": "huge"}},
                {"type": "new", "new": [1.0]},
                {"kind": "none"},
            ],
            "name": "ann",
        }
    ),
    body_with(USER, said("")),
    body_with(USER, said("Hello")),
    body_with(USER, said([{"type": "thinking", "thinking": "t"}, {"type": "text", "text": "a"}])),
    body_with(USER, said(None, tool_calls=[CALL], tool_plan="I will."), result("5")),
    body_with(USER, said("text", tool_calls=[CALL]), result("")),
    body_with(USER, said([], tool_calls=[CALL]), result([])),
    body_with(USER, {"role": "assistant", "tool_plan": ""}),
    body_with(
        USER,
        {
            "role": "assistant",
            "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "f", "arguments": ""}},
                {"id": "b", "type": "function", "function": {"name": "f", "x": 1}, "y": 2},
                {"id": "c", "type": "odd", "function": {"name": "f", "arguments": "{}"}},
            ],
        },
    ),
    body_with(
        USER,
        said(None, tool_calls=[CALL]),
        result(
            [
                {"type": "text", "text": "x"},
                {"type": "document", "document": {"id": "d1", "data": {"title": "T", "sum": 5.0}, "x": 1}, "y": 2},
                {"type": "document", "document": {"data": {"title": "T", "text": "t"}}},
                {"type": "document", "document": {"data": '{"a": 1}'}},
            ],
            z=3,
        ),
    ),
    body_with(
        USER,
        said(
            [{"type": "text", "text": "Café"}],
            tool_plan="Plan",
            citations=[
                {**CITATION, "type": "PLAN", "text": "Plan"} | {"content_index": None},
                CITATION,
                {**CITATION, "sources": [{"type": "tool", "id": "q_1:0", "tool_output": {"a": 1.0}}]},
            ],
        ),
    ),
    body_with(USER, said("Café", citations=[CITATION])),
    body_with(
        USER, said("Café", citations=[{**CITATION, "sources": [{"type": "tool", "id": "1", "tool_output": "x"}]}])
    ),
    body_with(USER, said("Café", citations=[{"text": "Café"}, {"start": 3, "end": 1, "sources": []}])),
    body_with(USER, said("Café", citations=[{**CITATION, "content_index": 7}])),
    body_with(
        USER,
        said(
            [{"type": "thinking", "thinking": "t"}, {"type": "text", "text": "a"}],
            citations=[
                {"start": 0, "end": 1, "text": "t", "type": "THINKING_CONTENT", "sources": [{"type": "web", "u": 1}]},
                {"start": 0, "end": 1, "text": "a", "sources": [{**SOURCE, "x": 1}], "x": 2},
            ],
        ),
    ),
]


def written(request: MessageRequest, gates: Gates = NO_GATES, *, stream: bool = False) -> tuple[Any, Notes]:
    target = Target(protocol=Protocol.COHERE, model="command-a", gates=gates)
    notes = Notes(COHERE.fates)
    context = Context(caller=Protocol.COHERE, target=target, request=request, stream=stream)
    return json.loads(COHERE.write_request(request, context, notes).body), notes


@pytest.mark.parametrize("body", OWN)
def test_a_request_to_its_own_protocol_stays_as_it_is(body: dict[str, Any]) -> None:
    places: Places = {}
    read = COHERE.read_request(json.dumps(body).encode(), places=places)
    back, notes = written(read.message)
    assert back == body
    assert not len(notes)
    assert places.keys() >= {f"messages[{index}]" for index in range(len(body["messages"]))}


def test_what_is_read_is_well_formed() -> None:
    for body in OWN[:3]:
        assert validate_request(COHERE.read_request(json.dumps(body).encode()).message) == []


def test_model_and_stream_stand_beside_the_message() -> None:
    read = COHERE.read_request(b'{"model":"m","stream":true,"messages":[{"role":"user","content":"Hi"}]}')
    assert (read.model, read.stream, read.show_usage) == ("m", True, True)
    assert written(read.message, stream=True)[0]["stream"] is True


def test_gates_apply_to_own_callers_too() -> None:
    body = body_with(temperature=0.5, p=0.5, k=1, seed=1, logprobs=True, safety_mode="OFF", stop_sequences=["x"])
    read = COHERE.read_request(json.dumps(body).encode())
    gates = Gates(
        refused=frozenset({"top_k", "safety_mode_off", "seed", "logprobs", "stop_sequences"}),
        one_of_temperature_and_top_p=True,
    )
    back, notes = written(read.message, gates)
    assert back == body_with(temperature=0.5)
    assert {note.code for note in notes} == {"TOP_K", "TOP_P", "EXTRA_FIELD", "SEED", "LOGPROBS", "STOP_SEQUENCES"}


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ([], ""),
        ({"messages": {}}, "messages"),
        ({"messages": ["x"]}, "messages[0]"),
        ({"messages": [{"role": "developer"}]}, "messages[0].role"),
        ({"messages": [{"content": "x"}]}, "messages[0].role"),
        ({"messages": [{"role": "user", "content": 5}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, "messages[0].content[0].text"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "messages[0].content[0].image_url"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:x,y"}}]}]},
            "messages[0].content[0].image_url.url",
        ),
        ({"messages": [{"role": "tool", "content": [{"type": "document"}]}]}, "messages[0].content[0].document"),
        (
            {"messages": [{"role": "tool", "content": [{"type": "document", "document": {}}]}]},
            "messages[0].content[0].document.data",
        ),
        ({"messages": [{"role": "assistant", "tool_calls": [{}]}]}, "messages[0].tool_calls[0].function"),
        (
            {"messages": [{"role": "assistant", "tool_calls": [{"function": {}}]}]},
            "messages[0].tool_calls[0].function.name",
        ),
        (
            {"messages": [{"role": "assistant", "content": "x", "citations": [{"start": 2**32}]}]},
            "messages[0].citations[0].start",
        ),
        ({"model": 5}, "model"),
        ({"stream": "yes"}, "stream"),
        ({"k": 2**63}, "k"),
        ({"seed": 2**64}, "seed"),
        ({"max_tokens": 1.5}, "max_tokens"),
        ({"tools": [{"function": {"name": "f", "parameters": "x"}}]}, "tools[0].function.parameters"),
        ({"tools": [{"function": {}}]}, "tools[0].function.name"),
        ({"documents": [5]}, "documents[0]"),
        ({"documents": [{"data": []}]}, "documents[0].data"),
        ({"response_format": {"type": "json_object", "json_schema": 5}}, "response_format.json_schema"),
    ],
)
def test_what_is_no_request_is_told_with_its_place(body: Any, path: str) -> None:
    with pytest.raises(JsonFault) as caught:
        COHERE.read_request(json.dumps(body).encode())
    assert caught.value.path == path


def test_places_lead_to_the_body() -> None:
    body = body_with(
        USER, said("x", tool_plan="p", tool_calls=[CALL]), result([{"type": "text", "text": "y"}]), tools=[QUERY]
    )
    places: Places = {}
    COHERE.read_request(json.dumps(body).encode(), places=places)
    assert places == {
        "messages[0]": "messages[0]",
        "messages[1]": "messages[1]",
        "messages[1].parts[0]": "messages[1].tool_plan",
        "messages[1].parts[1]": "messages[1].content",
        "messages[1].parts[2]": "messages[1].tool_calls[0]",
        "messages[2]": "messages[2]",
        "messages[2].parts[0]": "messages[2]",
        "messages[2].parts[0].tool_result.parts.parts[0]": "messages[2].content[0]",
        "tools[0]": "tools[0]",
    }
