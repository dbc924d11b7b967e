"""A whole answer of OpenAI Chat Completions, or of one of its copies, into the IR.

The parts of a choice come in the order reasoning, text, refusal, images, calls, sound, for the wire has none. Empty
content gives no part. Not kept: `logprobs` of tokens that belong to no text.
"""

from __future__ import annotations

import msgspec

from fluxrpc.protocols.context import Context
from fluxrpc.protocols.json_text import Index, JsonFault, without_halves
from fluxrpc.protocols.media import bytes_of, read_url
from fluxrpc.protocols.node import Node
from fluxrpc.protocols.notes import Notes
from fluxrpc.protocols.openai.answer_values import citations_of, head_of, logprobs_of
from fluxrpc.protocols.openai.errors import error_of
from fluxrpc.protocols.openai.finish import finish_reason
from fluxrpc.protocols.openai.read_messages import read_call
from fluxrpc.protocols.openai.reasoning_fields import REASONING_FIELDS, ReasoningFields, signature_of, thought_of
from fluxrpc.protocols.openai.usage import usage_of
from fluxrpc.protocols.openai.wire_fields import required_text, whole_part
from fluxrpc.protocols.openai.words import OPENAI, SERVICE_TIER
from fluxrpc.protocols.tool_names import made_up_call_id
from fluxrpc.protocols.whole_answer import explain_answer, read_whole
from fluxrpc.v1.part_pb2 import Media, Part, RawPart, Reasoning, ToolCall
from fluxrpc.v1.response_pb2 import Choice, MessageResponse

__all__ = ["read_response"]

_FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_INDEX = msgspec.json.Decoder(Index)


def read_response(body: bytes, context: Context, notes: Notes) -> MessageResponse:  # noqa: ARG001  # one signature
    """See `Translator.read_response`."""
    whole = without_halves(body)
    node = Node(read_whole(_FIELDS, whole, error_of))
    try:
        choices = node.nodes("choices")
        if not choices:
            raise explain_answer(whole, error_of)
        response = _head(node)
        for each in choices:
            _read_choice(each, response.choices.add())
    except JsonFault as fault:
        raise explain_answer(whole, error_of, fault) from None
    if whole is not body and whole != body:
        notes.approximated("LONE_SURROGATE", "")
    return response


def _head(node: Node) -> MessageResponse:
    response = head_of(node.text("id"), node.text("model"), node.number("created"))
    node.take("object")
    usage = usage_of(node.value("usage"))
    if usage is not None:
        response.usage.CopyFrom(usage)
    tier = node.text("service_tier")
    if tier:
        response.service_tier, response.service_tier_raw = SERVICE_TIER.read(tier)
    node.carry(response, OPENAI, nulls=False)
    return response


def _read_choice(node: Node, choice: Choice) -> None:
    index = choice.index = _index(node)
    message = node.node("message")
    if message is not None:
        choice.parts.extend(_parts(message, index))
    probabilities = node.node("logprobs")
    if probabilities is not None:
        _add_logprobs(probabilities, choice)
    word = node.text("finish_reason") or ""
    kinds = {part.WhichOneof("kind") for part in choice.parts}
    finish = choice.finish
    finish.choice_index = index
    finish.reason = finish_reason(word, has_calls="tool_call" in kinds, has_refusal="refusal" in kinds)
    finish.raw = word
    if message is not None:
        message.carry(choice, OPENAI, "message.", nulls=False)
    node.carry(choice, OPENAI, nulls=False)


def _index(node: Node) -> int:
    found = node.take("index")
    try:
        return 0 if found is None else _INDEX.decode(found)
    except msgspec.MsgspecError:
        raise node.fault("index", "the place of a choice") from None


def _parts(node: Node, index: int) -> list[Part]:
    node.take("role")
    parts = _reasoning(node) if node.has_any(_REASONING) else []
    parts += _content(node)
    if node.has_any(_TRIMMINGS):
        _add_to_text(node, parts)
    refusal = node.text("refusal")
    if refusal:
        parts.append(Part(refusal=refusal))
    if node.has_any(_RARE):
        parts += _rare_parts(node, index)
    return parts


_REASONING = frozenset(REASONING_FIELDS)
_TRIMMINGS = frozenset({"annotations", "extra_content"})
_RARE = frozenset({"images", "tool_calls", "function_call", "audio"})


def _rare_parts(node: Node, index: int) -> list[Part]:
    """Images, calls, sound."""
    parts = [_image(each) for each in node.nodes("images")]
    calls = [read_call(each, is_answer=True) for each in node.nodes("tool_calls")]
    legacy = node.node("function_call")
    if legacy is not None:
        call = ToolCall(name=required_text(legacy, "name"), arguments_json=legacy.text("arguments") or "")
        calls.append(Part(tool_call=call))
    for at, part in enumerate(calls):
        part.tool_call.id = part.tool_call.id or made_up_call_id(index, at)
    parts += calls
    audio = node.node("audio")
    if audio is not None:
        media = Media(data=bytes_of(audio.text("data") or "", path=audio.at("data")))
        media.transcript = audio.text("transcript") or ""
        parts.append(Part(audio=media, extras=audio.extras(OPENAI, nulls=False)))
    return parts


def _reasoning(node: Node) -> list[Part]:
    thought = thought_of(ReasoningFields(**{key: node.value(key) for key in REASONING_FIELDS}))
    if not (thought.text or thought.states):
        return []
    return [Part(reasoning=Reasoning(text=thought.text), opaque=thought.states)]


def _content(node: Node) -> list[Part]:
    if not node.is_list("content"):
        text = node.text("content")
        return [Part(text=text)] if text else []
    return [part for piece in node.nodes("content") if (part := _piece(piece)) is not None]


def _piece(node: Node) -> Part | None:
    """One piece of a content that is a list, as some servers write it."""
    kind = node.text("type") or "text"
    if kind != "text":
        return Part(raw=RawPart(protocol=OPENAI, type=kind, body_json=whole_part(node, kind)))
    text = node.text("text")
    return Part(text=text, extras=node.extras(OPENAI, nulls=False)) if text else None


def _add_to_text(node: Node, parts: list[Part]) -> None:
    """Citations and a signature belong to the text; without one, to an empty text."""
    citations = citations_of(node.value("annotations"))
    signature = signature_of(node.value("extra_content"))
    if not citations and signature is None:
        return
    text = next((part for part in reversed(parts) if part.HasField("text")), None)
    if text is None:
        text = Part(text="")
        parts.append(text)
    text.citations.extend(citations)
    if signature is not None:
        text.opaque.append(signature)


def _image(node: Node) -> Part:
    """OpenRouter's pictures: `{type: image_url, image_url: {url}}`."""
    inner = node.node("image_url")
    if inner is None:
        raise node.fault("image_url", "an object")
    return Part(image=read_url(required_text(inner, "url"), path=inner.at("url")))


def _add_logprobs(node: Node, choice: Choice) -> None:
    for key, kind in (("content", "text"), ("refusal", "refusal")):
        found = logprobs_of(node.value(key))
        part = next((part for part in choice.parts if part.WhichOneof("kind") == kind), None)
        if found and part is not None:
            part.logprobs.extend(found)
