"""A stream of OpenAI Chat Completions to typed events: text, reasoning and refusals of each choice."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from fluxrpc.errors import ProviderError
from fluxrpc.protocols.base import Batch, StreamOptions
from fluxrpc.protocols.json_text import Index, decode_halves
from fluxrpc.protocols.openai.errors import error_of
from fluxrpc.protocols.openai.finish import finish_reason
from fluxrpc.protocols.openai.typed_response import SaidText, dropped, head, part_of, replaced, usage_of, whole_text
from fluxrpc.protocols.stream_watch import LAST, PASS, REAL, Watch
from fluxrpc.protocols.surrogates import HalfJoiner
from fluxrpc.sse import Frame
from fluxrpc.v1.outcome_pb2 import TranslationNote
from fluxrpc.v1.response_pb2 import Finish
from fluxrpc.v1.stream_pb2 import PartDelta, PartStart, PartStop, StreamEvent
from fluxrpc.v1.usage_pb2 import Usage


class _Choice(msgspec.Struct):
    index: Index = 0
    delta: SaidText | None = None
    finish_reason: str | None = None


class _Chunk(msgspec.Struct):
    choices: list[_Choice] | None = None
    id: str | None = None
    model: str | None = None
    created: int | float | None = None
    usage: Any = None
    error: Any = None


_CHUNK = msgspec.json.Decoder(_Chunk)


@dataclass(slots=True)
class _Progress:
    """How far a choice has come: the kind and index of its open part, and what it was seen to hold."""

    kind: str = ""
    part_index: int = -1
    joiner: HalfJoiner = field(default_factory=HalfJoiner)
    refused: bool = False
    unread: set[str] = field(default_factory=set)


class OpenAIReader(Watch):
    """Chunks have no part borders: a change of kind closes the open part and opens the next."""

    def __init__(self, options: StreamOptions) -> None:
        super().__init__(options)
        self.notes: list[TranslationNote] = []
        self._usage: Usage | None = None
        self._events: list[StreamEvent] = []
        self._started = False
        self._choices: dict[int, _Progress] = {}

    @property
    def usage(self) -> Usage | None:
        """The latest usage seen."""
        return self._usage

    def error_of(self, text: bytes) -> ProviderError:
        """An in-band error."""
        return error_of(text)

    def close(self) -> Batch:
        """See `AnswerStream.close`."""
        batch = super().close()
        batch.frames = b""  # the terminator; `completed` says the same to typed callers
        return batch

    def _watch(self, frames: Iterable[Frame], *, at_end: bool = False) -> Batch:
        batch = super()._watch(frames, at_end=at_end)
        batch.frames = b""
        batch.events, self._events = self._events, []
        return batch

    def take(self, frame: Frame) -> int:
        """Read one chunk into events."""
        if frame.data == b"[DONE]":
            return LAST
        chunk = decode_halves(_CHUNK, frame.data)
        if chunk.error:
            raise error_of(frame.data)
        if not self._started:
            self._started = True
            start = head(chunk.id, chunk.model, chunk.created)
            self.served_model = start.model
            self._events.append(StreamEvent(response_start=start))
        step = PASS
        for choice in chunk.choices or ():
            step |= self._take_choice(choice)
        if (usage := usage_of(chunk.usage)) is not None:
            self._usage = usage
            self._events.append(StreamEvent(usage=usage))
        return step

    def _take_choice(self, choice: _Choice) -> int:
        index = choice.index
        self.open_choice(index)
        progress = self._choices.setdefault(index, _Progress())
        said = choice.delta or SaidText()
        self._note_unread(index, progress, said)
        step = PASS
        for kind, text in said.pieces():
            self._grow(index, progress, kind, text)
            step = REAL
        if choice.finish_reason:
            self._close_part(index, progress)
            self._end(index, progress, choice.finish_reason)
            step = REAL
        return step

    def _grow(self, index: int, progress: _Progress, kind: str, text: str) -> None:
        if kind != progress.kind:
            self._close_part(index, progress)
            progress.kind = kind
            progress.part_index += 1
            start = PartStart(choice_index=index, part_index=progress.part_index, part=part_of(kind, ""))
            self._events.append(StreamEvent(part_start=start))
            progress.refused |= kind == "refusal"
        self._delta(index, progress, progress.joiner.feed(text))

    def _close_part(self, index: int, progress: _Progress) -> None:
        if not progress.kind:
            return
        self._delta(index, progress, progress.joiner.close())
        if progress.joiner.replaced:
            self.notes.append(replaced(f"choices[{index}].delta"))
        self._events.append(StreamEvent(part_stop=PartStop(choice_index=index, part_index=progress.part_index)))
        progress.kind = ""
        progress.joiner = HalfJoiner()

    def _delta(self, index: int, progress: _Progress, text: str) -> None:
        if not text:
            return
        delta = PartDelta(choice_index=index, part_index=progress.part_index)
        setattr(delta, progress.kind, text)
        self._events.append(StreamEvent(part_delta=delta))

    def _end(self, index: int, progress: _Progress, word: str) -> None:
        reason = finish_reason(word, has_calls="tool_calls" in progress.unread, has_refusal=progress.refused)
        finish = Finish(choice_index=index, reason=reason, raw=whole_text(word))
        if index not in self._finishes:
            self._events.append(StreamEvent(finish=finish))
        self.finish(finish)

    def _note_unread(self, index: int, progress: _Progress, said: SaidText) -> None:
        for name in said.names():
            if name not in progress.unread:
                progress.unread.add(name)
                self.notes.append(dropped(f"choices[{index}].delta.{name}"))
