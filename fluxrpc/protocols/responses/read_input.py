"""`input` and `instructions` of OpenAI Responses to messages.

What the model said comes in items; items that follow each other are one message of the IR, because every other protocol
has a turn there. So are results of tools. Where the items stood is told for notes.
"""

from __future__ import annotations

import msgspec

from fluxrpc.protocols.node import Node, spelling
from fluxrpc.protocols.notes import Places
from fluxrpc.protocols.responses.read_content import ContentReader, whole_raw
from fluxrpc.protocols.responses.read_items import parts_of
from fluxrpc.protocols.responses.words import ITEM, PHASES, ROLES
from fluxrpc.v1 import message_pb2 as pb
from fluxrpc.v1.part_pb2 import Part, TextPhase
from fluxrpc.v1.protocol_pb2 import PROTOCOL_RESPONSES

__all__ = ["INSTRUCTIONS", "ITEM_HEAD", "SIGNATURE_ID", "STRING", "read_input"]

INSTRUCTIONS = "instructions"
"""Key of the spelling that tells the message that was `instructions`."""
ITEM_HEAD = "item"
"""Key of the spelling that tells how a message of the model began; on its first part."""
STRING = '"string"'
"""Value of the spelling that tells that `input` was one."""
SIGNATURE_ID = "rs_gw_sig_"
"""Begins the id of an item that only carries state of the part before it."""

_READER = ContentReader(exact=True)
_RESULTS = frozenset({"function_call_output", "custom_tool_call_output"})
_HEAD = frozenset({"type", "id", "status"})
_EASY = {"content": ""}
_EASY_TEXT = '{"content":""}'
_WHOLE = {"type": "message", "status": "completed"}


def read_input(node: Node, request: pb.MessageRequest, places: Places | None) -> None:
    """Read both into `request.messages`."""
    instructions = node.text("instructions")
    if instructions is not None:
        message = request.messages.add(role=pb.ROLE_DEVELOPER, text=instructions)
        message.extras.append(spelling(PROTOCOL_RESPONSES, INSTRUCTIONS, "true"))
        if places is not None:
            places["messages[0]"] = places["messages[0].text"] = "instructions"
    if node.is_text("input"):
        request.messages.add(role=pb.ROLE_USER, text=node.text("input") or "")
        request.extras.append(spelling(PROTOCOL_RESPONSES, "input", STRING))
        if places is not None:
            at = len(request.messages) - 1
            places[f"messages[{at}]"] = places[f"messages[{at}].text"] = "input"
        return
    if node.is_list("input"):
        reader = _InputReader(request, places)
        items = node.nodes("input")
        for item in items:
            reader.read(item)
        if not items:
            request.extras.append(spelling(PROTOCOL_RESPONSES, "input", "[]"))
    elif "input" in node:
        raise node.fault("input", "a string or a list")


