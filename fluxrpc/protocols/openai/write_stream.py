"""Events of the IR as a stream of OpenAI Chat Completions.

For each choice: a chunk with the role, its pieces, a chunk with an empty delta and the finish; then usage, where the
caller asked for it, and `[DONE]`. The head of every chunk is the same bytes, made once.

Invariant: nothing is kept but what the next chunk needs; calls are counted apart from other parts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct, field

from fluxrpc.ir.usage import merge_usage
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
from fluxrpc.protocols.openai.write_response import (
    AUDIO_LIFETIME_SECONDS,
    DROPPED_KINDS,
    note_citation,
    note_trimmings,
)
from fluxrpc.v1.part_pb2 import Part
from fluxrpc.v1.protocol_pb2 import OpaqueState
from fluxrpc.v1.response_pb2 import Finish, MessageResponse
from fluxrpc.v1.stream_pb2 import PartDelta, PartStart, PartStop, StreamEvent
from fluxrpc.v1.usage_pb2 import Usage

__all__ = ["OpenAIEventWriter"]

Fields = dict[str, Any]
_encode = msgspec.json.Encoder().encode
_DONE = b"data: [DONE]\n\n"
_TEXT_KEYS: Mapping[str, str] = {"text": "content", "refusal": "refusal", "reasoning": "reasoning_content"}
"""Kind of a delta to the key that its text is written under."""
_WRITTEN_KINDS = frozenset({"text", "refusal", "reasoning", "tool_call", "audio"})


class _Progress(Struct):
    """How far a choice has come."""

    kind: str = ""
    """Of the open part; "" where it is not written."""
    part: int = -1
    path: str = ""
    has_grown: bool = False
    """Whether text of the open part was written."""
    is_custom: bool = False
    call: int = -1
    """Index of the latest call among the calls."""
    item: str = ""
    has_refusal: bool = False
    length: int = 0
    """Code points of content so far."""
    span: list[int] = field(default_factory=lambda: [0, 0])
    """Where the open text begins in the content, and how long it is."""
    spans: dict[int, list[int]] = field(default_factory=dict)
    """The same of each text part: citations need it."""
    summary: int = -1
    listed: dict[str, int] = field(default_factory=dict)
    """How many entries of each list were written: accumulators put the lists together by `index`."""
    waiting: list[Any] = field(default_factory=list)
    """Citations of the open text that name no place in it."""


class OpenAIEventWriter:
    """See the module."""

    def __init__(self, context: Context, notes: Notes) -> None:
        self._context = context
        self._notes = notes
        self._usage: Usage | None = None
        self._choices: dict[int, _Progress] = {}
        self._head = b""
        self._tail = b',"usage":null}\n\n' if context.show_usage else b"}\n\n"
        self._texts: dict[tuple[int, str], tuple[bytes, bytes]] = {}
        self._frames: list[bytes] = []

    def write(self, events: Sequence[StreamEvent]) -> bytes:
        """See `EventWriter.write`."""
        frames = self._frames = []
        for event in events:
            kind = event.WhichOneof("event")
            if kind == "part_delta":
                self._delta(event.part_delta)
            elif kind is not None:
                _EVENTS[kind](self, getattr(event, kind), event)
        return frames[0] if len(frames) == 1 else b"".join(frames)

    def close(self) -> bytes:
        """See `EventWriter.close`."""
        if self._usage is None or not self._context.show_usage:
            return _DONE
        usage = _encode(write_usage(self._usage, self._notes))
        return b'%s],"usage":%s}\n\n%s' % (self._head, usage, _DONE)

    # --- events ---

    def start_answer(self, head: MessageResponse, event: StreamEvent) -> None:  # one signature
        """The head of all chunks."""
        fields: Fields = {
            "id": answer_id(head, self._context),
            "object": "chat.completion.chunk",
            "created": seconds_of(head, self._context),
            "model": head.model or self._context.target.model,
        }
        tier = tier_of(head, self._context)
        if tier:
            fields["service_tier"] = tier
        merge_extras(fields, head.extras, OPENAI)
        self._notes.foreign_extras(head.extras, OPENAI, "", "ANSWER_EXTRA")
        self._head = b'data: %s,"choices":[' % _encode(fields)[:-1]
        if head.HasField("usage"):
            self.keep_usage(head.usage, event)

    def start_part(self, start: PartStart, event: StreamEvent) -> None:
        """A part begins; what its shell holds already is written."""
        index = start.choice_index
        progress = self._progress(index)
        part = start.part
        kind = str(part.WhichOneof("kind"))
        progress.part = start.part_index
        progress.path = f"choices[{index}].parts[{start.part_index}]"
        progress.has_grown = False
        progress.kind = kind if kind in _WRITTEN_KINDS else ""
        self._notes.foreign_extras(event.extras, OPENAI, progress.path, "ANSWER_EXTRA")
        if not progress.kind:
            self._notes.dropped(DROPPED_KINDS.get(kind, "ANSWER_RAW_PART"), progress.path)
            return
        note_trimmings(part, progress.path, self._notes)
        _STARTS[kind](self, index, progress, part)
        for citation in part.citations:
            self._annotate(index, progress, start.part_index, citation)
        if kind != "tool_call":
            self._write_states(index, progress, part.opaque)

    def stop_part(self, stop: PartStop, event: StreamEvent) -> None:  # noqa: ARG002  # one signature
        """A part is whole: what only its whole says is written now, and arguments that never came."""
        index = stop.choice_index
        progress = self._progress(index)
        if not progress.has_grown and stop.HasField("part") and progress.kind:
            self._write_whole(index, progress, stop.part)
        if progress.kind == "tool_call" and not (progress.has_grown or progress.is_custom):
            self._arguments(index, progress, "{}")
        progress.kind = ""
        waiting, progress.waiting = progress.waiting, []
        for citation in waiting:
            self._annotate(index, progress, progress.part, citation)

    def finish(self, finish: Finish, event: StreamEvent) -> None:
        """A choice has finished."""
        index = finish.choice_index
        progress = self._progress(index)
        word = finish_word(finish, self._notes, has_refusal=progress.has_refusal)
        fields: Fields = {"index": index, "delta": {}, "finish_reason": word}
        for extras in (finish.extras, event.extras):
            merge_extras(fields, extras, OPENAI)
            self._notes.foreign_extras(extras, OPENAI, f"choices[{index}]", "ANSWER_EXTRA")
        self._chunk(_encode(fields))

    def keep_usage(self, usage: Usage, event: StreamEvent) -> None:  # noqa: ARG002  # one signature
        """Usage is written once, at the end."""
        if self._usage is None:
            self._usage = Usage()
        merge_usage(self._usage, usage)

    def pass_on(self, event: Any, whole: StreamEvent) -> None:  # noqa: ARG002  # one signature
        """An event that only one protocol knows."""
        if event.protocol == OPENAI:
            self._frames.append(b"data: %s\n\n" % event.data_json.encode())
        else:
            self._notes.dropped("ANSWER_EXTRA", event.name)

    # --- parts ---

    def _progress(self, index: int) -> _Progress:
        progress = self._choices.get(index)
        if progress is None:
            progress = self._choices[index] = _Progress()
            self._piece(index, {"role": "assistant", "content": ""})
        return progress

    def start_text(self, index: int, progress: _Progress, part: Part) -> None:
        """Text."""
        progress.span = [0, 0]
        is_new, progress.item = next_item(progress.item, part)
        if is_new:
            self._text(index, progress, "text", BETWEEN_ITEMS)
        progress.span = progress.spans[progress.part] = [progress.length, 0]
        progress.has_grown = False
        self._text(index, progress, "text", part.text, part.logprobs)

    def start_refusal(self, index: int, progress: _Progress, part: Part) -> None:
        """Words of refusal."""
        progress.has_refusal = True
        self._text(index, progress, "refusal", part.refusal, part.logprobs)

    def start_reasoning(self, index: int, progress: _Progress, part: Part) -> None:
        """Reasoning."""
        progress.summary = -1
        reasoning = part.reasoning
        self._text(
            index, progress, "reasoning", BETWEEN_ITEMS.join(filter(None, (reasoning.text, *reasoning.summaries)))
        )

    def start_call(self, index: int, progress: _Progress, part: Part) -> None:
        """A call: the first piece has its id and name."""
        call = part.tool_call
        progress.call += 1
        progress.is_custom = call.HasField("custom_text")
        text = call.custom_text or call.arguments_json
        kind, key = ("custom", "input") if progress.is_custom else ("function", "arguments")
        written: Fields = {
            "index": progress.call,
            "id": call.id,
            "type": kind,
            kind: {"name": call.name, key: text},
        }
        signature = signature_text(part)
        if signature:
            written["extra_content"] = {"google": {"thought_signature": signature}}
        merge_extras(written, part.extras, OPENAI)
        self._piece(index, {"tool_calls": [written]})
        progress.has_grown = bool(text)
        if not signature:
            self._write_states(index, progress, part.opaque)

    def start_audio(self, index: int, progress: _Progress, part: Part) -> None:
        """Sound."""
        audio: Fields = {}
        merge_extras(audio, part.extras, OPENAI)
        audio.setdefault("id", f"audio_{progress.path}")
        if part.audio.data:
            audio["data"] = base64_of(part.audio.data)
        if part.audio.transcript:
            audio["transcript"] = part.audio.transcript
        audio.setdefault("expires_at", self._context.now + AUDIO_LIFETIME_SECONDS)
        self._piece(index, {"audio": audio})

    def _write_whole(self, index: int, progress: _Progress, part: Part) -> None:
        """A part of which nothing has come yet."""
        if progress.kind == "tool_call":
            self._arguments(index, progress, part.tool_call.custom_text or part.tool_call.arguments_json)
        elif progress.kind == "reasoning":
            self.start_reasoning(index, progress, part)
        elif progress.kind in _TEXT_KEYS:
            self._text(index, progress, progress.kind, getattr(part, progress.kind))
        if progress.kind != "tool_call":
            self._write_states(index, progress, part.opaque)

    # --- deltas ---

    def _delta(self, delta: PartDelta) -> None:
        index = delta.choice_index
        progress = self._choices[index]
        kind = delta.WhichOneof("delta") or ""
        if kind == "citation":
            self._annotate(index, progress, delta.part_index, delta.citation)
        elif not progress.kind:
            return
        elif kind in _TEXT_KEYS:
            self._text(index, progress, kind, getattr(delta, kind), delta.logprobs)
        elif kind == "arguments":
            self._arguments(index, progress, delta.arguments)
        elif kind:
            _DELTAS[kind](self, index, progress, delta)
        elif delta.logprobs:
            self._text(index, progress, progress.kind, "", delta.logprobs)

    def _text(self, index: int, progress: _Progress, kind: str, text: str, logprobs: Sequence[Any] = ()) -> None:
        if logprobs:
            key = "refusal" if kind == "refusal" else "content"
            entries = {"content": None, "refusal": None, key: write_logprobs(logprobs)}
            delta = {_TEXT_KEYS[kind]: text}
            self._chunk(_encode({"index": index, "delta": delta, "logprobs": entries, "finish_reason": None}))
        elif text:
            frame = self._texts.get((index, kind))
            if frame is None:
                frame = self._texts[index, kind] = self._text_frame(index, _TEXT_KEYS[kind])
            self._frames.append(frame[0] + _encode(text) + frame[1])
        else:
            return
        progress.has_grown = True
        if kind == "text":
            progress.length += len(text)
            progress.span[1] += len(text)

    def _text_frame(self, index: int, key: str) -> tuple[bytes, bytes]:
        """What stands before and after the text of a chunk that holds nothing else."""
        before = b'%s{"index":%d,"delta":{"%s":' % (self._head, index, key.encode())
        return before, b'},"finish_reason":null}]' + self._tail

    def _arguments(self, index: int, progress: _Progress, text: str) -> None:
        if not text:
            return
        progress.has_grown = True
        inner = {"custom": {"input": text}} if progress.is_custom else {"function": {"arguments": text}}
        self._piece(index, {"tool_calls": [{"index": progress.call, **inner}]})

    def grow_summary(self, index: int, progress: _Progress, delta: PartDelta) -> None:
        """A summary: the next one begins a paragraph."""
        summary = delta.summary
        text = summary.text
        if summary.summary_index != progress.summary and progress.has_grown:
            text = BETWEEN_ITEMS + text
        progress.summary = summary.summary_index
        self._text(index, progress, "reasoning", text)

    def grow_data(self, index: int, progress: _Progress, delta: PartDelta) -> None:  # noqa: ARG002  # one signature
        """Sound."""
        self._piece(index, {"audio": {"data": base64_of(delta.data)}})

    def grow_transcript(
        self,
        index: int,
        progress: _Progress,  # noqa: ARG002  # one signature
        delta: PartDelta,
    ) -> None:
        """The words of sound."""
        self._piece(index, {"audio": {"transcript": delta.transcript}})

    def grow_opaque(self, index: int, progress: _Progress, delta: PartDelta) -> None:
        """State."""
        self._write_states(index, progress, [delta.opaque])

    def _write_states(self, index: int, progress: _Progress, states: Sequence[OpaqueState]) -> None:
        if not states:
            return
        signature = signature_text(Part(opaque=states)) if progress.kind in _SIGNED_KINDS else ""
        if not signature:
            self._piece(index, {key: _numbered(key, found, progress) for key, found in state_fields(states).items()})
            return
        content = {"extra_content": {"google": {"thought_signature": signature}}}
        if progress.kind == "tool_call":
            empty = {"arguments": ""}  # SDKs demand a function in every piece of a call
            self._piece(index, {"tool_calls": [{"index": progress.call, "function": empty, **content}]})
        else:
            self._piece(index, content)

    def _annotate(self, index: int, progress: _Progress, part: int, citation: Any) -> None:
        if progress.kind and part == progress.part and citation.sources and not citation.HasField("end"):
            progress.waiting.append(citation)  # it is of the whole text, whose end is not known yet
            return
        shift, length = progress.spans.get(part, (0, 0))
        found = annotations_of(citation, shift=shift, length=length)
        note_citation(
            is_written=bool(found),
            has_span=citation.HasField("end") or not citation.sources,
            path=f"choices[{index}].parts[{part}].citations",
            notes=self._notes,
        )
        if found:
            self._piece(index, {"annotations": _numbered("annotations", found, progress)})

    def _piece(self, index: int, delta: Fields) -> None:
        self._chunk(b'{"index":%d,"delta":%s,"finish_reason":null}' % (index, _encode(delta)))

    def _chunk(self, choice: bytes) -> None:
        self._frames.append(b"%s%s]%s" % (self._head, choice, self._tail))


def _numbered(key: str, entries: list[Any], progress: _Progress) -> list[Any]:
    """The entries of a list that comes in pieces. A copy's own records have numbers of their own, or none."""
    first = progress.listed.get(key, 0)
    progress.listed[key] = first + len(entries)
    return [
        {"index": at, **entry} if isinstance(entry, dict) else entry for at, entry in enumerate(entries, start=first)
    ]


