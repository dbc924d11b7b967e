"""Messages of OpenAI Chat Completions requests into the IR, one for one.

Legacy `function_call` and role `function` are read as calls and results; their pairs are found by name. Invariant:
message `i` of the body is message `i` of the IR.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct, field

from fluxrpc.protocols.node import SPELLING, Node
from fluxrpc.protocols.notes import Places
from fluxrpc.protocols.openai.read_parts import read_content
from fluxrpc.protocols.openai.reasoning_fields import REASONING_FIELDS, ReasoningFields, signature_of, thought_of
from fluxrpc.protocols.openai.wire_fields import Spelled, json_of, required_text
from fluxrpc.protocols.openai.words import OPENAI
from fluxrpc.protocols.tool_names import made_up_call_id
from fluxrpc.v1.message_pb2 import ROLE_ASSISTANT, ROLE_DEVELOPER, ROLE_SYSTEM, ROLE_TOOL, ROLE_USER, Message, Role
from fluxrpc.v1.part_pb2 import Media, Part, Reasoning, ToolCall, ToolResult
from fluxrpc.v1.protocol_pb2 import Extra, OpaqueState

__all__ = ["MessageReader", "read_call"]

_ROLES: Mapping[str, Role.ValueType] = {
    "system": ROLE_SYSTEM,
    "developer": ROLE_DEVELOPER,
    "user": ROLE_USER,
    "assistant": ROLE_ASSISTANT,
    "tool": ROLE_TOOL,
    "function": ROLE_TOOL,
}


_Placed = list[tuple[Part, str]]
"""Parts, each with the key in its message that it came from."""


_ASSISTANT_FIELDS = frozenset({
    *REASONING_FIELDS, "extra_content", "refusal", "audio", "tool_calls", "function_call",
})  # fmt: skip


class _Around(Struct):
    """What stands around the content of an assistant message."""

    before: _Placed = field(default_factory=list)
    after: _Placed = field(default_factory=list)
    signature: OpaqueState | None = None


_NOTHING = _Around()


class MessageReader:
    """Reads the messages of one body, in order."""

    def __init__(self, places: Places | None) -> None:
        self._places = places
        self._open_call: dict[str, str] = {}
        """Name of a legacy function to the id made up for its latest call."""

    def read(self, node: Node, at: int, message: Message) -> None:
        """The next message, into one that is empty. Raises `JsonFault`."""
        word = required_text(node, "role")
        role = _ROLES.get(word)
        if role is None:
            raise node.fault("role", "developer, system, user, assistant or tool")
        if self._places is not None:
            self._places[f"messages[{at}]"] = f"messages[{at}]"
        message.role = role
        spelled = Spelled()
        if role == ROLE_TOOL:
            self._result(node, message, spelled, at, is_legacy=word == "function")
        else:
            name = spelled.text(node, "name")
            if name:
                message.name = name
            self._said(node, message, spelled, at)
        node.carry(message, OPENAI)
        if spelled:
            message.extras.extend(spelled)

    def _said(self, node: Node, message: Message, spelled: Spelled, at: int) -> None:
        text, pieces = read_content(node, spelled)
        if text == "":
            spelled.add("content", '""')
        has_more = message.role == ROLE_ASSISTANT and node.has_any(_ASSISTANT_FIELDS)
        around = self._assistant(node, spelled, at) if has_more else _NOTHING
        if text is not None and (around is _NOTHING or not (around.before or around.after or around.signature)):
            message.text = text
            if self._places is not None:
                self._places[f"messages[{at}].text"] = f"messages[{at}].content"
            return
        said = [(part, f"content[{index}]") for index, part in enumerate(pieces)]
        if text:
            said = [(Part(text=text), "content")]
        if around.signature is not None:
            _sign(said, around.signature)
        for index, (part, key) in enumerate([*around.before, *said, *around.after]):
            message.parts.append(part)
            if self._places is not None:
                self._places[f"messages[{at}].parts[{index}]"] = f"messages[{at}].{key}"

    def _assistant(self, node: Node, spelled: Spelled, at: int) -> _Around:
        around = _Around()
        _read_thoughts(node, spelled, around)
        refusal = spelled.text(node, "refusal")
        if refusal:
            around.after.append((Part(refusal=refusal), "refusal"))
        audio = node.node("audio")
        if audio is not None:
            around.after.append((Part(audio=Media(file_id=required_text(audio, "id"))), "audio"))
            around.after[-1][0].extras.extend(audio.extras(OPENAI, "audio."))
        if node.is_list("tool_calls"):
            calls = node.nodes("tool_calls")
            if not calls:
                spelled.add("tool_calls", "[]")
            around.after.extend((read_call(each), f"tool_calls[{index}]") for index, each in enumerate(calls))
        if node.is_object("function_call"):
            around.after.append((self._legacy_call(node, spelled, at), "function_call"))
        return around

    def _legacy_call(self, node: Node, spelled: Spelled, at: int) -> Part:
        found = node.json("function_call")
        spelled.add("function_call", found)
        call = Node.root(found.encode())
        name = required_text(call, "name")
        self._open_call[name] = made_up_call_id(at, 0)
        arguments = call.text("arguments") or ""
        legacy = Spelled()
        legacy.add("function_call", "{}")
        return Part(tool_call=ToolCall(id=self._open_call[name], name=name, arguments_json=arguments), extras=legacy)

    def _result(self, node: Node, message: Message, spelled: Spelled, at: int, *, is_legacy: bool) -> None:
        result = ToolResult()
        if is_legacy:
            result.name = required_text(node, "name")
            result.call_id = self._open_call.get(result.name, result.name)
            spelled.add("role", '"function"')
            spelled.add("name", json_of(result.name))
        else:
            result.call_id = required_text(node, "tool_call_id")
        text, pieces = read_content(node, spelled)
        if text is not None:
            result.text = text
        elif pieces:
            result.parts.parts.extend(pieces)
        if self._places is not None:
            path = f"messages[{at}].parts[0]"
            self._places[path] = f"messages[{at}]"
            for index in range(len(pieces)):
                self._places[f"{path}.tool_result.parts.parts[{index}]"] = f"messages[{at}].content[{index}]"
        message.parts.append(Part(tool_result=result))


def read_call(node: Node, *, is_answer: bool = False) -> Part:
    """One of `tool_calls`. Answers are written in one spelling, so theirs is not kept."""
    spelled = Spelled()
    part = Part(tool_call=ToolCall(id=spelled.text(node, "id")))
    call = part.tool_call
    kind = node.text("type") or "function"
    key = "custom" if kind == "custom" else "function"
    if kind != key:
        spelled.add("type", json_of(kind))
    inner = node.node(key)
    if inner is None:
        raise node.fault(key, "an object")
    call.name = required_text(inner, "name")
    if key == "custom":
        call.custom_text = inner.text("input") or ""
    elif inner.is_object("arguments"):  # some copies do not quote them
        call.arguments_json = inner.json("arguments")
        spelled.add("function.arguments", call.arguments_json)
    elif "arguments" in inner:
        call.arguments_json = required_text(inner, "arguments")
    state = _take_signature(node, spelled)
    if state is not None:
        part.opaque.append(state)
    part.extras.extend(inner.extras(OPENAI, f"{key}.", nulls=not is_answer))
    part.extras.extend(node.extras(OPENAI, nulls=not is_answer))
    part.extras.extend(extra for extra in spelled if not (is_answer and extra.key.startswith(SPELLING)))
    return part


def _read_thoughts(node: Node, spelled: Spelled, around: _Around) -> None:
    """Reasoning, and the signature of the message. Their fields come back just as they were."""
    values: dict[str, Any] = {}
    for key in REASONING_FIELDS:
        if key in node:
            found = node.json(key)
            spelled.add(key, found)
            values[key] = msgspec.json.decode(found)
    if values:
        thought = thought_of(ReasoningFields(**values))
        around.before.append((Part(reasoning=Reasoning(text=thought.text), opaque=thought.states), next(iter(values))))
    around.signature = _take_signature(node, spelled)


def _take_signature(node: Node, spelled: Spelled) -> OpaqueState | None:
    if "extra_content" not in node:
        return None
    found = node.json("extra_content")
    state = signature_of(msgspec.json.decode(found))
    if state is None:
        spelled.append(Extra(protocol=OPENAI, key="extra_content", value_json=found))
    else:
        spelled.add("extra_content", found)
    return state


def _sign(said: _Placed, signature: OpaqueState) -> None:
    """A message's signature belongs to its text; where it has none, to an empty one."""
    texts = [part for part, _ in said if part.HasField("text")]
    if not texts:
        texts = [Part(text="")]
        said.append((texts[0], "content"))
    texts[-1].opaque.append(signature)
