"""Citations of Cohere into the IR and back: offsets are code points of one content block, or of the plan.

The block is named by `content_index`, which counts blocks and not parts: a plan and calls are parts, but no blocks.
Which part that is, and which block a part became, is for the callers to know.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from fluxrpc.protocols.cohere.words import whole_number
from fluxrpc.protocols.node import Node, merge_extras, raw, spelling
from fluxrpc.protocols.whole_answer import read_loosely
from fluxrpc.v1.part_pb2 import (
    CITATION_SOURCE_KIND_DOCUMENT,
    CITATION_SOURCE_KIND_OTHER,
    CITATION_SOURCE_KIND_TOOL,
    Citation,
    CitationSource,
    CitationSourceKind,
    Part,
)
from fluxrpc.v1.protocol_pb2 import PROTOCOL_COHERE

__all__ = [
    "PLAN",
    "TEXT",
    "THINKING",
    "Place",
    "is_own",
    "place_of",
    "read_citation",
    "same_json",
    "take_citations",
    "written_citation",
]

TEXT, THINKING, PLAN = "TEXT_CONTENT", "THINKING_CONTENT", "PLAN"
"""What a citation stands in."""

_MAX_OFFSET: Final = 2**32 - 1
_PAYLOADS: Final = {"document": "document", "tool": "tool_output"}
"""Type of a source to the field with its record."""
_KINDS: Final[dict[str, CitationSourceKind.ValueType]] = {
    "document": CITATION_SOURCE_KIND_DOCUMENT,
    "tool": CITATION_SOURCE_KIND_TOOL,
}
_TYPES: Final = {kind: word for word, kind in _KINDS.items()}


class _Record(msgspec.Struct):
    title: str | None = None
    url: str | None = None
    snippet: str | None = None


_RECORD = msgspec.json.Decoder(_Record)


class Place(msgspec.Struct, frozen=True):
    """Where the part with a citation stands in the message that is written."""

    kind: str
    """`TEXT`, `THINKING` or `PLAN`."""
    content_index: int | None
    """None in the plan."""
    length: int
    """Code points of its text."""
    text: str = ""
    """The text itself; "" where it is not kept."""
    offset: int = 0
    """Code points that were written before it in the same block."""


def same_json(written: Any, read: msgspec.Raw) -> bool:
    """Whether what would be written has the value that was read, so that nothing more need be kept."""
    return bool(msgspec.json.decode(msgspec.json.encode(written)) == msgspec.json.decode(read))


def take_citations(node: Node, plan: Part | None, blocks: Sequence[Part]) -> None:
    """Read the `citations` of a message to the parts in which they stand. Those that stand nowhere are left out.

    Raises:
        JsonFault: a field of another type.
    """
    for each in node.nodes("citations"):
        citation, index = read_citation(each)
        part = plan if citation.kind_raw == PLAN else _block(blocks, citation.kind_raw, index)
        if part is not None:
            part.citations.append(citation)


def _block(blocks: Sequence[Part], kind: str, index: int | None) -> Part | None:
    """The block that a citation names, or the first that may be meant where it names none."""
    if index is not None:
        return blocks[index] if 0 <= index < len(blocks) else None
    wanted = "reasoning" if kind == THINKING else "text"
    return next((part for part in blocks if part.WhichOneof("kind") == wanted), None)


def place_of(part: Part, content_index: int | None, offset: int = 0) -> Place:
    """Where a part stands that became the block `content_index`, or, `offset` code points from its start, the plan."""
    text = part.reasoning.text if part.HasField("reasoning") else part.text
    kind = PLAN if content_index is None else THINKING if part.HasField("reasoning") else TEXT
    return Place(kind, content_index, len(text), text, offset)


def read_citation(node: Node) -> tuple[Citation, int | None]:
    """A citation and its `content_index`; what it stands in is its `kind_raw`.

    Raises:
        JsonFault: a field of another type.
    """
    citation = Citation(statement=node.text("text") or "", kind_raw=node.text("type") or "")
    start = whole_number(node, "start", most=_MAX_OFFSET)
    end = whole_number(node, "end", most=_MAX_OFFSET)
    if start is not None and end is not None and 0 <= start <= end:
        citation.start, citation.end = start, end
    index = whole_number(node, "content_index")
    _read_sources(citation, node)
    citation.extras.extend(node.extras(PROTOCOL_COHERE, nulls=False))
    return citation, index


def _read_sources(citation: Citation, node: Node) -> None:
    if "sources" not in node:
        return
    spelt = node.peek("sources")
    citation.sources.extend(_read_source(source) for source in node.nodes("sources"))
    if not same_json(_written_sources(citation.sources), spelt):
        citation.extras.append(spelling(PROTOCOL_COHERE, "sources", bytes(spelt).decode()))


def _read_source(node: Node) -> CitationSource:
    word = node.text("type") or ""
    source = CitationSource(kind=_KINDS.get(word, CITATION_SOURCE_KIND_OTHER), id=node.text("id") or "")
    payload = _PAYLOADS.get(word)
    if payload is None:
        source.kind_raw = word
        source.data_json = node.rest()
    elif node.is_object(payload):
        source.data_json = node.json(payload)
        if payload == "document":
            _read_record(source)
    return source


def _read_record(source: CitationSource) -> None:
    """What other protocols can say of a document, where its record has the usual fields."""
    record = read_loosely(_RECORD, msgspec.Raw(source.data_json.encode())) or _Record()
    source.title, source.url, source.cited_text = record.title or "", record.url or "", record.snippet or ""


def is_own(citation: Citation) -> bool:
    """Whether Cohere can say it: every source is a document or the result of a tool."""
    return bool(citation.sources) and all(source.kind in _TYPES for source in citation.sources)


def written_citation(citation: Citation, place: Place) -> dict[str, Any]:
    """The object for a citation. Sources of other kinds become documents that tell their title and address."""
    start, end = (citation.start, citation.end) if citation.HasField("start") else (0, place.length)
    fields: dict[str, Any] = {"start": place.offset + start, "end": place.offset + end}
    statement = citation.statement or place.text[start:end]
    if statement:
        fields["text"] = statement
    fields["sources"] = _written_sources(citation.sources)
    if place.content_index is not None:
        fields["content_index"] = place.content_index
    fields["type"] = place.kind
    merge_extras(fields, citation.extras, PROTOCOL_COHERE)
    return fields


def _written_sources(sources: Iterable[CitationSource]) -> list[dict[str, Any]]:
    return [_written_source(source) for source in sources]


def _written_source(source: CitationSource) -> dict[str, Any]:
    word = _TYPES.get(source.kind, "document")
    address = {"title": source.title, "url": source.url, "snippet": source.cited_text}
    record = {key: text for key, text in address.items() if text}
    fields: dict[str, Any] = {"type": word}
    name = source.id or source.file_id or source.url or source.title
    if name:
        fields["id"] = name
    if source.data_json:
        fields[_PAYLOADS[word]] = raw(source.data_json)
    elif record:
        fields[_PAYLOADS[word]] = record
    return fields
