"""What settings and tools of other protocols and typed callers become towards OpenAI Responses."""

from __future__ import annotations

import json
from typing import Any

import pytest
from google.protobuf.duration_pb2 import Duration

from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.gates import Gates
from fluxrpc.protocols.notes import Notes
from fluxrpc.v1 import message_pb2 as pb
from fluxrpc.v1 import part_pb2 as part_pb
from fluxrpc.v1 import tool_pb2 as tool_pb
from fluxrpc.v1.message_pb2 import Message, MessageRequest, Tool
from fluxrpc.v1.protocol_pb2 import (
    OPAQUE_KIND_CONTINUATION,
    PROTOCOL_GEMINI,
    PROTOCOL_OPENAI,
    PROTOCOL_RESPONSES,
    Extra,
    OpaqueState,
)
from fluxrpc.v1.usage_pb2 import MODALITY_AUDIO, MODALITY_TEXT
from tests.unit.protocols.responses.responses_ways import RESPONSES, context_of, write

_HI = Message(role=pb.ROLE_USER, text="Hi")
_SCHEMA = '{"type":"object","properties":{"a":{"type":"integer"}}}'


# --- settings ---

_PLAIN = {"model": "m", "store": False, "input": [{"role": "user", "content": "Hi"}]}


def _settings(request: MessageRequest, **options: Any) -> tuple[dict[str, Any], list[str]]:
    request.messages.append(_HI)
    body, notes = write(request, context_of(request, **{"caller": Protocol.OPENAI} | options))
    assert body.items() >= _PLAIN.items()
    return {key: value for key, value in body.items() if key not in _PLAIN}, notes


