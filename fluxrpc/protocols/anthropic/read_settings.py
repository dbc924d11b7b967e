"""The settings of a request body: how to reason, how to answer, which tools, what to cache. Not its messages."""

from __future__ import annotations

import msgspec

from fluxrpc.protocols.anthropic.read_parts import read_breakpoint, read_ttl
from fluxrpc.protocols.anthropic.words import ANTHROPIC, DISPLAYS, MAX_UINT32, server_kind, whole
from fluxrpc.protocols.node import Node, spelling
from fluxrpc.protocols.notes import Places
from fluxrpc.protocols.reasoning import effort_of_word
from fluxrpc.v1 import message_pb2 as msg
from fluxrpc.v1.message_pb2 import MessageRequest, Tool
from fluxrpc.v1.protocol_pb2 import Extra
from fluxrpc.v1.tool_pb2 import (
    TOOL_CHOICE_MODE_AUTO,
    TOOL_CHOICE_MODE_NONE,
    TOOL_CHOICE_MODE_OTHER,
    TOOL_CHOICE_MODE_REQUIRED,
    ServerTool,
)

__all__ = ["read_settings", "read_tools", "spell_empty"]

_MODES = {
    "enabled": msg.REASONING_MODE_ON,
    "adaptive": msg.REASONING_MODE_ADAPTIVE,
    "disabled": msg.REASONING_MODE_OFF,
    "between_tools": msg.REASONING_MODE_BETWEEN_TOOLS,
}
_CHOICES = {
    "auto": TOOL_CHOICE_MODE_AUTO,
    "any": TOOL_CHOICE_MODE_REQUIRED,
    "tool": TOOL_CHOICE_MODE_REQUIRED,
    "none": TOOL_CHOICE_MODE_NONE,
}
_TIERS = {"auto": msg.SERVICE_TIER_AUTO, "standard_only": msg.SERVICE_TIER_STANDARD}


def read_settings(body: Node, request: MessageRequest) -> None:
    """Everything but messages and tools. Call it once: what is left of each object goes to the extras."""
    _limits(body, request)
    _choice(body, request)
    _thinking(body, request)
    _output(body, request)
    _cache(body, request)
    _tier(body, request)
    if metadata := body.node("metadata"):
        spell_empty(metadata, "metadata", request)
        request.end_user_id = metadata.text("user_id") or ""
        request.extras.extend(metadata.extras(ANTHROPIC, "metadata."))
    if body.is_text("container"):
        request.provider_state.container_id = body.text("container") or ""


def spell_empty(node: Node, key: str, request: MessageRequest) -> None:
    """An object that says nothing is kept for callers of the same protocol."""
    if node.rest() == "{}":
        request.extras.append(spelling(ANTHROPIC, key, "{}"))


def _limits(body: Node, request: MessageRequest) -> None:
    limit = whole(body, "max_tokens")
    if limit is not None:
        request.max_output_tokens = limit
    temperature = body.number("temperature")
    if temperature is not None:
        request.temperature = temperature
    top_p = body.number("top_p")
    if top_p is not None:
        request.top_p = top_p
    top_k = whole(body, "top_k")
    if top_k is not None:
        request.top_k = top_k
    if "stop_sequences" in body:
        request.stop_sequences.extend(body.texts("stop_sequences"))
        if not request.stop_sequences:
            request.extras.append(spelling(ANTHROPIC, "stop_sequences", "[]"))


def _choice(body: Node, request: MessageRequest) -> None:
    choice = body.node("tool_choice")
    if choice is None:
        return
    word = choice.text("type") or ""
    request.tool_choice.mode = _CHOICES.get(word, TOOL_CHOICE_MODE_OTHER)
    if word not in _CHOICES:
        request.tool_choice.mode_raw = word
    if word == "tool":
        request.tool_choice.names.append(choice.text("name") or "")
    alone = choice.flag("disable_parallel_tool_use")
    if alone is not None:
        request.parallel_tool_calls = not alone
    request.extras.extend(choice.extras(ANTHROPIC, "tool_choice."))


def _thinking(body: Node, request: MessageRequest) -> None:
    thinking = body.node("thinking")
    if thinking is None:
        return
    options = request.reasoning
    word = thinking.text("type") or ""
    options.mode = _MODES.get(word, msg.REASONING_MODE_OTHER)
    if word not in _MODES:
        options.mode_raw = word
    budget = whole(thinking, "budget_tokens")
    if budget is not None:
        options.budget_tokens = budget
    display = thinking.text("display")
    if display is not None:
        options.display = DISPLAYS.get(display, msg.REASONING_DISPLAY_OTHER)
        if display not in DISPLAYS:
            options.display_raw = display
    request.extras.extend(thinking.extras(ANTHROPIC, "thinking."))