class _InputReader:
    """Gathers items into messages."""

    def __init__(self, request: pb.MessageRequest, places: Places | None) -> None:
        self._messages = request.messages
        self._places = places

    def read(self, item: Node) -> None:
        """One item."""
        kind = _type(item)
        if kind == "message":
            role = ROLES.get(_peeked(item, "role")) if "role" in item else None
            if role is None:
                raise item.fault("role", "user, assistant, system or developer")
            if role != pb.ROLE_ASSISTANT:
                self._given(item, role)
                return
        if kind in _RESULTS:
            self._add(pb.ROLE_TOOL, item, [self._result(item, kind)])
        elif kind.endswith("_output") or kind == "mcp_approval_response":
            self._add(pb.ROLE_TOOL, item, [whole_raw(item, item.text("type"))])
        else:
            self._said(item, kind)

    def _given(self, item: Node, role: pb.Role.ValueType) -> None:
        """A message of the user, or instructions."""
        message = self._messages.add()
        message.role = role
        item.take("role")
        if item.has_any(_HEAD):
            _keep_spelt(item, message)
        pieces: list[Node] = []
        is_text = item.is_text("content")
        if is_text:
            message.text = item.text("content") or ""
        else:
            pieces = item.nodes("content")
            for piece in pieces:
                message.parts.append(_READER.given(piece))
            if not pieces:
                message.extras.append(spelling(PROTOCOL_RESPONSES, "content", "[]"))
        if self._places is not None:
            path = f"messages[{len(self._messages) - 1}]"
            self._places[path] = item.path
            if is_text:
                self._places[f"{path}.text"] = item.at("content")
            self._places |= {f"{path}.parts[{at}]": piece.path for at, piece in enumerate(pieces)}
        item.carry(message, PROTOCOL_RESPONSES)

    def _said(self, item: Node, kind: str) -> None:
        """An item of the model."""
        head = _head(item) if kind == "message" else None
        item_id = _peeked(item, "id") if "id" in item else ""
        word = _peeked(item, "phase") if "phase" in item else None
        parts = parts_of(_READER, item)
        if not parts:
            phase, phase_raw = PHASES.read(word)
            parts = [Part(text="", item_id=item_id, phase=TextPhase.ValueType(phase), phase_raw=phase_raw)]
            parts[0].extras.extend(item.extras(PROTOCOL_RESPONSES, ITEM))
        if head is None and kind == "message" and not item_id and self._may_grow():
            head = _EASY_TEXT
        if head is not None:
            parts[0].extras.append(spelling(PROTOCOL_RESPONSES, ITEM_HEAD, head))
        last = self._messages[-1] if self._messages else None
        is_signature = parts[0].item_id.startswith(SIGNATURE_ID) and parts[0].opaque
        if is_signature and last is not None and last.role == pb.ROLE_ASSISTANT:
            last.parts[-1].opaque.extend(parts[0].opaque)
            return
        self._add(pb.ROLE_ASSISTANT, item, parts)

    def _may_grow(self) -> bool:
        """Whether the item before is a message without an id: a text without a head would seem to be a piece of it."""
        if not self._messages or not self._messages[-1].parts:
            return False
        last = self._messages[-1].parts[-1]
        return not last.item_id and (last.HasField("text") or last.HasField("refusal"))

    def _add(self, role: pb.Role.ValueType, item: Node, parts: list[Part]) -> None:
        """Into the message before, where that has the role and is made of items; else into a new one."""
        if not self._messages or self._messages[-1].role != role:
            self._messages.add(role=role)
            self._place(f"messages[{len(self._messages) - 1}]", item.path)
        message = self._messages[-1]
        at = f"messages[{len(self._messages) - 1}].parts"
        is_list = len(parts) > 1
        for index, part in enumerate(parts):
            self._place(f"{at}[{len(message.parts)}]", f"{item.path}.content[{index}]" if is_list else item.path)
            message.parts.append(part)

    def _place(self, path: str, place: str) -> None:
        if self._places is not None:
            self._places[path] = place

    def _result(self, item: Node, kind: str) -> Part:
        part = Part()
        result = part.tool_result
        result.call_id = item.text("call_id") or ""
        result.name = item.text("name") or ""
        if item.is_list("output"):
            result.parts.SetInParent()
            result.parts.parts.extend(_READER.given(piece) for piece in item.nodes("output"))
        else:
            text = item.text("output")
            if text is not None:
                result.text = text
        item.text("type")
        if kind != "function_call_output":
            part.extras.append(spelling(PROTOCOL_RESPONSES, "type", f'"{kind}"'))
        _keep_spelt(item, part)
        item.carry(part, PROTOCOL_RESPONSES)
        return part


def _keep_spelt(item: Node, read: pb.Message | Part) -> None:
    """How the head of an item is spelt, which the IR says without."""
    for key in ("type", "id", "status"):
        found = item.json(key)
        if found:
            read.extras.append(spelling(PROTOCOL_RESPONSES, key, found))


def _type(item: Node) -> str:
    """The type of an item, which messages may leave out; it is not consumed."""
    if "type" not in item:
        if "role" not in item:
            raise item.fault("type", "a type")
        return "message"
    return _peeked(item, "type")


def _peeked(item: Node, key: str) -> str:
    if not item.is_text(key):
        raise item.fault(key, "a string")
    return str(msgspec.json.decode(item.peek(key)))


def _head(item: Node) -> str | None:
    """How a message of the model is spelt beside its content; None where it is spelt as messages mostly are."""
    head = {key: item.peek(key) for key in ("type", "status") if key in item}
    content = item.peek("content")
    if item.is_text("content"):
        head["content"] = msgspec.Raw(b'""')
    elif bytes(content).replace(b" ", b"") == b"[]":
        head["content"] = msgspec.Raw(b"[]")
    text = msgspec.json.encode(head)
    usual = _WHOLE if "id" in item else _EASY
    return None if msgspec.json.decode(text) == usual else text.decode()
