"""Requests of Gemini callers: read, and written again for Gemini, they say the same."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from google.genai import types

from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.json_text import JsonFault
from fluxrpc.v1 import message_pb2 as msg
from fluxrpc.v1 import part_pb2, tool_pb2
from tests.unit.protocols.gemini.gemini_ways import GEMINI, context_of, read, write

USER = {"role": "user", "parts": [{"text": "?"}]}


def _content(*parts: dict[str, Any], role: str = "model") -> dict[str, Any]:
    return {"contents": [USER, {"role": role, "parts": list(parts)}]}


def _config(**config: Any) -> dict[str, Any]:
    return {"contents": [USER], "generationConfig": config}


CALL = {"functionCall": {"id": "c1", "name": "f", "args": {"n": 1, "a": 1e2}}, "thoughtSignature": "QU-_"}
RESULT = {"functionResponse": {"id": "c1", "name": "f", "response": {"output": "one"}}}

SAME = {
    "text": {"contents": [USER]},
    "several texts": _content({"text": "a"}, {"text": ""}, {"text": "b", "thoughtSignature": "QQ=="}),
    "thoughts": _content({"text": "hm", "thought": True, "thoughtSignature": "QQ"}, {"text": "x", "thought": False}),
    "instruction": {"systemInstruction": {"role": "system", "parts": [{"text": "a"}, {"text": "b"}]},
        "contents": [USER]},
    "instruction only": {"systemInstruction": {"parts": [{"text": "a"}]}, "contents": [{"role": "model",
        "parts": [{"text": "x"}]}]},
    "media": _content(
        {"inlineData": {"mimeType": "image/png", "data": "QUJD", "displayName": "a.png", "x": 1}},
        {"inlineData": {"mimeType": "audio/wav", "data": "QUJD"}, "mediaResolution": {"level": "MEDIA_RESOLUTION_LOW"}},
        {"inlineData": {"mimeType": "application/pdf", "data": "QUJD"}, "mediaResolution": {"level": "NEW",
            "numTokens": 3}},
        {"fileData": {"mimeType": "video/mp4", "fileUri": "https://any.test/v"}, "videoMetadata": {"fps": 1}},
        {"fileData": {"fileUri": "gs://b/o"}, "mediaResolution": {"numTokens": 3}},
        role="user",
    ),
    "call and result": {"contents": [USER, {"role": "model", "parts": [CALL]}, {"role": "function",
        "parts": [RESULT]}]},
    "results between texts": _content({"text": "a"}, RESULT, {"text": "b"}, role="user"),
    "result in the model's words": _content({"text": "a"}, RESULT),
    "result before the model's words": _content(RESULT, {"text": "a"}),
    "ids missing": _content({"functionCall": {"name": "f"}}, {"functionCall": {"name": "f", "args": {}}}),
    "results of every form": _content(
        *[
            {"functionResponse": {"name": "f", "response": response}}
            for response in (
                {"output": '{"a":1}'}, {"output": {"a": 1}}, {"error": "no"}, {"error": {"code": 1}},
                {"output": "x", "error": "y"}, {}, {"a": [1, 2]},
            )
        ],
        {"functionResponse": {"name": "f", "willContinue": True, "response": {"error": {"code": 1}},
                              "parts": [{"inlineData": {"mimeType": "image/png", "data": "QUJD"}}]}},
        {"functionResponse": {"name": "f", "response": {"output": "seen"},
                              "parts": [{"fileData": {"mimeType": "image/png", "fileUri": "https://x.test/i"}}]}},
        role="user",
    ),
    "server parts": _content(
        {"executableCode": {"language": "PYTHON", "code": "1"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_FAILED"}, "thoughtSignature": "QQ"},
        {"toolCall": {"id": "t", "toolType": "GOOGLE_SEARCH_WEB", "args": {"q": "x"}}},
        {"toolResponse": {"id": "t", "toolType": "NEW", "response": {}}},
    ),
    "unknown part": _content({"newPart": {"a": 1}, "thought": True, "partMetadata": {}}, {"thoughtSignature": "QQ"}),
    "unknown fields": {"contents": [{**USER, "x": {"y": 1}}], "z": None, "a.b": 1,
        "safetySettings": [{"category": "C"}]},
    "envelope": {
        "contents": [USER], "labels": {"a_b": "x"}, "store": False, "serviceTier": "flex",
        "cachedContent": "cachedContents/x", "continuationToken": "QQ",
    },
    "other tier": {"contents": [USER], "serviceTier": "warp"},
    "knobs": _config(
        temperature=0.0, topP=1.0, topK=40, candidateCount=2, maxOutputTokens=0, stopSequences=["a", "b"], seed=-3,
        presencePenalty=-0.5, frequencyPenalty=3.5, responseLogprobs=True, logprobs=0,
            mediaResolution="MEDIA_RESOLUTION_LOW",
    ),
    "text format": _config(responseMimeType="text/plain"),
    "JSON": _config(responseMimeType="application/json"),
    "JSON schema": _config(responseMimeType="application/json", responseJsonSchema={"type": "object", "title": "T"}),
    "schema subset": _config(responseMimeType="application/json", responseSchema={"type": "OBJECT", "nullable": True}),
    "enum": _config(responseMimeType="text/x.enum", responseSchema={"type": "STRING", "enum": ["a"]}),
    "odd format": _config(responseMimeType="text/x.enum", x=1),
    "modalities": _config(responseModalities=["TEXT", "IMAGE"]),
    "odd modalities": _config(responseModalities=["TEXT", "SMELL"]),
    "speech": _config(speechConfig={"languageCode": "de", "voiceConfig": {"prebuiltVoiceConfig": {"voiceName": "K",
        "x": 1}}}),
    "speech in words": _config(speechConfig={"voiceConfig": {"replicatedVoiceConfig": {"x": 1}}}),
    "speech without voice": _config(speechConfig={"languageCode": "de"}),
    "budget": _config(thinkingConfig={"thinkingBudget": 512, "includeThoughts": True}),
    "no budget": _config(thinkingConfig={"thinkingBudget": 0, "includeThoughts": False}),
    "any budget": _config(thinkingConfig={"thinkingBudget": -1, "x": 1}),
    "level": _config(thinkingConfig={"thinkingLevel": "XHIGH"}),
    "odd level": _config(thinkingConfig={"thinkingLevel": "ULTRA"}),
    "tools": {
        "contents": [USER],
        "tools": [
            {"functionDeclarations": [
                {"name": "f.g:h", "description": "d", "parameters": {"type": "OBJECT"}, "response": {"type": "STRING"}},
                {"name": "g", "parametersJsonSchema": {"type": "object"}, "responseJsonSchema": {"type": "string"}},
                {"name": "h", "behavior": "BLOCKING"},
            ]},
            {"mcpServers": [{"name": "m", "streamableHttpTransport": {
                "url": "https://m.test", "headers": {"Authorization": "Bearer t", "x": "y"}, "timeout": "3s"}}]},
            {"mcpServers": [{"name": "n", "streamableHttpTransport": {"url": "https://n.test"}, "y": 1}]},
            {"googleSearch": {"timeRangeFilter": {}}},
            {"googleSearchRetrieval": {}},
            {"codeExecution": {}},
            {"computerUse": {"environment": "ENVIRONMENT_BROWSER"}},
            {"newTool": {"a": 1}},
        ],
        "toolConfig": {
            "functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f.g:h"], "x": 1},
            "includeServerSideToolInvocations": True,
        },
    },
    "odd mode": {"contents": [USER], "toolConfig": {"functionCallingConfig": {"mode": "NEW"}}},
    "names alone": {"contents": [USER], "toolConfig": {"functionCallingConfig": {"allowedFunctionNames": ["f"]}}},
    "tool config": {"contents": [USER], "toolConfig": {"retrievalConfig": {"languageCode": "de"}}},
}  # fmt: skip


@pytest.mark.parametrize("body", SAME.values(), ids=SAME)
def test_comes_back(body: dict[str, Any]) -> None:
    written, notes = write(context_of(read(body), caller=Protocol.GEMINI))
    assert written == body
    assert notes == set()


NORMALISED = {
    "snake_case": (
        {"system_instruction": {"parts": [{"text": "S"}]},
            "contents": [{"parts": [{"inline_data": {"mime_type": "image/png", "data": "QU_-"}}]}],
         "generation_config": {"max_output_tokens": 9, "stop_sequences": ["Z"]}},
        {"systemInstruction": {"parts": [{"text": "S"}]}, "contents": [{"role": "user",
            "parts": [{"inlineData": {"mimeType": "image/png", "data": "QU/+"}}]}],
         "generationConfig": {"maxOutputTokens": 9, "stopSequences": ["Z"]}},
    ),
    "one Tool object each": (
        {"contents": [USER], "tools": [{"functionDeclarations": [{"name": "f"}], "googleSearch": {}},
            {"functionDeclarations": [{"name": "g"}]}]},
        {"contents": [USER], "tools": [{"functionDeclarations": [{"name": "f"}, {"name": "g"}]}, {"googleSearch": {}}]},
    ),
    "result without its call's id": (
        {"contents": [{"role": "model", "parts": [CALL]}, {"parts": [{"functionResponse": {"name": "f"}}]}]},
        {"contents": [{"role": "model", "parts": [CALL]},
                      {"role": "user", "parts": [{"functionResponse": {"id": "c1", "name": "f",
                          "response": {"output": ""}}}]}]},
    ),
    "schema without a media type": (
        _config(responseSchema={"type": "OBJECT"}),
        _config(responseSchema={"type": "OBJECT"}, responseMimeType="application/json"),
    ),
    "empty objects": ({"contents": [USER], "generationConfig": {"thinkingConfig": {}}, "toolConfig": {}},
        {"contents": [USER]}),
    "no content": ({"contents": [USER, {"role": "model"}]}, {"contents": [USER]}),
    "transport missing": (
        {"contents": [USER], "tools": [{"mcpServers": [{"name": "m"}]}]},
        {"contents": [USER], "tools": [{"mcpServers": [{"name": "m", "streamableHttpTransport": {"url": ""}}]}]},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), NORMALISED.values(), ids=NORMALISED)
def test_is_normalised(body: dict[str, Any], expected: dict[str, Any]) -> None:
    written, _ = write(context_of(read(body), caller=Protocol.GEMINI))
    assert written == expected


@pytest.mark.parametrize("name", [
    "text", "several texts", "thoughts", "results between texts", "ids missing", "knobs", "text format", "JSON schema",
    "schema subset", "enum", "modalities", "budget", "level",
])  # fmt: skip
def test_the_sdk_agrees(name: str) -> None:
    """What the table holds is Gemini's: its own types take it."""
    for content in SAME[name]["contents"]:
        types.Content.model_validate(content)
    types.GenerationConfig.model_validate(SAME[name].get("generationConfig", {}))


