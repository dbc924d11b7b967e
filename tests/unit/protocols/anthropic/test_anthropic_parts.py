"""Parts of other callers as content blocks of a request."""

from __future__ import annotations

import json
from typing import Any

import pytest
from google.protobuf.duration_pb2 import Duration

from fluxrpc.ir.build import assistant, tool_result, user
from fluxrpc.protocols.base import Protocol
from fluxrpc.v1 import part_pb2 as pb
from fluxrpc.v1.message_pb2 import MessageRequest
from fluxrpc.v1.part_pb2 import Media, Part
from fluxrpc.v1.protocol_pb2 import (
    OPAQUE_KIND_COMPACTION,
    OPAQUE_KIND_ENCRYPTED_REASONING,
    OPAQUE_KIND_REDACTED_REASONING,
    OPAQUE_KIND_SEARCH_INDEX,
    OPAQUE_KIND_SIGNATURE,
    PROTOCOL_ANTHROPIC,
    PROTOCOL_COHERE,
    PROTOCOL_GEMINI,
    PROTOCOL_OPENAI,
    PROTOCOL_RESPONSES,
    Extra,
    OpaqueState,
)
from tests.unit.protocols.anthropic.saying import HI, write

P = "messages[0].parts[0]"
A = "messages[1].parts[0]"


def own(value: bytes, kind: int = OPAQUE_KIND_SIGNATURE, service: str = "") -> OpaqueState:
    return OpaqueState(kind=kind, origin=PROTOCOL_ANTHROPIC, value=value, service=service)  # type: ignore[arg-type]


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def document(**fields: Any) -> Part:
    return Part(document=pb.Document(**fields))


def source(**fields: Any) -> dict[str, Any]:
    return {"type": "document", "source": fields}


MEDIA: dict[str, tuple[Part, dict[str, Any] | None, list[str]]] = {
    "jpg": (
        Part(image=Media(mime_type="IMAGE/JPG; charset=x", data=b"ABC")),
        {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "QUJD"}},
        [],
    ),
    "svg": (
        Part(image=Media(mime_type="image/svg+xml", data=b"ABC")),
        None,
        [f"dropped MEDIA_TYPE {P}.image.mime_type"],
    ),
    "url": (
        Part(image=Media(url="https://a.test/a.png", detail=pb.MEDIA_DETAIL_HIGH)),
        {"type": "image", "source": {"type": "url", "url": "https://a.test/a.png"}},
        [f"dropped IMAGE_DETAIL {P}.image.detail"],
    ),
    "gs": (Part(image=Media(url="gs://b/a.png")), None, [f"dropped IMAGE_URL {P}.image.url"]),
    "file of another": (Part(image=Media(file_id="f")), None, [f"dropped FILE_ID {P}.image.file_id"]),
    "audio": (Part(audio=Media(mime_type="audio/wav", data=b"x")), None, [f"dropped AUDIO {P}"]),
    "spoken": (Part(audio=Media(file_id="a", transcript="words")), text("words"), [f"approximated AUDIO {P}"]),
    "video": (Part(video=Media(url="https://a.test/a.mp4")), None, [f"dropped VIDEO {P}"]),
    "pdf": (
        document(media=Media(mime_type="Application/PDF", data=b"ABC", filename="a.pdf"), context="c"),
        source(type="base64", media_type="application/pdf", data="QUJD") | {"title": "a.pdf", "context": "c"},
        [],
    ),
    "text file": (
        document(media=Media(mime_type="text/csv", data=b"a,b\xff")),
        source(type="text", media_type="text/plain", data="a,b\ufffd"),
        [],
    ),
    "word file": (
        document(media=Media(mime_type="application/msword", data=b"x")),
        None,
        [f"dropped MEDIA_TYPE {P}.document.media.mime_type"],
    ),
    "pdf by url": (
        document(media=Media(url="https://a.test/a.pdf"), title="T"),
        source(type="url", url="https://a.test/a.pdf") | {"title": "T"},
        [],
    ),
    "pdf by gs": (document(media=Media(url="gs://b/a")), None, [f"dropped DOCUMENT_URL {P}.document.media.url"]),
    "record": (
        document(data_json='{"title":"T","sum":5}', id="d1"),
        source(type="text", media_type="text/plain", data='{"title":"T","sum":5}') | {"title": "d1"},
        [],
    ),
    "passages": (
        document(parts=pb.Parts(parts=[Part(text="p"), Part(text="")]), citations=True),
        source(type="content", content=[text("p")]) | {"citations": {"enabled": True}},
        [f"dropped EMPTY_CONTENT {P}.document.parts.parts[1]"],
    ),
    "search result": (
        document(text="found", source="https://a.test", title="T"),
        {"type": "search_result", "source": "https://a.test", "title": "T", "content": [text("found")]},
        [],
    ),
    "raw of another": (
        Part(raw=pb.RawPart(protocol=PROTOCOL_OPENAI, type="x", body_json="{}")),
        None,
        [f"dropped RAW_PART {P}"],
    ),
    "breakpoint": (
        Part(text="t", cache_breakpoint=pb.CacheBreakpoint(ttl=Duration(seconds=1800))),
        text("t") | {"cache_control": {"type": "ephemeral", "ttl": "1h"}},
        [f"approximated CACHE_BREAKPOINT {P}.cache_breakpoint.ttl"],
    ),
    "short breakpoint": (
        Part(text="t", cache_breakpoint=pb.CacheBreakpoint(ttl=Duration(seconds=299, nanos=1))),
        text("t") | {"cache_control": {"type": "ephemeral", "ttl": "5m"}},
        [f"approximated CACHE_BREAKPOINT {P}.cache_breakpoint.ttl"],
    ),
    "extras": (
        Part(
            text="t",
            extras=[
                Extra(protocol=PROTOCOL_ANTHROPIC, key="new", value_json="1"),
                Extra(protocol=PROTOCOL_OPENAI, key="old", value_json="1"),
            ],
        ),
        text("t") | {"new": 1},
        [f"dropped EXTRA_FIELD {P}.old"],
    ),
}


