"""Messages of the IR as those of OpenAI Chat Completions.

Callers of this protocol get their messages back one for one. For others the turns are settled first (results behind
their calls), one message is written for each result, and media of results move to the user's next message.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.media import announces_attachment
from fluxrpc.protocols.node import merge_extras
from fluxrpc.protocols.openai.words import OPENAI
from fluxrpc.protocols.openai.write_assistant import assistant_message, content_of
from fluxrpc.protocols.openai.write_parts import Piece, piece_of
from fluxrpc.protocols.openai.writing import Writing, own_keys
from fluxrpc.protocols.turns import Placed, Turn, nothing_said, settled
from fluxrpc.v1.message_pb2 import ROLE_ASSISTANT, ROLE_DEVELOPER, ROLE_SYSTEM, ROLE_TOOL, ROLE_USER, Message, Role
from fluxrpc.v1.part_pb2 import Part, ToolResult

__all__ = ["write_messages"]

Fields = dict[str, Any]
_ROLE_WORDS: Mapping[Role.ValueType, str] = {
    ROLE_SYSTEM: "system",
    ROLE_DEVELOPER: "developer",
    ROLE_USER: "user",
}
_MEDIA = frozenset({"image", "audio", "video"})
_HAVE_STRINGS_AND_LISTS = frozenset({Protocol.ANTHROPIC, Protocol.COHERE, Protocol.RESPONSES})
_NEVER_BEGIN = frozenset({Protocol.COHERE, Protocol.RESPONSES})
"""Protocols where an assistant message at the end means nothing special either."""
_WRAPPERS = frozenset({"output", "error"})
_MEDIA_NAMES: Mapping[str, str] = {"image": "image", "audio": "recording", "video": "video", "document": "document"}
_ATTACHED = "[{kind} {number} of this result is attached in the next user message]"


def write_messages(writing: Writing) -> list[Fields]:
    """All messages, in order."""
    request = writing.request
    if writing.is_own:
        return [_own_message(message, f"messages[{at}]", writing) for at, message in enumerate(request.messages)]
    written: list[Fields] = []
    attached: list[Piece] = []
    for turn in _without_prefill(settled(request.messages, writing.notes), writing):
        if turn.role == ROLE_TOOL:
            written.extend(_results(turn, attached, writing))
        else:
            message = _turn_message(turn, writing)
            if attached:
                _attach(written, message, attached)
                attached = []
            written.append(message)
        for source in turn.messages:
            writing.merge(written[-1] if written else {}, source.extras, turn.path)
    if attached:
        written.append({"role": "user", "content": attached})
    _add_documents(written, writing)
    if not written:
        raise nothing_said(writing.notes)
    return written


def _own_message(message: Message, path: str, writing: Writing) -> Fields:
    """A message of a caller of this protocol; its extras know what it was like."""
    spelt = own_keys(message.extras)
    if message.role == ROLE_TOOL:
        result = message.parts[0].tool_result
        written: Fields = {"role": "tool"}
        if "role" not in spelt:
            written["tool_call_id"] = result.call_id
        if result.HasField("parts"):
            pieces = [piece_of(part, path, writing) for part in result.parts.parts]
            written["content"] = [piece for piece in pieces if piece is not None]
        elif result.HasField("text"):
            written["content"] = result.text
    else:
        parts = message.parts or ([Part(text=message.text)] if message.text else [])
        placed = [Placed(part=part, path=f"{path}.parts[{index}]") for index, part in enumerate(parts)]
        if message.role == ROLE_ASSISTANT:
            written = assistant_message(placed, writing)
            if "content" in spelt:
                written.pop("content", None)
        else:
            written = {"role": _ROLE_WORDS[message.role]}
            pieces = [piece_of(each.part, each.path, writing) for each in placed]
            if message.text:
                written["content"] = message.text
            elif pieces:
                written["content"] = [piece for piece in pieces if piece is not None]
        if message.name:
            written["name"] = message.name
    merge_extras(written, message.extras, OPENAI)
    return written


def _turn_message(turn: Turn, writing: Writing) -> Fields:
    if turn.role == ROLE_ASSISTANT:
        written = assistant_message(turn.parts, writing, is_list=_was_list(turn, writing))
    else:
        pieces = []
        for placed in turn.parts:
            kind = placed.part.WhichOneof("kind")
            if turn.role != ROLE_USER and kind in _MEDIA:
                writing.notes.dropped("INSTRUCTION_MEDIA", placed.path)
                continue
            pieces.append(piece_of(placed.part, placed.path, writing))
        found = [piece for piece in pieces if piece is not None]
        written = {"role": _role_word(turn, writing), "content": content_of(found, is_list=_was_list(turn, writing))}
    for message in turn.messages:
        if message.name:
            written["name"] = message.name
            break
    return written


def _was_list(turn: Turn, writing: Writing) -> bool:
    """Whether content is written as a list though a string would do: it was one, where the caller had the choice.

    Copies get strings, for not all of them read a list.
    """
    had_choice = writing.context.caller in _HAVE_STRINGS_AND_LISTS
    return had_choice and writing.dialect.is_original and len(turn.messages) == 1 and bool(turn.messages[0].parts)


def _role_word(turn: Turn, writing: Writing) -> str:
    """Reasoning models call instructions `developer`; most copies do not know that role."""
    knows_developer = writing.dialect.developer_role
    if turn.role == ROLE_SYSTEM and knows_developer and writing.gates.is_reasoning:
        return "developer"
    if turn.role == ROLE_DEVELOPER and not knows_developer:
        writing.notes.approximated("INSTRUCTION_RANK", turn.path)
        return "system"
    return _ROLE_WORDS[turn.role]


def _results(turn: Turn, attached: list[Piece], writing: Writing) -> Iterator[Fields]:
    """One message for each result; what only one protocol knows beside them is left out."""
    for placed in turn.parts:
        if placed.part.HasField("tool_result"):
            yield _result(placed, attached, writing)
        else:
            writing.notes.dropped("RAW_PART", placed.path)


def _result(placed: Placed, attached: list[Piece], writing: Writing) -> Fields:
    """A result; its media are put aside for the user's next message."""
    result = placed.part.tool_result
    texts = _result_texts(result, placed.path, attached, writing)
    if result.is_error:
        writing.notes.approximated("TOOL_RESULT_ERROR", f"{placed.path}.tool_result.is_error")
        texts[0] = f"Error: {texts[0]}"
    if placed.part.HasField("cache_breakpoint"):
        writing.keeps_breakpoint(placed.path)
    writing.notes.foreign_extras(placed.part.extras, OPENAI, placed.path)
    return {"role": "tool", "tool_call_id": result.call_id, "content": "\n".join(texts)}


