"""Whole answers of Cohere and for its callers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict, ParseDict

from fluxrpc.errors import AnswerFault, NativeErrorBody, ProviderError
from fluxrpc.protocols.base import ErrorView, Protocol
from fluxrpc.protocols.cohere.translator import CohereTranslator
from fluxrpc.protocols.context import Context, Target
from fluxrpc.protocols.notes import Notes
from fluxrpc.v1.message_pb2 import MessageRequest
from fluxrpc.v1.outcome_pb2 import NoteAction
from fluxrpc.v1.response_pb2 import MessageResponse

COHERE = CohereTranslator()
CALL = {"id": "w_1", "type": "function", "function": {"name": "w", "arguments": '{"c": 1}'}}
SOURCE = {"type": "document", "id": "doc:0", "document": {"id": "doc:0", "n": 1.0}}
CITATION = {"start": 0, "end": 4, "text": "Café", "sources": [SOURCE], "content_index": 1, "type": "TEXT_CONTENT"}
PLAN_CITATION = {"start": 0, "end": 1, "text": "I", "sources": [SOURCE], "type": "PLAN"}
RICH: dict[str, Any] = {
    "id": "c-1",
    "finish_reason": "TOOL_CALL",
    "message": {
        "role": "assistant",
        "tool_plan": "I will look.",
        "content": [{"type": "thinking", "thinking": "t", "x": 1}, {"type": "text", "text": "Café is"}],
        "tool_calls": [CALL],
        "citations": [PLAN_CITATION, CITATION, {**CITATION, "sources": [{"type": "web", "id": "1", "u": 2}], "y": 3}],
        "z": [1.0],
    },
    "usage": {
        "billed_units": {"input_tokens": 5.0, "output_tokens": 7.5},
        "tokens": {"input_tokens": 71.0, "output_tokens": 9.0, "image_tokens": 2.0},
        "cached_tokens": 64.0,
        "new": 1.0,
    },
    "logprobs": [
        {"text": "Ca", "token_ids": [1], "logprobs": [-0.5]},
        {"text": "fé", "token_ids": [2, 3], "logprobs": [-1.5, -2]},
    ],
    "new": True,
}


def context_for(target: Protocol = Protocol.COHERE) -> Context:
    return Context(
        caller=Protocol.COHERE, target=Target(protocol=target, model="m"), request=MessageRequest(), now=1_790_000_000
    )


def read(body: Any) -> MessageResponse:
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    return COHERE.read_response(text, context_for(), Notes({}))


def write(response: MessageResponse, target: Protocol = Protocol.OPENAI) -> tuple[Any, set[str]]:
    notes = Notes(COHERE.fates)
    body = json.loads(COHERE.write_response(response, context_for(target), notes))
    for note in notes:
        assert note.action in COHERE.fates.get(note.code, {}), note
    return body, {
        f"{NoteAction.Name(note.action).removeprefix('NOTE_ACTION_')} {note.code} {note.path}" for note in notes
    }


def answer(word: str = "COMPLETE", **message: Any) -> dict[str, Any]:
    return {"id": "c-1", "finish_reason": word, "message": {"role": "assistant", **message}}


@pytest.mark.parametrize(
    "body",
    [
        RICH,
        answer(),
        answer("STOP_SEQUENCE", content=[{"type": "text", "text": ""}]),
        answer("COMPLETE", tool_calls=[CALL]),
        answer("NEW_WORD", content=[{"type": "new", "new": 1}]),
        {**answer("MAX_TOKENS", tool_plan="p"), "usage": {"tokens": {}}, "logprobs": "odd"},
        {**answer(), "logprobs": [{"text": "x", "token_ids": [1], "logprobs": [0]}]},
    ],
)
def test_an_answer_to_its_own_protocol_stays_as_it_is(body: dict[str, Any]) -> None:
    back, notes = write(read(body), Protocol.COHERE)
    body = {**body, "usage": {}} if body.get("usage") == {"tokens": {}} else body
    assert back == body
    assert notes <= {
        "APPROXIMATED FINISH_REASON choices[0].finish.reason",
        "APPROXIMATED CITATION choices[0].parts[2].citations",
    }


def test_what_is_read() -> None:
    response = read(RICH)
    parts = MessageToDict(response)["choices"][0]["parts"]
    assert [next(iter(part)) for part in parts] == ["text", "reasoning", "text", "toolCall"]
    assert parts[0]["phase"] == "TEXT_PHASE_PLAN"
    assert parts[3]["toolCall"] == {"id": "w_1", "name": "w", "argumentsJson": '{"c": 1}'}
    assert [token.token for token in response.choices[0].parts[2].logprobs] == ["Ca", "fé", ""]
    assert [token.token_id for token in response.choices[0].parts[2].logprobs] == [1, 2, 3]
    assert response.model == ""
    assert not response.HasField("created")
    assert (response.usage.input_tokens, response.usage.total_tokens, response.usage.cache_read_tokens) == (71, 80, 64)
    assert {extra.key: extra.value_json for extra in response.usage.extras} == {
        "billed_units": '{"input_tokens": 5.0, "output_tokens": 7.5}',
        "tokens.image_tokens": "2.0",
        "new": "1.0",
    }


def test_odd_answers_are_read_as_far_as_they_go() -> None:
    body = answer(
        content="plain",
        citations=[
            {"type": "PLAN"},
            {"content_index": 9},
            {"start": 1},
            {"type": "THINKING_CONTENT", "start": 0, "end": 1},
        ],
    )
    response = read({**body, "finish_reason": None, "usage": "odd", "id": None})
    part = response.choices[0].parts[0]
    assert part.text == "plain"
    assert [citation.HasField("start") for citation in part.citations] == [False]
    assert not response.HasField("usage")
    assert {extra.key for extra in response.extras} == {"usage"}


def test_half_of_a_pair_is_replaced() -> None:
    body = rb'{"id":"1","finish_reason":"COMPLETE","message":{"content":[{"type":"text","text":"a\ud800"}]}}'
    assert read(body).choices[0].parts[0].text == "a\ufffd"


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (b"", "EMPTY_ANSWER"),
        (b"<html>", "HTML_ANSWER"),
        (b'{"id":', "TRUNCATED_ANSWER"),
        (b"{nope", "MALFORMED_ANSWER"),
        ({"id": "x"}, "FOREIGN_ANSWER"),
        (answer(content=[{"type": "text"}]), "FOREIGN_ANSWER"),
        (answer(citations=[{"start": -1}]) | {"message": []}, "FOREIGN_ANSWER"),
    ],
)
def test_what_is_no_answer(body: Any, detail: str) -> None:
    with pytest.raises(AnswerFault) as caught:
        read(body)
    assert caught.value.detail == detail


@pytest.mark.parametrize("body", [{"message": "too many tokens"}, answer("ERROR"), {**answer("TIMEOUT"), "error": "x"}])
def test_an_error_within_a_2xx(body: dict[str, Any]) -> None:
    with pytest.raises(ProviderError):
        read(body)


FINISHES = [
    ("STOP", "COMPLETE", False),
    ("STOP_SEQUENCE", "STOP_SEQUENCE", False),
    ("LENGTH", "MAX_TOKENS", False),
    ("CONTEXT_WINDOW", "MAX_TOKENS", True),
    ("CONTINUE", "MAX_TOKENS", True),
    ("TOOL_CALLS", "TOOL_CALL", False),
    ("CONTENT_FILTER", "COMPLETE", True),
    ("REFUSAL", "COMPLETE", True),
    ("MALFORMED_TOOL_CALL", "ERROR", True),
    ("ERROR", "ERROR", True),
    ("TIMEOUT", "TIMEOUT", True),
    ("OTHER", "COMPLETE", True),
]


@pytest.mark.parametrize(("reason", "word", "is_noted"), FINISHES)
def test_finish_reasons(reason: str, word: str, *, is_noted: bool) -> None:
    finish = {"reason": f"FINISH_REASON_{reason}", "raw": "upstream"}
    body, notes = write(ParseDict({"choices": [{"finish": finish}]}, MessageResponse()))
    assert body["finish_reason"] == word
    assert notes == ({"APPROXIMATED FINISH_REASON choices[0].finish.reason"} if is_noted else set())


def test_details_of_the_finish_have_no_place() -> None:
    finish = {"reason": "FINISH_REASON_STOP_SEQUENCE", "matchedStop": "x", "message": "m"}
    _, notes = write(ParseDict({"choices": [{"finish": finish}]}, MessageResponse()))
    assert notes == {"DROPPED MATCHED_STOP choices[0].finish.matched_stop", "DROPPED FINISH_DETAILS choices[0].finish"}


PART = "choices[0].parts[0]"
TEXT = {"type": "text", "text": "a"}
PARTS: list[tuple[list[dict[str, Any]], dict[str, Any], set[str]]] = [
    ([{"text": "a"}], {"content": [TEXT]}, set()),
    ([{"refusal": "a"}], {"content": [TEXT]}, {f"APPROXIMATED ANSWER_REFUSAL {PART}"}),
    ([{"audio": {"transcript": "a"}}], {"content": [TEXT]}, {f"APPROXIMATED ANSWER_AUDIO {PART}"}),
    ([{"audio": {"data": "QUJD"}}], {}, {f"DROPPED ANSWER_AUDIO {PART}"}),
    ([{"image": {"data": "QUJD"}}], {}, {f"DROPPED ANSWER_IMAGE {PART}"}),
    ([{"video": {"data": "QUJD"}}], {}, {f"DROPPED ANSWER_RAW_PART {PART}"}),
    ([{"serverToolCall": {}}, {"serverToolResult": {}}], {}, {
        f"DROPPED ANSWER_SERVER_TOOLS {PART}", "DROPPED ANSWER_SERVER_TOOLS choices[0].parts[1]"}),
    ([{"raw": {"protocol": "PROTOCOL_OPENAI", "bodyJson": "{}"}}], {}, {f"DROPPED ANSWER_RAW_PART {PART}"}),
    ([{"reasoning": {"summaries": ["a", "b"]}, "opaque": [{}]}],
     {"content": [{"type": "thinking", "thinking": "a\n\nb"}]}, {f"DROPPED REASONING_STATE {PART}.opaque"}),
    ([{"reasoning": {}}], {}, {f"DROPPED ANSWER_REASONING {PART}"}),
    ([{"text": "a", "phase": "TEXT_PHASE_COMMENTARY"}], {"content": [TEXT]}, {f"DROPPED TEXT_PHASE {PART}.phase"}),
    ([{"text": "a", "phase": "TEXT_PHASE_PLAN"}, {"text": "b", "phase": "TEXT_PHASE_PLAN", "citations": [
        {"sources": [{"kind": "CITATION_SOURCE_KIND_TOOL", "id": "1"}]}]}],
     {"tool_plan": "ab", "citations": [{"start": 1, "end": 2, "text": "b", "sources": [{"type": "tool", "id": "1"}],
                                       "type": "PLAN"}]}, set()),
    ([{"toolCall": {"id": "1", "name": "f"}}],
     {"tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}, set()),
    ([{"text": "a", "citations": [{"sources": [
        {"kind": "CITATION_SOURCE_KIND_URL", "title": "T", "url": "https://x", "citedText": "c"}]}],
       "logprobs": [{"token": "a", "logprob": -1, "alternatives": [{"token": "b"}]}],
       "extras": [{"protocol": "PROTOCOL_OPENAI", "key": "x", "valueJson": "1"}]}],
     {"content": [TEXT], "citations": [{"start": 0, "end": 1, "text": "a", "content_index": 0, "type": "TEXT_CONTENT",
                                       "sources": [{"type": "document", "id": "https://x", "document": {
                                           "title": "T", "url": "https://x", "snippet": "c"}}]}]},
     {f"APPROXIMATED CITATION {PART}.citations", f"DROPPED ANSWER_LOGPROBS {PART}.logprobs",
      f"DROPPED ANSWER_EXTRA {PART}.x"}),
]  # fmt: skip


@pytest.mark.parametrize(("parts", "expected", "noted"), PARTS)
def test_parts(parts: list[dict[str, Any]], expected: dict[str, Any], noted: set[str]) -> None:
    choice = {"parts": parts, "finish": {"reason": "FINISH_REASON_STOP"}}
    body, notes = write(ParseDict({"choices": [choice]}, MessageResponse()))
    assert body["message"] == {"role": "assistant", **expected}
    assert notes == noted


def test_what_stands_around_the_choices() -> None:
    body, notes = write(
        ParseDict(
            {
                "id": "x",
                "serviceTier": "SERVICE_TIER_FLEX",
                "choices": [{"finish": {"reason": "FINISH_REASON_STOP"}}, {"index": 1}],
                "usage": {"inputTokens": 3, "reasoningTokens": 2, "totalTokens": 9},
                "extras": [{"protocol": "PROTOCOL_OPENAI", "key": "f", "valueJson": "1"}],
            },
            MessageResponse(),
        )
    )
    assert body == {
        "id": "x",
        "finish_reason": "COMPLETE",
        "message": {"role": "assistant"},
        "usage": {"tokens": {"input_tokens": 3}},
    }
    assert notes == {
        "DROPPED SERVICE_TIER service_tier",
        "DROPPED ANSWER_CHOICES choices[1]",
        "DROPPED USAGE_DETAIL usage.reasoning_tokens",
        "DROPPED ANSWER_EXTRA f",
    }
    assert write(MessageResponse())[0]["message"] == {"role": "assistant"}


ERRORS = [
    (400, "INVALID_REQUEST", 400),
    (413, "INVALID_REQUEST", 400),
    (422, "INVALID_REQUEST", 422),
    (400, "CONTENT_REFUSED", 400),
    (429, "QUOTA_SPENT", 402),
    (400, "CREDENTIAL_REJECTED", 401),
    (529, "PROVIDER_OVERLOADED", 503),
    (200, "PROVIDER_ERROR", 500),
    (504, "PROVIDER_ERROR", 504),
    (599, "PROVIDER_ERROR", 500),
    (408, "CONFLICT", 409),
    (499, "INVALID_REQUEST", 499),
]


@pytest.mark.parametrize(("status", "detail", "expected"), ERRORS)
def test_errors_have_a_status_of_cohere(status: int, detail: str, expected: int) -> None:
    error = COHERE.write_error(ErrorView(http_status=status, message="m", detail=detail))
    assert error == NativeErrorBody(protocol="cohere", http_status=expected, body=b'{"message":"m"}')


@pytest.mark.parametrize("message", ["m", "Too many tokens: 5", "too many tokens: m"])
def test_what_is_too_long_is_said_once(message: str) -> None:
    error = COHERE.write_error(ErrorView(http_status=413, message=message, detail="CONTEXT_LENGTH_EXCEEDED"))
    said = json.loads(error.body)["message"]
    assert (error.http_status, said.lower().count("too many tokens")) == (400, 1)


def test_an_error_tells_its_id_and_when_to_come_back() -> None:
    view = ErrorView(
        http_status=429, message="m", detail="RATE_LIMITED", request_id="r", retry_after_seconds=1.2, code="c"
    )
    error = COHERE.write_error(view)
    assert error.headers == (("retry-after", "2"),)
    assert json.loads(error.body) == {"message": "m", "id": "r"}
