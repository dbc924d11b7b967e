"""The messages of a request of Cohere into the IR: roles, blocks of content, plans, calls, results.

A message that the IR says in another shape (an empty list, a citation without its type) keeps its own spelling beside
it, so that it goes back as it came.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from fluxrpc.protocols.cohere.citations import place_of, same_json, take_citations, written_citation
from fluxrpc.protocols.cohere.documents import read_document, written_document
from fluxrpc.protocols.cohere.words import DETAILS, required_text
from fluxrpc.protocols.media import read_url
from fluxrpc.protocols.node import Node, spelling
from fluxrpc.protocols.notes import Places
from fluxrpc.v1.message_pb2 import ROLE_ASSISTANT, ROLE_SYSTEM, ROLE_TOOL, ROLE_USER, Message, Role
from fluxrpc.v1.part_pb2 import TEXT_PHASE_PLAN, Part, RawPart
from fluxrpc.v1.protocol_pb2 import PROTOCOL_COHERE, Extra

__all__ = ["read_block", "read_call", "read_messages", "spelt"]

_ROLES: Final[dict[str, Role.ValueType]] = {
    "system": ROLE_SYSTEM,
    "user": ROLE_USER,
    "assistant": ROLE_ASSISTANT,
    "tool": ROLE_TOOL,
}
_BESIDE_CONTENT: Final = ("tool_plan", "tool_calls", "citations")


def read_messages(body: Node, places: Places) -> list[Message]:
    """The messages; fills `places`.

    Raises:
        JsonFault: an unknown role, or a field of another type.
    """
    return [_read_message(node, places) for node in body.nodes("messages")]


def spelt(key: str, value: msgspec.Raw) -> Extra:
    """How a caller spelt a field."""
    return spelling(PROTOCOL_COHERE, key, bytes(value).decode())


def _read_message(node: Node, places: Places) -> Message:
    role = _ROLES.get(node.text("role") or "")
    if role is None:
        raise node.fault("role", "system, user, assistant or tool")
    places[node.path] = node.path
    message = Message(role=role)
    if role == ROLE_TOOL:
        message.parts.append(_read_result(node, places))
        return message
    if role == ROLE_ASSISTANT:
        _read_answer(message, node, places)
    else:
        _read_content(message, node, places)
    message.extras.extend(node.extras(PROTOCOL_COHERE))
    return message


def _read_content(message: Message, node: Node, places: Places) -> None:
    """`content`: a string, or blocks."""
    is_empty = bytes(node.peek("content")) in (b'""', b"[]")
    if is_empty:
        message.extras.append(spelt("content", node.peek("content")))
    if node.is_text("content"):
        message.text = node.text("content") or ""
        return
    for block in node.nodes("content"):
        places[f"{node.path}.parts[{len(message.parts)}]"] = block.path
        message.parts.append(read_block(block))


def _read_answer(message: Message, node: Node, places: Places) -> None:
    """What the model said: plan, content, calls. A plain string stays one where nothing stands beside it."""
    if not any(key in node for key in _BESIDE_CONTENT):
        _read_content(message, node, places)
        return
    plan = node.text("tool_plan")
    if plan is not None:
        places[f"{node.path}.parts[0]"] = node.at("tool_plan")
        message.parts.append(Part(text=plan, phase=TEXT_PHASE_PLAN))
    first = len(message.parts)
    if node.is_text("content"):
        message.extras.append(spelt("content", node.peek("content")))
        places[f"{node.path}.parts[{first}]"] = node.at("content")
        message.parts.append(Part(text=required_text(node, "content")))
    else:
        _read_content(message, node, places)
    _read_citations(message, node, first)
    for call in node.nodes("tool_calls"):
        places[f"{node.path}.parts[{len(message.parts)}]"] = call.path
        message.parts.append(read_call(call))


def _read_citations(message: Message, node: Node, first: int) -> None:
    """Citations of an earlier answer. Those that would go back otherwise than they came keep their spelling."""
    found = node.peek("citations")
    plan, blocks = (message.parts[0] if first else None), message.parts[first:]
    take_citations(node, plan, blocks)
    placed = [place_of(part, index - first if index >= first else None) for index, part in enumerate(message.parts)]
    written = [
        written_citation(citation, place)
        for part, place in zip(message.parts, placed, strict=True)
        for citation in part.citations
    ]
    if not same_json(written or None, found):
        message.extras.append(spelt("citations", found))


def read_block(node: Node) -> Part:
    """One block of content; those of an unknown type stay as they are.

    Raises:
        JsonFault: a field of another type.
    """
    word = node.text("type") or ""
    read = _BLOCKS.get(word)
    if read is None:
        body = {"type": word} if word else {}
        return Part(raw=RawPart(protocol=PROTOCOL_COHERE, type=word, body_json=_with(body, node)))
    part = read(node)
    part.extras.extend(node.extras(PROTOCOL_COHERE))
    return part


def _with(head: dict[str, str], node: Node) -> str:
    rest = msgspec.json.decode(node.rest(), type=dict[str, msgspec.Raw])
    return msgspec.json.encode({**head, **rest}).decode()


def _read_text(node: Node) -> Part:
    return Part(text=required_text(node, "text"))


def _read_thinking(node: Node) -> Part:
    part = Part()
    part.reasoning.text = required_text(node, "thinking")
    return part


def _read_image(node: Node) -> Part:
    image = node.node("image_url")
    if image is None:
        raise node.fault("image_url", "an object")
    part = Part(image=read_url(required_text(image, "url"), path=image.at("url")))
    word = image.text("detail")
    if word is not None:
        detail, part.image.detail_raw = DETAILS.read(word)
        part.image.detail = detail  # type: ignore[assignment]  # a value of the table
    part.extras.extend(image.extras(PROTOCOL_COHERE, "image_url."))
    return part


def _read_document_block(node: Node) -> Part:
    document = node.node("document")
    if document is None:
        raise node.fault("document", "an object")
    data = document.peek("data")
    part = Part(document=read_document(document))
    if not same_json(written_document(part.document)["data"], data):
        part.extras.append(spelt("document.data", data))
    part.extras.extend(document.extras(PROTOCOL_COHERE, "document."))
    return part


_BLOCKS: Final[dict[str, Callable[[Node], Part]]] = {
    "text": _read_text,
    "thinking": _read_thinking,
    "image_url": _read_image,
    "document": _read_document_block,
}


def read_call(node: Node) -> Part:
    """One call of a tool.

    Raises:
        JsonFault: a field of another type.
    """
    part = Part()
    call = part.tool_call
    call.id = node.text("id") or ""
    kind = node.peek("type")
    if node.text("type") not in (None, "function"):
        part.extras.append(spelt("type", kind))
    function = node.node("function")
    if function is None:
        raise node.fault("function", "an object")
    call.name = required_text(function, "name")
    arguments = function.text("arguments")
    if arguments is not None:
        call.arguments_json = arguments
    part.extras.extend(function.extras(PROTOCOL_COHERE, "function."))
    part.extras.extend(node.extras(PROTOCOL_COHERE))
    return part


def _read_result(node: Node, places: Places) -> Part:
    """A message of the role `tool`: what stands in it belongs to the one result that it is."""
    part = Part()
    result = part.tool_result
    result.call_id = node.text("tool_call_id") or ""
    place = places[f"{node.path}.parts[0]"] = node.path
    if node.is_list("content"):
        result.parts.SetInParent()
        for index, block in enumerate(node.nodes("content")):
            places[f"{place}.parts[0].tool_result.parts.parts[{index}]"] = block.path
            result.parts.parts.append(read_block(block))
    else:
        result.text = node.text("content") or ""
    part.extras.extend(node.extras(PROTOCOL_COHERE))
    return part
