"""The messages of a request to Cohere: turns into roles, plans and calls, results and what is attached to them.

Cohere has one place for the text of a turn that calls tools, the plan; results hold text and documents only, so images
in them move to the user's turn behind them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.cohere.citations import is_own, place_of, written_citation
from fluxrpc.protocols.cohere.documents import is_sayable, written_document
from fluxrpc.protocols.cohere.write_parts import Block, PartWriter
from fluxrpc.protocols.context import Context
from fluxrpc.protocols.media import announces_attachment
from fluxrpc.protocols.node import merge_extras
from fluxrpc.protocols.notes import Notes
from fluxrpc.protocols.tool_names import ToolNames
from fluxrpc.protocols.turns import Placed, Turn, nothing_said, settled
from fluxrpc.v1.message_pb2 import ROLE_ASSISTANT, ROLE_DEVELOPER, ROLE_SYSTEM, ROLE_TOOL, ROLE_USER, Message
from fluxrpc.v1.part_pb2 import TEXT_PHASE_PLAN, ToolCall, ToolResult
from fluxrpc.v1.protocol_pb2 import PROTOCOL_COHERE

__all__ = ["MessageWriter", "written_arguments"]

_ROLES: Final = {
    ROLE_SYSTEM: "system",
    ROLE_DEVELOPER: "system",
    ROLE_USER: "user",
    ROLE_ASSISTANT: "assistant",
    ROLE_TOOL: "tool",
}
_ERROR: Final = "Error: "
_NO_ARGUMENTS: Final = "{}"


def written_arguments(call: ToolCall) -> str:
    """The arguments of a call; free text as the one property of the function that stands for a custom tool."""
    if call.HasField("custom_text"):
        return msgspec.json.encode({"input": call.custom_text}).decode()
    return call.arguments_json or _NO_ARGUMENTS


class MessageWriter:
    """Writes the messages of one request."""

    def __init__(self, context: Context, notes: Notes, names: ToolNames) -> None:
        self._notes = notes
        self._names = names
        self._is_own = context.caller is Protocol.COHERE
        self._parts = PartWriter(notes, is_own=self._is_own)
        self._messages: list[Block] = []
        self._attached: list[Block] = []

    @property
    def documents(self) -> list[Block]:
        """What had to move out of the messages."""
        return self._parts.documents

    def written(self, messages: Sequence[Message]) -> list[Block]:
        """The messages.

        Raises:
            InvalidRequest: none of them says anything.
            NotExpressible: what they say cannot be said here.
        """
        for turn in self._turns(messages):
            if turn.role not in (ROLE_USER, ROLE_TOOL):
                self._add_attached()
            write = self._write_results if turn.role == ROLE_TOOL else self._write_turn
            write(turn)
        self._add_attached()
        if not self._messages and not self._is_own:
            raise nothing_said(self._notes)
        return self._messages

    def _turns(self, messages: Sequence[Message]) -> list[Turn]:
        """As they came where the caller speaks Cohere; else settled, and without a beginning of the answer."""
        if self._is_own:
            return [_as_it_is(message, f"messages[{index}]") for index, message in enumerate(messages)]
        turns = settled(messages, self._notes)
        if turns and turns[-1].role == ROLE_ASSISTANT and not _calls(turns[-1]):
            self._notes.dropped("PREFILL", turns.pop().path)
        return turns

    def _write_turn(self, turn: Turn) -> None:
        fields: Block = {"role": _ROLES[turn.role]}
        message = turn.messages[0]
        if message.text and not self._attached:
            fields["content"] = message.text
        elif turn.role == ROLE_ASSISTANT:
            fields |= self._answer(turn)
        else:
            self._parts.moves_documents = any(not placed.part.HasField("document") for placed in turn.parts)
            blocks = self._attached + self._blocks(turn, turn.parts)
            self._attached = []
            if blocks or self._is_own:
                fields["content"] = blocks or ""
        if len(fields) == 1 and not self._is_own:
            self._notes.dropped("EMPTY_CONTENT", turn.path)
            return
        if turn.role == ROLE_DEVELOPER:
            self._notes.approximated("INSTRUCTION_RANK", turn.path)
        self._finish(turn, fields)

    def _finish(self, turn: Turn, fields: Block) -> None:
        for message in turn.messages:
            if message.name:
                self._notes.dropped("PARTICIPANT_NAME", f"{turn.path}.name")
            if extras := message.extras:
                self._notes.foreign_extras(extras, PROTOCOL_COHERE, turn.path)
                if message.role == turn.role:
                    merge_extras(fields, extras, PROTOCOL_COHERE)
        self._messages.append(fields)

    def _blocks(self, turn: Turn, parts: Sequence[Placed]) -> list[Block]:
        blocks = (self._parts.block(placed, turn.role) for placed in parts)
        return [block for block in blocks if block is not None]

    # --- what the model said ---

    def _answer(self, turn: Turn) -> Block:
        """Plan, content, calls and citations of an earlier answer."""
        calls = _calls(turn)
        plan: list[str] = []
        content: list[Block] = []
        citations: list[Block] = []
        for placed in turn.parts:
            part = placed.part
            if part.HasField("tool_call"):
                continue
            block = self._parts.block(placed, turn.role)
            if block is None:
                continue
            is_plan = part.HasField("text") and (part.phase == TEXT_PHASE_PLAN or (bool(calls) and not self._is_own))
            offset = sum(map(len, plan))
            (plan.append(part.text) if is_plan else content.append(block))
            citations += self._citations(placed, None if is_plan else len(content) - 1, offset)
        found = {
            "tool_plan": "".join(plan),
            "content": content,
            "tool_calls": [self._call(placed) for placed in calls],
            "citations": citations,
        }
        fields = {key: value for key, value in found.items() if value}
        return {"tool_plan": ""} | fields if plan else fields

    def _citations(self, placed: Placed, content_index: int | None, offset: int) -> list[Block]:
        part = placed.part
        if not part.citations:
            return []
        if not self._is_own and not all(map(is_own, part.citations)):
            self._notes.dropped("CITATION_HISTORY", f"{placed.path}.citations")
            return []
        place = place_of(part, content_index, offset)
        return [written_citation(citation, place) for citation in part.citations]

    def _call(self, placed: Placed) -> Block:
        call = placed.part.tool_call
        name = call.name if self._is_own else self._names.written(call.name, f"{placed.path}.tool_call.name")
        function = {"name": name}
        if not self._is_own or call.arguments_json:
            function["arguments"] = written_arguments(call)
        elif call.HasField("arguments_json"):
            function["arguments"] = ""
        fields: Block = {"id": call.id, "type": "function", "function": function}
        self._parts.note_rest(placed, fields)
        return fields

    # --- results ---

    def _write_results(self, turn: Turn) -> None:
        for placed in turn.parts:
            if not placed.part.HasField("tool_result"):
                self._notes.dropped("RAW_PART", placed.path)
                continue
            result = placed.part.tool_result
            fields: Block = {"role": "tool", "tool_call_id": result.call_id, "content": self._output(result, placed)}
            self._parts.note_rest(placed, fields)
            self._finish(turn, fields)

    def _output(self, result: ToolResult, placed: Placed) -> str | list[Block]:
        prefix = ""
        if result.is_error:
            self._notes.approximated("TOOL_RESULT_ERROR", f"{placed.path}.tool_result.is_error")
            prefix = _ERROR
        if result.WhichOneof("output") != "parts":
            return prefix + (result.object_json or result.text)
        blocks: list[Block] = [{"type": "text", "text": prefix}] if prefix else []
        attached = 0
        is_announced = announces_attachment(part.text for part in result.parts.parts)
        for index, part in enumerate(result.parts.parts):
            inner = Placed(part=part, path=f"{placed.path}.tool_result.parts.parts[{index}]")
            if part.HasField("image"):
                attached += 1
                mark = self._attach(inner, attached)
                blocks += [] if is_announced else mark
            else:
                blocks += self._result_block(inner)
        return blocks or ([] if self._is_own else "")

    def _attach(self, placed: Placed, number: int) -> list[Block]:
        """An image of a result moves behind it."""
        image = self._parts.image(placed.part.image, placed.path)
        if image is None:
            return []
        self._notes.emulated("TOOL_RESULT_MEDIA", placed.path)
        self._attached.append(image)
        text = f"[image {number} of this result is attached in the next user message]"
        return [{"type": "text", "text": text}]

    def _result_block(self, placed: Placed) -> list[Block]:
        part = placed.part
        if part.HasField("document") and is_sayable(part.document):
            block: Any = {"type": "document", "document": written_document(part.document)}
            self._parts.note_document(part.document, placed.path)
            self._parts.note_rest(placed, block)
            return [block]
        if part.HasField("text") or part.HasField("raw"):
            written = self._parts.block(placed, ROLE_TOOL)
            return [] if written is None else [written]
        self._notes.dropped("TOOL_RESULT_MEDIA", placed.path)
        return []

    def _add_attached(self) -> None:
        """What results had attached, where no user's turn follows them."""
        if self._attached:
            self._messages.append({"role": "user", "content": self._attached})
            self._attached = []


def _as_it_is(message: Message, path: str) -> Turn:
    parts = [Placed(part=part, path=f"{path}.parts[{index}]") for index, part in enumerate(message.parts)]
    return Turn(role=message.role, parts=parts, messages=[message], path=path)


def _calls(turn: Turn) -> list[Placed]:
    return [placed for placed in turn.parts if placed.part.HasField("tool_call")]
