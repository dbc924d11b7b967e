"""A whole answer of Cohere Chat, version 2, into the IR. It tells neither a model nor a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from fluxrpc.protocols.cohere.citations import take_citations
from fluxrpc.protocols.cohere.errors import error_of, failure
from fluxrpc.protocols.cohere.finish import FAILURES, finish_reason
from fluxrpc.protocols.cohere.logprobs import LogprobItem, tokens_of
from fluxrpc.protocols.cohere.read_messages import read_block, read_call
from fluxrpc.protocols.cohere.usage import read_usage
from fluxrpc.protocols.context import Context
from fluxrpc.protocols.json_text import JsonFault, without_halves
from fluxrpc.protocols.node import Node
from fluxrpc.protocols.notes import Notes
from fluxrpc.protocols.whole_answer import explain_answer, read_loosely, read_whole
from fluxrpc.v1.part_pb2 import TEXT_PHASE_PLAN, Part
from fluxrpc.v1.protocol_pb2 import PROTOCOL_COHERE
from fluxrpc.v1.response_pb2 import Choice, MessageResponse

__all__ = ["read_response"]

_ANSWER: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_LOGPROBS: Final = msgspec.json.Decoder(list[LogprobItem])


def read_response(body: bytes, context: Context, notes: Notes) -> MessageResponse:
    """See `Translator.read_response`. An answer that ended with ERROR or TIMEOUT is none."""
    del context, notes
    body = without_halves(body)
    node = Node(read_whole(_ANSWER, body, error_of))
    try:
        return _read(node)
    except JsonFault as fault:
        raise explain_answer(body, error_of, fault) from None


def _read(node: Node) -> MessageResponse:
    message = node.node("message")
    if message is None:
        raise node.fault("message", "an object")
    word = node.text("finish_reason") or ""
    if word in FAILURES:
        raise error_of(failure(word, node.peek("error")))
    response = MessageResponse(id=node.text("id") or "")
    choice = response.choices.add()
    _read_message(choice, message)
    choice.finish.raw = word
    has_calls = any(part.HasField("tool_call") for part in choice.parts)
    choice.finish.reason = finish_reason(word, has_calls=has_calls)
    usage = read_usage(node.peek("usage"))
    if usage is not None:
        response.usage.CopyFrom(usage)
        node.take("usage")
    _read_logprobs(choice, node)
    response.extras.extend(node.extras(PROTOCOL_COHERE, nulls=False))
    return response


def _read_message(choice: Choice, node: Node) -> None:
    node.take("role")
    plan = node.text("tool_plan")
    if plan is not None:
        choice.parts.append(Part(text=plan, phase=TEXT_PHASE_PLAN))
    first = len(choice.parts)
    if node.is_text("content"):
        choice.parts.append(Part(text=node.text("content") or ""))
    else:
        choice.parts.extend(read_block(block) for block in node.nodes("content"))
    blocks: Sequence[Part] = choice.parts[first:]
    take_citations(node, choice.parts[0] if first else None, blocks)
    choice.parts.extend(read_call(call) for call in node.nodes("tool_calls"))
    choice.extras.extend(node.extras(PROTOCOL_COHERE, nulls=False))


def _read_logprobs(choice: Choice, node: Node) -> None:
    """They speak of the text as a whole; where there is none, they are carried."""
    items = read_loosely(_LOGPROBS, node.peek("logprobs"))
    text = next((part for part in choice.parts if part.HasField("text") and not part.phase), None)
    if items is not None and text is not None:
        text.logprobs.extend(token for item in items for token in tokens_of(item))
        node.take("logprobs")
