"""Images, sound and documents between the forms that protocols have for them: data URIs, base64, formats, media types."""

from __future__ import annotations

from fluxrpc.v1.part_pb2 import Media

__all__ = ["audio_format", "audio_mime_type", "base64_of", "bytes_of", "data_uri", "read_url"]


def read_url(url: str, *, path: str) -> Media:
    """A Media of a `data:` URI (bytes and media type) or of any other URL.

    Raises:
        JsonFault: a data URI that is not base64, at `path`.
    """
    raise NotImplementedError


def data_uri(media: Media) -> str:
    """`data:<mime>;base64,…` of a Media with `data`; its URL where it has one."""
    raise NotImplementedError


def base64_of(data: bytes) -> str:
    """Standard base64 with padding."""
    raise NotImplementedError


def bytes_of(text: str, *, path: str) -> bytes:
    """The bytes of base64, standard or URL-safe, padded or not.

    Raises:
        JsonFault: it is neither, at `path`.
    """
    raise NotImplementedError


def audio_mime_type(audio_format: str) -> str:
    """`audio/wav` for `wav`, and so on; `audio/<format>` for what is not known."""
    raise NotImplementedError


def audio_format(mime_type: str) -> str:
    """The other way round: `wav`, `mp3`, …; the subtype for what is not known."""
    raise NotImplementedError
