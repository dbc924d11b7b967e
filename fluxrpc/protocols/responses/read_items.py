"""Items of OpenAI Responses to parts: what the model said, thought and called, in history and in answers.

One item is one part, but for messages (a part for each piece of content) and hosted tools (call and result). Extras of
an item stand on its last part, because streams know them last; those of a message begin with `ITEM` there.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec import Struct

from fluxrpc.protocols.media import bytes_of
from fluxrpc.protocols.node import Node
from fluxrpc.protocols.responses.read_content import ContentReader, whole_raw
from fluxrpc.protocols.responses.words import ITEM, PHASES
from fluxrpc.v1 import part_pb2 as pb
from fluxrpc.v1 import tool_pb2 as tool_pb
from fluxrpc.v1.protocol_pb2 import (
    OPAQUE_KIND_COMPACTION,
    OPAQUE_KIND_ENCRYPTED_REASONING,
    PROTOCOL_RESPONSES,
    Extra,
)

__all__ = ["HOSTED_CALLS", "parts_of", "shell_of"]


class HostedCall(Struct, frozen=True, kw_only=True):
    """How an item of a hosted tool says what was asked and what came of it."""

    kind: tool_pb.ServerToolKind.ValueType
    input: str
    result: str
    input_is_json_text: bool = False
    """The input is a string that holds JSON."""


HOSTED_CALLS = {
    "web_search_call": HostedCall(kind=tool_pb.SERVER_TOOL_KIND_WEB_SEARCH, input="action", result="results"),
    "file_search_call": HostedCall(kind=tool_pb.SERVER_TOOL_KIND_FILE_SEARCH, input="queries", result="results"),
    "code_interpreter_call": HostedCall(kind=tool_pb.SERVER_TOOL_KIND_CODE, input="code", result="outputs"),
    "mcp_call": HostedCall(
        kind=tool_pb.SERVER_TOOL_KIND_MCP, input="arguments", result="output", input_is_json_text=True
    ),
}
"""Item types of hosted tools."""


def parts_of(reader: ContentReader, node: Node) -> list[pb.Part]:
    """The parts of one item."""
    kind = node.text("type")
    read = _READERS.get(kind or "message")
    if read is not None and (kind or "role" in node):
        return read(reader, node)
    hosted = HOSTED_CALLS.get(kind or "")
    return [whole_raw(node, kind)] if hosted is None else _hosted(reader, node, kind or "", hosted)


def shell_of(node: Node) -> pb.Part | None:
    """How the part of an item begins in a stream: None where it has no beginning of its own."""
    kind = node.text("type") or ""
    item_id = node.text("id") or ""
    part = pb.Part(item_id=item_id)
    if kind == "reasoning":
        part.reasoning.SetInParent()
    elif kind in {"function_call", "custom_tool_call"}:
        part.tool_call.id = node.text("call_id") or item_id
        part.tool_call.name = node.text("name") or ""
        setattr(part.tool_call, "custom_text" if kind == "custom_tool_call" else "arguments_json", "")
    elif kind in HOSTED_CALLS:
        call = part.server_tool_call
        call.id, call.kind, call.kind_raw = item_id, HOSTED_CALLS[kind].kind, kind
        call.name = node.text("name") or ""
        call.status_raw = node.text("status") or ""
    else:
        return None
    return part


def _message(reader: ContentReader, node: Node) -> list[pb.Part]:
    item_id = node.text("id") or ""
    word = node.text("phase")
    node.text("role")
    status = node.json("status")
    if node.is_text("content"):
        parts = [pb.Part(text=node.text("content") or "")]
    else:
        parts = [reader.said(each) for each in node.nodes("content")]
    for part in parts:
        part.item_id = item_id
        if word is not None:
            phase, part.phase_raw = PHASES.read(word)
            part.phase = pb.TextPhase.ValueType(phase)
    if parts:
        if status:
            parts[-1].extras.extend(reader.spelt(f"{ITEM}status", status))
        reader.carry(node, parts[-1], ITEM)
    return parts


def _reasoning(reader: ContentReader, node: Node) -> list[pb.Part]:
    part = pb.Part(item_id=node.text("id") or "")
    thought = part.reasoning
    thought.SetInParent()
    summaries, spelt = _texts(node, "summary", "summary_text")
    thought.summaries.extend(summaries)
    if spelt is not None:
        part.extras.extend(reader.spelt("summary", spelt))
    if node.is_list("content"):
        texts, spelt = _texts(node, "content", "reasoning_text")
        thought.text = "".join(texts)
        if spelt is not None or len(texts) != 1 or not thought.text:
            part.extras.extend(reader.spelt("content", _texts_json(texts) if spelt is None else spelt))
    encrypted = node.text("encrypted_content")
    if encrypted is not None:
        state = reader.state(OPAQUE_KIND_ENCRYPTED_REASONING, encrypted)
        part.opaque.append(state)
        if state.origin != PROTOCOL_RESPONSES and not thought.text:
            # Written by us for another provider, whose reasoning has a text and no summaries.
            thought.text = "\n\n".join(thought.summaries)
            del thought.summaries[:]
    part.extras.extend(_rest(reader, node))
    return [part]


def _function_call(reader: ContentReader, node: Node) -> list[pb.Part]:
    part = _call(node)
    if node.is_object("arguments"):  # some compatible servers
        part.tool_call.arguments_json = node.json("arguments")
    elif "arguments" in node:
        part.tool_call.arguments_json = node.text("arguments") or ""
    part.extras.extend(_rest(reader, node))
    return [part]


def _custom_call(reader: ContentReader, node: Node) -> list[pb.Part]:
    part = _call(node)
    part.tool_call.custom_text = node.text("input") or ""
    part.extras.extend(_rest(reader, node))
    return [part]


def _call(node: Node) -> pb.Part:
    part = pb.Part(item_id=node.text("id") or "")
    part.tool_call.id = node.text("call_id") or part.item_id
    part.tool_call.name = node.text("name") or ""
    return part


def _rest(reader: ContentReader, node: Node) -> list[Extra]:
    status = node.json("status")
    spelt = reader.spelt("status", status) if status else []
    return [*spelt, *reader.extras(node)]


def _image(reader: ContentReader, node: Node) -> list[pb.Part]:
    if not node.is_text("result"):
        return [whole_raw(node, "image_generation_call")]
    part = pb.Part(item_id=node.text("id") or "")
    part.image.data = bytes_of(node.text("result") or "", path=node.at("result"))
    word = node.text("output_format")
    part.image.mime_type = f"image/{word or 'png'}"
    part.extras.extend(reader.spelt("output_format", f'"{word}"') if word else [])
    part.extras.extend(_rest(reader, node))
    return [part]


def _compaction(reader: ContentReader, node: Node) -> list[pb.Part]:
    if not node.is_text("encrypted_content"):
        return [whole_raw(node, "compaction")]
    part = pb.Part(item_id=node.text("id") or "", compaction=pb.Compaction())
    part.opaque.append(reader.state(OPAQUE_KIND_COMPACTION, node.text("encrypted_content") or ""))
    part.extras.extend(reader.extras(node))
    return [part]


def _hosted(reader: ContentReader, node: Node, kind: str, hosted: HostedCall) -> list[pb.Part]:
    part = pb.Part(item_id=node.text("id") or "")
    call = part.server_tool_call
    call.id, call.kind, call.kind_raw = part.item_id, hosted.kind, kind
    call.status_raw = node.text("status") or ""
    if hosted.input_is_json_text:
        call.name = node.text("name") or ""
        call.input_json = node.text(hosted.input) or ""
    else:
        call.input_json = node.json(hosted.input)
    parts = [part]
    if hosted.result in node:
        result = pb.ServerToolResult(
            call_id=call.id, kind=hosted.kind, kind_raw=kind, content_json=node.json(hosted.result)
        )
        parts.append(pb.Part(item_id=part.item_id, server_tool_result=result))
    parts[-1].extras.extend(reader.extras(node))
    return parts


_READERS: dict[str, Callable[[ContentReader, Node], list[pb.Part]]] = {
    "message": _message,
    "reasoning": _reasoning,
    "function_call": _function_call,
    "custom_tool_call": _custom_call,
    "image_generation_call": _image,
    "compaction": _compaction,
}


def _texts(node: Node, key: str, kind: str) -> tuple[list[str], str | None]:
    """The texts of a list of typed texts, and the list as it stands where it holds anything else."""
    found = node.nodes(key)
    whole = [each.rest() for each in found]
    texts = []
    is_plain = True
    for each in found:
        is_plain &= each.text("type") == kind
        texts.append(each.text("text") or "")
        is_plain &= each.rest() == "{}"
    return texts, None if is_plain else f"[{','.join(whole)}]"


def _texts_json(texts: list[str]) -> str:
    return msgspec.json.encode([{"type": "reasoning_text", "text": text} for text in texts]).decode()
