"""Requests of the IR towards OpenAI Chat Completions: settings, tools, output, reasoning."""

from __future__ import annotations

import json
from typing import Any

import pytest
from google.protobuf.json_format import ParseDict

from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.gates import Gates
from fluxrpc.v1.message_pb2 import MessageRequest
from tests.unit.protocols.openai.chat_ways import HI, sdk_accepts, write

Notes = list[tuple[str, str, str]]
SCHEMA = '{"type":"object","properties":{"x":{"type":"string"}},"required":["x"],"additionalProperties":false}'
FUNCTION = {"function": {"name": "f", "parameters_json": SCHEMA}}
WRITTEN_FUNCTION = {"type": "function", "function": {"name": "f", "parameters": json.loads(SCHEMA)}}


def ir(fields: dict[str, Any]) -> MessageRequest:
    hello = {"messages": [{"role": "ROLE_USER", "text": "Hi"}]}
    return ParseDict({**hello, **fields}, MessageRequest())


def dropped(code: str, path: str) -> tuple[str, str, str]:
    return (code, "DROPPED", path)


CASES: dict[str, tuple[dict[str, Any], dict[str, Any], Notes]] = {
    "plain": (
        {
            "max_output_tokens": "5", "temperature": 0, "top_p": 0.5, "seed": "7", "choice_count": 2, "logprobs": True,
            "top_logprobs": 3, "store": True, "verbosity": "VERBOSITY_LOW", "end_user_id": "u", "metadata": {"a": "b"},
            "service_tier": "SERVICE_TIER_FLEX", "stop_sequences": ["x"], "presence_penalty": 1, "frequency_penalty": 0,
            "cache": {"key": "k", "automatic": False}, "reasoning": {"effort": "REASONING_EFFORT_HIGH"}, "top_k": "0",
        },
        {
            "max_completion_tokens": 5, "temperature": 0, "top_p": 0.5, "seed": 7, "n": 2, "logprobs": True,
            "top_logprobs": 3, "store": True, "verbosity": "low", "safety_identifier": "u", "metadata": {"a": "b"},
            "service_tier": "flex", "stop": ["x"], "presence_penalty": 1, "frequency_penalty": 0,
            "prompt_cache_key": "k", "prompt_cache_options": {"mode": "explicit"}, "reasoning_effort": "high",
        },
        [],
    ),
    "unsayable": (
        {
            "top_k": "5", "max_tool_calls": 3, "citation_mode": "CITATION_MODE_FAST",
            "service_tier": "SERVICE_TIER_OTHER", "service_tier_raw": "gold", "end_user_id": "u" * 129,
            "provider_state": {"previous_response_id": "r", "container_id": "c"},
            "metadata": {"k" * 65: "v"}, "stop_sequences": list("abcde"),
            "extras": [{"protocol": "PROTOCOL_GEMINI", "key": "safetySettings", "value_json": "[{}]"}],
        },
        {},
        [
            ("STOP_SEQUENCES", "EMULATED", "stop_sequences"),
            dropped("TOP_K", "top_k"),
            dropped("SERVICE_TIER", "service_tier"),
            dropped("END_USER_ID", "end_user_id"),
            dropped("METADATA", "metadata"),
            dropped("MAX_TOOL_CALLS", "max_tool_calls"),
            dropped("CITATION_MODE", "citation_mode"),
            dropped("PROVIDER_STATE", "provider_state.previous_response_id"),
            dropped("PROVIDER_STATE", "provider_state.container_id"),
            dropped("EXTRA_FIELD", "safetySettings"),
        ],
    ),
    "fastest": (
        {"service_tier": "SERVICE_TIER_ULTRAFAST", "cache": {"automatic": True, "ttl": "3600s"}},
        {"service_tier": "fast", "prompt_cache_options": {"ttl": "30m"}},
        [("SERVICE_TIER", "APPROXIMATED", "service_tier"), ("CACHE_OPTIONS", "APPROXIMATED", "cache.ttl")],
    ),
    "own extras": (
        {"extras": [{"protocol": "PROTOCOL_OPENAI", "key": "logit_bias", "value_json": '{"5":1}'}]},
        {"logit_bias": {"5": 1}},
        [],
    ),
    "automatic cache": ({"cache": {"automatic": True}}, {}, []),
    "text": ({"output_format": {"kind": "OUTPUT_KIND_TEXT"}}, {"response_format": {"type": "text"}}, []),
    "schema": (
        {"output_format": {
            "kind": "OUTPUT_KIND_JSON_SCHEMA", "schema_json": SCHEMA, "name": "a b", "description": "d", "strict": True,
        }},
        {"response_format": {
            "type": "json_schema",
            "json_schema": {"name": "a_b", "description": "d", "schema": json.loads(SCHEMA), "strict": True},
        }},
        [("OUTPUT_SCHEMA_NAME", "APPROXIMATED", "output_format.name")],
    ),
    "schema without a name": (
        {"output_format": {"kind": "OUTPUT_KIND_JSON_SCHEMA", "schema_json": SCHEMA}},
        {"response_format": {
            "type": "json_schema", "json_schema": {"name": "response", "schema": json.loads(SCHEMA)},
        }},
        [],
    ),
    "sound": (
        {"output_modalities": ["MODALITY_TEXT", "MODALITY_AUDIO"], "speech": {"voice": "v"}},
        {"modalities": ["text", "audio"], "audio": {"voice": "v", "format": "wav"}},
        [("SPEECH", "INJECTED", "speech.format")],
    ),
    "sound of a format": (
        {"output_modalities": ["MODALITY_AUDIO"], "speech": {"voice": "v", "format": "mp3"}},
        {"modalities": ["audio"], "audio": {"voice": "v", "format": "mp3"}},
        [],
    ),
    "images": (
        {"output_modalities": ["MODALITY_TEXT", "MODALITY_IMAGE"], "speech": {"voice": "v"}},
        {},
        [dropped("OUTPUT_MODALITIES", "output_modalities[1]"), dropped("SPEECH", "speech")],
    ),
    "budget": (
        {"max_output_tokens": "1000", "reasoning": {"budget_tokens": "400", "display": "REASONING_DISPLAY_SUMMARY"}},
        {"max_completion_tokens": 1000, "reasoning_effort": "medium"},
        [
            ("REASONING_BUDGET", "APPROXIMATED", "reasoning.budget_tokens"),
            dropped("REASONING_DISPLAY", "reasoning.display"),
        ],
    ),
    "budget without a limit": (
        {"reasoning": {"budget_tokens": "0"}},
        {"reasoning_effort": "none"},
        [("REASONING_BUDGET", "APPROXIMATED", "reasoning.budget_tokens")],
    ),
    "free budget": ({"reasoning": {"budget_tokens": "-1"}}, {}, []),
    "off": ({"reasoning": {"mode": "REASONING_MODE_OFF"}}, {"reasoning_effort": "none"}, []),
    "adaptive": ({"reasoning": {"mode": "REASONING_MODE_ADAPTIVE"}}, {}, []),
    "on": ({"reasoning": {"mode": "REASONING_MODE_ON"}}, {}, [dropped("REASONING_MODE", "reasoning.mode")]),
    "between tools": (
        {"reasoning": {"mode": "REASONING_MODE_BETWEEN_TOOLS"}},
        {"reasoning_effort": "none"},
        [("REASONING_MODE", "APPROXIMATED", "reasoning.mode")],
    ),
    "tools": (
        {
            "tools": [
                {**FUNCTION, "cache_breakpoint": {}},
                {"custom": {"name": "c", "description": "d", "syntax": "GRAMMAR_SYNTAX_REGEX", "grammar": "a+"}},
                {"custom": {"name": "free"}},
                {"server": {
                    "kind": "SERVER_TOOL_KIND_WEB_SEARCH", "max_uses": 2, "context_size": "SEARCH_CONTEXT_SIZE_HIGH",
                    "user_location": {"city": "Oslo"},
                }},
                {"server": {"kind": "SERVER_TOOL_KIND_CODE"}},
                {"provider": {"type": "bash_20250124", "name": "bash"}},
                {"mcp": {"name": "m", "url": "https://x"}},
                {"function": {
                    "name": "a.b", "description": "d", "strict": False, "output_schema_json": "{}",
                    "defer_loading": True,
                }, "extras": [{"protocol": "PROTOCOL_ANTHROPIC", "key": "x", "value_json": "1"}]},
            ],
            "parallel_tool_calls": False,
        },
        {
            "tools": [
                WRITTEN_FUNCTION,
                {"type": "custom", "custom": {
                    "name": "c", "description": "d",
                    "format": {"type": "grammar", "grammar": {"definition": "a+", "syntax": "regex"}},
                }},
                {"type": "custom", "custom": {"name": "free"}},
                {"type": "function", "function": {"name": "a_b", "description": "d", "strict": False}},
            ],
            "web_search_options": {
                "search_context_size": "high",
                "user_location": {"type": "approximate", "approximate": {"city": "Oslo"}},
            },
            "parallel_tool_calls": False,
        },
        [
            dropped("CACHE_BREAKPOINT", "tools[0].cache_breakpoint"),
            dropped("SERVER_TOOL_OPTIONS", "tools[3].server"),
            dropped("SERVER_TOOL", "tools[4]"),
            dropped("PROVIDER_TOOL", "tools[5]"),
            dropped("MCP_SERVER", "tools[6]"),
            ("TOOL_NAME", "RENAMED", "tools[7].function.name"),
            dropped("TOOL_OUTPUT_SCHEMA", "tools[7].function.output_schema_json"),
            dropped("TOOL_DEFERRAL", "tools[7].function"),
            dropped("EXTRA_FIELD", "tools[7].x"),
        ],
    ),
    "no tools, no choice": (
        {"tool_choice": {"mode": "TOOL_CHOICE_MODE_NONE"}, "parallel_tool_calls": False, "tools": []}, {}, []
    ),
    "required": (
        {"tools": [FUNCTION], "tool_choice": {"mode": "TOOL_CHOICE_MODE_REQUIRED"}},
        {"tools": [WRITTEN_FUNCTION], "tool_choice": "required"},
        [],
    ),
    "validated": (
        {"tools": [FUNCTION], "tool_choice": {"mode": "TOOL_CHOICE_MODE_VALIDATED"}},
        {"tools": [WRITTEN_FUNCTION], "tool_choice": "auto"},
        [("TOOL_CHOICE", "APPROXIMATED", "tool_choice.mode")],
    ),
    "other choice": (
        {"tools": [FUNCTION], "tool_choice": {"mode": "TOOL_CHOICE_MODE_OTHER", "mode_raw": "x"}},
        {"tools": [WRITTEN_FUNCTION]},
        [dropped("TOOL_CHOICE", "tool_choice.mode")],
    ),
    "choice without a mode": ({"tools": [FUNCTION], "tool_choice": {}}, {"tools": [WRITTEN_FUNCTION]}, []),
    "named": (
        {"tools": [FUNCTION], "tool_choice": {"mode": "TOOL_CHOICE_MODE_REQUIRED", "names": ["f"]}},
        {"tools": [WRITTEN_FUNCTION], "tool_choice": {"type": "function", "function": {"name": "f"}}},
        [],
    ),
    "allowed": (
        {
            "tools": [FUNCTION, {"custom": {"name": "c"}}],
            "tool_choice": {"mode": "TOOL_CHOICE_MODE_AUTO", "names": ["f", "c"]},
        },
        {
            "tools": [WRITTEN_FUNCTION, {"type": "custom", "custom": {"name": "c"}}],
            "tool_choice": {"type": "allowed_tools", "allowed_tools": {
                "mode": "auto",
                "tools": [{"type": "function", "function": {"name": "f"}}, {"type": "custom", "custom": {"name": "c"}}],
            }},
        },
        [],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("fields", "expected", "notes"), CASES.values(), ids=list(CASES))
def test_requests(fields: dict[str, Any], expected: dict[str, Any], notes: Notes) -> None:
    written = write(ir(fields))
    sdk_accepts(written.body)
    assert written.body == {"model": "gpt-x", "messages": [HI], **expected}
    assert written.notes == notes


def test_emulated_stops_are_left_to_the_answer() -> None:
    assert write(ir({"stop_sequences": list("abcde")})).context.stops == tuple("abcde")


def test_streams_ask_for_usage_and_sound_that_can_be_streamed() -> None:
    fields = {"output_modalities": ["MODALITY_AUDIO"], "speech": {"voice": "v"}}
    written = write(ir(fields), stream=True)
    assert written.body["stream_options"] == {"include_usage": True}
    assert written.body["audio"]["format"] == "pcm16"


def test_streams_of_servers_that_refuse_to_be_asked_for_usage() -> None:
    written = write(ir({}), stream=True, force_usage=False)
    assert written.body["stream"] is True
    assert "stream_options" not in written.body


def test_strict_schemas_are_undone_in_the_answer() -> None:
    tool = {"function": {"name": "f", "parameters_json": SCHEMA.replace('["x"]', "[]"), "strict": True}}
    written = write(ir({"tools": [tool]}))
    sdk_accepts(written.body)
    assert written.body["tools"][0]["function"]["parameters"]["required"] == ["x"]
    assert list(written.context.narrowed_tools) == ["f"]


def test_a_word_of_a_list() -> None:
    form = {"kind": "OUTPUT_KIND_ENUM", "schema_json": '{"type":"string","enum":["a","b"]}'}
    written = write(ir({"output_format": form}))
    sdk_accepts(written.body)
    assert written.body["response_format"]["json_schema"] == {
        "name": "response",
        "schema": {
            "type": "object",
            "properties": {"value": {"type": "string", "enum": ["a", "b"]}},
            "required": ["value"],
            "additionalProperties": False,
        },
        "strict": True,
    }
    assert written.context.unwrap_key == "value"


@pytest.mark.parametrize(("text", "hinted"), [("Hi", True), ("As Json, please", False)])
def test_json_is_asked_for_in_words(text: str, hinted: bool) -> None:
    request = ir({"output_format": {"kind": "OUTPUT_KIND_JSON"}, "messages": [{"role": "ROLE_USER", "text": text}]})
    written = write(request)
    assert written.body["response_format"] == {"type": "json_object"}
    assert len(written.body["messages"]) == 1 + hinted
    assert written.notes == [("OUTPUT_JSON", "INJECTED", "output_format")] * hinted


GATED: dict[str, tuple[Gates, dict[str, Any], dict[str, Any], Notes]] = {
    "refused while reasoning": (
        Gates(refused_while_reasoning=frozenset({"temperature", "logprobs"}), ignored=frozenset({"seed"})),
        {"temperature": 1, "top_logprobs": 1, "logprobs": True, "seed": "1"},
        {},
        [
            dropped("TEMPERATURE", "temperature"),
            dropped("SEED", "seed"),
            dropped("LOGPROBS", "logprobs"),
            dropped("TOP_LOGPROBS", "top_logprobs"),
        ],
    ),
    "not reasoning": (
        Gates(refused_while_reasoning=frozenset({"temperature"})),
        {"temperature": 1, "reasoning": {"effort": "REASONING_EFFORT_NONE"}},
        {"temperature": 1, "reasoning_effort": "none"},
        [],
    ),
    "one answer": (
        Gates(refused=frozenset({"choice_count"})), {"choice_count": 2}, {}, [dropped("CHOICE_COUNT", "choice_count")]
    ),
    "one of two": (
        Gates(one_of_temperature_and_top_p=True),
        {"temperature": 1, "top_p": 1},
        {"temperature": 1},
        [dropped("TOP_P", "top_p")],
    ),
    "no cache options": (
        Gates(refused=frozenset({"cache"})), {"cache": {"ttl": "60s"}}, {}, [dropped("CACHE_OPTIONS", "cache")]
    ),
    "no tools": (
        Gates(takes_tools=False),
        {"tools": [FUNCTION], "tool_choice": {"mode": "TOOL_CHOICE_MODE_AUTO"}, "parallel_tool_calls": True},
        {},
        [dropped("TOOLS", "tools")],
    ),
    "tools without reasoning": (
        Gates(tools_need_no_reasoning=True),
        {"tools": [FUNCTION]},
        {"tools": [WRITTEN_FUNCTION], "reasoning_effort": "none"},
        [("REASONING_EFFORT", "APPROXIMATED", "reasoning.effort")],
    ),
    "no effort": (
        Gates(takes_effort=False),
        {"reasoning": {"effort": "REASONING_EFFORT_LOW"}},
        {},
        [dropped("REASONING_EFFORT", "reasoning.effort")],
    ),
    "nearest effort": (
        Gates(efforts=("low", "high")),
        {"reasoning": {"effort": "REASONING_EFFORT_MAX"}},
        {"reasoning_effort": "high"},
        [("REASONING_EFFORT", "CLAMPED", "reasoning.effort")],
    ),
    "reasons anyway": (Gates(is_reasoning=True), {"reasoning": {"mode": "REASONING_MODE_ON"}}, {}, []),
    "no forced call": (
        Gates(forced_tool_choice=False),
        {"tools": [FUNCTION], "tool_choice": {"mode": "TOOL_CHOICE_MODE_REQUIRED"}},
        {"tools": [WRITTEN_FUNCTION], "tool_choice": "auto"},
        [("TOOL_CHOICE", "APPROXIMATED", "tool_choice")],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("gates", "fields", "expected", "notes"), GATED.values(), ids=list(GATED))
def test_gates(gates: Gates, fields: dict[str, Any], expected: dict[str, Any], notes: Notes) -> None:
    written = write(ir(fields), gates=gates)
    assert written.body == {"model": "gpt-x", "messages": [HI], **expected}
    assert written.notes == notes


COPIES: dict[str, tuple[str, dict[str, Any], dict[str, Any], Notes]] = {
    "what only the original has": (
        "other",
        {
            "store": True, "service_tier": "SERVICE_TIER_FLEX", "verbosity": "VERBOSITY_LOW", "metadata": {"a": "b"},
            "cache": {"key": "k", "ttl": "60s"}, "end_user_id": "u", "top_k": "3",
            "tools": [
                {"custom": {"name": "c", "syntax": "GRAMMAR_SYNTAX_LARK", "grammar": "x"}},
                {"custom": {"name": "d"}},
                {"server": {"kind": "SERVER_TOOL_KIND_WEB_SEARCH"}},
                FUNCTION,
            ],
            "tool_choice": {"mode": "TOOL_CHOICE_MODE_AUTO", "names": ["c", "d"]},
        },
        {
            "user": "u",
            "tools": [
                {"type": "function", "function": {"name": name, "parameters": {
                    "type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"],
                }}}
                for name in "cd"
            ],
            "tool_choice": "auto",
        },
        [
            dropped("TOP_K", "top_k"),
            ("TOOL_CHOICE_ALLOWED", "EMULATED", "tool_choice.names"),
            ("CUSTOM_TOOL", "EMULATED", "tools[0]"),
            dropped("TOOL_GRAMMAR", "tools[0].custom.grammar"),
            ("CUSTOM_TOOL", "EMULATED", "tools[1]"),
            dropped("VERBOSITY", "verbosity"),
            dropped("STORE", "store"),
            dropped("SERVICE_TIER", "service_tier"),
            dropped("METADATA", "metadata"),
            dropped("CACHE_OPTIONS", "cache.key"),
            dropped("CACHE_OPTIONS", "cache"),
        ],
    ),
    "no search": (
        "vllm",
        {"tools": [{"server": {"kind": "SERVER_TOOL_KIND_WEB_SEARCH"}}], "top_k": "3"},
        {"top_k": 3},
        [dropped("SERVER_TOOL", "tools[0]")],
    ),
    "one allowed": (
        "vllm",
        {"tools": [FUNCTION], "tool_choice": {"mode": "TOOL_CHOICE_MODE_REQUIRED", "names": ["f"]}},
        {"tools": [WRITTEN_FUNCTION], "tool_choice": {"type": "function", "function": {"name": "f"}}},
        [],
    ),
    "no schemas": (
        "deepseek",
        {"output_format": {"kind": "OUTPUT_KIND_JSON_SCHEMA", "schema_json": SCHEMA},
         "messages": [{"role": "ROLE_USER", "text": "json"}]},
        {"response_format": {"type": "json_object"}, "messages": [{"role": "user", "content": "json"}]},
        [("OUTPUT_SCHEMA", "APPROXIMATED", "output_format.schema_json")],
    ),
    "switch on": (
        "deepseek",
        {"reasoning": {"mode": "REASONING_MODE_ON", "effort": "REASONING_EFFORT_HIGH"}},
        {"thinking": {"type": "enabled"}, "reasoning_effort": "high"},
        [],
    ),
    "switch off": (
        "deepseek",
        {"reasoning": {"effort": "REASONING_EFFORT_NONE"}},
        {"thinking": {"type": "disabled"}},
        [],
    ),
    "switch untouched": ("deepseek", {}, {}, []),
    "openrouter": (
        "openrouter",
        {"reasoning": {"budget_tokens": "400", "display": "REASONING_DISPLAY_OMITTED"}},
        {"reasoning": {"max_tokens": 400, "exclude": True}},
        [],
    ),
    "openrouter's effort": (
        "openrouter",
        {"reasoning": {"budget_tokens": "400", "effort": "REASONING_EFFORT_LOW"}},
        {"reasoning": {"effort": "low"}},
        [("REASONING_BUDGET", "APPROXIMATED", "reasoning.budget_tokens")],
    ),
    "openrouter's switch": (
        "openrouter", {"reasoning": {"mode": "REASONING_MODE_ON"}}, {"reasoning": {"enabled": True}}, []
    ),
    "openrouter untouched": ("openrouter", {}, {}, []),
}  # fmt: skip


@pytest.mark.parametrize(("dialect", "fields", "expected", "notes"), COPIES.values(), ids=list(COPIES))
def test_copies(dialect: str, fields: dict[str, Any], expected: dict[str, Any], notes: Notes) -> None:
    written = write(ir(fields), dialect=dialect)
    assert written.body == {"model": "gpt-x", "messages": [HI], **expected}
    assert written.notes == notes


def test_emulated_tools_are_undone_in_the_answer() -> None:
    written = write(ir({"tools": [{"custom": {"name": "c"}}]}), dialect="vllm")
    assert written.context.custom_tools == {"c"}


def test_tool_names_are_undone_in_the_answer() -> None:
    written = write(ir({"tools": [{"function": {"name": "a.b"}}]}), caller=Protocol.GEMINI)
    assert written.context.tool_names == {"a_b": "a.b"}
