"""Where the top-level fields of a JSON object stand in its bytes, and how to replace them without re-encoding.

Two ways to the same answer. Encoders write either no blanks at all or one after each comma and colon: then the places
follow from the lengths of keys and values, and the length of the whole (with blanks: and a comparison) proves it. For
any other text `scan_fields`, an exact scanner, decides. Both expect valid JSON with an object on top.
Invariant: bytes outside of the replaced spans are never changed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

import msgspec

from fluxrpc.errors import InvalidRequest

_SPACE = b" \t\n\r"
# Possessive, or a key of millions of escapes would be remembered step by step.
_KEY = re.compile(rb'[ \t\n\r]*+("[^"\\]*+(?:\\.[^"\\]*+)*+")[ \t\n\r]*+:[ \t\n\r]*+', re.DOTALL)
_AFTER = re.compile(rb"[ \t\n\r]*[,}]")
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{}]|[\w.+-]+', re.DOTALL)
_CLOSING_BRACE = ord("}")
_COMMA = ord(",")
_OPENING = (b"[", b"{")
_CLOSING = (b"]", b"}")


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


def find_spans(body: bytes, fields: Mapping[str, msgspec.Raw], names: Collection[str]) -> dict[str, Span]:
    """The spans of the fields in `names` that the object has. `fields` is the object, decoded to raw values.

    Raises:
        InvalidRequest: a key stands there twice: replacing one of two would leave it to the provider which one counts.
    """
    for gap in (0, 1):
        spans, length = _layout(fields, names, gap)
        if length == len(body) and (not gap or _has_layout(body, fields)):
            return spans
    return _pick(scan_fields(body, fields), names)


def _layout(fields: Mapping[str, msgspec.Raw], names: Collection[str], gap: int) -> tuple[dict[str, Span], int]:
    """Spans and total length if each colon and comma had `gap` blanks behind it and nothing stood twice.

    Without gaps no shorter text has these fields, so a body of that length looks exactly so.
    """
    spans: dict[str, Span] = {}
    position = 1
    for name, value in fields.items():
        start = position + len(name) + 3 + gap
        end = start + len(value)
        if name in names:
            spans[name] = Span(position, start, end)
        position = end + 1 + gap
    return spans, position - gap


def _has_layout(body: bytes, fields: Mapping[str, msgspec.Raw]) -> bool:
    """Whether each field stands where a gap of one blank puts it.

    Values too: two blanks here and none there come to the same length and the same places of keys.
    """
    position = 1
    for name, value in fields.items():
        text = b'"%s": %b' % (name.encode(), value)
        if not body.startswith(text, position):
            return False
        position += len(text) + 2
    return True


def scan_fields(body: bytes, fields: Mapping[str, msgspec.Raw]) -> list[tuple[str, Span]]:
    """Every top-level field in order, duplicates included.

    The decoded values say how far to jump, so that the cost grows with the number of fields, not with their size.
    """
    found: list[tuple[str, Span]] = []
    position = body.index(b"{") + 1
    while key := _KEY.match(body, position):
        quoted = key.group(1)
        name = json.loads(quoted) if b"\\" in quoted else quoted[1:-1].decode()
        start = key.end()
        end = start + len(fields[name])
        after = _AFTER.match(body, end) if body.startswith(bytes(fields[name]), start) else None
        if after is None:  # a field that stands twice, with another value
            end = _end_of_value(body, start)
            after = _AFTER.match(body, end)
        found.append((name, Span(key.start(1), start, end)))
        position = after.end() if after else len(body)
    return found


def apply(body: bytes, edits: Iterable[Edit]) -> bytes:
    """The body with the edits made; they must not overlap. Without edits it is the same object."""
    pieces: list[bytes] = []
    position = 0
    for start, end, text in sorted(edits):
        pieces += (body[position:start], text)
        position = end
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


def _pick(fields: list[tuple[str, Span]], wanted: Collection[str]) -> dict[str, Span]:
    spans: dict[str, Span] = {}
    for name, span in fields:
        if name in wanted:
            if name in spans:
                raise InvalidRequest.at(name, "the field is there twice")
            spans[name] = span
    return spans


def _end_of_value(body: bytes, start: int) -> int:
    level = 0
    for token in _TOKEN.finditer(body, start):
        character = token.group()
        if character in _OPENING:
            level += 1
        elif character in _CLOSING:
            level -= 1
        if level == 0:
            return token.end()
    raise AssertionError("only valid JSON is scanned")
