"""JSON text from outside: strict for what callers send, lenient where a provider may legally be sloppy.

Not a JSON library: msgspec decodes. What stands here is what it leaves open: UTF-8 in values that it skips, nesting
depth, halves of surrogate pairs. Invariant: no input raises anything but `JsonFault`.
"""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Iterator
from contextlib import suppress
from itertools import accumulate
from typing import Annotated, Any, NoReturn, TypeVar

import msgspec

from fluxrpc.errors import InvalidRequest

T = TypeVar("T")
Index = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
"""The place of something in a list, as providers number choices. What is none makes its text malformed."""

MAX_DEPTH = 128
"""Deeper nesting is refused: no request needs it, and recursive readers behind us may break on it."""
MAX_FIELDS = 1024
"""More fields on top are refused: no request has a tenth of them, and each costs us a hundred times its bytes.

They are counted only in bodies with ten times as many colons: below that their number does no harm.
"""

_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_NO_BRACKETS = bytes(c for c in range(256) if c not in b"[]{}")
_NO_PUNCTUATION = bytes(c for c in range(256) if c not in b"[]{}:")
_OPENS, _CLOSES = 1, 255  # what `_STEPS` makes of brackets
_FEW_COLONS = 10 * MAX_FIELDS
_MAX_EXPLAINED_BYTES = 4 * 1024 * 1024
# Escapes one by one, so that a backslash that is itself escaped begins none; group 1 is half of a pair.
_HALF = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
_BYTE_AT = re.compile(r" ?\(byte (\d+)\)")


class JsonFault(ValueError):
    """The text is not JSON, or not of the shape that is asked for. `incomplete` says that it may have been cut."""

    def __init__(self, message: str, *, path: str = "", incomplete: bool = False) -> None:
        super().__init__(message)
        self.path = path
        self.incomplete = incomplete


def structure(text: bytes) -> bytes:
    """The text without its strings (quotes too). For valid JSON, or a part of it that begins outside of a string.

    Everything here is a pass in C, so it is linear and fast; a tokenizer in Python costs fifty times as much.
    """
    if b"\\" in text:
        text = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    return b"".join(text.split(b'"')[::2])


def depth(text: bytes) -> int:
    """How deep valid JSON nests; `{}` is 1."""
    steps = structure(text).translate(_STEPS, _NO_BRACKETS)
    return max(accumulate(array("b", steps)), default=0)


def has_many_fields(text: bytes) -> bool:
    """Whether the object on top has more than `MAX_FIELDS` fields, if this is JSON at all."""
    if text.count(b":") <= _FEW_COLONS:
        return False
    level = count = 0
    for step in structure(text).translate(_STEPS, _NO_PUNCTUATION):
        if step == _OPENS:
            level += 1
        elif step == _CLOSES:
            level -= 1
        elif level == 1:
            count += 1
            if count > MAX_FIELDS:
                return True
    return False


def decode_request(decoder: msgspec.json.Decoder[T], body: bytes) -> T:
    """Decode a caller's body and check all of it.

    Raises:
        InvalidRequest: not JSON, not an object, nested too deep, not UTF-8, half of a surrogate pair.
    """
    try:
        value = decoder.decode(body)
        if not body.isascii():
            body.decode()
    except RecursionError:
        raise InvalidRequest.at("", f"the body is nested deeper than {MAX_DEPTH} levels") from None
    except UnicodeDecodeError as error:
        raise InvalidRequest.at("", f"the body is not UTF-8 (byte {error.start})") from None
    except msgspec.ValidationError as error:
        raise InvalidRequest.at("", _safe(str(error))) from None
    except msgspec.DecodeError as error:
        _explain(body, str(error))
    # Fewer brackets than levels: no need to look closer.
    if body.count(b"{") + body.count(b"[") > MAX_DEPTH and depth(body) > MAX_DEPTH:
        raise InvalidRequest.at("", f"the body is nested deeper than {MAX_DEPTH} levels")
    return value


def decode_answer(decoder: msgspec.json.Decoder[T], text: bytes) -> T:
    """Decode what a provider sent, to look at it. Halves of surrogate pairs are read as U+FFFD.

    A stream may cut a pair in two, and RFC 8259, section 8.2, allows halves; msgspec does not.

    Raises:
        JsonFault: not JSON, not of the decoder's shape, or not UTF-8.
    """
    try:
        value = decoder.decode(text)
        if not text.isascii():
            text.decode()
    except msgspec.ValidationError as error:
        raise JsonFault(_safe(str(error))) from None
    except msgspec.DecodeError as error:
        whole = _HALF.sub(_replace_half, text)
        if whole != text:
            return decode_answer(decoder, whole)
        raise JsonFault(str(error), incomplete="truncated" in str(error)) from None
    except UnicodeDecodeError:
        raise JsonFault("not UTF-8") from None
    except RecursionError:
        raise JsonFault("nested too deep") from None
    return value


def decode_halves(decoder: msgspec.json.Decoder[T], text: bytes) -> T:
    """As `decode_answer`, but halves stay in the strings. The decoder's type must hold no `msgspec.Raw`."""
    value = decode_answer(decoder, text)
    if b"\\u" not in text or _HALF.sub(_replace_half, text) == text:
        return value
    try:
        halves: T = msgspec.convert(json.loads(text), decoder.type)
    except ValueError:  # the standard library refuses integers of more than 4300 digits
        return value
    return halves


def without_halves(text: bytes) -> bytes:
    """JSON text with U+FFFD for every half of a surrogate pair that stands alone; the same text where none does.

    For whole answers: there the other half cannot come later, and values that are carried as text must hold none.
    """
    return _HALF.sub(_replace_half, text) if b"\\u" in text else text


def _replace_half(match: re.Match[bytes]) -> bytes:
    return b"\\ufffd" if match.group(1) else match.group()


def _safe(message: str) -> str:
    """Msgspec's own words, which name types and paths but never quote the text."""
    return _BYTE_AT.sub(r" at byte \1", message)


def _explain(body: bytes, message: str) -> NoReturn:
    """Raise with the path of a fault that has one: NaN, or half of a surrogate pair. Slow; only for refused bodies."""
    value = None
    if len(body) > _MAX_EXPLAINED_BYTES:
        raise InvalidRequest.at("", f"the body is not JSON: {_safe(message)}")
    with suppress(ValueError, RecursionError):
        value = json.loads(body.decode(), parse_constant=_Constant, parse_int=str, parse_float=str)
    for path, fault in _faults(value):
        raise InvalidRequest.at(path, fault)
    raise InvalidRequest.at("", f"the body is not JSON: {_safe(message)}")


class _Constant(str):
    """NaN, Infinity or -Infinity, which Python's reader knows and JSON does not."""

    __slots__ = ()


def _faults(root: Any) -> Iterator[tuple[str, str]]:
    stack: list[tuple[str, Any]] = [("", root)]
    while stack:
        path, node = stack.pop()
        if isinstance(node, _Constant):
            yield path, f"{node} is not JSON"
        elif isinstance(node, str) and not _is_encodable(node):
            yield path, "half of a surrogate pair"
        elif isinstance(node, dict):
            for key, value in node.items():
                if not _is_encodable(key):
                    yield path, "half of a surrogate pair in a key"
                stack.append((f"{path}.{key}" if path else key, value))
        elif isinstance(node, list):
            stack.extend((f"{path}[{at}]", value) for at, value in enumerate(node))


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
