"""One item of a stream of OpenAI Responses while it grows, and what of it was said already.

A message has a part for each piece of content, other items have one. Where the item repeats at its end what it said,
that is compared by its length: only what is missing is said, and a part whose whole differs is given whole.
"""

from __future__ import annotations

import json
from typing import Any

from fluxrpc.protocols.event_reader import EventReader
from fluxrpc.protocols.json_text import without_halves
from fluxrpc.protocols.node import Node
from fluxrpc.protocols.responses.read_content import read_logprobs
from fluxrpc.protocols.responses.read_items import shell_of
from fluxrpc.protocols.responses.words import PHASES
from fluxrpc.v1 import part_pb2 as pb
from fluxrpc.v1.stream_pb2 import StreamEvent

__all__ = ["LiveItem"]

_SHELLS = {"text": pb.Part(text=""), "refusal": pb.Part(refusal=""), "reasoning": pb.Part(reasoning=pb.Reasoning())}
_SAID = frozenset({"text", "refusal"})
_CITATIONS, _LOGPROBS, _SUMMARIES = ("citations", 0), ("logprobs", 0), ("summaries", 0)
"""What is counted beside the lengths of texts."""


class LiveItem:
    """See the module."""

    __slots__ = ("_content", "_counts", "_head", "_reader", "_shell", "_whole", "index")

    def __init__(self, reader: EventReader, index: int, item_id: str) -> None:
        self.index = index
        self._reader = reader
        self._head = pb.Part(item_id=item_id)
        self._shell: pb.Part | None = None
        self._content = -1
        """Index of the piece of content that is open, or was last."""
        self._whole: pb.Part | None = None
        """The open piece as its own end repeated it."""
        self._counts: dict[tuple[str, int], int] = {}

    def begin(self, item: Node) -> None:
        """The item as its first event shows it."""
        if bytes(item.peek("type")) == b'"message"':
            self._head.item_id = item.text("id") or self._head.item_id
            phase, self._head.phase_raw = PHASES.read(item.text("phase"))
            self._head.phase = pb.TextPhase.ValueType(phase)
            return
        shell = shell_of(item)
        if shell is not None and self._shell is None:
            self._open(shell)

    def grow(self, name: str, text: str, *, content: int, summary: int) -> None:
        """More of a text."""
        if not text or not self._is_ready(name, content):
            return
        if name == "summary":
            self._grow_summary(summary, text)
            return
        self._count((name, content), len(text))
        self._reader.add_text(0, name, text)

    def complete(self, name: str, text: str, *, content: int, summary: int) -> None:
        """The whole of a text: what was not said of it comes now."""
        if not self._is_ready(name, content):
            return
        if name == "summary":
            self._complete_summary(summary, text)
            return
        rest = text[self._counts.get((name, content), 0) :]
        self.grow(name, rest, content=content, summary=summary)

    def add_citation(self, citation: pb.Citation, *, content: int) -> None:
        """One more citation of a piece of content."""
        if content == self._content and self._shell is not None and self._shell.HasField("text"):
            self._count(_CITATIONS, 1)
            self._reader.add_citation(0, citation)

    def add_logprobs(self, logprobs: Any) -> None:
        """Probabilities of what came last."""
        if self._shell is not None and self._shell.WhichOneof("kind") in _SAID:
            self._reader.add_logprobs(0, read_logprobs(without_halves(json.dumps(logprobs).encode()).decode()))
            self._count(_LOGPROBS, 1)

    def end_content(self, whole: pb.Part, *, content: int) -> None:
        """A piece of content is whole; its part ends with the item, or where the next piece begins."""
        self._put_head(whole)
        if content > self._content:
            self._close_content()
            self._content = content
            self._open(_bare(whole))
        if content == self._content and self._is_kind_of(whole):
            self._whole = whole

    def finish(self, parts: list[pb.Part]) -> None:
        """The item is whole: `parts` as it repeats them; none where it does not."""
        at = max(self._content, 0) if self._shell is not None else self._content + 1
        if self._shell is not None and at >= len(parts):
            self._close_content()
        for part in parts[at:]:
            if not self._is_kind_of(part):
                self._close_content()  # the item ends as another kind than it began as
            if self._shell is None:
                self._open(_bare(part))
            self._close(part)

    # --- the open part ---

    def _is_ready(self, name: str, content: int) -> bool:
        """Whether the part that this text belongs to is open; pieces of content open by what is said of them."""
        if (name, content) in self._counts:
            return True
        if name in _SAID and content > self._content:
            self._close_content()
            self._content = content
            shell = pb.Part()
            shell.CopyFrom(_SHELLS[name])
            self._put_head(shell)
            self._open(shell)
        elif name in {"reasoning", "summary"} and self._shell is None and self._content < 0:
            shell = pb.Part()
            shell.CopyFrom(_SHELLS["reasoning"])
            self._put_head(shell)
            self._open(shell)
        return self._shell is not None and _takes(self._shell, name) and (name not in _SAID or content == self._content)

    def _is_kind_of(self, part: pb.Part) -> bool:
        """Whether the open part, if there is one, is of the kind of this one."""
        return self._shell is None or self._shell.WhichOneof("kind") == part.WhichOneof("kind")

    def _put_head(self, part: pb.Part) -> None:
        part.MergeFrom(self._head)

    def _open(self, shell: pb.Part) -> None:
        self._shell = shell
        self._counts = {}
        self._whole = None
        self._reader.open_part(0, "part", shell)

    def _close_content(self) -> None:
        """The open part ends without the item's own word."""
        if self._shell is None:
            return
        if self._whole is not None:
            self._close(self._whole)
            return
        self._reader.close_part(0)
        self._shell = None
        self._counts = {}

    def _close(self, whole: pb.Part) -> None:
        """The open part ends as `whole`."""
        shell = self._shell
        for name, text in _texts(whole):
            rest = text[self._total(name) :]
            if rest:
                self._count((name, -1), len(rest))
                self._reader.add_text(0, name, rest)
        for index, summary in enumerate(whole.reasoning.summaries):
            self._complete_summary(index, summary)
        for citation in whole.citations[self._counts.get(_CITATIONS, 0) :]:
            self._count(_CITATIONS, 1)
            self._reader.add_citation(0, citation)
        for state in whole.opaque:
            self._reader.add_opaque(0, state)
        if whole.logprobs and not self._counts.get(_LOGPROBS):
            self._reader.add_logprobs(0, whole.logprobs)
        is_same = shell is not None and self._is_said(whole) and _bare(whole) == shell
        self._reader.close_part(0, None if is_same else whole)
        self._shell = None
        self._counts = {}

    def _is_said(self, whole: pb.Part) -> bool:
        """Whether the events say just this; probabilities come with less detail in events."""
        if whole.logprobs or len(whole.citations) != self._counts.get(_CITATIONS, 0):
            return False
        if len(whole.reasoning.summaries) != self._counts.get(_SUMMARIES, 0):
            return False
        return all(len(text) == self._total(name) for name, text in _texts(whole))

    # --- summaries ---

    def _grow_summary(self, index: int, text: str) -> None:
        index = min(index, self._counts.get(_SUMMARIES, 0))
        self._count(("summary", index), len(text))
        if text:
            self._reader.add_summary(0, index, text)
        else:  # a summary of no text
            event = StreamEvent()
            event.part_delta.part_index = self._reader.part_index(0)
            event.part_delta.summary.summary_index = index
            self._reader.emit(event)
        self._counts[_SUMMARIES] = max(self._counts.get(_SUMMARIES, 0), index + 1)

    def _complete_summary(self, index: int, text: str) -> None:
        rest = text[self._counts.get(("summary", index), 0) :]
        if rest or index >= self._counts.get(_SUMMARIES, 0):
            self._grow_summary(index, rest)

    def _count(self, what: tuple[str, int], amount: int) -> None:
        self._counts[what] = self._counts.get(what, 0) + amount

    def _total(self, name: str) -> int:
        """How much was said of a text, whatever piece of the item it came in."""
        return sum(amount for (what, _), amount in self._counts.items() if what == name)


