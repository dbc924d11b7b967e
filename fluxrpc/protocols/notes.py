"""Translation notes while they are gathered: one for each thing that a writer changes.

A writer names the concept, the action and the place in the IR. The reason comes from the fates of its protocol unless
it knows a better one; the place is turned into that of the caller's own body once, at the end, and only if there is a
note: readers tell where things stood (`Places`), protocols how their fields are called.

Not for malformed events or headers: those are noted where they are met.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from fluxrpc.protocols.concepts import CONCEPTS
from fluxrpc.protocols.minor_fields import is_minor, says_nothing
from fluxrpc.protocols.node import SPELLING
from fluxrpc.v1.outcome_pb2 import (
    NOTE_ACTION_APPROXIMATED,
    NOTE_ACTION_CLAMPED,
    NOTE_ACTION_DROPPED,
    NOTE_ACTION_EMULATED,
    NOTE_ACTION_INJECTED,
    NOTE_ACTION_RENAMED,
    NOTE_ACTION_REORDERED,
    NoteAction,
    TranslationNote,
)
from fluxrpc.v1.protocol_pb2 import Extra
from fluxrpc.v1.protocol_pb2 import Protocol as WireProtocol

__all__ = ["Fates", "Locate", "Note", "Notes", "Places", "locator"]

Fates = Mapping[str, Mapping[NoteAction.ValueType, str]]
"""What can become of a concept in one protocol: its code to each possible action, with the reason."""

Places = dict[str, str]
"""Path of a node in the IR (`messages[1].parts[0]`) to that in the body that was read (`messages[2].content[0]`)."""

Locate = Callable[[str], str]
"""From a path in the IR to one in the body that was read."""

_CHANGES_MEANING = frozenset({NOTE_ACTION_DROPPED, NOTE_ACTION_APPROXIMATED})


class Note(NamedTuple):
    """One note, its place still in the IR."""

    code: str
    action: NoteAction.ValueType
    path: str
    reason: str
    node_length: int | None = None
    """Of an extra: how much of `path` is the node that carries it; the rest is its key, as it stood in the body."""
    minor: bool = False
    """Nobody minds, though the concept is one that matters."""

    @property
    def is_loss(self) -> bool:
        """Whether strict callers do not accept it."""
        return self.action in _CHANGES_MEANING and CONCEPTS[self.code].semantic and not self.minor

    def located(self, locate: Locate) -> str:
        """Its place in the caller's body."""
        if self.node_length is None:
            return locate(self.path)
        node = locate(self.path[: self.node_length])
        key = self.path[self.node_length :].removeprefix(".")
        above, _, name = node.rpartition(".")
        if name == key.partition(".")[0]:  # the node is one field of an object, and its extras know that
            node = above
        return f"{node}.{key}" if node else key


class Notes:
    """Gathers the notes of one writer. The same note for the same place is kept once."""

    __slots__ = ("_fates", "_found")

    def __init__(self, fates: Fates) -> None:
        self._fates = fates
        self._found: dict[tuple[str, NoteAction.ValueType, str], Note] = {}

    def dropped(self, code: str, path: str, reason: str = "", *, minor: bool = False) -> None:
        """Left out. `minor`: with the value that it has nobody minds."""
        self.add(code, NOTE_ACTION_DROPPED, path, reason, minor=minor)

    def clamped(self, code: str, path: str, reason: str = "") -> None:
        """Moved to the nearest value allowed."""
        self.add(code, NOTE_ACTION_CLAMPED, path, reason)

    def approximated(self, code: str, path: str, reason: str = "") -> None:
        """Said in another way that means nearly the same."""
        self.add(code, NOTE_ACTION_APPROXIMATED, path, reason)

    def emulated(self, code: str, path: str, reason: str = "") -> None:
        """Done by us, because the provider cannot."""
        self.add(code, NOTE_ACTION_EMULATED, path, reason)

    def injected(self, code: str, path: str, reason: str = "") -> None:
        """Added, because the protocol demands it."""
        self.add(code, NOTE_ACTION_INJECTED, path, reason)

    def renamed(self, code: str, path: str, reason: str = "") -> None:
        """Given another name, which is undone in the answer."""
        self.add(code, NOTE_ACTION_RENAMED, path, reason)

    def reordered(self, code: str, path: str, reason: str = "") -> None:
        """Moved to another place."""
        self.add(code, NOTE_ACTION_REORDERED, path, reason)

    def add(
        self,
        code: str,
        action: NoteAction.ValueType,
        path: str,
        reason: str = "",
        *,
        node_length: int | None = None,
        minor: bool = False,
    ) -> None:
        """One note. `path` is in the IR."""
        key = (code, action, path)
        if key not in self._found:
            reason = reason or self._fates.get(code, {}).get(action, "") or CONCEPTS[code].title
            self._found[key] = Note(code, action, path, reason, node_length, minor)

    def __len__(self) -> int:
        return len(self._found)

    def __iter__(self) -> Iterator[Note]:
        return iter(self._found.values())

    def foreign_extras(
        self, extras: Iterable[Extra], protocol: WireProtocol.ValueType, path: str, code: str = "EXTRA_FIELD"
    ) -> None:
        """Note the extras of other protocols that a node of the IR carries. Spellings and defaults say nothing."""
        for extra in extras:
            if extra.protocol == protocol or extra.key.startswith(SPELLING) or says_nothing(extra):
                continue
            place = f"{path}.{extra.key}" if path else extra.key
            self.add(code, NOTE_ACTION_DROPPED, place, node_length=len(path), minor=is_minor(extra))

    def messages(self, locate: Locate) -> list[TranslationNote]:
        """The notes as the caller gets them."""
        return [
            TranslationNote(path=note.located(locate), action=note.action, code=note.code, reason=note.reason)
            for note in self._found.values()
        ]


def locator(places: Places, fields: Mapping[str, str]) -> Locate:
    """Finds the longest known beginning of a path in `places`, and that of the rest in `fields`."""

    def locate(path: str) -> str:
        head = _longest(path, places)
        if not head:
            return _renamed(path, fields)
        rest = path[len(head) :].removeprefix(".")
        if not rest:
            return places[head]
        # An index follows its list at once: places may know the list alone.
        return places[head] + (rest if rest.startswith("[") else f".{_renamed(rest, fields)}")

    return locate


def _renamed(path: str, fields: Mapping[str, str]) -> str:
    head = _longest(path, fields)
    return fields[head] + path[len(head) :] if head else path


def _longest(path: str, known: Mapping[str, str]) -> str:
    """The longest beginning of a path, cut at a dot or a bracket, that is known; "" where none is."""
    while path and path not in known:
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
    return path
