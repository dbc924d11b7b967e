"""Tools of other callers, and which of them the model is to call."""

from __future__ import annotations

from typing import Any

import pytest

from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.gates import Gates
from fluxrpc.v1 import tool_pb2 as tl
from fluxrpc.v1.message_pb2 import MessageRequest, Tool
from fluxrpc.v1.part_pb2 import CacheBreakpoint
from fluxrpc.v1.protocol_pb2 import PROTOCOL_OPENAI, Extra
from fluxrpc.v1.tool_pb2 import ToolChoice
from tests.unit.protocols.anthropic.saying import settings_of, write

OPENAI = Protocol.OPENAI
SCHEMA = '{"type":"object","properties":{"a":{"type":"string"}}}'


def function(**fields: Any) -> Tool:
    return Tool(function=tl.FunctionTool(**fields))


F = "tools[0].function"
PLAIN = {"name": "f", "input_schema": {"type": "object", "properties": {}}}

TOOLS: dict[str, tuple[list[Tool], Protocol | None, dict[str, Any], list[str]]] = {
    "function": (
        [function(name="f", description="d", parameters_json=SCHEMA)],
        OPENAI,
        {
            "tools": [
                {
                    "name": "f",
                    "description": "d",
                    "input_schema": {"type": "object", "properties": {"a": {"type": "string"}}},
                }
            ]
        },
        [],
    ),
    "no arguments": ([function(name="f")], OPENAI, {"tools": [PLAIN]}, []),
    "no type": (
        [function(name="f", parameters_json="{}"), function(name="g", parameters_json='{"x":1}')],
        OPENAI,
        {
            "tools": [
                {"name": "f", "input_schema": {"type": "object"}},
                {"name": "g", "input_schema": {"type": "object", "x": 1}},
            ]
        },
        [
            f"injected TOOL_SCHEMA {F}.parameters_json.type",
            "injected TOOL_SCHEMA tools[1].function.parameters_json.type",
        ],
    ),
    "all of it": (
        [
            Tool(
                function=tl.FunctionTool(
                    name="f", strict=False, defer_loading=True, allowed_callers=["direct"], output_schema_json="{}"
                ),
                cache_breakpoint=CacheBreakpoint(),
            )
        ],
        OPENAI,
        {
            "tools": [
                PLAIN
                | {
                    "strict": False,
                    "defer_loading": True,
                    "allowed_callers": ["direct"],
                    "cache_control": {"type": "ephemeral"},
                }
            ]
        },
        [f"dropped TOOL_OUTPUT_SCHEMA {F}.output_schema_json"],
    ),
    "strict": (
        [function(name="f", strict=True, parameters_json='{"type":"object","properties":{}}')],
        OPENAI,
        {
            "tools": [
                {
                    "name": "f",
                    "input_schema": {"type": "object", "properties": {}, "additionalProperties": False},
                    "strict": True,
                }
            ]
        },
        [f"injected TOOL_SCHEMA {F}.parameters_json.additionalProperties"],
    ),
    "renamed": ([function(name="f.g")], OPENAI, {"tools": [PLAIN | {"name": "f_g"}]}, [f"renamed TOOL_NAME {F}.name"]),
    "custom": (
        [Tool(custom=tl.CustomTool(name="c", description="d", grammar="g"))],
        OPENAI,
        {
            "tools": [
                {
                    "name": "c",
                    "description": "d",
                    "input_schema": {
                        "type": "object",
                        "properties": {"input": {"type": "string"}},
                        "required": ["input"],
                    },
                }
            ]
        },
        ["emulated CUSTOM_TOOL tools[0].custom", "dropped TOOL_GRAMMAR tools[0].custom.grammar"],
    ),
    "bare custom": (
        [Tool(custom=tl.CustomTool(name="c"))],
        OPENAI,
        {
            "tools": [
                {
                    "name": "c",
                    "input_schema": {
                        "type": "object",
                        "properties": {"input": {"type": "string"}},
                        "required": ["input"],
                    },
                }
            ]
        },
        ["emulated CUSTOM_TOOL tools[0].custom"],
    ),
    "web search": (
        [
            Tool(
                server=tl.ServerTool(
                    kind=tl.SERVER_TOOL_KIND_WEB_SEARCH,
                    kind_raw="web_search_options",
                    context_size=tl.SEARCH_CONTEXT_SIZE_LOW,
                    user_location=tl.UserLocation(city="Oslo", country="NO"),
                )
            )
        ],
        OPENAI,
        {
            "tools": [
                {
                    "type": "web_search_20250305",
                    "name": "web_search",
                    "user_location": {"type": "approximate", "city": "Oslo", "country": "NO"},
                }
            ]
        },
        ["dropped SERVER_TOOL_OPTIONS tools[0].server.context_size"],
    ),
    "code of another": (
        [Tool(server=tl.ServerTool(kind=tl.SERVER_TOOL_KIND_CODE, kind_raw="code_interpreter"))],
        Protocol.RESPONSES,
        {},
        ["dropped SERVER_TOOL tools[0]"],
    ),
    "code": (
        [Tool(server=tl.ServerTool(kind=tl.SERVER_TOOL_KIND_CODE))],
        None,
        {"tools": [{"type": "code_execution_20250825", "name": "code_execution"}]},
        [],
    ),
    "versioned": (
        [Tool(server=tl.ServerTool(kind=tl.SERVER_TOOL_KIND_WEB_FETCH, kind_raw="web_fetch_20260209", max_uses=2))],
        None,
        {"tools": [{"type": "web_fetch_20260209", "name": "web_fetch", "max_uses": 2}]},
        [],
    ),
    "maps": (
        [Tool(server=tl.ServerTool(kind=tl.SERVER_TOOL_KIND_MAPS))],
        None,
        {},
        ["dropped SERVER_TOOL tools[0]"],
    ),
    "shell": (
        [Tool(provider=tl.ProviderTool(type="bash_20250124", name="bash"))],
        None,
        {"tools": [{"type": "bash_20250124", "name": "bash"}]},
        [],
    ),
    "shell of another": (
        [Tool(provider=tl.ProviderTool(type="shell"))],
        Protocol.RESPONSES,
        {},
        ["dropped PROVIDER_TOOL tools[0]"],
    ),
    "mcp": (
        [
            Tool(
                mcp=tl.McpServer(name="m", url="https://m.test"),
                extras=[Extra(protocol=PROTOCOL_OPENAI, key="x", value_json="1")],
            )
        ],
        Protocol.RESPONSES,
        {
            "tools": [{"type": "mcp_toolset", "mcp_server_name": "m"}],
            "mcp_servers": [{"type": "url", "name": "m", "url": "https://m.test"}],
        },
        ["dropped EXTRA_FIELD tools[0].x", "approximated MCP_SERVER tools[0]"],
    ),
}


