"""Messages as `systemInstruction` and `contents`: two roles that take turns, results at once behind their calls."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from fluxrpc.protocols.context import Context
from fluxrpc.protocols.gemini.wire import CONTINUED, GEMINI, SENTINEL
from fluxrpc.protocols.gemini.write_parts import PartWriter, WirePart
from fluxrpc.protocols.node import SPELLING, merge_extras
from fluxrpc.protocols.notes import Notes
from fluxrpc.protocols.tool_names import ToolNames
from fluxrpc.protocols.turns import Placed, Turn, joined_turns, leading_instructions, nothing_said, settled
from fluxrpc.v1.message_pb2 import (
    ROLE_ASSISTANT,
    ROLE_DEVELOPER,
    ROLE_SYSTEM,
    ROLE_USER,
    Message,
    MessageRequest,
)
from fluxrpc.v1.part_pb2 import Part

__all__ = ["write_conversation"]

_INSTRUCTIONS = frozenset({ROLE_SYSTEM, ROLE_DEVELOPER})
_LATE_MARK = "[system instruction] "
_CONTINUED = SPELLING + CONTINUED


class _Content:
    """One content of the body, and where it came from."""

    def __init__(self, turn: Turn, parts: list[WirePart]) -> None:
        self.role = "model" if turn.role == ROLE_ASSISTANT else "user"
        self.parts = parts
        self.path = turn.path
        self.messages = turn.messages

    @property
    def is_result(self) -> bool:
        """Whether it holds results of tools and nothing else."""
        return all("functionResponse" in part for part in self.parts)

    def written(self) -> dict[str, Any]:
        wire: dict[str, Any] = {"role": self.role, "parts": self.parts}
        for message in self.messages:
            if message.extras:
                merge_extras(wire, _without_mark(message), GEMINI)
        return wire


def write_conversation(
    body: dict[str, Any], request: MessageRequest, context: Context, notes: Notes, names: ToolNames
) -> None:
    """Write both fields.

    Raises:
        InvalidRequest: nobody says anything.
        NotExpressible: what was said cannot be said here.
    """
    writer = PartWriter(context, notes, names)
    for index, message in enumerate(request.messages):
        if message.name:
            notes.dropped("PARTICIPANT_NAME", f"messages[{index}].name")
        if extras := message.extras:
            notes.foreign_extras(extras, GEMINI, f"messages[{index}]")
    first = leading_instructions(request.messages)
    if first == len(request.messages) and not writer.own:
        first = 0  # Gemini wants to be asked something
    _write_instruction(body, request.messages[:first], writer, notes)
    if writer.own:
        turns = _own_turns(request.messages, first)
    else:
        settled_turns = settled(request.messages, notes, first=first)
        turns = joined_turns(_without_late(turn, notes) for turn in settled_turns)
    contents = _contents(turns, writer, notes)
    _mend_ends(contents, context, notes, own=writer.own)
    if request.documents:
        _write_documents(contents, request, writer, notes)
    if not contents:
        raise nothing_said(notes)
    if context.target.gates.needs_signatures:
        _sign(contents, notes)
    body["contents"] = [content.written() for content in contents]


def _write_instruction(body: dict[str, Any], messages: Sequence[Message], writer: PartWriter, notes: Notes) -> None:
    if not messages:
        return
    parts: list[WirePart] = []
    for index, message in enumerate(messages):
        for placed in _placed(message, f"messages[{index}]"):
            if placed.part.HasField("text") or writer.own:
                parts.extend(writer.written(placed))
            else:
                notes.dropped("INSTRUCTION_MEDIA", placed.path)
    if len({message.role for message in messages}) > 1:
        notes.approximated("INSTRUCTION_RANK", "messages")
    if not parts and not writer.own:
        return
    instruction: dict[str, Any] = {"parts": parts}
    for message in messages:
        if extras := message.extras:
            merge_extras(instruction, extras, GEMINI)
    body["systemInstruction"] = instruction


def _own_turns(messages: Sequence[Message], first: int) -> list[Turn]:
    """The contents as they were read."""
    turns: list[Turn] = []
    for index in range(first, len(messages)):
        message = messages[index]
        placed = _placed(message, f"messages[{index}]")
        if turns and any(extra.key == _CONTINUED for extra in message.extras):
            turns[-1].parts.extend(placed)
            turns[-1].role = ROLE_ASSISTANT if message.role == ROLE_ASSISTANT else turns[-1].role
        else:
            turns.append(Turn(role=message.role, parts=placed, messages=[message], path=f"messages[{index}]"))
    return turns


def _placed(message: Message, path: str) -> list[Placed]:
    if message.text:
        return [Placed(part=Part(text=message.text), path=f"{path}.text")]
    return [Placed(part=part, path=f"{path}.parts[{number}]") for number, part in enumerate(message.parts)]


def _without_late(turn: Turn, notes: Notes) -> Turn:
    """Instructions within the conversation: said by the user, with a mark. At the head they would mean another."""
    if turn.role not in _INSTRUCTIONS:
        return turn
    notes.emulated("LATE_INSTRUCTIONS", turn.path)
    turn.role = ROLE_USER
    for placed in turn.parts:
        if placed.part.HasField("text"):
            placed.part = Part(text=_LATE_MARK + placed.part.text, extras=placed.part.extras)
    return turn


def _contents(turns: Sequence[Turn], writer: PartWriter, notes: Notes) -> list[_Content]:
    """One for each turn that says something, or joined to the one before where that is of the same role."""
    contents: list[_Content] = []
    for turn in turns:
        parts = [part for placed in turn.parts for part in writer.written(placed)]
        if not parts:
            notes.dropped("EMPTY_CONTENT", turn.path)
            continue
        content = _Content(turn, parts)
        if not writer.own:
            if writer.moves_signatures:
                _move_signatures(parts)
            if contents and contents[-1].role == content.role:
                contents[-1].parts.extend(parts)
                continue
            if len(parts) > 1:
                parts.sort(key=lambda part: "functionResponse" not in part)
        contents.append(content)
    return contents


def _move_signatures(parts: list[WirePart]) -> None:
    """Signatures that other protocols carry on the reasoning go back to the part behind it, which they belong to."""
    for part, following in pairwise(parts):
        is_free = "thought" not in following and "thoughtSignature" not in following
        if is_free and "thought" in part and "thoughtSignature" in part:
            following["thoughtSignature"] = part.pop("thoughtSignature")
    parts[:] = [part for part in parts if part != {"text": "", "thought": True}]


def _mend_ends(contents: list[_Content], context: Context, notes: Notes, *, own: bool) -> None:
    """The user begins, and where the model does not go on from a beginning of its own, the user ends."""
    if contents and contents[-1].role == "model" and not context.target.gates.prefill:
        notes.dropped("PREFILL", contents.pop().path)
    if contents and contents[0].role == "model" and not own:
        notes.injected("FIRST_TURN", contents[0].path)
        turn = Turn(role=ROLE_USER, parts=[], messages=[], path="messages")
        contents.insert(0, _Content(turn, [{"text": " "}]))


def _write_documents(contents: list[_Content], request: MessageRequest, writer: PartWriter, notes: Notes) -> None:
    """Documents of the request: at the head of what the user said last, behind results."""
    asked = [content for content in contents if content.role == "user"]
    if not asked:
        return
    notes.approximated("RAG_DOCUMENTS", "documents")
    parts: list[WirePart] = []
    for number, document in enumerate(request.documents):
        parts.extend(writer.written(Placed(part=Part(document=document), path=f"documents[{number}]")))
    at = sum("functionResponse" in part for part in asked[-1].parts)
    asked[-1].parts[at:at] = parts


def _sign(contents: list[_Content], notes: Notes) -> None:
    """The first call of each step of the current turn must be signed; those before are not looked at."""
    asked = [number for number, each in enumerate(contents) if each.role == "user" and not each.is_result]
    for content in contents[(asked[-1] if asked else 0) :]:
        call = next((part for part in content.parts if "functionCall" in part), None)
        if call is not None and "thoughtSignature" not in call:
            call["thoughtSignature"] = SENTINEL
            notes.injected("REASONING_STATE", content.path)


def _without_mark(message: Message) -> list[Any]:
    return [extra for extra in message.extras if extra.key != _CONTINUED]
