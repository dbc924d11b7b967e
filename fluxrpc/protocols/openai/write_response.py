"""A whole answer of the IR as one of OpenAI Chat Completions: every field that SDKs demand, null where it is empty."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from fluxrpc.ir.presence import is_bare
from fluxrpc.protocols.answer_items import BETWEEN_ITEMS, next_item
from fluxrpc.protocols.context import Context
from fluxrpc.protocols.media import base64_of
from fluxrpc.protocols.node import merge_extras
from fluxrpc.protocols.notes import Notes
from fluxrpc.protocols.openai.answer_values import annotations_of, answer_id, seconds_of, tier_of, write_logprobs
from fluxrpc.protocols.openai.finish import finish_word
from fluxrpc.protocols.openai.reasoning_fields import signature_text, state_fields
from fluxrpc.protocols.openai.usage import write_usage
from fluxrpc.protocols.openai.words import OPENAI
from fluxrpc.v1.part_pb2 import (
    TEXT_PHASE_PLAN,
    TEXT_PHASE_UNSPECIFIED,
    Part,
)
from fluxrpc.v1.protocol_pb2 import Extra, OpaqueState
from fluxrpc.v1.response_pb2 import Choice, MessageResponse

__all__ = [
    "AUDIO_LIFETIME_SECONDS",
    "DROPPED_KINDS",
    "note_citation",
    "note_trimmings",
    "write_response",
]

Fields = dict[str, Any]
AUDIO_LIFETIME_SECONDS = 3_600
"""`expires_at` of sound that came without: the field is demanded, and OpenAI keeps sound about that long."""
DROPPED_KINDS = {
    "image": "ANSWER_IMAGE",
    "server_tool_call": "ANSWER_SERVER_TOOLS",
    "server_tool_result": "ANSWER_SERVER_TOOLS",
}
"""Kinds of part that answers of this protocol do not hold, and what a note calls them; others are ANSWER_RAW_PART."""


def write_response(response: MessageResponse, context: Context, notes: Notes) -> bytes:
    """See `Translator.write_response`."""
    body: Fields = {
        "id": answer_id(response, context),
        "object": "chat.completion",
        "created": seconds_of(response, context),
        "model": response.model or context.target.model,
        "choices": [_choice(choice, context, notes) for choice in response.choices],
    }
    if response.HasField("usage"):
        body["usage"] = write_usage(response.usage, notes)
    tier = tier_of(response, context)
    if tier:
        body["service_tier"] = tier
    _merge(body, response.extras, "", notes)
    return msgspec.json.encode(body)


def note_trimmings(part: Part, path: str, notes: Notes) -> None:
    """What may hang on a part of an answer and has no place here."""
    if part.phase not in (TEXT_PHASE_UNSPECIFIED, TEXT_PHASE_PLAN):
        notes.dropped("TEXT_PHASE", f"{path}.phase")
    notes.foreign_extras(part.extras, OPENAI, path, "ANSWER_EXTRA")


def note_citation(*, is_written: bool, has_span: bool, path: str, notes: Notes) -> None:
    """A citation is written for web pages only; one that names no place stands for the whole text."""
    if not is_written:
        notes.dropped("CITATION", path)
    elif not has_span:
        notes.approximated("CITATION_SPAN", path)


def _choice(choice: Choice, context: Context, notes: Notes) -> Fields:
    path = f"choices[{choice.index}]"
    message = _Message(context, notes)
    for index, part in enumerate(choice.parts):
        message.add(part, f"{path}.parts[{index}]")
    written: Fields = {
        "index": choice.index,
        "message": message.fields(),
        "logprobs": message.logprobs(),
        "finish_reason": finish_word(choice.finish, notes, has_refusal=bool(message.refusals)),
    }
    _merge(written, choice.extras, path, notes)
    _merge(written, choice.finish.extras, path, notes)
    return written


def _merge(fields: Fields, extras: Sequence[Extra], path: str, notes: Notes) -> None:
    if extras:
        merge_extras(fields, extras, OPENAI)
        notes.foreign_extras(extras, OPENAI, path, "ANSWER_EXTRA")


class _Message:
    """Sorts the parts of a choice into the fields of its message."""

    def __init__(self, context: Context, notes: Notes) -> None:
        self._context = context
        self._notes = notes
        self._content: list[str] = []
        self._length = 0
        self._item = ""
        self._thoughts: list[str] = []
        self._calls: list[Fields] = []
        self._annotations: list[Fields] = []
        self._more: Fields = {}
        self._states: list[OpaqueState] = []
        self._logprobs: dict[str, list[Fields]] = {}
        self.refusals: list[str] = []

    def add(self, part: Part, path: str) -> None:
        """Sort one part in."""
        kind = str(part.WhichOneof("kind"))
        add = _ADDERS.get(kind)
        if add is None:
            self._notes.dropped(DROPPED_KINDS.get(kind, "ANSWER_RAW_PART"), path)
            return
        add(self, part, path)
        if not is_bare(part):
            note_trimmings(part, path, self._notes)

    def add_text(self, part: Part, path: str) -> None:
        """Text, its citations and probabilities."""
        is_new, self._item = next_item(self._item, part)
        if is_new:
            self._content.append(BETWEEN_ITEMS)
            self._length += len(BETWEEN_ITEMS)
        for index, citation in enumerate(part.citations):
            found = annotations_of(citation, shift=self._length, length=len(part.text))
            self._annotations.extend(found)
            place = f"{path}.citations[{index}]"
            note_citation(
                is_written=bool(found),
                has_span=citation.HasField("end") or not citation.sources,
                path=place,
                notes=self._notes,
            )
        self._content.append(part.text)
        self._length += len(part.text)
        if part.logprobs:
            self._logprobs.setdefault("content", []).extend(write_logprobs(part.logprobs))
        if part.opaque:
            self._add_states(part)

    def add_refusal(self, part: Part, path: str) -> None:  # noqa: ARG002  # one signature for all kinds
        """Words of refusal."""
        self.refusals.append(part.refusal)
        self._logprobs.setdefault("refusal", []).extend(write_logprobs(part.logprobs))

    def add_reasoning(self, part: Part, path: str) -> None:  # noqa: ARG002  # one signature for all kinds
        """Reasoning and its summaries."""
        reasoning = part.reasoning
        texts = [text for text in (reasoning.text, *reasoning.summaries) if text]
        if texts:
            self._thoughts.append(BETWEEN_ITEMS.join(texts))
        self._states.extend(part.opaque)

    def add_call(self, part: Part, path: str) -> None:  # noqa: ARG002  # one signature for all kinds
        """A call."""
        call = part.tool_call
        written: Fields = {"id": call.id}
        if call.HasField("custom_text"):
            written |= {"type": "custom", "custom": {"name": call.name, "input": call.custom_text}}
        else:
            arguments = call.arguments_json if call.arguments_json.strip() else "{}"
            written |= {"type": "function", "function": {"name": call.name, "arguments": arguments}}
        signature = signature_text(part)
        if signature:
            written["extra_content"] = {"google": {"thought_signature": signature}}
        else:
            self._states.extend(part.opaque)
        merge_extras(written, part.extras, OPENAI)
        self._calls.append(written)

    def add_audio(self, part: Part, path: str) -> None:
        """Sound; what SDKs demand of it is made up where it did not come."""
        audio: Fields = {}
        merge_extras(audio, part.extras, OPENAI)
        audio.setdefault("id", f"audio_{path}")
        audio["data"] = base64_of(part.audio.data)
        audio.setdefault("expires_at", self._context.now + AUDIO_LIFETIME_SECONDS)
        audio["transcript"] = part.audio.transcript
        self._more["audio"] = audio

    def _add_states(self, part: Part) -> None:
        signature = signature_text(part)
        if signature:
            self._more["extra_content"] = {"google": {"thought_signature": signature}}
        else:
            self._states.extend(part.opaque)

    def fields(self) -> Fields:
        """The message."""
        content = "".join(self._content)
        message: Fields = {
            "role": "assistant",
            "content": content or None,
            "refusal": "\n".join(self.refusals) or None,
        }
        if self._thoughts:
            message["reasoning_content"] = BETWEEN_ITEMS.join(self._thoughts)
        if self._calls:
            message["tool_calls"] = self._calls
        if self._annotations:
            message["annotations"] = self._annotations
        if self._states:
            message |= state_fields(self._states)
        return message | self._more

    def logprobs(self) -> Fields | None:
        """`logprobs` of the choice."""
        content, refusal = self._logprobs.get("content") or None, self._logprobs.get("refusal") or None
        return {"content": content, "refusal": refusal} if content or refusal else None


_ADDERS: Mapping[str, Callable[[_Message, Part, str], None]] = {
    "text": _Message.add_text,
    "refusal": _Message.add_refusal,
    "reasoning": _Message.add_reasoning,
    "tool_call": _Message.add_call,
    "audio": _Message.add_audio,
}
