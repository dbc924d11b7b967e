"""Requests of other callers, written for Gemini."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from fluxrpc.errors import InvalidRequest
from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.notes import Notes
from tests.unit.protocols.gemini.gemini_ways import GEMINI, asked, context_of, message_of, write

ABC = base64.b64encode(b"ABC").decode()
USER = {"role": "ROLE_USER", "text": "?"}
WIRE_USER = {"role": "user", "parts": [{"text": "?"}]}
GEMINI_STATE = {
    "kind": "OPAQUE_KIND_SIGNATURE",
    "origin": "PROTOCOL_GEMINI",
    "value": base64.b64encode(b"SIG").decode(),
}
FOREIGN_STATE = {**GEMINI_STATE, "origin": "PROTOCOL_ANTHROPIC"}
FOREIGN_EXTRA = {"protocol": "PROTOCOL_OPENAI", "key": "x", "valueJson": "1"}


def _said(*parts: dict[str, Any], role: str = "ROLE_USER") -> dict[str, Any]:
    return {"messages": [USER, {"role": role, "parts": list(parts)}]}


def _parts(*parts: dict[str, Any], **options: Any) -> tuple[list[dict[str, Any]], set[str]]:
    """What stands for parts that the user said, in a content of their own."""
    body, notes = asked({"messages": [{"role": "ROLE_USER", "parts": list(parts)}]}, **options)
    return body["contents"][0]["parts"], notes


def _call(call_id: str, name: str, arguments: str | None = "{}", **fields: Any) -> dict[str, Any]:
    call = {"id": call_id, "name": name} | ({} if arguments is None else {"argumentsJson": arguments})
    return {"toolCall": call, **fields}


def _result(call_id: str, **output: Any) -> dict[str, Any]:
    return {"role": "ROLE_TOOL", "parts": [{"toolResult": {"callId": call_id, **output}}]}


def _loop(*results: dict[str, Any], calls: tuple[dict[str, Any], ...] = (), **fields: Any) -> dict[str, Any]:
    calls = calls or (_call("c1", "temp"), _call("c2", "wind", '{"u":"kn"}'))
    return {"messages": [USER, {"role": "ROLE_ASSISTANT", "parts": list(calls)}, *results], **fields}


# --- the conversation ---


def test_results_follow_their_calls_with_names_and_as_objects() -> None:
    request = _loop(_result("c2", text="strong"), _result("c1", text='{"deg":7}'))
    body, notes = asked(request)
    assert body["contents"] == [
        WIRE_USER,
        {"role": "model", "parts": [
            {"functionCall": {"id": "c1", "name": "temp", "args": {}}},
            {"functionCall": {"id": "c2", "name": "wind", "args": {"u": "kn"}}},
        ]},
        {"role": "user", "parts": [
            {"functionResponse": {"id": "c1", "name": "temp", "response": {"deg": 7}}},
            {"functionResponse": {"id": "c2", "name": "wind", "response": {"output": "strong"}}},
        ]},
    ]  # fmt: skip
    assert {note.split()[1] for note in notes} == {"TOOL_RESULT_ORDER"}


@pytest.mark.parametrize(("output", "response"), [
    ({"text": "[1,2]"}, {"output": "[1,2]"}),
    ({"text": "null"}, {"output": "null"}),
    ({}, {"output": ""}),
    ({"text": "no", "isError": True}, {"error": "no"}),
    ({"objectJson": '{"a":1}'}, {"a": 1}),
    ({"objectJson": '{"a":1}', "isError": True}, {"error": {"a": 1}}),
    ({"objectJson": '{"error":1}', "isError": True}, {"error": 1}),
    ({"parts": {"parts": [{"text": "a"}, {"text": "b"}]}}, {"output": "a\nb"}),
])  # fmt: skip
def test_results_are_objects(output: dict[str, Any], response: dict[str, Any]) -> None:
    body, _ = asked(_loop(_result("c1", **output), calls=(_call("c1", "f"),)))
    assert body["contents"][2]["parts"] == [{"functionResponse": {"id": "c1", "name": "f", "response": response}}]


@pytest.mark.parametrize(("arguments", "args", "noted"), [
    ("", {}, False), (" \n", {}, False), ('{"a":1}', {"a": 1}, False),
    ("[1]", {"value": [1]}, True), ("{a", {"INVALID_JSON": "{a"}, True),
])  # fmt: skip
def test_arguments_are_objects(arguments: str, args: dict[str, Any], noted: bool) -> None:
    body, notes = asked(_loop(_result("c1", text="x"), calls=(_call("c1", "f", arguments),)))
    assert body["contents"][1]["parts"][0]["functionCall"]["args"] == args
    place = "messages[1].parts[0].tool_call.arguments_json"
    assert notes == ({f"APPROXIMATED TOOL_ARGUMENTS {place}"} if noted else set())


def test_made_up_ids_are_not_shown() -> None:
    body, _ = asked(_loop(_result("call_gw_1_0", text="x"), calls=(_call("call_gw_1_0", "f", None),)))
    assert body["contents"][1]["parts"] == [{"functionCall": {"name": "f"}}]
    assert "id" not in body["contents"][2]["parts"][0]["functionResponse"]


MEDIA_RESULT = {"parts": {"parts": [{"text": "seen"}, {"image": {"mimeType": "image/png", "data": ABC}}]}}
IMAGE = {"inlineData": {"mimeType": "image/png", "data": "QUJD"}}


def test_media_of_results() -> None:
    request = _loop(_result("c1", **MEDIA_RESULT), _result("c2", text="x"))
    body, _ = asked(request)
    first = body["contents"][2]["parts"][0]["functionResponse"]
    assert (first["response"], first["parts"]) == ({"output": "seen"}, [IMAGE])
    body, notes = asked(request, result_media=False)
    assert [next(iter(part)) for part in body["contents"][2]["parts"]] == [
        "functionResponse", "functionResponse", "inlineData",
    ]  # fmt: skip
    assert notes == {"APPROXIMATED TOOL_RESULT_MEDIA messages[2].parts[0].tool_result.parts"}


def test_instructions() -> None:
    request = {"messages": [
        {"role": "ROLE_SYSTEM", "text": "a"},
        {"role": "ROLE_DEVELOPER", "parts": [{"text": "b"}, {"image": {"mimeType": "image/png", "data": ABC}}]},
        {**USER, "name": "Ann"},
        {"role": "ROLE_DEVELOPER", "parts": [{"text": "c"}, {"image": {"mimeType": "image/png", "data": ABC}}]},
    ]}  # fmt: skip
    body, notes = asked(request)
    assert body["systemInstruction"] == {"parts": [{"text": "a"}, {"text": "b"}]}
    assert body["contents"] == [{"role": "user", "parts": [{"text": "?"}, {"text": "[system instruction] c"}, IMAGE]}]
    assert notes == {
        "APPROXIMATED INSTRUCTION_RANK messages",
        "DROPPED INSTRUCTION_MEDIA messages[1].parts[1]",
        "DROPPED PARTICIPANT_NAME messages[2].name",
        "EMULATED LATE_INSTRUCTIONS messages[3]",
    }


def test_instructions_alone_are_said_by_the_user() -> None:
    body, notes = asked({"messages": [{"role": "ROLE_SYSTEM", "text": "a"}]})
    assert body == {"contents": [{"role": "user", "parts": [{"text": "[system instruction] a"}]}]}
    assert notes == {"EMULATED LATE_INSTRUCTIONS messages[0]"}


def test_the_ends_of_a_conversation() -> None:
    request = {"messages": [{"role": "ROLE_ASSISTANT", "text": "a"}, USER, {"role": "ROLE_ASSISTANT", "text": "{"}]}
    body, notes = asked(request)
    assert [content["role"] for content in body["contents"]] == ["user", "model", "user", "model"]
    assert notes == {"INJECTED FIRST_TURN messages[0]"}
    body, notes = asked(request, prefill=False)
    assert [content["role"] for content in body["contents"]] == ["user", "model", "user"]
    assert "DROPPED PREFILL messages[2]" in notes


def test_turns_that_say_nothing_leave_no_gap() -> None:
    request = {"messages": [USER, {"role": "ROLE_ASSISTANT", "parts": [{"reasoning": {"text": "hm"}}]}, USER]}
    body, notes = asked(request)
    assert body["contents"] == [{"role": "user", "parts": [{"text": "?"}, {"text": "?"}]}]
    assert notes == {"DROPPED EMPTY_CONTENT messages[1]", "DROPPED REASONING_HISTORY messages[1].parts[0]"}


@pytest.mark.parametrize("messages", [[], [{"role": "ROLE_USER"}]])
def test_nothing_is_refused(messages: list[Any]) -> None:
    with pytest.raises(InvalidRequest):
        asked({"messages": messages})


def test_documents_of_the_request() -> None:
    request = {**_loop(_result("c1", text="x"), calls=(_call("c1", "f"),)), "documents": [{"title": "T", "text": "d"}]}
    body, notes = asked(request)
    assert body["contents"][2]["parts"][1] == {"text": "T\n\nd"}
    assert notes == {"APPROXIMATED RAG_DOCUMENTS documents", "APPROXIMATED DOCUMENT documents[0].document"}


# --- signatures ---


def test_the_first_call_of_each_step_is_signed() -> None:
    steps = [
        {"role": "ROLE_ASSISTANT", "parts": [_call("c1", "f"), _call("c2", "f")]}, _result("c1", text="x"),
            _result("c2", text="x"),
        {"role": "ROLE_ASSISTANT", "parts": [_call("c3", "f", opaque=[GEMINI_STATE])]}, _result("c3", text="x"),
        {"role": "ROLE_ASSISTANT", "parts": [{"text": "so"}, _call("c4", "f")]}, _result("c4", text="x"),
    ]  # fmt: skip
    body, notes = asked({"messages": [USER, *steps]}, needs_signatures=True)
    signed = [part.get("thoughtSignature") for content in body["contents"][1::2] for part in content["parts"]]
    sentinel = "skip_thought_signature_validator"
    assert signed == [sentinel, None, "SIG", None, sentinel]
    assert notes == {"INJECTED REASONING_STATE messages[1]", "INJECTED REASONING_STATE messages[6]"}
    _, notes = asked({"messages": [USER, *steps, USER]}, needs_signatures=True)
    assert notes == set()


def test_signed_where_nobody_asked() -> None:
    body, _ = write(context_of(
        {"messages": [{"role": "ROLE_ASSISTANT", "parts": [_call("c1", "f")]}, _result("c1", text="x")]},
        caller=Protocol.GEMINI, needs_signatures=True,
    ))  # fmt: skip
    assert body["contents"][0]["parts"][0]["thoughtSignature"] == "skip_thought_signature_validator"


THOUGHT = {"reasoning": {"summaries": ["a", "b"]}, "opaque": [GEMINI_STATE]}


def test_signatures_go_back_to_what_follows_the_reasoning() -> None:
    blank = {"reasoning": {"text": ""}, "opaque": [GEMINI_STATE]}
    request = _said(THOUGHT, {"text": "x"}, blank, {"text": "y"}, THOUGHT, role="ROLE_ASSISTANT")
    body, notes = asked(request, caller=Protocol.ANTHROPIC)
    assert body["contents"][1]["parts"] == [
        {"text": "a\n\nb", "thought": True},
        {"text": "x", "thoughtSignature": "SIG"},
        {"text": "y", "thoughtSignature": "SIG"},
        {"text": "a\n\nb", "thought": True, "thoughtSignature": "SIG"},
    ]
    assert notes == set()
    plain = {"reasoning": {"text": "c"}, "opaque": []}
    body, _ = asked(_said(THOUGHT, plain, {"text": "x"}, role="ROLE_ASSISTANT"), caller=Protocol.ANTHROPIC)
    assert [part.get("thoughtSignature") for part in body["contents"][1]["parts"]] == [None, "SIG"]
    body, _ = asked(_said(THOUGHT, {"text": "x"}, role="ROLE_ASSISTANT"), caller=None)
    assert body["contents"][1]["parts"][0]["thoughtSignature"] == "SIG"


def test_what_follows_keeps_its_own_signature() -> None:
    request = _said({"reasoning": {"text": "a"}, "opaque": [GEMINI_STATE]}, {"reasoning": {"text": "b"},
        "opaque": [GEMINI_STATE]},
                    _call("c1", "f", opaque=[GEMINI_STATE]), role="ROLE_ASSISTANT")  # fmt: skip
    body, _ = asked(request, caller=Protocol.ANTHROPIC)
    assert [part.get("thoughtSignature") for part in body["contents"][1]["parts"]] == ["SIG", "SIG", "SIG"]


def test_reasoning_of_others_stays_behind() -> None:
    body, notes = asked(
        _said({"reasoning": {"text": "hm"}, "opaque": [FOREIGN_STATE]}, {"text": "x"}, role="ROLE_ASSISTANT")
    )
    assert body["contents"][1]["parts"] == [{"text": "x"}]
    place = "messages[1].parts[0]"
    assert notes == {f"DROPPED REASONING_HISTORY {place}", f"DROPPED REASONING_STATE {place}.opaque"}


# --- parts ---

PNG = {"mimeType": "image/png", "data": ABC}
PARTS: dict[str, tuple[dict[str, Any], list[dict[str, Any]], set[str]]] = {
    "refusal": ({"refusal": "no"}, [{"text": "no"}], {"APPROXIMATED REFUSAL_HISTORY {}"}),
    "image": (
        {"image": {**PNG, "detail": "MEDIA_DETAIL_HIGH", "filename": "a.png"}},
        [{**IMAGE, "mediaResolution": {"level": "MEDIA_RESOLUTION_HIGH"}}],
        {"DROPPED FILE_NAME {}.image.filename"},
    ),
    "detail auto": ({"image": {**PNG, "detail": "MEDIA_DETAIL_AUTO"}}, [IMAGE], set()),
    "detail of others": (
        {"image": {**PNG, "detail": "MEDIA_DETAIL_OTHER", "detailRaw": "x"}}, [IMAGE],
            {"DROPPED IMAGE_DETAIL {}.image.detail"},
    ),
    "image in Google's storage": (
        {"image": {"mimeType": "image/png", "url": "gs://b/i"}},
        [{"fileData": {"fileUri": "gs://b/i", "mimeType": "image/png"}}], set(),
    ),
    "image elsewhere": ({"image": {"url": "https://x.test/i"}}, [], {"DROPPED IMAGE_URL {}.image"}),
    "image of others": ({"image": {"fileId": "file-1"}}, [], {"DROPPED FILE_ID {}.image.file_id"}),
    "image of the Files API": (
        {"image": {"fileId": "https://generativelanguage.googleapis.com/v1beta/files/x"}},
        [{"fileData": {"fileUri": "https://generativelanguage.googleapis.com/v1beta/files/x"}}], set(),
    ),
    "sound": (
        {"audio": {"mimeType": "audio/wav", "data": ABC}}, [{"inlineData": {"mimeType": "audio/wav",
            "data": "QUJD"}}], set(),
    ),
    "video": (
        {"video": {"url": "https://youtu.be/x"}}, [{"fileData": {"fileUri": "https://youtu.be/x"}}], set(),
    ),
    "PDF": (
        {"document": {"media": {"mimeType": "application/pdf", "data": ABC}, "title": "a.pdf", "context": "c",
            "citations": True}},
        [{"inlineData": {"mimeType": "application/pdf", "data": "QUJD"}}],
        {"DROPPED DOCUMENT_TITLE {}.document.title", "DROPPED DOCUMENT_TITLE {}.document.context",
         "DROPPED DOCUMENT_CITATIONS {}.document.citations"},
    ),
    "document elsewhere": ({"document": {"media": {"url": "https://x.test/d"}}}, [],
        {"DROPPED DOCUMENT_URL {}.document.media"}),
    "passages": (
        {"document": {"title": "T", "parts": {"parts": [{"text": "a"}, {"image": PNG}]}}}, [{"text": "T\n\na"}, IMAGE],
        {"APPROXIMATED DOCUMENT_PARTS {}.document"},
    ),
    "record": ({"document": {"dataJson": '{"a":1}'}}, [{"text": '{"a":1}'}],
        {"APPROXIMATED DOCUMENT_DATA {}.document"}),
    "code of Google's": (
        {"serverToolCall": {"kindRaw": "executableCode", "inputJson": '{"code":"1"}'}},
            [{"executableCode": {"code": "1"}}], set(),
    ),
    "result of Google's": (
        {"serverToolResult": {"kindRaw": "codeExecutionResult", "contentJson": "{}"}}, [{"codeExecutionResult": {}}],
            set(),
    ),
    "search of others": (
        {"serverToolCall": {"kindRaw": "web_search", "inputJson": "{}"}}, [], {"DROPPED SERVER_TOOL_HISTORY {}"},
    ),
    "compaction": ({"compaction": {"text": "so far"}}, [{"text": "so far"}], {"APPROXIMATED COMPACTION {}"}),
    "sealed compaction": ({"compaction": {}}, [], {"DROPPED COMPACTION {}"}),
    "raw of Google's": ({"raw": {"protocol": "PROTOCOL_GEMINI", "bodyJson": '{"newPart":1}'}}, [{"newPart": 1}], set()),
    "raw of others": ({"raw": {"protocol": "PROTOCOL_OPENAI", "bodyJson": "{}"}}, [], {"DROPPED RAW_PART {}"}),
    "nothing": ({}, [], {"DROPPED RAW_PART {}"}),
    "sides": (
        {"text": "a", "citations": [{}], "phase": "TEXT_PHASE_PLAN", "cacheBreakpoint": {}, "extras": [FOREIGN_EXTRA]},
        [{"text": "a"}],
        {"DROPPED CITATION_HISTORY {}.citations", "DROPPED TEXT_PHASE {}.phase",
         "DROPPED CACHE_BREAKPOINT {}.cache_breakpoint", "DROPPED EXTRA_FIELD {}.x"},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("part", "expected", "noted"), PARTS.values(), ids=PARTS)
def test_parts(part: dict[str, Any], expected: list[dict[str, Any]], noted: set[str]) -> None:
    written, notes = _parts({"text": "see"}, part)
    assert written == [{"text": "see"}, *expected]
    assert notes == {note.format("messages[0].parts[1]") for note in noted}


# --- tools ---

FUNCTION = {"function": {"name": "f", "strict": True}}
TOOLS: dict[str, tuple[dict[str, Any], dict[str, Any] | None, set[str]]] = {
    "function": (
        {"function": {"name": "f", "description": "d", "parametersJson": '{"type":"object"}',
            "outputSchemaJson": '{"type":"string"}'}},
        {"functionDeclarations": [{"name": "f", "description": "d", "parametersJsonSchema": {"type": "object"},
                                   "responseJsonSchema": {"type": "string"}}]},
        set(),
    ),
    "subset": (
        {"function": {"name": "f", "parametersJson": '{"type":"OBJECT"}', "dialect": "SCHEMA_DIALECT_OPENAPI_SUBSET"}},
        {"functionDeclarations": [{"name": "f", "parameters": {"type": "OBJECT"}}]}, set(),
    ),
    "renamed": (
        {"function": {"name": "a b"}}, {"functionDeclarations": [{"name": "a_b"}]},
            {"RENAMED TOOL_NAME tools[0].function.name"},
    ),
    "keywords": (
        {"function": {"name": "f", "parametersJson": '{"type":"object","not":{}}'}},
        {"functionDeclarations": [{"name": "f", "parametersJsonSchema": {"type": "object"}}]},
        {"DROPPED TOOL_SCHEMA tools[0].function.parameters_json.not"},
    ),
    "sides": (
        {"function": {"name": "f", "deferLoading": True}, "cacheBreakpoint": {}, "extras": [FOREIGN_EXTRA]},
        {"functionDeclarations": [{"name": "f"}]},
        {"DROPPED TOOL_DEFERRAL tools[0]", "DROPPED CACHE_BREAKPOINT tools[0].cache_breakpoint",
            "DROPPED EXTRA_FIELD tools[0].x"},
    ),
    "custom": (
        {"custom": {"name": "c", "description": "d", "grammar": "g"}},
        {"functionDeclarations": [{"name": "c", "description": "d", "parametersJsonSchema": {
            "type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}}]},
        {"EMULATED CUSTOM_TOOL tools[0]", "DROPPED TOOL_GRAMMAR tools[0].custom.grammar"},
    ),
    "search": (
        {"server": {"kind": "SERVER_TOOL_KIND_WEB_SEARCH", "kindRaw": "web_search", "maxUses": 2,
            "contextSize": "SEARCH_CONTEXT_SIZE_LOW"},
         "extras": [FOREIGN_EXTRA]},
        {"googleSearch": {}},
        {"DROPPED SERVER_TOOL_OPTIONS tools[0].server.max_uses",
            "DROPPED SERVER_TOOL_OPTIONS tools[0].server.context_size",
         "DROPPED SERVER_TOOL_OPTIONS tools[0].x"},
    ),
    "no such server": ({"server": {"kind": "SERVER_TOOL_KIND_TOOL_SEARCH"}}, None, {"DROPPED SERVER_TOOL tools[0]"}),
    "remote": (
        {"mcp": {"name": "m", "url": "https://m.test", "authorizationToken": "t", "allowedTools": ["a"]}},
        {"mcpServers": [{"name": "m", "streamableHttpTransport": {"url": "https://m.test",
            "headers": {"Authorization": "Bearer t"}}}]},
        {"DROPPED SERVER_TOOL_OPTIONS tools[0].mcp.allowed_tools"},
    ),
    "computer": ({"provider": {"type": "computerUse"}}, {"computerUse": {}}, set()),
    "shell": ({"provider": {"type": "bash_20250124"}}, None, {"DROPPED PROVIDER_TOOL tools[0]"}),
}  # fmt: skip


@pytest.mark.parametrize(("tool", "expected", "noted"), TOOLS.values(), ids=TOOLS)
def test_tools(tool: dict[str, Any], expected: dict[str, Any] | None, noted: set[str]) -> None:
    body, notes = asked({"tools": [tool]})
    assert body.get("tools") == (None if expected is None else [expected])
    assert notes == noted


def test_plain_custom_tools_are_undone() -> None:
    context = context_of({"tools": [{"custom": {"name": "c"}}]})
    body, _ = write(context)
    assert "description" not in body["tools"][0]["functionDeclarations"][0]
    assert context.custom_tools == {"c"}
    call = {"toolCall": {"id": "c1", "name": "c", "customText": "x"}}
    body, _ = asked(_loop(_result("c1", text="y"), calls=(call,)))
    assert body["contents"][1]["parts"][0]["functionCall"]["args"] == {"input": "x"}


def test_functions_beside_tools_of_google() -> None:
    body, notes = asked({"tools": [{"server": {"kind": "SERVER_TOOL_KIND_CODE"}}, {"function": {"name": "f"}}]})
    assert body["tools"] == [{"functionDeclarations": [{"name": "f"}]}, {"codeExecution": {}}]
    assert body["toolConfig"] == {"includeServerSideToolInvocations": True}
    assert notes == {"INJECTED SERVER_TOOL tools"}


TWO = [{"function": {"name": "f"}}, {"custom": {"name": "a b"}}]
EMULATED = {"EMULATED CUSTOM_TOOL tools[1]", "RENAMED TOOL_NAME tools[1].custom.name"}
CHOICES: dict[str, tuple[dict[str, Any], dict[str, Any] | None, set[str]]] = {
    "auto": ({"mode": "TOOL_CHOICE_MODE_AUTO"}, {"mode": "AUTO"}, set()),
    "none": ({"mode": "TOOL_CHOICE_MODE_NONE"}, {"mode": "NONE"}, set()),
    "named": (
        {"mode": "TOOL_CHOICE_MODE_REQUIRED", "names": ["a b"]}, {"mode": "ANY", "allowedFunctionNames": ["a_b"]},
            set(),
    ),
    "some": (
        {"names": ["f"]}, {"mode": "VALIDATED", "allowedFunctionNames": ["f"]},
            {"APPROXIMATED TOOL_CHOICE_ALLOWED tool_choice.names"},
    ),
    "no function": (
        {"mode": "TOOL_CHOICE_MODE_REQUIRED", "names": ["web_search"]}, {"mode": "ANY"},
            {"DROPPED TOOL_CHOICE_NAMED tool_choice.names"},
    ),
    "other": ({"mode": "TOOL_CHOICE_MODE_OTHER"}, None, {"DROPPED TOOL_CHOICE tool_choice.mode"}),
}  # fmt: skip


@pytest.mark.parametrize(("choice", "expected", "noted"), CHOICES.values(), ids=CHOICES)
def test_tool_choice(choice: dict[str, Any], expected: dict[str, Any] | None, noted: set[str]) -> None:
    body, notes = asked({"tools": TWO, "toolChoice": choice})
    assert body.get("toolConfig", {}).get("functionCallingConfig") == expected
    assert notes == noted | EMULATED


def test_strict_tools() -> None:
    body, notes = asked({"tools": [FUNCTION]})
    assert body["toolConfig"] == {"functionCallingConfig": {"mode": "VALIDATED"}}
    assert notes == {"APPROXIMATED TOOL_STRICT tools"}
    body, notes = asked({"tools": [FUNCTION, {"function": {"name": "g"}}]})
    assert "toolConfig" not in body
    assert notes == {"DROPPED TOOL_STRICT tools[0].function.strict"}


def test_choice_without_functions() -> None:
    body, notes = asked({"toolChoice": {"mode": "TOOL_CHOICE_MODE_REQUIRED"}, "parallelToolCalls": False})
    assert "toolConfig" not in body
    assert notes == {"DROPPED TOOL_CHOICE tool_choice"}


def test_calls_one_at_a_time() -> None:
    context = context_of({"tools": [{"function": {"name": "f"}}], "parallelToolCalls": False, "maxToolCalls": 3})
    _, notes = write(context)
    assert context.single_call
    assert notes == {"EMULATED PARALLEL_TOOL_CALLS parallel_tool_calls", "DROPPED MAX_TOOL_CALLS max_tool_calls"}


# --- the envelope ---


def test_envelope() -> None:
    body, notes = asked({
        "metadata": {"team": "x"}, "store": True, "serviceTier": "SERVICE_TIER_FLEX", "endUserId": "u",
            "verbosity": "VERBOSITY_LOW",
        "citationMode": "CITATION_MODE_OFF", "cache": {"key": "k"}, "extras": [FOREIGN_EXTRA],
        "providerState": {"previousResponseId": "r", "cachedContent": "c", "continuation": FOREIGN_STATE},
    })  # fmt: skip
    assert body == {
        "contents": [WIRE_USER], "labels": {"team": "x"}, "store": True, "serviceTier": "flex", "cachedContent": "c",
    }  # fmt: skip
    assert notes == {
        "DROPPED END_USER_ID end_user_id", "DROPPED VERBOSITY verbosity", "DROPPED CITATION_MODE citation_mode",
        "DROPPED CACHE_OPTIONS cache", "DROPPED EXTRA_FIELD x",
            "DROPPED PROVIDER_STATE provider_state.previous_response_id",
        "DROPPED PROVIDER_STATE provider_state.continuation",
    }  # fmt: skip


@pytest.mark.parametrize(("tier", "word", "noted"), [
    ("AUTO", None, None), ("STANDARD", "standard", None), ("FAST", "priority", "APPROXIMATED"), ("SCALE", None,
        "DROPPED"),
])  # fmt: skip
def test_service_tiers(tier: str, word: str | None, noted: str | None) -> None:
    body, notes = asked({"serviceTier": f"SERVICE_TIER_{tier}"})
    assert body.get("serviceTier") == word
    assert notes == ({f"{noted} SERVICE_TIER service_tier"} if noted else set())


def test_the_model_and_the_switch_stand_in_the_path() -> None:
    context = context_of(message_of({}))
    assert (
        GEMINI.write_request(context.request, context, Notes({})).path
        == "/v1beta/models/gemini-2.5-flash:generateContent"
    )
    context.stream = True
    path = GEMINI.write_request(context.request, context, Notes({})).path
    assert path == "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse"
