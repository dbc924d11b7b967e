"""What a stream has brought so far. Pure: the streams of both clients feed it and ask it.

Invariant: a stream counts as complete only once `completed` came; OK alone does not make it so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import grpc

from fluxrpc_client.errors import AnswerRestarted, Failure, IncompleteStream
from fluxrpc_client.v1 import Completed, ExecuteStreamResponse, RouteInfo, Started

__all__ = ["Progress", "texts_of"]


@dataclass(slots=True, kw_only=True)
class Progress:
    """The head and the end of a stream, as far as received."""

    started: Started | None = None
    completed: Completed | None = None
    route: RouteInfo | None = None
    """The route that answers now."""

    def take(self, message: ExecuteStreamResponse) -> None:
        """Note what a message says. Kinds that are newer than this client say nothing to it."""
        match message.WhichOneof("message"):
            case "started":
                self.started = message.started
                self.route = message.started.route
            case "restarted":
                self.route = message.restarted.route
            case "continued":
                self.route = message.continued.route
            case "completed":
                self.completed = message.completed

    def end(self) -> None:
        """The call ended with OK. Raises `IncompleteStream` if that was too early."""
        if self.completed is None:
            raise IncompleteStream(
                self._broken("STREAM_INCOMPLETE", "the stream ended with OK but without `completed`")
            )

    def refuse_restart(self, message: ExecuteStreamResponse, *, given: bool) -> None:
        """Raise `AnswerRestarted` if the answer begins anew after something of it was given away."""
        if given and message.WhichOneof("message") == "restarted":
            text = "the answer began anew on another route; to take part in that, read the stream message by message"
            failure = self._broken("ANSWER_RESTARTED", text)
            raise AnswerRestarted(replace(failure, metadata={"route": message.restarted.route.route}))

    def _broken(self, reason: str, message: str) -> Failure:
        request_id = self.started.request_id if self.started else ""
        return Failure(code=grpc.StatusCode.UNAVAILABLE, message=message, reason=reason, request_id=request_id)


def texts_of(message: ExecuteStreamResponse, choice_index: int) -> Iterator[str]:
    """The pieces of text in a message, for one choice.

    Raises `TypeError` for a native one: its text lies in frames of its own protocol.
    """
    if message.WhichOneof("message") == "native":
        raise TypeError("only typed answers have text; read a native one message by message: message.native")
    for event in message.events.events:
        delta = event.part_delta
        if delta.text and delta.choice_index == choice_index:
            yield delta.text
