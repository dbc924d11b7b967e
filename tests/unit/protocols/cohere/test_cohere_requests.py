"""Requests of others to Cohere: what is written, and each thing that is noted on the way."""

from __future__ import annotations

import json
from typing import Any

import pytest
from google.protobuf.json_format import ParseDict

from fluxrpc.errors import InvalidRequest
from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.cohere.translator import CohereTranslator
from fluxrpc.protocols.context import Context, Target
from fluxrpc.protocols.gates import Gates
from fluxrpc.protocols.notes import Notes
from fluxrpc.v1.message_pb2 import MessageRequest
from fluxrpc.v1.outcome_pb2 import NoteAction

COHERE = CohereTranslator()
NO_GATES = Gates()
HI: dict[str, Any] = {"role": "ROLE_USER", "text": "Hi"}
HI_OUT = {"role": "user", "content": "Hi"}
PNG = {"mimeType": "image/png", "data": "QUJD"}
PNG_OUT = {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}}
CALL = {"toolCall": {"id": "c1", "name": "f", "argumentsJson": '{"a": 1.0}'}}
CALL_OUT = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1.0}'}}
REQUIRED = '{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}'
F = {"function": {"name": "f", "parametersJson": REQUIRED}}
F_OUT = {"type": "function", "function": {"name": "f", "parameters": json.loads(REQUIRED)}}
REASONS = Gates(is_reasoning=True)
NO_REASONING = Gates(takes_budget=False)


def write(fields: dict[str, Any], gates: Gates = NO_GATES) -> tuple[dict[str, Any], set[str], Context]:
    """The body without what is the same in all, the notes as `ACTION CODE path`, and the context."""
    request = ParseDict({"messages": [HI], **fields}, MessageRequest())
    target = Target(protocol=Protocol.COHERE, model="command-a", gates=gates)
    context = Context(caller=None, target=target, request=request)
    notes = Notes(COHERE.fates)
    wire = COHERE.write_request(request, context, notes)
    body = json.loads(wire.body)
    assert (wire.path, body.pop("model"), body.pop("stream")) == ("/v2/chat", "command-a", False)
    if "messages" not in fields:
        assert body.pop("messages") == [HI_OUT]
    for note in notes:
        assert note.action in COHERE.fates.get(note.code, {}), note
    words = {f"{NoteAction.Name(note.action).removeprefix('NOTE_ACTION_')} {note.code} {note.path}" for note in notes}
    return body, words, context


def user(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"messages": [{"role": "ROLE_USER", "parts": list(parts)}]}


