"""What the stream readers of all protocols share: native frames to `StreamEvent`s, in the grammar of the contract.

On top of `Watch` (ends, cuts, errors, malformed events) it keeps for each choice which part is open, joins halves of
surrogate pairs, and makes the events. A protocol's reader adds `take`, which reads one frame and calls what stands
below. Chat and Gemini have no borders of parts: `grow` closes the open part and opens the next where the kind changes.

Invariant: what `ir.accumulate` checks holds for every sequence of calls: one open part for each choice, dense indexes,
every part closed before its choice finishes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct, field

from fluxrpc.ir.usage import merge_usage
from fluxrpc.protocols.base import Batch, StreamOptions
from fluxrpc.protocols.context import Context
from fluxrpc.protocols.stream_watch import Watch
from fluxrpc.protocols.surrogates import HalfJoiner
from fluxrpc.sse import Frame
from fluxrpc.v1.outcome_pb2 import NOTE_ACTION_APPROXIMATED, TranslationNote
from fluxrpc.v1.part_pb2 import Citation, Part, Reasoning, TokenLogprob
from fluxrpc.v1.protocol_pb2 import Extra, OpaqueState
from fluxrpc.v1.response_pb2 import Finish, MessageResponse
from fluxrpc.v1.stream_pb2 import StreamEvent
from fluxrpc.v1.usage_pb2 import Usage

__all__ = ["EventReader"]


class _Progress(Struct):
    """How far a choice has come."""

    key: str = ""
    """Which part is open: its kind, or whatever the reader calls it; "" for none."""
    index: int = -1
    """Index of the open part, or of the last one."""
    text_kind: str = ""
    """Which text of the open part grew last."""
    joiner: HalfJoiner = field(default_factory=HalfJoiner)
    had_calls: bool = False
    had_refusal: bool = False


class EventReader(Watch):
    """See the module."""

    def __init__(self, options: StreamOptions, context: Context) -> None:
        super().__init__(options)
        self.context = context
        self.notes: list[TranslationNote] = []
        self._usage: Usage | None = None
        self._events: list[StreamEvent] = []
        self._has_begun = False
        self._choices: dict[int, _Progress] = {}

    @property
    def usage(self) -> Usage | None:
        """The latest usage seen."""
        return self._usage

    def close(self) -> Batch:
        """See `AnswerStream.close`."""
        batch = super().close()
        batch.frames = b""
        if self._events:
            batch.events, self._events = [*batch.events, *self._events], []
        return batch

    def _watch(self, frames: Iterable[Frame], *, at_end: bool = False) -> Batch:
        batch = super()._watch(frames, at_end=at_end)
        batch.frames = b""
        batch.events, self._events = self._events, []
        return batch

    # --- for the protocols' readers ---

    @property
    def has_begun(self) -> bool:
        """Whether `begin` was called."""
        return self._has_begun

    def begin(self, head: MessageResponse) -> None:
        """The answer begins: everything but its choices. Later calls say nothing new and are left out."""
        if self._has_begun:
            return
        self._has_begun = True
        self.served_model = head.model
        self._events.append(StreamEvent(response_start=head))
        if head.HasField("usage"):
            self._usage = head.usage

    def open_part(self, choice: int, key: str, shell: Part, extras: Iterable[Extra] = ()) -> int:
        """Close the open part of a choice and open the next; gives its index. `key` is what `is_open` asks for."""
        self.open_choice(choice)
        progress = self._progress(choice)
        if progress.key:
            self.close_part(choice)
        progress.key = key
        progress.index += 1
        kind = shell.WhichOneof("kind")
        progress.had_calls |= kind == "tool_call"
        progress.had_refusal |= kind == "refusal"
        event = StreamEvent(extras=extras)
        start = event.part_start
        start.choice_index = choice
        start.part_index = progress.index
        start.part.CopyFrom(shell)
        self._events.append(event)
        return progress.index

    def is_open(self, choice: int, key: str) -> bool:
        """Whether the open part of a choice is the one that was opened as `key`."""
        progress = self._choices.get(choice)
        return progress is not None and progress.key == key

    def part_index(self, choice: int) -> int:
        """Index of the open part of a choice, or of its last one; -1 before the first."""
        progress = self._choices.get(choice)
        return -1 if progress is None else progress.index

    def grow(self, choice: int, kind: str, text: str) -> None:
        """More text of a part without borders: `text`, `reasoning` or `refusal`. Opens the part where it is not."""
        if not self.is_open(choice, kind):
            self.open_part(choice, kind, _SHELLS[kind])
        self.add_text(choice, kind, text)

    def add_text(self, choice: int, kind: str, text: str) -> None:
        """More of the open part: `kind` is `text`, `reasoning`, `refusal`, `arguments` or `transcript`."""
        progress = self._progress(choice)
        progress.text_kind = kind
        if not text.isascii() or progress.joiner.is_holding:
            text = progress.joiner.feed(text)
            if not text:
                return
        event = StreamEvent()
        delta = event.part_delta
        delta.choice_index = choice
        delta.part_index = progress.index
        setattr(delta, kind, text)
        self._events.append(event)

    def add_summary(self, choice: int, summary: int, text: str) -> None:
        """More of one summary of the open reasoning."""
        event = self._delta(choice)
        event.part_delta.summary.summary_index = summary
        event.part_delta.summary.text = text

    def add_data(self, choice: int, data: bytes) -> None:
        """More bytes of the open image, sound or video."""
        self._delta(choice).part_delta.data = data

    def add_opaque(self, choice: int, state: OpaqueState) -> None:
        """State of the open part, whole."""
        self._delta(choice).part_delta.opaque.CopyFrom(state)

    def add_citation(self, choice: int, citation: Citation, part: int | None = None) -> None:
        """One more citation of the open part, or of `part`, which may have ended."""
        delta = self._delta(choice).part_delta
        delta.citation.CopyFrom(citation)
        if part is not None:
            delta.part_index = part

    def add_logprobs(self, choice: int, logprobs: Sequence[TokenLogprob]) -> None:
        """Probabilities of what came last, if that was a piece of text, else of what comes next."""
        last = self._events[-1] if self._events else None
        if last is None or last.WhichOneof("event") != "part_delta":
            last = self._delta(choice)
        last.part_delta.logprobs.extend(logprobs)

    def close_part(self, choice: int, whole: Part | None = None) -> None:
        """The open part is whole; `whole` is given where the provider repeats it. Nothing where none is open."""
        progress = self._progress(choice)
        if not progress.key:
            return
        self._flush(choice, progress)
        event = StreamEvent()
        stop = event.part_stop
        stop.choice_index = choice
        stop.part_index = progress.index
        if whole is not None:
            stop.part.CopyFrom(whole)
            progress.had_calls |= whole.WhichOneof("kind") == "tool_call"
        self._events.append(event)
        progress.key = ""

    def had_calls(self, choice: int) -> bool:
        """Whether the choice held a call of the caller's tools."""
        progress = self._choices.get(choice)
        return progress is not None and progress.had_calls

    def had_refusal(self, choice: int) -> bool:
        """Whether the choice held a refusal."""
        progress = self._choices.get(choice)
        return progress is not None and progress.had_refusal

    def end_choice(self, finish: Finish, extras: Iterable[Extra] = ()) -> None:
        """A choice has finished: closes its open part. A second finish of the same choice is left out."""
        choice = finish.choice_index
        is_new = all(known.choice_index != choice for known in self.finishes)
        self.close_part(choice)
        self.finish(finish)
        if is_new:
            self._events.append(StreamEvent(finish=finish, extras=extras))

    def report(self, usage: Usage | None) -> None:
        """Token counts so far; counters that are not there keep their value."""
        if usage is None:
            return
        if self._usage is None:
            self._usage = Usage()
        merge_usage(self._usage, usage)
        self._events.append(StreamEvent(usage=usage))

    def emit(self, event: StreamEvent) -> None:
        """An event that the reader has made itself."""
        self._events.append(event)

    def _delta(self, choice: int) -> StreamEvent:
        event = StreamEvent()
        event.part_delta.choice_index = choice
        event.part_delta.part_index = self._progress(choice).index
        self._events.append(event)
        return event

    def _progress(self, choice: int) -> _Progress:
        progress = self._choices.get(choice)
        if progress is None:
            progress = self._choices[choice] = _Progress()
        return progress

    def _flush(self, choice: int, progress: _Progress) -> None:
        """The text of a part ends: half of a pair whose other half never came is replaced."""
        rest = progress.joiner.close()
        if rest:
            setattr(self._delta(choice).part_delta, progress.text_kind, rest)
        if progress.joiner.replaced:
            self.notes.append(
                TranslationNote(
                    path=f"choices[{choice}].parts[{progress.index}]",
                    action=NOTE_ACTION_APPROXIMATED,
                    code="LONE_SURROGATE",
                    reason="half of a surrogate pair is no text; U+FFFD stands in its place",
                )
            )
            progress.joiner = HalfJoiner()


_SHELLS = {"text": Part(text=""), "reasoning": Part(reasoning=Reasoning()), "refusal": Part(refusal="")}
