"""The conversation of a request: `system` and `messages`.

Instructions at the start go to `system`. Speakers alternate on the wire, results of tools stand first in the user's
message, and instructions in the middle stay where they are: as a message of their own where the model takes that, else
as marked text of the user. Moving them to the start would change what they mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from fluxrpc.protocols.anthropic.draft import Block, Draft
from fluxrpc.protocols.anthropic.words import ANTHROPIC, CONTINUED
from fluxrpc.protocols.anthropic.write_parts import Written, block_of, parts_of, plain_text
from fluxrpc.protocols.node import merge_extras
from fluxrpc.protocols.turns import Placed, Turn, leading_instructions, nothing_said, settled
from fluxrpc.v1.message_pb2 import (
    CITATION_MODE_OFF,
    OUTPUT_KIND_JSON_SCHEMA,
    ROLE_ASSISTANT,
    ROLE_DEVELOPER,
    ROLE_SYSTEM,
    ROLE_TOOL,
    ROLE_USER,
    Message,
)
from fluxrpc.v1.part_pb2 import Part

__all__ = ["write_conversation"]

MARKER = "[system instruction] "
"""Begins the text of the user that stands for instructions in the middle of a conversation."""
OPENING = "(The conversation begins with your own message.)"
"""What the user says where the model would speak first."""

_ROLES = {
    ROLE_SYSTEM: "system",
    ROLE_DEVELOPER: "system",
    ROLE_USER: "user",
    ROLE_TOOL: "user",
    ROLE_ASSISTANT: "assistant",
}


class _Said(Struct, kw_only=True):
    """One message as it is written."""

    role: str
    blocks: list[Any]
    path: str
    messages: list[Message]
    is_string: bool = False
    """The content was a string, not a list of parts; it stays one."""


def write_conversation(draft: Draft) -> None:
    """Fill `system` and `messages`. Tools come before: their breakpoints count first.

    Raises:
        InvalidRequest: nobody says anything.
        NotExpressible: what was said cannot be said here.
    """
    messages = draft.request.messages
    first = leading_instructions(messages)
    if first == len(messages) and not draft.exact:
        first = 0  # the model wants to be asked something
    _write_system(draft, messages[:first])
    said = _exact(draft, messages, first) if draft.exact else _joined(_settled(draft, first))
    said = _with_late_instructions(draft, said)
    _begin(draft, said)
    _add_documents(draft, said)
    _end(draft, said)
    draft.body["messages"] = [_written(draft, each) for each in said]


# --- instructions at the start ---


def _write_system(draft: Draft, messages: Sequence[Message]) -> None:
    blocks: list[Any] = []
    for index, message in enumerate(messages):
        blocks.extend(_instructions(draft, message, f"messages[{index}]"))
        _note_message(draft, message, f"messages[{index}]")
    blocks.extend({"type": "text", "text": sentence} for sentence in draft.sentences)
    if draft.exact and not blocks and messages:
        draft.body["system"] = ""
    elif blocks:
        is_string = len(blocks) == 1 and _is_string(messages) and plain_text(blocks[0]) is not None
        draft.body["system"] = blocks[0]["text"] if is_string else blocks


def _instructions(draft: Draft, message: Message, path: str) -> list[Written]:
    """Blocks of text: nothing else may stand there."""
    blocks: list[Written] = []
    for index, part in enumerate(parts_of(message)):
        place = f"{path}.text" if message.text else f"{path}.parts[{index}]"
        if part.WhichOneof("kind") in ("text", "raw"):
            blocks.append(block_of(draft, part, place, ROLE_SYSTEM))
        else:
            draft.notes.dropped("INSTRUCTION_MEDIA", place)
    return [block for block in blocks if block is not None]


# --- turns ---


def _settled(draft: Draft, first: int) -> list[_Said]:
    turns = settled(draft.request.messages, draft.notes, first=first)
    return [_said(draft, turn) for turn in turns]


def _said(draft: Draft, turn: Turn) -> _Said:
    if not turn.parts:
        draft.notes.dropped("EMPTY_CONTENT", turn.path)
    blocks = [block_of(draft, placed.part, placed.path, turn.role) for placed in turn.parts]
    for message in turn.messages:
        _note_message(draft, message, turn.path)
    return _Said(
        role=_ROLES[turn.role],
        blocks=[block for block in blocks if block is not None],
        path=turn.path,
        messages=turn.messages,
        is_string=_is_string(turn.messages),
    )


def _exact(draft: Draft, messages: Sequence[Message], first: int) -> list[_Said]:
    """The caller's own messages: what was split by the reader is put together, and nothing else."""
    said: list[_Said] = []
    for index in range(first, len(messages)):
        message = messages[index]
        path = f"messages[{index}]"
        places = [
            Placed(part=part, path=f"{path}.text" if message.text else f"{path}.parts[{at}]")
            for at, part in enumerate(parts_of(message))
        ]
        blocks = [block_of(draft, placed.part, placed.path, message.role) for placed in places]
        kept = [block for block in blocks if block is not None]
        if said and any(extra.key == CONTINUED for extra in message.extras):
            said[-1].blocks += kept
        else:
            said.append(
                _Said(
                    role=_ROLES[message.role],
                    blocks=kept,
                    path=path,
                    messages=[message],
                    is_string=_is_string([message]),
                )
            )
    return said


