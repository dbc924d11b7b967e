"""A configuration file as a tree of nodes that know their line.

Between the YAML parser and the settings: no YAML library here, no meaning either. A scalar keeps what was written
beside what YAML makes of it, so that `no` where a text belongs can be named for what it is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Kind", "MappingNode", "Node", "ScalarNode", "SequenceNode", "describe", "join"]


class Kind(StrEnum):
    """What a scalar is to YAML."""

    TEXT = "a text"
    INTEGER = "a whole number"
    NUMBER = "a number"
    BOOLEAN = "a boolean"
    NULL = "null"
    ODD = "a date, or a number that is not written in plain decimals"
    """YAML 1.1 reads `2024-01-01`, `0755` and `1:30` in ways that nobody means."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalarNode:
    """One value: as written, and as read."""

    line: int
    text: str
    kind: Kind
    value: str | int | float | bool | None

    @classmethod
    def of_text(cls, line: int, text: str) -> ScalarNode:
        """A text."""
        return cls(line=line, text=text, kind=Kind.TEXT, value=text)


@dataclass(frozen=True, slots=True, kw_only=True)
class MappingNode:
    """Names to nodes, in the order of the file; `key_lines` holds the line of each name."""

    line: int
    entries: dict[str, Node]
    key_lines: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class SequenceNode:
    """A list."""

    line: int
    items: list[Node]


Node = ScalarNode | MappingNode | SequenceNode

_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+")


def describe(node: Node) -> str:
    """What a node is, without its content."""
    match node:
        case ScalarNode():
            return node.kind.value
        case MappingNode():
            return "a mapping"
        case SequenceNode():
            return "a list"


def join(path: str, key: str | int) -> str:
    """The path of something inside `path`: `models.fast.routes[0]`, `models["gpt-4.1"]`."""
    if isinstance(key, int):
        return f"{path}[{key}]"
    if not _PLAIN_KEY.fullmatch(key):
        shown = key[:80].replace("\\", "\\\\").replace('"', '\\"')
        return f'{path}["{shown}"]'
    return f"{path}.{key}" if path else key
