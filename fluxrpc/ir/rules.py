"""What the contract demands of single messages of a typed request, beside what `validate` checks everywhere.

A table from the name of a message to its rule. A rule gives pairs of a place (relative to the message, "" = the message
itself) and a fault.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from fluxrpc.v1 import message_pb2, part_pb2, protocol_pb2, tool_pb2
from fluxrpc.v1.message_pb2 import (
    OUTPUT_KIND_ENUM,
    OUTPUT_KIND_JSON_SCHEMA,
    ROLE_ASSISTANT,
    ROLE_DEVELOPER,
    ROLE_SYSTEM,
    ROLE_TOOL,
    ROLE_USER,
    Role,
)
from fluxrpc.v1.tool_pb2 import TOOL_CHOICE_MODE_NONE

__all__ = ["RULES", "misplaced_part", "nameless_tool"]

Fault = tuple[str, str]

_REQUIRED: Final = "is required"
_INFINITY: Final = float("inf")

_RANGES: Final[dict[str, tuple[float, float]]] = {
    "max_output_tokens": (0, _INFINITY),
    "temperature": (0, 2),
    "top_p": (0, 1),
    "top_k": (0, _INFINITY),
    "max_tool_calls": (1, _INFINITY),
    "choice_count": (1, _INFINITY),
    "presence_penalty": (-2, 2),
    "frequency_penalty": (-2, 2),
    "top_logprobs": (0, 20),
}
"""Least and greatest value of the numbers of a MessageRequest."""

_INSTRUCTIONS: Final = frozenset({"text", "image", "document", "raw"})
_MEDIA: Final = frozenset({"text", "image", "audio", "video", "document", "raw"})
_KINDS_OF_ROLE: Final[dict[Role.ValueType, frozenset[str]]] = {
    ROLE_SYSTEM: _INSTRUCTIONS,
    ROLE_DEVELOPER: _INSTRUCTIONS,
    ROLE_USER: _MEDIA,
    ROLE_ASSISTANT: _MEDIA
    | {"refusal", "reasoning", "tool_call", "server_tool_call", "server_tool_result", "compaction"},
    ROLE_TOOL: frozenset({"tool_result", "raw"}),
}
"""Which kinds of part each role may speak."""

_CALLERS_TOOLS: Final = frozenset({"function", "custom"})
_URL_SCHEMES: Final = ("https://", "http://", "gs://")


def _required(message: Any, *names: str) -> Iterator[Fault]:
    """Each named field must be set to something other than its zero value."""
    for name in names:
        if not getattr(message, name):
            yield name, _REQUIRED


def _one_of(message: Any, oneof: str) -> Iterator[Fault]:
    if message.WhichOneof(oneof) is None:
        names = ", ".join(field.name for field in message.DESCRIPTOR.oneofs_by_name[oneof].fields)
        yield "", f"exactly one of these is required: {names}"


def _request(request: message_pb2.MessageRequest) -> Iterator[Fault]:
    goes_on = {"previous_response_id", "conversation_id", "continuation"}
    state = {field.name for field, _ in request.provider_state.ListFields()}
    if not request.messages and not goes_on & state:
        yield "messages", "at least one message is required"
    for name, (least, greatest) in _RANGES.items():
        value = getattr(request, name)
        if request.HasField(name) and not least <= value <= greatest:  # type: ignore[arg-type]  # names of the table
            limit = f"from {least} to {greatest}" if greatest < _INFINITY else f"at least {least}"
            yield name, f"must be {limit}, not {value}"
    if request.HasField("top_logprobs") and not request.logprobs:
        yield "top_logprobs", "needs logprobs"
    for index, stop in enumerate(request.stop_sequences):
        if not stop:
            yield f"stop_sequences[{index}]", "must not be empty"
    yield from _tools(request)


def _tools(request: message_pb2.MessageRequest) -> Iterator[Fault]:
    """Names of tools are unique, and a choice names tools that are there."""
    names = set()
    for index, tool in enumerate(request.tools):
        name = _tool_name(tool)
        if name and name in names:
            yield f"tools[{index}]", f"a tool named {name} stands before it"
        names.add(name)
    for index, name in enumerate(request.tool_choice.names):
        if name not in names:
            yield f"tool_choice.names[{index}]", f"no tool is named {name}"
    if request.tool_choice.mode == TOOL_CHOICE_MODE_NONE and request.tool_choice.names:
        yield "tool_choice.names", "must be empty, because the mode is TOOL_CHOICE_MODE_NONE"


def _tool_name(tool: message_pb2.Tool) -> str:
    """What a choice calls it: its name, else the provider's word for it."""
    kind = tool.WhichOneof("kind")
    if kind is None:
        return ""
    if kind == "server":
        return tool.server.name or tool.server.kind_raw
    if kind == "provider":
        return tool.provider.name or tool.provider.type
    return str(getattr(tool, kind).name)


def _message(message: message_pb2.Message) -> Iterator[Fault]:
    yield from _required(message, "role")
    if message.text and message.parts:
        yield "parts", "text and parts exclude each other"
    if message.role == ROLE_TOOL and message.text:
        yield "text", "a message of ROLE_TOOL holds parts of kind tool_result"
    kinds = _KINDS_OF_ROLE.get(message.role)
    if kinds is not None:
        yield from _kinds(message.parts, kinds, prefix="parts", place=f"a message of {Role.Name(message.role)}")