def _output(body: Node, request: MessageRequest) -> None:
    config = body.node("output_config")
    if config is None:
        return
    spell_empty(config, "output_config", request)
    effort = config.text("effort")
    if effort is not None:
        request.reasoning.effort = effort_of_word(effort)
        if request.reasoning.effort == msg.REASONING_EFFORT_OTHER:
            request.reasoning.effort_raw = effort
    _format(config, request)
    request.extras.extend(config.extras(ANTHROPIC, "output_config."))


def _format(config: Node, request: MessageRequest) -> None:
    if not config.is_object("format"):
        return
    text = config.json("format")
    output = Node.root(text.encode())
    if output.text("type") != "json_schema":
        request.extras.append(Extra(protocol=ANTHROPIC, key="output_config.format", value_json=text))
        return
    request.output_format.kind = msg.OUTPUT_KIND_JSON_SCHEMA
    request.output_format.schema_json = output.json("schema")
    request.extras.extend(output.extras(ANTHROPIC, "output_config.format."))


def _cache(body: Node, request: MessageRequest) -> None:
    control = body.node("cache_control")
    if control is None:
        return
    request.cache.automatic = True
    seconds, rest = read_ttl(control)
    if seconds:
        request.cache.ttl.seconds = seconds
    request.extras.extend(rest)


def _tier(body: Node, request: MessageRequest) -> None:
    tier = body.text("service_tier")
    speed = body.text("speed")
    if tier is not None:
        request.service_tier = _TIERS.get(tier, msg.SERVICE_TIER_OTHER)
        if tier not in _TIERS:
            request.service_tier_raw = tier
    elif speed == "fast":
        request.service_tier = msg.SERVICE_TIER_FAST
        speed = None
    if speed is not None:
        value = msgspec.json.encode(speed).decode()
        request.extras.append(Extra(protocol=ANTHROPIC, key="speed", value_json=value))


# --- tools ---


def read_tools(body: Node, request: MessageRequest, places: Places | None) -> None:
    """`tools` and, behind them, `mcp_servers`."""
    for key, read in (("tools", _tool), ("mcp_servers", _mcp_server)):
        if key not in body:
            continue
        nodes = body.nodes(key)
        if not nodes:
            request.extras.append(spelling(ANTHROPIC, key, "[]"))
        for node in nodes:
            if places is not None:
                places[f"tools[{len(request.tools)}]"] = node.path
            read(node, request.tools.add())


def _tool(node: Node, tool: Tool) -> None:
    kind = node.text("type")
    if kind in (None, "custom"):
        _function(node, tool)
        if kind is not None:
            tool.extras.append(spelling(ANTHROPIC, "type", '"custom"'))
    else:
        server = server_kind(kind or "")
        if server is None:
            tool.provider.type = kind or ""
            tool.provider.name = node.text("name") or ""
        else:
            tool.server.kind = server
            tool.server.kind_raw = kind or ""
            _server(node, tool, tool.server)
    read_breakpoint(node, tool)
    tool.extras.extend(node.extras(ANTHROPIC))


def _function(node: Node, tool: Tool) -> None:
    function = tool.function
    name = node.text("name")
    if name is None:
        raise node.fault("name", "a string")
    function.name = name
    function.description = node.text("description") or ""
    function.parameters_json = node.json("input_schema") if node.is_object("input_schema") else ""
    strict = node.flag("strict")
    if strict is not None:
        function.strict = strict
    deferred = node.flag("defer_loading")
    if deferred is not None:
        function.defer_loading = deferred
    function.allowed_callers.extend(node.texts("allowed_callers"))


def _server(node: Node, tool: Tool, server: ServerTool) -> None:
    server.name = node.text("name") or ""
    uses = whole(node, "max_uses", most=MAX_UINT32)
    if uses is not None:
        server.max_uses = uses
    server.allowed_domains.extend(node.texts("allowed_domains"))
    server.blocked_domains.extend(node.texts("blocked_domains"))
    location = node.node("user_location")
    if location is not None:
        server.user_location.SetInParent()
        location.text("type")  # there is one only: approximate
        for name in ("city", "region", "country", "timezone"):
            setattr(server.user_location, name, location.text(name) or "")
        tool.extras.extend(location.extras(ANTHROPIC, "user_location."))


def _mcp_server(node: Node, tool: Tool) -> None:
    server = tool.mcp
    server.name = node.text("name") or ""
    server.url = node.text("url") or ""
    server.authorization_token = node.text("authorization_token") or ""
    node.text("type")  # there is one only: url
    configuration = node.node("tool_configuration")
    if configuration is not None:
        server.allowed_tools.extend(configuration.texts("allowed_tools"))
        tool.extras.extend(configuration.extras(ANTHROPIC, "tool_configuration."))
    tool.extras.extend(node.extras(ANTHROPIC))