def _takes(shell: pb.Part, name: str) -> bool:
    """Whether a part can grow by a text."""
    kind = shell.WhichOneof("kind")
    if name == "arguments":
        return kind == "tool_call"
    return kind == ("reasoning" if name == "summary" else name)


def _texts(part: pb.Part) -> list[tuple[str, str]]:
    """The texts of a part that come in deltas, by the name of the delta."""
    kind = part.WhichOneof("kind")
    if kind == "text":
        return [("text", part.text)]
    if kind == "refusal":
        return [("refusal", part.refusal)]
    if kind == "reasoning":
        return [("reasoning", part.reasoning.text)]
    if kind == "tool_call":
        return [("arguments", part.tool_call.custom_text or part.tool_call.arguments_json)]
    if kind == "server_tool_call":
        return [("arguments", part.server_tool_call.input_json)]
    return []


def _bare(part: pb.Part) -> pb.Part:
    """The part without what comes in deltas; its kind stays known."""
    bare = pb.Part()
    bare.CopyFrom(part)
    for name in ("citations", "logprobs", "opaque"):
        bare.ClearField(name)
    kind = bare.WhichOneof("kind")
    if kind in _SAID:
        setattr(bare, kind, "")
    elif kind == "reasoning":
        bare.reasoning.text = ""
        del bare.reasoning.summaries[:]
    elif kind == "tool_call" and (field := bare.tool_call.WhichOneof("input")):
        setattr(bare.tool_call, field, "")
    elif kind == "server_tool_call":
        bare.server_tool_call.input_json = ""
    return bare
