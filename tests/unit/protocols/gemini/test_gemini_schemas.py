from __future__ import annotations

import json
from typing import Any

import pytest

from fluxrpc.protocols.base import Protocol
from tests.unit.protocols.gemini.gemini_ways import context_of, write

SCHEMA = '{"type":"object","properties":{"n":{"enum":[1,2]},"s":{"type":"string","minLength":1}}}'
SUBSET = {
    "type": "OBJECT",
    "properties": {"n": {"type": "STRING", "enum": ["1", "2"]}, "s": {"type": "STRING", "minLength": 1}},
}
NARROWED = {
    "type": "object",
    "properties": {"n": {"enum": [1, 2]}, "s": {"type": "string", "description": "minLength: 1"}},
}
TOOLS = [
    {"function": {"name": "f", "parametersJson": SCHEMA, "outputSchemaJson": SCHEMA}},
    {"custom": {"name": "c"}},
]
REQUEST: dict[str, Any] = {
    "tools": TOOLS,
    "outputFormat": {"kind": "OUTPUT_KIND_JSON_SCHEMA", "schemaJson": SCHEMA},
}


@pytest.mark.parametrize(
    ("takes_json_schema", "caller", "ending", "expected"),
    [
        (True, Protocol.OPENAI, "JsonSchema", NARROWED),
        (True, Protocol.GEMINI, "JsonSchema", json.loads(SCHEMA)),
        (False, Protocol.OPENAI, "", SUBSET),
        (False, Protocol.GEMINI, "", SUBSET),
    ],
)
def test_schemas_go_where_the_model_takes_them(
    takes_json_schema: bool, caller: Protocol, ending: str, expected: dict[str, Any]
) -> None:
    context = context_of(REQUEST, caller=caller, takes_json_schema=takes_json_schema)
    body, _ = write(context)
    function, custom = body["tools"][0]["functionDeclarations"]
    assert function == {"name": "f", f"parameters{ending}": expected, f"response{ending}": expected}
    assert f"parameters{ending}" in custom
    assert body["generationConfig"][f"response{ending or 'Schema'}"] == expected
    assert list(context.narrowed_tools) == ([] if takes_json_schema else ["f"])
