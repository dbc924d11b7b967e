"""Parts to pieces of content of OpenAI Responses: what users and tools send, what models said.

Invariant: what has no form there is noted and left out; nothing is made up but a detail and a file name, which the API
demands.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from fluxrpc.ir.presence import is_bare
from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.media import data_uri
from fluxrpc.protocols.node import merge_extras, raw
from fluxrpc.protocols.notes import Notes
from fluxrpc.protocols.responses.words import DETAILS, ITEM, TTLS, extras_of, nearest_ttl
from fluxrpc.v1 import part_pb2 as pb
from fluxrpc.v1.protocol_pb2 import PROTOCOL_RESPONSES

__all__ = ["ContentWriter", "logprobs", "own_extras", "said", "written_citations"]

_SAME_WORDS = frozenset({None, Protocol.RESPONSES, Protocol.OPENAI})
"""Callers whose words and file ids are those of this protocol."""
_SCHEMES = ("https://", "http://")
_DROPPED = {"audio": "AUDIO", "video": "VIDEO"}
_OWN_ANNOTATIONS = frozenset({"url_citation", "file_citation", "container_file_citation", "file_path"})


class ContentWriter(Struct, frozen=True, kw_only=True):
    """Writes what users, instructions and tools say."""

    caller: Protocol | None
    notes: Notes
    marks: frozenset[str] | None = None
    """Paths of the parts whose breakpoints of the prompt cache are written; None = all."""

    @property
    def exact(self) -> bool:
        """The caller speaks this protocol: what it left out stays out."""
        return self.caller is Protocol.RESPONSES

    def given(self, part: pb.Part, path: str) -> list[Any]:
        """The pieces for a part; none where it has no form here."""
        kind = part.WhichOneof("kind") or "raw"
        if kind == "raw":
            return self._raw(part, path)
        if kind == "text":
            piece = {"type": "input_text", "text": part.text}
        elif kind == "image" and self._may_send(part.image, f"{path}.image", "IMAGE_URL"):
            piece = self._image(part.image, f"{path}.image")
        elif kind == "document":
            return [self._finished(part, each, path) for each in self._document(part.document, f"{path}.document")]
        else:
            if kind != "image":
                self.notes.dropped(_DROPPED.get(kind, "RAW_PART"), path)
            return []
        return [self._finished(part, piece, path)]

    def _raw(self, part: pb.Part, path: str) -> list[Any]:
        if part.raw.protocol == PROTOCOL_RESPONSES:
            return [raw(part.raw.body_json)]
        self.notes.dropped("RAW_PART", path)
        return []

    def _finished(self, part: pb.Part, piece: dict[str, Any], path: str) -> dict[str, Any]:
        if is_bare(part):
            return piece
        if part.HasField("cache_breakpoint"):
            if self.marks is None or path in self.marks:
                piece["prompt_cache_breakpoint"] = self._breakpoint(part.cache_breakpoint, path)
            else:
                self.notes.dropped("CACHE_BREAKPOINT", f"{path}.cache_breakpoint")
        merge_extras(piece, part.extras, PROTOCOL_RESPONSES)
        self.notes.foreign_extras(part.extras, PROTOCOL_RESPONSES, path)
        return piece

    def _breakpoint(self, mark: pb.CacheBreakpoint, path: str) -> dict[str, Any]:
        written = {"mode": "explicit"}
        if mark.HasField("ttl"):
            written["ttl"] = nearest_ttl(mark.ttl)
            if TTLS[written["ttl"]] != mark.ttl.seconds:
                self.notes.approximated("CACHE_BREAKPOINT", f"{path}.cache_breakpoint.ttl")
        return written

    def _may_send(self, media: pb.Media, path: str, code: str) -> bool:
        """Ids of files are known to one provider only, and only addresses of the web are read."""
        if media.HasField("file_id") and self.caller not in _SAME_WORDS:
            self.notes.dropped("FILE_ID", f"{path}.file_id")
            return False
        if media.HasField("url") and not (self.exact or media.url.startswith(_SCHEMES)):
            self.notes.dropped(code, f"{path}.url")
            return False
        return True

    def _image(self, media: pb.Media, path: str) -> dict[str, Any]:
        piece: dict[str, Any] = {"type": "input_image"}
        if media.HasField("file_id"):
            piece["file_id"] = media.file_id
        else:
            piece["image_url"] = data_uri(media)
        self._write_detail(piece, media, path, default="auto")
        return piece

    def _write_detail(self, piece: dict[str, Any], media: pb.Media, path: str, default: str) -> None:
        word = DETAILS.write(media.detail, media.detail_raw if self.caller in _SAME_WORDS else "")
        if media.detail and not word:
            self.notes.approximated("IMAGE_DETAIL", f"{path}.detail")
        if not self.exact:
            word = word or default
        if word:
            piece["detail"] = word

    def _document(self, document: pb.Document, path: str) -> Iterator[dict[str, Any]]:
        if document.citations:
            self.notes.dropped("DOCUMENT_CITATIONS", f"{path}.citations")
        if document.context or document.source:
            self.notes.dropped("DOCUMENT_TITLE", path)
        content = document.WhichOneof("content")
        if content == "media":
            if self._may_send(document.media, f"{path}.media", "DOCUMENT_URL"):
                yield self._file(document, path)
            return
        if content == "text":
            self.notes.approximated("DOCUMENT", path)
            yield _titled(document, document.text)
        elif content == "data_json":
            self.notes.approximated("DOCUMENT_DATA", path)
            yield _titled(document, document.data_json)
        else:
            self.notes.approximated("DOCUMENT_PARTS", path)
            passages = document.parts.parts
            yield _titled(document, "\n\n".join(each.text for each in passages if each.HasField("text")))
            for at, each in enumerate(passages):
                if not each.HasField("text"):
                    yield from self.given(each, f"{path}.parts.parts[{at}]")

    def _file(self, document: pb.Document, path: str) -> dict[str, Any]:
        media = document.media
        piece: dict[str, Any] = {"type": "input_file"}
        source = media.WhichOneof("source")
        if source == "data":
            piece["file_data"] = data_uri(media)
        elif source == "url":
            piece["file_url"] = media.url
        else:
            piece["file_id"] = media.file_id
        name = media.filename or document.title
        if not name and source == "data" and not self.exact:
            name = "document." + (media.mime_type.rpartition("/")[2] or "pdf")
            self.notes.injected("FILE_NAME", f"{path}.media.filename")
        if name:
            piece["filename"] = name
        self._write_detail(piece, media, f"{path}.media", default="")
        return piece


def said(part: pb.Part, *, with_annotations: bool, notes: Notes, path: str, code: str) -> Any:
    """A piece of content of a message of the model. `code` is the concept of citations: of answers, or of history."""
    kind = part.WhichOneof("kind")
    if kind == "raw":
        return raw(part.raw.body_json)
    if kind == "refusal":
        piece: dict[str, Any] = {"type": "refusal", "refusal": part.refusal}
    else:
        piece = {"type": "output_text", "text": part.text}
        if part.citations:
            piece["annotations"] = written_citations(part, notes, path, code)
        elif with_annotations:
            piece["annotations"] = []
        if part.logprobs:
            piece["logprobs"] = [logprobs(each) for each in part.logprobs]
    if part.extras:
        merge_extras(piece, own_extras(part), PROTOCOL_RESPONSES)
    return piece


def own_extras(part: pb.Part) -> list[Any]:
    """Extras of a piece of content itself, not of the item around it."""
    return [
        each
        for each in extras_of(part.extras)
        if not each.key.removeprefix("~").startswith(ITEM) and each.key not in {"~item", "~content"}
    ]


def written_citations(part: pb.Part, notes: Notes, path: str, code: str) -> list[Any]:
    """The citations of a text, one for each source."""
    found = []
    for at, citation in enumerate(part.citations):
        for source in citation.sources:
            written = _annotation(part, citation, source)
            if written is None:
                notes.dropped(code, f"{path}.citations[{at}]")
            else:
                if written["type"] == "url_citation" and not citation.HasField("start"):
                    notes.approximated("CITATION_SPAN", f"{path}.citations[{at}]")
                found.append(written)
    return found


def _annotation(part: pb.Part, citation: pb.Citation, source: pb.CitationSource) -> dict[str, Any] | None:
    start, end = citation.start, citation.end
    if not citation.HasField("start"):
        end = len(part.text)
    if citation.kind_raw in _OWN_ANNOTATIONS:
        kind = citation.kind_raw
    elif source.url:
        kind = "url_citation"
    elif source.file_id:
        kind = "file_citation"
    else:
        return None
    written: dict[str, Any] = {"type": kind}
    if kind == "url_citation":
        written |= {"start_index": start, "end_index": end, "title": source.title, "url": source.url}
    else:
        if citation.HasField("start"):
            written |= {"start_index": start, "end_index": end}
        written["file_id"] = source.file_id
        if kind != "file_path":
            written["filename"] = source.title
        if kind == "file_citation" and citation.kind_raw != kind:
            written["index"] = source.index
    merge_extras(written, citation.extras, PROTOCOL_RESPONSES)
    return written


def logprobs(token: pb.TokenLogprob) -> dict[str, Any]:
    """The probability of a token, with its alternatives."""
    return _logprob(token) | {"top_logprobs": [_logprob(each) for each in token.alternatives]}


def _logprob(token: pb.TokenLogprob) -> dict[str, Any]:
    return {
        "token": token.token,
        "bytes": list(token.token_bytes or token.token.encode()),
        "logprob": token.logprob,
    }


def _titled(document: pb.Document, text: str) -> dict[str, Any]:
    return {"type": "input_text", "text": f"{document.title}\n\n{text}" if document.title else text}
