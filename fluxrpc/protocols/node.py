"""JSON objects that are read key by key: what is asked for is consumed, what is left is carried.

Values stay text until they are asked for, so tool arguments, schemas and unknown fields keep the spelling of their
numbers, the order of their keys and their duplicates. Not for events of streams, which typed structs read faster.

Invariant: every key is either asked for or among the `extras`; null is absence, and carried too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Self, TypeVar

import msgspec

from fluxrpc.protocols.json_text import JsonFault
from fluxrpc.v1.protocol_pb2 import Extra
from fluxrpc.v1.protocol_pb2 import Protocol as WireProtocol

__all__ = ["SPELLING", "Node", "merge_extras", "raw", "spelling"]

SPELLING = "~"
"""Begins the key of an extra that only says how something was spelt."""

T = TypeVar("T")
_QUOTE, _BRACKET, _BRACE = b'"[{'
_NULL = msgspec.Raw(b"null")
_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_LIST = msgspec.json.Decoder(list[msgspec.Raw])
_OBJECTS = msgspec.json.Decoder(list[dict[str, msgspec.Raw]])
_TEXT = msgspec.json.Decoder(str)
_TEXTS = msgspec.json.Decoder(list[str])
_NUMBER = msgspec.json.Decoder(float)
_INTEGER = msgspec.json.Decoder(int)
_FLAG = msgspec.json.Decoder(bool)
_ANY = msgspec.json.Decoder()


def raw(text: str) -> msgspec.Raw:
    """JSON text to be embedded as it stands."""
    return msgspec.Raw(text.encode())


class Node:
    """One JSON object and its place in the body. All readers raise `JsonFault` with the path of what is wrong."""

    __slots__ = ("_fields", "_key", "_nulls", "_parent")

    def __init__(self, fields: dict[str, msgspec.Raw], parent: Node | None = None, key: str = "") -> None:
        self._fields = fields
        self._parent = parent
        self._key = key
        self._nulls: list[str] = []

    @classmethod
    def root(cls, body: bytes) -> Self:
        """The object that a body is. All of it is UTF-8, also where it is carried as it stands."""
        if not body.isascii():
            try:
                body.decode()
            except UnicodeDecodeError:
                raise JsonFault("UTF-8 is expected") from None
        return cls(_decoded(_OBJECT, body, "", "an object"))

    @property
    def path(self) -> str:
        """Where it stands: `messages[2].content[0]`; "" for the body."""
        above = "" if self._parent is None else self._parent.path
        return above + self._key if self._key.startswith("[") or not above else f"{above}.{self._key}"

    def at(self, key: str) -> str:
        """The path of one of its fields."""
        return f"{self.path}.{key}" if self.path else key

    def __contains__(self, key: str) -> bool:
        """Whether a field is there, still unread and not null."""
        found = self._fields.get(key)
        return found is not None and found != _NULL

    def has_any(self, keys: frozenset[str]) -> bool:
        """Whether one of the fields is there, still unread, be it null: most bodies hold few of those that may be."""
        return not keys.isdisjoint(self._fields)

    def is_only_text(self, key: str) -> bool:
        """Whether a field is the only one, and a string."""
        return len(self._fields) == 1 and self._starts(key, _QUOTE)

    def fault(self, key: str, expected: str) -> JsonFault:
        """The error for a field that is not what is expected."""
        return JsonFault(f"{expected} is expected", path=self.at(key))

    # --- consuming ---

    def take(self, key: str) -> msgspec.Raw | None:
        """The value of a field as it stands; None where it is absent or null."""
        found = self._fields.pop(key, None)
        if found is not None and found == _NULL:
            self._nulls.append(key)
            return None
        return found

    # Most fields are absent in most bodies, so each reader looks for that first, without a call.

    def json(self, key: str) -> str:
        """The text of a value as it stands; "" where it is absent."""
        found = self._fields.pop(key, None)
        if found is None or self._is_null(key, found):
            return ""
        return bytes(found).decode()

    def text(self, key: str) -> str | None:
        """A string."""
        found = self._fields.pop(key, None)
        return None if found is None else self._read(_TEXT, key, found, "a string")

    def texts(self, key: str) -> list[str]:
        """A list of strings; empty where it is absent."""
        found = self._fields.pop(key, None)
        return [] if found is None else self._read(_TEXTS, key, found, "a list of strings") or []

    def number(self, key: str) -> float | None:
        """A number."""
        found = self._fields.pop(key, None)
        return None if found is None else self._read(_NUMBER, key, found, "a number")

    def integer(self, key: str) -> int | None:
        """A whole number; `37.0` is one."""
        found = self._fields.pop(key, None)
        if found is None or self._is_null(key, found):
            return None
        try:
            return _INTEGER.decode(found)
        except msgspec.MsgspecError:
            number = _decoded(_NUMBER, found, self.at(key), "a whole number")
        if not number.is_integer():
            raise self.fault(key, "a whole number")
        return int(number)

    def flag(self, key: str) -> bool | None:
        """True or false."""
        found = self._fields.pop(key, None)
        return None if found is None else self._read(_FLAG, key, found, "true or false")

    def value(self, key: str) -> Any:
        """Any value, decoded; None where it is absent. Numbers lose their spelling."""
        found = self._fields.pop(key, None)
        return None if found is None else self._read(_ANY, key, found, "JSON")

    def node(self, key: str) -> Self | None:
        """An object."""
        found = self._fields.pop(key, None)
        if found is None:
            return None
        fields = self._read(_OBJECT, key, found, "an object")
        return None if fields is None else type(self)(fields, self, key)

    def nodes(self, key: str) -> list[Self]:
        """A list of objects; empty where it is absent."""
        found = self._fields.pop(key, None)
        if found is None or self._is_null(key, found):
            return []
        kind = type(self)
        try:
            objects = _OBJECTS.decode(found)
        except (msgspec.MsgspecError, RecursionError):
            raise self._no_objects(key, found) from None
        return [kind(fields, self, f"{key}[{index}]") for index, fields in enumerate(objects)]

    def items(self, key: str) -> Iterator[tuple[int, msgspec.Raw]]:
        """The items of a list as they stand, with their index; none where it is absent."""
        found = self._fields.pop(key, None)
        if found is not None:
            items = self._read(_LIST, key, found, "a list")
            yield from enumerate(items or [])

    def _no_objects(self, key: str, found: msgspec.Raw) -> JsonFault:
        """What is wrong with a field that is no list of objects."""
        items: list[msgspec.Raw] = _decoded(_LIST, found, self.at(key), "a list")
        wrong = next((at for at, item in enumerate(items) if bytes(memoryview(item)[:1]) != b"{"), 0)
        return self.fault(f"{key}[{wrong}]", "an object")

    def forget(self, keys: frozenset[str]) -> None:
        """Consume fields whose values are read elsewhere, or say nothing."""
        for key in [key for key in self._fields if key in keys]:
            del self._fields[key]

    def peek(self, key: str) -> msgspec.Raw:
        """The value of a field as it stands, null where it is absent; it is not consumed."""
        return self._fields.get(key, _NULL)

    def is_text(self, key: str) -> bool:
        """Whether the value of a field is a string; it is not consumed."""
        return self._starts(key, _QUOTE)

    def is_list(self, key: str) -> bool:
        """Whether the value of a field is a list; it is not consumed."""
        return self._starts(key, _BRACKET)

    def is_object(self, key: str) -> bool:
        """Whether the value of a field is an object; it is not consumed."""
        return self._starts(key, _BRACE)

    # --- what is left ---

    def extras(self, protocol: WireProtocol.ValueType, prefix: str = "", *, nulls: bool = True) -> list[Extra]:
        """The fields that nobody asked for, and the nulls; for the nearest node of the IR that carries extras.

        `prefix` (with its dot) is the way from that node to this one, where this one has no extras of its own. Answers
        leave nulls out: they are written as their protocol has them. A dot within a key, or a `~` before it, stands
        behind a backslash.
        """
        if not (self._fields or self._nulls):
            return []
        left = [
            Extra(protocol=protocol, key=prefix + _escaped(key), value_json=bytes(value).decode())
            for key, value in self._fields.items()
        ]
        if nulls:
            left.extend(Extra(protocol=protocol, key=prefix + _escaped(key), value_json="null") for key in self._nulls)
        self._fields = {}
        self._nulls = []
        return left

    def carry(self, message: Any, protocol: WireProtocol.ValueType, prefix: str = "", *, nulls: bool = True) -> None:
        """Put the `extras` into a message of the IR. Most often there are none, and then this costs next to nothing."""
        if self._fields or self._nulls:
            message.extras.extend(self.extras(protocol, prefix, nulls=nulls))

    def rest(self) -> str:
        """What is left, as the text of one object."""
        return msgspec.json.encode(self._fields).decode()

    def _starts(self, key: str, mark: int) -> bool:
        found = self._fields.get(key)
        return found is not None and memoryview(found)[0] == mark  # a value is never empty; no copy of it is made

    def _is_null(self, key: str, found: msgspec.Raw) -> bool:
        if found == _NULL:
            self._nulls.append(key)
            return True
        return False

    def _read(self, decoder: msgspec.json.Decoder[T], key: str, found: msgspec.Raw, expected: str) -> T | None:
        """A value that is there; None where it is null."""
        if found == _NULL:
            self._nulls.append(key)
            return None
        try:
            return decoder.decode(found)
        except (msgspec.MsgspecError, RecursionError):
            raise self.fault(key, expected) from None  # only now is the path worth its cost


def spelling(protocol: WireProtocol.ValueType, key: str, value_json: str) -> Extra:
    """How a caller spelt what the IR says in one way only (`stop` as a string or as a list).

    It wins over what a writer of the same protocol writes, and says nothing to others. For requests only: answers are
    written in one spelling.
    """
    return Extra(protocol=protocol, key=SPELLING + key, value_json=value_json)


def merge_extras(fields: dict[str, Any], extras: Iterable[Extra], protocol: WireProtocol.ValueType) -> None:
    """Put the extras of one protocol back where they came from. What is written already stays, but for spellings.

    An extra whose way leads through something that is no object any more is left out.
    """
    for extra in extras:
        if extra.protocol != protocol:
            continue
        *way, last = _steps(extra.key.removeprefix(SPELLING))
        node: Any = fields
        for step in way:
            node = node.setdefault(step, {}) if isinstance(node, dict) else None
        if isinstance(node, dict) and (last not in node or extra.key.startswith(SPELLING)):
            node[last] = raw(extra.value_json)


def _escaped(key: str) -> str:
    """A key as a step of a path."""
    if key.isidentifier():
        return key
    key = key.replace("\\", "\\\\").replace(".", "\\.")
    return f"\\{key}" if key.startswith(SPELLING) else key


def _steps(path: str) -> list[str]:
    if "\\" not in path:
        return path.split(".")
    steps = [""]
    signs = iter(path)
    for sign in signs:
        if sign == ".":
            steps.append("")
        else:
            steps[-1] += next(signs, "") if sign == "\\" else sign
    return steps


def _decoded(decoder: msgspec.json.Decoder[T], text: Any, path: str, expected: str) -> T:
    try:
        return decoder.decode(text)
    except (msgspec.MsgspecError, RecursionError):
        raise JsonFault(f"{expected} is expected", path=path) from None
