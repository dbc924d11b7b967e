"""A whole `GenerateContentResponse` to `MessageResponse`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import msgspec
from google.protobuf.timestamp_pb2 import Timestamp

from fluxrpc.protocols.context import Context
from fluxrpc.protocols.gemini.errors import error_of
from fluxrpc.protocols.gemini.finish import blocked, finish_reason
from fluxrpc.protocols.gemini.frames import RESPONSE
from fluxrpc.protocols.gemini.grounding import citations_of_recitation, citations_of_support
from fluxrpc.protocols.gemini.offsets import Offsets
from fluxrpc.protocols.gemini.read_parts import read_part
from fluxrpc.protocols.gemini.usage import ABSENT, USAGE, served_tier, to_usage
from fluxrpc.protocols.gemini.wire import GEMINI, CamelNode
from fluxrpc.protocols.json_text import JsonFault, without_halves
from fluxrpc.protocols.node import raw
from fluxrpc.protocols.notes import Notes
from fluxrpc.protocols.tool_names import made_up_call_id
from fluxrpc.protocols.whole_answer import explain_answer, read_loosely, read_whole, says_something
from fluxrpc.v1.part_pb2 import Part, TokenLogprob
from fluxrpc.v1.protocol_pb2 import Extra
from fluxrpc.v1.response_pb2 import Choice, MessageResponse

__all__ = ["category_of", "is_empty", "read_head", "read_logprobs", "read_response"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LONGEST_IN_MICROSECONDS = len("2026-01-02T03:04:05.678901Z")


class _Rating(msgspec.Struct):
    category: str | None = None
    blocked: bool | None = None


class _Logprob(msgspec.Struct, rename="camel"):
    token: str | None = None
    token_id: Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)] | None = None
    log_probability: float = 0.0


class _Top(msgspec.Struct):
    candidates: list[_Logprob] | None = None


class _Logprobs(msgspec.Struct, rename="camel"):
    chosen_candidates: list[_Logprob] | None = None
    top_candidates: list[_Top] | None = None


_RATINGS = msgspec.json.Decoder(list[_Rating])
_LOGPROBS = msgspec.json.Decoder(_Logprobs)
_CITING = (("groundingMetadata", citations_of_support), ("citationMetadata", citations_of_recitation))
_BESIDE = frozenset({"logprobsResult", *(key for key, _ in _CITING)})


def read_response(body: bytes, context: Context, notes: Notes) -> MessageResponse:
    """See `Translator.read_response`."""
    del notes
    seen = read_whole(RESPONSE, body, error_of)
    if says_something(seen.error) or not (seen.candidates or seen.block_reason):
        raise explain_answer(body, error_of)
    try:
        return _response(CamelNode.root(without_halves(body)), context)
    except JsonFault as fault:
        raise explain_answer(body, error_of, fault) from None


def read_head(node: CamelNode) -> MessageResponse:
    """What stands around the candidates: who answered, and when."""
    head = MessageResponse()
    head.id = node.text("responseId") or ""
    head.model = node.text("modelVersion") or ""
    created = node.text("createTime")
    if created is not None:
        try:
            _set_moment(head.created, created)
        except ValueError:
            head.ClearField("created")
            head.extras.append(Extra(protocol=GEMINI, key="createTime", value_json=f'"{created}"'))
    return head


def is_empty(part: Part) -> bool:
    """Whether a part is blank and carries nothing."""
    return part.WhichOneof("kind") == "text" and not part.text and not part.opaque


def read_logprobs(text: str) -> list[TokenLogprob]:
    """`logprobsResult`."""
    wire = read_loosely(_LOGPROBS, raw(text))
    if wire is None:
        return []
    found = [_logprob(each) for each in wire.chosen_candidates or ()]
    for logprob, top in zip(found, wire.top_candidates or (), strict=False):
        logprob.alternatives.extend(_logprob(each) for each in top.candidates or ())
    return found


def category_of(text: str) -> str:
    """The category of the rating that blocked something."""
    ratings = read_loosely(_RATINGS, raw(text)) or ()
    return next((rating.category or "" for rating in ratings if rating.blocked), "")


def _response(node: CamelNode, context: Context) -> MessageResponse:
    response = read_head(node)
    usage = read_loosely(USAGE, node.take("usageMetadata") or ABSENT)
    if usage is not None:
        response.usage.CopyFrom(to_usage(usage))
        if usage.traffic_type is not None:
            response.service_tier, response.service_tier_raw = served_tier(usage)
    model = response.model or context.target.model
    for number, candidate in enumerate(node.nodes("candidates")):
        choice = response.choices.add()
        choice.index = number
        _read_choice(choice, candidate, context, model)
    if not response.choices:
        response.choices.append(_blocked_choice(node))
    node.carry(response, GEMINI, nulls=False)
    return response


def _read_choice(choice: Choice, node: CamelNode, context: Context, model: str) -> None:
    """One candidate into a choice that is part of the answer already: a copy would cost as much as the reading."""
    index = node.integer("index")
    if index is not None:
        choice.index = index
    content = node.node("content")
    calls = 0
    if content is not None:
        content.text("role")
        calls = _read_parts(choice, content, context, model)
        content.carry(choice, GEMINI, "content.", nulls=False)
    _read_finish(choice, node, has_calls=calls > 0)
    if node.has_any(_BESIDE):
        _read_beside(choice, node)
    node.carry(choice, GEMINI, nulls=False)


def _read_parts(choice: Choice, content: CamelNode, context: Context, model: str) -> int:
    """The parts that say something; how many of them are calls."""
    calls = 0
    for each in content.nodes("parts"):
        part = read_part(each, service=context.target.service, model=model)
        if part.HasField("tool_call"):
            part.tool_call.id = part.tool_call.id or made_up_call_id(len(context.request.messages), calls)
            calls += 1
        if not is_empty(part):
            choice.parts.append(part)
    return calls


def _read_finish(choice: Choice, node: CamelNode, *, has_calls: bool) -> None:
    word = node.text("finishReason") or ""
    finish = choice.finish
    finish.choice_index = choice.index
    finish.reason = finish_reason(word, has_calls=has_calls)
    finish.raw = word
    finish.message = node.text("finishMessage") or ""
    if "safetyRatings" in node:
        finish.category = category_of(bytes(node.peek("safetyRatings")).decode())


def _read_beside(choice: Choice, node: CamelNode) -> None:
    """What is told of the text at its side: where it comes from, and how probable it was."""
    texts = [Offsets(part.text) if part.text else None for part in choice.parts]
    for key, read in _CITING:
        text = node.json(key)
        if text:
            choice.extras.append(Extra(protocol=GEMINI, key=key, value_json=text))
        for at, citation in read(raw(text), texts):
            choice.parts[at].citations.append(citation)
    spoken = [part for part in choice.parts if part.text]
    if spoken:
        spoken[0].logprobs.extend(read_logprobs(node.json("logprobsResult")))


def _blocked_choice(node: CamelNode) -> Choice:
    feedback = node.node("promptFeedback") or node
    finish = blocked(feedback.text("blockReason") or "", feedback.text("blockReasonMessage") or "")
    finish.category = category_of(bytes(feedback.peek("safetyRatings")).decode())
    finish.extras.extend(feedback.extras(GEMINI, nulls=False))
    return Choice(finish=finish)


def _logprob(wire: _Logprob) -> TokenLogprob:
    return TokenLogprob(token=wire.token or "", logprob=wire.log_probability, token_id=wire.token_id)


def _set_moment(moment: Timestamp, text: str) -> None:
    """RFC 3339. Python's own reader costs a twentieth of protobuf's, and knows no nanoseconds.

    Raises:
        ValueError: it is no moment.
    """
    read = datetime.fromisoformat(text)
    if len(text) > _LONGEST_IN_MICROSECONDS or read.tzinfo is None:
        moment.FromJsonString(text)
    else:
        since = read - _EPOCH
        moment.seconds = since.days * 86_400 + since.seconds
        moment.nanos = since.microseconds * 1000
