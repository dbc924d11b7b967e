"""A conversation as turns: tool results put where every provider wants them, adjacent turns of one speaker joined.

The IR keeps what the caller sent, in its order. Providers demand that the results of one turn's calls follow it at
once, all of them and each once; some demand that speakers alternate. What has to be moved, made up or turned into text
for that is noted here, once for all writers.

Reasoning that another protocol has joined is parted again, one piece for each state that its provider gave.

Invariant: the messages themselves are never changed, and every part of them is in exactly one turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct, field

from fluxrpc.errors import FieldViolation, InvalidRequest, NotExpressible
from fluxrpc.ir.build import result_parts
from fluxrpc.protocols.notes import Notes
from fluxrpc.v1.message_pb2 import ROLE_ASSISTANT, ROLE_DEVELOPER, ROLE_SYSTEM, ROLE_TOOL, ROLE_USER, Message, Role
from fluxrpc.v1.part_pb2 import Part, Reasoning, ToolCall, ToolResult
from fluxrpc.v1.protocol_pb2 import OPAQUE_KIND_REDACTED_REASONING, PROTOCOL_OPENAI, OpaqueState

__all__ = ["MISSING_RESULT", "Placed", "Turn", "joined_turns", "leading_instructions", "nothing_said", "settled"]

MISSING_RESULT = "No result was provided."
"""The result, an error, of a call that has none."""

_INSTRUCTIONS = frozenset({ROLE_SYSTEM, ROLE_DEVELOPER})


class Placed(Struct, kw_only=True):
    """A part (or a message's text as a part) and its path in the IR, for notes."""

    part: Part
    path: str
    """`messages[i].parts[j]`, or `messages[i].text`. For a result that was made up: the path of its call."""


class Turn(Struct, kw_only=True):
    """What one speaker says, with all that the message carried."""

    role: Role.ValueType
    parts: list[Placed]
    messages: list[Message]
    """The messages that it was made of: one, unless turns were joined or results gathered; none where all results were
    made up."""
    path: str
    """Path of the first of them in the IR; where there is none, that of the message with the calls."""


class _Call(Struct):
    """A call, and its result once it is met."""

    call: ToolCall
    path: str
    result: Placed | None = None
    message: Message | None = None
    message_path: str = ""
    place: int = 0
    """How many results of the turn came before."""
    moved: bool = False
    """Something else stood between the call and its result."""


class _Draft(Struct):
    """A turn that is not settled yet: what was said, and the calls in it."""

    turn: Turn
    calls: list[_Call] = field(default_factory=list)
    answered: int = 0


def nothing_said(notes: Notes) -> InvalidRequest | NotExpressible:
    """The error for a conversation of which no message is left: what was lost of it, which another route may be able to
    say, or the caller's fault, who said nothing. For writers to raise.
    """
    lost = [
        FieldViolation(path=note.path, message=note.reason)
        for note in notes
        if note.is_loss and note.path.startswith("messages[")
    ]
    if lost:
        return NotExpressible("nothing is left of the conversation", violations=lost)
    return InvalidRequest.at("messages", "at least one message must say something")


def leading_instructions(messages: Sequence[Message]) -> int:
    """How many messages at the start are instructions (system or developer)."""
    count = 0
    for message in messages:
        if message.role not in _INSTRUCTIONS:
            break
        count += 1
    return count


def settled(messages: Sequence[Message], notes: Notes, *, first: int = 0) -> list[Turn]:
    """One turn for each message from index `first` on; results follow the turn of their calls, in the order of the
    calls, gathered into one turn of ROLE_TOOL. A message of nothing but results leaves no other turn.

    A result belongs to the latest turn before it with an unanswered call of its id. A call without a result gets one
    that says so (TOOL_RESULT_MISSING, injected), unless its turn is the last and nothing follows it. A result without a
    call, or a second one for the same call, becomes text of the user where it stood (TOOL_RESULT_ORPHAN, approximated):
    `[Result of the tool call <id> of <name>, which is not in this conversation]`, then what it says. A changed order is
    noted (TOOL_RESULT_ORDER, reordered). The `name` of a result is filled in from its call.
    """
    drafts: list[_Draft] = []
    for index in range(first, len(messages)):
        _draft(messages[index], f"messages[{index}]", drafts, notes)
    turns: list[Turn] = []
    for draft in drafts:
        turns.append(draft.turn)
        if draft.calls and (draft is not drafts[-1] or draft.answered):
            turns.append(_results(draft, notes))
    return turns


def _draft(message: Message, path: str, drafts: list[_Draft], notes: Notes) -> None:
    """Take one message: its results go to their calls, the rest becomes a turn."""
    turn = Turn(role=message.role, parts=[], messages=[message], path=path)
    draft = _Draft(turn)
    orphans: list[Placed] = []
    if message.text:
        turn.parts.append(Placed(part=Part(text=message.text), path=f"{path}.text"))
    for index, part in enumerate(message.parts):
        placed = Placed(part=part, path=f"{path}.parts[{index}]")
        if part.HasField("tool_result"):
            if not _answer(placed, message, path, drafts):
                orphans.extend(_orphan(placed, notes))
            continue
        if part.HasField("reasoning") and any(state.origin != PROTOCOL_OPENAI for state in part.opaque):
            _add_reasoning(turn.parts, placed)
            continue
        turn.parts.append(placed)
        if message.role == ROLE_ASSISTANT and part.HasField("tool_call"):
            draft.calls.append(_Call(part.tool_call, placed.path))
    if turn.parts or message.role != ROLE_TOOL:
        drafts.append(draft)
    if orphans:
        drafts.append(_Draft(Turn(role=ROLE_USER, parts=orphans, messages=[message], path=path)))


def _add_reasoning(parts: list[Placed], placed: Placed) -> None:
    """Add reasoning with state in the pieces in which its provider gave it: one state each.

    A protocol that has one text for all reasoning joins the pieces, and which words were whose is not known any more:
    then they stay away, for state says all that they said. One that streams a signature behind the text parts the two.
    Not for copies of Chat: their records stand beside the whole text at home too.
    """
    reasoning, states = placed.part.reasoning, placed.part.opaque
    before = parts[-1].part if parts else Part()
    signatures = [state for state in states if state.kind != OPAQUE_KIND_REDACTED_REASONING]
    has_words = bool(reasoning.text or reasoning.summaries)
    if len(signatures) == len(states) == 1:
        if not has_words and before.HasField("reasoning") and not before.opaque:
            joined = Part()
            joined.CopyFrom(before)
            joined.opaque.extend(states)
            placed = Placed(part=joined, path=parts.pop().path)
        parts.append(placed)
        return
    if has_words and not signatures:
        parts.append(_piece_of(placed, reasoning, ()))
    for state in states:
        is_redacted = state.kind == OPAQUE_KIND_REDACTED_REASONING
        words = reasoning if len(signatures) == 1 and not is_redacted else Reasoning(redacted=is_redacted)
        parts.append(_piece_of(placed, words, [state]))


def _piece_of(placed: Placed, words: Reasoning, states: Sequence[OpaqueState]) -> Placed:
    piece = Part()
    piece.CopyFrom(placed.part)
    piece.reasoning.CopyFrom(words)
    del piece.opaque[:]
    piece.opaque.extend(states)
    return Placed(part=piece, path=placed.path)


def _answer(placed: Placed, message: Message, path: str, drafts: Sequence[_Draft]) -> bool:
    """Give a result to its call, if there is one that waits for it."""
    call_id = placed.part.tool_result.call_id
    for draft in reversed(drafts):
        for call in draft.calls:
            if call.result is None and call.call.id == call_id:
                call.result, call.message, call.message_path = placed, message, path
                call.place, call.moved = draft.answered, draft is not drafts[-1]
                draft.answered += 1
                return True
    return False


def _results(draft: _Draft, notes: Notes) -> Turn:
    """The turn with the results of one turn's calls."""
    turn = Turn(role=ROLE_TOOL, parts=[], messages=[], path="")
    place = 0
    for call in draft.calls:
        if call.result is None or call.message is None:
            notes.injected("TOOL_RESULT_MISSING", call.path)
            missing = ToolResult(call_id=call.call.id, name=call.call.name, text=MISSING_RESULT, is_error=True)
            turn.parts.append(Placed(part=Part(tool_result=missing), path=call.path))
            continue
        if call.moved or call.place != place:
            notes.reordered("TOOL_RESULT_ORDER", call.result.path)
        place += 1
        turn.parts.append(_named(call.result, call.call.name))
        turn.path = turn.path or call.message_path
        if all(known is not call.message for known in turn.messages):
            turn.messages.append(call.message)
    turn.path = turn.path or draft.turn.path
    return turn


def _named(placed: Placed, name: str) -> Placed:
    if placed.part.tool_result.name:
        return placed
    part = Part()
    part.CopyFrom(placed.part)
    part.tool_result.name = name
    return Placed(part=part, path=placed.path)


def _orphan(placed: Placed, notes: Notes) -> Iterable[Placed]:
    """What a result without a call says, as parts of the user."""
    notes.approximated("TOOL_RESULT_ORPHAN", placed.path)
    result = placed.part.tool_result
    kind = "Error" if result.is_error else "Result"
    call = f" {result.call_id}" if result.call_id else ""
    tool = f" of {result.name}" if result.name else ""
    title = f"[{kind} of the tool call{call}{tool}, which is not in this conversation]"
    parts = result_parts(result)
    if parts and parts[0].text:
        title += f"\n{parts[0].text}"
        parts = parts[1:]
    return [Placed(part=part, path=placed.path) for part in (Part(text=title), *parts)]


def joined_turns(turns: Iterable[Turn]) -> list[Turn]:
    """Adjacent turns of the same role as one; results (ROLE_TOOL) and a user turn beside them are joined as well, the
    results first, into a turn of ROLE_USER. Results alone stay ROLE_TOOL. The given turns are not changed.
    """
    joined: list[Turn] = []
    for turn in turns:
        last = joined[-1] if joined else None
        if last is None or _speaker(last.role) != _speaker(turn.role):
            joined.append(Turn(role=turn.role, parts=[*turn.parts], messages=[*turn.messages], path=turn.path))
            continue
        last.parts += turn.parts
        last.messages += turn.messages
        if last.role != turn.role:
            last.role = ROLE_USER
            last.parts.sort(key=lambda placed: not placed.part.HasField("tool_result"))
    return joined


def _speaker(role: Role.ValueType) -> Role.ValueType:
    return ROLE_USER if role == ROLE_TOOL else role