_SETTINGS: list[tuple[MessageRequest, dict[str, Any], list[str]]] = [
    (
        MessageRequest(max_output_tokens=9, temperature=0, top_p=1, parallel_tool_calls=False, max_tool_calls=3),
        {"max_output_tokens": 9, "temperature": 0, "top_p": 1, "max_tool_calls": 3},
        [],
    ),
    (
        MessageRequest(
            top_k=1,
            seed=0,
            presence_penalty=0.5,
            frequency_penalty=1,
            choice_count=2,
            speech=pb.SpeechOptions(),
            citation_mode=pb.CITATION_MODE_FAST,
            output_modalities=[MODALITY_TEXT, MODALITY_AUDIO],
        ),
        {},
        [
            "DROPPED TOP_K top_k",
            "DROPPED PRESENCE_PENALTY presence_penalty",
            "DROPPED FREQUENCY_PENALTY frequency_penalty",
            "DROPPED SEED seed",
            "DROPPED SPEECH speech",
            "DROPPED CITATION_MODE citation_mode",
            "DROPPED CHOICE_COUNT choice_count",
            "DROPPED OUTPUT_MODALITIES output_modalities",
        ],
    ),
    (MessageRequest(choice_count=1, output_modalities=[MODALITY_TEXT], logprobs=False), {}, []),
    (
        MessageRequest(logprobs=True, top_logprobs=2),
        {"top_logprobs": 2, "include": ["message.output_text.logprobs"]},
        [],
    ),
    (
        MessageRequest(end_user_id="u", metadata={"b": "2", "a": "1"}, service_tier=pb.SERVICE_TIER_STANDARD),
        {"safety_identifier": "u", "metadata": {"a": "1", "b": "2"}, "service_tier": "default"},
        [],
    ),
    (
        MessageRequest(service_tier=pb.SERVICE_TIER_OTHER, service_tier_raw="batch"),
        {},
        ["DROPPED SERVICE_TIER service_tier"],
    ),
    (
        MessageRequest(cache=pb.CacheOptions(key="k", automatic=True, ttl=Duration(seconds=300))),
        {"prompt_cache_key": "k", "prompt_cache_options": {"mode": "implicit", "ttl": "30m"}},
        ["APPROXIMATED CACHE_OPTIONS cache.ttl"],
    ),
    (
        MessageRequest(cache=pb.CacheOptions(ttl=Duration(seconds=90000))),
        {"prompt_cache_options": {"ttl": "12h"}},
        ["APPROXIMATED CACHE_OPTIONS cache.ttl"],
    ),
    (
        MessageRequest(
            reasoning=pb.ReasoningOptions(effort=pb.REASONING_EFFORT_LOW, display=pb.REASONING_DISPLAY_FULL)
        ),
        {"reasoning": {"effort": "low", "summary": "detailed"}},
        ["APPROXIMATED REASONING_DISPLAY reasoning.display"],
    ),
    (
        MessageRequest(reasoning=pb.ReasoningOptions(mode=pb.REASONING_MODE_OFF, display=pb.REASONING_DISPLAY_OMITTED)),
        {"reasoning": {"effort": "none"}},
        [],
    ),
    (
        MessageRequest(reasoning=pb.ReasoningOptions(mode=pb.REASONING_MODE_BETWEEN_TOOLS)),
        {},
        ["APPROXIMATED REASONING_MODE reasoning.mode"],
    ),
    (
        MessageRequest(max_output_tokens=1000, reasoning=pb.ReasoningOptions(budget_tokens=200)),
        {"max_output_tokens": 1000, "reasoning": {"effort": "low"}},
        ["APPROXIMATED REASONING_BUDGET reasoning.budget_tokens"],
    ),
    (
        MessageRequest(reasoning=pb.ReasoningOptions(budget_tokens=0)),
        {"reasoning": {"effort": "none"}},
        ["APPROXIMATED REASONING_BUDGET reasoning.budget_tokens"],
    ),
    (MessageRequest(reasoning=pb.ReasoningOptions(budget_tokens=-1)), {}, []),
    (
        MessageRequest(
            reasoning=pb.ReasoningOptions(
                effort=pb.REASONING_EFFORT_OTHER,
                effort_raw="heroic",
                display=pb.REASONING_DISPLAY_OTHER,
                display_raw="x",
            ),
            verbosity=pb.VERBOSITY_OTHER,
            verbosity_raw="vast",
        ),
        {},
        [
            "DROPPED REASONING_EFFORT reasoning.effort",
            "DROPPED REASONING_DISPLAY reasoning.display",
            "DROPPED VERBOSITY verbosity",
        ],
    ),
    (
        MessageRequest(
            verbosity=pb.VERBOSITY_LOW,
            output_format=pb.OutputFormat(kind=pb.OUTPUT_KIND_JSON_SCHEMA, schema_json=_SCHEMA, description="d"),
        ),
        {
            "text": {
                "format": {
                    "type": "json_schema",
                    "name": "response",
                    "description": "d",
                    "schema": json.loads(_SCHEMA),
                },
                "verbosity": "low",
            }
        },
        ["INJECTED OUTPUT_SCHEMA_NAME output_format.name"],
    ),
    (
        MessageRequest(
            extras=[
                Extra(protocol=PROTOCOL_OPENAI, key="logit_bias", value_json='{"1":2}'),
                Extra(protocol=PROTOCOL_RESPONSES, key="truncation", value_json='"auto"'),
            ]
        ),
        {"truncation": "auto"},
        ["DROPPED EXTRA_FIELD logit_bias"],
    ),
    (MessageRequest(stop_sequences=["END"]), {}, ["EMULATED STOP_SEQUENCES stop_sequences"]),
]


@pytest.mark.parametrize(("request_", "fields", "notes"), _SETTINGS, ids=range(len(_SETTINGS)))
def test_settings(request_: MessageRequest, fields: dict[str, Any], notes: list[str]) -> None:
    assert _settings(request_) == (fields, notes)


def test_what_is_undone_later_is_left_in_the_context() -> None:
    request = MessageRequest(
        messages=[_HI],
        stop_sequences=["A", "B"],
        output_format=pb.OutputFormat(
            kind=pb.OUTPUT_KIND_ENUM, schema_json='{"type":"string","enum":["a","b"]}', name="word"
        ),
    )
    context = context_of(request, caller=Protocol.GEMINI)
    body, notes = write(request, context)
    assert (context.stops, context.unwrap_key) == (("A", "B"), "value")
    assert body["text"]["format"] == {
        "type": "json_schema",
        "name": "word",
        "strict": True,
        "schema": {
            "type": "object",
            "properties": {"value": {"type": "string", "enum": ["a", "b"]}},
            "required": ["value"],
            "additionalProperties": False,
        },
    }
    assert notes == ["EMULATED OUTPUT_ENUM output_format", "EMULATED STOP_SEQUENCES stop_sequences"]


