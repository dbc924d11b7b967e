"""Where the top-level fields of a JSON object stand in its bytes, and how to replace them without re-encoding.

Two ways to the same answer. `find_spans` searches for the quoted key: where the object is known to have the field and
the text holds its key only once, that is the place. Else `scan_fields`, an exact scanner, decides. Both expect valid
JSON with an object on top.
Invariant: bytes outside of the replaced spans are never changed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from fluxrpc.errors import InvalidRequest

_SPACE = b" \t\n\r"
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[\]{},:]', re.DOTALL)
_COLON = re.compile(rb"[ \t\n\r]*:[ \t\n\r]*")
_QUOTE = ord('"')
_CLOSING_BRACE = ord("}")
_COMMA = ord(",")
_OPENING = (b"[", b"{")
_CLOSING = (b"]", b"}")
# A key may be written with escapes (`"mod\u0065l"`). No encoder does that to letters, so it is rare and slow.
_ESCAPED_LETTER = re.compile(rb"\\u00[4-7]")


class Span(NamedTuple):
    """One top-level field: where its key begins, and its value begins and ends."""

    key: int
    start: int
    end: int


class Edit(NamedTuple):
    """Replace `body[start:end]` by `text`."""

    start: int
    end: int
    text: bytes


def find_spans(body: bytes, values: Mapping[str, bytes]) -> dict[str, Span]:
    """The spans of the fields named in `values`, whose values (as decoded last) are known to stand in the object.

    Raises:
        InvalidRequest: a key stands there twice: replacing one of two would leave it to the provider which one counts.
    """
    spans: dict[str, Span] = {}
    if b"\\" not in body or not _ESCAPED_LETTER.search(body):
        for name, value in values.items():
            span = _sole_span(body, name, value)
            if span is None:
                break
            spans[name] = span
        else:
            return spans
    return _pick(scan_fields(body), values)


def scan_fields(body: bytes) -> list[tuple[str, Span]]:
    """Every top-level field in order, duplicates included."""
    fields: list[tuple[str, Span]] = []
    tokens = _TOKEN.finditer(body)
    level = 0
    key: re.Match[bytes] | None = None
    start = -1
    for token in tokens:
        character = token.group()
        if level == 1 and key is None and character[0] == _QUOTE:
            key = token
        elif level == 1 and character == b":":
            start = token.end()
        elif character in _OPENING:
            level += 1
        elif character in _CLOSING:
            level -= 1
        if key is not None and start >= 0 and (level == 0 or (level == 1 and character == b",")):
            fields.append((json.loads(key.group()), _trimmed(body, key.start(), start, token.start())))
            key, start = None, -1
    return fields


def apply(body: bytes, edits: Iterable[Edit]) -> bytes:
    """The body with the edits made; they must not overlap. Without edits it is the same object."""
    pieces: list[bytes] = []
    position = 0
    for edit in sorted(edits):
        pieces += (body[position : edit.start], edit.text)
        position = edit.end
    if not pieces:
        return body
    pieces.append(body[position:])
    return b"".join(pieces)


def insert_first(body: bytes, fields: bytes) -> Edit:
    """Insert the text of fields right after the opening brace."""
    at = body.index(b"{") + 1
    following = at
    while body[following] in _SPACE:
        following += 1
    return Edit(at, at, fields if body[following] == _CLOSING_BRACE else fields + b",")


def remove_field(body: bytes, span: Span) -> Edit:
    """Remove a field together with the one comma that it no longer needs."""
    end = span.end
    while body[end] in _SPACE:
        end += 1
    if body[end] == _COMMA:
        end += 1
        while body[end] in _SPACE:
            end += 1
        return Edit(span.key, end, b"")
    start = span.key
    while body[start - 1] in _SPACE:
        start -= 1
    if body[start - 1] == _COMMA:
        return Edit(start - 1, span.end, b"")
    return Edit(span.key, span.end, b"")


def _sole_span(body: bytes, name: str, value: bytes) -> Span | None:
    """The span of a field of the object, if its key stands only once in all the text: then that is the place."""
    quoted = b'"%s"' % name.encode()
    at = body.find(quoted)
    after = at + len(quoted)
    colon = _COLON.match(body, after)
    if at < 0 or colon is None or body.find(quoted, after) >= 0:
        return None
    start = colon.end()
    return Span(at, start, start + len(value))


def _pick(fields: list[tuple[str, Span]], wanted: Iterable[str]) -> dict[str, Span]:
    spans: dict[str, Span] = {}
    for name, span in fields:
        if name in wanted:
            if name in spans:
                raise InvalidRequest.at(name, "the field is there twice")
            spans[name] = span
    return spans


def _trimmed(body: bytes, key: int, start: int, end: int) -> Span:
    while body[start] in _SPACE:
        start += 1
    while body[end - 1] in _SPACE:
        end -= 1
    return Span(key, start, end)
