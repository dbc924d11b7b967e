"""Citations of Anthropic Messages: six kinds of places, each with words of its own for the same few facts.

An answer's citations hold for the whole text block; none says where in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from fluxrpc.protocols.anthropic.words import ANTHROPIC, MAX_UINT32, whole
from fluxrpc.protocols.envelope import is_replayable
from fluxrpc.protocols.node import Node, merge_extras
from fluxrpc.v1 import part_pb2 as pb
from fluxrpc.v1.protocol_pb2 import OPAQUE_KIND_SEARCH_INDEX

__all__ = ["read_citation", "replayed_citation", "written_citation"]

_UNITS = pb.CITATION_UNIT_UNSPECIFIED
_WEB = "web_search_result_location"


class _Shape(NamedTuple):
    kind: pb.CitationSourceKind.ValueType
    unit: pb.CitationUnit.ValueType
    texts: Mapping[str, str]
    """Names on the wire to those of `CitationSource`."""
    numbers: Mapping[str, str]


def _document(unit: pb.CitationUnit.ValueType, start: str, end: str) -> _Shape:
    return _Shape(
        pb.CITATION_SOURCE_KIND_DOCUMENT,
        unit,
        {"cited_text": "cited_text", "document_title": "title", "file_id": "file_id"},
        {"document_index": "index", start: "start", end: "end"},
    )


_SHAPES: Mapping[str, _Shape] = MappingProxyType(
    {
        "char_location": _document(pb.CITATION_UNIT_CHARACTER, "start_char_index", "end_char_index"),
        "page_location": _document(pb.CITATION_UNIT_PAGE, "start_page_number", "end_page_number"),
        "content_block_location": _document(pb.CITATION_UNIT_PART, "start_block_index", "end_block_index"),
        "search_result_location": _Shape(
            pb.CITATION_SOURCE_KIND_SEARCH_RESULT,
            pb.CITATION_UNIT_PART,
            {"cited_text": "cited_text", "title": "title", "source": "url"},
            {"search_result_index": "index", "start_block_index": "start", "end_block_index": "end"},
        ),
        _WEB: _Shape(
            pb.CITATION_SOURCE_KIND_URL, _UNITS, {"cited_text": "cited_text", "title": "title", "url": "url"}, {}
        ),
    }
)
_REQUIRED = frozenset({"cited_text", "url", "source"})
_NOWHERE = pb.CitationSource()
_UNKNOWN = _Shape(pb.CITATION_SOURCE_KIND_OTHER, _UNITS, {}, {})


def read_citation(node: Node, *, service: str = "", model: str = "", nulls: bool = True) -> pb.Citation:
    """The citation that an object is; a kind that is not known keeps its fields as extras."""
    kind = node.text("type") or ""
    shape = _SHAPES.get(kind, _UNKNOWN)
    citation = pb.Citation(kind_raw=kind)
    source = citation.sources.add(kind=shape.kind, unit=shape.unit)
    for wire, name in shape.texts.items():
        setattr(source, name, node.text(wire) or "")
    for wire, name in shape.numbers.items():
        number = whole(node, wire, most=MAX_UINT32)
        if number is not None:
            setattr(source, name, number)
    if kind == _WEB and (index := node.text("encrypted_index")):
        citation.opaque.add(
            kind=OPAQUE_KIND_SEARCH_INDEX, origin=ANTHROPIC, service=service, model=model, value=index.encode()
        )
    citation.extras.extend(node.extras(ANTHROPIC, nulls=nulls))
    return citation


def written_citation(citation: pb.Citation) -> dict[str, Any] | None:
    """The citation for a caller; None: it cannot be said.

    A web page of another provider has no `encrypted_index`: "" stands there, and says to our reader that none was.
    """
    shape = _SHAPES.get(citation.kind_raw)
    if shape is not None:
        return _said(citation, citation.kind_raw, shape, citation.sources[0] if citation.sources else _NOWHERE)
    if any(extra.protocol == ANTHROPIC for extra in citation.extras):
        return _said(citation, citation.kind_raw, _UNKNOWN, _NOWHERE)
    for source in citation.sources:
        if source.url:
            return _said(citation, _WEB, _SHAPES[_WEB], source)
    return None


def replayed_citation(citation: pb.Citation, service: str) -> dict[str, Any] | None:
    """The citation as it goes back to the provider; None: not without the state that it hands out."""
    if citation.kind_raw not in _SHAPES:
        return None
    if citation.kind_raw == _WEB and not any(is_replayable(each, ANTHROPIC, service) for each in citation.opaque):
        return None
    return written_citation(citation)


def _said(citation: pb.Citation, kind: str, shape: _Shape, source: pb.CitationSource) -> dict[str, Any]:
    fields: dict[str, Any] = {"type": kind}
    for wire, name in shape.texts.items():
        text = getattr(source, name)
        if text or wire in _REQUIRED:
            fields[wire] = text
    for wire, name in shape.numbers.items():
        if source.HasField(name):  # type: ignore[arg-type]  # names of the table
            fields[wire] = getattr(source, name)
    if kind == _WEB:
        own = (state.value for state in citation.opaque if state.origin == ANTHROPIC)
        fields["encrypted_index"] = next(own, b"").decode("utf-8", "replace")
    merge_extras(fields, citation.extras, ANTHROPIC)
    return fields
