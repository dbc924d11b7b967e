"""The words of JSON Schema, and reading and writing its nodes without touching what stands in them.

A node is a dict of raw JSON text, so that values keep the spelling of their numbers and the order of their keys.

Invariant: whatever has another form than JSON Schema gives it is left alone; the provider may say what it thinks of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, auto

import msgspec

__all__ = [
    "BOUNDS",
    "CHILDREN",
    "NOTHING_SAID",
    "NULL_SCHEMA",
    "RULES",
    "TYPED",
    "Fields",
    "Shape",
    "encoded",
    "entries",
    "fields",
    "kind",
    "text_of",
    "texts_of",
]

Fields = dict[str, msgspec.Raw]


class Shape(Enum):
    """How schemas stand in a keyword."""

    ONE = auto()
    LIST = auto()
    MAP = auto()


CHILDREN = {
    "$defs": Shape.MAP,
    "definitions": Shape.MAP,
    "properties": Shape.MAP,
    "items": Shape.ONE,
    "additionalProperties": Shape.ONE,
    "prefixItems": Shape.LIST,
    "anyOf": Shape.LIST,
    "oneOf": Shape.LIST,
    "allOf": Shape.LIST,
}
"""Keywords that hold schemas, as far as any provider takes them."""

BOUNDS = frozenset(
    {
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "minLength",
        "maxLength",
        "pattern",
        "format",
        "minItems",
        "maxItems",
        "uniqueItems",
        "minProperties",
        "maxProperties",
        "contentEncoding",
        "contentMediaType",
        "enum",
        "const",
        "default",
    }
)
"""Keywords that a description can say as well."""

RULES = frozenset(
    {
        "not",
        "if",
        "then",
        "else",
        "dependentSchemas",
        "dependentRequired",
        "dependencies",
        "patternProperties",
        "propertyNames",
        "contains",
        "minContains",
        "maxContains",
        "unevaluatedItems",
        "unevaluatedProperties",
        "additionalItems",
        "additionalProperties",
        "items",
        "prefixItems",
        "anyOf",
        "oneOf",
        "allOf",
        "required",
        "properties",
        "type",
        "$ref",
        "$dynamicRef",
        "$recursiveRef",
    }
)
"""Keywords without which other values are valid. What is neither here nor a bound only tells of the schema."""

NOTHING_SAID = frozenset(
    {
        "$schema",
        "$id",
        "$anchor",
        "$dynamicAnchor",
        "$recursiveAnchor",
        "$vocabulary",
        "$comment",
        "$defs",
        "definitions",
    }
)
"""Keywords that say nothing of a value: left out without a word."""

_NUMERIC = frozenset({"number", "integer"})
_STRING = frozenset({"string"})
_ARRAY = frozenset({"array"})
_OBJECT = frozenset({"object"})
TYPED = (
    dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"), _NUMERIC)
    | dict.fromkeys(("minLength", "maxLength", "pattern"), _STRING)
    | dict.fromkeys(("items", "prefixItems", "minItems", "maxItems"), _ARRAY)
    | dict.fromkeys(("properties", "required", "additionalProperties", "minProperties", "maxProperties"), _OBJECT)
    | {"propertyOrdering": _OBJECT, "format": _STRING | _NUMERIC}
)
"""Keywords that speak of values of these types only."""

NULL_SCHEMA = msgspec.Raw(b'{"type":"null"}')

_FIELDS = msgspec.json.Decoder(Fields)
_ENTRIES = msgspec.json.Decoder(list[msgspec.Raw])
_TEXT = msgspec.json.Decoder(str)
_KINDS = {"{": "object", "[": "array", '"': "string", "t": "boolean", "f": "boolean", "n": "null"}


def kind(text: msgspec.Raw) -> str:
    """The type of a JSON value, in the words of JSON Schema."""
    return _KINDS.get(chr(memoryview(text)[0]), "number")


def fields(text: msgspec.Raw | None) -> Fields:
    """The fields of an object; none where it is something else."""
    return _FIELDS.decode(text) if text is not None and kind(text) == "object" else {}


def entries(text: msgspec.Raw | None) -> list[msgspec.Raw]:
    """The items of a list; none where it is something else."""
    return _ENTRIES.decode(text) if text is not None and kind(text) == "array" else []


def text_of(text: msgspec.Raw | None) -> str:
    """A string; "" where it is something else."""
    return _TEXT.decode(text) if text is not None and kind(text) == "string" else ""


def texts_of(text: msgspec.Raw | None) -> list[str]:
    """A string or a list of strings, as a list; what is no string is left out."""
    each = entries(text) if text is not None and kind(text) == "array" else [text]
    return [found for found in map(text_of, each) if found]


def encoded(value: object) -> msgspec.Raw:
    """JSON text, to be put into a node."""
    return msgspec.Raw(msgspec.json.encode(value))


def without(node: Fields, keys: Iterable[str]) -> Fields:
    """A node without some of its keywords."""
    left_out = frozenset(keys)
    return {key: value for key, value in node.items() if key not in left_out}
