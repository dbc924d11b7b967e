"""Whole answers of OpenAI Responses in the IR."""

from __future__ import annotations

import json
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from fluxrpc.errors import AnswerFault, ProviderError
from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.notes import Notes
from fluxrpc.v1 import message_pb2 as request_pb
from fluxrpc.v1 import response_pb2 as pb
from fluxrpc.v1.part_pb2 import Part, Reasoning
from fluxrpc.v1.protocol_pb2 import (
    OPAQUE_KIND_ENCRYPTED_REASONING,
    PROTOCOL_RESPONSES,
    Extra,
    OpaqueState,
)
from fluxrpc.v1.response_pb2 import Choice, Finish, MessageResponse
from fluxrpc.v1.usage_pb2 import Usage
from tests.unit.protocols.responses.responses_ways import (
    RESPONSES,
    context_of,
    read_answer,
    said,
)

_ANSWER: dict[str, Any] = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1790000000.5,
    "status": "completed",
    "model": "gpt-x",
    "error": None,
    "output": [],
}
_TO_CHAT = context_of(caller=Protocol.OPENAI, service="s")


def test_an_answer_for_callers_of_another_protocol_repeats_nothing() -> None:
    body = _ANSWER | {
        "output": [
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "QUJD"},
            {
                "type": "message",
                "id": "msg_1",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": "Hi", "annotations": []}],
            },
        ],
        "tools": [],
        "temperature": 1,
        "completed_at": 5,
        "moderation": {"ok": True},
        "service_tier": "flex",
        "usage": {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7, "novel_tokens": 1},
        "tool_usage": {"web_search": {"num_requests": 2}},
    }
    state = OpaqueState(
        kind=OPAQUE_KIND_ENCRYPTED_REASONING, origin=PROTOCOL_RESPONSES, service="s", model="m", value=b"QUJD"
    )
    assert read_answer(body, _TO_CHAT) == MessageResponse(
        id="resp_1",
        model="gpt-x",
        created=Timestamp(seconds=1790000000),
        service_tier=request_pb.SERVICE_TIER_FLEX,
        choices=[
            Choice(
                parts=[
                    Part(reasoning=Reasoning(), opaque=[state], item_id="rs_1"),
                    Part(text="Hi", item_id="msg_1"),
                ],
                finish=Finish(reason=pb.FINISH_REASON_STOP, raw="completed"),
                extras=[Extra(protocol=PROTOCOL_RESPONSES, key="moderation", value_json='{"ok": true}')],
            )
        ],
        usage=Usage(
            input_tokens=3,
            output_tokens=4,
            total_tokens=7,
            web_search_requests=2,
            extras=[Extra(protocol=PROTOCOL_RESPONSES, key="novel_tokens", value_json="1")],
        ),
    )


_CALL = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": "{}"}
_REFUSAL = {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}
_FINISHES = [
    ({"output": [_CALL]}, pb.FINISH_REASON_TOOL_CALLS, "completed"),
    ({"output": [_REFUSAL]}, pb.FINISH_REASON_REFUSAL, "completed"),
    (
        {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "output": [_CALL]},
        pb.FINISH_REASON_LENGTH,
        "max_output_tokens",
    ),
    (
        {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}},
        pb.FINISH_REASON_CONTENT_FILTER,
        "content_filter",
    ),
    ({"status": "incomplete"}, pb.FINISH_REASON_OTHER, "incomplete"),
    ({"status": "cancelled"}, pb.FINISH_REASON_CANCELLED, "cancelled"),
    ({"status": None}, pb.FINISH_REASON_STOP, "completed"),
]


@pytest.mark.parametrize(("fields", "reason", "word"), _FINISHES, ids=lambda value: str(value)[:30])
def test_the_end_is_read_from_status_and_items(
    fields: dict[str, Any], reason: pb.FinishReason.ValueType, word: str
) -> None:
    finish = read_answer(_ANSWER | fields, _TO_CHAT).choices[0].finish
    assert (finish.reason, finish.raw) == (reason, word)


_FAULTS: list[tuple[bytes, type[Exception], str]] = [
    (b"", AnswerFault, "EMPTY_ANSWER"),
    (b'{"object":"list"}', AnswerFault, "FOREIGN_ANSWER"),
    (b'{"object":"response","output":[{"type":1}]}', AnswerFault, "FOREIGN_ANSWER"),
    (b'{"object":"response","id":1}', AnswerFault, "FOREIGN_ANSWER"),
    (b'{"object":"response","status":"failed","error":{"code":"server_error"}}', ProviderError, "PROVIDER_ERROR"),
]


@pytest.mark.parametrize(("body", "kind", "detail"), _FAULTS, ids=lambda value: str(value)[:30])
def test_what_is_no_answer_is_named(body: bytes, kind: type[Exception], detail: str) -> None:
    with pytest.raises(kind) as caught:
        RESPONSES.read_response(body, _TO_CHAT, Notes({}))
    assert getattr(caught.value, "detail", "").startswith(detail)


def test_nulls_of_what_is_read_are_not_carried() -> None:
    read = read_answer(_ANSWER | {"output": None, "service_tier": None}, context_of())
    assert [each.key for choice in read.choices for each in choice.extras] == ["service_tier"]


def test_halves_of_pairs_are_replaced_and_noted() -> None:
    body = json.dumps(_ANSWER | {"output": [_CALL | {"name": "f\ud800"}]}).encode()
    notes = Notes(RESPONSES.fates)
    response = RESPONSES.read_response(body, _TO_CHAT, notes)
    assert response.choices[0].parts[0].tool_call.name == "f\ufffd"
    assert said(notes) == ["APPROXIMATED LONE_SURROGATE "]


def test_odd_values_do_no_harm() -> None:
    odd_text = {
        "type": "output_text",
        "text": "a",
        "logprobs": [1],
        "annotations": [
            {"type": "url_citation", "start_index": 5, "end_index": 2},
            {"start_index": 1},
        ],
    }
    body = _ANSWER | {
        "created_at": -5,
        "usage": 3,
        "output": [{"type": "message", "role": "assistant", "content": [odd_text]}, {"type": "message", "content": []}],
    }
    response = read_answer(body, _TO_CHAT)
    assert not response.HasField("created")
    assert not response.HasField("usage")
    (part,) = response.choices[0].parts
    assert [citation.HasField("start") for citation in part.citations] == [False, False]
    assert not part.logprobs
    call = {"type": "function_call", "id": "fc", "name": "f"}
    (part,) = read_answer(_ANSWER | {"output": [call]}, _TO_CHAT).choices[0].parts
    assert (part.tool_call.id, part.tool_call.WhichOneof("input")) == ("fc", None)
    half = _ANSWER | {"usage": {"input_tokens": 1, "odd": "\ud800"}}
    assert read_answer(half, _TO_CHAT).usage.input_tokens == 1
    assert read_answer(_ANSWER | {"usage": {"input_tokens": 1}}, _TO_CHAT).usage.input_tokens == 1


def test_octets_that_are_none_are_left_out() -> None:
    token = {"token": "a", "bytes": [300], "logprob": -1.0}
    content = [{"type": "output_text", "text": "a", "logprobs": [token, {"token": "b", "logprob": 0.0}]}]
    body = _ANSWER | {"output": [{"type": "message", "role": "assistant", "content": content}]}
    first, second = read_answer(body, _TO_CHAT).choices[0].parts[0].logprobs
    assert (first.token_bytes, second.token_bytes) == (b"", b"")
