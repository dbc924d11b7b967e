"""Tools of OpenAI Chat Completions requests, and the choice among them, into the IR.

Beside `tools` and `tool_choice`: `web_search_options`, which is a tool of the provider's, and the legacy `functions`
and `function_call`.
"""

from __future__ import annotations

import msgspec

from fluxrpc.protocols.node import Node
from fluxrpc.protocols.notes import Places
from fluxrpc.protocols.openai.wire_fields import Spelled, json_of, required_text
from fluxrpc.protocols.openai.words import CONTEXT_SIZE, OPENAI, SYNTAX, TOOL_CHOICE
from fluxrpc.v1.message_pb2 import MessageRequest, Tool
from fluxrpc.v1.tool_pb2 import (
    SERVER_TOOL_KIND_WEB_SEARCH,
    TOOL_CHOICE_MODE_OTHER,
    TOOL_CHOICE_MODE_REQUIRED,
    CustomTool,
    FunctionTool,
    ProviderTool,
    ServerTool,
    ToolChoice,
)

__all__ = ["TOOL_FIELDS", "read_tools"]

WEB_SEARCH = "web_search_options"
TOOL_FIELDS = frozenset({"tools", "functions", WEB_SEARCH, "tool_choice", "function_call", "parallel_tool_calls"})
"""The fields of a body that `read_tools` reads."""
_PLACE_FIELDS = ("city", "region", "country", "timezone")


def read_tools(node: Node, request: MessageRequest, spelled: Spelled, places: Places | None) -> None:
    """Everything about tools in a body."""
    is_list = node.is_list("tools")
    found = [(_tool(each), each.path) for each in node.nodes("tools")]
    if is_list and not found:
        spelled.add("tools", "[]")
    found += _legacy_functions(node, spelled)
    search = node.node(WEB_SEARCH)
    if search is not None:
        found.append((_web_search(search), WEB_SEARCH))
    for index, (tool, path) in enumerate(found):
        request.tools.append(tool)
        if places is not None:
            places[f"tools[{index}]"] = path
    _read_choice(node, request, spelled)
    parallel = node.flag("parallel_tool_calls")
    if parallel is not None:
        request.parallel_tool_calls = parallel


def _tool(node: Node) -> Tool:
    kind = required_text(node, "type")
    spelled = Spelled()
    if kind == "function":
        inner = _inner(node, "function")
        tool = Tool(function=_function(inner, spelled, "function."))
    elif kind == "custom":
        inner = _inner(node, "custom")
        tool = Tool(custom=_custom(inner, spelled))
    else:
        tool = Tool(provider=ProviderTool(type=kind))
        inner = node
    if inner is not node:
        tool.extras.extend(inner.extras(OPENAI, f"{kind}."))
    tool.extras.extend(node.extras(OPENAI))
    tool.extras.extend(spelled)
    return tool


def _inner(node: Node, key: str) -> Node:
    inner = node.node(key)
    if inner is None:
        raise node.fault(key, "an object")
    return inner


def _function(node: Node, spelled: Spelled, prefix: str) -> FunctionTool:
    function = FunctionTool(
        name=required_text(node, "name"),
        description=spelled.text(node, "description", prefix),
        strict=node.flag("strict"),
    )
    if node.is_object("parameters"):
        function.parameters_json = node.json("parameters")
    elif "parameters" in node:
        raise node.fault("parameters", "an object")
    return function


def _custom(node: Node, spelled: Spelled) -> CustomTool:
    tool = CustomTool(name=required_text(node, "name"), description=spelled.text(node, "description", "custom."))
    form = node.node("format")
    if form is None:
        return tool
    kind = required_text(form, "type")
    grammar = form.node("grammar")
    if kind != "grammar" or grammar is None:
        spelled.add("custom.format.type", json_of(kind))
        spelled.extend(form.extras(OPENAI, "custom.format."))
        return tool
    tool.syntax, tool.syntax_raw = SYNTAX.read(required_text(grammar, "syntax"))
    tool.grammar = spelled.text(grammar, "definition", "custom.format.grammar.")
    spelled.extend(grammar.extras(OPENAI, "custom.format.grammar."))
    spelled.extend(form.extras(OPENAI, "custom.format."))
    return tool


