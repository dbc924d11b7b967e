"""A stream of OpenAI Chat Completions, or of one of its copies, into events of the IR.

Chunks have no borders of parts: a change of kind closes the open part and opens the next. Calls are told apart by
`index`, where a copy leaves it out by their id. A fragment for a call that is whole already cannot be placed: the
answer is unusable, because a call with half of its arguments would look whole.

Not kept: `obfuscation`, and fields of choices and deltas that only one copy knows.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct, field

from fluxrpc.errors import AnswerFault, ProviderError
from fluxrpc.protocols.base import StreamOptions
from fluxrpc.protocols.context import Context
from fluxrpc.protocols.event_reader import EventReader
from fluxrpc.protocols.json_text import Index, decode_halves, without_halves
from fluxrpc.protocols.media import bytes_of
from fluxrpc.protocols.openai.answer_values import citations_of, clean, head_of, logprobs_of, whole_text
from fluxrpc.protocols.openai.errors import error_of
from fluxrpc.protocols.openai.finish import finish_reason
from fluxrpc.protocols.openai.reasoning_fields import ReasoningFields, signature_of, thought_of
from fluxrpc.protocols.openai.usage import usage_of
from fluxrpc.protocols.openai.wire_fields import json_of
from fluxrpc.protocols.openai.words import OPENAI, SERVICE_TIER
from fluxrpc.protocols.stream_watch import LAST, PASS, REAL
from fluxrpc.protocols.tool_names import made_up_call_id
from fluxrpc.sse import Frame
from fluxrpc.v1.part_pb2 import Media, Part, ToolCall
from fluxrpc.v1.protocol_pb2 import Extra
from fluxrpc.v1.response_pb2 import Finish
from fluxrpc.v1.stream_pb2 import RawEvent, StreamEvent

__all__ = ["OpenAIEventReader"]


class _Piece(Struct):
    """One piece of a content that is a list, as some servers write it."""

    text: str | None = None


class _Function(Struct):
    name: str | None = None
    arguments: str | dict[str, Any] | None = None
    """A string; some copies send the whole object."""
    input: str | None = None


class _Call(Struct):
    index: Index | None = None
    id: str | None = None
    function: _Function | None = None
    custom: _Function | None = None
    extra_content: Any = None


class _Delta(ReasoningFields):
    content: str | list[_Piece] | None = None
    refusal: str | None = None
    tool_calls: list[_Call] | None = None
    function_call: _Function | None = None
    audio: Any = None
    annotations: Any = None
    extra_content: Any = None


class _Choice(Struct):
    index: Index = 0
    delta: _Delta | None = None
    finish_reason: str | None = None
    logprobs: Any = None


class _Chunk(Struct):
    choices: list[_Choice] | None = None
    id: str | None = None
    model: str | None = None
    created: int | float | None = None
    usage: Any = None
    error: Any = None
    service_tier: Any = None
    system_fingerprint: Any = None


_AUDIO_STARTS = frozenset({"id", "data", "transcript"})
_AUDIO_EXTRAS = frozenset({"id", "expires_at"})
_CHUNK = msgspec.json.Decoder(_Chunk)
_FIELDS = msgspec.json.Decoder(dict[str, Any])
_COMMON_FIELDS = frozenset({"object", "obfuscation", *_Chunk.__struct_fields__})


class _Calls(Struct):
    """The calls of one choice."""

    ids: dict[int, str] = field(default_factory=dict)
    """Index of a call on the wire to its id there."""
    open: int = -1
    """The latest."""
    count: int = 0


class OpenAIEventReader(EventReader):
    """See the module."""

    holds_finishes = True  # some copies go on after a finish, or repeat it

    def __init__(self, options: StreamOptions, context: Context) -> None:
        super().__init__(options, context)
        self._calls: dict[int, _Calls] = {}
        self._has_halves = False
        self._early: list[StreamEvent] = []
        """What came before the answer had a name: Azure opens with its filters' word on the prompt."""

    def error_of(self, text: bytes) -> ProviderError:
        """An in-band error."""
        return error_of(text)

    def take(self, frame: Frame) -> int:
        """Read one chunk into events."""
        data = frame.data
        if data == b"[DONE]":
            return LAST
        chunk = decode_halves(_CHUNK, data)
        if chunk.error:
            raise error_of(data)
        self._has_halves = b"\\u" in data and without_halves(data) != data
        if not self.has_begun and (chunk.choices or chunk.id or chunk.model or chunk.usage):
            self._begin_answer(chunk)
        step = PASS
        if chunk.choices:
            for choice in chunk.choices:
                step |= self._take_choice(choice)
        elif not chunk.usage:
            self._take_bare_chunk(data)
        if chunk.usage:
            self.report(usage_of(self._whole(chunk.usage)))
        return step

    def _begin_answer(self, chunk: _Chunk) -> None:
        head = head_of(chunk.id, chunk.model, chunk.created)
        tier = chunk.service_tier
        if tier and isinstance(tier, str):
            head.service_tier, head.service_tier_raw = SERVICE_TIER.read(whole_text(tier))
        if chunk.system_fingerprint:
            value = json_of(self._whole(chunk.system_fingerprint))
            head.extras.append(Extra(protocol=OPENAI, key="system_fingerprint", value_json=value))
        self.begin(head)
        for event in self._early:
            self.emit(event)
        self._early = []

    def _whole(self, value: Any) -> Any:
        """A value without halves of surrogate pairs: only text that grows may hold them."""
        return clean(value) if self._has_halves else value

    def _take_bare_chunk(self, data: bytes) -> None:
        """A chunk without choices and usage: moderation, Azure's filters of the prompt."""
        fields = _FIELDS.decode(without_halves(data))
        if any(value is not None for key, value in fields.items() if key not in _COMMON_FIELDS):
            event = StreamEvent(raw=RawEvent(protocol=OPENAI, data_json=json_of(fields)))
            if self.has_begun:
                self.emit(event)
            else:
                self._early.append(event)

    def _take_choice(self, choice: _Choice) -> int:
        index = choice.index
        self.open_choice(index)
        step = PASS if choice.delta is None else self._take_delta(index, choice.delta)
        if choice.logprobs:
            self._take_logprobs(index, choice.logprobs)
        if choice.finish_reason:
            word = whole_text(choice.finish_reason)
            reason = finish_reason(word, has_calls=self.had_calls(index), has_refusal=self.had_refusal(index))
            self.end_choice(Finish(choice_index=index, reason=reason, raw=word))
            step = REAL
        return step

    def _take_delta(self, index: int, delta: _Delta) -> int:
        step = PASS
        if delta.reasoning_content or delta.reasoning or delta.reasoning_details or delta.thinking_blocks:
            self._take_thought(index, delta)
            step = REAL
        content = delta.content
        if content:
            self.grow(index, "text", content if isinstance(content, str) else _joined(content))
            step = REAL
        if delta.refusal:
            self.grow(index, "refusal", delta.refusal)
            step = REAL
        if delta.tool_calls or delta.function_call or delta.audio:
            self._take_calls_and_sound(index, delta)
            step = REAL
        if delta.annotations or delta.extra_content:
            self._take_trimmings(index, delta)
        return step

    def _take_thought(self, index: int, delta: _Delta) -> None:
        fields = delta
        if self._has_halves:  # halves of pairs are joined in text alone
            fields = _Delta(
                reasoning_content=delta.reasoning_content,
                reasoning=delta.reasoning,
                reasoning_details=clean(delta.reasoning_details),
                thinking_blocks=clean(delta.thinking_blocks),
            )
        thought = thought_of(fields)
        if thought.text or thought.states:
            self.grow(index, "reasoning", thought.text)
        for state in thought.states:
            self.add_opaque(index, state)

    def _take_calls_and_sound(self, index: int, delta: _Delta) -> None:
        for call in delta.tool_calls or ():
            self._take_call(index, call)
        if delta.function_call:
            self._take_call(index, _Call(index=0, function=delta.function_call))
        audio = self._whole(delta.audio)
        if isinstance(audio, dict):
            self._take_audio(index, audio)

    def _take_call(self, index: int, call: _Call) -> None:
        calls = self._calls.setdefault(index, _Calls())
        at = self._index_of(call, calls)
        function = call.function or call.custom or _Function()
        key = f"call {at}"
        if at not in calls.ids:
            calls.ids[at] = call.id or ""
            calls.open = at
            self.open_part(index, key, self._call_shell(index, call, function, calls.count))
            calls.count += 1
        text = function.arguments or function.input
        if not text:
            return
        if not self.is_open(index, key):
            raise AnswerFault("MALFORMED_ANSWER", f"a fragment of call {at} came after the call had ended")
        self.add_text(index, "arguments", text if isinstance(text, str) else json_of(self._whole(text)))

    def _index_of(self, call: _Call, calls: _Calls) -> int:
        """Which call a fragment belongs to. A new id under a known index is a new call."""
        at = call.index
        if at is None:
            is_known = not call.id or call.id in calls.ids.values()
            at = calls.open if is_known and calls.ids else len(calls.ids)
        known = calls.ids.get(at, "")
        if call.id and known and call.id != known:
            at = next((place for place, known in calls.ids.items() if known == call.id), max(calls.ids) + 1)
        return at

    def _call_shell(self, index: int, call: _Call, function: _Function, count: int) -> Part:
        shell = Part(tool_call=ToolCall(id=whole_text(call.id or "") or made_up_call_id(index, count)))
        shell.tool_call.name = whole_text(function.name or "")
        if call.custom is not None and call.function is None:
            shell.tool_call.custom_text = ""
        signature = signature_of(self._whole(call.extra_content))
        if signature is not None:
            shell.opaque.append(signature)
        return shell

    def _take_audio(self, index: int, audio: dict[str, Any]) -> None:
        """Sound comes in pieces: `id` first, then `data` and `transcript`, at last `expires_at`, maybe alone."""
        extras = [
            Extra(protocol=OPENAI, key=key, value_json=json_of(audio[key])) for key in _AUDIO_EXTRAS & audio.keys()
        ]
        if self.is_open(index, "audio"):
            event = StreamEvent(extras=extras)
            event.part_delta.choice_index = index
            event.part_delta.part_index = self.part_index(index)
            if extras:
                self.emit(event)
        elif _AUDIO_STARTS & audio.keys():
            self.open_part(index, "audio", Part(audio=Media(data=b""), extras=extras))
        else:
            return
        data, transcript = audio.get("data"), audio.get("transcript")
        if isinstance(data, str) and data:
            self.add_data(index, bytes_of(data, path="audio.data"))
        if isinstance(transcript, str) and transcript:
            self.add_text(index, "transcript", transcript)

    def _take_trimmings(self, index: int, delta: _Delta) -> None:
        """Citations and a signature belong to the text; without one, to an empty text."""
        citations = citations_of(self._whole(delta.annotations))
        signature = signature_of(self._whole(delta.extra_content))
        if (citations or signature) and not self.is_open(index, "text"):
            self.open_part(index, "text", Part(text=""))
        for citation in citations:
            self.add_citation(index, citation)
        if signature is not None:
            self.add_opaque(index, signature)

    def _take_logprobs(self, index: int, logprobs: Any) -> None:
        found = self._whole(logprobs)
        if not isinstance(found, dict):
            return
        for key, kind in (("content", "text"), ("refusal", "refusal")):
            entries = logprobs_of(found.get(key))
            if entries and self.is_open(index, kind):
                self.add_logprobs(index, entries)


def _joined(pieces: list[_Piece]) -> str:
    return "".join(piece.text or "" for piece in pieces)
