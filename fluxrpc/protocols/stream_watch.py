"""Watching a native stream: frames pass as they came, and a protocol's `Watch` reads from each what must be known.

The state machine that all protocols share: what is not an event stream, malformed events, errors, the end and what
comes after it, the cut. A protocol adds `take`, which reads one event. It is no translator: it never makes an event,
except the terminator that an upstream left out.

Invariant: an event that cannot be read is never passed on, nothing follows an error or the end, and a stream counts
as complete only if every choice that began has finished.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

from fluxrpc.errors import AnswerFault, AnswerOversize, AttemptError, ProviderError
from fluxrpc.protocols.base import Batch, StreamOptions
from fluxrpc.protocols.json_text import JsonFault
from fluxrpc.protocols.whole_answer import InAnswerError, explain_answer, holds_error
from fluxrpc.sse import Decoder, Frame
from fluxrpc.v1.outcome_pb2 import TranslationNote
from fluxrpc.v1.response_pb2 import Finish
from fluxrpc.v1.usage_pb2 import Usage

# What to do about one frame. Plain integers, because an operation on an IntFlag costs half a microsecond.
_PASS_BIT, _REAL_BIT, _LAST_BIT = 1, 2, 4
DROP = 0
PASS = _PASS_BIT
REAL = _PASS_BIT | _REAL_BIT
"""Passed on, and the answer has begun with it."""
LAST = _PASS_BIT | _LAST_BIT
"""Passed on; the stream is complete, and nothing that follows counts."""
REAL_LAST = REAL | LAST

_SPACE = b" \t\r\n"
_BOM = b"\xef\xbb\xbf"


class Watch(ABC):
    """The shared half of a watcher. One for each stream; after `close` it is of no use."""

    terminator: bytes = b""
    """What ends a stream of this protocol, where that is a frame of its own."""

    def __init__(self, options: StreamOptions) -> None:
        self.served_model = ""
        self.malformed = 0
        self.notes: Sequence[TranslationNote] = ()
        self._decoder = Decoder(options.max_event_bytes)
        self._max_body_bytes = options.max_event_bytes
        self._open: set[int] = set()
        self._finishes: dict[int, Finish] = {}
        self._over = False
        self._begun = False
        self._body: bytearray | None = None

    @property
    @abstractmethod
    def usage(self) -> Usage | None:
        """The latest usage seen, cumulative."""

    @property
    def finishes(self) -> Sequence[Finish]:
        """One for each choice that has finished, by choice index."""
        return [self._finishes[index] for index in sorted(self._finishes)]

    @property
    def finished(self) -> bool:
        """Whether at least one choice finished and none is open."""
        return bool(self._finishes) and not self._open

    def feed(self, chunk: bytes) -> Batch:
        """See `AnswerStream.feed`."""
        if self._over:
            return Batch()
        if not self._begun and not self._begin(chunk):
            return Batch()
        if self._body is not None:
            self._body += chunk
            if len(self._body) > self._max_body_bytes:
                raise AnswerOversize("TOO_LARGE", f"a body is over {self._max_body_bytes} bytes")
            return Batch()
        return self._watch(self._decoder.feed(chunk))

    def close(self) -> Batch:
        """See `AnswerStream.close`."""
        if self._over:
            return Batch()
        if self._body is not None:
            return self._fail(explain_stream(bytes(self._body), self.error_of))
        rest = self._decoder.close()
        batch = self._watch([_completed(rest)] if rest else [], at_end=True)
        if batch.ended or batch.error is not None:
            return batch
        self._over = True
        if self.finished:
            batch.frames += self.terminator
            batch.ended = True
        else:
            batch.error = AnswerFault("STREAM_CUT" if self._begun else "EMPTY_ANSWER")
        return batch

    @abstractmethod
    def take(self, frame: Frame) -> int:
        """Read one event with data; says what to do with its frame.

        Raises:
            JsonFault: it is malformed.
            ProviderError: it is an error.
        """

    @abstractmethod
    def error_of(self, text: bytes) -> ProviderError:
        """The error that the text of an in-band error is."""

    def finish(self, finish: Finish) -> None:
        """A choice has finished. The last word stands: some servers repeat it, old Gemini models in every frame."""
        self._open.discard(finish.choice_index)
        self._finishes[finish.choice_index] = finish

    def open_choice(self, index: int) -> None:
        """A choice has begun, unless it has finished already."""
        if index not in self._finishes:
            self._open.add(index)

    def _begin(self, chunk: bytes) -> bool:
        """Look at the first byte that is not blank: JSON is kept whole, markup is refused."""
        head = chunk.lstrip(_BOM + _SPACE)
        if not head:
            # Blank so far. The decoder drops blank lines at the start too, but must see a mark that is cut in two.
            self._decoder.feed(chunk)
            return False
        self._begun = True
        if head[:1] == b"<":
            raise AnswerFault("HTML_ANSWER")
        if head[:1] in (b"{", b"["):
            self._body = bytearray()
        return True

    def _watch(self, frames: Iterable[Frame], *, at_end: bool = False) -> Batch:
        passed: list[bytes] = []
        seen = 0
        error: AttemptError | None = None
        for frame in frames:
            try:
                step = self.take(frame) if frame.has_data else self._take_bare(frame)
            except JsonFault:
                self.malformed += not at_end  # an event that the end cut is no malformed one
                continue
            except AttemptError as fault:
                error = fault
                self._over = True
                break
            if step & _PASS_BIT:
                passed.append(frame.raw)
            seen |= step
            if step & _LAST_BIT:
                if not self.finished:
                    passed.pop()
                    error = AnswerFault("STREAM_CUT", "the stream ended before the answer was finished")
                self._over = True
                break
        return Batch(
            frames=passed[0] if len(passed) == 1 else b"".join(passed),
            real=bool(seen & _REAL_BIT),
            error=error,
            ended=bool(seen & _LAST_BIT) and error is None,
        )

    def _take_bare(self, frame: Frame) -> int:
        """A frame without data: a comment or an ignored field, or JSON that is no event (an error, said by Gemini)."""
        if frame.raw[:1] in (b"{", b"["):
            text = frame.raw.strip(_SPACE)
            if holds_error(text):
                raise self.error_of(text)
            raise JsonFault("JSON outside of an event")
        return PASS

    def _fail(self, error: AttemptError) -> Batch:
        self._over = True
        return Batch(error=error)


def explain_stream(body: bytes, error_of: InAnswerError) -> AttemptError:
    """What a body that is no event stream is instead."""
    text = body.strip(_BOM + _SPACE)
    fault = explain_answer(text, error_of)
    if isinstance(fault, AnswerFault) and fault.detail == "FOREIGN_ANSWER":
        return AnswerFault("JSON_INSTEAD_OF_STREAM")
    return fault


def _completed(frame: Frame) -> Frame:
    """The last frame of a stream that ended without its blank line."""
    return frame if frame.complete else frame._replace(raw=frame.raw.rstrip(_SPACE) + b"\n\n")
