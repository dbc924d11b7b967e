"""A stream read to its end for a caller that waits for the whole answer: its route can only stream, or did unasked."""

from __future__ import annotations

from fluxrpc.errors import AnswerOversize, AttemptError
from fluxrpc.protocols.base import Answer
from fluxrpc.protocols.translated_stream import Gatherer
from fluxrpc.routing.commit import rest_of
from fluxrpc.routing.route import RouteLimits
from fluxrpc.upstream.exchange import Exchange


async def gather_answer(exchange: Exchange, gatherer: Gatherer, limits: RouteLimits) -> Answer:
    """The answer, once it is complete.

    Raises:
        AttemptError: it is an error, was cut, is none, or is over the limit of whole answers.
    """
    total = 0
    while not gatherer.ended:
        try:
            chunk = await (rest_of(exchange, limits) if gatherer.finished else exchange.next_chunk())
        except AttemptError:
            if not gatherer.finished:
                raise
            break  # every choice has finished: only the terminator was lost
        if not chunk:
            break
        total += len(chunk)
        if total > limits.max_answer_bytes:
            raise AnswerOversize("answer over the limit", f"the answer is over {limits.max_answer_bytes} bytes")
        gatherer.feed(chunk)
    return gatherer.close()
