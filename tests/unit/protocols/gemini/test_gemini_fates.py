"""The fates hold what the code can note, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import fluxrpc.protocols.gemini as package
from fluxrpc.protocols.concepts import CONCEPTS
from fluxrpc.protocols.gemini.fates import FATES, FIELDS
from fluxrpc.protocols.gemini.wire import INTEGERS, NUMBERS
from fluxrpc.v1.outcome_pb2 import NoteAction

FOLDER = Path(str(package.__file__)).parent
SOURCE = "".join(path.read_text() for path in FOLDER.glob("*.py") if path.name != "fates.py")
ELSEWHERE = {
    "TOOL_NAME", "TOOL_RESULT_MISSING", "TOOL_RESULT_ORPHAN", "TOOL_RESULT_ORDER", "TOOL_SCHEMA", "TOOL_OUTPUT_SCHEMA",
    "SCHEMA_ANNOTATION", "TOOL_CALL_CUT", "EXTRA_FIELD", "OUTPUT_SCHEMA_KEYWORDS",
}  # fmt: skip
"""What is noted by those who work for all protocols."""
KNOBS = {knob.code for knob in (*NUMBERS, *INTEGERS)}


def test_every_note_has_its_fate() -> None:
    noted = re.findall(r'notes\.(\w+)\(\s*"([A-Z_]+)"', SOURCE)
    assert noted
    for action, code in noted:
        assert NoteAction.Value(f"NOTE_ACTION_{action.upper()}") in FATES[code], f"{action} {code}"


@pytest.mark.parametrize("code", FATES)
def test_every_fate_is_of_a_concept_and_noted(code: str) -> None:
    assert code in CONCEPTS
    assert all(FATES[code].values())
    assert code in ELSEWHERE | KNOBS or f'"{code}"' in SOURCE


def test_fields_are_names() -> None:
    assert all(name and "[" not in name for name in (*FIELDS, *FIELDS.values()))
