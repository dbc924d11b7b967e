"""The limits of the house that no linter knows: sizes, shapes and names of files and functions.

Each rule is a function from a file to its findings; the last test proves that each of them finds something.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("fluxrpc", "tests", "clients", "scripts")
GENERATED = re.compile(r"_pb2(_grpc)?\.pyi?$|\.pb\.go$")

MAX_FILE_LINES = 600
MAX_FUNCTION_LINES = 60
MAX_POSITIONAL = 5
# Names that say where code was put, not which idea it holds.
EMPTY_NAMES = re.compile(r"^_*(utils?|helpers?|managers?|handlers?|common|misc)$|_(utils?|helpers?|manager|handler)$")
# Written so that this line is not its own finding.
UNFINISHED = re.compile(r"\b(?:TO(?:DO)|FIX(?:ME)|XX(?:X))\b")

Function = ast.FunctionDef | ast.AsyncFunctionDef
Rule = Callable[[str, str], list[str]]


def is_generated(path: Path) -> bool:
    # A package of stubs has an __init__.py that is generated like them.
    return bool(GENERATED.search(path.name)) or (path.name == "__init__.py" and any(path.parent.glob("*_pb2.py")))


def written_files(*suffixes: str) -> Iterator[Path]:
    """Yield the files that people write, by suffix: nothing generated, nothing installed."""
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*")):
            if path.suffix in suffixes and not is_generated(path) and "node_modules" not in path.parts:
                yield path


def functions(source: str) -> Iterator[Function]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, Function):
            yield node


def is_long_file(name: str, source: str) -> list[str]:
    lines = len(source.splitlines())
    return [f"{name}: {lines} lines, at most {MAX_FILE_LINES}"] if lines > MAX_FILE_LINES else []


def has_empty_name(name: str, _source: str) -> list[str]:
    named = [part for part in Path(name).with_suffix("").parts if EMPTY_NAMES.search(part)]
    return [f"{name}: {part!r} names no idea" for part in named]


def is_unfinished(name: str, source: str) -> list[str]:
    return [f"{name}:{n}: {line.strip()}" for n, line in enumerate(source.splitlines(), 1) if UNFINISHED.search(line)]


def has_long_function(name: str, source: str) -> list[str]:
    return [
        f"{name}:{node.lineno}: {node.name} has {lines} lines, at most {MAX_FUNCTION_LINES}"
        for node in functions(source)
        if (lines := (node.end_lineno or node.lineno) - node.lineno + 1) > MAX_FUNCTION_LINES
    ]


def takes_many_positionals(name: str, source: str) -> list[str]:
    findings = []
    for node in functions(source):
        names = [arg.arg for arg in (*node.args.posonlyargs, *node.args.args)]
        count = len(names) - (names[:1] in (["self"], ["cls"]))
        # pytest hands fixtures to tests and fixtures by name.
        called_by_name = node.name.startswith("test_") or any("fixture" in ast.dump(d) for d in node.decorator_list)
        if count > MAX_POSITIONAL and not called_by_name:
            findings.append(f"{name}:{node.lineno}: {node.name} takes {count} positionals, at most {MAX_POSITIONAL}")
    return findings


FILE_RULES: list[Rule] = [is_long_file, has_empty_name, is_unfinished]
PYTHON_RULES: list[Rule] = [has_long_function, takes_many_positionals]


def check(rule: Rule, *suffixes: str) -> list[str]:
    paths = list(written_files(*suffixes))
    assert paths
    return [finding for path in paths for finding in rule(str(path.relative_to(ROOT)), path.read_text("utf-8"))]


@pytest.mark.parametrize("rule", FILE_RULES)
def test_every_file(rule: Rule) -> None:
    assert check(rule, ".py", ".go", ".c", ".sh") == []


@pytest.mark.parametrize("rule", PYTHON_RULES)
def test_every_python_file(rule: Rule) -> None:
    assert check(rule, ".py") == []


@pytest.mark.parametrize(
    ("rule", "name", "source"),
    [
        (is_long_file, "a.py", "\n" * (MAX_FILE_LINES + 1)),
        (has_empty_name, "fluxrpc/routing/utils.py", ""),
        (has_empty_name, "fluxrpc/stream_handler.py", ""),
        (is_unfinished, "a.py", "x = 1  # {}DO: finish".format("TO")),
        (has_long_function, "a.py", "async def f():\n" + "    x = 1\n" * MAX_FUNCTION_LINES),
        (takes_many_positionals, "a.py", "class A:\n def f(self, a, b, c, d, e, f): ..."),
    ],
)
def test_each_rule_finds_its_fault(rule: Rule, name: str, source: str) -> None:
    assert len(rule(name, source)) == 1


@pytest.mark.parametrize(
    ("rule", "source"),
    [
        (is_long_file, "\n" * MAX_FILE_LINES),
        (has_long_function, "def f():\n" + "    x = 1\n" * (MAX_FUNCTION_LINES - 1)),
        (takes_many_positionals, "class A:\n def f(self, a, b, c, d, e, *, f): ..."),
        (has_empty_name, ""),
    ],
)
def test_each_limit_itself_is_allowed(rule: Rule, source: str) -> None:
    assert rule("fluxrpc/routing/plan.py", source) == []
