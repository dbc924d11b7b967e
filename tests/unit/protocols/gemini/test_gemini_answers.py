"""Whole answers of Gemini, read and written."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from google.genai import types

from fluxrpc.errors import AnswerFault, ProviderError
from fluxrpc.protocols.base import ErrorView, Protocol
from fluxrpc.protocols.notes import Notes
from fluxrpc.v1 import message_pb2 as msg
from fluxrpc.v1 import part_pb2, response_pb2
from fluxrpc.v1.usage_pb2 import MODALITY_OTHER, MODALITY_TEXT
from tests.unit.protocols.gemini.gemini_ways import GEMINI, answer, context_of, read_answer

HEAD = {"modelVersion": "gemini-3-pro", "responseId": "r1"}
USAGE = {"promptTokenCount": 50, "candidatesTokenCount": 9, "totalTokenCount": 59}


def _body(*parts: dict[str, Any], finish: str = "STOP", **candidate: Any) -> dict[str, Any]:
    content = {"role": "model", "parts": list(parts)}
    return {
        "candidates": [{"index": 0, "content": content, "finishReason": finish, **candidate}],
        "usageMetadata": USAGE,
        **HEAD,
    }


SAME = {
    "text": _body({"text": "Über"}),
    "thoughts and calls": _body(
        {"text": "hm", "thought": True}, {"functionCall": {"id": "f", "name": "w", "args": {"c": 1}},
            "thoughtSignature": "QU-_"},
        {"text": "", "thoughtSignature": "QQ"},
    ),
    "call without an id": _body({"functionCall": {"name": "w", "args": {}}}),
    "media": _body(
        {"inlineData": {"mimeType": "image/png", "data": "QUJD"}}, {"inlineData": {"mimeType": "audio/wav",
            "data": "QUJD"}},
        {"fileData": {"mimeType": "application/pdf", "fileUri": "gs://b/o"}},
    ),
    "server parts": _body(
        {"executableCode": {"code": "1"}}, {"codeExecutionResult": {"outcome": "OUTCOME_OK"}}, {"newPart": 1},
            {"text": "x", "new": 1},
    ),
    "grounding": _body(
        {"text": "Über Köln"},
        groundingMetadata={
            "webSearchQueries": ["q"], "searchEntryPoint": {"renderedContent": "<b>"},
            "groundingChunks": [{"web": {"uri": "https://w.test", "title": "w"}}],
            "groundingSupports": [{"segment": {"startIndex": 6, "endIndex": 11, "text": "Köln"},
                "groundingChunkIndices": [0]}],
        },
        safetyRatings=[{"category": "C", "probability": "LOW"}], avgLogprobs=-0.5, finishMessage="done",
    ),
    "recitation": _body({"text": "abc"}, finish="RECITATION", citationMetadata={"citations": [{"endIndex": 2,
        "uri": "https://x.test"}]}),
    "probabilities": _body(
        {"text": "ab"},
        logprobsResult={
            "chosenCandidates": [{"token": "a", "logProbability": -0.5, "tokenId": 3}, {"token": "b",
                "logProbability": 0.0}],
            "topCandidates": [{"candidates": [{"token": "a", "logProbability": -0.5}]}, {"candidates": []}],
        },
    ),
    "unknown fields": {**_body({"text": "a"}, new=1), "modelStatus": {"x": 1}},
    "several": {
        "candidates": [
            {"index": index, "content": {"role": "model", "parts": [{"text": "a"}]},
                "finishReason": "MAX_TOKENS"} for index in (0, 1)
        ],
        "createTime": "2026-01-02T03:04:05.678Z",
    },
    "usage": {
        **_body({"text": "a"}),
        "usageMetadata": {
            "promptTokenCount": 5, "toolUsePromptTokenCount": 3, "cachedContentTokenCount": 2,
                "thoughtsTokenCount": 4, "totalTokenCount": 12,
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 5}],
            "candidatesTokensDetails": [{"modality": "SMELL", "tokenCount": 1}],
            "cacheTokensDetails": [{"modality": "TEXT", "tokenCount": 2}], "trafficType": "ON_DEMAND_FLEX",
        },
    },
    "thoughts alone": {
        **_body(finish="MAX_TOKENS"), "usageMetadata": {"promptTokenCount": 8, "thoughtsTokenCount": 64,
            "totalTokenCount": 72},
    },
    "refused prompt": {
        "promptFeedback": {"blockReason": "NEW", "blockReasonMessage": "m", "safetyRatings": [{"category": "C",
            "blocked": True}]}, **HEAD,
    },
    "odd end": _body({"text": "a"}, finish="NEW_WORD"),
    "nanoseconds": {**_body({"text": "a"}), "createTime": "2026-01-02T03:04:05.678901234Z"},
    "odd time": {**_body({"text": "a"}), "createTime": "soon"},
}  # fmt: skip


@pytest.mark.parametrize("body", SAME.values(), ids=SAME)
def test_comes_back(body: dict[str, Any]) -> None:
    context = context_of(caller=Protocol.GEMINI)
    notes = Notes(GEMINI.fates)
    response = GEMINI.read_response(json.dumps(body).encode(), context, notes)
    assert json.loads(GEMINI.write_response(response, context, notes)) == body
    assert len(notes) == 0


READ: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "nothing but an end": (
        {"candidates": [{"finishReason": "MAX_TOKENS"}]},
        {"candidates": [{"index": 0, "content": {"role": "model", "parts": []}, "finishReason": "MAX_TOKENS"}]},
    ),
    "no end": (
        {"candidates": [{"content": {"parts": [{"text": ""}, {"text": "a"}, {"functionCall": {"name": "f"}}]}}]},
        {"candidates": [{"index": 0, "content": {"role": "model", "parts": [
            {"text": "a"}, {"functionCall": {"name": "f", "args": {}}}]}, "finishReason": "OTHER"}]},
    ),
    "halves of pairs": (
        {"candidates": [{"index": 0, "content": {"role": "model", "parts": [{"text": "\ud83d"}]},
            "finishReason": "STOP"}]},
        {"candidates": [{"index": 0, "content": {"role": "model", "parts": [{"text": "\ufffd"}]},
            "finishReason": "STOP"}]},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), READ.values(), ids=READ)
def test_is_normalised(body: dict[str, Any], expected: dict[str, Any]) -> None:
    context = context_of(caller=Protocol.GEMINI)
    response = read_answer(body, caller=Protocol.GEMINI)
    assert json.loads(GEMINI.write_response(response, context, Notes({}))) == expected


def test_reads_calls_thoughts_and_signatures() -> None:
    response = read_answer(SAME["thoughts and calls"])
    choice = response.choices[0]
    assert choice.finish.reason == response_pb2.FINISH_REASON_TOOL_CALLS
    assert choice.parts[0].reasoning.text == "hm"
    state = choice.parts[1].opaque[0]
    assert (state.value, state.service, state.model) == (b"QU-_", "google", "gemini-3-pro")
    response = read_answer(SAME["call without an id"])
    assert response.choices[0].parts[0].tool_call.id == "call_gw_1_0"


def test_reads_usage() -> None:
    response = read_answer(SAME["usage"])
    usage = response.usage
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens, usage.reasoning_tokens) == (8, 4, 12, 4)
    assert usage.input_modalities[0].modality == MODALITY_TEXT
    assert usage.output_modalities[0].modality == MODALITY_OTHER
    assert response.service_tier == msg.SERVICE_TIER_FLEX
    response = read_answer({**_body(), "usageMetadata": {"trafficType": 3}})
    assert response.service_tier == msg.SERVICE_TIER_UNSPECIFIED


def test_reads_a_refused_prompt() -> None:
    finish = read_answer(SAME["refused prompt"]).choices[0].finish
    assert finish.prompt_blocked
    assert (finish.reason, finish.message, finish.category) == (response_pb2.FINISH_REASON_CONTENT_FILTER, "m", "C")


CITED = {
    "bytes": ({"segment": {"startIndex": 6, "endIndex": 18, "text": "Köln: 3 °C"}}, (5, 15)),
    "no end": ({"segment": {"startIndex": 6}}, None),
    "no segment": ({}, None),
    "beyond": ({"segment": {"startIndex": 6, "endIndex": 99}}, (5, 16)),
}


@pytest.mark.parametrize(("support", "span"), CITED.values(), ids=CITED)
def test_bytes_become_code_points(support: dict[str, Any], span: tuple[int, int] | None) -> None:
    chunks = [
        {"web": {"uri": "https://w.test", "title": "w"}}, {"retrievedContext": {"text": "t"}},
            {"maps": {"title": "m"}}, {"image": {}},
    ]  # fmt: skip
    metadata = {"groundingChunks": chunks, "groundingSupports": [{**support, "groundingChunkIndices": [0, 1, 2, 3, 9]}]}
    response = read_answer(
        _body({"text": "hm", "thought": True}, {"text": "Über Köln: 3 °C."}, groundingMetadata=metadata)
    )
    [citation] = response.choices[0].parts[1].citations
    assert ((citation.start, citation.end) if citation.HasField("start") else None) == span
    assert [source.kind for source in citation.sources] == [
        part_pb2.CITATION_SOURCE_KIND_URL, part_pb2.CITATION_SOURCE_KIND_SEARCH_RESULT,
            part_pb2.CITATION_SOURCE_KIND_MAPS,
        part_pb2.CITATION_SOURCE_KIND_UNSPECIFIED,
    ]  # fmt: skip


def test_odd_citations_are_no_fault() -> None:
    odd: list[dict[str, Any]] = [
        {"groundingMetadata": 1, "citationMetadata": 1, "logprobsResult": 1, "safetyRatings": 1},
        {"groundingMetadata": {}, "citationMetadata": {}, "logprobsResult": {}},
        {"groundingMetadata": {"groundingSupports": [{"segment": {"partIndex": 7}}]}},
    ]
    assert [len(read_answer(_body({"text": "a"}, **each)).choices[0].parts[0].citations) for each in odd] == [0, 0, 1]
    support: dict[str, Any] = {"groundingSupports": [{"groundingChunkIndices": []}]}
    sources = {"citationSources": [{"uri": "u"}]}
    response = read_answer(_body({"text": "a", "thought": True}, groundingMetadata=support, citationMetadata=sources))
    assert not response.choices[0].parts[0].citations


def test_recited_sources() -> None:
    response = read_answer(
        _body({"text": "abc"}, citationMetadata={"citationSources": [{"startIndex": 1, "endIndex": 3, "uri": "u"}]})
    )
    [citation] = response.choices[0].parts[0].citations
    assert (citation.start, citation.end, citation.sources[0].url, citation.kind_raw) == (1, 3, "u", "citationMetadata")


@pytest.mark.parametrize(("body", "fault"), [
    (b"", AnswerFault), (b"{}", AnswerFault), (b'{"candidates":[]}', AnswerFault), (b"<html>", AnswerFault),
        (b'{"candidates":[{', AnswerFault),
    (b'{"error":{"code":503,"message":"x","status":"UNAVAILABLE"}}', ProviderError),
    (b'{"candidates":[{"content":{"parts":[{"inlineData":{"data":"$"}}]}}]}', AnswerFault),
    (b'{"candidates":[{"content":{"parts":[{"functionCall":[]}]}}]}', AnswerFault),
])  # fmt: skip
def test_what_is_no_answer(body: bytes, fault: type[Exception]) -> None:
    with pytest.raises(fault):
        GEMINI.read_response(body, context_of(), Notes({}))


# --- answers of others ---

FOREIGN = {
    "kind": "OPAQUE_KIND_SIGNATURE",
    "origin": "PROTOCOL_ANTHROPIC",
    "service": "a",
    "model": "claude-x",
    "value": base64.b64encode(b"QQ").decode(),
}
SEALED = base64.b64encode(b"gw1.anthropic.a.claude-x.signature.UVE").decode()
ABC = base64.b64encode(b"ABC").decode()
X = [{"protocol": "PROTOCOL_OPENAI", "key": "x", "valueJson": "1"}]
PARTS: dict[str, tuple[dict[str, Any], dict[str, Any] | None, set[str]]] = {
    "sealed thought": (
        {"reasoning": {"summaries": ["a", "b"]}, "opaque": [FOREIGN]},
        {"text": "a\n\nb", "thought": True, "thoughtSignature": SEALED}, set(),
    ),
    "a thought with two states": (
        {"reasoning": {"text": "a"}, "opaque": [FOREIGN, FOREIGN]},
        {"text": "a", "thought": True, "thoughtSignature": SEALED}, {"DROPPED REASONING_STATE {}.opaque"},
    ),
    "thought of nothing": ({"reasoning": {}}, None, set()),
    "refusal": ({"refusal": "no"}, {"text": "no"}, {"APPROXIMATED ANSWER_REFUSAL {}"}),
    "call": ({"toolCall": {"id": "c", "name": "f", "argumentsJson": ""}}, {"functionCall": {"id": "c", "name": "f",
        "args": {}}}, set()),
    "broken call": (
        {"toolCall": {"id": "c", "name": "f", "argumentsJson": "{"}}, {"functionCall": {"id": "c", "name": "f",
            "args": {"INVALID_JSON": "{"}}},
        {"APPROXIMATED TOOL_ARGUMENTS {}.tool_call.arguments_json"},
    ),
    "sound": (
        {"audio": {"mimeType": "audio/wav", "data": ABC, "transcript": "x"}}, {"inlineData": {"mimeType": "audio/wav",
            "data": "QUJD"}},
        {"DROPPED ANSWER_AUDIO {}.transcript"},
    ),
    "document": ({"document": {"text": "d"}}, {"text": "d"}, set()),
    "compaction": ({"compaction": {"text": "c"}}, {"text": "c", "thought": True}, {"APPROXIMATED COMPACTION {}"}),
    "search": ({"serverToolCall": {"kindRaw": "web_search_call", "inputJson": "{}"}}, None,
        {"DROPPED ANSWER_SERVER_TOOLS {}"}),
    "raw": ({"raw": {"protocol": "PROTOCOL_OPENAI", "bodyJson": "{}"}}, None, {"DROPPED ANSWER_RAW_PART {}"}),
    "unknown": ({}, None, {"DROPPED ANSWER_RAW_PART {}"}),
    "sides": (
        {"text": "a", "phase": "TEXT_PHASE_PLAN", "extras": X}, {"text": "a"}, {"DROPPED TEXT_PHASE {}.phase",
            "DROPPED ANSWER_EXTRA {}.x"},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("part", "expected", "noted"), PARTS.values(), ids=PARTS)
def test_parts_of_others(part: dict[str, Any], expected: dict[str, Any] | None, noted: set[str]) -> None:
    body, notes = answer({"choices": [{"parts": [part], "finish": {"reason": "FINISH_REASON_STOP"}}]})
    assert body["candidates"][0]["content"]["parts"] == ([] if expected is None else [expected])
    assert notes == {note.format("choices[0].parts[0]") for note in noted}


def test_envelope_of_others() -> None:
    body, notes = answer({
        "id": "chatcmpl-1", "model": "gpt", "created": "2026-01-02T03:04:05Z", "serviceTier": "SERVICE_TIER_FLEX",
            "extras": X,
        "choices": [{
            "parts": [
                {"reasoning": {"text": "hm"}},
                {"text": "Über Köln", "citations": [
                    {"start": 5, "end": 9, "statement": "Köln", "sources": [{"kind": "CITATION_SOURCE_KIND_URL",
                        "url": "u", "title": "t"}]},
                    {"sources": [{"kind": "CITATION_SOURCE_KIND_DOCUMENT", "citedText": "c"},
                        {"kind": "CITATION_SOURCE_KIND_URL", "url": "u", "title": "t"}]},
                    {"sources": [{"kind": "CITATION_SOURCE_KIND_TOOL"}]},
                ], "logprobs": [{"token": "a", "logprob": -1}]},
                {"toolCall": {"name": "f"}, "citations": [{"sources": [{"kind": "CITATION_SOURCE_KIND_MAPS",
                    "url": "m"}]}]},
            ],
            "finish": {"reason": "FINISH_REASON_STOP_SEQUENCE", "matchedStop": "x", "message": "m"},
        }],
        "usage": {"inputTokens": "8", "outputTokens": "5", "cacheWriteTokens": "2"},
    })  # fmt: skip
    assert body == {
        "candidates": [{
            "index": 0, "finishReason": "STOP", "finishMessage": "m",
            "content": {"role": "model", "parts": [
                {"text": "hm", "thought": True}, {"text": "Über Köln"}, {"functionCall": {"name": "f", "args": {}}},
            ]},
            "groundingMetadata": {
                "groundingChunks": [{"web": {"uri": "u", "title": "t"}}, {"retrievedContext": {"text": "c"}},
                    {"maps": {"uri": "m"}}],
                "groundingSupports": [
                    {"segment": {"partIndex": 1, "startIndex": 6, "endIndex": 11, "text": "Köln"},
                        "groundingChunkIndices": [0]},
                    {"segment": {"partIndex": 1, "startIndex": 0, "endIndex": 11}, "groundingChunkIndices": [1, 0]},
                    {"segment": {"partIndex": 2, "startIndex": 0, "endIndex": 0}, "groundingChunkIndices": [2]},
                ],
            },
            "logprobsResult": {"chosenCandidates": [{"token": "a", "logProbability": -1.0}]},
        }],
        "usageMetadata": {"promptTokenCount": 8, "candidatesTokenCount": 5, "trafficType": "ON_DEMAND_FLEX"},
        "modelVersion": "gpt", "responseId": "chatcmpl-1", "createTime": "2026-01-02T03:04:05Z",
    }  # fmt: skip
    assert notes == {
        "DROPPED CITATION choices[0].parts[1].citations", "DROPPED MATCHED_STOP choices[0].finish.matched_stop",
        "DROPPED ANSWER_EXTRA x", "DROPPED USAGE_DETAIL usage.cache_write_tokens",
    }  # fmt: skip
    types.GenerateContentResponse.model_validate(body)


ENDS = {
    "STOP": ("STOP", None), "TOOL_CALLS": ("STOP", None), "LENGTH": ("MAX_TOKENS", None), "CONTENT_FILTER": ("SAFETY",
        None),
    "REFUSAL": ("PROHIBITED_CONTENT", "APPROXIMATED"), "CONTEXT_WINDOW": ("MAX_TOKENS", "APPROXIMATED"),
        "PAUSE": ("TOO_MANY_TOOL_CALLS", None),
    "TIMEOUT": ("OTHER", "APPROXIMATED"), "OTHER": ("OTHER", None), "ERROR": ("OTHER", None),
}  # fmt: skip


@pytest.mark.parametrize(("reason", "expected"), ENDS.items(), ids=ENDS)
def test_ends(reason: str, expected: tuple[str, str | None]) -> None:
    body, notes = answer({"choices": [{"finish": {"reason": f"FINISH_REASON_{reason}", "raw": "frobnicated"}}]})
    assert body["candidates"][0]["finishReason"] == expected[0]
    assert notes == ({f"{expected[1]} FINISH_REASON choices[0].finish.reason"} if expected[1] else set())


def test_counters_that_are_not_known_stay_away() -> None:
    body, _ = answer({"usage": {"outputTokens": "5", "reasoningTokens": "5"}})
    assert body["usageMetadata"] == {"thoughtsTokenCount": 5}

    body, _ = answer({"usage": {"inputModalities": [{"modality": "MODALITY_TEXT", "tokens": 8}]}})
    assert body["usageMetadata"] == {"promptTokensDetails": [{"modality": "TEXT", "tokenCount": 8}]}


def test_the_extras_of_an_end_stand_beside_it() -> None:
    extras = [
        {"protocol": "PROTOCOL_GEMINI", "key": "new", "valueJson": "1"},
        {"protocol": "PROTOCOL_OPENAI", "key": "x", "valueJson": "1"},
    ]
    body, noted = answer({"choices": [{"finish": {"reason": "FINISH_REASON_STOP", "extras": extras}}]})
    assert body["candidates"][0]["new"] == 1
    assert noted == {"DROPPED ANSWER_EXTRA choices[0].finish.x"}


def test_a_prompt_that_another_refused() -> None:
    body, _ = answer(
        {"choices": [{"finish": {"reason": "FINISH_REASON_CONTENT_FILTER", "raw": "x", "promptBlocked": True}}]}
    )
    assert body == {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}


# --- errors ---

ERRORS: list[tuple[ErrorView, dict[str, Any]]] = [
    (ErrorView(http_status=529, message="Overloaded"), {"code": 503, "message": "Overloaded", "status": "UNAVAILABLE"}),
    (
        ErrorView(http_status=429, message="m", retry_after_seconds=37.4),
        {"code": 429, "message": "m", "status": "RESOURCE_EXHAUSTED",
         "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "37.4s"}]},
    ),
    (
        ErrorView(http_status=422, message="m", param="top_p"),
        {"code": 400, "message": "m", "status": "INVALID_ARGUMENT", "details": [
            {"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [{"field": "top_p",
                "description": "m"}]}]},
    ),
    (ErrorView(http_status=402, message="m", detail="QUOTA_SPENT"), {"code": 429, "message": "m",
        "status": "RESOURCE_EXHAUSTED"}),
    (ErrorView(http_status=502, message="m"), {"code": 500, "message": "m", "status": "INTERNAL"}),
]  # fmt: skip


@pytest.mark.parametrize(("view", "expected"), ERRORS)
def test_errors_of_others(view: ErrorView, expected: dict[str, Any]) -> None:
    error = GEMINI.write_error(view)
    assert json.loads(error.body) == {"error": expected}
    assert (error.protocol, error.http_status) == ("gemini", expected["code"])
