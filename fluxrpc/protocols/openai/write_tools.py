"""Tools of the IR, and the choice among them, as those of OpenAI Chat Completions."""

from __future__ import annotations

from typing import Any

from fluxrpc.protocols.node import raw
from fluxrpc.protocols.openai.words import CONTEXT_SIZE, SYNTAX, TOOL_CHOICE
from fluxrpc.protocols.openai.writing import Writing
from fluxrpc.protocols.schema import CHAT_STRICT, PLAIN, alters_arguments, convert
from fluxrpc.v1.message_pb2 import Tool
from fluxrpc.v1.tool_pb2 import (
    GRAMMAR_SYNTAX_UNSPECIFIED,
    SERVER_TOOL_KIND_WEB_SEARCH,
    TOOL_CHOICE_MODE_AUTO,
    TOOL_CHOICE_MODE_OTHER,
    TOOL_CHOICE_MODE_REQUIRED,
    TOOL_CHOICE_MODE_VALIDATED,
    CustomTool,
    FunctionTool,
    ServerTool,
)

__all__ = ["write_tools"]

Fields = dict[str, Any]
_INPUT_SCHEMA = b'{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}'
"""What a custom tool takes where there are only functions."""


def write_tools(writing: Writing, body: Fields) -> None:
    """`tools`, `web_search_options`, `tool_choice`, `parallel_tool_calls`."""
    request = writing.request
    if request.tools and not writing.gates.takes_tools:
        writing.notes.dropped("TOOLS", "tools")
        writing.gone |= {"tools", "functions", "function_call", "tool_choice", "parallel_tool_calls"}
        return
    tools = [] if "functions" in writing.spelt else _tools(writing, body)
    if tools:
        body["tools"] = tools
    if not writing.is_own and not tools:
        if request.tool_choice.mode in _FORCING:
            writing.notes.dropped("TOOL_CHOICE", "tool_choice")
        return
    if request.HasField("tool_choice"):
        _write_choice(writing, body)
    if request.HasField("parallel_tool_calls"):
        body["parallel_tool_calls"] = request.parallel_tool_calls


def _tools(writing: Writing, body: Fields) -> list[Fields]:
    written = []
    kept = _kept_names(writing)
    for index, tool in enumerate(writing.request.tools):
        path = f"tools[{index}]"
        kind = tool.WhichOneof("kind")
        name = getattr(tool, str(kind)).name
        if kept and name not in kept:
            continue
        fields: Fields | None = None
        if kind == "function":
            fields = {"type": "function", "function": _function(tool.function, path, writing)}
        elif kind == "custom":
            fields = _custom(tool.custom, path, writing)
        elif kind == "server":
            _write_search(tool, path, writing, body)
        elif kind == "provider" and writing.is_own:
            fields = {"type": tool.provider.type}
        else:
            writing.notes.dropped("MCP_SERVER" if kind == "mcp" else "PROVIDER_TOOL", path)
        if fields is not None:
            if tool.HasField("cache_breakpoint"):
                writing.notes.dropped("CACHE_BREAKPOINT", f"{path}.cache_breakpoint")
            writing.merge(fields, tool.extras, path)
            written.append(fields)
    return written


def _function(function: FunctionTool, path: str, writing: Writing) -> Fields:
    place = f"{path}.function"
    written: Fields = {"name": writing.tool_name(function.name, f"{place}.name")}
    if function.description:
        written["description"] = function.description
    if function.parameters_json:
        written["parameters"] = raw(_parameters(function, place, writing))
    if function.HasField("strict"):
        written["strict"] = function.strict
    if function.output_schema_json:
        writing.notes.dropped("TOOL_OUTPUT_SCHEMA", f"{place}.output_schema_json")
    if function.defer_loading or function.allowed_callers:
        writing.notes.dropped("TOOL_DEFERRAL", place)
    return written


def _parameters(function: FunctionTool, place: str, writing: Writing) -> str:
    if writing.is_own:
        return function.parameters_json
    profile = CHAT_STRICT if function.strict else PLAIN
    path = f"{place}.parameters_json"
    schema = convert(function.parameters_json, function.dialect, profile, writing.notes, code="TOOL_SCHEMA", path=path)
    if alters_arguments(function.parameters_json, function.dialect, profile):
        writing.context.narrowed_tools[function.name] = function
    return schema


