"""Reads a node tree into the frozen values of the schema: one generic reader, driven by their annotations.

Finds every fault rather than the first. A field at fault keeps its default, so that reading goes on; what was read is
used only where no fault was found in the end.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from enum import StrEnum
from functools import cache, partial
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from fluxrpc.config.nodes import Kind, MappingNode, Node, ScalarNode, SequenceNode, describe, join
from fluxrpc.config.schema import FilePath, Level
from fluxrpc.config.secret import ProxyUrl, Secret, SecretSource, SecretUnusable
from fluxrpc.config.values import Unfit, check_url, read_text, read_url
from fluxrpc.errors import ConfigFault

__all__ = ["ABSENT", "Reading", "nearest", "yaml_key"]

T = TypeVar("T")
Scalars = Callable[[ScalarNode], Any]
_UNITS = ("_seconds", "_bytes")
_MAX_NAMES_SHOWN = 24
_LEVELS = tuple(Level)
ABSENT: Any = object()
"""What a reader gives for a node at fault."""
_TOO_NARROW = {
    Level.GLOBAL: "can be set in the global policy only",
    Level.SERVICE: "can be set globally or for a service, not for a route",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Setting:
    """One field of a section, as its annotation has it."""

    field: str
    key: str
    """Its name in the file."""
    kind: Any
    """The type without `| None` and annotations."""
    scalar: Scalars | None
    """Who reads it, where it is a single value."""
    optional: bool
    """null is allowed."""
    level: Level
    """The narrowest level where it may stand."""
    required: bool


def yaml_key(field: str) -> str:
    """The name of a field in the file: without its unit."""
    for unit in _UNITS:
        if field.endswith(unit):
            return field.removesuffix(unit)
    return field


def nearest(word: str, known: Iterable[str]) -> str:
    """`; did you mean …?`, or the known names where none is near, or nothing where they are too many."""
    names = sorted(known)
    close = difflib.get_close_matches(word, names, n=2, cutoff=0.6)
    if close:
        return f"; did you mean {' or '.join(close)}?"
    return f"; known: {', '.join(names)}" if 0 < len(names) <= _MAX_NAMES_SHOWN else ""


@cache
def _settings_of(section: Any) -> Mapping[str, _Setting]:
    hints = get_type_hints(section, include_extras=True)
    settings = (_setting(item, hints[item.name]) for item in fields(section))
    return {setting.key: setting for setting in settings}


def _setting(item: Field[Any], hint: Any) -> _Setting:
    kind, optional = hint, False
    extras: tuple[Any, ...] = ()
    while True:
        if get_origin(kind) is Annotated:
            kind, *more = get_args(kind)
            extras += tuple(more)
        elif get_origin(kind) in {UnionType, Union}:
            kind, optional = next(arg for arg in get_args(kind) if arg is not NoneType), True
        else:
            break
    scalars: list[Scalars] = [extra for extra in extras if not isinstance(extra, Level)]
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        scalars = [partial(_read_word, kind)]
    return _Setting(
        field=item.name,
        key=yaml_key(item.name),
        kind=kind,
        scalar=scalars[0] if scalars else None,
        optional=optional,
        level=next((extra for extra in extras if isinstance(extra, Level)), Level.ROUTE),
        required=item.default is MISSING and item.default_factory is MISSING,
    )


def _read_word(words: type[StrEnum], node: ScalarNode) -> StrEnum:
    try:
        return words(str(node.value))
    except ValueError:
        hint = f", but YAML reads {node.text[:40]} as {node.kind}" if node.kind is not Kind.TEXT else ""
        raise Unfit(f"expected one of {', '.join(words)}{hint}") from None


class Reading:
    """The reading of one file: collects its faults, resolves its secrets.

    `find_file` takes a path as written and gives the path to use, or raises `OSError` where it cannot be read.
    """

    def __init__(self, file: str, secrets: SecretSource, find_file: Callable[[str], str]) -> None:
        self.file = file
        self.faults: list[ConfigFault] = []
        self._secrets = secrets
        self._find_file = find_file

    def fault(self, line: int, path: str, message: str) -> None:
        """Note a fault; reading goes on."""
        self.faults.append(ConfigFault(file=self.file, line=line, path=path, message=message))

    def mapping(self, node: Node, path: str) -> MappingNode | None:
        """The node as a mapping; None, and a fault, where it is something else."""
        if isinstance(node, MappingNode):
            return node
        self.fault(node.line, path, f"expected a mapping, not {describe(node)}")
        return None

    def keys(self, mapping: MappingNode, path: str, *, allowed: Iterable[str], required: Iterable[str] = ()) -> None:
        """Note the keys of a mapping that are unknown or missing."""
        known = set(allowed)
        for key, line in mapping.key_lines.items():
            if key not in known:
                self.fault(line, join(path, key), f"unknown setting{nearest(key, known)}")
        for key in required:
            if key not in mapping.entries:
                self.fault(mapping.line, path, f"{key} is missing")

    def section(
        self,
        node: Node,
        section: type[T],
        path: str,
        *,
        base: T | None = None,
        level: Level = Level.GLOBAL,
        given: Mapping[str, Any] | None = None,
    ) -> T | None:
        """Read a section. What is not set there comes from `base`, or else is the field's default.

        Args:
            node: where it stands.
            section: the frozen dataclass to read.
            path: its path, for faults.
            base: the wider level's values, for sections that stand at several levels.
            level: the level at which this one stands.
            given: values by field name for fields that someone else reads.

        Returns:
            The section, or None where it cannot be built; then there are faults.
        """
        mapping = self.mapping(node, path)
        if mapping is None:
            return base
        kind: Any = section
        known: Mapping[str, _Setting] = _settings_of(kind)
        given = given or {}
        required = [s.key for s in known.values() if s.required and s.field not in given and base is None]
        self.keys(mapping, path, allowed=known, required=required)
        values = {} if base is None else {s.field: getattr(base, s.field) for s in known.values()}
        for key, setting in known.items():
            if key not in mapping.entries or setting.field in given:
                continue
            if _LEVELS.index(level) > _LEVELS.index(setting.level):
                self.fault(mapping.key_lines[key], join(path, key), _TOO_NARROW[setting.level])
                continue
            value = self._value(
                mapping.entries[key], setting, join(path, key), base=values.get(setting.field), level=level
            )
            if value is not ABSENT:
                values[setting.field] = value
        values |= given
        return None if any(s.required and s.field not in values for s in known.values()) else section(**values)

    def _value(self, node: Node, setting: _Setting, path: str, *, base: Any, level: Level) -> Any:
        if setting.optional and isinstance(node, ScalarNode) and node.kind is Kind.NULL:
            return None
        if setting.scalar is not None:
            return self.scalar(node, setting.scalar, path)
        if setting.kind in _BY_KIND:
            return _BY_KIND[setting.kind](self, node, path)
        section: Any = self.section(node, setting.kind, path, base=base, level=level)
        return ABSENT if section is None else section

    def scalar(self, node: Node, scalar: Scalars, path: str) -> Any:
        """A single value, or `ABSENT`."""
        if not isinstance(node, ScalarNode):
            self.fault(node.line, path, f"expected one value, not {describe(node)}")
            return ABSENT
        try:
            return scalar(node)
        except Unfit as unfit:
            self.fault(node.line, path, str(unfit))
            return ABSENT

    def several(self, node: Node, scalar: Scalars, path: str) -> tuple[Any, ...]:
        """A list of single values, or one value that stands for a list of one. Those at fault are left out."""
        items = node.items if isinstance(node, SequenceNode) else [node]
        if not items:
            self.fault(node.line, path, "expected at least one")
        places = [join(path, i) for i in range(len(items))] if isinstance(node, SequenceNode) else [path]
        values = (self.scalar(item, scalar, place) for item, place in zip(items, places, strict=True))
        return tuple(value for value in values if value is not ABSENT)

    def secret(self, node: Node, path: str) -> Any:
        """A reference resolved to its secret, or `ABSENT`. What stands in the file is never repeated."""
        try:
            if isinstance(node, MappingNode):
                self.keys(node, path, allowed=["file"], required=["file"])
                place = self._file_text(node, path)
                return ABSENT if place is ABSENT else self._secrets.from_file(place)
            if isinstance(node, ScalarNode) and isinstance(node.value, str):
                return self._secrets.from_reference(node.value)
        except SecretUnusable as unusable:
            self.fault(node.line, path, str(unusable))
            return ABSENT
        self.fault(node.line, path, f'expected "${{NAME}}" or {{file: path}}, not {describe(node)}')
        return ABSENT

    def _file_text(self, node: MappingNode, path: str) -> Any:
        file = node.entries.get("file")
        return ABSENT if file is None else self.scalar(file, read_text, join(path, "file"))

    def proxy(self, node: Node, path: str) -> Any:
        """A proxy's URL: in clear where it holds no password, else by reference."""
        if isinstance(node, ScalarNode) and isinstance(node.value, str) and not node.value.startswith("${"):
            url = self.scalar(node, read_url, path)
            return ABSENT if url is ABSENT else ProxyUrl(url, "url")
        secret = self.secret(node, path)
        if secret is ABSENT:
            return ABSENT
        try:
            check_url(secret.reveal(), allow_password=True)
        except Unfit as unfit:
            self.fault(node.line, path, f"{secret.source}: {unfit}")
        return ProxyUrl(secret.reveal(), secret.source)

    def file_path(self, node: Node, path: str) -> Any:
        """The path of a file that can be read, or `ABSENT`."""
        text = self.scalar(node, read_text, path)
        if text is ABSENT:
            return ABSENT
        try:
            return FilePath(self._find_file(text))
        except OSError as error:
            self.fault(node.line, path, f"the file {text} cannot be read: {error.strerror or 'unknown error'}")
            return ABSENT


_BY_KIND: Mapping[Any, Callable[[Reading, Node, str], Any]] = {
    Secret: Reading.secret,
    ProxyUrl: Reading.proxy,
    FilePath: Reading.file_path,
}
