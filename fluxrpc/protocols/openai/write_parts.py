"""Parts of the IR as content parts of OpenAI Chat Completions.

Each part becomes one piece of content or none; what a piece cannot say is noted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from fluxrpc.ir.presence import is_bare
from fluxrpc.protocols.media import audio_format, base64_of, data_uri
from fluxrpc.protocols.node import raw
from fluxrpc.protocols.openai.words import DETAIL, OPENAI
from fluxrpc.protocols.openai.writing import Writing, own_keys
from fluxrpc.v1.part_pb2 import (
    MEDIA_DETAIL_MEDIUM,
    TEXT_PHASE_PLAN,
    TEXT_PHASE_UNSPECIFIED,
    Document,
    Media,
    Part,
)

__all__ = ["Piece", "document_text", "piece_of"]

Fields = dict[str, Any]
Piece = Fields | msgspec.Raw
"""One content part as it is written; one that only this protocol knows goes back as it was."""

_SOUNDS = frozenset({"wav", "mp3"})
_HALF_AN_HOUR, _TWELVE_HOURS = 1_800, 43_200


def piece_of(part: Part, path: str, writing: Writing) -> Piece | None:
    """The piece of content that a part is; None where there is none."""
    kind = part.WhichOneof("kind")
    if kind == "raw":
        if part.raw.protocol == OPENAI:
            return raw(part.raw.body_json)
        writing.notes.dropped("RAW_PART", path)
        return None
    piece = _WRITERS[str(kind)](part, path, writing)
    if is_bare(part):
        return piece
    _note_trimmings(part, path, writing)
    if piece is None:
        return None
    if part.HasField("cache_breakpoint") and "cache_control" not in own_keys(part.extras):
        _write_breakpoint(part, piece, path, writing)
    writing.merge(piece, part.extras, path)
    return piece


def document_text(document: Document) -> str:
    """A document without a file as text, under its title."""
    match document.WhichOneof("content"):
        case "text":
            body = document.text
        case "data_json":
            body = document.data_json
        case _:
            body = "\n".join(part.text for part in document.parts.parts if part.text)
    heads = (document.title or document.id, document.source, document.context)
    return "\n".join([*(head for head in heads if head), body])


def _text(part: Part, path: str, writing: Writing) -> Fields:  # noqa: ARG001  # one signature for all kinds
    return {"type": "text", "text": part.text}


def _refusal(part: Part, path: str, writing: Writing) -> Fields:  # noqa: ARG001  # one signature for all kinds
    return {"type": "refusal", "refusal": part.refusal}


def _image(part: Part, path: str, writing: Writing) -> Fields | None:
    media = part.image
    url = _address(media)
    if not url:
        code, field = ("FILE_ID", "file_id") if media.HasField("file_id") else ("IMAGE_URL", "url")
        writing.notes.dropped(code, f"{path}.image.{field}")
        return None
    image: Fields = {"url": url}
    if media.detail == MEDIA_DETAIL_MEDIUM:
        writing.notes.approximated("IMAGE_DETAIL", f"{path}.image.detail")
        image["detail"] = "auto"
    elif detail := DETAIL.say(media.detail, media.detail_raw if writing.is_own else ""):
        image["detail"] = detail
    elif media.detail:
        writing.notes.dropped("IMAGE_DETAIL", f"{path}.image.detail")
    return {"type": "image_url", "image_url": image}


def _audio(part: Part, path: str, writing: Writing) -> Fields | None:
    sound = audio_format(part.audio.mime_type)
    if not part.audio.data or not (sound in _SOUNDS or writing.is_own):
        writing.notes.dropped("AUDIO", f"{path}.audio")
        return None
    return {"type": "input_audio", "input_audio": {"data": base64_of(part.audio.data), "format": sound}}


def _video(part: Part, path: str, writing: Writing) -> None:  # noqa: ARG001  # one signature for all kinds
    writing.notes.dropped("VIDEO", f"{path}.video")


def _document(part: Part, path: str, writing: Writing) -> Fields | None:
    document = part.document
    if not writing.is_own:
        _note_document(document, f"{path}.document", writing)
    if not document.HasField("media"):
        return {"type": "text", "text": document_text(document)}
    media = document.media
    file: Fields = {}
    if media.HasField("file_id") and not writing.shares_words:
        writing.notes.dropped("FILE_ID", f"{path}.document.media.file_id")
        return None
    if media.HasField("file_id"):
        file["file_id"] = media.file_id
    elif media.data:
        if media.mime_type.startswith("text/") and not writing.is_own:
            writing.notes.approximated("DOCUMENT", f"{path}.document")
            text = Document(text=media.data.decode(errors="replace"), title=document.title or media.filename)
            return {"type": "text", "text": document_text(text)}
        file["file_data"] = data_uri(media)
    else:
        writing.notes.dropped("DOCUMENT_URL", f"{path}.document.media.url")
        return None
    name = document.title or media.filename
    if name:
        file["filename"] = name
    return {"type": "file", "file": file}


def _note_document(document: Document, path: str, writing: Writing) -> None:
    """What becomes of a document that is not only a file."""
    if document.HasField("citations") and document.citations:
        writing.notes.dropped("DOCUMENT_CITATIONS", f"{path}.citations")
    content = document.WhichOneof("content")
    if content == "media":
        if document.context or document.source:
            writing.notes.dropped("DOCUMENT_TITLE", f"{path}.context")
        return
    writing.notes.approximated(_DOCUMENT_CODES.get(content or "", "DOCUMENT"), path)
    for index, passage in enumerate(document.parts.parts):
        if not passage.HasField("text"):
            writing.notes.dropped("IMAGE", f"{path}.parts.parts[{index}]", "passages become text")


def _note_trimmings(part: Part, path: str, writing: Writing) -> None:
    """What may hang on a part and has no place here."""
    if part.citations:
        writing.notes.dropped("CITATION_HISTORY", f"{path}.citations")
    if part.phase not in (TEXT_PHASE_UNSPECIFIED, TEXT_PHASE_PLAN):
        writing.notes.dropped("TEXT_PHASE", f"{path}.phase")
    if part.opaque and not writing.is_own:
        writing.notes.dropped("REASONING_STATE", f"{path}.opaque")


def _write_breakpoint(part: Part, piece: Fields, path: str, writing: Writing) -> None:
    if not writing.keeps_breakpoint(path):
        return
    mark = piece["prompt_cache_breakpoint"] = {"mode": "explicit"}
    seconds = part.cache_breakpoint.ttl.seconds
    if seconds == _TWELVE_HOURS and writing.is_own:
        mark["ttl"] = "12h"
    elif seconds or not writing.is_own:
        mark["ttl"] = "30m"
    if seconds not in (0, _HALF_AN_HOUR) and not writing.is_own:
        writing.notes.approximated("CACHE_BREAKPOINT", f"{path}.cache_breakpoint.ttl")


def _address(media: Media) -> str:
    """What stands in `image_url.url`; "" where the image has no address that providers of this protocol read."""
    if media.HasField("data") or media.url.startswith(("https://", "http://", "data:")):
        return data_uri(media)
    return ""


_WRITERS: Mapping[str, Callable[[Part, str, Writing], Fields | None]] = {
    "text": _text,
    "refusal": _refusal,
    "image": _image,
    "audio": _audio,
    "video": _video,
    "document": _document,
}
_DOCUMENT_CODES: Mapping[str, str] = {"parts": "DOCUMENT_PARTS", "data_json": "DOCUMENT_DATA"}