def test_calls_and_results_pair_by_name_and_order() -> None:
    message = read({"contents": [
        USER,
        {"role": "model", "parts": [{"functionCall": {"name": name}} for name in ("f", "g", "f")]},
        {"parts": [{"functionResponse": {"name": name, "response": {}}} for name in ("g", "f", "f", "h")]},
    ]})  # fmt: skip
    assert [part.tool_call.id for part in message.messages[1].parts] == ["call_gw_1_0", "call_gw_1_1", "call_gw_1_2"]
    ids = [part.tool_result.call_id for part in message.messages[2].parts]
    assert ids == ["call_gw_1_1", "call_gw_1_0", "call_gw_1_2", "call_gw_2_3"]


def test_reads_what_others_need() -> None:
    message = read(SAME["media"])
    image, audio, pdf, video, other = message.messages[1].parts
    assert image.image == part_pb2.Media(mime_type="image/png", data=b"ABC", filename="a.png")
    assert audio.audio.detail == part_pb2.MEDIA_DETAIL_LOW
    assert (pdf.document.media.detail, pdf.document.media.detail_raw) == (part_pb2.MEDIA_DETAIL_OTHER, "NEW")
    assert video.video.url == "https://any.test/v"
    assert other.document.media.url == "gs://b/o"
    message = read(SAME["server parts"])
    code, result, failed, search, unknown = message.messages[1].parts
    assert code.server_tool_call.kind == tool_pb2.SERVER_TOOL_KIND_CODE
    assert (result.server_tool_result.error_code, failed.server_tool_result.error_code) == ("", "OUTCOME_FAILED")
    assert (search.server_tool_call.id, search.server_tool_call.kind) == ("t", tool_pb2.SERVER_TOOL_KIND_WEB_SEARCH)
    assert unknown.server_tool_result.kind == tool_pb2.SERVER_TOOL_KIND_OTHER
    message = read(SAME["any budget"])
    assert message.reasoning.mode == msg.REASONING_MODE_ADAPTIVE
    message = read(SAME["tools"])
    assert message.tools[3].mcp.authorization_token == "t"
    assert message.tools[0].function.dialect == tool_pb2.SCHEMA_DIALECT_OPENAPI_SUBSET
    assert read(SAME["text"]).messages[0].text == "?"


