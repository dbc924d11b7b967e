"""Contents of a request to messages: roles, results apart from what the user says, ids for calls that have none."""

from __future__ import annotations

from fluxrpc.protocols.gemini.read_parts import read_part
from fluxrpc.protocols.gemini.wire import CONTINUED, GEMINI, CamelNode, quoted
from fluxrpc.protocols.node import spelling
from fluxrpc.protocols.notes import Places
from fluxrpc.protocols.tool_names import made_up_call_id
from fluxrpc.v1.message_pb2 import ROLE_ASSISTANT, ROLE_SYSTEM, ROLE_TOOL, ROLE_USER, Message, MessageRequest
from fluxrpc.v1.part_pb2 import Part

__all__ = ["read_contents", "read_instruction"]

_ROLES = {"": ROLE_USER, "user": ROLE_USER, "function": ROLE_USER, "model": ROLE_ASSISTANT}


def read_instruction(body: CamelNode, request: MessageRequest, places: Places) -> None:
    """`systemInstruction`: one message, whose role there means nothing."""
    content = body.node("systemInstruction")
    if content is None:
        return
    message = request.messages.add(role=ROLE_SYSTEM)
    places["messages[0]"] = content.path
    role = content.text("role")
    if role is not None:
        message.extras.append(spelling(GEMINI, "role", quoted(role)))
    nodes = content.nodes("parts")
    _fill(message, 0, [(read_part(node), node.path) for node in nodes], places)
    message.extras.extend(content.extras(GEMINI))


def read_contents(body: CamelNode, request: MessageRequest, places: Places) -> None:
    """`contents`: one message each, or several where results and other parts stand together."""
    calls = _Calls()
    for index, content in enumerate(body.nodes("contents")):
        word = content.text("role") or ""
        role = _ROLES.get(word.lower())
        if role is None:
            raise content.fault("role", "user or model")
        read = [(read_part(node), node.path) for node in content.nodes("parts")]
        calls.name([part for part, _ in read], index)
        extras = content.extras(GEMINI)
        if word.lower() == "function":
            extras.append(spelling(GEMINI, "role", quoted(word)))
        for group in _groups(read):
            at = len(request.messages)
            message = request.messages.add(role=ROLE_TOOL if group and _is_result(group[0][0]) else role)
            message.extras.extend(extras)
            extras = [spelling(GEMINI, CONTINUED, "true")]
            places[f"messages[{at}]"] = content.path
            _fill(message, at, group, places)


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


def _groups(read: list[tuple[Part, str]]) -> list[list[tuple[Part, str]]]:
    """Runs of results and of other parts; one empty run where there are no parts."""
    groups: list[list[tuple[Part, str]]] = []
    for part, path in read:
        if groups and _is_result(groups[-1][0][0]) is _is_result(part):
            groups[-1].append((part, path))
        else:
            groups.append([(part, path)])
    return groups or [[]]


def _is_result(part: Part) -> bool:
    return part.HasField("tool_result")


def _fill(message: Message, at: int, read: list[tuple[Part, str]], places: Places) -> None:
    """The parts of a message; one that is only text becomes the message's text."""
    for number, (_, path) in enumerate(read):
        places[f"messages[{at}].parts[{number}]"] = path
    if len(read) == 1 and read[0][0].text and len(read[0][0].ListFields()) == 1:
        message.text = read[0][0].text
        places[f"messages[{at}].text"] = read[0][1]
    else:
        message.parts.extend(part for part, _ in read)
