"""The conversation to `input` of OpenAI Responses.

The pairing rule decides about ids: the API refuses an item by an id that was made after reasoning which does not come
along. So ids go out only behind reasoning that goes out too, and none is ever made up.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct, field

from fluxrpc.ir.build import parts_of
from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.context import Context
from fluxrpc.protocols.envelope import is_replayable
from fluxrpc.protocols.node import SPELLING, merge_extras, raw
from fluxrpc.protocols.notes import Notes
from fluxrpc.protocols.responses import write_items as items
from fluxrpc.protocols.responses.read_input import INSTRUCTIONS, ITEM_HEAD
from fluxrpc.protocols.responses.read_items import HOSTED_CALLS
from fluxrpc.protocols.responses.words import ITEM, PHASES, extras_of, find_extra
from fluxrpc.protocols.responses.write_content import ContentWriter, said
from fluxrpc.protocols.tool_names import ToolNames, written_call_id
from fluxrpc.protocols.turns import Placed, Turn, settled
from fluxrpc.v1 import message_pb2 as pb
from fluxrpc.v1 import part_pb2 as part_pb
from fluxrpc.v1.protocol_pb2 import PROTOCOL_RESPONSES, OpaqueState

__all__ = ["HistoryWriter", "is_instructions"]

_LEGAL_CALL_ID = re.compile(r"[!-~]{1,64}")
_SAID = frozenset({"text", "refusal"})
_PREFILLERS = frozenset({None, Protocol.ANTHROPIC, Protocol.GEMINI})
"""Callers with whom an assistant message at the end is the beginning of the answer."""
_ROLES = {pb.ROLE_SYSTEM: "system", pb.ROLE_DEVELOPER: "developer", pb.ROLE_USER: "user"}


def is_instructions(message: pb.Message) -> bool:
    """Whether the message was the field `instructions`."""
    extras = message.extras
    return bool(extras) and bool(find_extra(extras, SPELLING + INSTRUCTIONS))


class _Open(Struct, kw_only=True):
    """A message of the model that takes further pieces."""

    item: dict[str, Any]
    content: list[Any]
    item_id: str
    phase: tuple[int, str]


class HistoryWriter(Struct, kw_only=True):
    """Writes the items of one request."""

    context: Context
    notes: Notes
    names: ToolNames | None
    content: ContentWriter
    keeps_ids: bool = True
    custom_calls: set[str] = field(default_factory=set)

    @property
    def exact(self) -> bool:
        """The caller speaks this protocol."""
        return self.content.exact

    def items(self, messages: Sequence[pb.Message]) -> list[Any]:
        """All items, oldest first."""
        written: list[Any] = []
        for turn in self._turns(messages):
            for message in turn.messages:
                self._note_message(message, turn.path)
            if turn.role == pb.ROLE_ASSISTANT:
                self.keeps_ids = True
                if not (turn.parts or self.exact):
                    self.notes.dropped("EMPTY_CONTENT", turn.path)
                written.extend(self._said(turn.parts))
            elif turn.role == pb.ROLE_TOOL:
                written.extend(self._results(turn.parts))
            else:
                written.append(self._given(turn))
        return written

    def _turns(self, messages: Sequence[pb.Message]) -> list[Turn]:
        kept = [(at, message) for at, message in enumerate(messages) if not is_instructions(message)]
        if kept and self._is_prefill(kept[-1][1]):
            at, _ = kept.pop()
            self.notes.dropped("PREFILL", f"messages[{at}]")
        if self.exact or self.context.request.HasField("provider_state"):
            return [_turn(message, f"messages[{at}]") for at, message in kept]
        last = kept[-1][0] + 1 if kept else 0
        return settled(messages[:last], self.notes)

    def _is_prefill(self, message: pb.Message) -> bool:
        """Whether the caller began the answer for the model: this protocol would answer anew."""
        if message.role != pb.ROLE_ASSISTANT or self.context.caller not in _PREFILLERS:
            return False
        return all(part.WhichOneof("kind") in _SAID for part in message.parts)

    def _note_message(self, message: pb.Message, path: str) -> None:
        if message.name:
            self.notes.dropped("PARTICIPANT_NAME", f"{path}.name")
        if extras := message.extras:
            self.notes.foreign_extras(extras, PROTOCOL_RESPONSES, path)

    def _given(self, turn: Turn) -> dict[str, Any]:
        """A message of the user, or instructions."""
        item: dict[str, Any] = {"role": _ROLES[turn.role]}
        message = turn.messages[0]
        if message.text or not turn.parts:
            item["content"] = message.text
        else:
            item["content"] = [
                piece for placed in turn.parts for piece in self.content.given(placed.part, placed.path)
            ] or ""
        if extras := message.extras:
            merge_extras(item, extras, PROTOCOL_RESPONSES)
        return item

    # --- results ---

    def _results(self, parts: Sequence[Placed]) -> Iterator[Any]:
        for placed in parts:
            part = placed.part
            if not part.HasField("tool_result"):
                yield from self.content.given(part, placed.path)
                continue
            result = part.tool_result
            is_custom = not self.exact and result.call_id in self.custom_calls
            item: dict[str, Any] = {
                "type": "custom_tool_call_output" if is_custom else "function_call_output",
                "call_id": self._call_id(result.call_id, f"{placed.path}.tool_result.call_id"),
                "output": self._output(result, f"{placed.path}.tool_result"),
            }
            if result.name and self.exact:
                item["name"] = result.name
            if part.HasField("cache_breakpoint"):
                self.notes.dropped("CACHE_BREAKPOINT", f"{placed.path}.cache_breakpoint")
            self.notes.foreign_extras(part.extras, PROTOCOL_RESPONSES, placed.path)
            merge_extras(item, part.extras, PROTOCOL_RESPONSES)
            yield item

    def _output(self, result: part_pb.ToolResult, path: str) -> Any:
        prefix = ""
        if result.is_error:
            prefix = "Error: "
            self.notes.approximated("TOOL_RESULT_ERROR", f"{path}.is_error")
        if result.WhichOneof("output") != "parts":
            return prefix + (result.text or result.object_json)
        pieces = [
            piece
            for at, part in enumerate(result.parts.parts)
            for piece in self.content.given(part, f"{path}.parts.parts[{at}]")
        ]
        if prefix:
            pieces.insert(0, {"type": "input_text", "text": prefix.rstrip()})
        return pieces

    def _call_id(self, call_id: str, path: str) -> str:
        if self.exact:
            return call_id
        written = written_call_id(call_id, _LEGAL_CALL_ID)
        if written != call_id:
            self.notes.renamed("TOOL_CALL_ID", path)
        return written

    # --- what the model said ---

    def _said(self, parts: Sequence[Placed]) -> Iterator[Any]:
        opened: _Open | None = None
        skips = False
        for at, placed in enumerate(parts):
            part = placed.part
            if skips:
                skips = False
                continue
            kind = part.WhichOneof("kind")
            if kind in _SAID or (kind == "raw" and find_extra(part.extras, "~content")):
                if opened is None or not self._continues(opened, part):
                    opened = self._open(part)
                    yield opened.item
                self._say(opened, placed)
                continue
            opened = None
            follower = parts[at + 1].part if at + 1 < len(parts) else None
            if kind == "server_tool_call" and follower is not None and _is_result_of(part, follower):
                skips = True
            item = self._item(placed, follower if skips else None)
            if item is not None:
                yield item
            elif skips:
                self.notes.dropped("SERVER_TOOL_HISTORY", parts[at + 1].path)

    def _continues(self, opened: _Open, part: part_pb.Part) -> bool:
        """Whether a piece belongs to the message before it: only pieces of one item do."""
        if find_extra(part.extras, SPELLING + ITEM_HEAD) or not isinstance(opened.item.get("content"), list):
            return False
        return opened.item_id == part.item_id and opened.phase == (part.phase, part.phase_raw)

    def _open(self, part: part_pb.Part) -> _Open:
        head = find_extra(part.extras, SPELLING + ITEM_HEAD)
        item: dict[str, Any] = {"role": "assistant"}
        if head:
            item |= msgspec.json.decode(head)
        elif part.item_id and (self.keeps_ids or part.HasField("refusal")):
            item |= {"type": "message", "status": "completed"}
        else:
            item["content"] = ""
        if part.item_id and self.keeps_ids:
            item["id"] = part.item_id
        phase = PHASES.write(part.phase, part.phase_raw if self.exact or not self.context.caller else "")
        if phase:
            item["phase"] = phase
        item.setdefault("content", [])
        return _Open(item=item, content=[], item_id=part.item_id, phase=(part.phase, part.phase_raw))

    def _say(self, opened: _Open, placed: Placed) -> None:
        part, path = placed.part, placed.path
        self._note_said(part, path)
        if isinstance(opened.item["content"], str):
            if part.HasField("refusal"):
                self.notes.approximated("REFUSAL_HISTORY", path)
            if part.citations:
                self.notes.dropped("CITATION_HISTORY", f"{path}.citations")
            opened.item["content"] = part.refusal or part.text
        elif not (find_extra(part.extras, SPELLING + ITEM_HEAD) and not part.text and _is_empty(part)):
            opened.item["content"].append(
                said(part, with_annotations=not self.exact, notes=self.notes, path=path, code="CITATION_HISTORY")
            )
        for each in extras_of(part.extras):
            key = each.key.removeprefix(SPELLING)
            if key.startswith(ITEM):
                merge_extras(opened.item, [_outer(each)], PROTOCOL_RESPONSES)

    def _note_said(self, part: part_pb.Part, path: str) -> None:
        if part.phase == part_pb.TEXT_PHASE_PLAN:
            self.notes.approximated("TEXT_PHASE", f"{path}.phase")
        self._note_sides(part, path)

    def _note_sides(self, part: part_pb.Part, path: str) -> None:
        if part.HasField("cache_breakpoint"):
            self.notes.dropped("CACHE_BREAKPOINT", f"{path}.cache_breakpoint")
        if not part.HasField("reasoning") and not part.HasField("compaction") and part.opaque:
            self.notes.dropped("REASONING_STATE", f"{path}.opaque")
        self.notes.foreign_extras(part.extras, PROTOCOL_RESPONSES, path)

    def _item(self, placed: Placed, result: part_pb.Part | None) -> Any:
        part, path = placed.part, placed.path
        kind = part.WhichOneof("kind")
        self._note_sides(part, path)
        if kind == "raw" and part.raw.protocol == PROTOCOL_RESPONSES:
            return raw(part.raw.body_json)
        item: dict[str, Any] | None = None
        code = _LOST.get(kind or "", "RAW_PART")
        if kind == "reasoning":
            item = self._reasoning(part, path)
            self.keeps_ids = item is not None
        elif kind == "tool_call":
            item = self._call(part, path)
        elif kind == "server_tool_call":
            is_own = part.server_tool_call.kind_raw in HOSTED_CALLS
            item = items.hosted_item(part, result) if is_own else None
        elif kind == "image" and part.item_id and part.image.data:
            item = items.image_item(part)
        elif kind == "compaction":
            state = self._state(part)
            item = self._summary(part, path) if state is None else items.compaction_item(part, state.value.decode())
        if item is None:
            self.notes.dropped(code, path)
        elif part.item_id and self.keeps_ids:
            item["id"] = part.item_id
        return item

    def _summary(self, part: part_pb.Part, path: str) -> dict[str, Any] | None:
        """What another provider kept of earlier turns, where it can be read."""
        if not part.compaction.text or self.exact:
            return None
        self.notes.approximated("COMPACTION", path)
        return {"role": "assistant", "content": part.compaction.text}

    def _state(self, part: part_pb.Part) -> OpaqueState | None:
        service = self.context.target.service
        return next((each for each in part.opaque if is_replayable(each, PROTOCOL_RESPONSES, service)), None)

    def _reasoning(self, part: part_pb.Part, path: str) -> dict[str, Any] | None:
        """Reasoning goes back to where it came from only; what never had any state is the same provider's by its id."""
        state = self._state(part)
        if state is None and (part.opaque or not part.item_id):
            if part.opaque:
                self.notes.dropped("REASONING_STATE", f"{path}.opaque")
            return None
        encrypted = None if state is None else state.value.decode()
        return items.reasoning_item(part, encrypted, keeps_kind=self.context.caller in _TELL_KINDS)

    def _call(self, part: part_pb.Part, path: str) -> dict[str, Any]:
        call = part.tool_call
        if call.HasField("custom_text"):
            self.custom_calls.add(call.id)
        name = call.name if self.names is None else self.names.written(call.name, f"{path}.tool_call.name")
        call_id = self._call_id(call.id, f"{path}.tool_call.id")
        return items.call_item(part, call_id=call_id, name=name, default="" if self.exact else "{}")


