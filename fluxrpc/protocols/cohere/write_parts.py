"""The parts of a request as Cohere's blocks of content: what is said, what becomes text, what is left out.

Knows one part at a time, not where in a message it goes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from fluxrpc.ir.presence import is_bare
from fluxrpc.protocols.cohere.documents import is_sayable, titled_text, written_document
from fluxrpc.protocols.cohere.words import DETAILS
from fluxrpc.protocols.media import data_uri
from fluxrpc.protocols.node import merge_extras, raw
from fluxrpc.protocols.notes import Notes
from fluxrpc.protocols.turns import Placed
from fluxrpc.v1.message_pb2 import ROLE_ASSISTANT, ROLE_USER, Role
from fluxrpc.v1.part_pb2 import (
    MEDIA_DETAIL_MEDIUM,
    MEDIA_DETAIL_ORIGINAL,
    TEXT_PHASE_PLAN,
    TEXT_PHASE_UNSPECIFIED,
    Document,
    Media,
)
from fluxrpc.v1.protocol_pb2 import PROTOCOL_COHERE

__all__ = ["Block", "PartWriter"]

Block = dict[str, Any]

_DROPPED: Final[Mapping[str, str]] = MappingProxyType(
    {"video": "VIDEO", "server_tool_call": "SERVER_TOOL_HISTORY", "server_tool_result": "SERVER_TOOL_HISTORY"}
)
"""Kinds of parts that have no place at all."""
_HIGH: Final = frozenset({MEDIA_DETAIL_MEDIUM, MEDIA_DETAIL_ORIGINAL})
_SCHEMES: Final = ("https://", "http://")
_PHASES: Final = frozenset({TEXT_PHASE_UNSPECIFIED, TEXT_PHASE_PLAN})


class PartWriter:
    """Writes the parts of one request; `documents` gathers those that stand beside the messages."""

    def __init__(self, notes: Notes, *, is_own: bool) -> None:
        """`is_own`: the caller speaks Cohere too, and what it says is left as it is."""
        self.documents: list[Block] = []
        self.moves_documents = True
        """Whether something is left to say where documents move out of a message."""
        self._notes = notes
        self._is_own = is_own
        self._writers: dict[str, Callable[[Placed, Role.ValueType], Block | None]] = {
            "text": self._text,
            "refusal": self._refusal,
            "image": self._image,
            "audio": self._audio,
            "document": self._document,
            "reasoning": self._reasoning,
            "compaction": self._compaction,
        }

    def block(self, placed: Placed, role: Role.ValueType) -> Any:
        """The block for a part; None where nothing of it can be said."""
        kind = placed.part.WhichOneof("kind") or ""
        if kind == "raw" and placed.part.raw.protocol == PROTOCOL_COHERE:
            return raw(placed.part.raw.body_json)
        write = self._writers.get(kind)
        if write is None:
            self._notes.dropped(_DROPPED.get(kind, "RAW_PART"), placed.path)
            return None
        block = write(placed, role)
        if block is not None and not is_bare(placed.part):
            self.note_rest(placed, block)
        return block

    def note_rest(self, placed: Placed, fields: Block) -> None:
        """What a part has beside its content: put back Cohere's own fields, note the others."""
        part, path = placed.part, placed.path
        merge_extras(fields, part.extras, PROTOCOL_COHERE)
        self._notes.foreign_extras(part.extras, PROTOCOL_COHERE, path)
        if part.opaque:
            self._notes.dropped("REASONING_STATE", f"{path}.opaque")
        if part.HasField("cache_breakpoint"):
            self._notes.dropped("CACHE_BREAKPOINT", f"{path}.cache_breakpoint")
        if part.phase not in _PHASES:
            self._notes.dropped("TEXT_PHASE", f"{path}.phase")

    def image(self, image: Media, path: str) -> Block | None:
        """An image: inline or by its address."""
        if image.HasField("file_id") or (image.url and not image.url.lower().startswith(_SCHEMES)):
            self._notes.dropped("FILE_ID" if image.file_id else "IMAGE_URL", path)
            return None
        fields: Block = {"url": data_uri(image)}
        detail = DETAILS.written(image.detail) or (image.detail_raw if self._is_own else "")
        if image.detail in _HIGH:
            detail = "high"
            self._notes.approximated("IMAGE_DETAIL", f"{path}.detail")
        elif image.detail and not detail:
            self._notes.dropped("IMAGE_DETAIL", f"{path}.detail")
        if detail:
            fields["detail"] = detail
        if image.filename:
            self._notes.dropped("FILE_NAME", f"{path}.filename")
        return {"type": "image_url", "image_url": fields}

    def note_document(self, document: Document, path: str) -> None:
        """What a document has beside its title and its words."""
        if document.source or document.context:
            self._notes.dropped("DOCUMENT_TITLE", path)
        if document.WhichOneof("content") == "parts":
            self._notes.approximated("DOCUMENT_PARTS", path)
            for index, passage in enumerate(document.parts.parts):
                if not passage.HasField("text"):
                    self._notes.dropped("IMAGE", f"{path}.parts.parts[{index}]", "passages are text")

    def _text(self, placed: Placed, role: Role.ValueType) -> Block | None:
        text = placed.part.text
        if not text and not self._is_own:
            self._notes.dropped("EMPTY_CONTENT", placed.path)
            return None
        if placed.part.citations and role != ROLE_ASSISTANT:
            self._notes.dropped("CITATION_HISTORY", f"{placed.path}.citations")
        return {"type": "text", "text": text}

    def _refusal(self, placed: Placed, role: Role.ValueType) -> Block | None:
        del role
        self._notes.approximated("REFUSAL_HISTORY", placed.path)
        return {"type": "text", "text": placed.part.refusal}

    def _image(self, placed: Placed, role: Role.ValueType) -> Block | None:
        if role != ROLE_USER:
            self._notes.dropped("IMAGE" if role == ROLE_ASSISTANT else "INSTRUCTION_MEDIA", placed.path)
            return None
        return self.image(placed.part.image, f"{placed.path}.image")

    def _audio(self, placed: Placed, role: Role.ValueType) -> Block | None:
        del role
        transcript = placed.part.audio.transcript
        if not transcript:
            self._notes.dropped("AUDIO", placed.path)
            return None
        self._notes.approximated("AUDIO", placed.path)
        return {"type": "text", "text": transcript}

    def _document(self, placed: Placed, role: Role.ValueType) -> Block | None:
        """Where citations are wanted it goes among the documents of the request, else it becomes text."""
        document, path = placed.part.document, f"{placed.path}.document"
        if not is_sayable(document):
            media = document.media
            code = "FILE_ID" if media.file_id else "DOCUMENT_URL" if media.url else "DOCUMENT"
            self._notes.dropped(code if role == ROLE_USER else "INSTRUCTION_MEDIA", path)
            return None
        self.note_document(document, path)
        if document.citations and role == ROLE_USER and self.moves_documents:
            self._notes.reordered("DOCUMENT", path)
            self.documents.append(written_document(document))
            return None
        self._notes.approximated("DOCUMENT", path)
        return {"type": "text", "text": titled_text(document)}

    def _reasoning(self, placed: Placed, role: Role.ValueType) -> Block | None:
        del role
        reasoning = placed.part.reasoning
        thinking = reasoning.text
        if not thinking and reasoning.summaries:
            self._notes.approximated("REASONING_SUMMARY", placed.path)
            thinking = "\n\n".join(reasoning.summaries)
        if not thinking and not self._is_own:
            self._notes.dropped("REASONING_HISTORY", placed.path)
            return None
        return {"type": "thinking", "thinking": thinking}

    def _compaction(self, placed: Placed, role: Role.ValueType) -> Block | None:
        del role
        summary = placed.part.compaction.text
        if not summary:
            self._notes.dropped("COMPACTION", placed.path)
            return None
        self._notes.approximated("COMPACTION", placed.path)
        return {"type": "text", "text": summary}
