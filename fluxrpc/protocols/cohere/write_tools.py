"""Tools and the choice among them for Cohere, which knows only functions, and only `REQUIRED` and `NONE`.

What it cannot say of a choice is done by sending fewer tools; one call instead of several by leaving out the others.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.cohere.words import TOOL_CHOICES
from fluxrpc.protocols.context import Context
from fluxrpc.protocols.node import merge_extras, raw
from fluxrpc.protocols.notes import Notes
from fluxrpc.protocols.schema import COHERE, PLAIN, alters_arguments, convert
from fluxrpc.protocols.tool_names import ToolNames
from fluxrpc.v1.message_pb2 import MessageRequest, Tool
from fluxrpc.v1.protocol_pb2 import PROTOCOL_COHERE
from fluxrpc.v1.tool_pb2 import (
    TOOL_CHOICE_MODE_AUTO,
    TOOL_CHOICE_MODE_NONE,
    TOOL_CHOICE_MODE_REQUIRED,
    TOOL_CHOICE_MODE_UNSPECIFIED,
    FunctionTool,
)

__all__ = ["ToolWriter"]

_NO_PARAMETERS: Final = '{"type":"object","properties":{}}'
_FREE_TEXT: Final = '{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}'
_DROPPED: Final = {"server": "SERVER_TOOL", "provider": "PROVIDER_TOOL", "mcp": "MCP_SERVER"}
_BY_ITSELF: Final = frozenset({TOOL_CHOICE_MODE_UNSPECIFIED, TOOL_CHOICE_MODE_AUTO})
_REQUIRED: Final = msgspec.json.Decoder(dict[str, Any])


class ToolWriter:
    """Writes the tools of one request and what belongs to them."""

    def __init__(self, context: Context, notes: Notes, names: ToolNames) -> None:
        self._context = context
        self._notes = notes
        self._names = names
        self._is_own = context.caller is Protocol.COHERE

    def fields(self, request: MessageRequest) -> dict[str, Any]:
        """`tools`, `strict_tools` and `tool_choice`, as far as they are asked for."""
        is_strict = not self._is_own and self._is_strict(request)
        chosen = self._chosen(request)
        tools = [
            written
            for index, tool in enumerate(request.tools)
            if not chosen or _name(tool) in chosen
            if (written := self._tool(tool, f"tools[{index}]", is_strict=is_strict)) is not None
        ]
        fields: dict[str, Any] = {"tools": tools} if tools else {}
        if is_strict:
            fields["strict_tools"] = True
        choice = self._choice(request, chosen if tools else frozenset(), has_tools=bool(tools))
        if choice:
            fields["tool_choice"] = choice
        if tools and request.HasField("parallel_tool_calls") and not request.parallel_tool_calls:
            self._context.single_call = True
            self._notes.emulated("PARALLEL_TOOL_CALLS", "parallel_tool_calls")
        if request.HasField("max_tool_calls"):
            self._notes.dropped("MAX_TOOL_CALLS", "max_tool_calls")
        return fields

    def _is_strict(self, request: MessageRequest) -> bool:
        """The switch is one for all tools, and each must have a parameter that is required."""
        strict = [index for index, tool in enumerate(request.tools) if tool.function.strict]
        is_strict = bool(strict) and all(_can_be_strict(tool) for tool in request.tools)
        if not is_strict:
            for index in strict:
                self._notes.dropped("TOOL_STRICT", f"tools[{index}].function.strict")
        return is_strict

    def _tool(self, tool: Tool, path: str, *, is_strict: bool) -> dict[str, Any] | None:
        if tool.HasField("cache_breakpoint"):
            self._notes.dropped("CACHE_BREAKPOINT", f"{path}.cache_breakpoint")
        self._notes.foreign_extras(tool.extras, PROTOCOL_COHERE, path)
        if tool.HasField("function"):
            function = self._function(tool.function, f"{path}.function", is_strict=is_strict)
        elif tool.HasField("custom"):
            function = self._custom(tool, f"{path}.custom")
        elif self._is_own:
            fields: dict[str, Any] = {"type": tool.provider.type}
            merge_extras(fields, tool.extras, PROTOCOL_COHERE)
            return fields
        else:
            self._notes.dropped(_DROPPED[tool.WhichOneof("kind") or "server"], path)
            return None
        fields = {"type": "function", "function": function}
        merge_extras(fields, tool.extras, PROTOCOL_COHERE)
        return fields

    def _function(self, function: FunctionTool, path: str, *, is_strict: bool) -> dict[str, Any]:
        name = function.name if self._is_own else self._names.written(function.name, f"{path}.name")
        fields: dict[str, Any] = {"name": name}
        if function.description:
            fields["description"] = function.description
        if self._is_own:
            if function.parameters_json:
                fields["parameters"] = raw(function.parameters_json)
            return fields
        schema = function.parameters_json or _NO_PARAMETERS
        profile = COHERE if is_strict else PLAIN
        place = f"{path}.parameters_json"
        schema = convert(schema, function.dialect, profile, self._notes, code="TOOL_SCHEMA", path=place)
        if alters_arguments(function.parameters_json, function.dialect, profile):
            self._context.narrowed_tools[function.name] = function
        fields["parameters"] = raw(schema)
        if function.output_schema_json:
            self._notes.dropped("TOOL_OUTPUT_SCHEMA", f"{path}.output_schema_json")
        if function.defer_loading or function.allowed_callers:
            self._notes.dropped("TOOL_DEFERRAL", path)
        return fields

    def _custom(self, tool: Tool, path: str) -> dict[str, Any]:
        custom = tool.custom
        self._context.custom_tools.add(custom.name)
        self._notes.emulated("CUSTOM_TOOL", path)
        if custom.grammar:
            self._notes.dropped("TOOL_GRAMMAR", f"{path}.grammar")
        fields: dict[str, Any] = {"name": self._names.written(custom.name, f"{path}.name")}
        if custom.description:
            fields["description"] = custom.description
        return fields | {"parameters": raw(_FREE_TEXT)}

    def _chosen(self, request: MessageRequest) -> frozenset[str]:
        """The tools that the choice is restricted to; empty = all."""
        named = frozenset(request.tool_choice.names)
        chosen = named & {_name(tool) for tool in request.tools}
        if len(chosen) < len(named) and request.tools:
            self._notes.dropped("TOOL_CHOICE_NAMED", "tool_choice.names")
        return chosen

    def _choice(self, request: MessageRequest, chosen: frozenset[str], *, has_tools: bool) -> str:
        mode = request.tool_choice.mode
        if chosen:
            is_one = len(chosen) == 1 and mode == TOOL_CHOICE_MODE_REQUIRED
            self._notes.emulated("TOOL_CHOICE_NAMED" if is_one else "TOOL_CHOICE_ALLOWED", "tool_choice.names")
        if self._is_own:
            return TOOL_CHOICES.written(mode) or request.tool_choice.mode_raw
        if mode in _BY_ITSELF or (mode == TOOL_CHOICE_MODE_NONE and not has_tools):
            return ""
        word = TOOL_CHOICES.written(mode)
        is_refused = mode == TOOL_CHOICE_MODE_REQUIRED and not self._context.target.gates.forced_tool_choice
        if not word or not has_tools or is_refused:
            self._notes.dropped("TOOL_CHOICE", "tool_choice")
            return ""
        return word


def _name(tool: Tool) -> str:
    """What a choice calls a tool: those without a name by the provider's word for them."""
    words = (tool.function.name, tool.custom.name, tool.server.name, tool.server.kind_raw)
    return next(filter(None, words), tool.provider.name or tool.provider.type)


def _can_be_strict(tool: Tool) -> bool:
    if not tool.function.strict or not tool.function.parameters_json:
        return False
    return bool(_REQUIRED.decode(tool.function.parameters_json).get("required"))