@pytest.mark.parametrize(("part", "expected", "notes"), MEDIA.values(), ids=MEDIA.keys())
def test_what_the_user_says(part: Part, expected: dict[str, Any] | None, notes: list[str]) -> None:
    written = write(MessageRequest(messages=[user([part, Part(text=".")])]), caller=Protocol.OPENAI)
    content = [text(".")] if expected is None else [expected, text(".")]
    assert written.body["messages"] == [{"role": "user", "content": content}]
    assert written.notes == notes


def test_files_of_typed_callers_are_their_providers() -> None:
    written = write(MessageRequest(messages=[user([Part(image=Media(file_id="f"))])]))
    assert written.body["messages"][0]["content"] == [{"type": "image", "source": {"type": "file", "file_id": "f"}}]


def web(*opaque: OpaqueState) -> pb.Citation:
    found = pb.CitationSource(kind=pb.CITATION_SOURCE_KIND_URL, url="https://a.test", cited_text="c")
    return pb.Citation(kind_raw="web_search_result_location", sources=[found], opaque=opaque)


WEB = {"type": "web_search_result_location", "cited_text": "c", "url": "https://a.test", "encrypted_index": "E"}

SAID: dict[str, tuple[Part, dict[str, Any] | None, list[str]]] = {
    "refusal": (Part(refusal="No."), text("No."), [f"approximated REFUSAL_HISTORY {A}"]),
    "plan": (Part(text="p", phase=pb.TEXT_PHASE_PLAN), text("p"), []),
    "remark": (Part(text="p", phase=pb.TEXT_PHASE_COMMENTARY), text("p"), [f"dropped TEXT_PHASE {A}.phase"]),
    "citations": (
        Part(text="t", citations=[web(own(b"E", OPAQUE_KIND_SEARCH_INDEX)), web(), pb.Citation(start=0, end=1)]),
        text("t") | {"citations": [WEB]},
        [f"dropped CITATION_HISTORY {A}.citations[1]", f"dropped CITATION_HISTORY {A}.citations[2]"],
    ),
    "foreign citations": (
        Part(text="t", citations=[web()]),
        text("t"),
        [f"dropped CITATION_HISTORY {A}.citations[0]"],
    ),
    "image": (Part(image=Media(url="https://a.test")), None, [f"dropped IMAGE {A}"]),
    "document": (document(text="d"), None, [f"dropped DOCUMENT {A}"]),
    "thinking": (
        Part(reasoning=pb.Reasoning(text="hm"), opaque=[own(b"S")]),
        {"type": "thinking", "thinking": "hm", "signature": "S"},
        [],
    ),
    "thinking of another service": (
        Part(reasoning=pb.Reasoning(text="hm"), opaque=[own(b"S", service="other")]),
        None,
        [f"dropped REASONING_HISTORY {A}"],
    ),
    "redacted": (
        Part(reasoning=pb.Reasoning(redacted=True), opaque=[own(b"R", OPAQUE_KIND_REDACTED_REASONING)]),
        {"type": "redacted_thinking", "data": "R"},
        [],
    ),
    "redacted by another": (
        Part(reasoning=pb.Reasoning(redacted=True)),
        None,
        [f"dropped REASONING_HISTORY {A}"],
    ),
    "encrypted": (
        Part(
            reasoning=pb.Reasoning(summaries=["a"]),
            opaque=[OpaqueState(kind=OPAQUE_KIND_ENCRYPTED_REASONING, origin=PROTOCOL_RESPONSES, value=b"x")],
        ),
        None,
        [f"dropped REASONING_HISTORY {A}"],
    ),
    "signed text": (
        Part(text="t", opaque=[OpaqueState(kind=OPAQUE_KIND_SIGNATURE, origin=PROTOCOL_GEMINI, value=b"x")]),
        text("t"),
        [f"dropped REASONING_STATE {A}.opaque"],
    ),
    "compaction": (
        Part(compaction=pb.Compaction(text="c"), opaque=[own(b"E", OPAQUE_KIND_COMPACTION)]),
        {"type": "compaction", "encrypted_content": "E", "content": "c"},
        [],
    ),
    "compaction by another": (
        Part(compaction=pb.Compaction(text="c")),
        text("c"),
        [f"approximated COMPACTION {A}"],
    ),
    "unreadable compaction": (Part(compaction=pb.Compaction()), None, [f"dropped COMPACTION {A}"]),
    "own server tool": (
        Part(server_tool_call=pb.ServerToolCall(id="s", kind_raw="web_fetch", input_json='{"url":"u"}')),
        {"type": "server_tool_use", "id": "s", "name": "web_fetch", "input": {"url": "u"}},
        [],
    ),
    "server tool of another": (
        Part(server_tool_call=pb.ServerToolCall(id="s", kind_raw="web_search_call")),
        None,
        [f"dropped SERVER_TOOL_HISTORY {A}"],
    ),
    "its result": (
        Part(server_tool_result=pb.ServerToolResult(kind_raw="codeExecutionResult")),
        None,
        [f"dropped SERVER_TOOL_HISTORY {A}"],
    ),
}