def _joined(said: Sequence[_Said]) -> list[_Said]:
    """Adjacent messages of one speaker as one; empty ones are left out."""
    joined: list[_Said] = []
    for each in said:
        if not each.blocks:
            continue
        if joined and joined[-1].role == each.role:
            joined[-1].blocks += each.blocks
            joined[-1].messages += each.messages
            joined[-1].is_string = False
        else:
            joined.append(each)
    return joined


def _with_late_instructions(draft: Draft, said: list[_Said]) -> list[_Said]:
    has_changed = False
    for index, each in enumerate(said):
        if each.role != "system" or (draft.gates.late_system and (draft.exact or _may_stand(said, index))):
            continue
        draft.notes.emulated("LATE_INSTRUCTIONS", each.path)
        each.role = "user"
        for block in each.blocks:
            if isinstance(block, dict) and "text" in block:
                block["text"] = MARKER + block["text"]
        has_changed = True
    return _joined(said) if has_changed and not draft.exact else said


def _may_stand(said: Sequence[_Said], index: int) -> bool:
    """Behind the user, and at the end or before the model
    (https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages).
    """
    is_behind_user = index > 0 and said[index - 1].role == "user"
    return is_behind_user and (index + 1 == len(said) or said[index + 1].role == "assistant")


# --- the first and the last word ---


def _begin(draft: Draft, said: list[_Said]) -> None:
    if draft.exact:
        return
    if not said:
        raise nothing_said(draft.notes)
    if said[0].role == "assistant":
        draft.notes.injected("FIRST_TURN", said[0].path)
        block: Block = {"type": "text", "text": OPENING}
        said.insert(0, _Said(role="user", blocks=[block], path=said[0].path, messages=[]))


def _end(draft: Draft, said: list[_Said]) -> None:
    """An answer that is begun for the model: where it cannot go on from there, it is left out."""
    if len(said) < 2 or said[-1].role != "assistant" or _awaits(said[-1].blocks[-1:]):
        return
    is_bound = draft.request.output_format.kind == OUTPUT_KIND_JSON_SCHEMA and not draft.exact
    if not draft.gates.prefill or is_bound:
        draft.notes.dropped("PREFILL", said.pop().path)
        return
    text = plain_text(said[-1].blocks[-1]) if said[-1].blocks else None
    if text is not None and not draft.exact and text != text.rstrip():
        said[-1].blocks[-1] = {"type": "text", "text": text.rstrip()}
        draft.notes.dropped("EMPTY_CONTENT", said[-1].path, "an answer that is begun may not end in white space")


def _awaits(blocks: Sequence[Any]) -> bool:
    """Whether the provider goes on by itself: its tool was called, or it gave a result."""
    return any(
        isinstance(block, msgspec.Raw) or block["type"] not in ("text", "thinking", "redacted_thinking", "tool_use")
        for block in blocks
    )


def _add_documents(draft: Draft, said: list[_Said]) -> None:
    """Documents for the whole conversation stand before what the user says last (`_begin` saw to it that he does)."""
    request = draft.request
    if not request.documents:
        return
    # One cannot have both citations and an answer of a schema.
    can_cite = request.citation_mode != CITATION_MODE_OFF and not request.output_format.schema_json
    blocks = []
    for index, document in enumerate(request.documents):
        part = Part(document=document)
        if not document.HasField("citations"):
            part.document.citations = can_cite
        draft.notes.reordered("RAG_DOCUMENTS", f"documents[{index}]")
        blocks.append(block_of(draft, part, f"documents[{index}]", ROLE_USER))
    kept = [block for block in blocks if block is not None]
    last = [each for each in said if each.role == "user"][-1]
    results = sum(isinstance(block, dict) and block["type"] == "tool_result" for block in last.blocks)
    last.blocks[results:results] = kept
    last.is_string = False


# --- one message ---


def _written(draft: Draft, said: _Said) -> Block:
    content: Any = said.blocks
    if said.is_string and len(said.blocks) < 2:
        content = plain_text(said.blocks[0]) if said.blocks else ""
    message: Block = {"role": said.role, "content": content}
    if draft.exact or (len(said.messages) == 1 and said.messages[0].extras):
        extras = [extra for each in said.messages for extra in each.extras if extra.key != CONTINUED]
        merge_extras(message, extras, ANTHROPIC)
    return message


def _is_string(messages: Sequence[Message]) -> bool:
    return len(messages) == 1 and not messages[0].parts


def _note_message(draft: Draft, message: Message, path: str) -> None:
    if message.name:
        draft.notes.dropped("PARTICIPANT_NAME", f"{path}.name")
    if extras := message.extras:
        draft.notes.foreign_extras(extras, ANTHROPIC, path)