_GATES = Gates(
    refused_while_reasoning=frozenset({"temperature", "logprobs"}),
    refused=frozenset({"top_p"}),
    efforts=("low", "high"),
)


def test_gates_of_the_model() -> None:
    request = MessageRequest(temperature=1.0, top_p=0.5, logprobs=True, top_logprobs=1)
    request.reasoning.effort = pb.REASONING_EFFORT_XHIGH
    assert _settings(request, gates=_GATES) == (
        {"reasoning": {"effort": "high"}},
        [
            "CLAMPED REASONING_EFFORT reasoning.effort",
            "DROPPED TEMPERATURE temperature",
            "DROPPED TOP_P top_p",
            "DROPPED LOGPROBS logprobs",
            "DROPPED TOP_LOGPROBS top_logprobs",
        ],
    )
    request = MessageRequest(temperature=1.0, reasoning=pb.ReasoningOptions(effort=pb.REASONING_EFFORT_NONE))
    free = Gates(refused_while_reasoning=frozenset({"temperature"}), efforts=("none", "low"))
    assert _settings(request, gates=free) == ({"temperature": 1.0, "reasoning": {"effort": "none"}}, [])
    request = MessageRequest(reasoning=pb.ReasoningOptions(effort=pb.REASONING_EFFORT_LOW))
    assert _settings(request, gates=Gates(takes_effort=False)) == ({}, ["DROPPED REASONING_EFFORT reasoning.effort"])


def test_gates_hold_for_callers_of_this_protocol_too() -> None:
    body = {"model": "m", "input": "Hi", "include": ["message.output_text.logprobs", "x"], "top_p": 0.5}
    request = RESPONSES.read_request(json.dumps(body).encode()).message
    gates = Gates(refused=frozenset({"top_p", "logprobs"}))
    written, notes = write(request, context_of(request, gates=gates))
    assert written == {"model": "m", "input": "Hi", "include": ["x"]}
    assert notes == ["DROPPED TOP_P top_p", "DROPPED LOGPROBS logprobs"]


def test_streams_are_asked_for_without_padding() -> None:
    fields, _ = _settings(MessageRequest(), stream=True)
    assert fields == {"stream": True, "stream_options": {"include_obfuscation": False}}


def test_state_of_a_provider() -> None:
    state = pb.ProviderState(
        conversation_id="conv_1",
        cached_content="c",
        container_id="d",
        continuation=OpaqueState(kind=OPAQUE_KIND_CONTINUATION, origin=PROTOCOL_GEMINI),
    )
    body, notes = write(MessageRequest(provider_state=state, store=True))
    assert body == {"model": "m", "store": True, "conversation": "conv_1"}
    assert notes == [
        "DROPPED PROVIDER_STATE provider_state.cached_content",
        "DROPPED PROVIDER_STATE provider_state.container_id",
        "DROPPED PROVIDER_STATE provider_state.continuation",
    ]


# --- tools ---

