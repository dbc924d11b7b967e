"""`MessageResponse` to a whole answer of Anthropic Messages.

There is one answer, and a signature has its place in `thinking` only. What Gemini signs (calls, text) goes into the
thinking before it, in an envelope; `read_request` puts it back.
"""

from __future__ import annotations

from typing import Any

import msgspec

from fluxrpc.protocols.anthropic.answer_parts import Answered, Block, foreign_states, signature_of, whole_block
from fluxrpc.protocols.anthropic.arguments import input_of
from fluxrpc.protocols.anthropic.citations import written_citation
from fluxrpc.protocols.anthropic.usage import note_unsaid, written_usage
from fluxrpc.protocols.anthropic.words import ANTHROPIC
from fluxrpc.protocols.context import Context
from fluxrpc.protocols.node import merge_extras, raw
from fluxrpc.protocols.notes import Notes
from fluxrpc.v1.part_pb2 import Citation, Part
from fluxrpc.v1.response_pb2 import Choice, MessageResponse

__all__ = ["said_citation", "write_response"]


def write_response(response: MessageResponse, context: Context, notes: Notes) -> bytes:
    """See `Translator.write_response`."""
    answered = Answered(context, notes)
    body = answered.head(response)
    choice = response.choices[0] if response.choices else Choice()
    for other in response.choices[1:]:
        notes.dropped("ANSWER_CHOICES", f"choices[{other.index}]")
    body["content"] = _content(answered, choice)
    body |= answered.end(choice.finish, "choices[0].finish")
    body["usage"] = written_usage(response.usage, answered.tier(response))
    note_unsaid(response.usage, notes, has_writes=True)
    for extras, path in ((choice.extras, "choices[0]"), (response.extras, "")):
        merge_extras(body, extras, ANTHROPIC)
        notes.foreign_extras(extras, ANTHROPIC, path, code="ANSWER_EXTRA")
    return msgspec.json.encode(body)


def _content(answered: Answered, choice: Choice) -> list[Any]:
    blocks: list[Any] = []
    for index, part in enumerate(choice.parts):
        path = f"choices[0].parts[{index}]"
        if not part.HasField("reasoning") and (states := foreign_states(part)):
            _sign(answered, blocks, states, path)
        block = _block(answered, part, path)
        if isinstance(block, dict):
            answered.finish_block(block, part, path)
        if block is not None:
            blocks.append(block)
    return blocks


def _sign(answered: Answered, blocks: list[Any], states: list[Any], path: str) -> None:
    """Put what signs the next block into the thinking before it; without any, make some for those who asked for it."""
    last = blocks[-1] if blocks else None
    signature = signature_of(states)
    if isinstance(last, dict) and last["type"] == "thinking" and not last["signature"]:
        last["signature"] = signature
    elif answered.asked_to_reason:
        blocks.append({"type": "thinking", "thinking": "", "signature": signature})
    else:
        answered.notes.dropped("REASONING_STATE", f"{path}.opaque")


def _block(answered: Answered, part: Part, path: str) -> Block | msgspec.Raw | None:
    if part.logprobs:
        answered.notes.dropped("ANSWER_LOGPROBS", f"{path}.logprobs")
    match part.WhichOneof("kind"):
        case "text":
            return _text(answered, part, part.text, path)
        case "refusal":
            answered.notes.approximated("ANSWER_REFUSAL", path)
            return _text(answered, part, part.refusal, path)
        case "audio" if part.audio.transcript:
            answered.notes.approximated("ANSWER_AUDIO", path)
            return _text(answered, part, part.audio.transcript, path)
        case "reasoning" if not part.reasoning.redacted:
            return _thinking(answered, part, path)
        case "tool_call":
            return _tool_use(answered, part, path)
        case "raw" if part.raw.protocol == ANTHROPIC:
            return raw(part.raw.body_json)
    return whole_block(answered, part, path)


def _text(answered: Answered, part: Part, text: str, path: str) -> Block | None:
    if not text and not answered.own:
        return None
    block: Block = {"type": "text", "text": text}
    citations = [
        said
        for index, citation in enumerate(part.citations)
        if (said := said_citation(answered, citation, f"{path}.citations[{index}]")) is not None
    ]
    if citations:
        block["citations"] = citations
    return block


def said_citation(answered: Answered, citation: Citation, path: str) -> Block | None:
    """A citation of the text block that it stands in."""
    written = written_citation(citation)
    if written is None:
        answered.notes.dropped("CITATION", path)
    elif citation.HasField("start"):
        answered.notes.dropped("CITATION_SPAN", path)
    return written


def _thinking(answered: Answered, part: Part, path: str) -> Block:
    reasoning = part.reasoning
    if len(part.opaque) > 1:
        answered.notes.dropped("REASONING_STATE", f"{path}.opaque")
    text = reasoning.text or "\n\n".join(reasoning.summaries)
    return {"type": "thinking", "thinking": text, "signature": signature_of(part.opaque)}


def _tool_use(answered: Answered, part: Part, path: str) -> Block:
    call = part.tool_call
    arguments, is_wrapped = input_of(call)
    if is_wrapped:
        answered.notes.approximated("TOOL_ARGUMENTS", f"{path}.tool_call.arguments_json")
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": arguments}
