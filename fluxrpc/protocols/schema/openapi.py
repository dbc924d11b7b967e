"""The subset of OpenAPI 3.0 schemas that gemini speaks, read into JSON Schema: exact, so nothing is to be noted."""

from __future__ import annotations

import msgspec

from fluxrpc.protocols.schema.unions import with_null
from fluxrpc.protocols.schema.vocabulary import CHILDREN, Fields, Shape, encoded, entries, fields, kind, text_of

__all__ = ["to_json_schema"]

# Protobuf takes both spellings; `ref` and `defs` stand for keywords that no protobuf name can spell.
_NAMES = {
    "any_of": "anyOf",
    "prefix_items": "prefixItems",
    "min_items": "minItems",
    "max_items": "maxItems",
    "min_length": "minLength",
    "max_length": "maxLength",
    "min_properties": "minProperties",
    "max_properties": "maxProperties",
    "property_ordering": "propertyOrdering",
    "additional_properties": "additionalProperties",
    "ref": "$ref",
    "defs": "$defs",
}
# 64-bit integers are strings in the JSON of protobuf.
_INTEGERS = frozenset({"minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"})
_UNSPECIFIED = "type_unspecified"


def to_json_schema(text: msgspec.Raw) -> msgspec.Raw:
    """The schema in the words of JSON Schema; the very same where there is no other."""
    node = fields(text)
    read: Fields = {}
    for given, value in node.items():
        key = _NAMES.get(given, given)
        if key == "example":
            read["examples"] = encoded([value])
        elif key != "nullable":
            read[key] = _value(key, value)
    if text_of(read.get("type")) == _UNSPECIFIED:
        del read["type"]
    done = text if read == node and list(read) == list(node) else encoded(read)
    is_nullable = node.get("nullable") == msgspec.Raw(b"true")
    return with_null(done, as_list=True) if is_nullable else done


def _value(key: str, value: msgspec.Raw) -> msgspec.Raw:
    if key == "type":
        name = text_of(value)
        return encoded(name.lower()) if name != name.lower() else value
    if key == "$ref":
        return encoded(text_of(value).replace("#/defs/", "#/$defs/"))
    if key in _INTEGERS and kind(value) == "string":
        return msgspec.Raw(text_of(value).encode()) if text_of(value).isdecimal() else value
    match CHILDREN.get(key):
        case Shape.ONE:
            return to_json_schema(value) if kind(value) == "object" else value
        case Shape.LIST:
            return _same_or(value, entries(value), [to_json_schema(each) for each in entries(value)])
        case Shape.MAP:
            children = fields(value)
            return _same_or(value, children, {name: to_json_schema(each) for name, each in children.items()})
    return value


def _same_or(text: msgspec.Raw, before: object, after: object) -> msgspec.Raw:
    return text if before == after else encoded(after)
