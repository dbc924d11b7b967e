"""`tools` and `toolConfig` to tools and the choice among them."""

from __future__ import annotations

from fluxrpc.protocols.gemini.wire import GEMINI, SERVER_KINDS, TOOL_MODES, CamelNode
from fluxrpc.protocols.notes import Places
from fluxrpc.v1.message_pb2 import MessageRequest, Tool
from fluxrpc.v1.tool_pb2 import (
    SCHEMA_DIALECT_OPENAPI_SUBSET,
    SCHEMA_DIALECT_UNSPECIFIED,
    SERVER_TOOL_KIND_OTHER,
    TOOL_CHOICE_MODE_OTHER,
)

__all__ = ["read_tool_choice", "read_tools"]

_SCHEMAS = (
    (SCHEMA_DIALECT_OPENAPI_SUBSET, "parameters", "response"),
    (SCHEMA_DIALECT_UNSPECIFIED, "parametersJsonSchema", "responseJsonSchema"),
)
_BEARER = "Bearer "


def read_tools(body: CamelNode, request: MessageRequest, places: Places | None) -> None:
    """Each declaration and each key of a Tool object is a tool of its own."""
    for node in body.nodes("tools"):
        for declaration in node.nodes("functionDeclarations"):
            _add(request, places, declaration.path, _function(declaration))
        for server in node.nodes("mcpServers"):
            _add(request, places, server.path, _mcp(server))
        for key, kind in SERVER_KINDS.items():
            options = node.node(key)
            if options is not None:
                tool = Tool(extras=options.extras(GEMINI, f"{key}."))
                tool.server.kind, tool.server.kind_raw = kind, key
                _add(request, places, options.path, tool)
        computer = node.node("computerUse")
        if computer is not None:
            tool = Tool(extras=computer.extras(GEMINI, "computerUse."))
            tool.provider.type = "computerUse"
            _add(request, places, computer.path, tool)
        for extra in node.extras(GEMINI, nulls=False):
            tool = Tool(extras=[extra])
            tool.server.kind, tool.server.kind_raw = SERVER_TOOL_KIND_OTHER, extra.key
            _add(request, places, node.at(extra.key), tool)


def read_tool_choice(body: CamelNode, request: MessageRequest) -> None:
    """`toolConfig.functionCallingConfig`; what stands beside it goes to the extras of the request."""
    config = body.node("toolConfig")
    if config is None:
        return
    calling = config.node("functionCallingConfig")
    if calling is not None:
        choice = request.tool_choice
        word = calling.text("mode") or ""
        if word:
            choice.mode = TOOL_MODES.get(word.upper(), TOOL_CHOICE_MODE_OTHER)
            choice.mode_raw = "" if word.upper() in TOOL_MODES else word
        choice.names.extend(calling.texts("allowedFunctionNames"))
        request.extras.extend(calling.extras(GEMINI, "toolConfig.functionCallingConfig."))
    request.extras.extend(config.extras(GEMINI, "toolConfig."))


def _add(request: MessageRequest, places: Places | None, path: str, tool: Tool) -> None:
    if places is not None:
        places[f"tools[{len(request.tools)}]"] = path
    request.tools.append(tool)


def _function(node: CamelNode) -> Tool:
    tool = Tool()
    function = tool.function
    function.name = node.text("name") or ""
    function.description = node.text("description") or ""
    # The language is one for both schemas: that of the arguments, where they differ.
    known = [row for row in _SCHEMAS if row[1] in node] or [row for row in _SCHEMAS if row[2] in node]
    for dialect, parameters, output in known[:1]:
        function.dialect = dialect
        function.parameters_json = node.json(parameters)
        function.output_schema_json = node.json(output)
    tool.extras.extend(node.extras(GEMINI))
    return tool


def _mcp(node: CamelNode) -> Tool:
    tool = Tool()
    server = tool.mcp
    server.name = node.text("name") or ""
    transport = node.node("streamableHttpTransport")
    if transport is not None:
        server.url = transport.text("url") or ""
        headers = transport.node("headers")
        if headers is not None:
            token = headers.text("Authorization") or ""
            server.authorization_token = token.removeprefix(_BEARER)
            tool.extras.extend(headers.extras(GEMINI, "streamableHttpTransport.headers."))
        tool.extras.extend(transport.extras(GEMINI, "streamableHttpTransport."))
    tool.extras.extend(node.extras(GEMINI))
    return tool
