"""A conversation as turns: tool results put where every provider wants them, adjacent turns of one speaker joined.

The IR keeps what the caller sent, in its order. Providers demand that the results of one turn's calls follow it at
once, all of them and each once; some demand that speakers alternate. What has to be moved, made up or turned into text
for that is noted here, once for all writers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from fluxrpc.protocols.notes import Notes
from fluxrpc.v1.message_pb2 import Message, Role
from fluxrpc.v1.part_pb2 import Part

__all__ = ["Placed", "Turn", "joined_turns", "leading_instructions", "settled"]


class Placed(Struct, kw_only=True):
    """A part (or a message's text as a part) and its path in the IR, for notes."""

    part: Part
    path: str


class Turn(Struct, kw_only=True):
    """What one speaker says, with all that the message carried."""

    role: Role.ValueType
    parts: list[Placed]
    messages: list[Message]
    """The messages that it was made of: one, unless turns were joined or results gathered."""
    path: str
    """Path of the first of them in the IR."""


def leading_instructions(messages: Sequence[Message]) -> int:
    """How many messages at the start are instructions (system or developer)."""
    raise NotImplementedError


def settled(messages: Sequence[Message], notes: Notes, *, first: int = 0) -> list[Turn]:
    """One turn for each message from index `first` on; results follow the turn of their calls, in the order of the
    calls, gathered into one turn of ROLE_TOOL.

    A call without a result gets one that says so (TOOL_RESULT_MISSING, injected), unless it is in the last turn that
    the model said and nothing follows; a result without a call becomes text of the user (TOOL_RESULT_ORPHAN,
    approximated); a changed order is noted (TOOL_RESULT_ORDER, reordered). The `name` of a result is filled in from its
    call.
    """
    raise NotImplementedError


def joined_turns(turns: Iterable[Turn]) -> list[Turn]:
    """Adjacent turns of the same role as one; results (ROLE_TOOL) and a user turn behind them are joined as well, the
    results first, into a turn of ROLE_USER.
    """
    raise NotImplementedError
