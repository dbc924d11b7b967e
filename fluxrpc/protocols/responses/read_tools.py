"""Tools and their choice in a request of OpenAI Responses. Tools are flat: what they are stands beside their type."""

from __future__ import annotations

import msgspec

from fluxrpc.protocols.node import Node, spelling
from fluxrpc.protocols.responses.read_content import filled
from fluxrpc.protocols.responses.words import CHOICE_MODES, HOSTED_TOOLS, SEARCH_SIZES, SYNTAXES, VENDOR_TOOLS
from fluxrpc.v1 import tool_pb2 as pb
from fluxrpc.v1.message_pb2 import MessageRequest, Tool
from fluxrpc.v1.protocol_pb2 import PROTOCOL_RESPONSES, Extra

__all__ = ["hosted_kind", "read_choice", "read_tool"]

_PLACES = ("city", "region", "country", "timezone")


def read_tool(node: Node) -> Tool:
    """One of `tools`."""
    kind = node.text("type") or "function"
    tool = Tool()
    extras: list[Extra] = []
    if kind == "function":
        _read_function(node, tool.function)
    elif kind == "custom":
        extras = _read_custom(node, tool.custom)
    elif kind == "mcp":
        _read_mcp(node, tool.mcp)
    elif kind in VENDOR_TOOLS:
        tool.provider.type = kind
    else:
        tool.server.kind = hosted_kind(kind)
        tool.server.kind_raw = kind
        if tool.server.kind == pb.SERVER_TOOL_KIND_WEB_SEARCH:
            extras = _read_search(node, tool.server)
    tool.extras.extend(extras)
    tool.extras.extend(node.extras(PROTOCOL_RESPONSES))
    return tool


def hosted_kind(word: str) -> pb.ServerToolKind.ValueType:
    """What kind of tool a type is; dated and preview names are that of their tool."""
    if word.startswith("web_search"):
        return pb.SERVER_TOOL_KIND_WEB_SEARCH
    return HOSTED_TOOLS.get(word, pb.SERVER_TOOL_KIND_OTHER)


def _read_function(node: Node, function: pb.FunctionTool) -> None:
    function.name = node.text("name") or ""
    function.description = filled(node, "description")
    if "parameters" in node:
        if not node.is_object("parameters"):
            raise node.fault("parameters", "an object")
        function.parameters_json = node.json("parameters")
    strict, deferred = node.flag("strict"), node.flag("defer_loading")
    if strict is not None:
        function.strict = strict
    if deferred is not None:
        function.defer_loading = deferred
    if node.is_object("output_schema"):
        function.output_schema_json = node.json("output_schema")
    if node.is_list("allowed_callers") and bytes(node.peek("allowed_callers")) != b"[]":
        function.allowed_callers.extend(node.texts("allowed_callers"))


def _read_custom(node: Node, custom: pb.CustomTool) -> list[Extra]:
    custom.name = node.text("name") or ""
    custom.description = filled(node, "description")
    form = node.node("format")
    if form is None:
        return []
    kind = form.text("type")
    if kind != "grammar":
        return [spelling(PROTOCOL_RESPONSES, "format.type", _json(kind)), *form.extras(PROTOCOL_RESPONSES, "format.")]
    syntax, custom.syntax_raw = SYNTAXES.read(form.text("syntax"))
    custom.syntax = pb.GrammarSyntax.ValueType(syntax)
    custom.grammar = filled(form, "definition")
    return form.extras(PROTOCOL_RESPONSES, "format.")


def _read_mcp(node: Node, mcp: pb.McpServer) -> None:
    mcp.name = node.text("server_label") or ""
    mcp.url = filled(node, "server_url")
    mcp.authorization_token = filled(node, "authorization")
    if node.is_list("allowed_tools"):
        mcp.allowed_tools.extend(node.texts("allowed_tools"))


def _read_search(node: Node, search: pb.ServerTool) -> list[Extra]:
    extras: list[Extra] = []
    spelt = bytes(node.peek("filters")).decode()
    filters = node.node("filters")
    if filters is not None:
        search.allowed_domains.extend(filters.texts("allowed_domains"))
        extras += filters.extras(PROTOCOL_RESPONSES, "filters.")
        if not search.allowed_domains:
            extras.append(spelling(PROTOCOL_RESPONSES, "filters", spelt))
    size, search.context_size_raw = SEARCH_SIZES.read(node.text("search_context_size"))
    search.context_size = pb.SearchContextSize.ValueType(size)
    location = node.node("user_location")
    if location is not None:
        search.user_location.SetInParent()
        location.text("type")
        for name in _PLACES:
            setattr(search.user_location, name, location.text(name) or "")
        extras += location.extras(PROTOCOL_RESPONSES, "user_location.")
    return extras


def read_choice(node: Node, request: MessageRequest) -> None:
    """`tool_choice`: a word, or an object whose forms the IR has not all; the object is kept as it was spelt."""
    if "tool_choice" not in node:
        return
    choice = request.tool_choice
    if node.is_text("tool_choice"):
        mode, choice.mode_raw = CHOICE_MODES.read(node.text("tool_choice"))
        choice.mode = pb.ToolChoiceMode.ValueType(mode)
        return
    spelt = bytes(node.peek("tool_choice")).decode()
    chosen = node.node("tool_choice")
    kind = chosen.text("type") if chosen else None
    if chosen is None or kind is None:
        raise node.fault("tool_choice", "a word or an object with a type")
    choice.mode = pb.TOOL_CHOICE_MODE_REQUIRED
    if kind == "allowed_tools":
        mode, choice.mode_raw = CHOICE_MODES.read(chosen.text("mode"))
        choice.mode = pb.ToolChoiceMode.ValueType(mode)
        choice.names.extend(_name(each, each.text("type") or "") for each in chosen.nodes("tools"))
    else:
        choice.names.append(_name(chosen, _sent_kind(request, kind)))
    request.extras.append(spelling(PROTOCOL_RESPONSES, "tool_choice", spelt))


def _sent_kind(request: MessageRequest, kind: str) -> str:
    """The word by which a chosen hosted tool was sent: a choice may name it without its date (`web_search_preview`)."""
    meant = hosted_kind(kind)
    sent = (tool.server.kind_raw for tool in request.tools if tool.server.kind == meant)
    return kind if meant == pb.SERVER_TOOL_KIND_OTHER else next(sent, kind)


def _name(node: Node, kind: str) -> str:
    """What the IR calls a chosen tool: its name, or the word for a tool that has none."""
    if kind == "mcp":
        return node.text("server_label") or kind
    return node.text("name") or kind


def _json(word: str | None) -> str:
    return msgspec.json.encode(word).decode()