@pytest.mark.parametrize(("part", "expected", "notes"), SAID.values(), ids=SAID.keys())
def test_what_the_model_said(part: Part, expected: dict[str, Any] | None, notes: list[str]) -> None:
    written = write(
        MessageRequest(messages=[HI, assistant([part, Part(text=".")]), HI]), caller=Protocol.OPENAI, service="svc"
    )
    content = [text(".")] if expected is None else [expected, text(".")]
    assert written.body["messages"][1]["content"] == content
    assert written.notes == notes


ARGUMENTS = {
    "": "{}",
    " \n": "{}",
    "{}": "{}",
    "[1,2]": '{"value":[1,2]}',
    '{"a":': '{"INVALID_JSON":"{\\"a\\":"}',
    '{"id":9007199254740993,"f":1.50}': '{"id":9007199254740993,"f":1.50}',
}


@pytest.mark.parametrize(("arguments", "expected"), ARGUMENTS.items())
def test_arguments_become_objects(arguments: str, expected: str) -> None:
    part = Part(tool_call=pb.ToolCall(id="c", name="f", arguments_json=arguments))
    written = write(MessageRequest(messages=[HI, assistant([part])]))
    assert f'"input":{expected}'.encode() in written.text
    is_wrapped = arguments[:1] == "[" or "INVALID" in expected
    assert written.notes == (
        ["approximated TOOL_ARGUMENTS messages[1].parts[0].tool_call.arguments_json"] if is_wrapped else []
    )


