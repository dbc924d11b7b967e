"""The table of what Cohere cannot say holds what the writers can note, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

from fluxrpc.protocols import cohere
from fluxrpc.protocols.cohere.fates import FATES, FIELDS
from fluxrpc.protocols.concepts import CONCEPTS

SHARED = {
    "TOOL_NAME",
    "TOOL_SCHEMA",
    "OUTPUT_SCHEMA_KEYWORDS",
    "SCHEMA_ANNOTATION",
    "TOOL_RESULT_MISSING",
    "TOOL_RESULT_ORPHAN",
    "TOOL_RESULT_ORDER",
    "TOOL_CALL_CUT",
}
"""Noted by what all writers share."""


def test_every_code_is_a_concept_that_some_writer_names() -> None:
    folder = Path(str(cohere.__file__)).parent
    source = "".join(path.read_text() for path in folder.glob("*.py") if path.name != "fates.py")
    named = set(re.findall(r'"([A-Z][A-Z_]+)"', source))
    assert FATES.keys() <= CONCEPTS.keys()
    assert FATES.keys() - SHARED <= named
    assert named & CONCEPTS.keys() <= FATES.keys()


def test_reasons_and_names_say_something() -> None:
    assert all(reasons and all(reasons.values()) for reasons in FATES.values())
    assert all(FIELDS.values())
