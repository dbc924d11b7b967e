"""Whole answers, read and written. The official SDK's models judge what is written."""

from __future__ import annotations

import json
from typing import Any

import pytest
from anthropic.types import Message as SdkMessage
from anthropic.types.beta import BetaMessage
from google.protobuf.duration_pb2 import Duration

from fluxrpc.errors import AnswerFault, ProviderError
from fluxrpc.protocols.anthropic.fates import FATES
from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.notes import Notes
from fluxrpc.v1 import message_pb2 as msg
from fluxrpc.v1 import part_pb2 as pb
from fluxrpc.v1 import response_pb2 as rs
from fluxrpc.v1.message_pb2 import MessageRequest, ReasoningOptions
from fluxrpc.v1.part_pb2 import Media, Part
from fluxrpc.v1.protocol_pb2 import (
    OPAQUE_KIND_ENCRYPTED_REASONING,
    OPAQUE_KIND_SIGNATURE,
    PROTOCOL_ANTHROPIC,
    PROTOCOL_GEMINI,
    PROTOCOL_OPENAI,
    PROTOCOL_RESPONSES,
    Extra,
    OpaqueState,
)
from fluxrpc.v1.response_pb2 import Choice, Finish, MessageResponse
from fluxrpc.v1.usage_pb2 import CacheWrite, Usage
from tests.unit.protocols.anthropic.saying import ANTHROPIC, NOW, OWN, context_for, told

USAGE = {"input_tokens": 3, "output_tokens": 1}


def answer(*content: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": list(content),
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": USAGE,
    } | fields


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def read(body: dict[str, Any] | bytes, **options: Any) -> MessageResponse:
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    return ANTHROPIC.read_response(text, context_for(MessageRequest(), **options), Notes({}))


def write(
    response: MessageResponse, request: MessageRequest | None = None, *, upstream: Protocol = Protocol.OPENAI
) -> tuple[dict[str, Any], list[str]]:
    notes = Notes(FATES)
    context = context_for(request or MessageRequest(), caller=OWN, upstream=upstream)
    body = json.loads(ANTHROPIC.write_response(response, context, notes))
    SdkMessage.model_validate(body)
    return body, told(notes)


OWN_ANSWERS: dict[str, dict[str, Any]] = {
    "text": answer(text("Hi"), text("")),
    "nothing": answer(),
    "thinking": answer(
        {"type": "thinking", "thinking": "hm", "signature": "S=="},
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "redacted_thinking", "data": "R=="},
        {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 9007199254740993}},
        stop_reason="tool_use",
    ),
    "server tools": answer(
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "q"}},
        {"type": "web_search_tool_result", "tool_use_id": "s", "content": []},
        {
            "type": "text",
            "text": "t",
            "citations": [
                {
                    "type": "web_search_result_location",
                    "url": "https://a.test",
                    "title": "T",
                    "cited_text": "c",
                    "encrypted_index": "E",
                },
                {
                    "type": "char_location",
                    "cited_text": "c",
                    "document_index": 0,
                    "document_title": "T",
                    "start_char_index": 0,
                    "end_char_index": 1,
                },
            ],
        },
        {"type": "container_upload", "file_id": "f"},
        stop_reason="pause_turn",
    ),
    "stopped": answer(text("a"), stop_reason="stop_sequence", stop_sequence="END"),
    "refused": answer(
        stop_reason="refusal", stop_details={"type": "refusal", "category": "cyber", "explanation": "no"}
    ),
    "usage": answer(
        usage={
            "input_tokens": 5,
            "cache_creation_input_tokens": 700,
            "cache_read_input_tokens": 1000,
            "cache_creation": {"ephemeral_5m_input_tokens": 200, "ephemeral_1h_input_tokens": 500},
            "output_tokens": 60,
            "output_tokens_details": {"thinking_tokens": 12},
            "server_tool_use": {"web_search_requests": 2, "web_fetch_requests": 0},
            "service_tier": "priority",
            "inference_geo": "eu",
        }
    ),
    "zeros": answer(
        usage=USAGE
        | {
            "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
            "service_tier": "batch",
        }
    ),
    "standard": answer(usage=USAGE | {"service_tier": "standard"}),
    "container": answer(container={"id": "c", "expires_at": "2026-11-30T00:00:00Z"}),
}


@pytest.mark.parametrize("body", OWN_ANSWERS.values(), ids=OWN_ANSWERS.keys())
def test_own_answers_come_back(body: dict[str, Any]) -> None:
    written, notes = write(read(body), upstream=OWN)
    assert written == body
    assert notes == []


