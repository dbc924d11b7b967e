"""What a request's writer did on the caller's behalf is undone in the answer: a pass over the IR, whole or streamed.

Names of tools get back the caller's spelling, custom tools their free text, enums their bare word; an answer is cut at
a stop sequence that the provider could not take, and after the first call where only one was allowed.

Invariant: what comes out obeys the grammar of the IR, and how a stream was cut into events changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from fluxrpc.protocols.context import Context
from fluxrpc.v1.response_pb2 import Finish, MessageResponse
from fluxrpc.v1.stream_pb2 import StreamEvent

__all__ = ["Undo", "is_needed", "undo_response"]


def is_needed(context: Context) -> bool:
    """Whether the answer of this request needs the pass at all."""
    return bool(
        context.tool_names or context.custom_tools or context.stops or context.single_call or context.unwrap_key
    )


def undo_response(response: MessageResponse, context: Context) -> None:
    """Undo in a whole answer, in place."""
    raise NotImplementedError


class Undo:
    """Undoes in one stream."""

    is_over: bool
    """The answer was cut here: what the provider still sends does not count."""
    finishes: Sequence[Finish]
    """How the choices ended, where that differs from what the provider said; empty where nothing was cut."""

    def __init__(self, context: Context) -> None:
        raise NotImplementedError

    def events(self, events: Sequence[StreamEvent]) -> list[StreamEvent]:
        """What stands for these events."""
        raise NotImplementedError
