"""A whole answer of OpenAI Chat Completions to `MessageResponse`: text, reasoning and refusals.

What an answer may hold beside (it can only where the caller's request asked for it) is noted, never dropped silently.
"""

from __future__ import annotations

from typing import Any

import msgspec
from google.protobuf.timestamp_pb2 import Timestamp

from fluxrpc.protocols.base import Answer
from fluxrpc.protocols.json_text import Index, decode_halves
from fluxrpc.protocols.openai.errors import error_of
from fluxrpc.protocols.openai.finish import finish_reason
from fluxrpc.protocols.openai.usage import WireUsage, to_usage
from fluxrpc.protocols.surrogates import HalfJoiner
from fluxrpc.protocols.whole_answer import explain_answer, read_whole
from fluxrpc.v1.outcome_pb2 import NOTE_ACTION_APPROXIMATED, NOTE_ACTION_DROPPED, TranslationNote
from fluxrpc.v1.part_pb2 import Part, Reasoning
from fluxrpc.v1.response_pb2 import Choice, Finish, MessageResponse
from fluxrpc.v1.usage_pb2 import Usage

LATEST_SECONDS = 253402300799
"""The last second that a `Timestamp` can say (year 9999)."""


class TextPiece(msgspec.Struct):
    """One piece of a content that is a list, as some servers write it."""

    text: str | None = None


class Unread(msgspec.Struct):
    """Fields of a message or delta that are not translated yet."""

    tool_calls: Any = None
    function_call: Any = None
    audio: Any = None
    annotations: Any = None

    def names(self) -> list[str]:
        """Those that say something."""
        return [name for name in _UNREAD if getattr(self, name)]


_UNREAD = Unread.__struct_fields__


class SaidText(Unread):
    """What a message or a delta says."""

    content: str | list[TextPiece] | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None

    def pieces(self) -> list[tuple[str, str]]:
        """Kind (a field of `PartDelta`) and text of what is said, in the order of an answer."""
        content = self.content
        if isinstance(content, list):
            content = "".join(piece.text or "" for piece in content)
        said = (
            ("reasoning", self.reasoning_content or self.reasoning),
            ("text", content),
            ("refusal", self.refusal),
        )
        return [(kind, text) for kind, text in said if text]


class _Choice(msgspec.Struct):
    index: Index = 0
    message: SaidText | None = None
    finish_reason: str | None = None


class _Completion(msgspec.Struct):
    choices: list[_Choice]
    id: str | None = None
    model: str | None = None
    created: int | float | None = None
    usage: Any = None


_COMPLETION = msgspec.json.Decoder(_Completion)


def read_response(body: bytes) -> Answer:
    """See `TypedCodec.read_response`."""
    completion = read_whole(_COMPLETION, body, error_of, decode=decode_halves)
    if not completion.choices:
        raise explain_answer(body, error_of)
    notes: list[TranslationNote] = []
    response = head(completion.id, completion.model, completion.created)
    response.choices.extend(_choice(choice, notes) for choice in completion.choices)
    usage = usage_of(completion.usage)
    if usage is not None:
        response.usage.CopyFrom(usage)
    return Answer(
        message=response,
        usage=usage,
        served_model=response.model,
        refused=any(map(_is_refused, completion.choices)),
        notes=tuple(notes),
    )


def head(identity: str | None, model: str | None, created: float | None) -> MessageResponse:
    """The answer's head: what stands around the choices."""
    response = MessageResponse(id=whole_text(identity or ""), model=whole_text(model or ""))
    if created is not None and 0 < created <= LATEST_SECONDS:
        response.created.CopyFrom(Timestamp(seconds=int(created)))
    return response


def whole_text(text: str) -> str:
    """The text with halves of surrogate pairs replaced."""
    joiner = HalfJoiner()
    return joiner.feed(text) + joiner.close()


def usage_of(wire: Any) -> Usage | None:
    """The counters, where they are there and no riddle."""
    try:
        return to_usage(msgspec.convert(wire, WireUsage))
    except (msgspec.ValidationError, UnicodeEncodeError):  # the latter for a lone surrogate where a counter belongs
        return None


def part_of(kind: str, text: str) -> Part:
    """A part of one of the kinds of `SaidText.pieces`."""
    if kind == "reasoning":
        return Part(reasoning=Reasoning(text=text))
    return Part(refusal=text) if kind == "refusal" else Part(text=text)


def dropped(path: str) -> TranslationNote:
    """The note about a field that is not translated yet."""
    return TranslationNote(
        path=path,
        action=NOTE_ACTION_DROPPED,
        code="NOT_TRANSLATED_YET",
        reason="typed answers hold only text, reasoning and refusals so far",
    )


def replaced(path: str) -> TranslationNote:
    """The note about half of a surrogate pair that stayed alone."""
    return TranslationNote(
        path=path,
        action=NOTE_ACTION_APPROXIMATED,
        code="LONE_SURROGATE",
        reason="half of a surrogate pair is no text; U+FFFD stands in its place",
    )


def _choice(choice: _Choice, notes: list[TranslationNote]) -> Choice:
    said = choice.message or SaidText()
    path = f"choices[{choice.index}].message"
    notes.extend(dropped(f"{path}.{name}") for name in said.names())
    parts = []
    for kind, text in said.pieces():
        joiner = HalfJoiner()
        parts.append(part_of(kind, joiner.feed(text) + joiner.close()))
        if joiner.replaced:
            notes.append(replaced(path))
    word = choice.finish_reason or ""
    reason = finish_reason(word, has_calls="tool_calls" in said.names(), has_refusal=bool(said.refusal))
    finish = Finish(choice_index=choice.index, reason=reason, raw=whole_text(word))
    return Choice(index=choice.index, parts=parts, finish=finish)


def _is_refused(choice: _Choice) -> bool:
    return choice.finish_reason == "content_filter" or bool(choice.message and choice.message.refusal)
