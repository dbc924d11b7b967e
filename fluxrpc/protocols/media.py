"""Images, sound and documents between the forms that protocols have for them: data URIs, base64, formats, media types.

Nothing here looks into the bytes. Invariant: `read_url(data_uri(media))` holds the same bytes and media type.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterable
from types import MappingProxyType

from fluxrpc.protocols.json_text import JsonFault
from fluxrpc.v1.part_pb2 import Media

__all__ = ["announces_attachment", "audio_format", "audio_mime_type", "base64_of", "bytes_of", "data_uri", "read_url"]

_SCHEME = "data:"
_ANNOUNCES = re.compile(r"\b(?:images?|attach\w*|files?|documents?)\b", re.IGNORECASE)
_BASE64 = ";base64"
_URL_SAFE = bytes.maketrans(b"-_", b"+/")
_LINE_BREAKS = b" \t\r\n"
_AUDIO_TYPES = MappingProxyType({"pcm16": "audio/l16", "m4a": "audio/mp4", "opus": "audio/ogg"})
"""Formats whose media type is not just `audio/` and the format. `audio/mp3` is not registered, but what Gemini lists:
https://ai.google.dev/gemini-api/docs/audio#supported-formats."""
_AUDIO_FORMATS = MappingProxyType(
    {
        "mpeg": "mp3",
        "mpeg3": "mp3",
        "x-mp3": "mp3",
        "x-mpeg": "mp3",
        "x-wav": "wav",
        "wave": "wav",
        "vnd.wave": "wav",
        "x-flac": "flac",
        "x-aac": "aac",
        "x-aiff": "aiff",
        "x-m4a": "m4a",
        "mp4": "m4a",
        "l16": "pcm16",
        "pcm": "pcm16",
    }
)
"""Subtypes, also those of old, whose format has another name."""


def read_url(url: str, *, path: str) -> Media:
    """A Media of a `data:` URI (bytes and media type) or of any other URL.

    A data URI without a media type gives none: RFC 2397 calls that text, but nobody means so who sends an image.

    Raises:
        JsonFault: a data URI that is not base64, at `path`.
    """
    if url[: len(_SCHEME)].lower() != _SCHEME:
        return Media(url=url)
    head, comma, body = url[len(_SCHEME) :].partition(",")
    if not comma or not head.lower().endswith(_BASE64):
        raise JsonFault("a data URI in base64 is expected", path=path)
    return Media(mime_type=head[: -len(_BASE64)], data=bytes_of(body, path=path))


def data_uri(media: Media) -> str:
    """`data:<mime>;base64,…` of a Media with `data`; its URL where it has one; "" where it is a file's id."""
    if media.HasField("data"):
        return f"{_SCHEME}{media.mime_type}{_BASE64},{base64_of(media.data)}"
    return media.url


def base64_of(data: bytes) -> str:
    """Standard base64 with padding."""
    return binascii.b2a_base64(data, newline=False).decode("ascii")


def bytes_of(text: str, *, path: str) -> bytes:
    """The bytes of base64, standard or URL-safe, padded or not, in one line or many.

    Raises:
        JsonFault: it is neither, at `path`.
    """
    try:
        digits = text.encode("ascii").translate(_URL_SAFE, _LINE_BREAKS).rstrip(b"=")
        return binascii.a2b_base64(digits + b"=" * (-len(digits) % 4), strict_mode=True)
    except ValueError:
        raise JsonFault("base64 is expected", path=path) from None


def audio_mime_type(audio_format: str) -> str:
    """`audio/wav` for `wav`, and so on; `audio/<format>` for what is not known."""
    return _AUDIO_TYPES.get(audio_format.lower(), f"audio/{audio_format}")


def audio_format(mime_type: str) -> str:
    """The other way round: `wav`, `mp3`, …; the subtype for what is not known. Parameters do not matter."""
    subtype = mime_type.partition(";")[0].strip().lower().rpartition("/")[2]
    return _AUDIO_FORMATS.get(subtype, subtype)


def announces_attachment(texts: Iterable[str]) -> bool:
    """Whether the words of a tool's result speak of what is attached to it: then nothing need say where it went."""
    return any(_ANNOUNCES.search(text) for text in texts)
