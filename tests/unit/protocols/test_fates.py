"""What the code can note and what the tables say that it can note are the same: read off the source, not off runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

import fluxrpc.protocols
from fluxrpc.protocols.concepts import CONCEPTS
from fluxrpc.protocols.notes import Fates
from fluxrpc.protocols.registry import TRANSLATORS
from fluxrpc.protocols.schema import profile as profiles
from fluxrpc.protocols.schema.convert import ANNOTATION
from fluxrpc.v1.outcome_pb2 import NoteAction

ROOT = Path(fluxrpc.protocols.__path__[0])
ACTIONS = {name.removeprefix("NOTE_ACTION_").lower(): value for name, value in NoteAction.items() if value}
SCHEMA_CODES = {"TOOL_SCHEMA", "TOOL_OUTPUT_SCHEMA", "OUTPUT_SCHEMA_KEYWORDS"}
SHARED = ("turns", "tool_names")
"""Modules that note for the protocol that imports them."""
FOR_CALLERS = "undo"
"""Notes for every protocol, as that of the caller."""

Pair = tuple[str, int]


class Said(NamedTuple):
    """What a module can note."""

    certain: frozenset[Pair]
    """Calls that name their concept."""
    codes: frozenset[str]
    """Concepts that are named anywhere: in a table, in a call of our own."""
    actions: frozenset[int]
    """Actions of calls whose concept comes from elsewhere."""
    imports: frozenset[str]


def codes_in(node: ast.AST) -> set[str]:
    return {
        each.value
        for each in ast.walk(node)
        if isinstance(each, ast.Constant) and isinstance(each.value, str) and each.value in CONCEPTS
    }


def note_calls(tree: ast.AST) -> Iterator[tuple[int, ast.expr]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            action = ACTIONS.get(node.func.attr)
            if action is not None:
                yield action, node.args[0]
            elif node.func.attr == "foreign_extras":
                named = [*node.args[3:], *(each.value for each in node.keywords if each.arg == "code")]
                yield ACTIONS["dropped"], named[0] if named else ast.Constant("EXTRA_FIELD")


def is_named(node: ast.expr) -> bool:
    """Whether an argument can be nothing but the concepts in it."""
    if isinstance(node, ast.IfExp):
        return is_named(node.body) and is_named(node.orelse)
    return isinstance(node, ast.Constant) and node.value in CONCEPTS


@cache
def said_in(path: Path) -> Said:
    tree = ast.parse(path.read_text("utf-8"))
    calls = list(note_calls(tree))
    named_actions = {ACTIONS[word.lower()] for word in _action_words(tree)}
    return Said(
        certain=frozenset((code, action) for action, node in calls for code in codes_in(node) if is_named(node)),
        codes=frozenset(codes_in(tree)),
        actions=frozenset({action for action, node in calls if not is_named(node)} | named_actions),
        imports=frozenset(
            f"{node.module}.{alias.name}"
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        ),
    )


def _action_words(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id.startswith("NOTE_ACTION_"):
            yield node.id.removeprefix("NOTE_ACTION_")


def said_in_folder(name: str) -> Said:
    modules = [said_in(path) for path in sorted((ROOT / name).glob("*.py")) if path.name != "fates.py"]
    return Said(*(frozenset[object]().union(*parts) for parts in zip(*modules, strict=True)))  # type: ignore[arg-type]


def shared_pairs(said: Said) -> set[Pair]:
    """What the shared modules that a folder uses note for it."""
    pairs = set(said_in(ROOT / f"{FOR_CALLERS}.py").certain)
    for module in SHARED:
        if any(name.startswith(f"fluxrpc.protocols.{module}.") for name in said.imports):
            pairs |= said_in(ROOT / f"{module}.py").certain
    named = {name: getattr(profiles, name) for name in profiles.__all__ if name != "PLAIN"}
    for name, profile in named.items():
        if not isinstance(profile, profiles.SchemaProfile) or f"fluxrpc.protocols.schema.{name}" not in said.imports:
            continue
        actions = {"dropped", "approximated"} | ({"injected"} if profile.closed else set())
        codes = (SCHEMA_CODES & said.codes) - {"TOOL_OUTPUT_SCHEMA"}
        pairs |= {(code, ACTIONS[action]) for code in codes for action in actions}
        pairs.add((ANNOTATION, ACTIONS["dropped"]))
        if "default" not in profile.keywords:
            pairs.add((ANNOTATION, ACTIONS["approximated"]))
    return pairs


def pairs_of(fates: Fates) -> set[Pair]:
    return {(code, int(action)) for code, actions in fates.items() for action in actions}


def told(pairs: set[Pair]) -> list[str]:
    return sorted(f"{code} {NoteAction.Name(action)}" for code, action in pairs)  # type: ignore[arg-type]


TABLES = [pytest.param(str(protocol), each.fates, id=str(protocol)) for protocol, each in TRANSLATORS.items()]


@pytest.mark.parametrize(("protocol", "fates"), TABLES)
def test_whatever_is_noted_has_its_fate(protocol: str, fates: Fates) -> None:
    said = said_in_folder(protocol)
    assert told((set(said.certain) | shared_pairs(said)) - pairs_of(fates)) == []


@pytest.mark.parametrize(("protocol", "fates"), TABLES)
def test_every_fate_can_be_noted(protocol: str, fates: Fates) -> None:
    said = said_in_folder(protocol)
    possible = set(said.certain) | shared_pairs(said)
    possible |= {(code, action) for code in said.codes for action in said.actions}
    if "fluxrpc.protocols.schema.convert" in said.imports:
        possible |= {
            (code, ACTIONS[word]) for code in SCHEMA_CODES & said.codes for word in ("dropped", "approximated")
        }
    assert told(pairs_of(fates) - possible) == []


@pytest.mark.parametrize(("protocol", "fates"), TABLES)
def test_fates_are_of_concepts_and_have_reasons(protocol: str, fates: Fates) -> None:
    assert fates, protocol
    for code, actions in fates.items():
        assert code in CONCEPTS
        assert all(actions.values())


def test_every_concept_has_a_fate_somewhere() -> None:
    known = {code for translator in TRANSLATORS.values() for code in translator.fates}
    assert sorted(CONCEPTS.keys() - known) == []
