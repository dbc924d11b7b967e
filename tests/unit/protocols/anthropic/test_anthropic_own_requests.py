"""Requests of this protocol through the IR and back: nothing may change but what a model refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fluxrpc.protocols.gates import Gates
from fluxrpc.protocols.json_text import JsonFault
from fluxrpc.protocols.notes import Places, locator
from tests.unit.protocols.anthropic.saying import ANTHROPIC, OWN, Written, write_as_it_is

HELLO: dict[str, Any] = {"model": "claude", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}


def back(body: dict[str, Any] | bytes, **options: Any) -> Written:
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    read = ANTHROPIC.read_request(text)
    return write_as_it_is(read.message, caller=OWN, stream=read.stream, **options)


BLOCKS: dict[str, list[dict[str, Any]]] = {
    "text": [{"type": "text", "text": "a"}, {"type": "text", "text": "", "cache_control": {"type": "ephemeral"}}],
    "ttl": [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral", "ttl": "5m"}}],
    "no cache": [{"type": "text", "text": "a", "cache_control": None}],
    "citations": [
        {
            "type": "text",
            "text": "a",
            "citations": [
                {
                    "type": "char_location",
                    "cited_text": "c",
                    "document_index": 0,
                    "document_title": None,
                    "start_char_index": 0,
                    "end_char_index": 4,
                },
                {
                    "type": "page_location",
                    "cited_text": "c",
                    "document_index": 1,
                    "document_title": "T",
                    "start_page_number": 1,
                    "end_page_number": 2,
                    "new": 1,
                },
                {
                    "type": "content_block_location",
                    "cited_text": "c",
                    "document_index": 0,
                    "start_block_index": 0,
                    "end_block_index": 1,
                },
                {
                    "type": "search_result_location",
                    "cited_text": "c",
                    "source": "s",
                    "title": "t",
                    "search_result_index": 0,
                    "start_block_index": 0,
                    "end_block_index": 1,
                },
                {
                    "type": "web_search_result_location",
                    "cited_text": "c",
                    "url": "https://a.test",
                    "title": None,
                    "encrypted_index": "E==",
                },
            ],
        }
    ],
    "images": [
        {"type": "image", "source": {"type": "base64", "media_type": "image/x", "data": "QUJD"}},
        {"type": "image", "source": {"type": "url", "url": "https://a.test/a.png", "new": 1}},
        {"type": "image", "source": {"type": "file", "file_id": "file_1"}, "transformations": {"oversized_image": "e"}},
        {"type": "image", "source": {"type": "new", "x": 1}, "y": 2},
        {"type": "image"},
    ],
    "documents": [
        {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "QUJD"}},
        {
            "type": "document",
            "source": {"type": "text", "media_type": "text/plain", "data": "d"},
            "title": "T",
            "context": "C",
            "citations": {"enabled": False},
        },
        {"type": "document", "source": {"type": "content", "content": "c"}, "citations": {}, "title": None},
        {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "p"}]}},
        {"type": "document", "source": {"type": "url", "url": "https://a.test/a.pdf"}},
        {"type": "document", "source": {"type": "file", "file_id": "file_1"}, "citations": None},
        {"type": "document", "source": {"type": "new"}},
        {"type": "document"},
        {"type": "search_result", "source": "s", "title": "t", "content": [{"type": "text", "text": "p"}]},
        {"type": "search_result", "title": "no source"},
    ],
    "unknown": [
        {"type": "new"},
        {"type": "newer", "x": {"y": [1, None]}},
        {"type": "container_upload", "file_id": "f"},
    ],
}
SAID: dict[str, list[dict[str, Any]]] = {
    "thinking": [
        {"type": "thinking", "thinking": "", "signature": "EqQ=="},
        {"type": "thinking", "thinking": "hm", "signature": ""},
        {"type": "redacted_thinking", "data": "ENC=="},
        {"type": "text", "text": "t"},
    ],
    "server tools": [
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "q"}, "caller": {"type": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"type": "web_search_result"}]},
        {"type": "server_tool_use", "id": "s2", "name": "newer", "input": {}},
        {
            "type": "web_fetch_tool_result",
            "tool_use_id": "s2",
            "content": {"type": "web_fetch_tool_result_error", "error_code": "url_not_allowed"},
        },
        {"type": "code_execution_tool_result", "tool_use_id": "s3", "content": {"error_code": 3}},
        {"type": "tool_search_tool_result", "tool_use_id": "s4"},
        {"type": "mcp_tool_use", "id": "m", "name": "n", "server_name": "s", "input": {}},
        {"type": "mcp_tool_result", "tool_use_id": "m", "is_error": False, "content": "x"},
    ],
    "compaction": [
        {"type": "compaction", "content": "c", "encrypted_content": "E=="},
        {"type": "compaction", "encrypted_content": "E=="},
        {"type": "compaction", "content": "c"},
    ],
}


@pytest.mark.parametrize("blocks", BLOCKS.values(), ids=BLOCKS.keys())
def test_the_users_blocks_come_back(blocks: list[dict[str, Any]]) -> None:
    body = HELLO | {"messages": [{"role": "user", "content": blocks}]}
    assert back(body).body == body


@pytest.mark.parametrize("blocks", SAID.values(), ids=SAID.keys())
def test_the_models_blocks_come_back(blocks: list[dict[str, Any]]) -> None:
    body = HELLO | {"messages": [*HELLO["messages"], {"role": "assistant", "content": blocks}]}
    assert back(body).body == body


MESSAGES: dict[str, list[dict[str, Any]]] = {
    "odd": [
        {"role": "user", "content": ""},
        {"role": "user", "content": [], "new": 1},
        {"role": "assistant", "content": "a"},
        {"role": "assistant", "content": [{"type": "text", "text": "b"}]},
        {"role": "user", "content": "x"},
    ],
    "results": [
        {"role": "user", "content": "x"},
        {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": "a:1", "name": "f.g", "input": {"z": 1.50, "a": [9007199254740993]}},
                {"type": "tool_use", "id": "b", "name": "g", "input": {}, "caller": {"type": "direct"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "first"},
                {"type": "tool_result", "tool_use_id": "b", "content": "", "is_error": True},
                {"type": "tool_result", "tool_use_id": "a:1", "cache_control": {"type": "ephemeral"}},
                {"type": "text", "text": "then"},
                {
                    "type": "tool_result",
                    "tool_use_id": "a:1",
                    "content": [{"type": "text", "text": "t"}, {"type": "tool_reference", "tool_name": "n"}],
                },
                {"type": "tool_result", "tool_use_id": "a:1", "content": [], "is_error": False},
            ],
            "new": 2,
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "b", "content": None}]},
    ],
    "none": [],
}


@pytest.mark.parametrize("messages", MESSAGES.values(), ids=MESSAGES.keys())
def test_messages_come_back(messages: list[dict[str, Any]]) -> None:
    body = HELLO | {"messages": messages}
    written = back(body)
    assert written.body == body
    assert written.notes == []


SETTINGS: dict[str, dict[str, Any]] = {
    "system": {"system": "s"},
    "empty system": {"system": ""},
    "no blocks": {"system": [], "tools": [], "stop_sequences": [], "mcp_servers": []},
    "blocks": {"system": [{"type": "text", "text": "a"}, {"type": "text", "text": "b", "cache_control": None}]},
    "nothing": {"system": None, "tools": None, "metadata": None, "output_config": None, "container": None},
    "empty": {"metadata": {}, "output_config": {}},
    "user": {"metadata": {"user_id": "u", "new": 1}},
    "no user": {"metadata": {"user_id": None}},
    "sampling": {"temperature": 0, "top_p": 0.5, "top_k": 0, "stop_sequences": ["\n", "x"]},
    "stream": {"stream": True},
    "no stream": {"stream": False},
    "tier": {"service_tier": "auto"},
    "standard": {"service_tier": "standard_only", "speed": "fast"},
    "new tier": {"service_tier": "new", "speed": "standard"},
    "fast": {"speed": "fast"},
    "slow": {"speed": None},
    "cache": {"cache_control": {"type": "ephemeral", "ttl": "1h"}},
    "default cache": {"cache_control": {"type": "ephemeral"}},
    "new ttl": {"cache_control": {"type": "ephemeral", "ttl": "2h"}},
    "odd ttl": {"cache_control": {"type": "ephemeral", "ttl": 7}},
    "container": {"container": "c"},
    "skills": {"container": {"id": "c", "skills": []}},
    "unknown": {"context_management": {"edits": []}, "thread": None},
    "enabled": {"thinking": {"type": "enabled", "budget_tokens": 2, "display": "omitted"}},
    "adaptive": {"thinking": {"type": "adaptive", "display": "summarized", "new": 1}},
    "disabled": {"thinking": {"type": "disabled"}, "output_config": {"effort": "high"}},
    "new thinking": {"thinking": {"type": "new", "display": "newer"}},
    "effort": {"output_config": {"effort": "xhigh", "task_budget": {"type": "tokens"}}},
    "new effort": {"output_config": {"effort": "extreme"}},
    "format": {"output_config": {"format": {"type": "json_schema", "schema": {"minimum": 1, "oneOf": []}, "x": 1}}},
    "no schema": {"output_config": {"format": {"type": "json_schema"}}},
    "new format": {"output_config": {"format": {"type": "xml"}}},
    "odd format": {"output_config": {"format": "xml"}},
    "any": {"tool_choice": {"type": "any", "disable_parallel_tool_use": True}},
    "auto": {"tool_choice": {"type": "auto", "disable_parallel_tool_use": False}},
    "named": {"tool_choice": {"type": "tool", "name": "f.g"}},
    "no tools": {"tool_choice": {"type": "none", "new": 1}},
    "new choice": {"tool_choice": {"type": "new"}},
}
TOOLS: list[dict[str, Any]] = [
    {"name": "f.g", "input_schema": {"type": "object", "x": 1.0}, "strict": False, "description": "d"},
    {"name": "a", "type": "custom", "input_schema": {"type": "object"}, "cache_control": {"type": "ephemeral"}},
    {"name": "b", "type": None, "input_examples": [{}], "defer_loading": True, "allowed_callers": ["direct"]},
    {"name": "c", "input_schema": "odd"},
    {"type": "bash_20250124", "name": "bash", "cache_control": {"type": "ephemeral", "ttl": "1h"}},
    {"type": "computer_toolset_20260801"},
    {"type": "mcp_toolset", "mcp_server_name": "n"},
    {
        "type": "web_search_20260209",
        "name": "web_search",
        "max_uses": 3,
        "allowed_domains": ["a.test"],
        "user_location": {"type": "approximate", "city": "Oslo", "country": "NO", "new": 1},
        "response_inclusion": "full",
    },
    {"type": "web_fetch_20250910", "name": "web_fetch", "blocked_domains": ["b.test"], "citations": {"enabled": True}},
    {"type": "code_execution_20250825", "name": "code_execution"},
    {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"},
]
SERVERS: list[dict[str, Any]] = [
    {
        "type": "url",
        "name": "n",
        "url": "https://m.test",
        "authorization_token": "t",
        "tool_configuration": {"allowed_tools": ["x"], "enabled": True},
    },
    {"type": "url", "name": "o", "url": "https://o.test", "new": 1},
]
SETTINGS["tools"] = {"tools": TOOLS, "mcp_servers": SERVERS}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS.keys())
def test_settings_come_back(settings: dict[str, Any]) -> None:
    body = HELLO | settings
    written = back(body)
    assert written.body == body
    assert written.notes == []
    assert written.headers == ()


def test_arguments_keep_every_character() -> None:
    call = b'{"type":"tool_use","id":"c","name":"f","input":{"z":1.50,"a":9223372036854775808,"a":2}}'
    body = b'{"model":"claude","max_tokens":1,"messages":[{"role":"assistant","content":[%s]}]}' % call
    assert b'"input":{"z":1.50,"a":9223372036854775808,"a":2}' in back(body).text


def test_head_of_a_request() -> None:
    read = ANTHROPIC.read_request(b'{"stream":true}')
    assert (read.model, read.stream, read.show_usage) == ("", True, True)
    assert not ANTHROPIC.read_request(b'{"model":"m"}').stream


def test_blocks_that_say_less_than_they_should() -> None:
    said: list[dict[str, Any]] = [
        {"type": "redacted_thinking"},
        {"type": "tool_use", "id": "c", "name": "f"},
        {"type": "text", "citations": [{"type": "char_location"}, {"type": "web_search_result_location"}]},
    ]
    body = HELLO | {"messages": [*HELLO["messages"], {"role": "assistant", "content": said}]}
    written = back(body)
    assert written.body["messages"][1]["content"] == [
        {"type": "tool_use", "id": "c", "name": "f", "input": {}},
        {"type": "text", "text": "", "citations": [{"type": "char_location", "cited_text": ""}]},
    ]
    assert written.notes == [
        "dropped REASONING_HISTORY messages[1].parts[0]",
        "dropped CITATION_HISTORY messages[1].parts[2].citations[1]",
    ]


FAULTS = {
    '{"messages":[{"role":"tool","content":"x"}]}': "messages[0].role",
    '{"messages":[{"content":"x"}]}': "messages[0].role",
    '{"messages":[{"role":"user","content":1}]}': "messages[0].content",
    '{"messages":[{"role":"user","content":[{"type":"text","text":1}]}]}': "messages[0].content[0].text",
    '{"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","data":"?"}}]}]}': (
        "messages[0].content[0].source.data"
    ),
    '{"messages":[{"role":"user","content":[{"type":"text","text":"","citations":[{"type":"char_location",'
    '"document_index":-1}]}]}]}': "messages[0].content[0].citations[0].document_index",
    '{"max_tokens":-1}': "max_tokens",
    '{"max_tokens":9223372036854775808}': "max_tokens",
    '{"temperature":"hot"}': "temperature",
    '{"tools":[{"input_schema":{}}]}': "tools[0].name",
    '{"tools":[{"type":"web_search_20250305","max_uses":4294967296}]}': "tools[0].max_uses",
    '{"thinking":{"budget_tokens":1.5}}': "thinking.budget_tokens",
    '{"system":1}': "system",
    "[]": "",
}


@pytest.mark.parametrize(("body", "path"), FAULTS.items(), ids=[path or "body" for path in FAULTS.values()])
def test_wrong_types_are_refused_with_their_place(body: str, path: str) -> None:
    with pytest.raises(JsonFault) as fault:
        ANTHROPIC.read_request(body.encode())
    assert fault.value.path == path


def test_places_lead_back_to_the_body() -> None:
    body = HELLO | {
        "system": [{"type": "text", "text": "s"}],
        "tools": TOOLS[:1],
        "mcp_servers": SERVERS[:1],
        "messages": [{"role": "user", "content": "x"}, *MESSAGES["results"][1:3]],
    }
    places: Places = {}
    ANTHROPIC.read_request(json.dumps(body).encode(), places=places)
    locate = locator(places, ANTHROPIC.fields)
    assert {path: locate(path) for path in WHERE} == WHERE


WHERE = {
    "messages[0].parts[0].cache_breakpoint.ttl": "system[0].cache_control.ttl",
    "messages[1].text": "messages[0].content",
    "messages[2].parts[1].tool_call.name": "messages[1].content[1].name",
    "messages[3].parts[0]": "messages[2].content[0]",
    "messages[4].parts[1].tool_result.is_error": "messages[2].content[2].is_error",
    "messages[6].parts[0].tool_result.parts.parts[1]": "messages[2].content[4].content[1]",
    "tools[0].function.parameters_json": "tools[0].input_schema",
    "tools[1]": "mcp_servers[0]",
    "max_output_tokens": "max_tokens",
    "reasoning.effort": "output_config.effort",
    "temperature": "temperature",
}


# --- what a model refuses is changed here too ---

GATED: dict[str, tuple[dict[str, Any], Gates, str, dict[str, Any], list[str]]] = {
    "sampling": (
        {"temperature": 1.0, "top_k": 3},
        Gates(refused=frozenset({"temperature", "top_k"})),
        "2026-10-21",
        {},
        ["dropped TEMPERATURE temperature", "dropped TOP_K top_k"],
    ),
    "forced": (
        {"tool_choice": {"type": "any"}, "tools": TOOLS[:1], "system": "s"},
        Gates(forced_tool_choice=False),
        "",
        {
            "tool_choice": {"type": "auto"},
            "tools": TOOLS[:1],
            "system": [
                {"type": "text", "text": "s"},
                {"type": "text", "text": "You must call at least one tool in your answer."},
            ],
        },
        ["emulated TOOL_CHOICE tool_choice.mode"],
    ),
    "effort": (
        {"output_config": {"effort": "max"}},
        Gates(efforts=("low", "medium", "high")),
        "",
        {"output_config": {"effort": "high"}},
        ["clamped REASONING_EFFORT reasoning.effort"],
    ),
    "budget": (
        {"thinking": {"type": "enabled", "budget_tokens": 4000}},
        Gates(takes_budget=False),
        "",
        {"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}},
        ["approximated REASONING_BUDGET reasoning.budget_tokens"],
    ),
    "stops": (
        {"stop_sequences": ["x"]},
        Gates(refused=frozenset({"stop_sequences"})),
        "",
        {},
        ["emulated STOP_SEQUENCES stop_sequences"],
    ),
}


@pytest.mark.parametrize(("asked", "gates", "version", "expected", "notes"), GATED.values(), ids=GATED.keys())
def test_gates_hold_for_own_callers(
    asked: dict[str, Any], gates: Gates, version: str, expected: dict[str, Any], notes: list[str]
) -> None:
    written = back(HELLO | asked, gates=gates, version=version)
    assert written.body == HELLO | expected
    assert written.notes == notes


def test_late_instructions_of_own_callers() -> None:
    body = HELLO | {"messages": [*HELLO["messages"], {"role": "system", "content": "s"}]}
    assert back(body, gates=Gates(late_system=True)).body == body
    written = back(body)
    assert written.body["messages"] == [
        {"role": "user", "content": "Hi"},
        {"role": "user", "content": "[system instruction] s"},
    ]
    assert written.notes == ["emulated LATE_INSTRUCTIONS messages[1]"]


def test_the_newer_version_takes_fewer_blocks() -> None:
    document = BLOCKS["documents"][1]
    body = HELLO | {
        "messages": [
            {"role": "user", "content": BLOCKS["citations"]},
            {"role": "assistant", "content": [{"type": "text", "text": "t"}, document]},
            {"role": "user", "content": "x"},
        ]
    }
    written = back(body, version="2026-10-21")
    assert written.body["messages"][0]["content"] == [{"type": "text", "text": "a"}]
    assert written.body["messages"][1]["content"] == [{"type": "text", "text": "t"}]
    assert written.notes == [
        "dropped CITATION_HISTORY messages[0].parts[0].citations",
        "dropped DOCUMENT messages[1].parts[1]",
    ]
    assert written.headers == (("anthropic-version", "2026-10-21"),)
    assert back(HELLO, version="2023-06-01").headers == ()


def test_signatures_of_gemini_go_back_to_what_they_sign() -> None:
    signed = "gw1.gemini.svc.g.signature.QUJD"
    content = [
        {"type": "thinking", "thinking": "hm", "signature": signed},
        {"type": "thinking", "thinking": "own", "signature": "own"},
        {"type": "tool_use", "id": "c", "name": "f", "input": {}},
        {"type": "thinking", "thinking": "", "signature": signed},
        {"type": "text", "text": "t"},
        {"type": "thinking", "thinking": "last", "signature": signed},
    ]
    body = HELLO | {"messages": [{"role": "assistant", "content": content}]}
    places: Places = {}
    parts = ANTHROPIC.read_request(json.dumps(body).encode(), places=places).message.messages[0].parts
    assert [(part.WhichOneof("kind"), [state.value for state in part.opaque]) for part in parts] == [
        ("reasoning", []),
        ("reasoning", [b"own"]),
        ("tool_call", [b"ABC"]),
        ("text", [b"ABC"]),
        ("reasoning", [b"ABC"]),
    ]
    assert places["messages[0].parts[3]"] == "messages[0].content[4]"
    written = back(body)
    assert written.body["messages"][0]["content"] == [*content[1:3], content[4]]
    assert written.notes == [
        "dropped REASONING_HISTORY messages[0].parts[0]",
        "dropped REASONING_STATE messages[0].parts[2].opaque",
        "dropped REASONING_STATE messages[0].parts[3].opaque",
        "dropped REASONING_HISTORY messages[0].parts[4]",
    ]


def test_summaries_of_encrypted_reasoning_come_back_as_such() -> None:
    sealed = {"type": "thinking", "thinking": "a", "signature": "gw1.responses.s.m.encrypted_reasoning.QUJD"}
    body = HELLO | {"messages": [{"role": "assistant", "content": [sealed, sealed | {"thinking": ""}]}]}
    first, second = ANTHROPIC.read_request(json.dumps(body).encode()).message.messages[0].parts
    assert (list(first.reasoning.summaries), first.reasoning.text, first.opaque[0].value) == (["a"], "", b"ABC")
    assert second.HasField("reasoning")
    assert not second.reasoning.summaries