def test_state_of_others_comes_out_of_its_envelope() -> None:
    sealed = {
        "thinking": "gw1.anthropic.a.claude-x.signature.UVE",
        "redacted": "gw1.anthropic.a.claude-x.redacted_reasoning.UVE",
        "compaction": "gw1.anthropic.a.claude-x.compaction.UVE",
    }
    parts = [
        {"text": name, "thought": True, "thoughtSignature": base64.urlsafe_b64encode(text.encode()).decode()}
        for name, text in sealed.items()
    ]
    signatures = [base64.b64encode(text).decode() for text in (b"gw1.", b"gw1.\xff")]
    for own in (*signatures, "Z3cxL$", "sig$"):
        [state] = read(_content({"text": "a", "thoughtSignature": own})).messages[1].parts[0].opaque
        assert state.value == own.encode()
    thinking, redacted, compaction = read(_content(*parts)).messages[1].parts
    assert (thinking.opaque[0].value, thinking.reasoning.redacted) == (b"QQ", False)
    assert redacted.reasoning.redacted
    assert compaction.compaction.text == "compaction"


def test_places() -> None:
    places: dict[str, str] = {}
    body = {
        "systemInstruction": {"parts": [{"text": "s"}]},
        "contents": [USER, {"parts": [RESULT, {"text": "a"}]}],
        "tools": [{"googleSearch": {}}, {"functionDeclarations": [{"name": "f"}]}],
    }
    GEMINI.read_request(json.dumps(body).encode(), places=places)
    assert places["messages[0]"] == "systemInstruction"
    assert places["messages[1].text"] == "contents[0].parts[0]"
    assert places["messages[2].parts[0]"] == "contents[1].parts[0]"
    assert places["messages[3].text"] == "contents[1].parts[1]"
    assert places["tools[0]"] == "tools[0].googleSearch"
    assert places["tools[1]"] == "tools[1].functionDeclarations[0]"


