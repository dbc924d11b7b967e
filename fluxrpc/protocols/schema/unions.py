"""Several types at once: how each dialect says `string or null`, and moving what belongs to one of them beside it."""

from __future__ import annotations

import msgspec

from fluxrpc.protocols.schema.vocabulary import (
    NULL_SCHEMA,
    TYPED,
    Fields,
    encoded,
    entries,
    fields,
    kind,
    texts_of,
    without,
)

__all__ = ["any_of", "implied_types", "nullable", "takes_null", "with_null"]

_TRUE = msgspec.Raw(b"true")
_MOVED = TYPED.keys() | {"type", "enum"}
_NUMBERS = frozenset({"number", "integer"})


def implied_types(node: Fields) -> list[str]:
    """The types that a node names, or that its other keywords speak of."""
    if "type" in node:
        return texts_of(node["type"])
    if "enum" in node:
        return list(dict.fromkeys(kind(value) for value in entries(node["enum"])))
    return list(dict.fromkeys(min(TYPED[key]) for key in node if key in ("properties", "items")))


def any_of(node: Fields, types: list[str]) -> Fields:
    """A node of several types as an `anyOf` with one branch for each; what speaks of one type goes into its branch."""
    branches = [branch for each in types if (branch := _branch(node, each)) is not None]
    if len(branches) == 1:
        return without(node, _MOVED) | branches[0]
    if not branches:  # it contradicts itself: no value is of any of these types
        return any_of(without(node, ("enum",)), types) if "enum" in node else without(node, ("type",))
    split: Fields = {}
    for key, value in node.items():
        if key in _MOVED:
            split.setdefault("anyOf", encoded(branches))
        else:
            split[key] = value
    return split


def nullable(node: Fields, types: list[str]) -> Fields:
    """A node of one type, or of it and null, in the words of OpenAPI: `nullable: true`."""
    left = [each for each in types if each != "null"]
    if not left or len(left) == len(types):
        return node
    changed = without(node, ("nullable",))
    changed["type"] = encoded(left[0] if len(left) == 1 else left)
    if "enum" in node:
        changed["enum"] = encoded([value for value in entries(node["enum"]) if kind(value) != "null"])
    return changed | {"nullable": _TRUE}


def with_null(text: msgspec.Raw, *, as_list: bool) -> msgspec.Raw:
    """A schema that takes null as well; the very same where it does already."""
    node = fields(text)
    if takes_null(node):
        return text
    if "anyOf" in node:
        return encoded(node | {"anyOf": encoded([*entries(node["anyOf"]), NULL_SCHEMA])})
    if as_list and "type" in node and not {"enum", "const", "$ref"} & node.keys():
        return encoded(node | {"type": encoded([*texts_of(node["type"]), "null"])})
    return encoded({"anyOf": [text, NULL_SCHEMA]})


def takes_null(node: Fields) -> bool:
    """Whether a schema takes null."""
    if "enum" in node and all(kind(value) != "null" for value in entries(node["enum"])):
        return False
    if "type" in node:
        return "null" in texts_of(node["type"])
    if "anyOf" in node:
        return any(takes_null(fields(branch)) for branch in entries(node["anyOf"]))
    return not {"$ref", "const"} & node.keys()


def _branch(node: Fields, each: str) -> Fields | None:
    """What a node says of one of its types; None where its `enum` leaves nothing of it."""
    branch: Fields = {"type": encoded(each)}
    kinds = "number" if each in _NUMBERS else each
    for key, value in node.items():
        if key == "enum":
            values = [item for item in entries(value) if kind(item) == kinds]
            if not values:
                return None
            if each != "null":
                branch[key] = encoded(values)
        elif each in TYPED.get(key, ()):
            branch[key] = value
    return branch