def misplaced_part(messages: Iterable[message_pb2.Message]) -> Fault | None:
    """The first part that its message's role cannot speak: its path (`messages[1].parts[0]`) and the fault.

    For messages that were read from a provider's protocol: what one role may say there another may not, and no writer
    of another protocol knows a place for it.
    """
    for at, message in enumerate(messages):
        parts = message.parts
        if not parts:
            continue
        allowed = _KINDS_OF_ROLE.get(message.role, frozenset())
        for index, part in enumerate(parts):
            if part.WhichOneof("kind") not in allowed:
                words = str(part.WhichOneof("kind")).replace("_", " ")
                return f"messages[{at}].parts[{index}]", f"a {words} cannot stand in this message"
    return None


def nameless_tool(request: message_pb2.MessageRequest) -> Fault | None:
    """The first tool of the caller's, or call of one, that has no name: its path and the fault.

    For requests that were read from a provider's protocol: any name that is made up would be an answer's riddle.
    """
    for at, tool in enumerate(request.tools):
        kind = tool.WhichOneof("kind")
        if kind in _CALLERS_TOOLS and not getattr(tool, kind).name:
            return f"tools[{at}].{kind}.name", _REQUIRED
    for at, message in enumerate(request.messages):
        for index, part in enumerate(message.parts):
            if part.HasField("tool_call") and not part.tool_call.name:
                return f"messages[{at}].parts[{index}].tool_call.name", _REQUIRED
    return None


def _kinds(parts: Iterable[part_pb2.Part], kinds: frozenset[str], *, prefix: str, place: str) -> Iterator[Fault]:
    for index, part in enumerate(parts):
        kind = part.WhichOneof("kind")
        if kind is not None and kind not in kinds:
            yield f"{prefix}[{index}].{kind}", f"cannot stand in {place}"


def _part(part: part_pb2.Part) -> Iterator[Fault]:
    yield from _one_of(part, "kind")


def _media(media: part_pb2.Media) -> Iterator[Fault]:
    yield from _one_of(media, "source")
    if media.HasField("data") and not media.mime_type:
        yield "mime_type", "is required with data"
    if media.HasField("url") and not media.url.lower().startswith(_URL_SCHEMES):
        yield "url", "must be an http, https or gs URL; bytes go into data"


def _document(document: part_pb2.Document) -> Iterator[Fault]:
    yield from _one_of(document, "content")
    kinds = frozenset({"text", "image", "raw"})
    yield from _kinds(document.parts.parts, kinds, prefix="parts.parts", place="a document")


def _tool_result(result: part_pb2.ToolResult) -> Iterator[Fault]:
    yield from _required(result, "call_id")
    yield from _kinds(result.parts.parts, _MEDIA, prefix="parts.parts", place="a tool result")


def _citation(citation: part_pb2.Citation | part_pb2.CitationSource) -> Iterator[Fault]:
    if citation.HasField("start") != citation.HasField("end") or citation.start > citation.end:
        yield "end", "start and end come together, and end is not before start"


def _tool(tool: message_pb2.Tool) -> Iterator[Fault]:
    yield from _one_of(tool, "kind")
    if tool.HasField("mcp") and not tool.mcp.url and not tool.extras:
        yield "mcp.url", _REQUIRED


def _server_tool(tool: tool_pb2.ServerTool) -> Iterator[Fault]:
    yield from _required(tool, "kind")
    if tool.HasField("max_uses") and tool.max_uses == 0:
        yield "max_uses", "must be at least 1"
    if tool.allowed_domains and tool.blocked_domains:
        yield "blocked_domains", "allowed_domains and blocked_domains exclude each other"


def _reasoning(options: message_pb2.ReasoningOptions) -> Iterator[Fault]:
    if options.budget_tokens < -1:
        yield "budget_tokens", f"must be at least -1, not {options.budget_tokens}"


def _output_format(output: message_pb2.OutputFormat) -> Iterator[Fault]:
    yield from _required(output, "kind")
    if output.kind in {OUTPUT_KIND_JSON_SCHEMA, OUTPUT_KIND_ENUM}:
        yield from _required(output, "schema_json")
    elif output.kind and output.schema_json:
        yield "schema_json", "needs OUTPUT_KIND_JSON_SCHEMA or OUTPUT_KIND_ENUM"


def _needs(*names: str) -> Callable[[Any], Iterator[Fault]]:
    """The rule that these fields are required."""
    return lambda message: _required(message, *names)


RULES: Final[dict[str, Callable[[Any], Iterable[Fault]]]] = {
    message.DESCRIPTOR.full_name: rule
    for message, rule in (
        (message_pb2.MessageRequest, _request),
        (message_pb2.Message, _message),
        (message_pb2.OutputFormat, _output_format),
        (message_pb2.ReasoningOptions, _reasoning),
        (message_pb2.Tool, _tool),
        (part_pb2.Citation, _citation),
        (part_pb2.CitationSource, _citation),
        (part_pb2.Document, _document),
        (part_pb2.Media, _media),
        (part_pb2.Part, _part),
        (part_pb2.RawPart, _needs("protocol", "body_json")),
        (part_pb2.ToolCall, _needs("id", "name")),
        (part_pb2.ToolResult, _tool_result),
        (protocol_pb2.Extra, _needs("protocol", "key", "value_json")),
        (protocol_pb2.OpaqueState, _needs("origin")),
        (tool_pb2.CustomTool, _needs("name")),
        (tool_pb2.FunctionTool, _needs("name")),
        (tool_pb2.McpServer, _needs("name")),
        (tool_pb2.ProviderTool, _needs("type")),
        (tool_pb2.ServerTool, _server_tool),
    )
}
"""Full name of a message to its rule."""