BETA = answer(
    {"type": "mcp_tool_use", "id": "m", "name": "n", "server_name": "s", "input": {}},
    {"type": "mcp_tool_result", "tool_use_id": "m", "is_error": False, "content": "x"},
    {"type": "compaction", "content": "c", "encrypted_content": "E"},
    {"type": "compaction", "content": None},
    stop_reason="compaction",
)


def test_beta_blocks_come_back() -> None:
    BetaMessage.model_validate(own(BETA))


def own(body: dict[str, Any]) -> Any:
    """Read and written again, without a loss."""
    notes = Notes(FATES)
    written = json.loads(ANTHROPIC.write_response(read(body), context_for(MessageRequest(), caller=OWN), notes))
    assert written == body
    assert not notes
    return written


def test_words_that_are_new_come_back() -> None:
    own(answer(text("a"), stop_reason="frobnicated"))
    own(answer(text("t") | {"citations": [{"type": "new_location", "x": 1}]}))


def test_what_is_read() -> None:
    response = read(OWN_ANSWERS["usage"] | {"stop_reason": None}, service="svc")
    assert response.choices[0].finish == Finish(reason=rs.FINISH_REASON_STOP)
    usage = response.usage
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (1705, 60, 1765)
    assert usage.cache_writes[1] == CacheWrite(ttl=Duration(seconds=3600), tokens=500)
    assert response.service_tier == msg.SERVICE_TIER_PRIORITY
    signed = read(OWN_ANSWERS["thinking"], service="svc").choices[0].parts[0].opaque[0]
    assert signed == OpaqueState(
        kind=OPAQUE_KIND_SIGNATURE, origin=PROTOCOL_ANTHROPIC, service="svc", model="claude", value=b"S=="
    )


def test_odd_usage_costs_no_answer() -> None:
    assert not read(answer(usage=7)).HasField("usage")
    assert not read(answer(usage={"service_tier": 3})).HasField("usage")
    assert not read(answer(usage=None)).HasField("usage")


def test_halves_of_pairs_are_replaced() -> None:
    body = json.dumps(answer(text("a"))).replace('"a"', '"\\ud83d"').encode()
    assert read(body).choices[0].parts[0].text == "\ufffd"


FAULTS: dict[bytes, str] = {
    b"": "EMPTY_ANSWER",
    b"<html>": "HTML_ANSWER",
    b'{"content":[': "TRUNCATED_ANSWER",
    b"{}": "FOREIGN_ANSWER",
    b'{"type":"completion","content":[]}': "FOREIGN_ANSWER",
    b'{"content":[{"type":"text","text":1}]}': "FOREIGN_ANSWER",
}


@pytest.mark.parametrize(("body", "detail"), FAULTS.items())
def test_what_is_no_answer(body: bytes, detail: str) -> None:
    with pytest.raises(AnswerFault) as fault:
        read(body)
    assert fault.value.detail == detail


def test_an_error_in_the_place_of_an_answer() -> None:
    with pytest.raises(ProviderError):
        read(b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}')


# --- answers of others ---

P = "choices[0].parts[0]"


def state(origin: Any, kind: Any = OPAQUE_KIND_SIGNATURE) -> OpaqueState:
    return OpaqueState(kind=kind, origin=origin, service="s", model="m", value=b"ABC")


SIGNED = "gw1.gemini.s.m.signature.QUJD"


def cited(start: int | None = None, **fields: Any) -> pb.Citation:
    return pb.Citation(sources=[pb.CitationSource(**fields)], start=start, end=start)


WEB = {"type": "web_search_result_location", "cited_text": "c", "title": "T", "url": "https://a.test"}

