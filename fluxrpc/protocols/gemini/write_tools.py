"""Tools and the choice among them: all functions in one Tool object, each tool of Google's in its own."""

from __future__ import annotations

import re
from typing import Any

from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.context import Context
from fluxrpc.protocols.gemini.wire import GEMINI, SERVER_KINDS, TOOL_MODES, inverse
from fluxrpc.protocols.gemini.write_schema import is_subset, write_parameters, write_schema
from fluxrpc.protocols.node import merge_extras, raw
from fluxrpc.protocols.notes import Notes
from fluxrpc.protocols.tool_names import ToolNames
from fluxrpc.protocols.undo import CUSTOM_INPUT
from fluxrpc.v1 import tool_pb2
from fluxrpc.v1.message_pb2 import MessageRequest, Tool

__all__ = ["tool_names", "write_tool_choice", "write_tools"]

# 64 in the proto, 128 in the SDK: what is longer than the shorter is renamed.
_LEGAL = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}")
_ILLEGAL = re.compile(r"[^A-Za-z0-9_.:-]")
_ANY = re.compile(r".*", re.DOTALL)
_SERVER_KEYS = inverse(SERVER_KINDS)
_MODE_WORDS = inverse(TOOL_MODES)
_SERVER_OPTIONS = ("max_uses", "allowed_domains", "blocked_domains", "user_location", "context_size")
_CUSTOM_SCHEMA = raw(
    f'{{"type":"object","properties":{{"{CUSTOM_INPUT}":{{"type":"string"}}}},"required":["{CUSTOM_INPUT}"]}}'
)
_DECIDES = frozenset({
    tool_pb2.TOOL_CHOICE_MODE_UNSPECIFIED, tool_pb2.TOOL_CHOICE_MODE_OTHER, tool_pb2.TOOL_CHOICE_MODE_AUTO,
})  # fmt: skip
_UNFORCED = _DECIDES | {tool_pb2.TOOL_CHOICE_MODE_NONE}


def tool_names(context: Context, notes: Notes) -> ToolNames:
    """The names of a request; a Gemini caller's stay."""
    legal = _ANY if context.caller is Protocol.GEMINI else _LEGAL
    return ToolNames(context, notes, legal, _ILLEGAL)


class _Tools:
    """Gathers what `tools` will hold."""

    def __init__(self, context: Context, notes: Notes, names: ToolNames) -> None:
        self.declarations: list[dict[str, Any]] = []
        self.others: list[dict[str, Any]] = []
        self._context = context
        self._notes = notes
        self._names = names

    def add(self, tool: Tool, path: str) -> None:
        kind = tool.WhichOneof("kind")
        if tool.HasField("cache_breakpoint"):
            self._notes.dropped("CACHE_BREAKPOINT", f"{path}.cache_breakpoint")
        if kind == "function":
            self._add_function(tool, path)
        elif kind == "custom":
            self._add_custom(tool, path)
        elif kind == "server":
            self._add_server(tool, path)
        elif kind == "mcp":
            self._add_mcp(tool, path)
        elif tool.provider.type == "computerUse":
            self._add_other(tool, {"computerUse": {}})
        else:
            self._notes.dropped("PROVIDER_TOOL", path)

    def _add_function(self, tool: Tool, path: str) -> None:
        base, function, path = path, tool.function, f"{path}.function"
        wire: dict[str, Any] = {"name": self._names.written(function.name, f"{path}.name")}
        if function.description:
            wire["description"] = function.description
        ending = "" if is_subset(function.dialect, self._context) else "JsonSchema"
        if function.parameters_json:
            place = f"{path}.parameters_json"
            wire[f"parameters{ending}"] = write_parameters(function, self._context, self._notes, path=place)
        if function.output_schema_json:
            wire[f"response{ending}"] = write_schema(
                function.output_schema_json,
                function.dialect,
                self._context,
                self._notes,
                code="TOOL_OUTPUT_SCHEMA",
                path=f"{path}.output_schema_json",
            )
        if function.HasField("defer_loading") or function.allowed_callers:
            self._notes.dropped("TOOL_DEFERRAL", base)
        self._declare(tool, wire, base)

    def _add_custom(self, tool: Tool, path: str) -> None:
        base, custom, path = path, tool.custom, f"{path}.custom"
        self._context.custom_tools.add(custom.name)
        self._notes.emulated("CUSTOM_TOOL", base)
        if custom.grammar:
            self._notes.dropped("TOOL_GRAMMAR", f"{path}.grammar")
        wire: dict[str, Any] = {"name": self._names.written(custom.name, f"{path}.name")}
        if custom.description:
            wire["description"] = custom.description
        ending = "JsonSchema" if self._context.target.gates.takes_json_schema else ""
        wire[f"parameters{ending}"] = _CUSTOM_SCHEMA  # the names of types are taken in either case
        self._declare(tool, wire, base)

    def _declare(self, tool: Tool, wire: dict[str, Any], path: str) -> None:
        merge_extras(wire, tool.extras, GEMINI)
        self._notes.foreign_extras(tool.extras, GEMINI, path)
        self.declarations.append(wire)

    def _add_server(self, tool: Tool, path: str) -> None:
        base, server, path = path, tool.server, f"{path}.server"
        is_ours = server.kind_raw in SERVER_KINDS or any(extra.protocol == GEMINI for extra in tool.extras)
        key = server.kind_raw if is_ours else _SERVER_KEYS.get(server.kind)
        if key is None:
            self._notes.dropped("SERVER_TOOL", base)
            return
        for name in _SERVER_OPTIONS:
            if any(field.name == name for field, _ in server.ListFields()):
                self._notes.dropped("SERVER_TOOL_OPTIONS", f"{path}.{name}")
        self._notes.foreign_extras(tool.extras, GEMINI, base, "SERVER_TOOL_OPTIONS")
        self._add_other(tool, {})
        self.others[-1].setdefault(key, {})

    def _add_mcp(self, tool: Tool, path: str) -> None:
        base, server, path = path, tool.mcp, f"{path}.mcp"
        transport: dict[str, Any] = {"url": server.url}
        if server.authorization_token:
            transport["headers"] = {"Authorization": f"Bearer {server.authorization_token}"}
        if server.allowed_tools:
            self._notes.dropped("SERVER_TOOL_OPTIONS", f"{path}.allowed_tools")
        self._notes.foreign_extras(tool.extras, GEMINI, base, "SERVER_TOOL_OPTIONS")
        asks = any(extra.key.startswith("require_approval") for extra in tool.extras)
        if self._context.caller is Protocol.RESPONSES and not asks:
            self._notes.approximated("MCP_SERVER", base)
        wire = {"name": server.name, "streamableHttpTransport": transport}
        merge_extras(wire, tool.extras, GEMINI)
        self.others.append({"mcpServers": [wire]})

    def _add_other(self, tool: Tool, wire: dict[str, Any]) -> None:
        merge_extras(wire, tool.extras, GEMINI)
        self.others.append(wire)