OPTIONS: list[tuple[dict[str, Any], dict[str, Any], set[str]]] = [
    ({}, {}, set()),
    ({"maxOutputTokens": 0}, {"max_tokens": 1}, {"CLAMPED MAX_OUTPUT_TOKENS max_output_tokens"}),
    ({"temperature": 1.4, "topP": 1, "topK": 600}, {"temperature": 1, "p": 0.99, "k": 500}, {
        "CLAMPED TEMPERATURE temperature", "CLAMPED TOP_P top_p", "CLAMPED TOP_K top_k"}),
    ({"topP": 0, "topK": 0}, {"p": 0.01, "k": 0}, {"CLAMPED TOP_P top_p"}),
    ({"presencePenalty": -0.5, "frequencyPenalty": 1.5}, {"frequency_penalty": 1}, {
        "DROPPED PRESENCE_PENALTY presence_penalty", "CLAMPED FREQUENCY_PENALTY frequency_penalty"}),
    ({"presencePenalty": 0.5, "frequencyPenalty": 0.5}, {"frequency_penalty": 0.5}, {
        "DROPPED PRESENCE_PENALTY presence_penalty"}),
    ({"presencePenalty": 0.5, "frequencyPenalty": 0}, {"presence_penalty": 0.5, "frequency_penalty": 0}, set()),
    ({"seed": -3}, {"seed": 4294967293}, {"APPROXIMATED SEED seed"}),
    ({"seed": 3, "stopSequences": ["a"]}, {"seed": 3, "stop_sequences": ["a"]}, set()),
    ({"logprobs": True, "topLogprobs": 3}, {"logprobs": True}, {"DROPPED TOP_LOGPROBS top_logprobs"}),
    ({"choiceCount": 1, "outputModalities": ["MODALITY_TEXT"], "serviceTier": "SERVICE_TIER_AUTO", "store": False},
     {}, set()),
    ({"choiceCount": 2, "outputModalities": ["MODALITY_AUDIO"], "serviceTier": "SERVICE_TIER_FLEX", "store": True,
      "verbosity": "VERBOSITY_LOW", "speech": {}, "cache": {"key": "k"}, "endUserId": "u", "metadata": {"a": "b"},
      "providerState": {"conversationId": "c"}, "maxToolCalls": 3},
     {}, {f"DROPPED {name.upper()} {name}" for name in (
         "choice_count", "output_modalities", "service_tier", "store", "verbosity", "speech", "end_user_id",
         "metadata", "provider_state", "max_tool_calls")} | {"DROPPED CACHE_OPTIONS cache"}),
    ({"extras": [{"protocol": "PROTOCOL_OPENAI", "key": "logit_bias", "valueJson": "[5]"},
                 {"protocol": "PROTOCOL_COHERE", "key": "safety_mode", "valueJson": '"OFF"'}]},
     {"safety_mode": "OFF"}, {"DROPPED EXTRA_FIELD logit_bias"}),
    ({"citationMode": "CITATION_MODE_OFF"}, {"citation_options": {"mode": "OFF"}}, set()),
    ({"citationMode": "CITATION_MODE_OTHER", "citationModeRaw": "X"}, {}, {"DROPPED CITATION_MODE citation_mode"}),
    ({"documents": [{"text": "a"}, {"text": "b", "title": "T", "id": "1"}, {"dataJson": '{"n":1.0}'},
                    {"media": {"mimeType": "application/pdf", "data": "QUJD"}},
                    {"media": {"mimeType": "text/plain", "data": "QUJD"}}, {"parts": {"parts": [
                        {"text": "x"}, {"text": "y"}]}}]},
     {"documents": ["a", {"data": {"title": "T", "text": "b"}, "id": "1"}, {"data": {"n": 1.0}},
                    {"data": {"text": "ABC"}}, {"data": {"text": "x\n\ny"}}]},
     {"DROPPED RAG_DOCUMENTS documents[3]"}),
    ({"outputFormat": {"kind": "OUTPUT_KIND_TEXT"}}, {"response_format": {"type": "text"}}, set()),
    ({"outputFormat": {}}, {}, set()),
    ({"outputFormat": {"kind": "OUTPUT_KIND_JSON"}}, {"response_format": {"type": "json_object"}}, set()),
    ({"outputFormat": {"kind": "OUTPUT_KIND_JSON"}, "documents": [{"text": "a"}]}, {"documents": ["a"]}, {
        "DROPPED OUTPUT_JSON output_format"}),
    ({"outputFormat": {"kind": "OUTPUT_KIND_JSON_SCHEMA", "schemaJson": REQUIRED}, "tools": [F]}, {"tools": [F_OUT]}, {
        "DROPPED OUTPUT_SCHEMA output_format"}),
    ({"outputFormat": {"kind": "OUTPUT_KIND_JSON_SCHEMA", "schemaJson": REQUIRED, "name": "n", "strict": False}},
     {"response_format": {"type": "json_object", "json_schema": json.loads(REQUIRED)}},
     {"DROPPED OUTPUT_SCHEMA_NAME output_format.name", "DROPPED OUTPUT_SCHEMA_STRICT output_format.strict"}),
    ({"outputFormat": {"kind": "OUTPUT_KIND_JSON_SCHEMA", "schemaJson": REQUIRED, "description": "d", "strict": True}},
     {"response_format": {"type": "json_object", "json_schema": json.loads(REQUIRED)}},
     {"DROPPED OUTPUT_SCHEMA_NAME output_format.description"}),
    ({"outputFormat": {"kind": "OUTPUT_KIND_ENUM", "schemaJson": '{"type":"string","enum":["a","b"]}'}},
     {"response_format": {"type": "json_object", "json_schema": {"type": "object", "properties": {
         "value": {"type": "string", "enum": ["a", "b"]}}, "required": ["value"]}}},
     {"EMULATED OUTPUT_ENUM output_format"}),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "expected", "noted"), OPTIONS)
def test_options(fields: dict[str, Any], expected: dict[str, Any], noted: set[str]) -> None:
    body, notes, _ = write(fields)
    assert (body, notes) == (expected, noted)


def test_an_enum_is_unwrapped_later() -> None:
    _, _, context = write(
        {"outputFormat": {"kind": "OUTPUT_KIND_ENUM", "schemaJson": '{"type":"string","enum":["a"]}'}}
    )
    assert context.unwrap_key == "value"


