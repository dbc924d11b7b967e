"""One node of a schema after the other, down to what a profile takes.

The steps of a node, each over a copy of its keywords: references and `allOf` are put in place, other spellings chosen,
keywords that are not taken go (bounds into the description), the schemas within are converted, and then what depends on
them: properties, enums, types.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from fluxrpc.protocols.schema import unions
from fluxrpc.protocols.schema.profile import Required, SchemaProfile, Unions
from fluxrpc.protocols.schema.references import RECURSIVE, References, Unsayable, combined
from fluxrpc.protocols.schema.vocabulary import (
    BOUNDS,
    CHILDREN,
    NOTHING_SAID,
    RULES,
    Fields,
    Shape,
    encoded,
    entries,
    fields,
    kind,
    text_of,
    texts_of,
    without,
)
from fluxrpc.v1.outcome_pb2 import (
    NOTE_ACTION_APPROXIMATED,
    NOTE_ACTION_DROPPED,
    NOTE_ACTION_INJECTED,
    NoteAction,
)

__all__ = ["Change", "Converter"]

_MAX_LEVELS = 128
_MAX_NODES = 10_000
"""A pass takes some 20 µs for each; OpenAI, the most generous, takes 5000 properties."""
_FALSE = msgspec.Raw(b"false")
_TRUE = msgspec.Raw(b"true")
_TEXT = msgspec.Raw(b'{"type":"STRING"}')
_ANYTHING = (_TRUE, msgspec.Raw(b"{}"))


class Change(NamedTuple):
    """One thing that was changed; `place` begins with a dot."""

    action: NoteAction.ValueType
    place: str
    reason: str
    is_annotation: bool = False
    alters_arguments: bool = False
    """A model writes other values than the caller's schema asks for."""


class _Spot(NamedTuple):
    """Where a node stands."""

    place: str
    within: str = "#"
    """The definition that it belongs to."""
    trail: tuple[str, ...] = ("#",)
    """What was put in place of references on the way here."""
    level: int = 0

    def child(self, step: str, within: str = "") -> _Spot:
        return _Spot(self.place + step, within or self.within, self.trail, self.level + 1)


