"""Short ways to write messages and to read them, whichever of their equal forms they came in.

A message holds its content as `text` or as `parts`, a tool result as text, parts or an object. Those who read them
want one form: `parts_of` and `result_parts` give it. Nothing here checks anything; `validate` does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fluxrpc.v1.message_pb2 import ROLE_ASSISTANT, ROLE_SYSTEM, ROLE_TOOL, ROLE_USER, Message, Role
from fluxrpc.v1.part_pb2 import Part, ToolResult

Content = str | Sequence[Part]
"""What a message says: text, the usual thing, or parts."""


def system(content: Content) -> Message:
    """Instructions of the application's owner."""
    return _message(ROLE_SYSTEM, content)


def user(content: Content) -> Message:
    """What the user says."""
    return _message(ROLE_USER, content)


def assistant(content: Content) -> Message:
    """What the model said: the parts of an earlier answer, or plain text."""
    return _message(ROLE_ASSISTANT, content)


def tool_result(call_id: str, content: Content, *, is_error: bool | None = None) -> Message:
    """What a tool gave for the call `call_id`; `is_error` None leaves unsaid whether it failed."""
    result = ToolResult(call_id=call_id, is_error=is_error)
    if isinstance(content, str):
        result.text = content
    else:
        result.parts.parts.extend(content)
    return Message(role=ROLE_TOOL, parts=[Part(tool_result=result)])


def parts_of(message: Message) -> Sequence[Part]:
    """The content in parts: those of the message, or one that holds its text; none for an empty message."""
    if message.text:
        return [Part(text=message.text)]
    return message.parts


def result_parts(result: ToolResult) -> Sequence[Part]:
    """The output in parts: those of the result, or one that holds its text or JSON; none for an empty result."""
    if result.WhichOneof("output") == "parts":
        return result.parts.parts
    text = result.text or result.object_json
    return [Part(text=text)] if text else []


def text_of(parts: Iterable[Part]) -> str:
    """The text of an answer: all its text parts, joined; reasoning, refusals and calls are left out."""
    return "".join(part.text for part in parts)


def _message(role: Role.ValueType, content: Content) -> Message:
    if isinstance(content, str):
        return Message(role=role, text=content)
    return Message(role=role, parts=content)
