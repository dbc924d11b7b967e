"""`MessageResponse` to a whole answer of OpenAI Responses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from fluxrpc.protocols.context import Context
from fluxrpc.protocols.notes import Notes
from fluxrpc.protocols.responses.words import find_extra
from fluxrpc.protocols.responses.write_answer import AnswerWriter
from fluxrpc.v1 import response_pb2 as pb
from fluxrpc.v1.part_pb2 import Part

__all__ = ["belongs_to_message", "is_same_message", "refusal_of", "write_response"]


def write_response(response: pb.MessageResponse, context: Context, notes: Notes) -> bytes:
    """See `Translator.write_response`."""
    writer = AnswerWriter(context, notes)
    fields = writer.head(response)
    choice = response.choices[0] if response.choices else pb.Choice()
    for further in response.choices[1:]:
        notes.dropped("ANSWER_CHOICES", f"choices[{further.index}]")
    parts = list(choice.parts)
    parts += refusal_of(choice.finish, parts)
    output = _output(writer, parts, writer.end_of(choice.finish).status)
    writer.end(fields, output, choice, response.usage if response.HasField("usage") else None)
    return msgspec.json.encode(fields)


def refusal_of(finish: pb.Finish, parts: Sequence[Part]) -> list[Part]:
    """The refusal that callers of this protocol look for, where the provider told it by the finish alone."""
    if finish.reason != pb.FINISH_REASON_REFUSAL or any(part.HasField("refusal") for part in parts):
        return []
    return [Part(refusal=finish.message)]


def belongs_to_message(part: Part) -> bool:
    """Whether a part is a piece of a message, not an item."""
    kind = part.WhichOneof("kind")
    return kind in {"text", "refusal"} or (kind == "raw" and bool(find_extra(part.extras, "~content")))


def is_same_message(before: Part, part: Part) -> bool:
    """Whether two pieces that follow each other belong to one message."""
    if before.opaque:  # its state goes behind it
        return False
    return (before.item_id, before.phase, before.phase_raw) == (part.item_id, part.phase, part.phase_raw)


def _output(writer: AnswerWriter, parts: Sequence[Part], status: str) -> list[Any]:
    output: list[Any] = []
    at = 0
    while at < len(parts):
        part, path = parts[at], f"choices[0].parts[{at}]"
        end = at + 1
        if belongs_to_message(part):
            while end < len(parts) and belongs_to_message(parts[end]) and is_same_message(parts[end - 1], parts[end]):
                end += 1
            item_id = part.item_id or writer.made_up_id("message", len(output))
            is_cut = status == "incomplete" and end == len(parts)
            item: Any = writer.message(parts[at:end], item_id, path, "incomplete" if is_cut else "completed")
        else:
            result = parts[end] if end < len(parts) and _is_result(part, parts[end]) else None
            end += result is not None
            item = writer.item(part, result, len(output), path)
        if item is not None:
            output.append(item)
        signature = writer.signature(parts[end - 1], len(output))
        if signature is not None:
            output.append(signature)
        at = end
    return output


def _is_result(call: Part, part: Part) -> bool:
    return (
        call.HasField("server_tool_call")
        and part.HasField("server_tool_result")
        and part.server_tool_result.call_id == call.server_tool_call.id
    )
