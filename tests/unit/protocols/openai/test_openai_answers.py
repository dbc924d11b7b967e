"""Whole answers of OpenAI Chat Completions: read, written, and there and back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from google.protobuf import json_format
from google.protobuf.json_format import ParseDict

from fluxrpc.errors import AnswerFault, ProviderError
from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.envelope import seal
from fluxrpc.protocols.notes import Notes as AnswerNotes
from fluxrpc.v1.protocol_pb2 import OpaqueState
from fluxrpc.v1.response_pb2 import FinishReason, MessageResponse
from tests.unit.protocols.openai.chat_ways import NOW, OPENAI, context_of, noted, read_answer, write_answer

Notes = list[tuple[str, str, str]]
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
USAGE = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}


def choice(message: dict[str, Any], finish: str = "stop", index: int = 0, **more: Any) -> dict[str, Any]:
    said = {"role": "assistant", "content": None, "refusal": None, **message}
    return {"index": index, "message": said, "logprobs": None, "finish_reason": finish, **more}


def answer(*choices: dict[str, Any], **more: Any) -> dict[str, Any]:
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 7, "model": "m"}
    return {**head, "choices": list(choices), **more}


TOKEN = {"token": "é", "bytes": [195, 169], "logprob": -0.5}
ODD_TOKEN = {"token": "x", "bytes": [195], "logprob": -1}
ANNOTATION = {
    "type": "url_citation",
    "url_citation": {"start_index": 0, "end_index": 2, "title": "T", "url": "https://x", "score": 1},
}
OWN: dict[str, dict[str, Any]] = {
    "text": answer(choice({"content": "Hi"}), usage=USAGE, system_fingerprint="fp", service_tier="default"),
    "choices": answer(choice({"content": "a"}, "length"), choice({"content": "b"}, index=1)),
    "refusal": answer(choice({"refusal": "no"})),
    "filter": answer(choice({}, "content_filter", content_filter_results={"hate": {"filtered": True}})),
    "calls": answer(
        choice(
            {"tool_calls": [CALL, {"id": "c2", "type": "custom", "custom": {"name": "g", "input": "x"}}]}, "tool_calls"
        )
    ),
    "signed call": answer(
        choice({"tool_calls": [{**CALL, "extra_content": {"google": {"thought_signature": "QUJD"}}}]}, "tool_calls")
    ),
    "signed text": answer(choice({"content": "a", "extra_content": {"google": {"thought_signature": "QUJD"}}})),
    "reasoning": answer(
        choice(
            {
                "content": "a",
                "reasoning_content": "hm",
                "reasoning_details": [{"type": "reasoning.encrypted", "data": "QUJD"}],
                "thinking_blocks": [{"type": "thinking", "thinking": "hm", "signature": "s"}],
            }
        )
    ),
    "probabilities": answer(
        {
            **choice({"content": "é"}),
            "logprobs": {"content": [{**TOKEN, "top_logprobs": [TOKEN, ODD_TOKEN]}], "refusal": None},
        }
    ),
    "citations": answer(choice({"content": "text", "annotations": [ANNOTATION]})),
    "sound": answer(
        choice({"audio": {"id": "audio_1", "data": "QUJD", "expires_at": 9, "transcript": "hi"}, "x_field": [1]})
    ),
    "counters": answer(
        choice({"content": "Hi"}),
        usage={
            **USAGE,
            "prompt_tokens_details": {
                "cached_tokens": 1,
                "cache_write_tokens": 0,
                "audio_tokens": 0,
                "image_tokens": 2,
            },
            "completion_tokens_details": {"reasoning_tokens": 1, "text_tokens": 1, "rejected_prediction_tokens": 0},
            "cost": 0.5,
        },
    ),
}


@pytest.mark.parametrize("body", OWN.values(), ids=list(OWN))
def test_answers_come_back(body: dict[str, Any]) -> None:
    assert write_answer(read_answer(body)) == (body, [])


OF_COPIES = {
    "tier": answer(choice({"content": "Hi"}), service_tier="gold"),
    "citation": answer(choice({"content": "text", "annotations": [{"type": "file", "file": {"x": 1}}]})),
}


@pytest.mark.parametrize("body", OF_COPIES.values(), ids=list(OF_COPIES))
def test_words_that_only_copies_say_come_back(body: dict[str, Any]) -> None:
    assert write_answer(read_answer(body), judged=False) == (body, [])


def test_unknown_tiers_of_others_are_left_out() -> None:
    response = ir({"text": "x"}, service_tier="SERVICE_TIER_OTHER", service_tier_raw="gold")
    assert "service_tier" not in write_answer(response, target=Protocol.GEMINI)[0]


NORMALISED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "empty content": (choice({"content": ""}), choice({})),
    "pieces": (
        choice({"content": [{"type": "text", "text": "a", "x": 1}, {"text": "b"}, {"type": "text", "text": ""}]}),
        choice({"content": "ab"}),
    ),
    "stop with calls": (choice({"tool_calls": [CALL]}), choice({"tool_calls": [CALL]}, "tool_calls")),
    "no arguments": (
        choice({"tool_calls": [{"id": "c1", "function": {"name": "f", "arguments": ""}}]}),
        choice({"tool_calls": [{**CALL, "function": {"name": "f", "arguments": "{}"}}]}, "tool_calls"),
    ),
    "arguments as an object": (
        choice({"tool_calls": [{**CALL, "function": {"name": "f", "arguments": {"a": 1}}}]}, "tool_calls"),
        choice({"tool_calls": [{**CALL, "function": {"name": "f", "arguments": '{"a": 1}'}}]}, "tool_calls"),
    ),
    "legacy call": (
        choice({"function_call": {"name": "f", "arguments": '{"a":1}'}}, "function_call"),
        choice({"tool_calls": [{**CALL, "id": "call_gw_0_0"}]}, "tool_calls"),
    ),
    "other reasoning": (
        choice({"content": "a", "reasoning": "hm", "reasoning_details": [], "thinking_blocks": None}),
        choice({"content": "a", "reasoning_content": "hm"}),
    ),
    "no reasoning": (choice({"content": "a", "reasoning_details": []}), choice({"content": "a"})),
    "bare signature": (
        choice({"extra_content": {"google": {"thought_signature": "QUJD"}}}),
        choice({"extra_content": {"google": {"thought_signature": "QUJD"}}}),
    ),
    "no signature": (choice({"content": "a", "extra_content": {}}), choice({"content": "a"})),
    "odd probabilities": (
        {**choice({"content": "a"}), "logprobs": {"content": [{"token": 5}], "refusal": [TOKEN]}},
        choice({"content": "a"}),
    ),
    "more odd probabilities": (
        {**choice({"content": "a"}), "logprobs": {"content": [{**TOKEN, "bytes": [1000]}], "refusal": 5}},
        choice({"content": "a"}),
    ),
    "probabilities without bytes": (
        {**choice({"refusal": "é"}), "logprobs": {"refusal": [{"token": "é", "logprob": -0.5}]}},
        {**choice({"refusal": "é"}), "logprobs": {"content": None, "refusal": [{**TOKEN, "top_logprobs": []}]}},
    ),
    "odd citations": (
        choice({"content": "ab", "annotations": [5, {"type": "url_citation", "url_citation": {"url": "https://x"}}]}),
        choice({"content": "ab", "annotations": [
            {"type": "url_citation",
             "url_citation": {"start_index": 0, "end_index": 2, "title": "", "url": "https://x"}},
        ]}),
    ),
    "no citations": (choice({"content": "ab", "annotations": 5}), choice({"content": "ab"})),
}  # fmt: skip


@pytest.mark.parametrize(("read", "written"), NORMALISED.values(), ids=list(NORMALISED))
def test_answers_are_written_in_one_spelling(read: dict[str, Any], written: dict[str, Any]) -> None:
    assert write_answer(read_answer(answer(read)))[0] == answer(written)


def test_a_sparse_answer() -> None:
    body = {"choices": [{"message": {"content": "x"}}, {"index": 1}], "usage": "odd"}
    assert json_format.MessageToDict(read_answer(body), preserving_proto_field_name=True) == {
        "choices": [
            {"parts": [{"text": "x"}], "finish": {"reason": "FINISH_REASON_OTHER"}},
            {"index": 1, "finish": {"choice_index": 1, "reason": "FINISH_REASON_OTHER"}},
        ]
    }


def test_an_openrouter_picture() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}}
    [read] = read_answer(answer(choice({"content": "a", "images": [picture]}))).choices
    assert (read.parts[1].image.mime_type, read.parts[1].image.data) == ("image/png", b"ABC")


def test_pieces_that_only_one_server_knows_are_kept() -> None:
    [read] = read_answer(answer(choice({"content": [{"type": "thinking", "thinking": []}]}))).choices
    assert json.loads(read.parts[0].raw.body_json) == {"type": "thinking", "thinking": []}


def test_halves_of_pairs_in_an_answer() -> None:
    body = b'{"choices":[{"index":0,"message":{"content":"a\\ud800"},"finish_reason":"stop"}]}'
    notes = AnswerNotes(OPENAI.fates)
    read = OPENAI.read_response(body, context_of(), notes)
    assert read.choices[0].parts[0].text == "a\ufffd"
    assert noted(notes) == [("LONE_SURROGATE", "APPROXIMATED", "")]
    notes = AnswerNotes(OPENAI.fates)
    OPENAI.read_response(body.replace(b"\\ud800", b"\\ud83d\\ude00"), context_of(), notes)
    assert noted(notes) == []


@pytest.mark.parametrize(
    "body",
    [
        b'{"choices":[]}',
        b'{"choices":5}',
        b'{"choices":[{"index":-1}]}',
        b'{"choices":[{"message":{"content":5}}]}',
        b'{"choices":[{"message":{"images":[{}]}}]}',
        b'{"choices":[{"message":{"tool_calls":[{}]}}]}',
        b'{"choices":[{"message":{"audio":{"data":"!"}}}]}',
        b'{"id":5,"choices":[{}]}',
    ],
)
def test_what_is_no_answer(body: bytes) -> None:
    with pytest.raises(AnswerFault, match="FOREIGN_ANSWER"):
        read_answer(body)


def test_an_error_in_an_answer() -> None:
    with pytest.raises(ProviderError, match="over"):
        read_answer(b'{"error":{"message":"over"}}')


def ir(*parts: dict[str, Any], finish: str = "STOP", **fields: Any) -> MessageResponse:
    end = {"reason": f"FINISH_REASON_{finish}", **fields.pop("finish_fields", {})}
    return ParseDict({"choices": [{"parts": list(parts), "finish": end}], **fields}, MessageResponse())


def dropped(code: str, path: str) -> tuple[str, str, str]:
    return (code, "DROPPED", path)


PART = "choices[0].parts[{}]{}".format
SEALED = OpaqueState(origin=2, kind=2, value=b"sig")  # type: ignore[arg-type]  # anthropic, a signature
STATE = {"origin": "PROTOCOL_ANTHROPIC", "kind": "OPAQUE_KIND_SIGNATURE", "value": "c2ln"}
ENVELOPE = {"type": "reasoning.encrypted", "data": seal(SEALED), "format": "fluxrpc"}
FOREIGN: dict[str, tuple[MessageResponse, dict[str, Any], Notes]] = {
    "thinking": (
        ir(
            {"reasoning": {"text": "hm", "summaries": ["a", "b"]}, "opaque": [STATE]},
            {"reasoning": {}},
            {"text": "Hi"},
        ),
        choice({"content": "Hi", "reasoning_content": "hm\n\na\n\nb", "reasoning_details": [ENVELOPE]}),
        [],
    ),
    "state on text and calls": (
        ir(
            {"text": "Hi", "opaque": [STATE]},
            {"tool_call": {"id": "c", "name": "f"}, "opaque": [STATE]},
            finish="LENGTH",
        ),
        choice({
            "content": "Hi",
            "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
            "reasoning_details": [ENVELOPE, ENVELOPE],
        }, "length"),
        [],
    ),
    "items": (
        ir(
            {"text": "Working.", "item_id": "a", "phase": "TEXT_PHASE_COMMENTARY"},
            {"text": "The", "item_id": "b", "phase": "TEXT_PHASE_PLAN",
             "citations": [{"start": 1, "end": 2, "sources": [{"url": "https://x"}, {"id": "d"}]}]},
            {"text": " ans", "item_id": "b", "citations": [{"sources": [{"url": "https://y", "title": "Y"}]}]},
            {"text": "wer", "citations": [{"sources": [{"id": "d"}]}]},
        ),
        choice({"content": "Working.\n\nThe answer", "annotations": [
            {"type": "url_citation",
             "url_citation": {"start_index": 11, "end_index": 12, "title": "", "url": "https://x"}},
            {"type": "url_citation",
             "url_citation": {"start_index": 13, "end_index": 17, "title": "Y", "url": "https://y"}},
        ]}),
        [
            dropped("TEXT_PHASE", PART(0, ".phase")),
            ("CITATION_SPAN", "APPROXIMATED", PART(2, ".citations[0]")),
            dropped("CITATION", PART(3, ".citations[0]")),
        ],
    ),
    "what has no place": (
        ir(
            {"image": {"data": "QUJD", "mime_type": "image/png"}},
            {"server_tool_call": {"id": "s"}},
            {"server_tool_result": {"call_id": "s"}},
            {"compaction": {"text": "x"}},
            {"text": "a", "extras": [{"protocol": "PROTOCOL_GEMINI", "key": "k", "value_json": "1"}]},
            finish="CONTENT_FILTER",
            finish_fields={"message": "m", "matched_stop": "x"},
            extras=[{"protocol": "PROTOCOL_GEMINI", "key": "k", "value_json": "1"}],
        ),
        choice({"content": "a"}, "content_filter"),
        [
            dropped("ANSWER_IMAGE", PART(0, "")),
            dropped("ANSWER_SERVER_TOOLS", PART(1, "")),
            dropped("ANSWER_SERVER_TOOLS", PART(2, "")),
            dropped("ANSWER_RAW_PART", PART(3, "")),
            dropped("ANSWER_EXTRA", PART(4, ".k")),
            dropped("MATCHED_STOP", "choices[0].finish.matched_stop"),
            dropped("FINISH_DETAILS", "choices[0].finish.message"),
            dropped("ANSWER_EXTRA", "k"),
        ],
    ),
    "sound": (
        ir({"audio": {"data": "QUJD", "mime_type": "audio/wav"}}),
        choice({"audio": {
            "id": "audio_choices[0].parts[0]", "data": "QUJD", "expires_at": NOW + 3600, "transcript": "",
        }}),
        [],
    ),
    "refusal in its own words": (ir({"refusal": "no"}, finish="REFUSAL"), choice({"refusal": "no"}), []),
    "refusal in text": (
        ir({"text": "I"}, finish="REFUSAL"),
        choice({"content": "I"}, "content_filter"),
        [("FINISH_REASON", "APPROXIMATED", "choices[0].finish.reason")],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("response", "expected", "notes"), FOREIGN.values(), ids=list(FOREIGN))
def test_answers_of_others(response: MessageResponse, expected: dict[str, Any], notes: Notes) -> None:
    body, found = write_answer(response, target=Protocol.ANTHROPIC)
    assert body["choices"] == [expected]
    assert found == notes


@pytest.mark.parametrize(
    ("identity", "target", "expected"),
    [
        ("msg_1", Protocol.ANTHROPIC, "chatcmpl-msg_1"),
        ("chatcmpl-1", Protocol.ANTHROPIC, "chatcmpl-1"),
        ("own", Protocol.OPENAI, "own"),
        ("", Protocol.OPENAI, f"chatcmpl-{NOW}"),
    ],
)
def test_the_head_of_an_answer(identity: str, target: Protocol, expected: str) -> None:
    body, _ = write_answer(ir({"text": "x"}, id=identity), target=target)
    assert (body["id"], body["created"], body["model"]) == (expected, NOW, "gpt-x")


REASONS = {
    "STOP": "stop", "STOP_SEQUENCE": "stop", "LENGTH": "length", "CONTEXT_WINDOW": "length", "CONTINUE": "length",
    "TOOL_CALLS": "tool_calls", "CONTENT_FILTER": "content_filter", "REFUSAL": "content_filter",
    "RECITATION": "content_filter", "PAUSE": "stop", "MALFORMED_TOOL_CALL": "stop", "ERROR": "stop", "OTHER": "stop",
}  # fmt: skip
EXACT = {"STOP", "STOP_SEQUENCE", "LENGTH", "TOOL_CALLS", "CONTENT_FILTER"}


@pytest.mark.parametrize("reason", list(REASONS))
def test_finish_reasons(reason: str) -> None:
    assert FinishReason.Value(f"FINISH_REASON_{reason}")
    body, notes = write_answer(ir({"text": "x"}, finish=reason))
    assert body["choices"][0]["finish_reason"] == REASONS[reason]
    assert notes == [("FINISH_REASON", "APPROXIMATED", "choices[0].finish.reason")] * (reason not in EXACT)


COUNTERS: dict[str, tuple[dict[str, Any], dict[str, Any], Notes]] = {
    "unknown output": (
        {"input_tokens": "8", "total_tokens": "8"},
        {"prompt_tokens": 8, "completion_tokens": 0, "total_tokens": 8},
        [],
    ),
    "sum": (
        {"input_tokens": "8", "output_tokens": "2", "cache_write_tokens": "1"},
        {
            "prompt_tokens": 8, "completion_tokens": 2, "total_tokens": 10,
            "prompt_tokens_details": {"cache_write_tokens": 1},
        },
        [],
    ),
    "details of others": (
        {"web_search_requests": "2", "extras": [{"protocol": "PROTOCOL_COHERE", "key": "x", "value_json": "1"}]},
        {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
        [dropped("USAGE_DETAIL", "usage")],
    ),
    "other modalities": (
        {"input_modalities": [{"modality": "MODALITY_VIDEO", "tokens": "1"}]},
        {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
        [dropped("USAGE_DETAIL", "usage")],
    ),
    "extras of others alone": (
        {"extras": [{"protocol": "PROTOCOL_COHERE", "key": "x", "value_json": "1"}]},
        {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
        [dropped("USAGE_DETAIL", "usage")],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("usage", "expected", "notes"), COUNTERS.values(), ids=list(COUNTERS))
def test_usage(usage: dict[str, Any], expected: dict[str, Any], notes: Notes) -> None:
    body, found = write_answer(ir({"text": "x"}, usage=usage))
    assert body["usage"] == expected
    assert found == notes


def test_deepseek_counts_hits_of_the_cache() -> None:
    usage = {**USAGE, "prompt_cache_hit_tokens": 1, "prompt_cache_miss_tokens": 2}
    read = read_answer(answer(choice({"content": "x"}), usage=usage)).usage
    assert (read.cache_read_tokens, [extra.key for extra in read.extras]) == (1, ["prompt_cache_miss_tokens"])
