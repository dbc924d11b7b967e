"""Tools and their choice to OpenAI Responses: flat, and `strict` always said, because its default is yes here."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from fluxrpc.protocols.context import Context
from fluxrpc.protocols.node import merge_extras, raw
from fluxrpc.protocols.notes import Notes
from fluxrpc.protocols.responses.read_tools import hosted_kind
from fluxrpc.protocols.responses.words import CHOICE_MODES, SEARCH_SIZES, SYNTAXES, VENDOR_TOOLS, find_extra
from fluxrpc.protocols.schema import CHAT_STRICT, PLAIN, alters_arguments, convert
from fluxrpc.protocols.tool_names import ToolNames
from fluxrpc.v1 import tool_pb2 as pb
from fluxrpc.v1.message_pb2 import MessageRequest, Tool
from fluxrpc.v1.protocol_pb2 import PROTOCOL_RESPONSES

__all__ = ["ToolWriter"]

_PLACES = ("city", "region", "country", "timezone")
_EMPTY_SCHEMA = '{"type":"object","properties":{}}'
_WEB_SEARCH = "web_search"


class ToolWriter(Struct, frozen=True, kw_only=True):
    """Writes the tools of one request."""

    context: Context
    notes: Notes
    names: ToolNames | None
    exact: bool

    def tools(self, request: MessageRequest) -> list[dict[str, Any]]:
        """`tools`."""
        written = []
        for at, tool in enumerate(request.tools):
            path = f"tools[{at}]"
            item = self._tool(tool, path)
            if item is not None:
                merge_extras(item, tool.extras, PROTOCOL_RESPONSES)
                written.append(item)
            if tool.HasField("cache_breakpoint"):
                self.notes.dropped("CACHE_BREAKPOINT", f"{path}.cache_breakpoint")
            self.notes.foreign_extras(tool.extras, PROTOCOL_RESPONSES, path)
        return written

    def _tool(self, tool: Tool, path: str) -> dict[str, Any] | None:
        kind = tool.WhichOneof("kind")
        if kind == "function":
            return self._function(tool.function, f"{path}.function")
        if kind == "custom":
            return self._custom(tool.custom, f"{path}.custom")
        if kind == "mcp":
            return self._mcp(tool.mcp, path)
        if kind == "server":
            return self._server(tool.server, path)
        if self.exact or tool.provider.type in VENDOR_TOOLS:
            return {"type": tool.provider.type}
        self.notes.dropped("PROVIDER_TOOL", path)
        return None

    def _name(self, name: str, path: str) -> str:
        return name if self.names is None else self.names.written(name, path)

    def _function(self, function: pb.FunctionTool, path: str) -> dict[str, Any]:
        item: dict[str, Any] = {"type": "function", "name": self._name(function.name, f"{path}.name")}
        if function.description:
            item["description"] = function.description
        if function.HasField("strict") or not self.exact:
            item["strict"] = function.strict
        if function.parameters_json or not self.exact:
            item["parameters"] = raw(self._parameters(function, f"{path}.parameters_json"))
        if function.output_schema_json:
            item["output_schema"] = raw(function.output_schema_json)
        self._write_deferral(item, function, path)
        return item

    def _write_deferral(self, item: dict[str, Any], function: pb.FunctionTool, path: str) -> None:
        """Who may call it, and when it is seen: needs tools of the provider that other protocols do not name."""
        if function.HasField("defer_loading"):
            item["defer_loading"] = function.defer_loading
        if function.allowed_callers:
            item["allowed_callers"] = list(function.allowed_callers)
        if self.context.caller is None or self.exact:
            return
        for name in ("defer_loading", "allowed_callers"):
            if item.pop(name, None):
                self.notes.dropped("TOOL_DEFERRAL", f"{path}.{name}")

    def _parameters(self, function: pb.FunctionTool, path: str) -> str:
        schema = function.parameters_json or _EMPTY_SCHEMA
        if self.exact:
            return schema
        profile = CHAT_STRICT if function.strict else PLAIN
        written = convert(schema, function.dialect, profile, self.notes, code="TOOL_SCHEMA", path=path)
        if alters_arguments(schema, function.dialect, profile):
            self.context.narrowed_tools[function.name] = function
        return written

    def _custom(self, custom: pb.CustomTool, path: str) -> dict[str, Any]:
        item: dict[str, Any] = {"type": "custom", "name": self._name(custom.name, f"{path}.name")}
        if custom.description:
            item["description"] = custom.description
        if custom.grammar:
            syntax = SYNTAXES.write(custom.syntax, custom.syntax_raw)
            item["format"] = {"type": "grammar", "syntax": syntax, "definition": custom.grammar}
        return item

    def _mcp(self, mcp: pb.McpServer, path: str) -> dict[str, Any]:
        item: dict[str, Any] = {"type": "mcp", "server_label": mcp.name}
        if mcp.url:
            item["server_url"] = mcp.url
        if mcp.authorization_token:
            item["authorization"] = mcp.authorization_token
        if mcp.allowed_tools:
            item["allowed_tools"] = list(mcp.allowed_tools)
        if self.context.caller is not None and not self.exact:
            # Other protocols know no approval, while calls wait for one here by default.
            item["require_approval"] = "never"
            self.notes.injected("MCP_SERVER", path)
        return item

    def _server(self, server: pb.ServerTool, path: str) -> dict[str, Any] | None:
        is_own = bool(server.kind_raw) and hosted_kind(server.kind_raw) == server.kind
        is_own = is_own and (self.exact or server.kind != pb.SERVER_TOOL_KIND_OTHER)
        if server.kind == pb.SERVER_TOOL_KIND_WEB_SEARCH:
            own_word = server.kind_raw if self.exact or self.context.caller is None else ""
            return self._search(server, own_word or _WEB_SEARCH, path)
        if not is_own:
            self.notes.dropped("SERVER_TOOL", path)
            return None
        return {"type": server.kind_raw}

    def _search(self, server: pb.ServerTool, word: str, path: str) -> dict[str, Any]:
        item: dict[str, Any] = {"type": word}
        if server.allowed_domains:
            item["filters"] = {"allowed_domains": list(server.allowed_domains)}
        if server.blocked_domains:
            self.notes.dropped("SERVER_TOOL_OPTIONS", f"{path}.server.blocked_domains")
        if server.HasField("max_uses"):
            self.notes.dropped("SERVER_TOOL_OPTIONS", f"{path}.server.max_uses")
        size = SEARCH_SIZES.write(server.context_size, server.context_size_raw)
        if size:
            item["search_context_size"] = size
        if server.HasField("user_location"):
            location = server.user_location
            item["user_location"] = {"type": "approximate"} | {
                name: getattr(location, name) for name in _PLACES if getattr(location, name)
            }
        return item

    # --- choice ---

    def choice(self, request: MessageRequest, written: list[dict[str, Any]]) -> Any:
        """`tool_choice`; None where nothing is to be said."""
        choice = request.tool_choice
        if not (written or self.exact):
            if choice.mode == pb.TOOL_CHOICE_MODE_REQUIRED:
                self.notes.dropped("TOOL_CHOICE", "tool_choice", "there is no tool to choose")
            return None
        mode = self._mode(choice)
        if not mode:
            return None
        spelt = find_extra(request.extras, "~tool_choice")
        if spelt:
            return raw(spelt)
        found = [_reference(request, name, self._name(name, "tool_choice.names")) for name in choice.names]
        chosen = [each for each in found if each is not None]
        if len(chosen) < len(found):
            self.notes.dropped("TOOL_CHOICE_NAMED", "tool_choice.names")
        if not chosen:
            return mode
        # A search is not among the types that may be named alone, but one of those that may be allowed.
        if mode == "required" and len(chosen) == 1 and chosen[0]["type"] != _WEB_SEARCH:
            return chosen[0]
        return {"type": "allowed_tools", "mode": mode, "tools": chosen}

    def _mode(self, choice: pb.ToolChoice) -> str:
        mode = CHOICE_MODES.write(choice.mode, choice.mode_raw if self.exact or not self.context.caller else "")
        if choice.mode == pb.TOOL_CHOICE_MODE_VALIDATED:
            mode = "auto"
            self.notes.approximated("TOOL_CHOICE", "tool_choice.mode")
        elif choice.mode and not mode:
            self.notes.dropped("TOOL_CHOICE", "tool_choice.mode")
        if mode == "required" and not self.context.target.gates.forced_tool_choice:
            mode = "auto"
            self.notes.approximated("TOOL_CHOICE", "tool_choice.mode", "this model does not let itself be forced")
        return mode or ("auto" if choice.names else "")


def _reference(request: MessageRequest, name: str, written: str) -> dict[str, Any] | None:
    """How a choice names a tool; None for one that is not there."""
    for tool in request.tools:
        if tool.function.name == name:
            return {"type": "function", "name": written}
        if tool.custom.name == name:
            return {"type": "custom", "name": written}
        if tool.mcp.name == name:
            return {"type": "mcp", "server_label": name}
        if name in {tool.server.name, tool.server.kind_raw} and tool.HasField("server"):
            is_search = tool.server.kind == pb.SERVER_TOOL_KIND_WEB_SEARCH
            return {"type": _WEB_SEARCH if is_search else tool.server.kind_raw}
        if name == tool.provider.type:
            return {"type": name}
    return None
