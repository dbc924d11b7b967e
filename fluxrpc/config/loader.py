"""Reads a configuration file: YAML to nodes, nodes to `Settings`. The only module that knows the YAML library.

Works on the parser's events, not on its objects: no tag builds anything, no depth exhausts the stack, aliases cannot
multiply without bound, and each node keeps its line. YAML 1.1's readings of dates, octal and base-60 numbers are
marked as odd, to be refused where a value is wanted.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from fluxrpc.config.assemble import read_settings
from fluxrpc.config.nodes import Kind, MappingNode, Node, ScalarNode, SequenceNode, join
from fluxrpc.config.schema import Settings
from fluxrpc.config.secret import MAX_SECRET_BYTES, SecretSource
from fluxrpc.config.sections import Reading
from fluxrpc.errors import ConfigError, ConfigFault

__all__ = ["MAX_FILE_BYTES", "MAX_NODES", "load", "parse"]

MAX_FILE_BYTES = 4 * 1024 * 1024
MAX_NODES = 200_000
"""Nodes of the file with every alias written out: a few lines of nested aliases stand for billions."""
MAX_DEPTH = 32

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAG = "tag:yaml.org,2002:"
_DECIMAL = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_FRACTION = re.compile(r"[-+]?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_BOOLEANS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def load(path: str | os.PathLike[str], *, environ: Mapping[str, str] | None = None) -> Settings:
    """Read and check a configuration file, secrets included.

    Args:
        path: the file; symlinks are followed at each load. Relative paths in it start from its folder.
        environ: where `${NAME}` is looked up; by default the environment of the process.

    Raises:
        ConfigError: with every fault of the file.
    """
    file = Path(path)
    try:
        content = _read_bounded(file, MAX_FILE_BYTES)
    except OSError as error:
        message = f"cannot be read: {error.strerror or 'unknown error'}"
        raise ConfigError([ConfigFault(file=str(path), line=1, path="", message=message)]) from error
    return parse(content, file=str(path), folder=file.parent, environ=os.environ if environ is None else environ)


def parse(content: bytes, *, file: str, folder: Path, environ: Mapping[str, str]) -> Settings:
    """The settings in the content of a file; `file` is its name in faults, `folder` the start of relative paths.

    Raises:
        ConfigError: with every fault.
    """
    read_secret = partial(_read_secret_file, folder)
    reading = Reading(file, SecretSource(environ, read_secret), partial(_find_file, folder))
    root = _read_nodes(content, reading)
    return read_settings(root, reading)


def _read_bounded(path: Path, limit_bytes: int) -> bytes:
    """At most one byte more than the limit, which is enough to see that there is more."""
    with path.open("rb") as stream:
        return stream.read(limit_bytes + 1)


def _read_secret_file(folder: Path, path: str) -> bytes:
    return _read_bounded(folder / path, MAX_SECRET_BYTES)


def _find_file(folder: Path, path: str) -> str:
    found = (folder / path).absolute()
    _read_bounded(found, 0)
    return str(found)


# ---------------------------------------------------------------------------------------------------- YAML to nodes


class _Unreadable(Exception):
    """The file is no YAML that we take; reading stops here."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


def _read_nodes(content: bytes, reading: Reading) -> Node:
    try:
        return _Composer(reading).compose(_events(content))
    except _Unreadable as unreadable:
        reading.fault(unreadable.line, "", str(unreadable))
        raise ConfigError(reading.faults) from None