def test_deep_arguments_break_nothing() -> None:
    part = Part(tool_call=pb.ToolCall(id="c", name="f", arguments_json="[" * 100_000))
    written = write(MessageRequest(messages=[HI, assistant([part])]))
    assert json.loads(written.text)["messages"][1]["content"][0]["input"].keys() == {"INVALID_JSON"}


def test_ids_and_names_become_legal_on_both_sides() -> None:
    calls = [
        Part(tool_call=pb.ToolCall(id=call_id, name="fs.read", custom_text="x"))
        for call_id in ("functions.Bash:0", "functions.Bash.0")
    ]
    messages = [HI, assistant(calls), tool_result("functions.Bash:0", "A"), tool_result("functions.Bash.0", "B")]
    written = write(MessageRequest(messages=messages))
    _, asked, answered = written.body["messages"]
    ids = [block["id"] for block in asked["content"]]
    assert ids == [block["tool_use_id"] for block in answered["content"]]
    assert len(set(ids)) == 2
    assert asked["content"][0]["name"] == "fs_read"
    assert asked["content"][0]["input"] == {"input": "x"}
    assert written.context.tool_names == {"fs_read": "fs.read"}
    assert written.notes == [
        "renamed TOOL_CALL_ID messages[1].parts[0].tool_call.id",
        "renamed TOOL_NAME messages[1].parts[0].tool_call.name",
        "renamed TOOL_CALL_ID messages[1].parts[1].tool_call.id",
    ]


R = "messages[2].parts[0]"
RESULTS: dict[str, tuple[pb.ToolResult, dict[str, Any], list[str]]] = {
    "nothing": (pb.ToolResult(), {}, []),
    "text": (pb.ToolResult(text="t", is_error=False), {"content": "t", "is_error": False}, []),
    "object": (pb.ToolResult(object_json='{"a":1}'), {"content": '{"a":1}'}, []),
    "parts": (
        pb.ToolResult(
            parts=pb.Parts(
                parts=[
                    Part(text="t"),
                    Part(audio=Media(mime_type="audio/wav", data=b"x")),
                    Part(image=Media(mime_type="image/png", data=b"ABC")),
                    document(data_json='{"a":1}', id="d1"),
                    Part(raw=pb.RawPart(protocol=PROTOCOL_COHERE, type="x", body_json="{}")),
                ]
            )
        ),
        {
            "content": [
                text("t"),
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}},
                source(type="text", media_type="text/plain", data='{"a":1}') | {"title": "d1"},
            ]
        },
        [
            f"dropped TOOL_RESULT_MEDIA {R}.tool_result.parts.parts[1]",
            f"dropped RAW_PART {R}.tool_result.parts.parts[4]",
        ],
    ),
    "empty parts": (
        pb.ToolResult(parts=pb.Parts(parts=[Part(text="")])),
        {},
        [f"dropped EMPTY_CONTENT {R}.tool_result.parts.parts[0]"],
    ),
}


@pytest.mark.parametrize(("result", "expected", "notes"), RESULTS.values(), ids=RESULTS.keys())
def test_results(result: pb.ToolResult, expected: dict[str, Any], notes: list[str]) -> None:
    call = Part(tool_call=pb.ToolCall(id="c", name="f"))
    answer = tool_result("c", "")
    answer.parts[0].tool_result.CopyFrom(result)
    answer.parts[0].tool_result.call_id = "c"
    written = write(MessageRequest(messages=[HI, assistant([call]), answer]))
    assert written.body["messages"][2]["content"] == [{"type": "tool_result", "tool_use_id": "c"} | expected]
    assert written.notes == notes


def test_the_last_four_breakpoints_stay() -> None:
    parts = [Part(text=str(index), cache_breakpoint=pb.CacheBreakpoint()) for index in range(6)]
    written = write(MessageRequest(messages=[user(parts)]))
    content = written.body["messages"][0]["content"]
    assert ["cache_control" in block for block in content] == [False, False, True, True, True, True]
    assert written.notes == [f"dropped CACHE_BREAKPOINT messages[0].parts[{at}].cache_breakpoint" for at in (0, 1)]
