"""A whole answer as callers of Cohere Chat, version 2, expect it: one choice, content apart from plan and calls."""

from __future__ import annotations

from typing import Any

import msgspec

from fluxrpc.protocols.cohere.citations import place_of, written_citation
from fluxrpc.protocols.cohere.finish import written_finish
from fluxrpc.protocols.cohere.logprobs import written_items
from fluxrpc.protocols.cohere.usage import written_usage
from fluxrpc.protocols.cohere.write_answer import (
    BLOCKS,
    LAZY,
    note_answer,
    note_part,
    note_said,
    text_in,
    written_call,
)
from fluxrpc.protocols.cohere.write_messages import written_arguments
from fluxrpc.protocols.context import Context
from fluxrpc.protocols.node import merge_extras, raw
from fluxrpc.protocols.notes import Notes
from fluxrpc.v1.part_pb2 import TEXT_PHASE_PLAN, Part, TokenLogprob
from fluxrpc.v1.protocol_pb2 import PROTOCOL_COHERE
from fluxrpc.v1.response_pb2 import Choice, MessageResponse

__all__ = ["write_response"]


def write_response(response: MessageResponse, context: Context, notes: Notes) -> bytes:
    """See `Translator.write_response`."""
    note_answer(response, notes)
    choice = response.choices[0] if response.choices else Choice()
    if len(response.choices) > 1:
        notes.dropped("ANSWER_CHOICES", "choices[1]")
    body: dict[str, Any] = {
        "id": response.id,
        "finish_reason": written_finish(choice.finish, context, notes, "choices[0].finish"),
        "message": _message(choice, notes),
    }
    if response.HasField("usage"):
        body["usage"] = written_usage(response.usage, notes)
    tokens: list[TokenLogprob] = [token for part in choice.parts for token in part.logprobs]
    if tokens:
        body["logprobs"] = written_items(tokens)
    merge_extras(body, response.extras, PROTOCOL_COHERE)
    return msgspec.json.encode(body)


def _message(choice: Choice, notes: Notes) -> dict[str, Any]:
    fields: dict[str, Any] = {"role": "assistant"}
    content: list[Any] = []
    calls: list[dict[str, Any]] = []
    citations: list[dict[str, Any]] = []
    for index, part in enumerate(choice.parts):
        path = f"choices[0].parts[{index}]"
        note_part(part, path, notes)
        if part.HasField("tool_call"):
            calls.append(written_call(part, written_arguments(part.tool_call)))
        elif part.HasField("raw") and part.raw.protocol == PROTOCOL_COHERE:
            content.append(raw(part.raw.body_json))
        elif part.phase == TEXT_PHASE_PLAN:
            offset = len(fields.get("tool_plan", ""))
            fields["tool_plan"] = fields.get("tool_plan", "") + part.text
            citations += [written_citation(citation, place_of(part, None, offset)) for citation in part.citations]
        elif (block := _block(part, path, notes)) is not None:
            content.append(block)
            place = place_of(part, len(content) - 1)
            citations += [written_citation(citation, place) for citation in part.citations]
    lists = {"content": content, "tool_calls": calls, "citations": citations}
    fields |= {key: value for key, value in lists.items() if value}
    merge_extras(fields, choice.extras, PROTOCOL_COHERE)
    return fields


def _block(part: Part, path: str, notes: Notes) -> dict[str, Any] | None:
    """The block that says a part; None for hidden reasoning, and for what is no text at all."""
    kind = part.WhichOneof("kind") or ""
    text = text_in(part)
    note_said(kind, path, notes, has_text=bool(text))
    block_kind = BLOCKS.get(kind)
    if block_kind is None or (not text and kind in LAZY):
        return None
    block: dict[str, Any] = {"type": block_kind, block_kind: text}
    merge_extras(block, part.extras, PROTOCOL_COHERE)
    return block