def test_stop_sequences_beyond_five_are_looked_for_by_us() -> None:
    body, notes, context = write({"stopSequences": list("abcdefg")})
    assert body == {"stop_sequences": list("abcde")}
    assert (notes, context.stops) == ({"EMULATED STOP_SEQUENCES stop_sequences"}, ("f", "g"))


def test_gates_leave_out_what_a_model_refuses() -> None:
    gates = Gates(refused=frozenset({"temperature"}), refused_while_reasoning=frozenset({"top_p"}))
    asked = {"temperature": 1, "topP": 0.5}
    assert write(asked, gates)[:2] == ({}, {"DROPPED TEMPERATURE temperature", "DROPPED TOP_P top_p"})
    body, notes, _ = write({**asked, "reasoning": {"mode": "REASONING_MODE_OFF"}}, gates)
    assert (body, notes) == ({"p": 0.5, "thinking": {"type": "disabled"}}, {"DROPPED TEMPERATURE temperature"})


ON, OFF = {"thinking": {"type": "enabled"}}, {"thinking": {"type": "disabled"}}
EFFORT, MODE = "REASONING_EFFORT reasoning.effort", "REASONING_MODE reasoning.mode"
BUDGET = "REASONING_BUDGET reasoning.budget_tokens"
REASONING: list[tuple[dict[str, Any], Gates, dict[str, Any], set[str]]] = [
    ({"mode": "REASONING_MODE_ON", "budgetTokens": 9}, Gates(), {"thinking": {"type": "enabled", "token_budget": 9}},
     set()),
    ({"mode": "REASONING_MODE_ADAPTIVE"}, Gates(), ON, {f"APPROXIMATED {MODE}"}),
    ({"mode": "REASONING_MODE_BETWEEN_TOOLS"}, Gates(), OFF, {f"APPROXIMATED {MODE}"}),
    ({"mode": "REASONING_MODE_OTHER", "modeRaw": "x"}, Gates(), {}, {f"DROPPED {MODE}"}),
    ({"budgetTokens": -1}, Gates(), ON, set()),
    ({"budgetTokens": 0}, Gates(), OFF, set()),
    ({"budgetTokens": 5}, NO_REASONING, {}, {f"DROPPED {BUDGET}"}),
    ({"mode": "REASONING_MODE_ON", "effort": "REASONING_EFFORT_LOW"}, NO_REASONING, {}, {
        f"DROPPED {MODE}", f"DROPPED {EFFORT}"}),
    ({"budgetTokens": 5}, Gates(is_reasoning=True, takes_budget=False), ON, {f"DROPPED {BUDGET}"}),
    ({"mode": "REASONING_MODE_OFF"}, NO_REASONING, {}, set()),
    ({"effort": "REASONING_EFFORT_NONE"}, Gates(), {}, set()),
    ({"effort": "REASONING_EFFORT_NONE"}, REASONS, OFF, set()),
    ({"effort": "REASONING_EFFORT_NONE"}, Gates(is_reasoning=True, can_switch_reasoning_off=False), {}, {
        "DROPPED REASONING_MODE reasoning"}),
    ({"effort": "REASONING_EFFORT_HIGH"}, Gates(), {}, {f"DROPPED {EFFORT}"}),
    ({"effort": "REASONING_EFFORT_HIGH"}, REASONS, ON, {f"APPROXIMATED {EFFORT}"}),
    ({"effort": "REASONING_EFFORT_HIGH", "budgetTokens": 7}, REASONS, {
        "thinking": {"type": "enabled", "token_budget": 7}}, {f"DROPPED {EFFORT}"}),
    ({"display": "REASONING_DISPLAY_OMITTED"}, Gates(), {}, {"DROPPED REASONING_DISPLAY reasoning.display"}),
    ({"display": "REASONING_DISPLAY_FULL"}, Gates(), {}, set()),
]  # fmt: skip


@pytest.mark.parametrize(("options", "gates", "expected", "noted"), REASONING)
def test_reasoning(options: dict[str, Any], gates: Gates, expected: dict[str, Any], noted: set[str]) -> None:
    body, notes, _ = write({"reasoning": options}, gates)
    assert (body, notes) == (expected, noted)


def test_an_effort_becomes_a_share_of_the_limit() -> None:
    body, notes, _ = write({"reasoning": {"effort": "REASONING_EFFORT_MEDIUM"}, "maxOutputTokens": 8000}, REASONS)
    assert body == {"max_tokens": 8000, "thinking": {"type": "enabled", "token_budget": 4000}}
    assert notes == {f"APPROXIMATED {EFFORT}"}