PARTS: dict[str, tuple[list[Part], list[dict[str, Any]], list[str]]] = {
    "text": ([Part(text="a"), Part(text="")], [text("a")], []),
    "refusal": ([Part(refusal="No.")], [text("No.")], [f"approximated ANSWER_REFUSAL {P}"]),
    "spoken": (
        [Part(audio=Media(data=b"x", mime_type="audio/wav", transcript="w"))],
        [text("w")],
        [f"approximated ANSWER_AUDIO {P}"],
    ),
    "sound": ([Part(audio=Media(data=b"x"))], [], [f"dropped ANSWER_AUDIO {P}"]),
    "image": ([Part(image=Media(data=b"x"))], [], [f"dropped ANSWER_IMAGE {P}"]),
    "video": ([Part(video=Media(data=b"x"))], [], [f"dropped ANSWER_RAW_PART {P}"]),
    "newer": ([Part()], [], [f"dropped ANSWER_RAW_PART {P}"]),
    "compaction": ([Part(compaction=pb.Compaction(text="c"))], [], [f"dropped ANSWER_RAW_PART {P}"]),
    "server tools": (
        [Part(server_tool_call=pb.ServerToolCall(id="s")), Part(server_tool_result=pb.ServerToolResult())],
        [],
        [f"dropped ANSWER_SERVER_TOOLS {P}", "dropped ANSWER_SERVER_TOOLS choices[0].parts[1]"],
    ),
    "reasoning": (
        [Part(reasoning=pb.Reasoning(text="hm")), Part(reasoning=pb.Reasoning(summaries=["a", "b"]))],
        [
            {"type": "thinking", "thinking": "hm", "signature": ""},
            {"type": "thinking", "thinking": "a\n\nb", "signature": ""},
        ],
        [],
    ),
    "encrypted": (
        [
            Part(
                reasoning=pb.Reasoning(text="hm"),
                opaque=[state(PROTOCOL_RESPONSES, OPAQUE_KIND_ENCRYPTED_REASONING), state(PROTOCOL_OPENAI)],
            )
        ],
        [{"type": "thinking", "thinking": "hm", "signature": "gw1.responses.s.m.encrypted_reasoning.QUJD"}],
        [f"dropped REASONING_STATE {P}.opaque"],
    ),
    "signed call": (
        [
            Part(reasoning=pb.Reasoning(text="hm")),
            Part(tool_call=pb.ToolCall(id="c", name="f"), opaque=[state(PROTOCOL_GEMINI)]),
        ],
        [
            {"type": "thinking", "thinking": "hm", "signature": SIGNED},
            {"type": "tool_use", "id": "c", "name": "f", "input": {}},
        ],
        [],
    ),
    "signed without thought": (
        [Part(text="a", opaque=[state(PROTOCOL_GEMINI)])],
        [text("a")],
        [f"dropped REASONING_STATE {P}.opaque"],
    ),
    "broken call": (
        [Part(tool_call=pb.ToolCall(id="c", name="f", arguments_json="{"))],
        [{"type": "tool_use", "id": "c", "name": "f", "input": {"INVALID_JSON": "{"}}],
        [f"approximated TOOL_ARGUMENTS {P}.tool_call.arguments_json"],
    ),
    "citations": (
        [
            Part(
                text="a",
                citations=[
                    cited(url="https://a.test", title="T", cited_text="c"),
                    cited(url="https://a.test", title="T", cited_text="c", start=0),
                    cited(id="doc:0"),
                    pb.Citation(),
                    pb.Citation(kind_raw="web_search_result_location", opaque=[state(PROTOCOL_GEMINI)]),
                ],
                logprobs=[pb.TokenLogprob(token="a")],
            )
        ],
        [
            text("a")
            | {
                "citations": [
                    WEB | {"encrypted_index": ""},
                    WEB | {"encrypted_index": ""},
                    {"type": "web_search_result_location", "cited_text": "", "url": "", "encrypted_index": ""},
                ]
            }
        ],
        [
            f"dropped ANSWER_LOGPROBS {P}.logprobs",
            f"dropped CITATION_SPAN {P}.citations[1]",
            f"dropped CITATION {P}.citations[2]",
            f"dropped CITATION {P}.citations[3]",
        ],
    ),
    "extras": (
        [Part(text="a", extras=[Extra(protocol=PROTOCOL_OPENAI, key="x", value_json="1")])],
        [text("a")],
        [f"dropped ANSWER_EXTRA {P}.x"],
    ),
}


@pytest.mark.parametrize(("parts", "expected", "notes"), PARTS.values(), ids=PARTS.keys())
def test_parts_of_others(parts: list[Part], expected: list[dict[str, Any]], notes: list[str]) -> None:
    finish = Finish(reason=rs.FINISH_REASON_STOP)
    body, told_notes = write(MessageResponse(choices=[Choice(parts=parts, finish=finish)]))
    assert body["content"] == expected
    assert told_notes == notes


def test_who_asked_for_reasoning_gets_the_signature_in_thinking_of_its_own() -> None:
    call = Part(tool_call=pb.ToolCall(id="c", name="f"), opaque=[state(PROTOCOL_GEMINI)])
    response = MessageResponse(choices=[Choice(parts=[call], finish=Finish(reason=rs.FINISH_REASON_TOOL_CALLS))])
    for options, expected in (
        (ReasoningOptions(effort=msg.REASONING_EFFORT_LOW), ["thinking", "tool_use"]),
        (ReasoningOptions(effort=msg.REASONING_EFFORT_NONE), ["tool_use"]),
        (ReasoningOptions(mode=msg.REASONING_MODE_OFF), ["tool_use"]),
    ):
        body, _ = write(response, MessageRequest(reasoning=options))
        assert [block["type"] for block in body["content"]] == expected
        if len(expected) > 1:
            assert body["content"][0] == {"type": "thinking", "thinking": "", "signature": SIGNED}