_TOOLS: list[tuple[Tool, dict[str, Any] | None, list[str]]] = [
    (
        Tool(function=tool_pb.FunctionTool(name="f", parameters_json=_SCHEMA)),
        {"type": "function", "name": "f", "strict": False, "parameters": json.loads(_SCHEMA)},
        [],
    ),
    (
        Tool(
            function=tool_pb.FunctionTool(
                name="f.g", description="d", output_schema_json="{}", defer_loading=True, allowed_callers=["x"]
            ),
            cache_breakpoint=part_pb.CacheBreakpoint(),
        ),
        {
            "type": "function",
            "name": "f_g",
            "description": "d",
            "strict": False,
            "output_schema": {},
            "parameters": {"type": "object", "properties": {}},
        },
        [
            "RENAMED TOOL_NAME tools[0].function.name",
            "DROPPED TOOL_DEFERRAL tools[0].function.defer_loading",
            "DROPPED TOOL_DEFERRAL tools[0].function.allowed_callers",
            "DROPPED CACHE_BREAKPOINT tools[0].cache_breakpoint",
        ],
    ),
    (
        Tool(custom=tool_pb.CustomTool(name="g", description="d", syntax=tool_pb.GRAMMAR_SYNTAX_REGEX, grammar="a+")),
        {
            "type": "custom",
            "name": "g",
            "description": "d",
            "format": {"type": "grammar", "syntax": "regex", "definition": "a+"},
        },
        [],
    ),
    (
        Tool(mcp=tool_pb.McpServer(name="l", url="https://m.test", authorization_token="t", allowed_tools=["a"])),
        {
            "type": "mcp",
            "server_label": "l",
            "server_url": "https://m.test",
            "authorization": "t",
            "allowed_tools": ["a"],
            "require_approval": "never",
        },
        ["INJECTED MCP_SERVER tools[0]"],
    ),
    (
        Tool(
            server=tool_pb.ServerTool(
                kind=tool_pb.SERVER_TOOL_KIND_WEB_SEARCH,
                kind_raw="web_search_20250305",
                max_uses=3,
                blocked_domains=["x.test"],
                context_size=tool_pb.SEARCH_CONTEXT_SIZE_LOW,
                user_location=tool_pb.UserLocation(city="Oslo", country="NO"),
            )
        ),
        {
            "type": "web_search",
            "search_context_size": "low",
            "user_location": {"type": "approximate", "city": "Oslo", "country": "NO"},
        },
        [
            "DROPPED SERVER_TOOL_OPTIONS tools[0].server.blocked_domains",
            "DROPPED SERVER_TOOL_OPTIONS tools[0].server.max_uses",
        ],
    ),
    (
        Tool(server=tool_pb.ServerTool(kind=tool_pb.SERVER_TOOL_KIND_CODE, kind_raw="code_execution")),
        None,
        ["DROPPED SERVER_TOOL tools[0]"],
    ),
    (Tool(provider=tool_pb.ProviderTool(type="bash_20250124")), None, ["DROPPED PROVIDER_TOOL tools[0]"]),
    (Tool(provider=tool_pb.ProviderTool(type="shell")), {"type": "shell"}, []),
]


@pytest.mark.parametrize(("tool", "written", "notes"), _TOOLS, ids=range(len(_TOOLS)))
def test_tools(tool: Tool, written: dict[str, Any] | None, notes: list[str]) -> None:
    fields, said = _settings(MessageRequest(tools=[tool]), caller=Protocol.ANTHROPIC)
    assert fields.get("tools", [None])[0] == written
    assert said == notes


def test_a_narrowed_tool_is_remembered() -> None:
    function = tool_pb.FunctionTool(name="f", parameters_json=_SCHEMA, strict=True)
    request = MessageRequest(messages=[_HI], tools=[Tool(function=function)])
    context = context_of(request, caller=Protocol.OPENAI)
    body, _ = write(request, context)
    assert body["tools"][0]["strict"] is True
    assert body["tools"][0]["parameters"]["required"] == ["a"]
    assert set(context.narrowed_tools) == {"f"}


def test_typed_callers_may_name_tools_of_the_provider() -> None:
    tools = [
        Tool(server=tool_pb.ServerTool(kind=tool_pb.SERVER_TOOL_KIND_FILE_SEARCH, kind_raw="file_search")),
        Tool(server=tool_pb.ServerTool(kind=tool_pb.SERVER_TOOL_KIND_WEB_SEARCH, kind_raw="web_search_preview")),
        Tool(function=tool_pb.FunctionTool(name="f", parameters_json=_SCHEMA, allowed_callers=["direct"])),
        Tool(mcp=tool_pb.McpServer(name="l")),
    ]
    fields, notes = _settings(MessageRequest(tools=tools), caller=None)
    assert [tool["type"] for tool in fields["tools"]] == ["file_search", "web_search_preview", "function", "mcp"]
    assert fields["tools"][2]["allowed_callers"] == ["direct"]
    assert notes == []


