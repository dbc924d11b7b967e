"""Request bodies of Anthropic Messages to `MessageRequest`, whichever version they are of.

On the wire, results of tools stand among the blocks of the user; in the IR they are messages of their own. A mark on
what continues a message (`words.CONTINUED`) lets the writer of this protocol put them together again.
"""

from __future__ import annotations

from collections.abc import Iterable

from fluxrpc.protocols.anthropic.read_parts import read_part
from fluxrpc.protocols.anthropic.read_settings import read_settings, read_tools
from fluxrpc.protocols.anthropic.words import ANTHROPIC, CONTINUED, MOVED
from fluxrpc.protocols.base import ReadRequest
from fluxrpc.protocols.node import Node, spelling
from fluxrpc.protocols.notes import Places
from fluxrpc.v1.message_pb2 import ROLE_ASSISTANT, ROLE_SYSTEM, ROLE_TOOL, ROLE_USER, Message, MessageRequest, Role
from fluxrpc.v1.part_pb2 import Part
from fluxrpc.v1.protocol_pb2 import PROTOCOL_GEMINI, Extra

__all__ = ["read_request"]

_ROLES = {"user": ROLE_USER, "assistant": ROLE_ASSISTANT, "system": ROLE_SYSTEM}


def read_request(body: bytes, *, version: str = "", places: Places | None = None) -> ReadRequest:
    """See `Translator.read_request`. Both versions are read alike: what one refuses is the writer's business."""
    del version
    node = Node.root(body)
    request = MessageRequest()
    reader = _Reader(request, places)
    model = node.text("model") or ""
    stream = node.flag("stream")
    reader.system(node)
    for message in node.nodes("messages"):
        reader.message(message)
    read_tools(node, request, places)
    read_settings(node, request)
    request.extras.extend(node.extras(ANTHROPIC))
    if stream is False:
        request.extras.append(Extra(protocol=ANTHROPIC, key="stream", value_json="false"))
    return ReadRequest(message=request, model=model, stream=bool(stream))


class _Reader:
    """Gathers the messages of one body, and where they stood."""

    def __init__(self, request: MessageRequest, places: Places | None) -> None:
        self._request = request
        self._places = places

    def system(self, body: Node) -> None:
        """The instructions at the start are one message: a string, or a block for each part."""
        if "system" not in body:
            return
        if body.is_text("system"):
            message = self._add(ROLE_SYSTEM, "system")
            message.text = body.text("system") or ""
            return
        blocks = body.nodes("system")
        if not blocks:
            self._request.extras.append(spelling(ANTHROPIC, "system", "[]"))
            return
        message = self._add(ROLE_SYSTEM, "system")
        self._put(message, ((node.path, read_part(node)) for node in blocks))

    def message(self, node: Node) -> None:
        """One message of the body: one in the IR, or several where results of tools stand in it."""
        word = node.text("role")
        role = _ROLES.get(word or "")
        if role is None:
            raise node.fault("role", "user, assistant or system")
        path = node.path
        if node.is_text("content") or "content" not in node:
            message = self._add(role, path)
            message.text = node.text("content") or ""
        else:
            message = self._blocks(role, path, node.nodes("content"))
        message.extras.extend(node.extras(ANTHROPIC))

    def _blocks(self, role: Role.ValueType, path: str, blocks: list[Node]) -> Message:
        """The first message of those that the blocks make."""
        parts = [(node.path, read_part(node)) for node in blocks]
        if role == ROLE_ASSISTANT:
            parts = _with_signatures_in_place(parts)
        first: Message | None = None
        run: list[tuple[str, Part]] = []
        run_role = role
        for place, part in parts:
            part_role = ROLE_TOOL if role == ROLE_USER and part.HasField("tool_result") else role
            if run and part_role != run_role:
                first = self._run(run_role, path, run, first)
                run = []
            run_role = part_role
            run.append((place, part))
        first = self._run(run_role, path, run, first)
        if not blocks:
            first.extras.append(spelling(ANTHROPIC, "content", "[]"))
        return first

    def _run(self, role: Role.ValueType, path: str, run: list[tuple[str, Part]], first: Message | None) -> Message:
        message = self._add(role, path)
        self._put(message, run)
        if first is None:
            return message
        message.extras.append(Extra(protocol=ANTHROPIC, key=CONTINUED, value_json="true"))
        return first

    def _add(self, role: Role.ValueType, path: str) -> Message:
        if self._places is not None:
            self._places[f"messages[{len(self._request.messages)}]"] = path
        return self._request.messages.add(role=role)

    def _put(self, message: Message, parts: Iterable[tuple[str, Part]]) -> None:
        prefix = f"messages[{len(self._request.messages) - 1}].parts"
        for index, (path, part) in enumerate(parts):
            message.parts.append(part)
            if self._places is not None:
                self._places[f"{prefix}[{index}]"] = path
                for inner in range(len(part.tool_result.parts.parts)):
                    self._places[f"{prefix}[{index}].tool_result.parts.parts[{inner}]"] = f"{path}.content[{inner}]"


def _with_signatures_in_place(parts: list[tuple[str, Part]]) -> list[tuple[str, Part]]:
    """Gemini signs calls and text, not thoughts: its signatures came here in the thinking before them, and go back.

    Thinking that held nothing but such a signature was made up by our writer.
    """
    placed: list[tuple[str, Part]] = []
    waiting: list[Part] = []
    for path, part in parts:
        if part.HasField("reasoning"):
            if any(state.origin == PROTOCOL_GEMINI for state in part.opaque):
                waiting.append(part)
        elif waiting:
            part.opaque.extend(state for each in waiting for state in each.opaque)
            for each in waiting:
                del each.opaque[:]
                each.extras.append(Extra(protocol=ANTHROPIC, key=MOVED, value_json="true"))
            placed = [kept for kept in placed if kept[1] not in waiting or kept[1].reasoning.text]
            waiting = []
        placed.append((path, part))
    return placed