@pytest.mark.parametrize(("tools", "caller", "expected", "notes"), TOOLS.values(), ids=TOOLS.keys())
def test_tools(tools: list[Tool], caller: Protocol | None, expected: dict[str, Any], notes: list[str]) -> None:
    written = write(MessageRequest(tools=tools), caller=caller)
    assert settings_of(written) == expected
    assert written.notes == notes
    assert ("anthropic-beta" in dict(written.headers)) is ("mcp_servers" in expected)
    assert written.context.custom_tools == {tool.custom.name for tool in tools if tool.HasField("custom")}


def test_a_limit_of_calls_becomes_one_for_each_tool() -> None:
    tools = [Tool(server=tl.ServerTool(kind=tl.SERVER_TOOL_KIND_WEB_SEARCH))]
    written = write(MessageRequest(tools=tools, max_tool_calls=4))
    assert written.body["tools"][0]["max_uses"] == 4
    assert written.notes == ["approximated MAX_TOOL_CALLS max_tool_calls"]


# --- which of them ---


def choose(mode: str, *names: str) -> ToolChoice:
    return ToolChoice(mode=tl.ToolChoiceMode.Value(f"TOOL_CHOICE_MODE_{mode}"), names=names)


ASK_ANY = "You must call at least one tool in your answer."
ASK_ONE = "You must call the tool `f_g` in your answer."
UNFORCED = Gates(forced_tool_choice=False)

CHOICES: list[tuple[ToolChoice | None, bool | None, Gates, dict[str, Any] | None, list[str]]] = [
    (None, None, Gates(), None, []),
    (None, True, Gates(), None, []),
    (None, False, Gates(), {"type": "auto", "disable_parallel_tool_use": True}, []),
    (choose("AUTO"), None, Gates(), {"type": "auto"}, []),
    (choose("REQUIRED"), False, Gates(), {"type": "any", "disable_parallel_tool_use": True}, []),
    (choose("REQUIRED", "f.g"), True, Gates(), {"type": "tool", "name": "f_g"}, []),
    (choose("NONE"), None, Gates(), {"type": "none"}, []),
    (choose("NONE"), False, Gates(), {"type": "none"}, []),
    (choose("VALIDATED"), None, Gates(), {"type": "auto"}, ["approximated TOOL_CHOICE tool_choice.mode"]),
    (choose("OTHER"), None, Gates(), None, ["dropped TOOL_CHOICE tool_choice.mode"]),
    (choose("REQUIRED"), None, UNFORCED, {"type": "auto"}, ["emulated TOOL_CHOICE tool_choice.mode"]),
    (choose("REQUIRED", "f.g"), None, UNFORCED, {"type": "auto"}, ["emulated TOOL_CHOICE_NAMED tool_choice.names[0]"]),
]


@pytest.mark.parametrize(("choice", "parallel", "gates", "expected", "notes"), CHOICES)
def test_choices(
    choice: ToolChoice | None,
    parallel: bool | None,
    gates: Gates,
    expected: dict[str, Any] | None,
    notes: list[str],
) -> None:
    request = MessageRequest(
        tools=[function(name="f.g"), function(name="h")], tool_choice=choice, parallel_tool_calls=parallel
    )
    written = write(request, gates=gates)
    assert written.body.get("tool_choice") == expected
    assert written.notes == [f"renamed TOOL_NAME {F}.name", *notes]
    sentences = {"TOOL_CHOICE_NAMED": ASK_ONE, "TOOL_CHOICE": ASK_ANY}
    asked = [sentences[note.split()[1]] for note in notes if note.startswith("emulated")]
    assert [block["text"] for block in written.body.get("system", [])] == asked


def test_no_choice_without_tools() -> None:
    request = MessageRequest(parallel_tool_calls=False, tool_choice=choose("NONE"))
    assert settings_of(write(request)) == {}


def test_a_restricted_choice_leaves_the_others_out() -> None:
    tools = [
        function(name="f"),
        function(name="g"),
        Tool(server=tl.ServerTool(kind=tl.SERVER_TOOL_KIND_WEB_SEARCH, kind_raw="web_search")),
        Tool(provider=tl.ProviderTool(type="bash_20250124")),
        Tool(),
    ]
    request = MessageRequest(tools=tools, tool_choice=choose("REQUIRED", "g", "web_search", "bash_20250124"))
    written = write(request)
    assert [tool.get("name", tool.get("type")) for tool in written.body["tools"]] == [
        "g",
        "web_search",
        "bash_20250124",
    ]
    assert written.body["tool_choice"] == {"type": "any"}
    assert written.notes == ["emulated TOOL_CHOICE_ALLOWED tool_choice.names"]
