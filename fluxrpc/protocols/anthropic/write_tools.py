"""The tools of a request, and which of them the model is to call."""

from __future__ import annotations

from typing import Any

import msgspec

from fluxrpc.protocols.anthropic.draft import Block, Draft
from fluxrpc.protocols.anthropic.words import ANTHROPIC, server_kind
from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.node import merge_extras, raw
from fluxrpc.protocols.schema import ANTHROPIC_STRICT, PLAIN, convert
from fluxrpc.v1.message_pb2 import Tool
from fluxrpc.v1.tool_pb2 import (
    SEARCH_CONTEXT_SIZE_UNSPECIFIED,
    SERVER_TOOL_KIND_CODE,
    SERVER_TOOL_KIND_TOOL_SEARCH,
    SERVER_TOOL_KIND_WEB_FETCH,
    SERVER_TOOL_KIND_WEB_SEARCH,
    TOOL_CHOICE_MODE_AUTO,
    TOOL_CHOICE_MODE_NONE,
    TOOL_CHOICE_MODE_OTHER,
    TOOL_CHOICE_MODE_REQUIRED,
    TOOL_CHOICE_MODE_UNSPECIFIED,
    TOOL_CHOICE_MODE_VALIDATED,
    FunctionTool,
    ToolChoice,
)

__all__ = ["MCP_BETA", "write_choice", "write_tools"]

MCP_BETA = "mcp-client-2025-11-20"
"""Opt-in to `mcp_servers` (https://platform.claude.com/docs/en/agents-and-tools/mcp-connector)."""

_CUSTOM_SCHEMA = b'{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}'
_NO_ARGUMENTS = '{"type":"object","properties":{}}'

_TOOLS = {
    SERVER_TOOL_KIND_WEB_SEARCH: ("web_search_20250305", "web_search"),
    SERVER_TOOL_KIND_WEB_FETCH: ("web_fetch_20250910", "web_fetch"),
    SERVER_TOOL_KIND_CODE: ("code_execution_20250825", "code_execution"),
    SERVER_TOOL_KIND_TOOL_SEARCH: ("tool_search_tool_regex_20251119", "tool_search_tool_regex"),
}
"""Kinds of tools that the provider runs to type and name, in the versions that every model takes."""
_FROM_ABROAD = frozenset({SERVER_TOOL_KIND_WEB_SEARCH})
"""Kinds that mean the same everywhere; others see files and containers of one provider."""


def write_tools(draft: Draft) -> None:
    """Fill `tools` and `mcp_servers`."""
    tools: list[Block] = []
    servers: list[Block] = []
    allowed = _allowed(draft)
    for index, tool in enumerate(draft.request.tools):
        path = f"tools[{index}]"
        name = _name_of(tool)
        if allowed and name not in allowed:
            continue
        if tool.HasField("mcp"):
            servers.append(_mcp_server(draft, tool, path))
            if not draft.exact:
                tools.append({"type": "mcp_toolset", "mcp_server_name": tool.mcp.name})
            continue
        written = _tool(draft, tool, path)
        if written is not None:
            draft.finish_block(written, tool, path)
            tools.append(written)
    if tools:
        draft.body["tools"] = tools
    if servers:
        draft.body["mcp_servers"] = servers


def _allowed(draft: Draft) -> frozenset[str]:
    """The tools that are left where the choice is restricted to some; empty = all."""
    choice = draft.request.tool_choice
    if not choice.names or (choice.mode == TOOL_CHOICE_MODE_REQUIRED and len(choice.names) == 1):
        return frozenset()
    draft.notes.emulated("TOOL_CHOICE_ALLOWED", "tool_choice.names")
    return frozenset(choice.names)


def _name_of(tool: Tool) -> str:
    """What a choice calls a tool."""
    kind = tool.WhichOneof("kind") or ""
    known: Any = getattr(tool, kind, tool)
    return getattr(known, "name", "") or getattr(known, "kind_raw", "") or getattr(known, "type", "")


