from __future__ import annotations

import json
from typing import Any

import pytest

from fluxrpc.protocols.schema import restored
from fluxrpc.v1.tool_pb2 import SCHEMA_DIALECT_JSON_SCHEMA, SCHEMA_DIALECT_OPENAPI_SUBSET

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "must": {"type": "string"},
        "may": {"type": "string"},
        "null": {"type": ["string", "null"]},
        "any": {},
        "level": {"enum": [1, 2.50, True]},
        "word": {"enum": ["1", 1]},
        "fixed": {"const": 7},
        "inner": {"$ref": "#/$defs/Inner"},
        "list": {"type": "array", "items": {"$ref": "#/$defs/Inner"}},
    },
    "required": ["must"],
    "$defs": {"Inner": {"type": "object", "properties": {"x": {"type": "number"}}}},
}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ('{"must":null,"may":null,"null":null,"any":null}', '{"must":null,"null":null,"any":null}'),
        ('{"level":"1","word":"1","fixed":"7"}', '{"level":1,"word":"1","fixed":7}'),
        ('{"level":"true","inner":{"x":null,"y":1.50}}', '{"level":true,"inner":{"y":1.50}}'),
        ('{"inner":null}', "{}"),
        ('{"list":[{"x":null},{"x":1e3},5]}', '{"list":[{},{"x":1e3},5]}'),
    ],
)
def test_what_the_callers_schema_does_not_take_is_undone(arguments: str, expected: str) -> None:
    assert restored(arguments, json.dumps(SCHEMA), SCHEMA_DIALECT_JSON_SCHEMA) == expected


@pytest.mark.parametrize(
    "arguments",
    [
        ' {"must" : "a",  "may":"b","may":"c","level":"3"} ',
        '{"list":[{"x":1}],"other":null,"list2":5}',
        '{"may":nul',
        "",
        "[null]",
    ],
)
def test_everything_else_stays_as_it_is(arguments: str) -> None:
    assert restored(arguments, json.dumps(SCHEMA), SCHEMA_DIALECT_JSON_SCHEMA) == arguments


@pytest.mark.parametrize(
    "schema", ["", "{", '{"properties":{"a":{"$ref":"#/no"}}}', '{"properties":{"a":{"$ref":"#/properties/a"}}}']
)
def test_a_schema_that_says_nothing_changes_nothing(schema: str) -> None:
    assert restored('{"a":null}', schema, SCHEMA_DIALECT_JSON_SCHEMA) == '{"a":null}'


def test_the_openapi_subset() -> None:
    schema = '{"type":"OBJECT","properties":{"a":{"type":"STRING"},"b":{"type":"STRING","nullable":true}}}'
    assert restored('{"a":null,"b":null}', schema, SCHEMA_DIALECT_OPENAPI_SUBSET) == '{"b":null}'
