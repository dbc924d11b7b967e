"""A whole answer of OpenAI Responses to `MessageResponse`."""

from __future__ import annotations

from fluxrpc.errors import AnswerFault
from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.classify import words
from fluxrpc.protocols.context import Context
from fluxrpc.protocols.json_text import JsonFault, without_halves
from fluxrpc.protocols.node import Node, spelling
from fluxrpc.protocols.notes import Notes
from fluxrpc.protocols.responses.errors import error_of
from fluxrpc.protocols.responses.read_content import ContentReader
from fluxrpc.protocols.responses.read_items import parts_of
from fluxrpc.protocols.responses.response import RESPONSE, Response
from fluxrpc.protocols.responses.words import TIERS
from fluxrpc.protocols.whole_answer import explain_answer, read_whole, says_something
from fluxrpc.v1.message_pb2 import ServiceTier
from fluxrpc.v1.protocol_pb2 import PROTOCOL_RESPONSES, Extra
from fluxrpc.v1.response_pb2 import Finish, MessageResponse
from fluxrpc.v1.usage_pb2 import Usage

__all__ = ["content_reader", "finish_of", "read_head", "read_response", "split_extras", "usage_of"]

_LATEST_SECONDS = 253402300799
"""The last second that a `Timestamp` can say (year 9999)."""
_TYPED = frozenset({"object", "output", "status", "incomplete_details", "error", "usage"})
_UNFINISHED = frozenset({"in_progress", "queued"})
"""What only callers who asked for work in the background wait for."""
_SETTINGS = words(
    "background context_management conversation instructions max_output_tokens max_tool_calls metadata "
    "parallel_tool_calls previous_response_id prompt prompt_cache_key prompt_cache_options prompt_cache_retention "
    "reasoning safety_identifier store temperature text tool_choice tools top_logprobs top_p truncation user"
)
"""What an answer repeats of its request: said again to callers of this protocol, no news to others."""
_NEWS_TO_OWN = frozenset({"completed_at", "output_text", "billing", "tool_usage"})
"""What only callers of this protocol look for."""
_NO_NEWS = _TYPED | _SETTINGS | _NEWS_TO_OWN
_COUNTERS = frozenset(
    {"input_tokens", "output_tokens", "total_tokens", "input_tokens_details", "output_tokens_details"}
)


def read_response(body: bytes, context: Context, notes: Notes) -> MessageResponse:
    """See `Translator.read_response`."""
    found = read_whole(RESPONSE, body, error_of)
    failed = found.status == "failed" or says_something(found.error)
    if failed or found.object != "response":
        raise error_of(body) if failed else explain_answer(body, error_of)
    if found.status in _UNFINISHED and context.caller is not Protocol.RESPONSES:
        raise AnswerFault("UNFINISHED_ANSWER", f"UNFINISHED_ANSWER: the provider still works on it ({found.status})")
    text = without_halves(body)
    if text != body:
        notes.approximated("LONE_SURROGATE", "", "half of a surrogate pair is no text; U+FFFD stands in its place")
    try:
        return _response(Node.root(text), found, context)
    except JsonFault as fault:
        raise explain_answer(body, error_of, fault) from None


def _response(node: Node, found: Response, context: Context) -> MessageResponse:
    reader = content_reader(context)
    response = read_head(node)
    choice = response.choices.add()
    choice.finish.reason, choice.finish.raw = found.finish()
    for item in node.nodes("output"):
        choice.parts.extend(parts_of(reader, item))
    repeated, rest = split_extras(node, context)
    if repeated:
        response.extras.extend(repeated)
    if rest:
        choice.extras.extend(rest)
    usage = usage_of(found)
    if usage is not None:
        response.usage.CopyFrom(usage)
    return response


def content_reader(context: Context) -> ContentReader:
    """The reader for answers of the context's target."""
    exact = context.caller is Protocol.RESPONSES
    return ContentReader(exact=exact, service=context.target.service, model=context.target.model)


def read_head(node: Node) -> MessageResponse:
    """What stands around the output, as far as it is known when an answer begins."""
    response = MessageResponse()
    response.id = node.text("id") or ""
    response.model = node.text("model") or ""
    created = node.number("created_at")
    if created is not None and 0 < created <= _LATEST_SECONDS:
        response.created.seconds = int(created)
    word = node.text("service_tier")
    if word is not None:
        tier, response.service_tier_raw = TIERS.read(word)
        response.service_tier = ServiceTier.ValueType(tier)
    return response


def split_extras(node: Node, context: Context) -> tuple[list[Extra], list[Extra]]:
    """What is left once the head and the output were read: settings that are repeated, and the rest.

    Both are wanted by callers of this protocol; others get the rest.
    """
    if context.caller is not Protocol.RESPONSES:
        node.forget(_NO_NEWS)
        return [], node.extras(PROTOCOL_RESPONSES, nulls=False)
    node.forget(_TYPED)
    repeated: list[Extra] = []
    rest: list[Extra] = []
    for each in node.extras(PROTOCOL_RESPONSES):
        if each.key in _SETTINGS:
            repeated.append(spelling(PROTOCOL_RESPONSES, each.key, each.value_json))
        elif each.key in _NEWS_TO_OWN:
            rest.append(spelling(PROTOCOL_RESPONSES, each.key, each.value_json))
        elif each.key not in _TYPED:  # a null that was asked for
            rest.append(each)
    return repeated, rest


def finish_of(found: Response) -> Finish:
    """How it ended."""
    reason, word = found.finish()
    return Finish(reason=reason, raw=word)


def usage_of(found: Response) -> Usage | None:
    """The counters, and those that have no place in ours."""
    usage = found.counts
    if usage is None:
        return None
    node = Node.root(bytes(found.usage))
    node.forget(_COUNTERS)
    node.carry(usage, PROTOCOL_RESPONSES, nulls=False)
    return usage
