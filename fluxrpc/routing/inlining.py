"""Images and documents by URL toward protocols that must be given the bytes: fetched before the request is written.

Only where fetching is configured (`fluxrpc.upstream.media_fetch`). What the target fetches itself is left alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from msgspec.structs import replace

from fluxrpc.errors import FieldViolation, InvalidRequest
from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.bridge import CallerRequest
from fluxrpc.protocols.notes import Locate, Places, locator
from fluxrpc.protocols.registry import TRANSLATORS
from fluxrpc.upstream.media_fetch import Fetched, MediaFetcher, Unfetchable
from fluxrpc.v1.message_pb2 import MessageRequest
from fluxrpc.v1.outcome_pb2 import NOTE_ACTION_EMULATED, TranslationNote
from fluxrpc.v1.part_pb2 import Media, Part

__all__ = ["NEEDS_BYTES", "Inlined", "inlined"]

_IMAGE, _DOCUMENT = "IMAGE_URL", "DOCUMENT_URL"
NEEDS_BYTES: Mapping[Protocol, frozenset[str]] = MappingProxyType(
    {
        # fileData takes addresses of Google's own storage only: https://ai.google.dev/api/caching#FileData.
        Protocol.GEMINI: frozenset({_IMAGE, _DOCUMENT}),
        # `file` has data or an id: https://platform.openai.com/docs/api-reference/chat/create.
        Protocol.OPENAI: frozenset({_DOCUMENT}),
    }
)
"""What each protocol cannot be told by URL."""
_SCHEMES = ("http://", "https://")
_MAX_FILES = 16
"""In one request: beyond it is no conversation, but a way to make us fetch."""


class Inlined(NamedTuple):
    """A request whose media are here, and what was done for it."""

    request: CallerRequest
    notes: tuple[TranslationNote, ...] = ()


class _Found(NamedTuple):
    path: str
    code: str
    media: Media


async def inlined(request: CallerRequest, target: Protocol, fetcher: MediaFetcher) -> Inlined:
    """The request with the bytes of what `target` must be given, in the place of their URLs.

    Raises:
        InvalidRequest: not a body of its protocol; or something cannot be fetched, with its place.
    """
    kinds = NEEDS_BYTES.get(target, frozenset())
    if request.protocol == target or not kinds:
        return Inlined(request)
    read = request.read()
    if not any(found.code in kinds for found in _by_url(read.message)):
        return Inlined(request)
    message = MessageRequest()
    message.CopyFrom(read.message)
    found = [found for found in _by_url(message) if found.code in kinds]
    locate = _locator(request)
    if len(found) > _MAX_FILES:
        raise InvalidRequest.at(locate(found[_MAX_FILES].path), f"at most {_MAX_FILES} files by URL can be fetched")
    await _fill(found, fetcher, locate)
    notes = tuple(
        TranslationNote(
            path=locate(each.path),
            action=NOTE_ACTION_EMULATED,
            code=each.code,
            reason=f"fetched here: the {target} protocol takes the bytes only",
        )
        for each in found
    )
    if request.message is not None:
        return Inlined(replace(request, message=message), notes)
    return Inlined(replace(request, _read=replace(read, message=message)), notes)


async def _fill(found: Iterable[_Found], fetcher: MediaFetcher, locate: Locate) -> None:
    """Fetch every URL once, all at the same time, and put the bytes where the URLs stood."""
    places: dict[str, list[_Found]] = {}
    for each in found:
        places.setdefault(each.media.url, []).append(each)
    results = await asyncio.gather(*map(fetcher.fetch, places), return_exceptions=True)
    violations: list[FieldViolation] = []
    for wanted, result in zip(places.values(), results, strict=True):
        if isinstance(result, Fetched):
            for each in wanted:
                each.media.data = result.data
                each.media.mime_type = result.mime_type
        elif isinstance(result, Unfetchable):
            violations += [FieldViolation(path=locate(w.path), message=f"cannot be fetched: {result}") for w in wanted]
        else:
            raise result
    if violations:
        raise InvalidRequest(violations)


def _by_url(message: MessageRequest) -> Iterator[_Found]:
    for index, turn in enumerate(message.messages):
        yield from _in_parts(turn.parts, f"messages[{index}].parts")


def _in_parts(parts: Iterable[Part], path: str) -> Iterator[_Found]:
    for index, part in enumerate(parts):
        place = f"{path}[{index}]"
        if part.image.url.startswith(_SCHEMES):
            yield _Found(f"{place}.image", _IMAGE, part.image)
        elif part.document.media.url.startswith(_SCHEMES):
            yield _Found(f"{place}.document.media", _DOCUMENT, part.document.media)
        elif part.HasField("tool_result"):
            yield from _in_parts(part.tool_result.parts.parts, f"{place}.tool_result.parts.parts")


def _locator(request: CallerRequest) -> Locate:
    """From places in the IR to those in the caller's body."""
    if request.protocol is None:
        return str
    places: Places = {}
    translator = TRANSLATORS[request.protocol]
    translator.read_request(request.body, version=request.version, places=places)
    return locator(places, translator.fields)