# --- tools ---

G = {"function": {"name": "g", "description": "d"}}
G_OUT = {
    "type": "function",
    "function": {"name": "g", "description": "d", "parameters": {"type": "object", "properties": {}}},
}
STRICT = {"function": {**F["function"], "strict": True}}
TOOLS: list[tuple[dict[str, Any], dict[str, Any], set[str]]] = [
    ({"tools": [G]}, {"tools": [G_OUT]}, set()),
    ({"tools": [STRICT]}, {"tools": [F_OUT], "strict_tools": True}, set()),
    ({"tools": [STRICT, G]}, {"tools": [F_OUT, G_OUT]}, {"DROPPED TOOL_STRICT tools[0].function.strict"}),
    ({"tools": [{"function": {"name": "g", "description": "d", "strict": True}}]}, {"tools": [G_OUT]}, {
        "DROPPED TOOL_STRICT tools[0].function.strict"}),
    ({"tools": [{"function": {**F["function"], "outputSchemaJson": "{}", "deferLoading": True},
                 "cacheBreakpoint": {}, "extras": [
                     {"protocol": "PROTOCOL_ANTHROPIC", "key": "x", "valueJson": "1"},
                     {"protocol": "PROTOCOL_COHERE", "key": "y", "valueJson": "1"}]}]},
     {"tools": [{**F_OUT, "y": 1}]},
     {"DROPPED TOOL_OUTPUT_SCHEMA tools[0].function.output_schema_json", "DROPPED TOOL_DEFERRAL tools[0].function",
      "DROPPED CACHE_BREAKPOINT tools[0].cache_breakpoint", "DROPPED EXTRA_FIELD tools[0].x"}),
    ({"tools": [{"custom": {"name": "c", "description": "d", "syntax": "GRAMMAR_SYNTAX_LARK", "grammar": "x"}},
                {"custom": {"name": "e"}}]},
     {"tools": [{"type": "function", "function": {"name": name, **more, "parameters": {
         "type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}}}
         for name, more in (("c", {"description": "d"}), ("e", {}))]},
     {"EMULATED CUSTOM_TOOL tools[0].custom", "EMULATED CUSTOM_TOOL tools[1].custom",
      "DROPPED TOOL_GRAMMAR tools[0].custom.grammar"}),
    ({"tools": [{"server": {"kind": "SERVER_TOOL_KIND_WEB_SEARCH"}}, {"provider": {"type": "bash"}},
                {"mcp": {"name": "m", "url": "https://x"}}, {}],
      "toolChoice": {"mode": "TOOL_CHOICE_MODE_REQUIRED"}, "parallelToolCalls": False}, {},
     {"DROPPED SERVER_TOOL tools[0]", "DROPPED PROVIDER_TOOL tools[1]", "DROPPED MCP_SERVER tools[2]",
      "DROPPED SERVER_TOOL tools[3]", "DROPPED TOOL_CHOICE tool_choice"}),
    ({"tools": [F, G], "toolChoice": {"mode": "TOOL_CHOICE_MODE_AUTO"}, "parallelToolCalls": True},
     {"tools": [F_OUT, G_OUT]}, set()),
    ({"tools": [F], "toolChoice": {"mode": "TOOL_CHOICE_MODE_NONE"}}, {"tools": [F_OUT], "tool_choice": "NONE"}, set()),
    ({"tools": [F], "toolChoice": {"mode": "TOOL_CHOICE_MODE_VALIDATED"}}, {"tools": [F_OUT]}, {
        "DROPPED TOOL_CHOICE tool_choice"}),
    ({"tools": [F, G], "toolChoice": {"mode": "TOOL_CHOICE_MODE_REQUIRED", "names": ["g"]}},
     {"tools": [G_OUT], "tool_choice": "REQUIRED"}, {"EMULATED TOOL_CHOICE_NAMED tool_choice.names"}),
    ({"tools": [F, G], "toolChoice": {"mode": "TOOL_CHOICE_MODE_AUTO", "names": ["f"]}}, {"tools": [F_OUT]}, {
        "EMULATED TOOL_CHOICE_ALLOWED tool_choice.names"}),
    ({"tools": [{"server": {"kind": "SERVER_TOOL_KIND_CODE", "kindRaw": "code"}}], "toolChoice": {
        "mode": "TOOL_CHOICE_MODE_REQUIRED", "names": ["code"]}}, {},
     {"DROPPED SERVER_TOOL tools[0]", "DROPPED TOOL_CHOICE tool_choice"}),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "expected", "noted"), TOOLS)
def test_tools(fields: dict[str, Any], expected: dict[str, Any], noted: set[str]) -> None:
    body, notes, context = write(fields)
    assert (body, notes) == (expected, noted)
    assert context.custom_tools == {tool["custom"]["name"] for tool in fields["tools"] if "custom" in tool}


def test_calls_after_the_first_are_left_out_later() -> None:
    body, notes, context = write({"tools": [F], "parallelToolCalls": False})
    assert (body, notes) == ({"tools": [F_OUT]}, {"EMULATED PARALLEL_TOOL_CALLS parallel_tool_calls"})
    assert context.single_call


def test_strict_tools_are_held_to_what_cohere_knows_and_undone_later() -> None:
    inner = {"type": "object", "properties": {"b": {"type": "string"}}}
    schema = json.dumps({"type": "object", "properties": {"a": inner}, "required": ["a"]})
    body, notes, context = write({"tools": [{"function": {"name": "f", "parametersJson": schema, "strict": True}}]})
    assert body["tools"][0]["function"]["parameters"]["properties"]["a"]["required"] == ["b"]
    assert {note.split()[1] for note in notes} == {"TOOL_SCHEMA"}
    assert context.narrowed_tools.keys() == {"f"}


def test_a_gate_forbids_to_force_a_call() -> None:
    body, notes, _ = write(
        {"tools": [F], "toolChoice": {"mode": "TOOL_CHOICE_MODE_REQUIRED"}}, Gates(forced_tool_choice=False)
    )
    assert (body, notes) == ({"tools": [F_OUT]}, {"DROPPED TOOL_CHOICE tool_choice"})


def test_names_are_written_alike_everywhere() -> None:
    call = {"toolCall": {"id": "c1", "name": "get-it"}}
    body, notes, context = write(
        {
            "tools": [{"function": {"name": "get-it"}}, {"function": {"name": "9lives"}}],
            "messages": [HI, {"role": "ROLE_ASSISTANT", "parts": [call]}, {"role": "ROLE_TOOL", "parts": [
                {"toolResult": {"callId": "c1", "text": "x"}}]}],
        }
    )  # fmt: skip
    names = [tool["function"]["name"] for tool in body["tools"]]
    assert names == ["get_it", "_9lives"]
    assert body["messages"][1]["tool_calls"][0]["function"] == {"name": "get_it", "arguments": "{}"}
    assert context.tool_names == {"get_it": "get-it", "_9lives": "9lives"}
    assert {note.split()[1] for note in notes} == {"TOOL_NAME"}


# --- messages ---


def said(*parts: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"role": "ROLE_ASSISTANT", "parts": list(parts), **fields}


def results(*found: dict[str, Any], **fields: Any) -> dict[str, Any]:
    parts = [{"toolResult": {"callId": f"c{index + 1}", **result}} for index, result in enumerate(found)]
    return {"role": "ROLE_TOOL", "parts": parts, **fields}


def thinking(text: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": text}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def answered(*parts: dict[str, Any], **fields: Any) -> list[dict[str, Any]]:
    return [HI, said(*parts, **fields), HI]


PART = "messages[1].parts[0]"
ANSWERS: list[tuple[list[dict[str, Any]], dict[str, Any] | None, set[str]]] = [
    ([{"text": "a"}, {"text": "b"}], {"content": [text("a"), text("b")]}, set()),
    ([{"text": "a"}, {"text": "b"}, CALL], {"tool_plan": "ab", "tool_calls": [CALL_OUT]}, set()),
    ([{"text": "a", "phase": "TEXT_PHASE_PLAN"}], {"tool_plan": "a"}, set()),
    ([{"text": "a", "phase": "TEXT_PHASE_COMMENTARY"}], {"content": [text("a")]}, {f"DROPPED TEXT_PHASE {PART}.phase"}),
    ([{"refusal": "no"}], {"content": [text("no")]}, {f"APPROXIMATED REFUSAL_HISTORY {PART}"}),
    ([{"reasoning": {"text": "t"}, "opaque": [{"origin": "PROTOCOL_ANTHROPIC"}]}, CALL],
     {"content": [thinking("t")], "tool_calls": [CALL_OUT]}, {f"DROPPED REASONING_STATE {PART}.opaque"}),
    ([{"reasoning": {"summaries": ["s", "t"]}}], {"content": [thinking("s\n\nt")]}, {
        f"APPROXIMATED REASONING_SUMMARY {PART}"}),
    ([{"reasoning": {"redacted": True}}, {"text": "a"}], {"content": [text("a")]}, {
        f"DROPPED REASONING_HISTORY {PART}"}),
    ([{"text": ""}, {"text": "a"}], {"content": [text("a")]}, {f"DROPPED EMPTY_CONTENT {PART}"}),
    ([{"compaction": {"text": "s"}}], {"content": [text("s")]}, {f"APPROXIMATED COMPACTION {PART}"}),
    ([{"compaction": {}}], None, {f"DROPPED COMPACTION {PART}", "DROPPED EMPTY_CONTENT messages[1]"}),
    ([{"audio": {"transcript": "s", "fileId": "1"}}], {"content": [text("s")]}, {f"APPROXIMATED AUDIO {PART}"}),
    ([{"image": PNG}, {"text": "a"}], {"content": [text("a")]}, {f"DROPPED IMAGE {PART}"}),
    ([{"serverToolCall": {"id": "1"}}, {"serverToolResult": {"callId": "1"}}, {"text": "a"}], {"content": [text("a")]},
     {f"DROPPED SERVER_TOOL_HISTORY {PART}", "DROPPED SERVER_TOOL_HISTORY messages[1].parts[1]"}),
    ([{"raw": {"protocol": "PROTOCOL_COHERE", "type": "n", "bodyJson": '{"type":"n"}'}}], {"content": [{"type": "n"}]},
     set()),
    ([{"raw": {"protocol": "PROTOCOL_OPENAI", "type": "n", "bodyJson": '{"type":"n"}'}}, {"text": "a"}],
     {"content": [text("a")]}, {f"DROPPED RAW_PART {PART}"}),
    ([{"text": "a", "cacheBreakpoint": {}, "extras": [
        {"protocol": "PROTOCOL_OPENAI", "key": "x", "valueJson": "1"}]}], {"content": [text("a")]},
     {f"DROPPED CACHE_BREAKPOINT {PART}.cache_breakpoint", f"DROPPED EXTRA_FIELD {PART}.x"}),
    ([{"text": "Café", "citations": [{"start": 0, "end": 4, "sources": [
        {"kind": "CITATION_SOURCE_KIND_DOCUMENT", "id": "d", "title": "T"}]}]}],
     {"content": [text("Café")], "citations": [{"start": 0, "end": 4, "text": "Café", "sources": [
         {"type": "document", "id": "d", "document": {"title": "T"}}], "content_index": 0, "type": "TEXT_CONTENT"}]},
     set()),
    ([{"text": "ab"}, {"text": "cd", "citations": [{"sources": [
        {"kind": "CITATION_SOURCE_KIND_TOOL", "dataJson": '{"n":1.0}'}]}]}, CALL],
     {"tool_plan": "abcd", "tool_calls": [CALL_OUT], "citations": [{"start": 2, "end": 4, "text": "cd", "sources": [
         {"type": "tool", "tool_output": {"n": 1.0}}], "type": "PLAN"}]}, set()),
    ([{"text": "a", "citations": [{"sources": [{"kind": "CITATION_SOURCE_KIND_URL", "url": "https://x"}]}]}],
     {"content": [text("a")]}, {f"DROPPED CITATION_HISTORY {PART}.citations"}),
    ([], None, {"DROPPED EMPTY_CONTENT messages[1]"}),
]  # fmt: skip


@pytest.mark.parametrize(("parts", "expected", "noted"), ANSWERS)
def test_earlier_answers(parts: list[dict[str, Any]], expected: dict[str, Any] | None, noted: set[str]) -> None:
    tools = results({"text": "r"}) if CALL in parts else HI
    body, notes, _ = write({"messages": [HI, said(*parts), tools]})
    middle = [] if expected is None else [{"role": "assistant", **expected}]
    last = {"role": "tool", "tool_call_id": "c1", "content": "r"} if CALL in parts else HI_OUT
    assert body["messages"] == [HI_OUT, *middle, last]
    assert notes == noted


FILE = "messages[0].parts[0]"
USERS: list[tuple[dict[str, Any], Any, set[str]]] = [
    ({"text": "a", "citations": [{}]}, text("a"), {f"DROPPED CITATION_HISTORY {FILE}.citations"}),
    ({"image": PNG}, PNG_OUT, set()),
    ({"image": {"url": "https://x.test/a.png", "detail": "MEDIA_DETAIL_ORIGINAL", "filename": "a.png"}},
     {"type": "image_url", "image_url": {"url": "https://x.test/a.png", "detail": "high"}},
     {f"APPROXIMATED IMAGE_DETAIL {FILE}.image.detail", f"DROPPED FILE_NAME {FILE}.image.filename"}),
    ({"image": {**PNG, "detail": "MEDIA_DETAIL_OTHER", "detailRaw": "x"}}, PNG_OUT, {
        f"DROPPED IMAGE_DETAIL {FILE}.image.detail"}),
    ({"image": {"url": "gs://x/a.png"}}, None, {f"DROPPED IMAGE_URL {FILE}.image"}),
    ({"image": {"fileId": "f"}}, None, {f"DROPPED FILE_ID {FILE}.image"}),
    ({"audio": {"mimeType": "audio/wav", "data": "QUJD"}}, None, {f"DROPPED AUDIO {FILE}"}),
    ({"video": {"url": "https://x"}}, None, {f"DROPPED VIDEO {FILE}"}),
    ({}, None, {f"DROPPED RAW_PART {FILE}"}),
    ({"document": {"text": "t", "title": "T", "context": "c"}}, text("T\n\nt"), {
        f"APPROXIMATED DOCUMENT {FILE}.document", f"DROPPED DOCUMENT_TITLE {FILE}.document"}),
    ({"document": {"dataJson": '{"n": 1.0}'}}, text('{"n": 1.0}'), {f"APPROXIMATED DOCUMENT {FILE}.document"}),
    ({"document": {"parts": {"parts": [{"text": "a"}, {"text": "b"}]}}}, text("a\n\nb"), {
        f"APPROXIMATED DOCUMENT {FILE}.document", f"APPROXIMATED DOCUMENT_PARTS {FILE}.document"}),
    ({"document": {"media": {"mimeType": "application/pdf", "data": "QUJD"}}}, None, {
        f"DROPPED DOCUMENT {FILE}.document"}),
    ({"document": {"media": {"url": "https://x"}}}, None, {f"DROPPED DOCUMENT_URL {FILE}.document"}),
    ({"document": {"media": {"fileId": "f"}}}, None, {f"DROPPED FILE_ID {FILE}.document"}),
]  # fmt: skip


@pytest.mark.parametrize(("part", "expected", "noted"), USERS)
def test_what_the_user_says(part: dict[str, Any], expected: Any, noted: set[str]) -> None:
    body, notes, _ = write(user(part, {"text": "z"}))
    blocks = [] if expected is None else [expected]
    assert body == {"messages": [{"role": "user", "content": [*blocks, text("z")]}]}
    assert notes == noted


def test_a_document_to_be_cited_stands_beside_the_messages() -> None:
    body, notes, _ = write(user({"document": {"text": "t", "id": "1", "citations": True}}, {"text": "z"}))
    assert body == {
        "messages": [{"role": "user", "content": [text("z")]}],
        "documents": [{"id": "1", "data": {"text": "t"}}],
    }
    assert notes == {f"REORDERED DOCUMENT {FILE}.document"}


def test_instructions_are_text_of_one_rank() -> None:
    pdf = {"document": {"media": {"mimeType": "application/pdf", "data": "QUJD"}}}
    body, notes, _ = write(
        {
            "messages": [
                {"role": "ROLE_SYSTEM", "parts": [{"text": "S"}, {"image": PNG}, pdf]},
                {"role": "ROLE_DEVELOPER", "text": "D"},
                {**HI, "name": "ann", "extras": [{"protocol": "PROTOCOL_GEMINI", "key": "x", "valueJson": "1"}]},
            ]
        }
    )
    assert body["messages"] == [
        {"role": "system", "content": [text("S")]},
        {"role": "system", "content": "D"},
        HI_OUT,
    ]
    assert notes == {
        "DROPPED INSTRUCTION_MEDIA messages[0].parts[1]",
        "DROPPED INSTRUCTION_MEDIA messages[0].parts[2].document",
        "APPROXIMATED INSTRUCTION_RANK messages[1]",
        "DROPPED PARTICIPANT_NAME messages[2].name",
        "DROPPED EXTRA_FIELD messages[2].x",
    }


def test_an_answer_is_not_begun_for_the_model() -> None:
    body, notes, _ = write({"messages": [HI, said({"text": "{"})]})
    assert (body["messages"], notes) == ([HI_OUT], {"DROPPED PREFILL messages[1]"})


RESULT = "messages[2].parts[0].tool_result"
RESULTS: list[tuple[dict[str, Any], Any, set[str]]] = [
    ({"text": "r"}, "r", set()),
    ({}, "", set()),
    ({"parts": {}}, "", set()),
    ({"objectJson": '{"n": 1.0}'}, '{"n": 1.0}', set()),
    ({"text": "r", "isError": True}, "Error: r", {f"APPROXIMATED TOOL_RESULT_ERROR {RESULT}.is_error"}),
    ({"parts": {"parts": [{"text": "r"}]}, "isError": True}, [text("Error: "), text("r")], {
        f"APPROXIMATED TOOL_RESULT_ERROR {RESULT}.is_error"}),
    ({"parts": {"parts": [{"document": {"dataJson": '{"n":1}', "id": "d", "source": "s"}}, {"text": ""}]}},
     [{"type": "document", "document": {"id": "d", "data": {"n": 1}}}],
     {f"DROPPED DOCUMENT_TITLE {RESULT}.parts.parts[0]", f"DROPPED EMPTY_CONTENT {RESULT}.parts.parts[1]"}),
    ({"parts": {"parts": [{"audio": {"data": "QUJD"}}, {"document": {"media": {"data": "QUJD"}}}]}}, "",
     {f"DROPPED TOOL_RESULT_MEDIA {RESULT}.parts.parts[{index}]" for index in (0, 1)}),
    ({"parts": {"parts": [{"image": {"fileId": "f"}}]}}, "", {f"DROPPED FILE_ID {RESULT}.parts.parts[0]"}),
]  # fmt: skip


@pytest.mark.parametrize(("result", "expected", "noted"), RESULTS)
def test_results(result: dict[str, Any], expected: Any, noted: set[str]) -> None:
    body, notes, _ = write({"messages": [HI, said(CALL), results(result)]})
    assert body["messages"][2:] == [{"role": "tool", "tool_call_id": "c1", "content": expected}]
    assert notes == noted


@pytest.mark.parametrize(
    "after", [[], [HI], [{**HI, "text": "", "parts": [{"text": "Hi"}]}], [said({"text": "a"}), HI]]
)
def test_images_of_results_move_behind_them(after: list[dict[str, Any]]) -> None:
    found = results({"parts": {"parts": [{"text": "r"}, {"image": PNG}]}}, {"text": "s"})
    two = [CALL, {"toolCall": {"id": "c2", "name": "f"}}]
    body, notes, _ = write({"messages": [HI, said(*two), found, *after]})
    told = text("[image 1 of this result is attached in the next user message]")
    follows_user = bool(after) and after[0]["role"] == "ROLE_USER"
    assert body["messages"][2:5] == [
        {"role": "tool", "tool_call_id": "c1", "content": [text("r"), told]},
        {"role": "tool", "tool_call_id": "c2", "content": "s"},
        {"role": "user", "content": [PNG_OUT, text("Hi")] if follows_user else [PNG_OUT]},
    ]
    assert len(body["messages"]) == (5 + len(after) - follows_user)
    assert notes == {f"EMULATED TOOL_RESULT_MEDIA {RESULT}.parts.parts[1]"}


def test_calls_that_are_custom_or_have_no_arguments() -> None:
    custom = {"toolCall": {"id": "c1", "name": "c", "customText": 'a"b'}}
    body, _, _ = write({"messages": [HI, said(custom), results({"text": "r"})]})
    assert body["messages"][1]["tool_calls"][0]["function"]["arguments"] == '{"input":"a\\"b"}'


def test_raw_parts_of_tools_are_left_out() -> None:
    raw = {"raw": {"protocol": "PROTOCOL_COHERE", "type": "x", "bodyJson": "{}"}}
    body, notes, _ = write({"messages": [HI, {"role": "ROLE_TOOL", "parts": [raw]}]})
    assert (body["messages"], notes) == ([HI_OUT], {"DROPPED RAW_PART messages[1].parts[0]"})


def test_fields_of_messages_go_back_to_messages_of_their_role() -> None:
    extra = {"extras": [{"protocol": "PROTOCOL_COHERE", "key": "x", "valueJson": "1"}]}
    body, notes, _ = write({"messages": [{**HI, **extra}, results({"text": "orphan"}, **extra)]})
    assert body["messages"][0] == {**HI_OUT, "x": 1}
    assert body["messages"][1].keys() == {"role", "content"}
    assert notes == {"APPROXIMATED TOOL_RESULT_ORPHAN messages[1].parts[0]"}


def test_a_request_that_says_nothing_is_refused() -> None:
    with pytest.raises(InvalidRequest):
        write({"messages": [{"role": "ROLE_USER"}]})