def _custom(tool: CustomTool, path: str, writing: Writing) -> Fields:
    name = writing.tool_name(tool.name, f"{path}.custom.name")
    inner: Fields = {"name": name}
    if tool.description:
        inner["description"] = tool.description
    if not (writing.dialect.is_original or writing.is_own):
        writing.context.custom_tools.add(tool.name)
        writing.notes.emulated("CUSTOM_TOOL", path)
        if tool.syntax != GRAMMAR_SYNTAX_UNSPECIFIED:
            writing.notes.dropped("TOOL_GRAMMAR", f"{path}.custom.grammar")
        return {"type": "function", "function": {**inner, "parameters": raw(_INPUT_SCHEMA.decode())}}
    if tool.syntax != GRAMMAR_SYNTAX_UNSPECIFIED:
        grammar = {"definition": tool.grammar, "syntax": SYNTAX.say(tool.syntax, tool.syntax_raw)}
        inner["format"] = {"type": "grammar", "grammar": grammar}
    return {"type": "custom", "custom": inner}


def _write_search(tool: Tool, path: str, writing: Writing, body: Fields) -> None:
    server = tool.server
    if server.kind != SERVER_TOOL_KIND_WEB_SEARCH or not (writing.dialect.web_search or writing.is_own):
        writing.notes.dropped("SERVER_TOOL", path)
        return
    if server.HasField("max_uses") or server.allowed_domains or server.blocked_domains:
        writing.notes.dropped("SERVER_TOOL_OPTIONS", f"{path}.server")
    options = _search_options(server)
    writing.merge(options, tool.extras, path)
    body["web_search_options"] = options


def _search_options(server: ServerTool) -> Fields:
    options: Fields = {}
    size = CONTEXT_SIZE.say(server.context_size, server.context_size_raw)
    if size:
        options["search_context_size"] = size
    if server.HasField("user_location"):
        place = {field.name: value for field, value in server.user_location.ListFields()}
        options["user_location"] = {"type": "approximate", "approximate": place}
    return options


def _kept_names(writing: Writing) -> frozenset[str]:
    """The names that a choice restricts the tools to, where the copy has no words for it; empty: all."""
    names = writing.request.tool_choice.names
    if len(names) < 2 or writing.is_own or writing.dialect.is_original:
        return frozenset()
    writing.notes.emulated("TOOL_CHOICE_ALLOWED", "tool_choice.names")
    return frozenset(names)


def _write_choice(writing: Writing, body: Fields) -> None:
    choice = writing.request.tool_choice
    mode = choice.mode
    if mode in _FORCING and not writing.gates.forced_tool_choice:
        writing.notes.approximated("TOOL_CHOICE", "tool_choice")
        writing.gone |= {"tool_choice", "function_call"}
        body["tool_choice"] = "auto"
        return
    if not {"tool_choice", "function_call"}.isdisjoint(writing.spelt):
        return
    if mode == TOOL_CHOICE_MODE_VALIDATED:
        writing.notes.approximated("TOOL_CHOICE", "tool_choice.mode")
        mode = TOOL_CHOICE_MODE_AUTO
    elif mode == TOOL_CHOICE_MODE_OTHER and not writing.is_own:
        writing.notes.dropped("TOOL_CHOICE", "tool_choice.mode")
        return
    word = TOOL_CHOICE.say(mode, choice.mode_raw)
    names = [(name, kind) for name in choice.names if (kind := _kind_of(name, writing))]
    if len(names) < len(choice.names):
        writing.notes.dropped("TOOL_CHOICE_NAMED", "tool_choice.names")
    if len(names) == 1 and mode == TOOL_CHOICE_MODE_REQUIRED:
        body["tool_choice"] = _reference(*names[0], writing)
    elif names and writing.dialect.is_original:
        tools = [_reference(name, kind, writing) for name, kind in names]
        body["tool_choice"] = {"type": "allowed_tools", "allowed_tools": {"mode": word or "auto", "tools": tools}}
    elif word:
        body["tool_choice"] = word


_FORCING = frozenset({TOOL_CHOICE_MODE_REQUIRED})


def _kind_of(name: str, writing: Writing) -> str:
    """`function` or `custom`; "" for a tool that is neither, which cannot be chosen by name."""
    kinds = [
        tool.WhichOneof("kind") for tool in writing.request.tools if name in (tool.custom.name, tool.function.name)
    ]
    if not kinds and not writing.is_own:
        return ""
    return "custom" if kinds[:1] == ["custom"] and writing.dialect.is_original else "function"


def _reference(name: str, kind: str, writing: Writing) -> Fields:
    return {"type": kind, kind: {"name": writing.tool_name(name, "tool_choice.names")}}
