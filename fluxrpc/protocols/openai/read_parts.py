"""Content parts of OpenAI Chat Completions requests into the IR: one function for each `type`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from fluxrpc.protocols.media import audio_mime_type, bytes_of, read_url
from fluxrpc.protocols.node import Node
from fluxrpc.protocols.openai.wire_fields import Spelled, required_text, whole_part
from fluxrpc.protocols.openai.words import DETAIL, OPENAI, seconds_of_ttl
from fluxrpc.v1.part_pb2 import Document, Media, Part, RawPart

__all__ = ["TYPE_SPELT", "is_plain_text", "read_content", "read_part"]

TYPE_SPELT = "type"
"""Spelt out on a part that could as well be written as a plain string, or into a field of its own."""
_MIME_BY_SUFFIX: Mapping[str, str] = {
    "pdf": "application/pdf",
    "txt": "text/plain",
    "md": "text/markdown",
    "csv": "text/csv",
    "html": "text/html",
    "json": "application/json",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
_WRITTEN_TTLS = frozenset({"30m", "12h"})


def read_content(node: Node, spelled: Spelled) -> tuple[str | None, list[Part]]:
    """`content` as it stands: a string, or the parts of a list."""
    if not node.is_list("content"):
        return node.text("content"), []
    parts = [read_part(piece) for piece in node.nodes("content")]
    if not parts:
        spelled.add("content", "[]")
    elif len(parts) == 1 and is_plain_text(parts[0]):
        part_spelling = Spelled()
        part_spelling.add(TYPE_SPELT, '"text"')
        parts[0].extras.extend(part_spelling)
    return None, parts


def is_plain_text(part: Part) -> bool:
    """Whether nothing is lost if the part is written as a plain string."""
    return part.HasField("text") and not part.extras and not part.HasField("cache_breakpoint")


def read_part(node: Node) -> Part:
    """One part; a `type` that is not known is carried raw."""
    kind = required_text(node, "type")
    read = _READERS.get(kind)
    if read is None:
        return Part(raw=RawPart(protocol=OPENAI, type=kind, body_json=whole_part(node, kind)))
    spelled = Spelled()
    part = read(node, spelled)
    _read_breakpoint(node, part, spelled)
    part.extras.extend(node.extras(OPENAI))
    part.extras.extend(spelled)
    return part


def _text(node: Node, spelled: Spelled) -> Part:  # noqa: ARG001  # one signature for all kinds
    return Part(text=required_text(node, "text"))


def _refusal(node: Node, spelled: Spelled) -> Part:
    spelled.add(TYPE_SPELT, '"refusal"')
    return Part(refusal=required_text(node, "refusal"))


def _image(node: Node, spelled: Spelled) -> Part:
    if node.is_text("image_url"):  # some copies take the bare URL
        url = required_text(node, "image_url")
        spelled.add("image_url", _quoted(url))
        return Part(image=read_url(url, path=node.at("image_url")))
    inner = node.node("image_url")
    if inner is None:
        raise node.fault("image_url", "an object")
    part = Part(image=read_url(required_text(inner, "url"), path=inner.at("url")))
    detail = spelled.text(inner, "detail", "image_url.")
    if detail:
        part.image.detail, part.image.detail_raw = DETAIL.read(detail)
    part.extras.extend(inner.extras(OPENAI, "image_url."))
    return part


def _audio(node: Node, spelled: Spelled) -> Part:  # noqa: ARG001  # one signature for all kinds
    inner = node.node("input_audio")
    if inner is None:
        raise node.fault("input_audio", "an object")
    data = bytes_of(required_text(inner, "data"), path=inner.at("data"))
    part = Part(audio=Media(mime_type=audio_mime_type(required_text(inner, "format")), data=data))
    part.extras.extend(inner.extras(OPENAI, "input_audio."))
    return part


def _file(node: Node, spelled: Spelled) -> Part:
    inner = node.node("file")
    if inner is None:
        raise node.fault("file", "an object")
    filename = spelled.text(inner, "filename", "file.")
    media = Media()
    if "file_id" in inner:
        media.file_id = required_text(inner, "file_id")
    else:
        text = required_text(inner, "file_data")
        if text.startswith("data:"):
            media = read_url(text, path=inner.at("file_data"))
        else:
            media.data = bytes_of(text, path=inner.at("file_data"))
            media.mime_type = _mime_type(filename, media.data)
            spelled.add("file.file_data", _quoted(text))
    media.filename = filename
    part = Part(document=Document(media=media))
    part.extras.extend(inner.extras(OPENAI, "file."))
    return part


_READERS: Mapping[str, Callable[[Node, Spelled], Part]] = {
    "text": _text,
    "refusal": _refusal,
    "image_url": _image,
    "input_audio": _audio,
    "file": _file,
}


def _quoted(text: str) -> str:
    return msgspec.json.encode(text).decode()


def _mime_type(filename: str, data: bytes) -> str:
    """The type of bare base64: by the file's name, else by how it begins."""
    known = _MIME_BY_SUFFIX.get(filename.rpartition(".")[2].lower())
    return known or ("application/pdf" if data.startswith(b"%PDF") else "application/octet-stream")


def _read_breakpoint(node: Node, part: Part, spelled: Spelled) -> None:
    """OpenAI's own breakpoint, or Anthropic's as some copies take it."""
    inner = node.node("prompt_cache_breakpoint")
    if inner is not None:
        _set_ttl(part, spelled.text(inner, "ttl", "prompt_cache_breakpoint."), spelled, "prompt_cache_breakpoint.ttl")
        mode = spelled.text(inner, "mode", "prompt_cache_breakpoint.")
        if mode != "explicit":
            spelled.add("prompt_cache_breakpoint.mode", _quoted(mode))
        part.extras.extend(inner.extras(OPENAI, "prompt_cache_breakpoint."))
    elif node.is_object("cache_control"):
        found = node.json("cache_control")
        spelled.add("cache_control", found)
        control = Node.root(found.encode())
        _set_ttl(part, control.text("ttl") or "", spelled, "")


def _set_ttl(part: Part, word: str, spelled: Spelled, key: str) -> None:
    part.cache_breakpoint.SetInParent()
    seconds = seconds_of_ttl(word)
    if seconds is not None:
        part.cache_breakpoint.ttl.seconds = seconds
    if key and word and word not in _WRITTEN_TTLS:
        spelled.add(key, _quoted(word))