def _tool(draft: Draft, tool: Tool, path: str) -> Block | None:
    match tool.WhichOneof("kind"):
        case "custom":
            return _custom(draft, tool, path)
        case "server":
            return _server(draft, tool, path)
        case "provider":
            if not draft.is_at_home:
                draft.notes.dropped("PROVIDER_TOOL", path)
                return None
            block: Block = {"type": tool.provider.type}
            if tool.provider.name:
                block["name"] = tool.provider.name
            return block
    return _function(draft, tool.function, f"{path}.function")


# --- functions ---


def _function(draft: Draft, function: FunctionTool, path: str) -> Block:
    block: Block = {"name": draft.name(function.name, f"{path}.name")}
    if function.description:
        block["description"] = function.description
    schema = _schema(draft, function, f"{path}.parameters_json")
    if schema:
        block["input_schema"] = raw(schema)
    if function.HasField("strict"):
        block["strict"] = function.strict
    if function.HasField("defer_loading"):
        block["defer_loading"] = function.defer_loading
    if function.allowed_callers:
        block["allowed_callers"] = list(function.allowed_callers)
    if function.output_schema_json:
        draft.notes.dropped("TOOL_OUTPUT_SCHEMA", f"{path}.output_schema_json")
    return block


class _Top(msgspec.Struct):
    type: msgspec.Raw = msgspec.Raw(b"")


def _schema(draft: Draft, function: FunctionTool, path: str) -> str:
    schema = function.parameters_json
    if draft.exact:
        return schema
    if not schema:
        return _NO_ARGUMENTS
    profile = ANTHROPIC_STRICT if function.strict else PLAIN
    schema = convert(schema, function.dialect, profile, draft.notes, code="TOOL_SCHEMA", path=path)
    if bytes(msgspec.json.decode(schema, type=_Top).type):
        return schema
    draft.notes.injected("TOOL_SCHEMA", f"{path}.type", "the schema of arguments must say that they are an object")
    rest = schema.strip()[1:]
    return '{"type":"object"' + ("}" if rest.strip() == "}" else f",{rest}")


def _custom(draft: Draft, tool: Tool, path: str) -> Block:
    custom = tool.custom
    draft.notes.emulated("CUSTOM_TOOL", f"{path}.custom")
    if custom.grammar:
        draft.notes.dropped("TOOL_GRAMMAR", f"{path}.custom.grammar")
    draft.context.custom_tools.add(custom.name)
    block: Block = {"name": draft.name(custom.name, f"{path}.custom.name")}
    if custom.description:
        block["description"] = custom.description
    block["input_schema"] = msgspec.Raw(_CUSTOM_SCHEMA)
    return block


# --- tools that others run ---


def _server(draft: Draft, tool: Tool, path: str) -> Block | None:
    server = tool.server
    if server_kind(server.kind_raw) is not None:
        kind, name = server.kind_raw, server.name or _TOOLS[server.kind][1]
    elif server.kind in _TOOLS and (draft.is_at_home or server.kind in _FROM_ABROAD):
        kind, name = _TOOLS[server.kind]
    else:
        draft.notes.dropped("SERVER_TOOL", path)
        return None
    block: Block = {"type": kind, "name": name}
    if server.HasField("max_uses"):
        block["max_uses"] = server.max_uses
    elif draft.request.HasField("max_tool_calls"):
        draft.notes.approximated("MAX_TOOL_CALLS", "max_tool_calls")
        block["max_uses"] = draft.request.max_tool_calls
        draft.limits_tools = True
    if server.allowed_domains:
        block["allowed_domains"] = list(server.allowed_domains)
    if server.blocked_domains:
        block["blocked_domains"] = list(server.blocked_domains)
    if server.HasField("user_location"):
        block["user_location"] = {
            "type": "approximate",
            **{field.name: value for field, value in server.user_location.ListFields()},
        }
    if server.context_size != SEARCH_CONTEXT_SIZE_UNSPECIFIED:
        draft.notes.dropped("SERVER_TOOL_OPTIONS", f"{path}.server.context_size")
    return block