def _events(content: bytes) -> Iterator[yaml.Event]:
    if len(content) > MAX_FILE_BYTES:
        raise _Unreadable(1, f"larger than {MAX_FILE_BYTES // 1024**2} MiB")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _Unreadable(line, "not UTF-8") from None
    try:
        yield from yaml.parse(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise _Unreadable(_line(mark), f"not valid YAML: {error.problem or error.context}") from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise _Unreadable(line, f"not valid YAML: {error.reason}") from None


def _line(mark: Any) -> int:
    return 1 if mark is None else mark.line + 1


@dataclass(slots=True, kw_only=True)
class _Open:
    """A collection whose end has not come, with the anchor that stands before it."""

    node: MappingNode | SequenceNode
    path: str
    anchor: str | None
    start: int
    """How many nodes had been counted when it began."""
    key: ScalarNode | None = None
    """In a mapping: the key whose value comes next."""


class _Composer:
    """Builds nodes from events with a stack of its own."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._stack: list[_Open] = []
        self._anchors: dict[str, tuple[Node, int]] = {}
        self._count = 0
        self._root: Node | None = None
        self._resolver: Any = yaml.resolver.Resolver()

    def compose(self, events: Iterator[yaml.Event]) -> Node:
        """The root node of the one document.

        Raises:
            _Unreadable: nothing there, several documents, or more than our bounds allow.
        """
        for event in events:
            line = _line(event.start_mark)
            match event:
                case yaml.ScalarEvent():
                    self._begin(event, line)
                    node = self._scalar(event, line)
                    self._place(node, event.anchor, 1)
                case yaml.AliasEvent():
                    self._alias(event.anchor, line)
                case yaml.MappingStartEvent():
                    self._open(MappingNode(line=line, entries={}, key_lines={}), event, line)
                case yaml.SequenceStartEvent():
                    self._open(SequenceNode(line=line, items=[]), event, line)
                case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                    done = self._stack.pop()
                    self._place(done.node, done.anchor, self._count - done.start + 1)
                case yaml.DocumentStartEvent() if self._root is not None:
                    raise _Unreadable(line, "more than one YAML document")
        if self._root is None:
            raise _Unreadable(1, "empty")
        return self._root

    def _begin(self, event: yaml.NodeEvent, line: int) -> None:
        """Count a node against the bounds; refuse tags."""
        self._grow(1, line)
        tag = getattr(event, "tag", None)
        if tag is not None and tag != "!":
            raise _Unreadable(line, f"YAML tags are not supported: {str(tag)[:40]}")

    def _grow(self, nodes: int, line: int) -> None:
        self._count += nodes
        if self._count > MAX_NODES:
            raise _Unreadable(line, f"more than {MAX_NODES} values, aliases written out")

    def _open(self, node: MappingNode | SequenceNode, event: yaml.NodeEvent, line: int) -> None:
        self._begin(event, line)
        if len(self._stack) >= MAX_DEPTH:
            raise _Unreadable(line, f"nested deeper than {MAX_DEPTH}")
        self._expect_value(line)
        self._stack.append(_Open(node=node, path=self._path(), anchor=event.anchor, start=self._count))

    def _expect_value(self, line: int) -> None:
        if self._stack and isinstance(self._stack[-1].node, MappingNode) and self._stack[-1].key is None:
            raise _Unreadable(line, "expected a name, not a mapping or list, before the colon")

    def _path(self) -> str:
        if not self._stack:
            return ""
        parent = self._stack[-1]
        if isinstance(parent.node, SequenceNode):
            return join(parent.path, len(parent.node.items))
        return join(parent.path, parent.key.text if parent.key else "")

    def _alias(self, anchor: str | None, line: int) -> None:
        if anchor is None or anchor not in self._anchors:
            raise _Unreadable(line, f"the alias *{anchor} refers to nothing complete before it")
        node, size = self._anchors[anchor]
        if not isinstance(node, ScalarNode):
            self._expect_value(line)
        self._grow(size, line)
        self._place(node, None, size)

    def _place(self, node: Node, anchor: str | None, size: int) -> None:
        if anchor is not None:
            self._anchors[anchor] = (node, size)
        if not self._stack:
            self._root = node
            return
        parent = self._stack[-1]
        if isinstance(parent.node, SequenceNode):
            parent.node.items.append(node)
        elif parent.key is None:
            assert isinstance(node, ScalarNode)  # noqa: S101  # _expect_value let nothing else through
            parent.key = node
        else:
            self._add(parent, parent.node, parent.key, node)
            parent.key = None

    def _add(self, parent: _Open, mapping: MappingNode, key: ScalarNode, node: Node) -> None:
        place = join(parent.path, key.text)
        if key.text in mapping.entries:
            first = mapping.key_lines[key.text]
            self._reading.fault(key.line, place, f"stands here a second time, first in line {first}")
            return
        mapping.entries[key.text] = node
        mapping.key_lines[key.text] = key.line

    def _scalar(self, event: yaml.ScalarEvent, line: int) -> ScalarNode:
        text = event.value
        if event.style:
            return ScalarNode.of_text(line, text)
        tag = self._resolver.resolve(yaml.ScalarNode, text, (True, False)).removeprefix(_TAG)
        kind, value = _interpret(tag, text)
        return ScalarNode(line=line, text=text, kind=kind, value=value)


def _interpret(tag: str, text: str) -> tuple[Kind, str | int | float | bool | None]:
    """What a plain scalar is, by the tag that YAML 1.1 gives it."""
    match tag:
        case "null":
            return Kind.NULL, None
        case "bool":
            return Kind.BOOLEAN, _BOOLEANS[text.lower()]
        case "int" if _DECIMAL.fullmatch(text):
            # The interpreter refuses to convert thousands of digits; no setting needs more than a few.
            return (Kind.INTEGER, int(text)) if len(text) <= 20 else (Kind.ODD, None)
        case "float" if _FRACTION.fullmatch(text):
            return Kind.NUMBER, float(text)
        case "int" | "float" | "timestamp":
            return Kind.ODD, None
        case _:
            return Kind.TEXT, text
