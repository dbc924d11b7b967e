"""Requests of this protocol through the IR and back: nothing may change but what a model refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fluxrpc.protocols.gates import Gates
from fluxrpc.protocols.json_text import JsonFault
from fluxrpc.protocols.notes import Places, locator
from tests.unit.protocols.openai.chat_ways import HI, OPENAI, back, sdk_accepts

PNG = "data:image/png;base64,QUJD"
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"b":1,"a":9007199254740993}'}}
CUSTOM = {"id": "c2", "type": "custom", "custom": {"name": "g", "input": "free"}}
RESULTS = [
    {"role": "tool", "tool_call_id": "c1", "content": "42"},
    {"role": "tool", "tool_call_id": "c2", "content": ""},
]
DEFINITION = {"name": "f", "parameters": {"type": "object", "properties": {}}}
FUNCTION = {"type": "function", "function": DEFINITION}


def user(*parts: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"role": "user", "content": list(parts)}]


MESSAGES: dict[str, list[dict[str, Any]]] = {
    "roles": [
        {"role": "system", "content": "S", "name": "n"},
        {"role": "developer", "content": [{"type": "text", "text": "D"}]},
        {"role": "user", "content": "", "name": ""},
        {"role": "assistant", "content": "A", "name": "bot"},
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": ""}]},
    ],
    "empty": [
        {"role": "user", "content": []},
        {"role": "assistant", "content": ""},
        {"role": "assistant", "content": None},
    ],
    "image": user(
        {"type": "image_url", "image_url": {"url": PNG}},
        {"type": "image_url", "image_url": {"url": "https://x.test/a.png", "detail": "original"}},
        {"type": "image_url", "image_url": {"url": "https://x.test/a.png", "detail": "auto"}},
    ),
    "sound": user({"type": "input_audio", "input_audio": {"data": "QUJD", "format": "wav"}}),
    "file": user(
        {"type": "file", "file": {"file_id": "file-1"}},
        {"type": "file", "file": {"file_data": "data:application/pdf;base64,QUJD", "filename": "a.pdf"}},
        {"type": "file", "file": {"file_data": "QUJD", "filename": ""}},
        {"type": "file", "file": {"file_data": "JVBERg=="}},
        {"type": "file", "file": {"file_data": "QUJD", "filename": "notes.TXT"}},
    ),
    "breakpoints": user(
        {"type": "text", "text": "a", "prompt_cache_breakpoint": {"mode": "explicit"}},
        {"type": "text", "text": "b", "prompt_cache_breakpoint": {"mode": "explicit", "ttl": "30m"}},
        {"type": "text", "text": "c", "prompt_cache_breakpoint": {"mode": "explicit", "ttl": "12h"}},
    ),
    "calls": [
        HI,
        {"role": "assistant", "content": None, "tool_calls": [CALL, CUSTOM]},
        *RESULTS,
        {"role": "assistant", "content": "text", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": each} for each in "ab"]},
        {"role": "assistant", "content": "", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": []},
        {"role": "assistant", "content": [{"type": "text", "text": "t"}], "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "one"}]},
    ],
    "no content": [HI, {"role": "assistant", "tool_calls": [CALL]}, RESULTS[0]],
    "refusal": [
        HI,
        {"role": "assistant", "content": None, "refusal": "no"},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]},
        {"role": "assistant", "content": "A", "refusal": None, "audio": {"id": "audio_1"}, "tool_calls": [CALL]},
        RESULTS[0],
    ],
    "legacy": [
        HI,
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "42"},
    ],
}  # fmt: skip


@pytest.mark.parametrize("messages", MESSAGES.values(), ids=list(MESSAGES))
def test_messages_come_back(messages: list[dict[str, Any]]) -> None:
    body = {"model": "gpt-x", "messages": messages}
    sdk_accepts(body)
    assert back(body)[:2] == (body, [])


FIELDS: dict[str, dict[str, Any]] = {
    "sampling": {
        "temperature": 0, "top_p": 1, "presence_penalty": -1.5, "frequency_penalty": 2, "seed": 2**53 + 1, "n": 2,
        "logprobs": True, "top_logprobs": 0, "store": False, "logit_bias": {"5": -100},
    },
    "limits": {"max_completion_tokens": 5, "max_tokens": 7, "stop": ["a", "b"]},
    "old limit": {"max_tokens": 7, "stop": "a"},
    "no stop": {"stop": [], "tools": [], "metadata": {}, "modalities": []},
    "nulls": {"stop": None, "temperature": None, "tools": None, "metadata": None, "response_format": None},
    "envelope": {
        "user": "u", "safety_identifier": "s", "metadata": {"a": "b"}, "service_tier": "priority", "verbosity": "low",
        "prompt_cache_key": "k", "prompt_cache_options": {"mode": "implicit", "ttl": "30m"}, "reasoning_effort": "max",
        "prediction": {"type": "content", "content": "x"},
    },
    "old user": {"user": "u", "service_tier": "scale", "prompt_cache_options": {"mode": "explicit"}},
    "time to live": {"prompt_cache_options": {"ttl": "30m"}},
    "sound": {"modalities": ["text", "audio"], "audio": {"voice": "alloy", "format": "wav"}},
    "own voice": {"modalities": ["audio"], "audio": {"voice": {"id": "v"}, "format": "mp3"}},
    "text": {"response_format": {"type": "text"}},
    "json": {"response_format": {"type": "json_object"}},
    "schema": {
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "n", "description": "d", "schema": {"type": "object"}, "strict": True},
        }
    },
    "bare schema": {"response_format": {"type": "json_schema", "json_schema": {"name": "n", "strict": None}}},
    "tools": {
        "tools": [
            {"type": "function", "function": {**DEFINITION, "description": "d", "strict": False}},
            {"type": "function", "function": {"name": "g", "description": ""}},
            {"type": "custom", "custom": {"name": "c", "description": "d"}},
            {"type": "custom", "custom": {"name": "t", "format": {"type": "text"}}},
            {"type": "custom", "custom": {
                "name": "l",
                "format": {"type": "grammar", "grammar": {"definition": "start: x", "syntax": "lark"}},
            }},
        ],
        "tool_choice": "required",
        "parallel_tool_calls": False,
    },
    "one tool": {"tools": [FUNCTION], "tool_choice": {"type": "function", "function": {"name": "f"}}},
    "custom choice": {"tools": [FUNCTION], "tool_choice": {"type": "custom", "custom": {"name": "f"}}},
    "allowed tools": {
        "tools": [FUNCTION],
        "tool_choice": {
            "type": "allowed_tools",
            "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": "f"}}]},
        },
    },
    "search": {
        "web_search_options": {
            "search_context_size": "low",
            "user_location": {"type": "approximate", "approximate": {"city": "Oslo", "country": "NO"}},
        }
    },
    "bare search": {"web_search_options": {}},
    "legacy": {"functions": [DEFINITION], "function_call": {"name": "f"}},
    "legacy auto": {"functions": [DEFINITION], "function_call": "auto"},
}  # fmt: skip


@pytest.mark.parametrize("fields", FIELDS.values(), ids=list(FIELDS))
def test_fields_come_back(fields: dict[str, Any]) -> None:
    body = {"model": "gpt-x", "messages": [HI], **fields}
    sdk_accepts({key: value for key, value in body.items() if value is not None})
    assert back(body)[:2] == (body, [])


SLOPPY: dict[str, dict[str, Any]] = {
    "bare image": {"messages": user({"type": "image_url", "image_url": "https://x.test/a.png"})},
    "unknown part": {"messages": user({"type": "video_url", "video_url": {"url": "https://x"}, "n": 1.0})},
    "unknown fields": {
        "messages": [{"role": "user", "content": [{"type": "text", "text": "a", "x": [1]}], "weight": 0}],
        "chat_template_kwargs": {"enable_thinking": False},
    },
    "anthropic's breakpoint": {
        "messages": user({"type": "text", "text": "a", "cache_control": {"type": "ephemeral", "ttl": "1h"}})
    },
    "other words": {
        "messages": user(
            {"type": "image_url", "image_url": {"url": PNG, "detail": "ultra", "x": 1}},
            {"type": "text", "text": "a", "prompt_cache_breakpoint": {"mode": "new", "ttl": "7d", "x": 1}},
            {"type": "text", "text": "a", "prompt_cache_breakpoint": {"mode": "explicit", "ttl": "1h"}},
            {"type": "input_audio", "input_audio": {"data": "QUJD", "format": "flac", "x": 1}},
            {"type": "file", "file": {"file_id": "f", "x": 1}},
        ),
        "service_tier": "gold",
        "verbosity": "medium-high",
        "reasoning_effort": "Ultra",
        "modalities": ["text", "smell"],
        "response_format": {"type": "grammar", "grammar": "x"},
        "prompt_cache_options": {"mode": "new", "ttl": "1h", "x": 1},
        "tool_choice": "some",
        "tools": [
            {"type": "web_search", "x": 1},
            {"type": "custom", "custom": {"name": "g", "format": {"type": "grammar", "x": 1}, "y": 1}, "z": 1},
        ],
        "web_search_options": {
            "search_context_size": "huge",
            "user_location": {"type": "exact", "approximate": {"city": "", "lat": 1}, "x": 1},
            "filters": {},
        },
        "stream_options": {"include_obfuscation": False},
        "stream": True,
    },
    "any": {"messages": [HI], "tools": [FUNCTION], "tool_choice": "any"},
    "other choice": {"messages": [HI], "tools": [FUNCTION], "tool_choice": {"type": "hosted", "x": 1}},
    "location without a place": {"messages": [HI], "web_search_options": {"user_location": {"type": "approximate"}}},
    "calls": {
        "messages": [
            {"role": "assistant", "content": None, "tool_calls": [
                {"id": "", "type": "builtin_function", "function": {"name": "f", "arguments": {"a": 1}}, "x": 1},
                {"id": "c", "type": "function", "function": {"name": "f"}},
                {"id": "d", "type": "function", "function": {"name": "f", "arguments": "", "x": 1},
                 "extra_content": {"google": {"thought_signature": "QUJD"}}},
                {"id": "e", "type": "function", "function": {"name": "f", "arguments": "{"},
                 "extra_content": {"google": {}}},
                {"id": "e", "type": "custom", "custom": {"name": "f", "input": ""}},
            ]},
            {"role": "assistant", "content": "x", "tool_calls": []},
            {"role": "tool", "tool_call_id": "c", "content": None},
        ],
    },
    "reasoning": {
        "messages": [
            {"role": "assistant", "content": "A", "reasoning_content": "r", "extra_content": {"google": {"x": 1}}},
            {"role": "assistant", "content": "A", "reasoning": "r", "reasoning_details": [{"type": "reasoning.text"}]},
            {"role": "assistant", "content": "A", "thinking_blocks": [], "reasoning_content": 5},
            {"role": "assistant", "content": "A", "extra_content": {"google": {"thought_signature": "QUJD"}}},
            {"role": "assistant", "content": None, "extra_content": {"google": {"thought_signature": "QUJD"}}},
        ],
        "thinking": {"type": "enabled", "x": 1},
        "top_k": 4,
    },
    "openrouter": {"messages": [HI], "reasoning": {"effort": "high", "max_tokens": 9, "exclude": True}},
    "openrouter's default": {"messages": [HI], "reasoning": {"enabled": True}, "thinking": {"type": "strange"}},
}  # fmt: skip


@pytest.mark.parametrize("fields", SLOPPY.values(), ids=list(SLOPPY))
def test_what_copies_take_comes_back(fields: dict[str, Any]) -> None:
    body = {"model": "gpt-x", **fields}
    if body.get("stream"):
        body["stream_options"] = {"include_usage": True, **body["stream_options"]}
    assert back(body)[:2] == (body, [])


FAULTS: dict[str, dict[str, Any]] = {
    "messages": {"messages": None},
    "messages[0]": {"messages": ["Hi"]},
    "messages[0].role": {"messages": [{"content": "x"}]},
    "messages[0].content": {"messages": [{"role": "user", "content": 5}]},
    "messages[0].content[0].type": {"messages": user({"text": "x"})},
    "messages[0].content[0].text": {"messages": user({"type": "text"})},
    "messages[0].content[0].image_url": {"messages": user({"type": "image_url"})},
    "messages[0].content[0].image_url.url": {"messages": user({"type": "image_url", "image_url": {}})},
    "messages[0].content[0].input_audio": {"messages": user({"type": "input_audio"})},
    "messages[0].content[0].input_audio.data": {
        "messages": user({"type": "input_audio", "input_audio": {"data": "!"}})
    },
    "messages[0].content[0].file": {"messages": user({"type": "file"})},
    "messages[0].content[0].file.file_data": {"messages": user({"type": "file", "file": {}})},
    "messages[0].tool_call_id": {"messages": [{"role": "tool", "content": "x"}]},
    "messages[0].tool_calls[0].function": {"messages": [{"role": "assistant", "tool_calls": [{"id": "x"}]}]},
    "tools[0].function": {"messages": [], "tools": [{"type": "function"}]},
    "tools[0].function.parameters": {
        "messages": [], "tools": [{"type": "function", "function": {"name": "f", "parameters": []}}]
    },
    "tools[0].custom": {"messages": [], "tools": [{"type": "custom"}]},
    "tool_choice.function": {"messages": [], "tool_choice": {"type": "function"}},
    "response_format.json_schema": {"messages": [], "response_format": {"type": "json_schema"}},
    "metadata": {"messages": [], "metadata": {"a": 1}},
    "n": {"messages": [], "n": -1},
    "seed": {"messages": [], "seed": 2**63},
    "temperature": {"messages": [], "temperature": "hot"},
    "stop": {"messages": [], "stop": 5},
}  # fmt: skip


@pytest.mark.parametrize("path", list(FAULTS))
def test_what_is_no_request_is_named(path: str) -> None:
    with pytest.raises(JsonFault) as caught:
        OPENAI.read_request(json.dumps({"model": "m", **FAULTS[path]}).encode())
    assert caught.value.path == path


def test_an_unknown_role_is_named() -> None:
    with pytest.raises(JsonFault, match="developer, system, user, assistant or tool"):
        OPENAI.read_request(b'{"messages":[{"role":"king","content":"x"}]}')


def test_the_envelope_of_a_request() -> None:
    read = OPENAI.read_request(b'{"model":"m","messages":[],"stream":true,"stream_options":{"include_usage":true}}')
    assert (read.model, read.stream, read.show_usage) == ("m", True, True)
    read = OPENAI.read_request(b'{"messages":[],"stream_options":{"include_usage":false}}')
    assert (read.model, read.stream, read.show_usage) == ("", False, False)


def test_places_of_nodes() -> None:
    messages = [
        {"role": "system", "content": "S"},
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": PNG}}]},
        {"role": "assistant", "content": "x", "reasoning": "r", "refusal": "no", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "a"}]},
    ]
    body = {
        "messages": messages,
        "functions": [{"name": "g"}],
        "tools": [{"type": "function", "function": {"name": "f"}}],
        "web_search_options": {},
    }
    places: Places = {}
    OPENAI.read_request(json.dumps(body).encode(), places=places)
    locate = locator(places, OPENAI.fields)
    assert {path: locate(path) for path in PLACES} == PLACES


PLACES = {
    "messages[0].text": "messages[0].content",
    "messages[1].parts[1].image.detail": "messages[1].content[1].image_url.detail",
    "messages[2].parts[0]": "messages[2].reasoning",
    "messages[2].parts[1]": "messages[2].content",
    "messages[2].parts[2]": "messages[2].refusal",
    "messages[2].parts[3].tool_call.name": "messages[2].tool_calls[0].function.name",
    "messages[3].parts[0].tool_result.is_error": "messages[3].content",
    "messages[3].parts[0].tool_result.parts.parts[0]": "messages[3].content[0]",
    "messages[3].name": "messages[3].name",
    "tools[0].function.strict": "tools[0].function.strict",
    "tools[1]": "functions[0]",
    "tools[2]": "web_search_options",
    "max_output_tokens": "max_completion_tokens",
    "reasoning.effort": "reasoning_effort",
}


def test_gates_hold_for_callers_of_this_protocol_too() -> None:
    gates = Gates(
        refused=frozenset({"temperature", "stop_sequences", "choice_count"}),
        is_reasoning=True,
        forced_tool_choice=False,
        efforts=("low", "high"),
    )
    body = {
        "model": "m",
        "messages": [{"role": "system", "content": "S"}],
        "temperature": 1,
        "max_tokens": 5,
        "stop": "x",
        "n": 1,
        "tools": [FUNCTION],
        "tool_choice": {"type": "function", "function": {"name": "f"}},
        "reasoning_effort": "none",
    }
    written = back(body, gates=gates)
    assert written.body == {
        "model": "gpt-x",
        "messages": [{"role": "system", "content": "S"}],
        "max_completion_tokens": 5,
        "n": 1,
        "tools": [FUNCTION],
        "tool_choice": "auto",
        "reasoning_effort": "low",
    }
    assert written.notes == [
        ("REASONING_EFFORT", "CLAMPED", "reasoning.effort"),
        ("STOP_SEQUENCES", "EMULATED", "stop_sequences"),
        ("TEMPERATURE", "DROPPED", "temperature"),
        ("TOOL_CHOICE", "APPROXIMATED", "tool_choice"),
    ]
    assert written.context.stops == ("x",)


def test_old_servers_get_the_field_that_they_know() -> None:
    body = {"model": "m", "messages": [HI], "max_completion_tokens": 5}
    assert back(body, gates=Gates(max_tokens_field="max_tokens")).body["max_tokens"] == 5
