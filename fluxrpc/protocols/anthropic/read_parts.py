"""Content blocks of requests and answers to parts: the same blocks stand in both.

Invariant: a block that is not known, or an image or document from a source that is not known, stays whole (`RawPart`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import msgspec
from msgspec import Struct

from fluxrpc.protocols.anthropic.citations import read_citation
from fluxrpc.protocols.anthropic.words import ANTHROPIC, SERVER_CALLS, SERVER_RESULTS, TTL_SECONDS
from fluxrpc.protocols.envelope import unseal
from fluxrpc.protocols.media import bytes_of
from fluxrpc.protocols.node import Node, spelling
from fluxrpc.v1.message_pb2 import Tool
from fluxrpc.v1.part_pb2 import Media, Part
from fluxrpc.v1.protocol_pb2 import (
    OPAQUE_KIND_COMPACTION,
    OPAQUE_KIND_ENCRYPTED_REASONING,
    OPAQUE_KIND_REDACTED_REASONING,
    OPAQUE_KIND_SIGNATURE,
    Extra,
    OpaqueKind,
    OpaqueState,
)
from fluxrpc.v1.tool_pb2 import SERVER_TOOL_KIND_MCP, SERVER_TOOL_KIND_OTHER

__all__ = ["AS_ASKED", "Source", "read_breakpoint", "read_part", "read_ttl"]


class Source(Struct, frozen=True, kw_only=True):
    """Where blocks come from."""

    service: str = ""
    model: str = ""
    nulls: bool = True
    """Requests carry their nulls, answers do not."""

    def state(self, text: str, kind: OpaqueKind.ValueType) -> OpaqueState:
        """The state that a text of the wire is: our envelope around another's, or the provider's own."""
        return unseal(text) or OpaqueState(
            kind=kind, origin=ANTHROPIC, service=self.service, model=self.model, value=text.encode("utf-8", "replace")
        )


AS_ASKED = Source()
"""The blocks of a request."""


def read_part(node: Node, source: Source = AS_ASKED) -> Part:
    """The part that a block is.

    Raises:
        JsonFault: a field has another type than it should.
    """
    kind = node.text("type") or ""
    part = Part()
    if kind in _WITH_SOURCE:
        body = node.rest()
        if not _WITH_SOURCE[kind](node, part):
            return _raw(kind, body)
    elif (fill := _FILLS.get(kind)) is not None:
        fill(node, part, source)
    else:
        return _raw(kind, node.rest())
    read_breakpoint(node, part)
    part.extras.extend(node.extras(ANTHROPIC, nulls=source.nulls))
    return part


def read_breakpoint(node: Node, owner: Part | Tool) -> None:
    """`cache_control` of a block or a tool."""
    control = node.node("cache_control")
    if control is None:
        return
    owner.cache_breakpoint.SetInParent()
    seconds, rest = read_ttl(control)
    if seconds:
        owner.cache_breakpoint.ttl.seconds = seconds
    owner.extras.extend(rest)


def read_ttl(control: Node) -> tuple[int, list[Extra]]:
    """Seconds to live of a `cache_control`, 0 where none are said, and what else it holds."""
    control.text("type")  # there is one only: ephemeral
    word = control.json("ttl")
    seconds = TTL_SECONDS.get(word.strip('"'), 0)
    rest = control.extras(ANTHROPIC, "cache_control.")
    if word and not seconds:
        rest.append(Extra(protocol=ANTHROPIC, key="cache_control.ttl", value_json=word))
    return seconds, rest


def _raw(kind: str, rest: str) -> Part:
    """A block as it stands; `rest` is the object without its type."""
    part = Part()
    part.raw.protocol = ANTHROPIC
    part.raw.type = kind
    head = msgspec.json.encode(kind).decode()
    part.raw.body_json = f'{{"type":{head}}}' if rest == "{}" else f'{{"type":{head},{rest[1:]}'
    return part


# --- blocks with text ---


def _text(node: Node, part: Part, source: Source) -> None:
    part.text = node.text("text") or ""
    for each in node.nodes("citations"):
        part.citations.append(
            read_citation(each, service=source.service, model=source.model, nulls=source.nulls),
        )


def _thinking(node: Node, part: Part, source: Source) -> None:
    text = node.text("thinking") or ""
    signature = node.text("signature")
    if signature:
        part.opaque.append(source.state(signature, OPAQUE_KIND_SIGNATURE))
    if text and any(state.kind == OPAQUE_KIND_ENCRYPTED_REASONING for state in part.opaque):
        part.reasoning.summaries.append(text)  # who encrypts the reasoning shows summaries of it
    else:
        part.reasoning.text = text


def _redacted(node: Node, part: Part, source: Source) -> None:
    part.reasoning.redacted = True
    data = node.text("data")
    if data:
        part.opaque.append(source.state(data, OPAQUE_KIND_REDACTED_REASONING))


def _compaction(node: Node, part: Part, source: Source) -> None:
    part.compaction.text = node.text("content") or ""
    state = node.text("encrypted_content")
    if state:
        part.opaque.append(source.state(state, OPAQUE_KIND_COMPACTION))


# --- tools ---


def _tool_use(node: Node, part: Part, _source: Source) -> None:
    call = part.tool_call
    call.id = node.text("id") or ""
    call.name = node.text("name") or ""
    arguments = node.json("input")
    if arguments:
        call.arguments_json = arguments


def _tool_result(node: Node, part: Part, source: Source) -> None:
    result = part.tool_result
    result.call_id = node.text("tool_use_id") or ""
    is_error = node.flag("is_error")
    if is_error is not None:
        result.is_error = is_error
    if node.is_text("content"):
        result.text = node.text("content") or ""
    elif "content" in node:
        result.parts.SetInParent()
        result.parts.parts.extend(read_part(each, source) for each in node.nodes("content"))


def _server_call(node: Node, part: Part, _source: Source) -> None:
    call = part.server_tool_call
    call.id = node.text("id") or ""
    call.kind_raw = node.text("name") or ""
    call.kind = SERVER_CALLS.get(call.kind_raw, SERVER_TOOL_KIND_OTHER)
    call.input_json = node.json("input")


def _mcp_call(node: Node, part: Part, _source: Source) -> None:
    call = part.server_tool_call
    call.id = node.text("id") or ""
    call.kind = SERVER_TOOL_KIND_MCP
    call.kind_raw = "mcp_tool_use"
    call.name = node.text("name") or ""
    call.input_json = node.json("input")


def _server_result(kind: str) -> Callable[[Node, Part, Source], None]:
    def fill(node: Node, part: Part, _source: Source) -> None:
        result = part.server_tool_result
        result.call_id = node.text("tool_use_id") or ""
        result.kind = SERVER_RESULTS[kind]
        result.kind_raw = kind
        result.content_json = node.json("content")
        result.error_code = _error_code(result.content_json)

    return fill


class _ErrorCode(Struct):
    error_code: str = ""


_ERROR_CODE = msgspec.json.Decoder(_ErrorCode)


def _error_code(content: str) -> str:
    """`{"type": "…_error", "error_code"}` stands in the place of the results."""
    if '"error_code"' not in content:
        return ""
    try:
        return _ERROR_CODE.decode(content).error_code
    except msgspec.DecodeError:
        return ""


# --- images and documents ---


def _image(node: Node, part: Part) -> bool:
    found = node.node("source")
    if found is None or not _media(found.text("type"), found, part.image):
        return False
    part.extras.extend(found.extras(ANTHROPIC, "source."))
    return True


def _document(node: Node, part: Part) -> bool:
    found = node.node("source")
    if found is None or not _document_source(found, part):
        return False
    document = part.document
    document.title = node.text("title") or ""
    document.context = node.text("context") or ""
    _citations(node, part)
    return True


def _search_result(node: Node, part: Part) -> bool:
    address = node.text("source")
    if not address:
        return False
    document = part.document
    document.source = address
    document.title = node.text("title") or ""
    document.parts.SetInParent()
    document.parts.parts.extend(read_part(each) for each in node.nodes("content"))
    _citations(node, part)
    return True


def _citations(node: Node, part: Part) -> None:
    config = node.node("citations")
    if config is None:
        return
    enabled = config.flag("enabled")
    if enabled is None:
        part.extras.append(spelling(ANTHROPIC, "citations", config.rest()))
        return
    part.document.citations = enabled
    part.extras.extend(config.extras(ANTHROPIC, "citations."))


def _media(kind: str | None, source: Node, media: Media) -> bool:
    match kind:
        case "base64":
            media.mime_type = source.text("media_type") or ""
            media.data = bytes_of(source.text("data") or "", path=source.at("data"))
        case "url":
            media.url = source.text("url") or ""
        case "file":
            media.file_id = source.text("file_id") or ""
        case _:
            return False
    return True


def _document_source(source: Node, part: Part) -> bool:
    match source.text("type"):
        case "text":
            part.document.text = source.text("data") or ""
            source.text("media_type")  # there is one only: text/plain
        case "content":
            _passages(source, part)
        case kind:
            if not _media(kind, source, part.document.media):
                return False
    part.extras.extend(source.extras(ANTHROPIC, "source."))
    return True


def _passages(source: Node, part: Part) -> None:
    """Passages that are cited one by one; a string is one passage."""
    passages = part.document.parts
    passages.SetInParent()
    if source.is_text("content"):
        text = source.text("content") or ""
        passages.parts.add(text=text)
        part.extras.append(spelling(ANTHROPIC, "source.content", msgspec.json.encode(text).decode()))
    else:
        passages.parts.extend(read_part(each) for each in source.nodes("content"))


_WITH_SOURCE: Mapping[str, Callable[[Node, Part], bool]] = MappingProxyType(
    {"image": _image, "document": _document, "search_result": _search_result}
)
"""Each says whether it knows the source; where not, the block is carried as it stands."""

_FILLS: Mapping[str, Callable[[Node, Part, Source], None]] = MappingProxyType(
    {
        "text": _text,
        "thinking": _thinking,
        "redacted_thinking": _redacted,
        "compaction": _compaction,
        "tool_use": _tool_use,
        "tool_result": _tool_result,
        "server_tool_use": _server_call,
        "mcp_tool_use": _mcp_call,
        **{kind: _server_result(kind) for kind in SERVER_RESULTS},
    }
)