_SIGNED_KINDS = frozenset({"text", "tool_call"})
_EVENTS: Mapping[str, Callable[[OpenAIEventWriter, Any, StreamEvent], None]] = {
    "response_start": OpenAIEventWriter.start_answer,
    "part_start": OpenAIEventWriter.start_part,
    "part_stop": OpenAIEventWriter.stop_part,
    "finish": OpenAIEventWriter.finish,
    "usage": OpenAIEventWriter.keep_usage,
    "raw": OpenAIEventWriter.pass_on,
}
_STARTS: Mapping[str, Callable[[OpenAIEventWriter, int, _Progress, Part], None]] = {
    "text": OpenAIEventWriter.start_text,
    "refusal": OpenAIEventWriter.start_refusal,
    "reasoning": OpenAIEventWriter.start_reasoning,
    "tool_call": OpenAIEventWriter.start_call,
    "audio": OpenAIEventWriter.start_audio,
}
_DELTAS: Mapping[str, Callable[[OpenAIEventWriter, int, _Progress, PartDelta], None]] = {
    "summary": OpenAIEventWriter.grow_summary,
    "data": OpenAIEventWriter.grow_data,
    "transcript": OpenAIEventWriter.grow_transcript,
    "opaque": OpenAIEventWriter.grow_opaque,
}
