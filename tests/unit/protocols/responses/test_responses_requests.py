"""What requests of other protocols and typed ones become towards OpenAI Responses, and what is noted of it."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf.duration_pb2 import Duration

from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.envelope import seal
from fluxrpc.v1 import message_pb2 as pb
from fluxrpc.v1 import part_pb2 as part_pb
from fluxrpc.v1.message_pb2 import Message, MessageRequest
from fluxrpc.v1.part_pb2 import Document, Media, Part, Reasoning, ServerToolCall, ServerToolResult, ToolCall, ToolResult
from fluxrpc.v1.protocol_pb2 import (
    OPAQUE_KIND_COMPACTION,
    OPAQUE_KIND_ENCRYPTED_REASONING,
    OPAQUE_KIND_SIGNATURE,
    PROTOCOL_ANTHROPIC,
    PROTOCOL_GEMINI,
    PROTOCOL_RESPONSES,
    Extra,
    OpaqueState,
)
from tests.unit.protocols.responses.responses_ways import context_of, write

_HI = Message(role=pb.ROLE_USER, text="Hi")
_PNG = Media(mime_type="image/png", data=b"ABC")
_SIGNATURE = OpaqueState(kind=OPAQUE_KIND_SIGNATURE, origin=PROTOCOL_GEMINI, value=b"sig")
_OWN = OpaqueState(kind=OPAQUE_KIND_ENCRYPTED_REASONING, origin=PROTOCOL_RESPONSES, service="s", value=b"QUJD")
_ELSEWHERE = OpaqueState(kind=OPAQUE_KIND_ENCRYPTED_REASONING, origin=PROTOCOL_RESPONSES, service="t", value=b"QUJD")


def _user(*parts: Part) -> Message:
    return Message(role=pb.ROLE_USER, parts=parts)


def _model(*parts: Part) -> Message:
    return Message(role=pb.ROLE_ASSISTANT, parts=parts)


def _results(*results: ToolResult) -> Message:
    return Message(role=pb.ROLE_TOOL, parts=[Part(tool_result=result) for result in results])


def _input(*messages: Message, caller: Protocol | None = Protocol.OPENAI, service: str = "") -> tuple[Any, list[str]]:
    request = MessageRequest(messages=messages)
    body, notes = write(request, context_of(request, caller=caller, service=service))
    return body["input"], notes


# --- content ---

_CONTENT: list[tuple[Part, list[dict[str, Any]], list[str]]] = [
    (Part(text="Q"), [{"type": "input_text", "text": "Q"}], []),
    (Part(image=_PNG), [{"type": "input_image", "image_url": "data:image/png;base64,QUJD", "detail": "auto"}], []),
    (
        Part(image=Media(url="https://x.test/a.png", detail=part_pb.MEDIA_DETAIL_HIGH)),
        [{"type": "input_image", "image_url": "https://x.test/a.png", "detail": "high"}],
        [],
    ),
    (
        Part(image=Media(url="https://x.test/a.png", detail=part_pb.MEDIA_DETAIL_MEDIUM)),
        [{"type": "input_image", "image_url": "https://x.test/a.png", "detail": "auto"}],
        ["APPROXIMATED IMAGE_DETAIL messages[0].parts[0].image.detail"],
    ),
    (Part(image=Media(file_id="f")), [], ["DROPPED FILE_ID messages[0].parts[0].image.file_id"]),
    (Part(audio=Media(mime_type="audio/wav", data=b"A")), [], ["DROPPED AUDIO messages[0].parts[0]"]),
    (Part(video=Media(url="https://x.test/a")), [], ["DROPPED VIDEO messages[0].parts[0]"]),
    (
        Part(raw=part_pb.RawPart(protocol=PROTOCOL_GEMINI, type="x", body_json="{}")),
        [],
        ["DROPPED RAW_PART messages[0].parts[0]"],
    ),
    (Part(refusal="no"), [], ["DROPPED RAW_PART messages[0].parts[0]"]),
    (
        Part(document=Document(media=Media(mime_type="application/pdf", data=b"ABC"), title="a.pdf", citations=True)),
        [{"type": "input_file", "file_data": "data:application/pdf;base64,QUJD", "filename": "a.pdf"}],
        ["DROPPED DOCUMENT_CITATIONS messages[0].parts[0].document.citations"],
    ),
    (
        Part(document=Document(media=Media(mime_type="application/pdf", data=b"ABC"))),
        [{"type": "input_file", "file_data": "data:application/pdf;base64,QUJD", "filename": "document.pdf"}],
        ["INJECTED FILE_NAME messages[0].parts[0].document.media.filename"],
    ),
    (
        Part(document=Document(media=Media(url="https://x.test/a.pdf"), context="c")),
        [{"type": "input_file", "file_url": "https://x.test/a.pdf"}],
        ["DROPPED DOCUMENT_TITLE messages[0].parts[0].document"],
    ),
    (
        Part(document=Document(media=Media(file_id="f"))),
        [],
        ["DROPPED FILE_ID messages[0].parts[0].document.media.file_id"],
    ),
    (
        Part(document=Document(text="words", title="T")),
        [{"type": "input_text", "text": "T\n\nwords"}],
        ["APPROXIMATED DOCUMENT messages[0].parts[0].document"],
    ),
    (
        Part(document=Document(data_json='{"a":1}')),
        [{"type": "input_text", "text": '{"a":1}'}],
        ["APPROXIMATED DOCUMENT_DATA messages[0].parts[0].document"],
    ),
    (
        Part(document=Document(parts=part_pb.Parts(parts=[Part(text="a"), Part(image=_PNG), Part(text="b")]))),
        [
            {"type": "input_text", "text": "a\n\nb"},
            {"type": "input_image", "image_url": "data:image/png;base64,QUJD", "detail": "auto"},
        ],
        ["APPROXIMATED DOCUMENT_PARTS messages[0].parts[0].document"],
    ),
    (
        Part(text="Q", cache_breakpoint=part_pb.CacheBreakpoint(ttl=Duration(seconds=3600))),
        [{"type": "input_text", "text": "Q", "prompt_cache_breakpoint": {"mode": "explicit", "ttl": "12h"}}],
        ["APPROXIMATED CACHE_BREAKPOINT messages[0].parts[0].cache_breakpoint.ttl"],
    ),
    (
        Part(text="Q", cache_breakpoint=part_pb.CacheBreakpoint()),
        [{"type": "input_text", "text": "Q", "prompt_cache_breakpoint": {"mode": "explicit"}}],
        [],
    ),
    (
        Part(text="Q", extras=[Extra(protocol=PROTOCOL_ANTHROPIC, key="x", value_json="1")]),
        [{"type": "input_text", "text": "Q"}],
        ["DROPPED EXTRA_FIELD messages[0].parts[0].x"],
    ),
]


@pytest.mark.parametrize(("part", "content", "notes"), _CONTENT, ids=range(len(_CONTENT)))
def test_content_of_users(part: Part, content: list[dict[str, Any]], notes: list[str]) -> None:
    written, said = _input(_user(part), caller=Protocol.ANTHROPIC)
    assert (written, said) == ([{"role": "user", "content": content or ""}], notes)


def test_words_and_files_of_openai_are_known_here() -> None:
    part = Part(image=Media(file_id="f", detail=part_pb.MEDIA_DETAIL_OTHER, detail_raw="huge"))
    written, notes = _input(_user(part))
    assert written == [{"role": "user", "content": [{"type": "input_image", "file_id": "f", "detail": "huge"}]}]
    assert notes == []


def test_instructions_stay_where_they_stand_and_names_are_dropped() -> None:
    written, notes = _input(
        Message(role=pb.ROLE_SYSTEM, text="S"),
        Message(role=pb.ROLE_USER, text="Q", name="Ann"),
        Message(role=pb.ROLE_DEVELOPER, parts=[Part(text="D")]),
        Message(role=pb.ROLE_USER),
    )
    assert written == [
        {"role": "system", "content": "S"},
        {"role": "user", "content": "Q"},
        {"role": "developer", "content": [{"type": "input_text", "text": "D"}]},
        {"role": "user", "content": ""},
    ]
    assert notes == ["DROPPED PARTICIPANT_NAME messages[1].name"]


# --- what the model said ---


def _easy(text: str, **more: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text} | more


_SAID: list[tuple[list[Part], list[Any], list[str]]] = [
    ([Part(text="a"), Part(text="b")], [_easy("a"), _easy("b")], []),
    (
        [Part(text="a", phase=part_pb.TEXT_PHASE_PLAN)],
        [_easy("a")],
        ["APPROXIMATED TEXT_PHASE messages[1].parts[0].phase"],
    ),
    ([Part(text="a", phase=part_pb.TEXT_PHASE_COMMENTARY)], [_easy("a", phase="commentary")], []),
    ([Part(refusal="no")], [_easy("no")], ["APPROXIMATED REFUSAL_HISTORY messages[1].parts[0]"]),
    (
        [Part(text="a", citations=[part_pb.Citation()], opaque=[_SIGNATURE])],
        [_easy("a")],
        [
            "DROPPED REASONING_STATE messages[1].parts[0].opaque",
            "DROPPED CITATION_HISTORY messages[1].parts[0].citations",
        ],
    ),
    (
        [Part(text="a", cache_breakpoint=part_pb.CacheBreakpoint())],
        [_easy("a")],
        ["DROPPED CACHE_BREAKPOINT messages[1].parts[0].cache_breakpoint"],
    ),
    (
        [Part(reasoning=Reasoning(text="hm")), Part(text="a")],
        [_easy("a")],
        ["DROPPED REASONING_HISTORY messages[1].parts[0]"],
    ),
    (
        [Part(reasoning=Reasoning(text="hm"), opaque=[_SIGNATURE])],
        [],
        ["DROPPED REASONING_STATE messages[1].parts[0].opaque", "DROPPED REASONING_HISTORY messages[1].parts[0]"],
    ),
    (
        [
            Part(server_tool_call=ServerToolCall(id="x", kind_raw="web_search")),
            Part(server_tool_result=ServerToolResult(call_id="x")),
        ],
        [],
        ["DROPPED SERVER_TOOL_HISTORY messages[1].parts[0]", "DROPPED SERVER_TOOL_HISTORY messages[1].parts[1]"],
    ),
    ([Part(server_tool_result=ServerToolResult())], [], ["DROPPED SERVER_TOOL_HISTORY messages[1].parts[0]"]),
    ([Part(compaction=part_pb.Compaction())], [], ["DROPPED COMPACTION messages[1].parts[0]"]),
    (
        [Part(compaction=part_pb.Compaction(text="s"))],
        [{"role": "assistant", "content": "s"}],
        ["APPROXIMATED COMPACTION messages[1].parts[0]"],
    ),
    ([Part(image=_PNG)], [], ["DROPPED IMAGE messages[1].parts[0]"]),
    ([Part(audio=_PNG)], [], ["DROPPED AUDIO messages[1].parts[0]"]),
    (
        [Part(raw=part_pb.RawPart(protocol=PROTOCOL_GEMINI, body_json="{}"))],
        [],
        ["DROPPED RAW_PART messages[1].parts[0]"],
    ),
]


@pytest.mark.parametrize(("parts", "items", "notes"), _SAID, ids=range(len(_SAID)))
def test_history_of_another_provider(parts: list[Part], items: list[Any], notes: list[str]) -> None:
    written, said = _input(_HI, _model(*parts), _HI)
    assert written[1:-1] == items
    assert said == notes


def test_own_history_goes_back_with_its_ids() -> None:
    """An answer that a typed caller sends back, to the service that gave it."""
    turn = _model(
        Part(reasoning=Reasoning(summaries=["s"], text="t"), opaque=[_OWN], item_id="rs_1"),
        Part(text="a", item_id="msg_1", citations=[part_pb.Citation()]),
        Part(refusal="b", item_id="msg_1"),
        Part(text="c", item_id="msg_2", phase=part_pb.TEXT_PHASE_OTHER, phase_raw="musing"),
        Part(image=_PNG, item_id="ig_1"),
        Part(server_tool_call=ServerToolCall(id="ws_1", kind_raw="web_search_call", input_json="{}"), item_id="ws_1"),
        Part(
            compaction=part_pb.Compaction(),
            opaque=[OpaqueState(kind=OPAQUE_KIND_COMPACTION, origin=PROTOCOL_RESPONSES, value=b"X")],
            item_id="cmp_1",
        ),
    )
    written, notes = _input(_HI, turn, _HI, caller=None, service="s")
    assert written[1:-1] == [
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "s"}],
            "content": [{"type": "reasoning_text", "text": "t"}],
            "encrypted_content": "QUJD",
        },
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [
                {"type": "output_text", "text": "a", "annotations": []},
                {"type": "refusal", "refusal": "b"},
            ],
        },
        {
            "type": "message",
            "id": "msg_2",
            "role": "assistant",
            "status": "completed",
            "phase": "musing",
            "content": [{"type": "output_text", "text": "c", "annotations": []}],
        },
        {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": "QUJD"},
        {"type": "web_search_call", "id": "ws_1", "action": {}},
        {"type": "compaction", "id": "cmp_1", "encrypted_content": "X"},
    ]
    assert notes == []


def test_ids_stay_behind_where_the_reasoning_does() -> None:
    """The API refuses an item that was made after reasoning which does not come along."""
    turn = _model(
        Part(reasoning=Reasoning(summaries=["s"]), opaque=[_ELSEWHERE], item_id="rs_1"),
        Part(text="a", item_id="msg_1"),
        Part(refusal="no", item_id="msg_1"),
        Part(tool_call=ToolCall(id="c1", name="f", arguments_json="{}"), item_id="fc_1"),
    )
    written, notes = _input(_HI, turn, _results(ToolResult(call_id="c1", text="1")), caller=None, service="s")
    assert written[1:] == [
        {"role": "assistant", "content": "a"},
        {
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "refusal", "refusal": "no"}],
        },
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "1"},
    ]
    assert notes == [
        "DROPPED REASONING_STATE messages[1].parts[0].opaque",
        "DROPPED REASONING_HISTORY messages[1].parts[0]",
    ]


def test_calls_and_results() -> None:
    long_id = "x" * 70
    calls = _model(
        Part(tool_call=ToolCall(id=long_id, name="fs.read")),
        Part(tool_call=ToolCall(id="c2", name="g", custom_text="free")),
        Part(tool_call=ToolCall(id="c3", name="h", arguments_json='{"a":')),
    )
    pieces = part_pb.Parts(parts=[Part(text="see"), Part(image=_PNG)])
    results = _results(
        ToolResult(call_id=long_id, is_error=True, parts=pieces),
        ToolResult(call_id="c2", is_error=True, text="bad"),
        ToolResult(call_id="c3", object_json='{"b":1}'),
    )
    results.parts[0].cache_breakpoint.SetInParent()
    written, notes = _input(_HI, calls, results)
    short_id = written[1]["call_id"]
    assert len(short_id) <= 64
    assert written[1:] == [
        {"type": "function_call", "call_id": short_id, "name": "fs_read", "arguments": "{}"},
        {"type": "custom_tool_call", "call_id": "c2", "name": "g", "input": "free"},
        {"type": "function_call", "call_id": "c3", "name": "h", "arguments": '{"a":'},
        {
            "type": "function_call_output",
            "call_id": short_id,
            "output": [
                {"type": "input_text", "text": "Error:"},
                {"type": "input_text", "text": "see"},
                {"type": "input_image", "image_url": "data:image/png;base64,QUJD", "detail": "auto"},
            ],
        },
        {"type": "custom_tool_call_output", "call_id": "c2", "output": "Error: bad"},
        {"type": "function_call_output", "call_id": "c3", "output": '{"b":1}'},
    ]
    assert notes == [
        "RENAMED TOOL_NAME messages[1].parts[0].tool_call.name",
        "RENAMED TOOL_CALL_ID messages[1].parts[0].tool_call.id",
        "RENAMED TOOL_CALL_ID messages[2].parts[0].tool_result.call_id",
        "APPROXIMATED TOOL_RESULT_ERROR messages[2].parts[0].tool_result.is_error",
        "DROPPED CACHE_BREAKPOINT messages[2].parts[0].cache_breakpoint",
        "APPROXIMATED TOOL_RESULT_ERROR messages[2].parts[1].tool_result.is_error",
    ]


def test_raw_items_of_this_protocol_go_back() -> None:
    raw = Part(raw=part_pb.RawPart(protocol=PROTOCOL_RESPONSES, type="computer_call_output", body_json='{"type":"x"}'))
    request = MessageRequest(messages=[Message(role=pb.ROLE_TOOL, parts=[raw])])
    request.provider_state.previous_response_id = "resp_1"
    body, notes = write(request, context_of(request, caller=None))
    assert (body["input"], body["previous_response_id"], notes) == ([{"type": "x"}], "resp_1", [])


@pytest.mark.parametrize("caller", [Protocol.ANTHROPIC, Protocol.GEMINI])
def test_a_begun_answer_is_dropped(caller: Protocol) -> None:
    written, notes = _input(_HI, _model(Part(text="{")), caller=caller)
    assert written == [{"role": "user", "content": "Hi"}]
    assert notes == ["DROPPED PREFILL messages[1]"]


def test_an_answer_at_the_end_that_is_no_beginning_stays() -> None:
    paused = _model(Part(text="a"), Part(server_tool_call=ServerToolCall(kind_raw="web_search_call", input_json="{}")))
    assert len(_input(_HI, paused, caller=Protocol.ANTHROPIC)[0]) == 3
    assert len(_input(_HI, _model(Part(text="a")))[0]) == 2


def test_documents_of_the_request_go_to_the_last_user() -> None:
    document = Document(text="words", title="T")
    piece = {"type": "input_text", "text": "T\n\nwords"}
    for messages, expected in (
        ([_HI], [{"role": "user", "content": [piece, {"type": "input_text", "text": "Hi"}]}]),
        (
            [_user(Part(text="Q")), _model(Part(text="a"))],
            [{"role": "user", "content": [piece, {"type": "input_text", "text": "Q"}]}, _easy("a")],
        ),
        (
            [Message(role=pb.ROLE_SYSTEM, text="S")],
            [{"role": "system", "content": "S"}, {"role": "user", "content": [piece]}],
        ),
    ):
        body, notes = write(MessageRequest(messages=messages, documents=[document]))
        assert body["input"] == expected
        assert notes == ["APPROXIMATED RAG_DOCUMENTS documents", "APPROXIMATED DOCUMENT documents[0].document"]


def test_state_of_this_provider_comes_back_through_any_envelope() -> None:
    """What another protocol's reader has unsealed is written plain."""
    turn = _model(Part(reasoning=Reasoning(), opaque=[_OWN], item_id="rs_1"), Part(text="a"))
    written, _ = _input(_HI, turn, _HI, caller=Protocol.ANTHROPIC, service="s")
    assert written[1]["encrypted_content"] == "QUJD"
    assert seal(_OWN) != "QUJD"
