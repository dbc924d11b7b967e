"""The page on faults names every test of this folder, and none that is not there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

FOLDER = Path(__file__).parent
PAGE = FOLDER.parents[1] / "docs" / "faults.md"
_ROW = re.compile(r"^\| (F\d\d) ", re.MULTILINE)
_NAME = re.compile(r"`(test_\w+\.py)?::(test_\w+)`")
_NEEDED = (
    *("F01", "F02", "F03", "F04", "F05", "F06", "F07", "F08", "F10", "F11", "F12", "F15", "F16", "F17"),
    *("F20", "F23", "F24", "F27", "F30", "F31", "F32", "F33", "F40", "F41", "F43", "F44"),
)


def named(text: str) -> set[tuple[str, str]]:
    """Each test in the order of the page; without a file it is in the file named before."""
    found: set[tuple[str, str]] = set()
    file = ""
    for match in _NAME.finditer(text):
        file = match[1] or file
        found.add((file, match[2]))
    return found


def present() -> set[tuple[str, str]]:
    tests: set[tuple[str, str]] = set()
    for path in FOLDER.glob("test_*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.AsyncFunctionDef | ast.FunctionDef) and node.name.startswith("test_f"):
                tests.add((path.name, node.name))
    return tests


def test_the_page_and_the_folder_agree() -> None:
    text = PAGE.read_text()
    assert named(text) == present()
    assert named(text)


def test_every_fault_has_a_row_that_names_its_own_tests() -> None:
    rows = [line for line in PAGE.read_text().splitlines() if _ROW.match(line)]
    faults = {row[2:5]: row for row in rows}
    assert set(_NEEDED) <= faults.keys()
    for fault, row in faults.items():
        assert re.search(rf"::test_(f\d\d_)*{fault.lower()}_", row), fault