_CHOOSABLE = [
    Tool(function=tool_pb.FunctionTool(name="f.g", parameters_json=_SCHEMA)),
    Tool(custom=tool_pb.CustomTool(name="c")),
    Tool(mcp=tool_pb.McpServer(name="l", url="https://m.test")),
    Tool(server=tool_pb.ServerTool(kind=tool_pb.SERVER_TOOL_KIND_WEB_SEARCH, name="search", kind_raw="web_search_2")),
    Tool(server=tool_pb.ServerTool(kind=tool_pb.SERVER_TOOL_KIND_FILE_SEARCH, kind_raw="file_search")),
    Tool(provider=tool_pb.ProviderTool(type="shell")),
]
_AUTO, _REQUIRED = tool_pb.TOOL_CHOICE_MODE_AUTO, tool_pb.TOOL_CHOICE_MODE_REQUIRED
_CHOICES: list[tuple[tool_pb.ToolChoice, Any, list[str]]] = [
    (tool_pb.ToolChoice(mode=_AUTO), "auto", []),
    (tool_pb.ToolChoice(mode=tool_pb.TOOL_CHOICE_MODE_NONE), "none", []),
    (tool_pb.ToolChoice(mode=_REQUIRED, names=["f.g"]), {"type": "function", "name": "f_g"}, []),
    (tool_pb.ToolChoice(mode=_REQUIRED, names=["c"]), {"type": "custom", "name": "c"}, []),
    (tool_pb.ToolChoice(mode=_REQUIRED, names=["l"]), {"type": "mcp", "server_label": "l"}, []),
    (
        tool_pb.ToolChoice(mode=_REQUIRED, names=["file_search", "gone"]),
        {"type": "file_search"},
        ["DROPPED TOOL_CHOICE_NAMED tool_choice.names"],
    ),
    (tool_pb.ToolChoice(mode=_REQUIRED, names=["gone"]), "required", ["DROPPED TOOL_CHOICE_NAMED tool_choice.names"]),
    (
        tool_pb.ToolChoice(mode=_REQUIRED, names=["search"]),
        {
            "type": "allowed_tools",
            "mode": "required",
            "tools": [{"type": "web_search"}],
        },
        [],
    ),
    (tool_pb.ToolChoice(mode=_REQUIRED, names=["file_search"]), {"type": "file_search"}, []),
    (tool_pb.ToolChoice(mode=_REQUIRED, names=["shell"]), {"type": "shell"}, []),
    (
        tool_pb.ToolChoice(names=["f.g", "c"]),
        {
            "type": "allowed_tools",
            "mode": "auto",
            "tools": [{"type": "function", "name": "f_g"}, {"type": "custom", "name": "c"}],
        },
        [],
    ),
    (
        tool_pb.ToolChoice(mode=tool_pb.TOOL_CHOICE_MODE_VALIDATED),
        "auto",
        ["APPROXIMATED TOOL_CHOICE tool_choice.mode"],
    ),
    (
        tool_pb.ToolChoice(mode=tool_pb.TOOL_CHOICE_MODE_OTHER, mode_raw="perhaps"),
        None,
        ["DROPPED TOOL_CHOICE tool_choice.mode"],
    ),
    (tool_pb.ToolChoice(), None, []),
]


@pytest.mark.parametrize(("choice", "written", "notes"), _CHOICES, ids=range(len(_CHOICES)))
def test_choice_of_tools(choice: tool_pb.ToolChoice, written: Any, notes: list[str]) -> None:
    fields, said = _settings(MessageRequest(tools=_CHOOSABLE, tool_choice=choice))
    assert fields.get("tool_choice") == written
    assert [note for note in said if " TOOL_CHOICE" in note] == notes


def test_a_model_that_cannot_be_forced_decides() -> None:
    choice = tool_pb.ToolChoice(mode=_REQUIRED)
    request = MessageRequest(tools=_CHOOSABLE[:1], tool_choice=choice)
    fields, notes = _settings(request, gates=Gates(forced_tool_choice=False))
    assert fields["tool_choice"] == "auto"
    assert "APPROXIMATED TOOL_CHOICE tool_choice.mode" in notes


def test_a_choice_without_tools_is_left_out() -> None:
    assert _settings(MessageRequest(tool_choice=tool_pb.ToolChoice(mode=_AUTO))) == ({}, [])


def test_no_note_for_a_plain_request() -> None:
    request = MessageRequest(messages=[_HI])
    notes = Notes(RESPONSES.fates)
    RESPONSES.write_request(request, context_of(request, caller=None), notes)
    assert not notes
