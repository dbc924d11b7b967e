"""The open part of a stream that is written: its pieces, joined once when it ends.

Not a judge of the grammar: events come in order (`fluxrpc.ir.accumulate` says which).
"""

from __future__ import annotations

from typing import Any

from fluxrpc.v1 import part_pb2 as pb
from fluxrpc.v1.stream_pb2 import PartDelta

__all__ = ["GrowingPart"]

_PATHS = {
    "text": "text",
    "refusal": "refusal",
    "reasoning": "reasoning.text",
    "tool_call": "tool_call.arguments_json",
    "server_tool_call": "server_tool_call.input_json",
    "compaction": "compaction.text",
    "image": "image.data",
}
"""Kind of part to the field that grows."""
_FRAGMENTS = frozenset({"text", "refusal", "reasoning", "arguments", "data"})


class GrowingPart:
    """See the module. `fragments` is open to the fast path."""

    __slots__ = ("fragments", "kind", "part", "summaries")

    def __init__(self, shell: pb.Part) -> None:
        self.part = pb.Part()
        self.part.CopyFrom(shell)
        self.kind = shell.WhichOneof("kind") or "raw"
        self.fragments: list[Any] = []
        self.summaries: list[list[str]] = [[summary] for summary in shell.reasoning.summaries]

    def grow(self, delta: PartDelta, name: str) -> None:
        """Take one delta."""
        if name in _FRAGMENTS:
            self.fragments.append(getattr(delta, name))
        elif name == "summary":
            while len(self.summaries) <= delta.summary.summary_index:
                self.summaries.append([])
            self.summaries[delta.summary.summary_index].append(delta.summary.text)
        elif name == "citation":
            self.part.citations.append(delta.citation)
        elif name == "opaque":
            kept = [state for state in self.part.opaque if state.kind != delta.opaque.kind]
            del self.part.opaque[:]
            self.part.opaque.extend([*kept, delta.opaque])
        self.part.logprobs.extend(delta.logprobs)

    def text(self) -> str:
        """The text so far, of a part that has one."""
        return "".join(self.fragments)

    def whole(self) -> pb.Part:
        """The part as gathered; nothing may come after."""
        path = _PATHS.get(self.kind)
        if self.fragments and path is not None:
            *way, name = path.split(".")
            owner: Any = getattr(self.part, way[0]) if way else self.part
            if name == "arguments_json" and owner.HasField("custom_text"):
                name = "custom_text"
            before = getattr(owner, name)
            setattr(owner, name, type(before)().join([before, *self.fragments]))
        if self.summaries:
            self.part.reasoning.summaries[:] = ["".join(fragments) for fragments in self.summaries]
        return self.part
