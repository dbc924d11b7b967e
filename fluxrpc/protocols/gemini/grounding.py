"""Where an answer's statements come from: `groundingMetadata` and `citationMetadata` to citations, and back.

Not a copy: search queries, scores and the entry point of the search stay in the extras of the choice, which hold the
whole of both objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from fluxrpc.protocols.gemini.offsets import Offsets
from fluxrpc.protocols.notes import Notes
from fluxrpc.protocols.whole_answer import read_loosely
from fluxrpc.v1.part_pb2 import (
    CITATION_SOURCE_KIND_MAPS,
    CITATION_SOURCE_KIND_SEARCH_RESULT,
    CITATION_SOURCE_KIND_TOOL,
    CITATION_SOURCE_KIND_URL,
    Citation,
    CitationSource,
    CitationSourceKind,
)

__all__ = ["Grounding", "citations_of_recitation", "citations_of_support", "written_grounding"]


class _Place(msgspec.Struct):
    uri: str | None = None
    title: str | None = None
    text: str | None = None


class _Chunk(msgspec.Struct, rename="camel"):
    web: _Place | None = None
    retrieved_context: _Place | None = None
    maps: _Place | None = None


class _Segment(msgspec.Struct, rename="camel"):
    part_index: int = 0
    start_index: int = 0
    end_index: int | None = None
    text: str | None = None


class _Support(msgspec.Struct, rename="camel"):
    segment: _Segment | None = None
    grounding_chunk_indices: list[int] | None = None


class _Grounding(msgspec.Struct, rename="camel"):
    grounding_chunks: list[_Chunk] | None = None
    grounding_supports: list[_Support] | None = None


class _Recited(msgspec.Struct, rename="camel"):
    start_index: int = 0
    end_index: int | None = None
    uri: str | None = None
    title: str | None = None


class _Recitation(msgspec.Struct, rename="camel"):
    citations: list[_Recited] | None = None
    citation_sources: list[_Recited] | None = None


_GROUNDING = msgspec.json.Decoder(_Grounding)
_RECITATION = msgspec.json.Decoder(_Recitation)
Grounding = tuple[int, Citation]
"""Index of the part in its content, and what is cited there."""


def citations_of_support(text: msgspec.Raw, texts: Sequence[Offsets | None]) -> list[Grounding]:
    """The citations of a `groundingMetadata`. `texts` are the parts of the answer, None for those that are no text.

    A support that names no text speaks of one that is long enough: in streams the index is that of a frame.
    """
    grounding = read_loosely(_GROUNDING, text)
    chunks = (grounding.grounding_chunks if grounding else None) or []
    cited: list[Grounding] = []
    for support in (grounding.grounding_supports if grounding else None) or ():
        segment = support.segment or _Segment()
        indexes = [index for index in support.grounding_chunk_indices or () if 0 <= index < len(chunks)]
        citation = Citation(statement=segment.text or "", sources=[_source(chunks[index], index) for index in indexes])
        at = _text_at(texts, segment.part_index, segment.end_index or 0)
        if at is not None:
            _place(citation, texts[at], segment.start_index, segment.end_index)
            cited.append((at, citation))
    return cited


def citations_of_recitation(text: msgspec.Raw, texts: Sequence[Offsets | None]) -> list[Grounding]:
    """The citations of a `citationMetadata`: spans of the answer that repeat what stands elsewhere."""
    recitation = read_loosely(_RECITATION, text)
    cited: list[Grounding] = []
    for each in (recitation and (recitation.citations or recitation.citation_sources)) or ():
        source = CitationSource(kind=CITATION_SOURCE_KIND_URL, url=each.uri or "", title=each.title or "")
        citation = Citation(kind_raw="citationMetadata", sources=[source])
        at = _text_at(texts, 0, each.end_index or 0)
        if at is not None:
            _place(citation, texts[at], each.start_index, each.end_index)
            cited.append((at, citation))
    return cited


def written_grounding(
    cited: Iterable[Grounding], texts: Sequence[Offsets | None], notes: Notes, path: str
) -> dict[str, Any]:
    """The `groundingMetadata` of citations; empty where nothing of them can be said."""
    chunks: list[dict[str, Any]] = []
    supports: list[dict[str, Any]] = []
    for at, citation in cited:
        indexes: list[int] = []
        for source in citation.sources:
            if source.kind == CITATION_SOURCE_KIND_TOOL:
                notes.dropped("CITATION", f"{path}.parts[{at}].citations")
                continue
            chunk = _written_chunk(source)
            if chunk not in chunks:
                chunks.append(chunk)
            indexes.append(chunks.index(chunk))
        if not indexes:
            continue
        offsets = texts[at] or Offsets()
        start = offsets.to_bytes(citation.start) if citation.HasField("start") else 0
        end = offsets.to_bytes(citation.end if citation.HasField("end") else offsets.points)
        segment: dict[str, Any] = {"partIndex": at, "startIndex": start, "endIndex": end}
        if citation.statement:
            segment["text"] = citation.statement
        supports.append({"segment": segment, "groundingChunkIndices": indexes})
    return {"groundingChunks": chunks, "groundingSupports": supports} if supports else {}


def _text_at(texts: Sequence[Offsets | None], index: int, end: int) -> int | None:
    """The index itself where a text stands there, else that of the first text that is long enough, else of the last."""
    if 0 <= index < len(texts) and texts[index] is not None:
        return index
    spoken = [(at, offsets) for at, offsets in enumerate(texts) if offsets is not None]
    fitting = [at for at, offsets in spoken if end <= offsets.bytes]
    return fitting[0] if fitting else spoken[-1][0] if spoken else None


def _place(citation: Citation, offsets: Offsets | None, start: int, end: int | None) -> None:
    if offsets is not None and end is not None and 0 <= start <= end:
        citation.start = offsets.to_points(start)
        citation.end = offsets.to_points(end)


def _source(chunk: _Chunk, index: int) -> CitationSource:
    for kind, place in _kinds(chunk):
        if place is not None:
            return CitationSource(
                kind=kind, index=index, url=place.uri or "", title=place.title or "", cited_text=place.text or ""
            )
    return CitationSource(index=index)


def _kinds(chunk: _Chunk) -> tuple[tuple[CitationSourceKind.ValueType, _Place | None], ...]:
    return (
        (CITATION_SOURCE_KIND_URL, chunk.web),
        (CITATION_SOURCE_KIND_SEARCH_RESULT, chunk.retrieved_context),
        (CITATION_SOURCE_KIND_MAPS, chunk.maps),
    )


_KEYS = {CITATION_SOURCE_KIND_URL: "web", CITATION_SOURCE_KIND_MAPS: "maps"}


def _written_chunk(source: CitationSource) -> dict[str, Any]:
    key = _KEYS.get(source.kind, "retrievedContext")
    fields = {"uri": source.url, "title": source.title or source.id}
    if key == "retrievedContext":
        fields["text"] = source.cited_text
    return {key: {name: value for name, value in fields.items() if value}}