REASONS: list[tuple[str, str]] = [
    ("STOP", "end_turn"),
    ("STOP_SEQUENCE", "stop_sequence"),
    ("LENGTH", "max_tokens"),
    ("CONTEXT_WINDOW", "model_context_window_exceeded"),
    ("TOOL_CALLS", "tool_use"),
    ("REFUSAL", "refusal"),
    ("PAUSE", "pause_turn"),
    ("COMPACTION", "compaction"),
    ("CONTENT_FILTER", "~refusal"),
    ("RECITATION", "~refusal"),
    ("CONTINUE", "~max_tokens"),
    ("MALFORMED_TOOL_CALL", "~end_turn"),
    ("ERROR", "~end_turn"),
    ("OTHER", "~end_turn"),
]


@pytest.mark.parametrize(("reason", "word"), REASONS)
def test_reasons_of_others(reason: str, word: str) -> None:
    finish = Finish(reason=rs.FinishReason.Value(f"FINISH_REASON_{reason}"), raw="x")
    notes = Notes(FATES)
    context = context_for(MessageRequest(), caller=OWN, upstream=Protocol.GEMINI)
    body = json.loads(ANTHROPIC.write_response(MessageResponse(choices=[Choice(finish=finish)]), context, notes))
    assert body["stop_reason"] == word.removeprefix("~")
    assert bool(notes) is word.startswith("~")
    assert ("stop_details" in body) is (reason == "REFUSAL")


def test_a_refusal_of_another() -> None:
    finish = Finish(reason=rs.FINISH_REASON_REFUSAL, category="HARM", message="no")
    body, _ = write(
        MessageResponse(id="chatcmpl-1", model="gpt-x", choices=[Choice(parts=[Part(refusal="No.")], finish=finish)])
    )
    assert body == {
        "id": "msg_chatcmpl-1",
        "type": "message",
        "role": "assistant",
        "model": "gpt-x",
        "content": [text("No.")],
        "stop_reason": "refusal",
        "stop_sequence": None,
        "stop_details": {"type": "refusal", "category": None, "explanation": "no"},
        "usage": {"input_tokens": 0, "output_tokens": 0},
    }


def test_the_head_of_others() -> None:
    response = MessageResponse(
        choices=[
            Choice(
                finish=Finish(reason=rs.FINISH_REASON_STOP, matched_stop="x"),
                extras=[Extra(protocol=PROTOCOL_GEMINI, key="grounding", value_json="1")],
            ),
            Choice(index=1),
        ],
        service_tier=msg.SERVICE_TIER_FLEX,
        service_tier_raw="flex",
        extras=[Extra(protocol=PROTOCOL_OPENAI, key="system_fingerprint", value_json='"f"')],
    )
    body, notes = write(response)
    assert (body["id"], body["model"], body["stop_sequence"]) == (f"msg_gw_{NOW}", "claude", "x")
    assert "service_tier" not in body["usage"]
    assert notes == [
        "dropped ANSWER_CHOICES choices[1]",
        "dropped ANSWER_EXTRA choices[0].grounding",
        "dropped ANSWER_EXTRA system_fingerprint",
    ]
    assert write(MessageResponse(), upstream=OWN)[0]["id"] == f"msg_gw_{NOW}"


def test_usage_of_others() -> None:
    usage = Usage(
        input_tokens=12,
        output_tokens=9,
        cache_read_tokens=4,
        cache_write_tokens=20,
        reasoning_tokens=3,
        web_search_requests=1,
        cache_writes=[CacheWrite(ttl=Duration(seconds=1800), tokens=20)],
        extras=[Extra(protocol=PROTOCOL_OPENAI, key="x", value_json="1")],
    )
    assert write(MessageResponse(usage=usage))[0]["usage"] == {
        "input_tokens": 0,
        "cache_creation_input_tokens": 20,
        "cache_read_input_tokens": 4,
        "output_tokens": 9,
        "output_tokens_details": {"thinking_tokens": 3},
        "server_tool_use": {"web_search_requests": 1, "web_fetch_requests": 0},
    }
    fetched = write(MessageResponse(usage=Usage(web_fetch_requests=2)))[0]["usage"]
    assert fetched["server_tool_use"] == {"web_search_requests": 0, "web_fetch_requests": 2}