def _mcp_server(draft: Draft, tool: Tool, path: str) -> Block:
    server = tool.mcp
    block: Block = {"type": "url", "name": server.name, "url": server.url}
    if server.authorization_token:
        block["authorization_token"] = server.authorization_token
    if server.allowed_tools:
        block["tool_configuration"] = {"allowed_tools": list(server.allowed_tools)}
    merge_extras(block, tool.extras, ANTHROPIC)
    draft.notes.foreign_extras(tool.extras, ANTHROPIC, path)
    asks = any(extra.key.startswith("require_approval") for extra in tool.extras)
    if draft.context.caller is Protocol.RESPONSES and not asks:
        draft.notes.approximated("MCP_SERVER", path)
    return block


# --- the choice ---

_WORDS = {
    TOOL_CHOICE_MODE_AUTO: "auto",
    TOOL_CHOICE_MODE_REQUIRED: "any",
    TOOL_CHOICE_MODE_NONE: "none",
    TOOL_CHOICE_MODE_VALIDATED: "auto",
}


def write_choice(draft: Draft) -> None:
    """Fill `tool_choice`; nothing where there are no tools to choose from. Reasoning is decided before."""
    if "tools" not in draft.body and not draft.exact:
        if draft.request.tool_choice.mode == TOOL_CHOICE_MODE_REQUIRED:
            draft.notes.dropped("TOOL_CHOICE", "tool_choice", "there is no tool to choose")
        return
    block = _choice(draft, draft.request.tool_choice)
    flag = draft.request.HasField("parallel_tool_calls")
    alone = flag and not draft.request.parallel_tool_calls
    if alone and block is None:
        block = {"type": "auto"}
    if block is None:
        return
    if (alone and block["type"] != "none") or (flag and draft.exact):
        block["disable_parallel_tool_use"] = alone
    draft.body["tool_choice"] = block


def _choice(draft: Draft, choice: ToolChoice) -> Block | None:
    if choice.mode == TOOL_CHOICE_MODE_UNSPECIFIED:
        return None
    if choice.mode == TOOL_CHOICE_MODE_OTHER:
        if draft.exact:
            return {"type": choice.mode_raw}
        draft.notes.dropped("TOOL_CHOICE", "tool_choice.mode")
        return None
    if choice.mode == TOOL_CHOICE_MODE_VALIDATED:
        draft.notes.approximated("TOOL_CHOICE", "tool_choice.mode")
    if choice.mode != TOOL_CHOICE_MODE_REQUIRED:
        return {"type": _WORDS[choice.mode]}
    name = _chosen(draft, choice.names[0]) if len(choice.names) == 1 else ""
    if not _may_force(draft):
        return _unforced(draft, name)
    if name:
        return {"type": "tool", "name": name}
    return {"type": "any"}


def _chosen(draft: Draft, name: str) -> str:
    """What a chosen tool is called here; "" for one that is not there."""
    if draft.exact:
        return name
    for tool in draft.request.tools:
        if name == _name_of(tool) and tool.WhichOneof("kind") in _NAMED:
            return draft.name(name, "tool_choice.names[0]")
        if name in (tool.server.name, tool.server.kind_raw) and tool.server.kind in _TOOLS:
            return _TOOLS[tool.server.kind][1]
    draft.notes.dropped("TOOL_CHOICE_NAMED", "tool_choice.names", "there is no such tool")
    return ""


_NAMED = frozenset({"function", "custom", "provider"})
"""Kinds of tools whose names stand as they are, but for illegal characters."""


def _may_force(draft: Draft) -> bool:
    """Not with thinking of a fixed budget (https://platform.claude.com/docs/en/build-with-claude/extended-thinking)."""
    is_manual = not draft.exact and draft.body.get("thinking", {}).get("type") == "enabled"
    return draft.gates.forced_tool_choice and not is_manual


def _unforced(draft: Draft, name: str) -> Block:
    if name:
        draft.notes.emulated("TOOL_CHOICE_NAMED", "tool_choice.names[0]")
        draft.sentences.append(f"You must call the tool `{name}` in your answer.")
    else:
        draft.notes.emulated("TOOL_CHOICE", "tool_choice.mode")
        draft.sentences.append("You must call at least one tool in your answer.")
    return {"type": "auto"}