def _legacy_functions(node: Node, spelled: Spelled) -> list[tuple[Tool, str]]:
    if not node.is_list("functions"):
        return []
    found = node.json("functions")
    spelled.add("functions", found)
    functions = Node({"functions": msgspec.Raw(found.encode())}).nodes("functions")
    return [(Tool(function=_function(each, Spelled(), "")), each.path) for each in functions]


def _web_search(node: Node) -> Tool:
    spelled = Spelled()
    tool = ServerTool(kind=SERVER_TOOL_KIND_WEB_SEARCH, kind_raw=WEB_SEARCH)
    size = spelled.text(node, "search_context_size")
    if size:
        tool.context_size, tool.context_size_raw = CONTEXT_SIZE.read(size)
    location = node.node("user_location")
    if location is not None:
        place = location.node("approximate")
        if place is None:
            return Tool(
                server=tool, extras=[*node.extras(OPENAI), *location.extras(OPENAI, "user_location."), *spelled]
            )
        tool.user_location.SetInParent()
        for name in _PLACE_FIELDS:
            setattr(tool.user_location, name, spelled.text(place, name, "user_location.approximate."))
        spelled.extend(place.extras(OPENAI, "user_location.approximate."))
        kind = location.text("type")
        if kind != "approximate":
            spelled.add("user_location.type", json_of(kind))
        spelled.extend(location.extras(OPENAI, "user_location."))
    return Tool(server=tool, extras=[*node.extras(OPENAI), *spelled])


def _read_choice(node: Node, request: MessageRequest, spelled: Spelled) -> None:
    if node.is_object("tool_choice"):
        found = node.json("tool_choice")
        choice = Node({"tool_choice": msgspec.Raw(found.encode())}).node("tool_choice") or Node({})
        _read_choice_object(choice, request.tool_choice)
        spelled.add("tool_choice", found)
    elif "tool_choice" in node:
        mode, raw = TOOL_CHOICE.read(required_text(node, "tool_choice"))
        request.tool_choice.CopyFrom(ToolChoice(mode=mode, mode_raw=raw))
    if "function_call" in node:
        found = node.json("function_call")
        legacy = Node({"function_call": msgspec.Raw(found.encode())})
        spelled.add("function_call", found)
        if legacy.is_object("function_call"):
            name = required_text(legacy.node("function_call") or Node({}), "name")
            request.tool_choice.CopyFrom(ToolChoice(mode=TOOL_CHOICE_MODE_REQUIRED, names=[name]))
        else:
            mode, raw = TOOL_CHOICE.read(required_text(legacy, "function_call"))
            request.tool_choice.CopyFrom(ToolChoice(mode=mode, mode_raw=raw))


def _read_choice_object(node: Node, choice: ToolChoice) -> None:
    """`{type: function | custom, …: {name}}`, or `{type: allowed_tools, allowed_tools: {mode, tools}}`."""
    kind = required_text(node, "type")
    if kind == "allowed_tools":
        allowed = _inner(node, kind)
        choice.mode, choice.mode_raw = TOOL_CHOICE.read(required_text(allowed, "mode"))
        tools = allowed.nodes("tools")
        choice.names.extend(required_text(_inner(each, required_text(each, "type")), "name") for each in tools)
    elif kind in ("function", "custom"):
        choice.mode = TOOL_CHOICE_MODE_REQUIRED
        choice.names.append(required_text(_inner(node, kind), "name"))
    else:
        choice.mode, choice.mode_raw = TOOL_CHOICE_MODE_OTHER, kind
