"""A stream of Gemini to events: each frame is a partial answer, and nothing says where a part ends.

Text grows until something else comes or a signature closes it: what is signed must come back as it was. Finishes are
held, for old models write one on every frame.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from fluxrpc.errors import ProviderError
from fluxrpc.protocols.base import StreamOptions
from fluxrpc.protocols.context import Context
from fluxrpc.protocols.event_reader import EventReader
from fluxrpc.protocols.gemini.errors import error_of
from fluxrpc.protocols.gemini.finish import blocked, finish_reason
from fluxrpc.protocols.gemini.grounding import citations_of_recitation, citations_of_support
from fluxrpc.protocols.gemini.offsets import Offsets
from fluxrpc.protocols.gemini.read_parts import read_part, read_state
from fluxrpc.protocols.gemini.read_response import category_of, read_head, read_logprobs
from fluxrpc.protocols.gemini.usage import USAGE, served_tier, to_usage
from fluxrpc.protocols.gemini.wire import GEMINI, CamelNode
from fluxrpc.protocols.json_text import Index, decode_answer, without_halves
from fluxrpc.protocols.stream_watch import DROP, PASS, REAL
from fluxrpc.protocols.tool_names import made_up_call_id
from fluxrpc.protocols.whole_answer import read_loosely, says_something
from fluxrpc.sse import Frame
from fluxrpc.v1.part_pb2 import Part, Reasoning
from fluxrpc.v1.protocol_pb2 import Extra
from fluxrpc.v1.response_pb2 import Finish
from fluxrpc.v1.usage_pb2 import Usage

__all__ = ["GeminiEventReader"]

_ABSENT = msgspec.Raw(b"")


class _TextPart(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """What nearly every part of a stream is."""

    text: str
    thought: bool = False
    thought_signature: str = ""


class _Content(msgspec.Struct):
    parts: list[msgspec.Raw] | None = None


class _Candidate(msgspec.Struct, rename="camel"):
    index: Index = 0
    content: _Content | None = None
    finish_reason: str | None = None
    finish_message: str | None = None
    logprobs_result: msgspec.Raw = _ABSENT
    safety_ratings: msgspec.Raw = _ABSENT
    grounding_metadata: msgspec.Raw = _ABSENT
    citation_metadata: msgspec.Raw = _ABSENT
    url_context_metadata: msgspec.Raw = _ABSENT
    avg_logprobs: msgspec.Raw = _ABSENT
    token_count: msgspec.Raw = _ABSENT
    continuation_token: msgspec.Raw = _ABSENT


class _PlainContent(msgspec.Struct, forbid_unknown_fields=True):
    parts: list[_TextPart]
    role: str = ""


class _PlainCandidate(msgspec.Struct, forbid_unknown_fields=True):
    content: _PlainContent
    index: Index = 0


class _PlainFrame(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """What nearly every frame of a stream is: more text and nothing else. All others take the long way."""

    candidates: list[_PlainCandidate]
    usage_metadata: msgspec.Raw = _ABSENT
    model_version: str = ""
    response_id: str = ""
    create_time: str = ""


class _Feedback(msgspec.Struct, rename="camel"):
    block_reason: str | None = None
    block_reason_message: str | None = None
    safety_ratings: msgspec.Raw = _ABSENT


class _Frame(msgspec.Struct, rename="camel"):
    candidates: list[_Candidate] | None = None
    prompt_feedback: _Feedback | None = None
    usage_metadata: msgspec.Raw = _ABSENT
    error: msgspec.Raw = _ABSENT


_FRAME = msgspec.json.Decoder(_Frame)
_PLAIN_FRAME = msgspec.json.Decoder(_PlainFrame)
_TEXT_PART = msgspec.json.Decoder(_TextPart)
_EXTRAS = {
    "safetyRatings": "safety_ratings",
    "groundingMetadata": "grounding_metadata",
    "citationMetadata": "citation_metadata",
    "urlContextMetadata": "url_context_metadata",
    "avgLogprobs": "avg_logprobs",
    "tokenCount": "token_count",
    "continuationToken": "continuation_token",
}
"""Fields of a candidate that the IR has as extras, to ours; a later frame replaces what an earlier one said."""
_CITING = {"groundingMetadata": citations_of_support, "citationMetadata": citations_of_recitation}
_SHELLS = {"text": Part(text=""), "reasoning": Part(reasoning=Reasoning())}
_GROWING = {"tool_call": "arguments_json", "server_tool_call": "input_json"}
"""Kinds of parts to the field that comes as a delta."""
_UNREAL = frozenset({None, "raw", "tool_result"})


class _Progress(msgspec.Struct):
    """What must be known of a choice beside its open part."""

    texts: list[Offsets | None] = []
    calls: int = 0
    extras: dict[str, msgspec.Raw] = {}
    cited: dict[str, msgspec.Raw] = {}


class GeminiEventReader(EventReader):
    """One stream. It is complete when every candidate has its finish reason, or the prompt was refused."""

    holds_finishes = True

    def __init__(self, options: StreamOptions, context: Context) -> None:
        super().__init__(options, context)
        self._raw_usage = _ABSENT
        self._reported = _ABSENT
        self._model = context.target.model
        self._progresses: dict[int, _Progress] = {}

    @property
    def usage(self) -> Usage | None:
        """Any frame may hold the counters so far; the last one wins."""
        wire = read_loosely(USAGE, self._raw_usage)
        return to_usage(wire) if wire else None

    def error_of(self, text: bytes) -> ProviderError:
        """An in-band error."""
        return error_of(text)

    def take(self, frame: Frame) -> int:
        """Read one frame into events."""
        data = frame.data
        if self.has_begun:
            try:
                plain = _PLAIN_FRAME.decode(data)
            except msgspec.MsgspecError:
                pass
            else:
                return self._take_plain(plain)
        return self._take_any(data)

    def _take_any(self, data: bytes) -> int:
        if data == b"[DONE]":  # some gateways end every stream the OpenAI way
            return DROP
        wire = decode_answer(_FRAME, data)
        if says_something(wire.error):
            raise error_of(data)
        parts = self._read_parts(wire, data)
        if says_something(wire.usage_metadata):
            self._raw_usage = wire.usage_metadata
        if not self.has_begun:
            self._begin_with(data)
        step = PASS
        feedback = wire.prompt_feedback
        if feedback is not None and feedback.block_reason:
            step = self._block(feedback)
        for candidate in wire.candidates or ():
            step |= self._take_candidate(candidate, parts)
        if self.finished and self._raw_usage != self._reported:
            self._reported = self._raw_usage
            self.report(self.usage)
        return step

    def _take_plain(self, frame: _PlainFrame) -> int:
        if frame.usage_metadata is not _ABSENT and says_something(frame.usage_metadata):
            self._raw_usage = frame.usage_metadata
        step = PASS
        for candidate in frame.candidates:
            index = candidate.index
            self.open_choice(index)
            progress = self._progress_of(index)
            for part in candidate.content.parts:
                step |= self._take_text(index, progress, part)
        return step

    def _begin_with(self, data: bytes) -> None:
        head = read_head(CamelNode.root(without_halves(data)))
        usage = read_loosely(USAGE, self._raw_usage)
        if usage is not None:
            head.usage.CopyFrom(to_usage(usage))
        head.service_tier, head.service_tier_raw = served_tier(usage)
        self._reported = self._raw_usage
        self._model = head.model or self._model
        self.begin(head)

    def _read_parts(self, wire: _Frame, data: bytes) -> Iterator[_TextPart | Part]:
        """All parts of a frame, in order: read before anything is told, so that a broken one spoils nothing."""
        read: list[_TextPart | Part] = []
        for candidate in wire.candidates or ():
            for text in (candidate.content.parts if candidate.content else None) or ():
                try:
                    read.append(_TEXT_PART.decode(text))
                except msgspec.MsgspecError:
                    node = CamelNode.root(bytes(text))
                    read.append(read_part(node, service=self.context.target.service, model=self._model))
        if b"\\u" in data and without_halves(data) != data:
            _put_halves(read, data)
        return iter(read)

    def _block(self, feedback: _Feedback) -> int:
        finish = blocked(feedback.block_reason or "", feedback.block_reason_message or "")
        if says_something(feedback.safety_ratings):
            text = bytes(feedback.safety_ratings).decode()
            finish.category = category_of(text)
            finish.extras.add(protocol=GEMINI, key="safetyRatings", value_json=text)
        self.end_choice(finish)
        return REAL

    def _take_candidate(self, candidate: _Candidate, parts: Iterator[_TextPart | Part]) -> int:
        index = candidate.index
        self.open_choice(index)
        progress = self._progress_of(index)
        step = PASS
        for _ in (candidate.content.parts if candidate.content else None) or ():
            part = next(parts)
            if isinstance(part, Part):
                step |= self._take_part(index, progress, part)
            else:
                step |= self._take_text(index, progress, part)
        if says_something(candidate.logprobs_result):
            self.add_logprobs(index, read_logprobs(bytes(candidate.logprobs_result).decode()))
        for key, name in _EXTRAS.items():
            value = getattr(candidate, name)
            if value is not _ABSENT and says_something(value):
                progress.extras[key] = value
        word = candidate.finish_reason
        if word and word != "FINISH_REASON_UNSPECIFIED":
            self._end(candidate, progress, word)
            step = REAL
        return step

    def _progress_of(self, index: int) -> _Progress:
        progress = self._progresses.get(index)
        if progress is None:
            progress = self._progresses[index] = _Progress()
        return progress

    def _take_text(self, index: int, progress: _Progress, part: _TextPart) -> int:
        kind = "reasoning" if part.thought else "text"
        if part.text:
            at = self.grow(index, kind, part.text)
            _measure(at, progress, part.text, is_text=not part.thought)
        if part.thought_signature:
            if not self.is_open(index, kind):
                at = self.open_part(index, kind, _SHELLS[kind])
                _measure(at, progress, "", is_text=not part.thought)
            signed = Part()
            signed.CopyFrom(_SHELLS[kind])
            read_state(signed, part.thought_signature, service=self.context.target.service, model=self._model)
            self.add_opaque(index, signed.opaque[0])
            self.close_part(index)
        return REAL if part.text else PASS

    def _take_part(self, index: int, progress: _Progress, part: Part) -> int:
        kind = part.WhichOneof("kind")
        if kind == "tool_call":
            call = part.tool_call
            call.id = call.id or made_up_call_id(len(self.context.request.messages), progress.calls)
            progress.calls += 1
        text, grows = part.text or part.reasoning.text, "reasoning" if kind == "reasoning" else "text"
        if kind in _GROWING:
            owner: Any = getattr(part, kind)
            text, grows = getattr(owner, _GROWING[kind]), "arguments"
            owner.ClearField(_GROWING[kind])
        elif kind == "text":
            part.text = ""
        elif kind == "reasoning":
            part.reasoning.text = ""
        at = self.open_part(index, "whole", part)
        if text:
            self.add_text(index, grows, text)
        _measure(at, progress, text, is_text=kind == "text")
        self.close_part(index)
        return PASS if kind in _UNREAL or (kind in _SHELLS and not text) else REAL

    def _end(self, candidate: _Candidate, progress: _Progress, word: str) -> None:
        index = candidate.index
        for key, read in _CITING.items():
            text = progress.extras.get(key, _ABSENT)
            if text == progress.cited.get(key, _ABSENT):
                continue
            progress.cited[key] = text
            for at, citation in read(text, progress.texts):
                self.add_citation(index, citation, at)
        finish = Finish(
            choice_index=index,
            reason=finish_reason(word, has_calls=self.had_calls(index)),
            raw=word,
            message=candidate.finish_message or "",
            category=category_of(bytes(progress.extras.get("safetyRatings", _ABSENT)).decode()),
        )
        extras = [
            Extra(protocol=GEMINI, key=key, value_json=bytes(value).decode()) for key, value in progress.extras.items()
        ]
        self.end_choice(finish, extras)


def _measure(at: int, progress: _Progress, text: str, *, is_text: bool) -> None:
    """The part at that index has grown: places in its text are counted later."""
    if at == len(progress.texts):
        progress.texts.append(Offsets() if is_text else None)
    offsets = progress.texts[at]
    if offsets is not None:
        offsets.feed(text)


def _put_halves(read: list[_TextPart | Part], data: bytes) -> None:
    """Halves of surrogate pairs, which the fast reader has replaced, back into the texts: others may join them."""
    try:
        candidates = json.loads(data).get("candidates") or ()
    except ValueError:  # the standard library refuses integers of more than 4300 digits
        return
    wires = [part for candidate in candidates for part in ((candidate.get("content") or {}).get("parts") or ())]
    for part, wire in zip(read, wires, strict=True):
        if isinstance(part, _TextPart):
            part.text = wire["text"]
