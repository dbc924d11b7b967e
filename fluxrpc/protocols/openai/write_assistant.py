"""An assistant message of OpenAI Chat Completions: its parts, which the IR keeps in order, sorted into their fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from fluxrpc.protocols.envelope import is_replayable
from fluxrpc.protocols.openai.reasoning_fields import BLOCKS, own_json, signature_text
from fluxrpc.protocols.openai.words import OPENAI
from fluxrpc.protocols.openai.write_parts import Piece, piece_of
from fluxrpc.protocols.openai.writing import Writing, own_keys
from fluxrpc.protocols.turns import Placed
from fluxrpc.v1.part_pb2 import Part

__all__ = ["assistant_message", "content_of"]

Fields = dict[str, Any]
_UNSAYABLE: Mapping[str, str] = {
    "image": "IMAGE",
    "audio": "AUDIO",
    "video": "VIDEO",
    "document": "DOCUMENT",
    "server_tool_call": "SERVER_TOOL_HISTORY",
    "server_tool_result": "SERVER_TOOL_HISTORY",
    "compaction": "COMPACTION",
}
"""Kinds of part that an answer can hold elsewhere, and what a note calls them."""


def content_of(pieces: Sequence[Piece], *, is_list: bool = False) -> str | list[Piece]:
    """A plain string where there is nothing, or one plain text that need not stay a list; else the pieces."""
    if not pieces:
        return ""
    if len(pieces) == 1 and not is_list:
        piece = pieces[0]
        if isinstance(piece, dict) and piece.keys() == _PLAIN:
            return str(piece["text"])
    return list(pieces)


_PLAIN = frozenset({"type", "text"})


def assistant_message(parts: Sequence[Placed], writing: Writing, *, is_list: bool = False) -> Fields:
    """The message, without its extras. Where there is nothing to say, `content` is null beside calls, else empty.

    `is_list` keeps one plain text a list, where no calls stand beside it.
    """
    message = _Message(writing, is_list=is_list)
    for placed in parts:
        message.add(placed)
    return message.fields()


class _Message:
    def __init__(self, writing: Writing, *, is_list: bool) -> None:
        self._writing = writing
        self._pieces: list[Piece] = []
        self._was_list = is_list
        self._is_list = False
        self._refusals: list[str] = []
        self._thoughts: list[Placed] = []
        self._calls: list[Fields] = []
        self._audio: Fields | None = None

    def add(self, placed: Placed) -> None:
        """Sort one part in."""
        part = placed.part
        kind = str(part.WhichOneof("kind"))
        if kind == "reasoning":
            self._thoughts.append(placed)
        elif kind == "tool_call":
            if "function_call" not in own_keys(part.extras):
                self._calls.append(_call(part, placed.path, self._writing))
        elif kind == "refusal" and "type" not in own_keys(part.extras):
            self._refusals.append(part.refusal)
        elif kind == "audio" and part.audio.file_id and self._writing.is_own:
            self._audio = {"id": part.audio.file_id}
            self._writing.merge(self._audio, part.extras, placed.path)
        elif kind == "compaction" and part.compaction.text:
            self._writing.notes.approximated("COMPACTION", placed.path)
            self._pieces.append({"type": "text", "text": part.compaction.text})
        elif kind in _UNSAYABLE and not self._writing.is_own:
            self._writing.notes.dropped(_UNSAYABLE[kind], placed.path)
        else:
            self._add_piece(placed)

    def _add_piece(self, placed: Placed) -> None:
        piece = piece_of(placed.part, placed.path, self._writing)
        if piece is not None:
            self._pieces.append(piece)
            self._is_list |= "type" in own_keys(placed.part.extras)

    def fields(self) -> Fields:
        """What was sorted in."""
        message: Fields = {"role": "assistant"}
        if self._pieces:
            is_list = self._is_list or (self._was_list and not self._calls)
            message["content"] = content_of(self._pieces, is_list=is_list)
        elif not self._writing.is_own:
            message["content"] = None if self._calls or self._refusals else ""
        if self._refusals:
            message["refusal"] = "\n".join(self._refusals)
        if self._audio is not None:
            message["audio"] = self._audio
        if not self._writing.is_own:
            message |= _thought_fields(self._thoughts, self._writing, has_calls=bool(self._calls))
        if self._calls:
            message["tool_calls"] = self._calls
        return message


def _call(part: Part, path: str, writing: Writing) -> Fields:
    call = part.tool_call
    name = writing.tool_name(call.name, f"{path}.tool_call.name")
    written: Fields = {"id": call.id}
    if call.HasField("custom_text") and (writing.dialect.is_original or writing.is_own):
        written |= {"type": "custom", "custom": {"name": name, "input": call.custom_text}}
    elif call.HasField("custom_text"):
        arguments = msgspec.json.encode({"input": call.custom_text}).decode()
        written |= {"type": "function", "function": {"name": name, "arguments": arguments}}
    else:
        function: Fields = {"name": name}
        if not writing.is_own:
            function["arguments"] = call.arguments_json if call.arguments_json.strip() else "{}"
        elif call.HasField("arguments_json"):
            function["arguments"] = call.arguments_json
        written |= {"type": "function", "function": function}
    if part.opaque and not writing.is_own:
        signature = signature_text(part) if writing.dialect.thought_signatures else ""
        if signature:
            written["extra_content"] = {"google": {"thought_signature": signature}}
        else:
            writing.notes.dropped("REASONING_STATE", f"{path}.opaque")
    if part.HasField("cache_breakpoint"):
        writing.keeps_breakpoint(path)
    writing.merge(written, part.extras, path)
    return written


def _thought_fields(thoughts: Sequence[Placed], writing: Writing, *, has_calls: bool) -> Fields:
    """Earlier reasoning, where the copy wants it back."""
    dialect = writing.dialect
    if not dialect.reasoning_field or (dialect.reasoning_only_with_calls and not has_calls):
        for placed in thoughts:
            writing.notes.dropped("REASONING_HISTORY", placed.path)
        return {}
    texts: list[str] = []
    fields: Fields = {}
    for placed in thoughts:
        reasoning = placed.part.reasoning
        texts.extend(text for text in (reasoning.text, *reasoning.summaries) if text)
        for state in placed.part.opaque:
            key = BLOCKS if state.kind_raw == BLOCKS else "reasoning_details"
            known = dialect.thinking_blocks if key == BLOCKS else dialect.reasoning_details
            record = own_json(state)
            if known and record is not None and is_replayable(state, OPENAI, writing.context.target.service):
                fields.setdefault(key, []).append(record)
            else:
                writing.notes.dropped("REASONING_STATE", f"{placed.path}.opaque")
        writing.notes.foreign_extras(placed.part.extras, OPENAI, placed.path)
    if texts:
        fields[dialect.reasoning_field] = "\n\n".join(texts)
    return fields
