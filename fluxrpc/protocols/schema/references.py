"""`$ref` and `allOf`: finding what is named, putting it in place, and telling recursions.

Invariant: what is put in place is counted, so that no schema grows beyond `MAX_INLINED_BYTES` by its references.
"""

from __future__ import annotations

from urllib.parse import unquote

import msgspec

from fluxrpc.protocols.schema.profile import Recursion, SchemaProfile
from fluxrpc.protocols.schema.vocabulary import Fields, encoded, entries, fields

__all__ = ["MAX_INLINED_BYTES", "References", "Unsayable", "combined"]

MAX_INLINED_BYTES = 1024 * 1024
"""Definitions that name definitions can grow without end, or as good as that."""

_DEFINITIONS = ("$defs", "definitions")


class Unsayable(Exception):
    """The schema cannot be said; `place` is where in it, beginning with a dot."""

    def __init__(self, place: str, message: str) -> None:
        super().__init__(message)
        self.place = place
        self.message = message


class References:
    """The references of one schema."""

    __slots__ = ("_budget", "_containers", "_edges", "_profile", "_root")

    def __init__(self, root: Fields, profile: SchemaProfile) -> None:
        self._root = root
        self._profile = profile
        self._budget = MAX_INLINED_BYTES
        self._edges: dict[str, set[str]] = {}
        self._containers: dict[str, str] = {}
        if profile.recursion is not Recursion.UNKNOWN:
            self._containers = {name: name for name in _DEFINITIONS if name in profile.keywords}
            if "definitions" not in profile.keywords and "$defs" not in root:
                self._containers["definitions"] = "$defs"

    def renamed(self, root: Fields) -> Fields:
        """The root with its definitions where the profile wants them."""
        return {self._containers.get(key, key): value for key, value in root.items()}

    def kept(self, pointer: str) -> str:
        """How a reference is written that stays; "" where what it names is to be put in its place."""
        head, _, name = pointer.removeprefix("#/").partition("/")
        if head in self._containers and pointer.startswith("#/") and "/" not in name:
            return f"#/{self._containers[head]}/{name}"
        return "#" if pointer == "#" and self._containers else ""

    def noted(self, within: str, pointer: str) -> None:
        """A reference stays within a definition ("#": outside of all)."""
        self._edges.setdefault(within, set()).add(pointer)

    def target(self, pointer: str, place: str) -> Fields:
        """What a reference names.

        Raises:
            Unsayable: nothing, or more than fits.
        """
        found: msgspec.Raw | None = None
        node = self._root
        steps = unquote(pointer.removeprefix("#")).split("/")[1:]
        for step in steps:
            key = step.replace("~1", "/").replace("~0", "~")
            items = entries(found)
            found = items[int(key)] if key.isdecimal() and int(key) < len(items) else node.get(key)
            node = fields(found)
        if not pointer.startswith("#") or (steps and found is None):
            raise Unsayable(f"{place}.$ref", f"the schema has no {pointer or 'such reference'}")
        self._budget -= 1 + sum(len(memoryview(value)) for value in node.values())
        if self._budget < 0:
            raise Unsayable(f"{place}.$ref", "the schema is too large with its references written out")
        return node

    def check_recursion(self) -> None:
        """Look for references that lead back to themselves, where that is not allowed.

        Raises:
            Unsayable: there is one.
        """
        if self._profile.recursion is not Recursion.REFUSED:
            return
        edges = dict(self._edges)
        while ends := [each for each in edges if not _lies_between(each, edges)]:
            for each in ends:
                del edges[each]
        if edges:
            name = min(edges).removeprefix("#").replace("/", ".")
            raise Unsayable(name, RECURSIVE)


def _lies_between(name: str, edges: dict[str, set[str]]) -> bool:
    return not edges[name].isdisjoint(edges) and any(name in targets for targets in edges.values())


RECURSIVE = "the schema is recursive, which the provider does not take"


def combined(node: Fields, branch: Fields) -> tuple[Fields, list[str]]:
    """A node with another in it that holds as well, and the keywords of that which did not fit.

    Its own definitions stay behind: references to them are written out.
    """
    whole = dict(node)
    misfits: list[str] = []
    for key, value in branch.items():
        if key in _DEFINITIONS:
            continue
        if key not in whole or whole[key] == value:
            whole[key] = value
        elif key == "properties":
            whole[key] = encoded(_joined_map(fields(whole[key]), fields(value)))
        elif key == "required":
            whole[key] = encoded(
                [*entries(whole[key]), *(name for name in entries(value) if name not in entries(whole[key]))]
            )
        elif key == "allOf":
            whole[key] = encoded([*entries(whole[key]), *entries(value)])
        else:
            misfits.append(key)
    return whole, misfits


def _joined_map(ours: Fields, theirs: Fields) -> Fields:
    both = {
        key: encoded({"allOf": [ours[key], theirs[key]]}) for key in theirs if key in ours and ours[key] != theirs[key]
    }
    return ours | theirs | both
