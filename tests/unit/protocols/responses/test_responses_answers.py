"""Answers of other providers, and of its own, as whole answers of OpenAI Responses."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf.duration_pb2 import Duration

from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.envelope import seal
from fluxrpc.v1 import message_pb2 as request_pb
from fluxrpc.v1 import part_pb2 as part_pb
from fluxrpc.v1 import response_pb2 as pb
from fluxrpc.v1 import tool_pb2 as tool_pb
from fluxrpc.v1.part_pb2 import Citation, CitationSource, Media, Part, Reasoning, ToolCall
from fluxrpc.v1.protocol_pb2 import (
    OPAQUE_KIND_COMPACTION,
    OPAQUE_KIND_SIGNATURE,
    PROTOCOL_ANTHROPIC,
    PROTOCOL_GEMINI,
    PROTOCOL_RESPONSES,
    Extra,
    OpaqueState,
)
from fluxrpc.v1.response_pb2 import Choice, Finish, MessageResponse
from fluxrpc.v1.usage_pb2 import CacheWrite, ModalityTokens, Usage
from tests.unit.protocols.responses.responses_ways import (
    NOW,
    context_of,
    read,
    read_answer,
    write_answer,
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
_SIGNATURE = OpaqueState(kind=OPAQUE_KIND_SIGNATURE, origin=PROTOCOL_GEMINI, value=b"sig")
_CLAUDE = OpaqueState(kind=OPAQUE_KIND_SIGNATURE, origin=PROTOCOL_ANTHROPIC, value=b"sig")
_STOP = Finish(reason=pb.FINISH_REASON_STOP)


_HEAD = {
    "object": "response",
    "created_at": NOW,
    "error": None,
    "incomplete_details": None,
    "instructions": None,
    "metadata": {},
    "model": "m",
    "parallel_tool_calls": True,
    "temperature": None,
    "tool_choice": "auto",
    "tools": [],
    "top_p": None,
}


def _written(*parts: Part, finish: Finish = _STOP, **fields: Any) -> tuple[dict[str, Any], list[str]]:
    body, notes = write_answer(MessageResponse(id="7", choices=[Choice(parts=parts, finish=finish)], **fields))
    assert body.pop("id") == "resp_7"
    return {key: value for key, value in body.items() if _HEAD.get(key, "?") != value}, notes


def test_an_answer_holds_all_that_the_reference_demands() -> None:
    body, notes = write_answer(MessageResponse(choices=[Choice(parts=[Part(text="Hi")], finish=_STOP)]))
    text = {"type": "output_text", "text": "Hi", "annotations": []}
    message = {"type": "message", "id": "msg_gw_0", "role": "assistant", "status": "completed", "content": [text]}
    assert body == _HEAD | {"id": f"resp_gw_{NOW}", "status": "completed", "output": [message]}
    assert notes == []


def test_an_answer_repeats_the_request() -> None:
    asked = {
        "instructions": "Be kind.",
        "tools": [{"type": "function", "name": "f", "parameters": {}, "strict": None}],
        "tool_choice": "required",
        "temperature": 0.5,
        "reasoning": {"effort": "low"},
        "truncation": "auto",
        "max_output_tokens": 9,
    }
    context = context_of(read(asked | {"input": "Hi", "include": []}), target=Protocol.GEMINI)
    body, _ = write_answer(MessageResponse(choices=[Choice(finish=_STOP)]), context)
    assert {key: body[key] for key in asked} == asked
    assert "include" not in body
    assert "input" not in body


def _citation(**source: Any) -> Citation:
    return Citation(sources=[CitationSource(**source)])


_PARTS: list[tuple[list[Part], list[dict[str, Any]], list[str]]] = [
    (
        [Part(reasoning=Reasoning(text="hm", summaries=["s"]), opaque=[_CLAUDE])],
        [
            {
                "type": "reasoning",
                "id": "rs_gw_0",
                "encrypted_content": seal(_CLAUDE),
                "summary": [{"type": "summary_text", "text": "s"}, {"type": "summary_text", "text": "hm"}],
            },
        ],
        [],
    ),
    (
        [
            Part(tool_call=ToolCall(id="c", name="f"), opaque=[_SIGNATURE]),
            Part(tool_call=ToolCall(id="d", name="g", custom_text="x")),
        ],
        [
            {
                "type": "function_call",
                "id": "fc_gw_0",
                "call_id": "c",
                "name": "f",
                "arguments": "{}",
                "status": "completed",
            },
            {"type": "reasoning", "id": "rs_gw_sig_1", "summary": [], "encrypted_content": seal(_SIGNATURE)},
            {
                "type": "custom_tool_call",
                "id": "ctc_gw_2",
                "call_id": "d",
                "name": "g",
                "input": "x",
                "status": "completed",
            },
        ],
        [],
    ),
    (
        [
            Part(text="a"),
            Part(text="b", opaque=[_SIGNATURE]),
            Part(text="c"),
            Part(text="d", phase=part_pb.TEXT_PHASE_PLAN),
        ],
        [
            {
                "type": "message",
                "id": "msg_gw_0",
                "role": "assistant",
                "status": "completed",
                "content": [
                    {"type": "output_text", "text": "a", "annotations": []},
                    {"type": "output_text", "text": "b", "annotations": []},
                ],
            },
            {"type": "reasoning", "id": "rs_gw_sig_1", "summary": [], "encrypted_content": seal(_SIGNATURE)},
            {
                "type": "message",
                "id": "msg_gw_2",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": "c", "annotations": []}],
            },
            {
                "type": "message",
                "id": "msg_gw_3",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": "d", "annotations": []}],
            },
        ],
        ["APPROXIMATED TEXT_PHASE choices[0].parts[3].phase"],
    ),
    (
        [
            Part(
                text="Oslo",
                citations=[
                    Citation(start=1, end=2, sources=[CitationSource(url="https://x.test", title="X")]),
                    _citation(url="https://y.test"),
                    _citation(file_id="f", title="n", index=3),
                    _citation(id="doc"),
                ],
            )
        ],
        [
            {
                "type": "message",
                "id": "msg_gw_0",
                "role": "assistant",
                "status": "completed",
                "content": [
                    {
                        "type": "output_text",
                        "text": "Oslo",
                        "annotations": [
                            {
                                "type": "url_citation",
                                "start_index": 1,
                                "end_index": 2,
                                "url": "https://x.test",
                                "title": "X",
                            },
                            {
                                "type": "url_citation",
                                "start_index": 0,
                                "end_index": 4,
                                "url": "https://y.test",
                                "title": "",
                            },
                            {"type": "file_citation", "file_id": "f", "filename": "n", "index": 3},
                        ],
                    }
                ],
            },
        ],
        [
            "APPROXIMATED CITATION_SPAN choices[0].parts[0].citations[1]",
            "DROPPED CITATION choices[0].parts[0].citations[3]",
        ],
    ),
    (
        [
            Part(
                server_tool_call=part_pb.ServerToolCall(
                    id="x", kind=tool_pb.SERVER_TOOL_KIND_WEB_SEARCH, input_json='{"query":"q"}'
                )
            ),
            Part(server_tool_result=part_pb.ServerToolResult(call_id="x", content_json="[]")),
        ],
        [
            {
                "type": "web_search_call",
                "id": "ws_gw_0",
                "status": "completed",
                "action": {"type": "search", "query": "q"},
            }
        ],
        ["DROPPED ANSWER_SERVER_TOOLS choices[0].parts[0]"],
    ),
    (
        [Part(server_tool_call=part_pb.ServerToolCall(kind=tool_pb.SERVER_TOOL_KIND_WEB_SEARCH, input_json="["))],
        [
            {
                "type": "web_search_call",
                "id": "ws_gw_0",
                "status": "completed",
                "action": {"type": "search", "query": ""},
            }
        ],
        [],
    ),
    (
        [Part(server_tool_call=part_pb.ServerToolCall(kind=tool_pb.SERVER_TOOL_KIND_CODE, kind_raw="code_execution"))],
        [],
        ["DROPPED ANSWER_SERVER_TOOLS choices[0].parts[0]"],
    ),
    ([Part(server_tool_result=part_pb.ServerToolResult())], [], ["DROPPED ANSWER_SERVER_TOOLS choices[0].parts[0]"]),
    (
        [Part(image=Media(mime_type="image/png", data=b"ABC"))],
        [{"type": "image_generation_call", "id": "ig_gw_0", "status": "completed", "result": "QUJD"}],
        [],
    ),
    ([Part(image=Media(url="https://x.test"))], [], ["DROPPED ANSWER_IMAGE choices[0].parts[0]"]),
    ([Part(audio=Media(data=b"A"))], [], ["DROPPED ANSWER_AUDIO choices[0].parts[0]"]),
    ([Part(compaction=part_pb.Compaction(text="s"))], [], ["DROPPED ANSWER_RAW_PART choices[0].parts[0]"]),
    (
        [
            Part(
                compaction=part_pb.Compaction(),
                opaque=[OpaqueState(kind=OPAQUE_KIND_COMPACTION, origin=PROTOCOL_RESPONSES, value=b"X")],
            )
        ],
        [{"type": "compaction", "id": "cmp_gw_0", "encrypted_content": "X"}],
        [],
    ),
    (
        [Part(raw=part_pb.RawPart(protocol=PROTOCOL_GEMINI, body_json="{}"))],
        [],
        ["DROPPED ANSWER_RAW_PART choices[0].parts[0]"],
    ),
    (
        [Part(text="a", extras=[Extra(protocol=PROTOCOL_GEMINI, key="x", value_json="1")])],
        [
            {
                "type": "message",
                "id": "msg_gw_0",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": "a", "annotations": []}],
            }
        ],
        ["DROPPED ANSWER_EXTRA choices[0].parts[0].x"],
    ),
]


@pytest.mark.parametrize(("parts", "output", "notes"), _PARTS, ids=range(len(_PARTS)))
def test_parts_of_another_provider(parts: list[Part], output: list[dict[str, Any]], notes: list[str]) -> None:
    assert _written(*parts) == ({"status": "completed", "output": output}, notes)


_ERROR = {"code": "server_error", "message": "the model failed"}
_ENDS: list[tuple[Finish, dict[str, Any], list[str]]] = [
    (
        Finish(reason=pb.FINISH_REASON_LENGTH, raw="max_tokens"),
        {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
        [],
    ),
    (
        Finish(reason=pb.FINISH_REASON_CONTENT_FILTER, category="hate"),
        {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}},
        ["DROPPED FINISH_DETAILS choices[0].finish"],
    ),
    (
        Finish(reason=pb.FINISH_REASON_STOP_SEQUENCE, matched_stop="END"),
        {"status": "completed"},
        [
            "APPROXIMATED FINISH_REASON choices[0].finish.reason",
            "DROPPED MATCHED_STOP choices[0].finish.matched_stop",
        ],
    ),
    (
        Finish(reason=pb.FINISH_REASON_ERROR),
        {"status": "failed", "error": _ERROR},
        ["APPROXIMATED FINISH_REASON choices[0].finish.reason"],
    ),
    (
        Finish(reason=pb.FINISH_REASON_TIMEOUT, message="late"),
        {"status": "failed", "error": _ERROR | {"message": "late"}},
        ["APPROXIMATED FINISH_REASON choices[0].finish.reason"],
    ),
    (Finish(reason=pb.FINISH_REASON_CANCELLED), {"status": "cancelled"}, []),
    (
        Finish(reason=pb.FINISH_REASON_STOP, message="m"),
        {"status": "completed"},
        ["DROPPED FINISH_DETAILS choices[0].finish"],
    ),
]


@pytest.mark.parametrize(("finish", "fields", "notes"), _ENDS, ids=range(len(_ENDS)))
def test_ends_of_another_provider(finish: Finish, fields: dict[str, Any], notes: list[str]) -> None:
    body, said_notes = _written(Part(reasoning=Reasoning()), Part(text="a"), finish=finish)
    assert body.pop("output")[-1]["status"] == ("incomplete" if fields["status"] == "incomplete" else "completed")
    assert (body, said_notes) == (fields, notes)


def test_a_refusal_is_said_in_its_own_piece() -> None:
    body, notes = _written(Part(text="a"), finish=Finish(reason=pb.FINISH_REASON_REFUSAL, message="I cannot."))
    assert body["output"][0]["content"][1:] == [{"type": "refusal", "refusal": "I cannot."}]
    body, _ = _written(Part(refusal="no"), finish=Finish(reason=pb.FINISH_REASON_REFUSAL))
    assert body["output"][0]["content"] == [{"type": "refusal", "refusal": "no"}]
    assert notes == []


def test_only_the_first_answer_is_written() -> None:
    choices = [Choice(parts=[Part(text="a")], finish=_STOP), Choice(index=1, parts=[Part(text="b")], finish=_STOP)]
    body, notes = write_answer(MessageResponse(id="7", choices=choices))
    assert len(body["output"]) == 1
    assert notes == ["DROPPED ANSWER_CHOICES choices[1]"]
    assert write_answer(MessageResponse(id="7"))[0]["output"] == []


def test_usage() -> None:
    usage = Usage(
        input_tokens=1705,
        output_tokens=60,
        cache_read_tokens=1000,
        cache_write_tokens=700,
        cache_writes=[CacheWrite(ttl=Duration(seconds=300), tokens=200)],
        web_search_requests=2,
        web_fetch_requests=0,
        input_modalities=[ModalityTokens(tokens=1)],
        extras=[Extra(protocol=PROTOCOL_ANTHROPIC, key="x", value_json="1")],
    )
    body, notes = _written(usage=usage)
    assert body["usage"] == {
        "input_tokens": 1705,
        "input_tokens_details": {"cached_tokens": 1000, "cache_write_tokens": 700},
        "output_tokens": 60,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 1765,
    }
    assert body["tool_usage"]["web_search"] == {"num_requests": 2}
    assert body["tool_usage"]["image_gen"]["total_tokens"] == 0
    assert notes == [
        "APPROXIMATED USAGE_DETAIL usage.cache_writes",
        "DROPPED USAGE_DETAIL usage.input_modalities",
        "DROPPED USAGE_DETAIL usage.web_fetch_requests",
        "DROPPED USAGE_DETAIL usage.x",
    ]
    usage = Usage(input_tokens=9, total_tokens=9, cache_writes=[CacheWrite(ttl=Duration(seconds=1800), tokens=2)])
    details = _written(usage=usage)[0]["usage"]["input_tokens_details"]
    assert details["cache_write_tokens_details"] == {"ttl_30m_tokens": 2, "ttl_12h_tokens": 0}


def test_tiers() -> None:
    assert _written(service_tier=request_pb.SERVICE_TIER_FLEX)[0]["service_tier"] == "flex"
    body, notes = _written(service_tier=request_pb.SERVICE_TIER_OTHER, service_tier_raw="batch")
    assert "service_tier" not in body
    assert notes == ["DROPPED SERVICE_TIER service_tier"]


_OUTPUT = [
    {
        "type": "message",
        "id": "m1",
        "role": "assistant",
        "status": "completed",
        "phase": "musing",
        "future": 1,
        "content": [
            {"type": "output_text", "text": "a", "annotations": [], "logprobs": []},
            {"type": "output_novelty"},
        ],
    },
    {
        "type": "reasoning",
        "id": "r1",
        "summary": [],
        "content": [{"type": "reasoning_text", "text": "t"}],
        "encrypted_content": "X",
    },
    {"type": "mcp_call", "id": "p1", "name": "m", "arguments": "{}", "server_label": "l", "output": "done"},
    {"type": "file_search_call", "id": "s1", "status": "completed", "queries": [], "results": []},
    {"type": "computer_call", "id": "c1"},
]
_OWN = [
    _ANSWER
    | {
        "created_at": 5,
        "incomplete_details": None,
        "instructions": [{"role": "user"}],
        "metadata": {"a": "b"},
        "parallel_tool_calls": False,
        "temperature": None,
        "tool_choice": {"type": "shell"},
        "tools": [{"type": "shell"}],
        "top_p": None,
        "max_output_tokens": None,
        "output": _OUTPUT,
        "completed_at": 6,
        "novelty": 1,
    },
    _HEAD
    | {"id": "r", "created_at": 5, "output": [], "status": "incomplete", "incomplete_details": {"reason": "steered"}},
    _HEAD | {"id": "r", "created_at": 5, "output": [], "status": "queued"},
]


@pytest.mark.parametrize("answer", _OWN, ids=range(len(_OWN)))
def test_every_field_of_an_own_answer_is_kept(answer: dict[str, Any]) -> None:
    assert write_answer(read_answer(answer), context_of()) == (answer, [])