def write_tools(
    body: dict[str, Any], request: MessageRequest, context: Context, notes: Notes, names: ToolNames
) -> None:
    """`tools`, and the switch without which functions and Google's tools do not go together."""
    tools = _Tools(context, notes, names)
    for index, tool in enumerate(request.tools):
        tools.add(tool, f"tools[{index}]")
    written = [{"functionDeclarations": tools.declarations}] if tools.declarations else []
    written.extend(tools.others)
    if written:
        body["tools"] = written
    if tools.declarations and tools.others and context.caller is not Protocol.GEMINI:
        notes.injected("SERVER_TOOL", "tools")
        body["toolConfig"] = {"includeServerSideToolInvocations": True}


def write_tool_choice(
    body: dict[str, Any], request: MessageRequest, context: Context, notes: Notes, names: ToolNames
) -> None:
    """`toolConfig.functionCallingConfig`, and what is emulated for want of a field."""
    own = context.caller is Protocol.GEMINI
    if request.tools and request.HasField("parallel_tool_calls") and not request.parallel_tool_calls:
        context.single_call = True
        notes.emulated("PARALLEL_TOOL_CALLS", "parallel_tool_calls")
    if request.HasField("max_tool_calls"):
        notes.dropped("MAX_TOOL_CALLS", "max_tool_calls")
    choice = request.tool_choice
    if own:
        config = {"mode": _MODE_WORDS.get(choice.mode, choice.mode_raw), "allowedFunctionNames": list(choice.names)}
        config = {key: value for key, value in config.items() if value}
    else:
        config = _written_choice(request, notes, names)
    if config:
        body.setdefault("toolConfig", {})["functionCallingConfig"] = config


def _written_choice(request: MessageRequest, notes: Notes, names: ToolNames) -> dict[str, Any]:
    functions = [tool.function for tool in request.tools if tool.HasField("function")]
    known = [each.name for each in functions] + [tool.custom.name for tool in request.tools if tool.HasField("custom")]
    choice = request.tool_choice
    mode = choice.mode
    if not known:
        if mode not in _UNFORCED or choice.names:
            notes.dropped("TOOL_CHOICE", "tool_choice")
        return {}
    if mode == tool_pb2.TOOL_CHOICE_MODE_OTHER:
        notes.dropped("TOOL_CHOICE", "tool_choice.mode")
    chosen = [name for name in choice.names if name in known]
    if len(chosen) < len(choice.names):
        notes.dropped("TOOL_CHOICE_NAMED", "tool_choice.names", "only functions can be named")
    if mode in _DECIDES:
        mode = _deciding_mode(request, notes, has_names=bool(chosen))
    config: dict[str, Any] = {"mode": _MODE_WORDS[mode]} if mode in _MODE_WORDS else {}
    if chosen:
        config["allowedFunctionNames"] = [names.written(name, "tool_choice.names") for name in chosen]
    return config


def _deciding_mode(request: MessageRequest, notes: Notes, *, has_names: bool) -> tool_pb2.ToolChoiceMode.ValueType:
    """The mode where the model decides: names need VALIDATED, and it is what strict tools ask for."""
    stricts = [tool.function.strict for tool in request.tools if tool.HasField("function")]
    if any(stricts) and all(stricts):
        notes.approximated("TOOL_STRICT", "tools")
        return tool_pb2.TOOL_CHOICE_MODE_VALIDATED
    for index, tool in enumerate(request.tools):
        if tool.function.strict:
            notes.dropped("TOOL_STRICT", f"tools[{index}].function.strict")
    if has_names:
        notes.approximated("TOOL_CHOICE_ALLOWED", "tool_choice.names")
        return tool_pb2.TOOL_CHOICE_MODE_VALIDATED
    return request.tool_choice.mode