def _result_texts(result: ToolResult, path: str, attached: list[Piece], writing: Writing) -> list[str]:
    if result.HasField("object_json"):
        return [_object_text(result.object_json)]
    if not result.HasField("parts"):
        return [result.text]
    texts: list[str] = []
    marks: dict[int, str] = {}
    """What stands for media, by its place among the texts."""
    counts: dict[str, int] = {}
    for index, part in enumerate(result.parts.parts):
        place = f"{path}.tool_result.parts.parts[{index}]"
        piece = piece_of(part, place, writing)
        if not isinstance(piece, dict):
            continue
        if "text" in piece:
            texts.append(piece["text"])
            continue
        kind = _MEDIA_NAMES[str(part.WhichOneof("kind"))]
        counts[kind] = counts.get(kind, 0) + 1
        writing.notes.emulated("TOOL_RESULT_MEDIA", place)
        marks[len(texts)] = _ATTACHED.format(kind=kind, number=counts[kind])
        texts.append("")
        attached.append(piece)
    if announces_attachment(texts):
        return [text for at, text in enumerate(texts) if at not in marks]
    return [marks.get(at, text) for at, text in enumerate(texts)] or [""]


def _object_text(text: str) -> str:
    """What an object that only wraps a string (`output`, `error`) holds; else the object as it stands."""
    fields = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    if len(fields) == 1 and fields.keys() <= _WRAPPERS:
        (value,) = fields.values()
        if bytes(value)[:1] == b'"':
            return msgspec.json.decode(value, type=str)
    return text


def _attach(written: list[Fields], message: Fields, attached: list[Piece]) -> None:
    """Media of results stand at the head of the user's next message, or in one of their own."""
    if message["role"] != "user":
        written.append({"role": "user", "content": attached})
    elif isinstance(message["content"], str):
        texts = [{"type": "text", "text": message["content"]}] if message["content"] else []
        message["content"] = [*attached, *texts]
    else:
        message["content"] = [*attached, *message["content"]]


def _without_prefill(turns: list[Turn], writing: Writing) -> list[Turn]:
    """The turns without an answer that is begun at the end: the model would write a new one, not go on."""
    if len(turns) > 1 and turns[-1].role == ROLE_ASSISTANT and writing.context.caller not in _NEVER_BEGIN:
        said = {placed.part.WhichOneof("kind") for placed in turns[-1].parts}
        if "text" in said and "tool_call" not in said:
            writing.notes.dropped("PREFILL", turns[-1].path)
            return turns[:-1]
    return turns


def _add_documents(written: list[Fields], writing: Writing) -> None:
    """Documents of the whole conversation go to the head of the user's last message."""
    documents = writing.request.documents
    if not documents:
        return
    writing.notes.approximated("RAG_DOCUMENTS", "documents")
    pieces = [
        piece_of(Part(document=document), f"documents[{index}]", writing) for index, document in enumerate(documents)
    ]
    found = [piece for piece in pieces if piece is not None]
    last = next((message for message in reversed(written) if message["role"] == "user"), None)
    if last is None:
        written.append({"role": "user", "content": found})
    else:
        _attach(written, last, found)
