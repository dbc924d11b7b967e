"""What one protocol can say and another cannot: one thing at a time, on its way from a caller to each target."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf.json_format import ParseDict

from fluxrpc.errors import FluxError, InvalidRequest, NotExpressible
from fluxrpc.protocols.base import Protocol
from fluxrpc.v1.message_pb2 import MessageRequest
from fluxrpc.v1.outcome_pb2 import NoteAction
from tests.support.translating import HELLO, bridge_for, target_for, written

O, A, G, C, R = Protocol.OPENAI, Protocol.ANTHROPIC, Protocol.GEMINI, Protocol.COHERE, Protocol.RESPONSES  # noqa: E741  # one letter each: the cases are a table
FUNCTION: dict[Protocol, dict[str, Any]] = {
    O: {"type": "function", "function": {"name": "f"}},
    A: {"name": "f", "input_schema": {"type": "object", "properties": {}}},
    G: {"functionDeclarations": [{"name": "f"}]},
    C: {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}},
    R: {"type": "function", "name": "f", "strict": False, "parameters": {"type": "object", "properties": {}}},
}
GONE = object()
Case = tuple[Protocol, dict[str, Any], Protocol, dict[str, Any], list[str]]
"""Caller, what its smallest request says besides, target, what is written, what is noted."""


def said(caller: Protocol, patch: dict[str, Any]) -> dict[str, Any]:
    return {**HELLO[caller], **patch}


def noted(bridge: Any) -> list[str]:
    limit = ("MAX_OUTPUT_TOKENS", "INJECTED")
    notes = [(each.code, NoteAction.Name(each.action).removeprefix("NOTE_ACTION_"), each.path) for each in bridge.notes]
    return [f"{action} {code} {path}" for code, action, path in notes if (code, action) != limit]


def ask(part: dict[str, Any]) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": [{"type": "text", "text": "t"}, part]}]}


CASES: dict[str, Case] = {
    "a file of another provider": (
        A, ask({"type": "document", "source": {"type": "file", "file_id": "f1"}}), O,
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "t"}]}]},
        ["DROPPED FILE_ID messages[0].content[1].source.file_id"],
    ),
    "a file of the same provider": (
        R, {"input": [{"role": "user", "content": [{"type": "input_file", "file_id": "f1"}]}]}, O,
        {"messages": [{"role": "user", "content": [{"type": "file", "file": {"file_id": "f1"}}]}]}, [],
    ),
    "a word of a list, in the types of OpenAPI": (
        G, {"generationConfig": {
            "responseMimeType": "text/x.enum", "responseSchema": {"type": "STRING", "enum": ["x"]},
        }}, O,
        {"response_format": {"type": "json_schema", "json_schema": {
            "name": "response", "strict": True,
            "schema": {
                "type": "object", "properties": {"value": {"type": "string", "enum": ["x"]}},
                "required": ["value"], "additionalProperties": False,
            },
        }}},
        ["EMULATED OUTPUT_ENUM generationConfig.responseMimeType"],
    ),
    "effort without reasoning": (
        A, {"thinking": {"type": "disabled"}, "output_config": {"effort": "high"}}, O, {"reasoning_effort": "none"},
        ["DROPPED REASONING_EFFORT output_config.effort"],
    ),
    "an effort that nobody knows": (
        A, {"output_config": {"effort": "huge"}}, O, {"reasoning_effort": GONE},
        ["DROPPED REASONING_EFFORT output_config.effort"],
    ),
    "an effort that OpenAI may know": (
        R, {"reasoning": {"effort": "huge"}}, O, {"reasoning_effort": "huge"}, [],
    ),
    "a summary of earlier turns": (
        A, {"messages": [
            {"role": "user", "content": "x"},
            {"role": "assistant", "content": [{"type": "compaction", "content": "sum"}]},
            {"role": "user", "content": "y"},
        ]}, O,
        {"messages": [
            {"role": "user", "content": "x"},
            {"role": "assistant", "content": [{"type": "text", "text": "sum"}]},
            {"role": "user", "content": "y"},
        ]},
        ["APPROXIMATED COMPACTION messages[1].content[0]"],
    ),
    "an answer at the end that nobody was to go on from": (
        C, {"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]}, O,
        {"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]}, [],
    ),
    "a search that is forced": (
        A, {
            "tools": [FUNCTION[A], {"type": "web_search_20250305", "name": "web_search"}],
            "tool_choice": {"type": "tool", "name": "web_search"},
        }, O,
        {"tool_choice": "required"}, ["DROPPED TOOL_CHOICE_NAMED tool_choice.name"],
    ),
    "only a search, and it is forced": (
        A, {
            "tools": [{"type": "web_search_20250305", "name": "web_search"}],
            "tool_choice": {"type": "tool", "name": "web_search"},
        }, O,
        {"web_search_options": {}, "tool_choice": GONE}, ["DROPPED TOOL_CHOICE tool_choice"],
    ),
    "JSON without a schema and without the word": (
        G, {"generationConfig": {"responseMimeType": "application/json"}}, R,
        {
            "input": [{"role": "developer", "content": "Answer in JSON."}, {"role": "user", "content": "Hi"}],
            "text": {"format": {"type": "json_object"}},
        },
        ["INJECTED OUTPUT_JSON generationConfig.responseMimeType"],
    ),
    "JSON that was asked for in words": (
        O, {"messages": [{"role": "user", "content": "JSON!"}], "response_format": {"type": "json_object"}}, R,
        {"input": [{"role": "user", "content": "JSON!"}]}, [],
    ),
    "effort without reasoning, in Responses": (
        A, {"thinking": {"type": "disabled"}, "output_config": {"effort": "high"}}, R,
        {"reasoning": {"effort": "none"}}, ["DROPPED REASONING_EFFORT output_config.effort"],
    ),
    "reasoning without a measure, in Responses": (
        C, {"thinking": {"type": "enabled"}}, R, {"reasoning": GONE}, ["APPROXIMATED REASONING_MODE thinking.type"],
    ),
    "what is off at zero": (
        O, {"presence_penalty": 0, "frequency_penalty": 0, "top_k": 0}, R, {"presence_penalty": GONE}, [],
    ),
    "parallel calls of no tool": (O, {"parallel_tool_calls": False}, R, {"parallel_tool_calls": GONE}, []),
    "a forced call of no tool": (
        O, {"tool_choice": "required"}, R, {"tool_choice": GONE}, ["DROPPED TOOL_CHOICE tool_choice"],
    ),
    "an address that only one provider reads": (
        G, {"contents": [{"parts": [
            {"text": "t"}, {"fileData": {"fileUri": "gs://b/a.pdf", "mimeType": "application/pdf"}},
            {"fileData": {"fileUri": "gs://b/a.png", "mimeType": "image/png"}},
        ]}]}, R,
        {"input": [{"role": "user", "content": [{"type": "input_text", "text": "t"}]}]},
        [
            "DROPPED DOCUMENT_URL contents[0].parts[1].fileData.fileUri",
            "DROPPED IMAGE_URL contents[0].parts[2].fileData.fileUri",
        ],
    ),
    "an answer that says nothing": (
        O, {"messages": [*HELLO[O]["messages"], {"role": "assistant", "content": ""}, *HELLO[O]["messages"]]}, R,
        {"input": [{"role": "user", "content": "Hi"}, {"role": "user", "content": "Hi"}]},
        ["DROPPED EMPTY_CONTENT messages[1]"],
    ),
    "instructions alone": (
        O, {"messages": [{"role": "system", "content": "Go."}]}, A,
        {"system": GONE, "messages": [{"role": "user", "content": "[system instruction] Go."}]},
        ["EMULATED LATE_INSTRUCTIONS messages[0]"],
    ),
    "instructions that are no text": (
        A, {"system": [{"type": "image"}]}, G, {"systemInstruction": GONE}, ["DROPPED INSTRUCTION_MEDIA system[0]"],
    ),
    "arguments of any kind": (
        O, {"tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}]}, A,
        {"tools": [{"name": "f", "input_schema": {"type": "object"}}]},
        ["INJECTED TOOL_SCHEMA tools[0].function.parameters.type"],
    ),
    "parallel calls, but no call at all": (
        O, {"tools": [FUNCTION[O]], "tool_choice": "none", "parallel_tool_calls": False}, A,
        {"tool_choice": {"type": "none"}}, [],
    ),
    "a forced call of no tool, to Anthropic": (
        O, {"tool_choice": "required"}, A, {"tool_choice": GONE}, ["DROPPED TOOL_CHOICE tool_choice"],
    ),
    "a tool that is not there, to Anthropic": (
        O, {"tools": [FUNCTION[O]], "tool_choice": {"type": "function", "function": {"name": "gone"}}}, A,
        {"tools": [FUNCTION[A]], "tool_choice": {"type": "any"}}, ["DROPPED TOOL_CHOICE_NAMED tool_choice"],
    ),
    "a tool that is not there, to Cohere": (
        O, {"tools": [FUNCTION[O]], "tool_choice": {"type": "function", "function": {"name": "gone"}}}, C,
        {"tools": [FUNCTION[C]], "tool_choice": "REQUIRED"}, ["DROPPED TOOL_CHOICE_NAMED tool_choice"],
    ),
    "a tool that is not there, to Responses": (
        O, {"tools": [FUNCTION[O]], "tool_choice": {"type": "function", "function": {"name": "gone"}}}, R,
        {"tools": [FUNCTION[R]], "tool_choice": "required"}, ["DROPPED TOOL_CHOICE_NAMED tool_choice"],
    ),
    "a search by the name that its provider gives it": (
        R, {"tools": [{"type": "web_search"}], "tool_choice": {"type": "web_search_preview"}}, A,
        {"tool_choice": {"type": "tool", "name": "web_search"}}, [],
    ),
    "a hosted tool that was not sent": (
        R, {"tools": [FUNCTION[R]], "tool_choice": {"type": "shell"}}, O,
        {"tool_choice": "required"}, ["DROPPED TOOL_CHOICE_NAMED tool_choice"],
    ),
    "no call of no tool, to Cohere": (O, {"tool_choice": "none"}, C, {"tool_choice": GONE}, []),
    "no call of no tool, to Gemini": (O, {"tool_choice": "none"}, G, {"toolConfig": GONE}, []),
    "a file of text and its name": (
        O, ask({"type": "file", "file": {"file_data": "data:text/plain;base64,aGk=", "filename": "a.txt"}}), C,
        {"messages": [{"role": "user", "content": [
            {"type": "text", "text": "t"}, {"type": "text", "text": "a.txt\n\nhi"},
        ]}]},
        ["APPROXIMATED DOCUMENT messages[0].content[1].file"],
    ),
    "a mode of reasoning that nobody knows": (
        A, {"thinking": {"type": "odd"}}, G, {"generationConfig": {"maxOutputTokens": 64}},
        ["DROPPED REASONING_MODE thinking.type"],
    ),
    "effort without reasoning, to Gemini": (
        A, {"thinking": {"type": "disabled"}, "output_config": {"effort": "high"}}, G,
        {"generationConfig": {"maxOutputTokens": 64, "thinkingConfig": {"thinkingBudget": 0}}},
        ["DROPPED REASONING_EFFORT output_config.effort"],
    ),
    "earlier turns that only their provider can read": (
        R, {"input": [{"role": "user", "content": "x"}, {"type": "compaction", "encrypted_content": "e"}]}, G,
        {"contents": [{"role": "user", "parts": [{"text": "x"}]}]},
        [
            "DROPPED COMPACTION input[1]", "DROPPED REASONING_STATE input[1].encrypted_content",
            "DROPPED EMPTY_CONTENT input[1]",
        ],
    ),
    "calls that the caller wants to approve, to Gemini": (
        R, {"tools": [{"type": "mcp", "server_label": "m", "server_url": "https://m.test"}]}, G,
        {"tools": [{"mcpServers": [{"name": "m", "streamableHttpTransport": {"url": "https://m.test"}}]}]},
        ["APPROXIMATED MCP_SERVER tools[0]"],
    ),
    "calls that the caller wants to approve, to Anthropic": (
        R, {"tools": [{"type": "mcp", "server_label": "m", "server_url": "https://m.test"}]}, A,
        {"mcp_servers": [{"type": "url", "name": "m", "url": "https://m.test"}]},
        ["APPROXIMATED MCP_SERVER tools[0]"],
    ),
    "calls that nobody has to approve": (
        R, {"tools": [
            {"type": "mcp", "server_label": "m", "server_url": "https://m.test", "require_approval": "never"},
        ]}, A,
        {"mcp_servers": [{"type": "url", "name": "m", "url": "https://m.test"}]}, [],
    ),
    "schemas in two languages": (
        G, {"tools": [{"functionDeclarations": [{
            "name": "f", "parametersJsonSchema": {"type": "object", "properties": {}}, "response": {"type": "STRING"},
        }]}]}, A,
        {"tools": [FUNCTION[A]]}, ["DROPPED EXTRA_FIELD tools[0].functionDeclarations[0].response"],
    ),
    "a file that one key may read": (
        G, {"contents": [{"parts": [{"text": "t"}, {"fileData": {
            "fileUri": "https://generativelanguage.googleapis.com/v1beta/files/x", "mimeType": "image/png",
        }}]}]}, A,
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "t"}]}]},
        ["DROPPED FILE_ID contents[0].parts[1].fileData.fileUri"],
    ),
    "documents beside the conversation": (
        C, {"documents": ["plain"]}, O,
        {"messages": [{"role": "user", "content": [
            {"type": "text", "text": "plain"}, {"type": "text", "text": "Hi"},
        ]}]},
        ["APPROXIMATED RAG_DOCUMENTS documents", "APPROXIMATED DOCUMENT documents[0]"],
    ),
    "what is said to be nothing": (
        R, {"reasoning": None, "text": None, "include": None}, O, {"reasoning_effort": GONE, "logprobs": GONE}, [],
    ),
    "a way of reasoning that only one provider has": (
        R, {"reasoning": {"mode": "pro"}}, O, {"reasoning": GONE}, ["DROPPED EXTRA_FIELD reasoning.mode"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("caller", "patch", "target", "wanted", "notes"), CASES.values(), ids=CASES)
def test_what_is_written_and_noted(
    caller: Protocol, patch: dict[str, Any], target: Protocol, wanted: dict[str, Any], notes: list[str]
) -> None:
    bridge = bridge_for(caller, said(caller, patch), target_for(target))
    body = written(bridge)
    assert {key: body.get(key, GONE) for key in wanted} == wanted
    assert noted(bridge) == notes


PDF = {"media": {"mime_type": "application/pdf", "data": "aGk="}}
PICTURE = {"image": {"mime_type": "image/png", "data": "aGk="}}
PASSAGES = {"parts": {"parts": [{"text": "a"}, PICTURE]}}
D = "messages[0].parts[0].document"
TYPED: dict[str, tuple[dict[str, Any], Protocol, list[str]]] = {
    "where a file comes from": ({**PDF, "source": "s"}, A, [f"DROPPED DOCUMENT_TITLE {D}.source"]),
    "what to know of a search result": (
        {"text": "a", "source": "s", "context": "c"}, A, [f"DROPPED DOCUMENT_TITLE {D}.context"],
    ),
    "where a file comes from, to Gemini": ({**PDF, "source": "s"}, G, [f"DROPPED DOCUMENT_TITLE {D}.source"]),
    "a picture among passages": (
        PASSAGES, O, [f"APPROXIMATED DOCUMENT_PARTS {D}", f"DROPPED IMAGE {D}.parts.parts[1]"],
    ),
    "a picture among passages, to Cohere": (
        PASSAGES, C,
        [f"APPROXIMATED DOCUMENT_PARTS {D}", f"DROPPED IMAGE {D}.parts.parts[1]", f"APPROXIMATED DOCUMENT {D}"],
    ),
    "nothing but a document that may be cited": ({"text": "a", "citations": True}, C, [f"APPROXIMATED DOCUMENT {D}"]),
}  # fmt: skip


@pytest.mark.parametrize(("document", "target", "notes"), TYPED.values(), ids=TYPED)
def test_documents_of_typed_callers(document: dict[str, Any], target: Protocol, notes: list[str]) -> None:
    asked = ParseDict({"messages": [{"role": "ROLE_USER", "parts": [{"document": document}]}]}, MessageRequest())
    bridge = bridge_for(None, asked, target_for(target))
    assert written(bridge)
    assert noted(bridge) == notes


def test_what_gemini_is_told_of_a_document() -> None:
    document = {"text": "body", "title": "T", "source": "s", "context": "c"}
    asked = ParseDict({"messages": [{"role": "ROLE_USER", "parts": [{"document": document}]}]}, MessageRequest())
    body = written(bridge_for(None, asked, target_for(G)))
    assert body["contents"] == [{"role": "user", "parts": [{"text": "T\n\ns\n\nc\n\nbody"}]}]


def test_what_cohere_is_not_told_of_a_document() -> None:
    asked = ParseDict(
        {"messages": [{"role": "ROLE_USER", "text": "x"}], "documents": [{"text": "a", "context": "c"}]},
        MessageRequest(),
    )
    bridge = bridge_for(None, asked, target_for(C))
    assert written(bridge)["documents"] == ["a"]
    assert noted(bridge) == ["DROPPED DOCUMENT_TITLE documents[0]"]


@pytest.mark.parametrize("target", [A, R])
def test_who_asks_and_labels_have_limits(target: Protocol) -> None:
    labels = {"k" * 65: "v", **{f"k{at}": "v" for at in range(17)}}
    bridge = bridge_for(G, said(G, {"labels": labels}), target_for(R))
    assert len(written(bridge)["metadata"]) == 16
    assert noted(bridge) == ["DROPPED METADATA labels"]
    asked = ParseDict({"messages": [{"role": "ROLE_USER", "text": "x"}], "end_user_id": "u" * 129}, MessageRequest())
    bridge = bridge_for(None, asked, target_for(target))
    body = written(bridge)
    assert {"safety_identifier", "metadata"}.isdisjoint(body)
    assert noted(bridge) == ["DROPPED END_USER_ID end_user_id"]


def test_names_of_schemas_and_choices_of_typed_callers() -> None:
    form = {"kind": "OUTPUT_KIND_JSON_SCHEMA", "schema_json": "{}", "name": "a b"}
    choice = {"tools": [{"function": {"name": "f"}}], "tool_choice": {"names": ["f"]}}
    asked = ParseDict({"messages": [{"role": "ROLE_USER", "text": "x"}], "output_format": form}, MessageRequest())
    bridge = bridge_for(None, asked, target_for(R))
    assert written(bridge)["text"]["format"]["name"] == "a_b"
    assert noted(bridge) == ["APPROXIMATED OUTPUT_SCHEMA_NAME output_format.name"]
    asked = ParseDict({"messages": [{"role": "ROLE_USER", "text": "x"}], **choice}, MessageRequest())
    assert written(bridge_for(None, asked, target_for(O)))["tool_choice"]["allowed_tools"]["mode"] == "auto"


@pytest.mark.parametrize(
    ("target", "wanted"),
    [
        (O, {"reasoning_effort": "low"}),
        (R, {"reasoning": {"effort": "low"}}),
        (G, {"generationConfig": {"maxOutputTokens": 64, "thinkingConfig": {
            "thinkingBudget": 2000, "includeThoughts": True,
        }}}),
    ],
)  # fmt: skip
def test_of_an_effort_and_a_budget_one_is_said(target: Protocol, wanted: dict[str, Any]) -> None:
    both = {"thinking": {"type": "enabled", "budget_tokens": 2000}, "output_config": {"effort": "low"}}
    bridge = bridge_for(A, said(A, both), target_for(target))
    body = written(bridge)
    assert {key: body[key] for key in wanted} == wanted
    lost = "REASONING_EFFORT output_config.effort" if target is G else "REASONING_BUDGET thinking.budget_tokens"
    assert noted(bridge) == [f"APPROXIMATED {lost}"]


DEFAULTS = {"temperature": 1, "top_p": 1, "presence_penalty": 0, "frequency_penalty": 0, "top_logprobs": 0}


@pytest.mark.parametrize(
    ("target", "model", "version"),
    [
        (O, "gpt-5", ""),
        (R, "gpt-5", ""),
        (A, "claude-opus-4-7", ""),
        (A, "claude-haiku-4-5", "2026-10-21"),
        (G, "gemini-4-argon", ""),
    ],
)
def test_defaults_are_no_loss_where_the_model_refuses_them(target: Protocol, model: str, version: str) -> None:
    bridge = bridge_for(O, said(O, DEFAULTS), target_for(target, model, version=version), strict=True)
    body = written(bridge)
    gone = DEFAULTS.keys() | {"topP"}
    assert gone.isdisjoint(body.keys() | body.get("generationConfig", {}).keys())


def test_what_is_no_default_is_a_loss() -> None:
    with pytest.raises(NotExpressible) as refused:
        bridge_for(O, said(O, {"top_p": 0.5}), target_for(O, "gpt-5"), strict=True).wire(stream=False)
    assert [each.path for each in refused.value.violations] == ["top_p"]


def test_breakpoints_of_the_prompt_cache_are_counted() -> None:
    parts = [{"type": "text", "text": str(at), "cache_control": {"type": "ephemeral"}} for at in range(5)]
    asked = said(A, {"messages": [{"role": "user", "content": parts}]})
    bridge = bridge_for(A, asked, target_for(R, "gpt-6-sol"))
    pieces = written(bridge)["input"][0]["content"]
    assert ["prompt_cache_breakpoint" in piece for piece in pieces] == [False, True, True, True, True]
    assert noted(bridge) == ["DROPPED CACHE_BREAKPOINT messages[0].content[0].cache_control"]
    older = bridge_for(A, asked, target_for(R, "gpt-4o"))
    assert all("prompt_cache_breakpoint" not in piece for piece in written(older)["input"][0]["content"])
    assert len(noted(older)) == 5


REFUSED: dict[str, tuple[Protocol, dict[str, Any], Protocol, type[FluxError], str]] = {
    "no message": (G, {"contents": []}, O, InvalidRequest, "contents"),
    "no message, to Responses": (O, {"messages": []}, R, InvalidRequest, "messages"),
    "nothing but what cannot be said": (
        O, {"messages": [{"role": "user", "content": [
            {"type": "image_url", "image_url": {"url": "data:image/bmp;base64,aGk="}},
        ]}]}, A, NotExpressible, "messages[0].content[0].image_url.url",
    ),
    "nothing at all, to Cohere": (
        O, {"messages": [{"role": "user", "content": ""}]}, C, InvalidRequest, "messages",
    ),
    "no schema": (
        O, {"response_format": {"type": "json_schema", "json_schema": {"name": "n"}}}, R, InvalidRequest,
        "response_format.json_schema.schema",
    ),
    "a tool without a name": (R, {"tools": [{"type": "function"}]}, A, InvalidRequest, "tools[0].name"),
    "a call without a name": (
        R, {"input": [{"type": "function_call", "call_id": "c"}]}, O, InvalidRequest, "input[0].name",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("caller", "patch", "target", "error", "path"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused(
    caller: Protocol, patch: dict[str, Any], target: Protocol, error: type[FluxError], path: str
) -> None:
    with pytest.raises(error) as refused:
        bridge_for(caller, said(caller, patch), target_for(target)).wire(stream=False)
    error_at = refused.value
    assert isinstance(error_at, InvalidRequest | NotExpressible)
    assert [each.path for each in error_at.violations] == [path]


ODD: list[tuple[dict[str, Any], Protocol, str, dict[str, Any], list[str]]] = [
    ({"output_format": {}}, G, "", {"generationConfig": GONE}, []),
    ({"speech": {"format": "wav"}}, G, "", {"generationConfig": GONE}, ["DROPPED SPEECH speech.format"]),
    (
        {"output_modalities": ["MODALITY_DOCUMENT"]}, G, "", {"generationConfig": GONE},
        ["DROPPED OUTPUT_MODALITIES output_modalities"],
    ),
    ({"reasoning": {"effort": "REASONING_EFFORT_LOW"}}, O, "deepseek", {"thinking": GONE}, []),
    (
        {"reasoning": {"display": "REASONING_DISPLAY_SUMMARY"}}, O, "openrouter", {"reasoning": GONE},
        ["DROPPED REASONING_DISPLAY reasoning.display"],
    ),
    ({"max_tool_calls": 1}, O, "", {"max_tool_calls": GONE}, ["DROPPED MAX_TOOL_CALLS max_tool_calls"]),
    (
        {"provider_state": {"container_id": "c"}}, O, "", {"container": GONE},
        ["DROPPED PROVIDER_STATE provider_state.container_id"],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "target", "dialect", "wanted", "notes"), ODD)
def test_one_field_of_a_typed_request(
    fields: dict[str, Any], target: Protocol, dialect: str, wanted: dict[str, Any], notes: list[str]
) -> None:
    asked = ParseDict({"messages": [{"role": "ROLE_USER", "text": "x"}], **fields}, MessageRequest())
    bridge = bridge_for(None, asked, target_for(target, dialect=dialect))
    body = written(bridge)
    assert {key: body.get(key, GONE) for key in wanted} == wanted
    assert noted(bridge) == notes


def test_documents_without_a_question_are_not_sent_to_gemini() -> None:
    asked = ParseDict({"messages": [{"role": "ROLE_USER"}], "documents": [{"text": "a"}]}, MessageRequest())
    with pytest.raises(InvalidRequest):
        bridge_for(None, asked, target_for(G)).wire(stream=False)


@pytest.mark.parametrize("before", [[], [{"type": "output_text", "text": "a"}], "a"])
def test_messages_of_the_model_without_ids_stay_apart(before: Any) -> None:
    asked = [{"role": "assistant", "content": before}, {"role": "assistant", "content": "b"}]
    assert written(bridge_for(R, said(R, {"input": asked}), target_for(R)))["input"] == asked
