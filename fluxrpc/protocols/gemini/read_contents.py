"""Contents of a request to messages: roles, results apart from what the user says, ids for calls that have none."""

from __future__ import annotations

from fluxrpc.ir.presence import is_bare
from fluxrpc.protocols.gemini.read_parts import read_part
from fluxrpc.protocols.gemini.wire import CONTINUED, GEMINI, CamelNode, quoted
from fluxrpc.protocols.node import spelling
from fluxrpc.protocols.notes import Places
from fluxrpc.protocols.tool_names import made_up_call_id
from fluxrpc.v1.message_pb2 import ROLE_ASSISTANT, ROLE_SYSTEM, ROLE_TOOL, ROLE_USER, Message, MessageRequest
from fluxrpc.v1.part_pb2 import Part

__all__ = ["read_contents", "read_instruction"]

_Read = list[tuple[Part, CamelNode]]
"""Parts, each with where it stood."""
_CONTINUED = [spelling(GEMINI, CONTINUED, "true")]
_ROLES = {"": ROLE_USER, "user": ROLE_USER, "function": ROLE_USER, "model": ROLE_ASSISTANT}


def read_instruction(body: CamelNode, request: MessageRequest, places: Places | None) -> None:
    """`systemInstruction`: one message, whose role there means nothing."""
    content = body.node("systemInstruction")
    if content is None:
        return
    message = request.messages.add()
    message.role = ROLE_SYSTEM
    role = content.text("role")
    if role is not None:
        message.extras.append(spelling(GEMINI, "role", quoted(role)))
    read = [(read_part(node), node) for node in content.nodes("parts")]
    _fill(message, read)
    if places is not None:
        _place(message, "messages[0]", content, read, places)
    content.carry(message, GEMINI)


def read_contents(body: CamelNode, request: MessageRequest, places: Places | None) -> None:
    """`contents`: one message each, or several where results and other parts stand together."""
    calls = _Calls()
    for index, content in enumerate(body.nodes("contents")):
        word = content.text("role") or ""
        role = _ROLES.get(word.lower())
        if role is None:
            raise content.fault("role", "user or model")
        read = [(read_part(node), node) for node in content.nodes("parts")]
        calls.name([part for part, _ in read], index)
        extras = content.extras(GEMINI)
        if word.lower() == "function":
            extras.append(spelling(GEMINI, "role", quoted(word)))
        for group in _groups(read):
            message = request.messages.add()
            message.role = ROLE_TOOL if group and _is_result(group[0][0]) else role
            if extras:
                message.extras.extend(extras)
            extras = _CONTINUED
            _fill(message, group)
            if places is not None:
                _place(message, f"messages[{len(request.messages) - 1}]", content, group, places)


class _Calls:
    """Gives ids to calls without one, and to results that of the first call of their name that still lacks one."""

    def __init__(self) -> None:
        self._waiting: list[tuple[str, str]] = []

    def name(self, parts: list[Part], index: int) -> None:
        """The parts of the content at `index`; a content with calls begins anew."""
        calls = [part.tool_call for part in parts if part.HasField("tool_call")]
        for number, call in enumerate(calls):
            call.id = call.id or made_up_call_id(index, number)
        if calls:
            self._waiting = [(call.id, call.name) for call in calls]
        results = [part.tool_result for part in parts if part.HasField("tool_result")]
        for number, result in enumerate(results):
            known = next((call for call in self._waiting if (result.call_id or call[0]) == call[0]
                          and (result.call_id or result.name == call[1])), None)  # fmt: skip
            if known is not None:
                self._waiting.remove(known)
                result.call_id = known[0]
            result.call_id = result.call_id or made_up_call_id(index, number)


def _groups(read: _Read) -> list[_Read]:
    """Runs of results and of other parts; one empty run where there are no parts."""
    groups: list[_Read] = []
    for part, node in read:
        if groups and _is_result(groups[-1][0][0]) is _is_result(part):
            groups[-1].append((part, node))
        else:
            groups.append([(part, node)])
    return groups or [[]]


def _is_result(part: Part) -> bool:
    return part.HasField("tool_result")


def _fill(message: Message, read: _Read) -> None:
    """The parts of a message; one that is only text becomes the message's text."""
    if len(read) == 1 and (text := read[0][0].text) and is_bare(read[0][0]):
        message.text = text
    else:
        message.parts.extend(part for part, _ in read)


def _place(message: Message, path: str, content: CamelNode, read: _Read, places: Places) -> None:
    """Where a message and its parts stood."""
    places[path] = content.path
    for number, (_, node) in enumerate(read):
        places[f"{path}.parts[{number}]"] = node.path
    if message.text:
        places[f"{path}.text"] = read[0][1].path
