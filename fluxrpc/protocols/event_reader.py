"""What the stream readers of all protocols share: native frames to `StreamEvent`s, in the grammar of the contract.

On top of `Watch` (ends, cuts, errors, malformed events) it keeps for each choice which part is open, joins halves of
surrogate pairs, and makes the events. A protocol's reader adds `take`, which reads one frame and calls what stands
below. Chat and Gemini have no borders of parts: `grow` closes the open part and opens the next where the kind changes.

Invariant: what `ir.accumulate` checks holds for every sequence of calls: one open part for each choice, dense indexes,
every part closed before its choice finishes. What cannot come makes its frame malformed (`JsonFault`): more of a part
that is not open, anything of a choice that has finished. A protocol whose servers go on after a finish sets
`holds_finishes`: then the last word stands, and is said at the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct, field

from fluxrpc.ir.usage import merge_usage
from fluxrpc.protocols.base import Batch, StreamOptions
from fluxrpc.protocols.context import Context
from fluxrpc.protocols.json_text import JsonFault
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
    grown: tuple[str, int] = ("", -1)
    """Which text of the open part holds half of a pair: its kind, and the number of the summary."""
    joiner: HalfJoiner = field(default_factory=HalfJoiner)
    had_calls: bool = False
    had_refusal: bool = False


class EventReader(Watch):
    """See the module."""

    holds_finishes: bool = False
    """Finishes are told when the answer is complete, not when they come."""

    def __init__(self, options: StreamOptions, context: Context) -> None:
        super().__init__(options)
        self.context = context
        self.notes: list[TranslationNote] = []
        self._usage: Usage | None = None
        self._events: list[StreamEvent] = []
        self._frame_start = 0
        self._has_begun = False
        self._held: dict[int, StreamEvent] = {}
        self._told: set[int] = set()
        self._choices: dict[int, _Progress] = {}

    @property
    def usage(self) -> Usage | None:
        """The latest usage seen."""
        return self._usage

    def close(self) -> Batch:
        """See `AnswerStream.close`."""
        batch = super().close()
        batch.frames = b""
        if batch.ended:
            self._tell_finishes()
            batch.events = self._events
        return batch

    def _watch(self, frames: Iterable[Frame], *, at_end: bool = False) -> Batch:
        self._events = []
        self._frame_start = 0
        is_one = isinstance(frames, list) and len(frames) == 1  # as nearly always
        batch = super()._watch(frames if is_one else self._each(frames), at_end=at_end)
        if batch.ended:
            self._tell_finishes()
        batch.frames = b""
        batch.events = self._events
        return batch

    def _each(self, frames: Iterable[Frame]) -> Iterator[Frame]:
        for frame in frames:
            self._frame_start = len(self._events)
            yield frame

    def _tell_finishes(self) -> None:
        for choice, event in sorted(self._held.items()):
            self.close_part(choice)
            self._told.add(choice)
            self._events.append(event)
        self._held = {}

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
        """Close the open part of a choice and open the next; gives its index. `key` is what `is_open` asks for.

        Raises:
            JsonFault: the choice has finished. So do all that follow, also where no part is open.
        """
        if choice in self._told:
            raise JsonFault("a choice goes on after its end")
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
        """Whether the open part of a choice is the one that was opened as `key`; "" asks whether none is."""
        progress = self._choices.get(choice)
        return (progress.key if progress else "") == key

    def part_index(self, choice: int) -> int:
        """Index of the open part of a choice, or of its last one; -1 before the first."""
        progress = self._choices.get(choice)
        return -1 if progress is None else progress.index

    def grow(self, choice: int, kind: str, text: str) -> int:
        """More text of a part without borders: `text`, `reasoning` or `refusal`. Opens the part where it is not; gives
        its index.
        """
        progress = self._choices.get(choice)
        if progress is None or progress.key != kind:
            self.open_part(choice, kind, _SHELLS[kind])
            progress = self._choices[choice]
        self._add_text(choice, progress, kind, text)
        return progress.index

    def add_text(self, choice: int, kind: str, text: str) -> None:
        """More of the open part: `kind` is `text`, `reasoning`, `refusal`, `arguments` or `transcript`."""
        self._add_text(choice, self._growing(choice), kind, text)

    def _add_text(self, choice: int, progress: _Progress, kind: str, text: str) -> None:
        if progress.grown[0] or not text.isascii():
            text = self._joined(choice, progress, (kind, -1), text)
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
        progress = self._growing(choice)
        text = self._joined(choice, progress, ("summary", summary), text)
        if text:
            self._put_summary(choice, summary, text)

    def add_data(self, choice: int, data: bytes) -> None:
        """More bytes of the open image, sound or video."""
        self._delta(choice).part_delta.data = data

    def add_opaque(self, choice: int, state: OpaqueState) -> None:
        """State of the open part, whole."""
        self._delta(choice).part_delta.opaque.CopyFrom(state)

    def add_citation(self, choice: int, citation: Citation, part: int | None = None) -> None:
        """One more citation of the open part, or of `part`, which may have ended."""
        if part is None:
            part = self._growing(choice).index
        elif choice in self._told or not 0 <= part <= self.part_index(choice):
            raise JsonFault("a citation of a part that is not there")
        event = StreamEvent()
        event.part_delta.choice_index = choice
        event.part_delta.part_index = part
        event.part_delta.citation.CopyFrom(citation)
        self._events.append(event)

    def add_logprobs(self, choice: int, logprobs: Sequence[TokenLogprob]) -> None:
        """Probabilities of the piece of text that the same frame brought just before; a delta of their own where none
        came (half of a pair that waits, a token without text). They have no place where no part is open.
        """
        last = self._events[-1] if len(self._events) > self._frame_start else None
        if last is None or last.part_delta.choice_index != choice or last.part_delta.WhichOneof("delta") not in _LOGGED:
            if self.is_open(choice, ""):
                return
            last = self._delta(choice)
        last.part_delta.logprobs.extend(logprobs)

    def close_part(self, choice: int, whole: Part | None = None) -> None:
        """The open part is whole; `whole` is given where the provider repeats it. Nothing where none is open."""
        progress = self._progress(choice)
        if not progress.key:
            return
        self._flush(choice, progress)
        self._note_replaced(choice, progress)
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
        """A choice has finished: closes its open part. A second finish of the same choice is not told, unless finishes
        are held: then it replaces the first.
        """
        choice = finish.choice_index
        self.close_part(choice)
        self.finish(finish)
        event = StreamEvent(finish=finish, extras=extras)
        if self.holds_finishes:
            self._held[choice] = event
        elif choice not in self._told:
            self._told.add(choice)
            self._events.append(event)

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
        event.part_delta.part_index = self._growing(choice).index
        self._events.append(event)
        return event

    def _put_summary(self, choice: int, summary: int, text: str) -> None:
        event = self._delta(choice)
        event.part_delta.summary.summary_index = summary
        event.part_delta.summary.text = text

    def _growing(self, choice: int) -> _Progress:
        progress = self._choices.get(choice)
        if progress is None or not progress.key:
            raise JsonFault("more of a part that is not open")
        return progress

    def _progress(self, choice: int) -> _Progress:
        progress = self._choices.get(choice)
        if progress is None:
            progress = self._choices[choice] = _Progress()
        return progress

    def _joined(self, choice: int, progress: _Progress, grown: tuple[str, int], text: str) -> str:
        """What can be given out of a text with halves of pairs in it."""
        if progress.grown[0] and progress.grown != grown:
            self._flush(choice, progress)
        text = progress.joiner.feed(text)
        progress.grown = grown if progress.joiner.is_holding else ("", -1)
        return text

    def _flush(self, choice: int, progress: _Progress) -> None:
        """A text ends: half of a pair whose other half never came is replaced."""
        rest = progress.joiner.close()
        (kind, summary), progress.grown = progress.grown, ("", -1)
        if kind == "summary":
            self._put_summary(choice, summary, rest)
        elif kind:
            setattr(self._delta(choice).part_delta, kind, rest)

    def _note_replaced(self, choice: int, progress: _Progress) -> None:
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


_LOGGED = frozenset({"text", "refusal"})
_SHELLS = {"text": Part(text=""), "reasoning": Part(reasoning=Reasoning()), "refusal": Part(refusal="")}