_TELL_KINDS = frozenset({None, Protocol.RESPONSES})
"""Callers who tell summaries from reasoning; to others the summaries were all that there was."""
_LOST = {
    "reasoning": "REASONING_HISTORY",
    "server_tool_call": "SERVER_TOOL_HISTORY",
    "server_tool_result": "SERVER_TOOL_HISTORY",
    "compaction": "COMPACTION",
    "image": "IMAGE",
    "audio": "AUDIO",
    "video": "VIDEO",
    "document": "DOCUMENT",
}


def _turn(message: pb.Message, path: str) -> Turn:
    """A message as it stands: the caller has put it in this protocol's own order."""
    parts = [Placed(part=part, path=f"{path}.parts[{at}]") for at, part in enumerate(parts_of(message))]
    return Turn(role=message.role, parts=parts, messages=[message], path=path)


def _is_result_of(call: part_pb.Part, part: part_pb.Part) -> bool:
    return part.HasField("server_tool_result") and part.server_tool_result.call_id == call.server_tool_call.id


def _is_empty(part: part_pb.Part) -> bool:
    """Whether the message that the part stands for had no content at all."""
    return '"content":[]' in find_extra(part.extras, SPELLING + ITEM_HEAD)


def _outer(extra: Any) -> Any:
    """The extra as it stands on the item."""
    sign = SPELLING if extra.key.startswith(SPELLING) else ""
    return type(extra)(
        protocol=extra.protocol,
        key=sign + extra.key.removeprefix(SPELLING).removeprefix(ITEM),
        value_json=extra.value_json,
    )