FAULTS = {
    "contents": {"contents": 1},
    "contents[0]": {"contents": [1]},
    "contents[0].role": {"contents": [{"role": "assistant"}]},
    "contents[0].parts[0].text": {"contents": [{"parts": [{"text": 1}]}]},
    "contents[0].parts[0].inlineData.data": {"contents": [{"parts": [{"inlineData": {"data": "$"}}]}]},
    "contents[0].parts[0].functionResponse.response": {"contents": [{"parts": [{"functionResponse": {"response": [
        ]}}]}]},
    "contents[0].parts[0].toolCall": {"contents": [{"parts": [{"toolCall": {"id": 1}}]}]},
    "contents[0].parts[0].executableCode": {"contents": [{"parts": [{"executableCode": 1}]}]},
    "generationConfig.topK": {"generationConfig": {"topK": 2**63}},
    "generationConfig.candidateCount": {"generationConfig": {"candidateCount": -1}},
    "labels": {"labels": {"a": 1}},
}  # fmt: skip


@pytest.mark.parametrize(("path", "body"), FAULTS.items(), ids=FAULTS)
def test_wrong_types_are_named(path: str, body: dict[str, Any]) -> None:
    with pytest.raises(JsonFault) as caught:
        read(body)
    assert caught.value.path == path
