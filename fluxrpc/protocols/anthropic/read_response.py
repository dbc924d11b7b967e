"""Whole answers of Anthropic Messages to `MessageResponse`; the head and the end are read alike in streams."""

from __future__ import annotations

import msgspec

from fluxrpc.protocols.anthropic.errors import error_of
from fluxrpc.protocols.anthropic.finish import finish_reason
from fluxrpc.protocols.anthropic.read_parts import Source, read_part
from fluxrpc.protocols.anthropic.usage import read_usage
from fluxrpc.protocols.anthropic.words import ANTHROPIC
from fluxrpc.protocols.context import Context
from fluxrpc.protocols.json_text import JsonFault, without_halves
from fluxrpc.protocols.node import Node
from fluxrpc.protocols.notes import Notes
from fluxrpc.protocols.whole_answer import explain_answer, read_whole
from fluxrpc.v1.message_pb2 import SERVICE_TIER_OTHER, SERVICE_TIER_PRIORITY, SERVICE_TIER_STANDARD
from fluxrpc.v1.response_pb2 import FINISH_REASON_STOP, Finish, MessageResponse

__all__ = ["read_finish", "read_head", "read_response"]

_TIERS = {"standard": SERVICE_TIER_STANDARD, "priority": SERVICE_TIER_PRIORITY}


class _Shape(msgspec.Struct):
    """What makes a body an answer."""

    content: list[msgspec.Raw]
    type: str | None = None


_SHAPE = msgspec.json.Decoder(_Shape)


def read_response(body: bytes, context: Context, notes: Notes) -> MessageResponse:
    """See `Translator.read_response`."""
    del notes  # all of it can be said
    text = without_halves(body)
    shape = read_whole(_SHAPE, text, error_of)
    if shape.type not in (None, "message"):
        raise explain_answer(text, error_of)
    try:
        return _read(Node.root(text), context)
    except JsonFault as fault:
        raise explain_answer(text, error_of, fault) from None


def _read(node: Node, context: Context) -> MessageResponse:
    blocks = node.nodes("content")
    finish = read_finish(node) or Finish(reason=FINISH_REASON_STOP)
    response = read_head(node)
    source = Source(service=context.target.service, model=response.model, nulls=False)
    choice = response.choices.add()
    choice.parts.extend(read_part(block, source) for block in blocks)
    choice.finish.CopyFrom(finish)
    return response


def read_head(node: Node) -> MessageResponse:
    """All but content and end. What is left goes to the extras."""
    response = MessageResponse(id=node.text("id") or "", model=node.text("model") or "")
    node.take("type")
    node.take("role")
    usage, tier = read_usage(node.json("usage").encode())
    if usage is not None:
        response.usage.CopyFrom(usage)
    if tier:
        response.service_tier = _TIERS.get(tier, SERVICE_TIER_OTHER)
        if tier not in _TIERS:
            response.service_tier_raw = tier
    response.extras.extend(node.extras(ANTHROPIC, nulls=False))
    return response


def read_finish(node: Node) -> Finish | None:
    """Why it ended, of an answer or a `message_delta`; None where it has not."""
    word = node.text("stop_reason")
    matched = node.text("stop_sequence") or ""
    details = node.node("stop_details")
    if not word:
        return None
    finish = Finish(reason=finish_reason(word), raw=word, matched_stop=matched)
    if details is not None:
        finish.category = details.text("category") or ""
        finish.message = details.text("explanation") or ""
        finish.extras.extend(details.extras(ANTHROPIC, "stop_details.", nulls=False))
    return finish