class Converter:
    """Converts one schema; `changes` says what it did."""

    def __init__(self, text: msgspec.Raw, profile: SchemaProfile) -> None:
        self.changes: list[Change] = []
        self._nodes = 0
        self._text = text
        self._profile = profile
        self._references = References(fields(text), profile)

    def whole(self) -> msgspec.Raw:
        """The whole schema.

        Raises:
            Unsayable: it cannot be said.
        """
        done = self._schema(self._text, _Spot(""))
        self._references.check_recursion()
        return done

    def _schema(self, text: msgspec.Raw, spot: _Spot) -> msgspec.Raw:
        given = fields(text)
        self._nodes += 1
        if self._nodes > _MAX_NODES:
            raise Unsayable(spot.place, f"the schema has more than {_MAX_NODES} schemas in it")
        node = given if spot.place else self._references.renamed(given)
        node, spot = self._settled(node, spot, keep=bool(spot.place))
        node = self._respelt(node, spot)
        node = self._narrowed(node, spot)
        node = self._descended(node, spot)
        node = self._object(node, spot)
        node = self._enum(node, spot)
        node = self._types(node, spot)
        return text if node == given and list(node) == list(given) else encoded(node)

    # --- references and allOf ---

    def _settled(self, node: Fields, spot: _Spot, *, keep: bool) -> tuple[Fields, _Spot]:
        if spot.level > _MAX_LEVELS:
            raise Unsayable(spot.place, f"the schema is nested more than {_MAX_LEVELS} deep")
        while True:
            if "$ref" in node:
                node, spot, is_kept = self._dereferenced(node, spot, keep=keep)
                if is_kept:
                    return node, spot
            elif "allOf" in node:
                node, spot = self._united(node, spot)
            else:
                return node, spot

    def _dereferenced(self, node: Fields, spot: _Spot, *, keep: bool) -> tuple[Fields, _Spot, bool]:
        pointer = text_of(node["$ref"])
        kept = self._references.kept(pointer)
        siblings = [key for key in node if not key.startswith("$")]
        is_recursive = pointer in spot.trail
        if kept and ((keep and not siblings) or is_recursive):
            for key in siblings:
                self._drop(key, spot, "nothing may stand beside a reference")
            self._references.noted(spot.within, kept)
            return without(node, siblings) | ({"$ref": encoded(kept)} if kept != pointer else {}), spot, True
        if is_recursive:
            raise Unsayable(f"{spot.place}.$ref", RECURSIVE)
        target = self._references.target(pointer, spot.place)
        whole, misfits = combined(without(node, ("$ref",)), target)
        for key in filter(RULES.union(BOUNDS).__contains__, misfits):
            self._drop(key, spot, "it contradicts what stands beside the reference")
        order = [*(key for key in target if key in whole), *whole]
        return {key: whole[key] for key in order}, spot._replace(trail=(*spot.trail, pointer)), False

    def _united(self, node: Fields, spot: _Spot) -> tuple[Fields, _Spot]:
        whole = without(node, ("allOf",))
        for index, branch in enumerate(entries(node["allOf"])):
            there = spot.child(f".allOf[{index}]")
            settled, there = self._settled(fields(branch), there, keep=False)
            spot = spot._replace(trail=there.trail)
            whole, misfits = combined(whole, settled)
            for key in misfits:
                self._drop(key, there, "it contradicts what stands beside it, and allOf is not taken")
        return whole, spot

    # --- keywords ---

    def _respelt(self, node: Fields, spot: _Spot) -> Fields:
        keywords = self._profile.keywords
        respelt: Fields = {}
        for key, value in node.items():
            if key == "const" and "const" not in keywords and "enum" not in node:
                respelt["enum"] = encoded([value])
            elif key == "oneOf" and "oneOf" not in keywords and "anyOf" not in node:
                respelt["anyOf"] = value
                self._note(NOTE_ACTION_APPROXIMATED, spot, key, "written as anyOf: several may match")
            elif key == "items" and kind(value) == "array":
                respelt["prefixItems"] = value
            else:
                respelt[key] = value
        if "prefixItems" in respelt and "prefixItems" not in keywords and "items" not in respelt:
            respelt["items"] = encoded({"anyOf": respelt.pop("prefixItems")})
            self._note(NOTE_ACTION_APPROXIMATED, spot, "prefixItems", "written as items of any of these kinds")
        return respelt

    def _narrowed(self, node: Fields, spot: _Spot) -> Fields:
        kept: Fields = {}
        told: list[str] = []
        for key, value in node.items():
            if self._takes(key, value):
                kept[key] = value
            elif key in BOUNDS:
                told.append(f"{key}: {bytes(value).decode()}")
                self._note(NOTE_ACTION_APPROXIMATED, spot, key, "moved to the description")
            elif key == "additionalProperties":
                self._open(value, spot)
            elif key not in NOTHING_SAID:
                self._drop(key, spot, "a keyword that is not taken")
        if told:
            before = text_of(kept.get("description"))
            kept["description"] = encoded("\n\n".join(filter(None, (before, ", ".join(told)))))
        return kept

    def _takes(self, key: str, value: msgspec.Raw) -> bool:
        profile = self._profile
        if key not in profile.keywords:
            return False
        if key == "pattern":
            return not any(piece in text_of(value) for piece in profile.pattern_without)
        allowed = profile.values.get(key)
        return allowed is None or bytes(value).decode() in allowed

    def _open(self, value: msgspec.Raw, spot: _Spot) -> None:
        """`additionalProperties` has to go, or will be false."""
        if self._profile.closed:
            self._drop("additionalProperties", spot, "no other properties are allowed")
        elif value == _FALSE:
            self._note(NOTE_ACTION_APPROXIMATED, spot, "additionalProperties", "other properties cannot be forbidden")
        elif value not in _ANYTHING:
            self._drop("additionalProperties", spot, "other properties cannot be described")

    # --- the schemas within ---

    def _descended(self, node: Fields, spot: _Spot) -> Fields:
        return {key: self._children(key, value, spot) for key, value in node.items()}

    def _children(self, key: str, value: msgspec.Raw, spot: _Spot) -> msgspec.Raw:
        match CHILDREN.get(key):
            case Shape.ONE if kind(value) == "object":
                return self._schema(value, spot.child(f".{key}"))
            case Shape.LIST:
                items = entries(value)
                return _same_or(
                    value, items, [self._schema(each, spot.child(f".{key}[{n}]")) for n, each in enumerate(items)]
                )
            case Shape.MAP:
                named = fields(value)
                is_root = key != "properties" and not spot.place
                return _same_or(
                    value,
                    named,
                    {
                        name: self._schema(each, spot.child(f".{key}.{name}", f"#/{key}/{name}" if is_root else ""))
                        for name, each in named.items()
                    },
                )
        return value

    # --- objects ---

    def _object(self, node: Fields, spot: _Spot) -> Fields:
        profile = self._profile
        if "properties" not in node and "object" not in texts_of(node.get("type")):
            return node
        if profile.closed and "additionalProperties" not in node:
            node = node | {"additionalProperties": _FALSE}
            self._note(NOTE_ACTION_INJECTED, spot, "additionalProperties", "must be false")
        properties = fields(node.get("properties"))
        required = texts_of(node.get("required"))
        if (profile.closed or profile.is_openapi) and not properties.keys() >= set(required):
            required = [name for name in required if name in properties]
            node = node | {"required": encoded(required)}
            self._drop("required", spot, "it names properties that are not described")
        added = [name for name in properties if name not in required]
        if profile.required is Required.ONE:
            added = [] if required else added[:1]
        if profile.required is Required.ANY or not added:
            return node
        for name in added:
            properties[name] = unions.with_null(properties[name], as_list=profile.unions is Unions.LIST)
            place = f"{spot.place}.properties.{name}"
            reason = "must be required, and takes null instead"
            self.changes.append(Change(NOTE_ACTION_APPROXIMATED, place, reason, alters_arguments=True))
        return node | {"properties": encoded(properties), "required": encoded([*required, *added])}

    # --- enums and types ---

    def _enum(self, node: Fields, spot: _Spot) -> Fields:
        allowed = self._profile.enum_kinds | {"null"}
        values = entries(node.get("enum"))
        if all(kind(value) in allowed for value in values):
            return node
        if self._profile.is_openapi:
            texts = [value if kind(value) in allowed else encoded(bytes(value).decode()) for value in values]
            types = ["string", *(each for each in unions.implied_types(node) if each == "null")]
            place, reason = f"{spot.place}.enum", "its values are written as strings"
            self.changes.append(Change(NOTE_ACTION_APPROXIMATED, place, reason, alters_arguments=True))
            return node | {"type": encoded(types), "enum": encoded(texts)}
        told = f"enum: {bytes(node['enum']).decode()}"
        self._note(NOTE_ACTION_APPROXIMATED, spot, "enum", "moved to the description")
        text = "\n\n".join(filter(None, (text_of(node.get("description")), told)))
        return without(node, ("enum",)) | {"description": encoded(text)}

    def _types(self, node: Fields, spot: _Spot) -> Fields:
        profile = self._profile
        types = unions.implied_types(node)
        has_null_value = any(kind(value) == "null" for value in entries(node.get("enum")))
        if profile.is_openapi:
            return self._openapi_types(node, types, spot)
        is_list = "type" in node and kind(node["type"]) == "array" and profile.unions is Unions.ANY_OF
        has_null = has_null_value and "null" not in profile.enum_kinds
        if not (is_list or has_null):
            return node
        if "anyOf" not in node:
            return unions.any_of(node, types)
        misfits = [key for key, is_one in (("type", is_list), ("enum", has_null)) if is_one]
        for key in misfits:
            self._drop(key, spot, "several types beside anyOf")
        return without(node, misfits)

    def _openapi_types(self, node: Fields, types: list[str], spot: _Spot) -> Fields:
        node = _null_branch_as_flag(unions.nullable(node, types))
        types = texts_of(node.get("type")) or [each for each in types if each != "null"]
        if len(types) > 1 and "anyOf" not in node:
            split = unions.any_of(node, types)
            branches = [self._openapi_types(fields(branch), [], spot) for branch in entries(split["anyOf"])]
            return split | {"anyOf": encoded(branches)}
        if len(types) > 1:
            self._drop("type", spot, "several types beside anyOf")
            return without(node, ("type",))
        if not types:
            return node
        if types[0] == "array" and "items" not in node:
            node = node | {"items": _TEXT}
            self._note(NOTE_ACTION_APPROXIMATED, spot, "items", "what is in it must be said: text")
        typed = {"type": encoded(types[0].upper())}
        return node | typed if "type" in node else typed | node

    # --- notes ---

    def _note(self, action: NoteAction.ValueType, spot: _Spot, key: str, reason: str) -> None:
        self.changes.append(Change(action, f"{spot.place}.{key}", reason, key == "default"))

    def _drop(self, key: str, spot: _Spot, reason: str) -> None:
        is_annotation = key not in RULES and key not in BOUNDS
        self.changes.append(Change(NOTE_ACTION_DROPPED, f"{spot.place}.{key}", reason, is_annotation))


def _null_branch_as_flag(node: Fields) -> Fields:
    """`anyOf` with a branch for null as the others and `nullable`; a branch that is left alone goes into the node."""
    branches = entries(node.get("anyOf"))
    left = [each for each in branches if text_of(fields(each).get("type")).lower() != "null"]
    if len(left) == len(branches):
        return node
    node = node | {"anyOf": encoded(left), "nullable": _TRUE}
    only = fields(left[0]) if len(left) == 1 else {}
    if only and not only.keys() & (node.keys() - {"description", "title", "nullable"}):
        return only | without(node, ("anyOf",))
    return node


def _same_or(text: msgspec.Raw, before: Iterable[object], after: Iterable[object]) -> msgspec.Raw:
    return text if before == after else encoded(after)
