from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from fluxrpc.errors import InvalidRequest, NotExpressible
from fluxrpc.protocols.notes import Notes
from fluxrpc.protocols.schema import (
    ANTHROPIC_STRICT,
    CHAT_STRICT,
    COHERE,
    GEMINI_JSON_SCHEMA,
    GEMINI_SCHEMA,
    PLAIN,
    SchemaProfile,
    alters_arguments,
    convert,
)
from fluxrpc.v1.outcome_pb2 import NoteAction
from fluxrpc.v1.tool_pb2 import (
    SCHEMA_DIALECT_JSON_SCHEMA,
    SCHEMA_DIALECT_OPENAPI_SUBSET,
    SCHEMA_DIALECT_UNSPECIFIED,
    SchemaDialect,
)

PATH = "tools[0].function.parameters_json"


def converted(
    schema: Any, profile: SchemaProfile, dialect: SchemaDialect.ValueType = SCHEMA_DIALECT_UNSPECIFIED
) -> tuple[str, set[str]]:
    """The text, and the notes as `ACTION place`, with `~` before those of annotations."""
    text = schema if isinstance(schema, str) else json.dumps(schema)
    notes = Notes({})
    done = convert(text, dialect, profile, notes, code="TOOL_SCHEMA", path=PATH)
    said = {
        f"{'~' if note.code == 'SCHEMA_ANNOTATION' else ''}"
        f"{NoteAction.Name(note.action).removeprefix('NOTE_ACTION_')} {note.path.removeprefix(PATH)}"
        for note in notes
    }
    return done, said


# What OpenAI writes under `strict`, with bounds and a type list.
STRICT = {
    "type": "object",
    "properties": {"age": {"type": "integer", "minimum": 0, "maximum": 150}, "nick": {"type": ["string", "null"]}},
    "required": ["age", "nick"],
    "additionalProperties": False,
}
# References, unions, constants and enums of numbers in one.
MIXED = {
    "$defs": {"U": {"enum": ["C", "F"]}},
    "type": "object",
    "properties": {
        "unit": {"$ref": "#/$defs/U", "description": "scale"},
        "place": {
            "oneOf": [
                {"type": "string"},
                {
                    "type": "object",
                    "properties": {"lat": {"type": "number"}},
                    "required": ["lat"],
                    "additionalProperties": False,
                },
            ]
        },
        "kind": {"const": "now"},
        "note": {"type": ["string", "null"], "maxLength": 10},
        "n": {"enum": [1, 2]},
    },
    "required": ["unit"],
    "additionalProperties": False,
}
BOUNDS = {"APPROXIMATED .properties.age.minimum", "APPROXIMATED .properties.age.maximum"}


def test_what_a_place_takes_stays_the_very_same_text() -> None:
    text = ' {"type":"object",  "properties":{"x":{"type":"number","minimum":1.50e2,"minimum":1.5}}} '
    for profile in (PLAIN, GEMINI_JSON_SCHEMA):
        assert converted(text, profile) == (text, set())
    text = '{"type" :"OBJECT","properties":{"x":{"type":"STRING","nullable":true}}}'
    assert converted(text, GEMINI_SCHEMA, SCHEMA_DIALECT_OPENAPI_SUBSET) == (text, set())


def test_bounds_go_to_the_description_and_type_lists_become_unions() -> None:
    text, notes = converted(STRICT, ANTHROPIC_STRICT)
    assert json.loads(text) == {
        "type": "object",
        "properties": {
            "age": {"type": "integer", "description": "minimum: 0, maximum: 150"},
            "nick": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        },
        "required": ["age", "nick"],
        "additionalProperties": False,
    }
    assert notes == BOUNDS
    assert converted(STRICT, COHERE) == (text, notes)


@pytest.mark.parametrize("profile", [CHAT_STRICT, GEMINI_JSON_SCHEMA])
def test_bounds_and_type_lists_stay_where_they_are_taken(profile: SchemaProfile) -> None:
    assert converted(STRICT, profile, SCHEMA_DIALECT_JSON_SCHEMA) == (json.dumps(STRICT), set())


def test_the_openapi_subset_of_everything_at_once() -> None:
    text, notes = converted(MIXED, GEMINI_SCHEMA)
    assert json.loads(text) == {
        "type": "OBJECT",
        "properties": {
            "unit": {"type": "STRING", "enum": ["C", "F"], "description": "scale"},
            "place": {
                "anyOf": [
                    {"type": "STRING"},
                    {"type": "OBJECT", "properties": {"lat": {"type": "NUMBER"}}, "required": ["lat"]},
                ]
            },
            "kind": {"type": "STRING", "enum": ["now"]},
            "note": {"type": "STRING", "nullable": True, "maxLength": 10},
            "n": {"type": "STRING", "enum": ["1", "2"]},
        },
        "required": ["unit"],
    }
    assert notes == {
        "APPROXIMATED .additionalProperties",
        "APPROXIMATED .properties.place.anyOf[1].additionalProperties",
        "APPROXIMATED .properties.place.oneOf",
        "APPROXIMATED .properties.n.enum",
    }


def test_optional_properties_are_required_and_take_null_under_strict() -> None:
    text, notes = converted(
        {
            "properties": {
                "a": {"type": "string"},
                "b": {"type": "string", "enum": ["x"]},
                "c": {"type": ["string", "null"]},
                "d": {"anyOf": [{"type": "string"}]},
                "e": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                "f": {"$ref": "#/$defs/F"},
                "g": {},
                "h": {"enum": ["x", None]},
                "i": {"type": "string", "pattern": "^a$"},
            },
            "required": ["i"],
            "$defs": {"F": {"type": "string"}},
        },
        CHAT_STRICT,
    )
    assert json.loads(text) == {
        "properties": {
            "a": {"type": ["string", "null"]},
            "b": {"anyOf": [{"type": "string", "enum": ["x"]}, {"type": "null"}]},
            "c": {"type": ["string", "null"]},
            "d": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "e": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "f": {"anyOf": [{"$ref": "#/$defs/F"}, {"type": "null"}]},
            "g": {},
            "h": {"enum": ["x", None]},
            "i": {"type": "string", "pattern": "^a$"},
        },
        "required": ["i", "a", "b", "c", "d", "e", "f", "g", "h"],
        "$defs": {"F": {"type": "string"}},
        "additionalProperties": False,
    }
    assert notes == {f"APPROXIMATED .properties.{name}" for name in "abcdefgh"} | {"INJECTED .additionalProperties"}


def test_cohere_wants_one_required_property() -> None:
    text, notes = converted({"type": "object", "properties": {"a": {"type": "string"}, "b": {}}}, COHERE)
    assert json.loads(text) == {
        "type": "object",
        "properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}, "b": {}},
        "required": ["a"],
    }
    assert notes == {"APPROXIMATED .properties.a"}


# schema, profile, what becomes of it, notes
KEYWORDS: list[tuple[Any, SchemaProfile, Any, set[str]]] = [
    # closed objects
    (
        {"type": "object", "additionalProperties": {"type": "string"}},
        ANTHROPIC_STRICT,
        {"type": "object", "additionalProperties": False},
        {"DROPPED .additionalProperties", "INJECTED .additionalProperties"},
    ),
    (
        {"type": "object", "additionalProperties": {"type": "string"}},
        GEMINI_SCHEMA,
        {"type": "OBJECT"},
        {"DROPPED .additionalProperties"},
    ),
    ({"type": "object", "additionalProperties": True}, GEMINI_SCHEMA, {"type": "OBJECT"}, set()),
    (
        {"type": "object", "additionalProperties": {"minLength": 1}},
        GEMINI_JSON_SCHEMA,
        {"type": "object", "additionalProperties": {"description": "minLength: 1"}},
        {"APPROXIMATED .additionalProperties.minLength"},
    ),
    (
        {"type": "object", "properties": {"a": {}}, "required": ["b", "a"]},
        GEMINI_SCHEMA,
        {"type": "OBJECT", "properties": {"a": {}}, "required": ["a"]},
        {"DROPPED .required"},
    ),
    # bounds, annotations, rules
    (
        {"type": "string", "description": "A word.", "pattern": "^a\\d", "format": "idn-email", "default": "a"},
        ANTHROPIC_STRICT,
        {"type": "string", "description": 'A word.\n\npattern: "^a\\\\d", format: "idn-email", default: "a"'},
        {"APPROXIMATED .pattern", "APPROXIMATED .format", "~APPROXIMATED .default"},
    ),
    ({"type": "string", "format": "uri"}, ANTHROPIC_STRICT, {"type": "string", "format": "uri"}, set()),
    (
        {"type": "array", "items": {}, "minItems": 1, "maxItems": 2},
        ANTHROPIC_STRICT,
        {"type": "array", "items": {}, "minItems": 1, "description": "maxItems: 2"},
        {"APPROXIMATED .maxItems"},
    ),
    ({"type": "string", "pattern": "a+"}, COHERE, {"type": "string", "pattern": "a+"}, set()),
    (
        {"type": "string", "pattern": "^a+"},
        COHERE,
        {"type": "string", "description": 'pattern: "^a+"'},
        {"APPROXIMATED .pattern"},
    ),
    (
        {"$schema": "https://json-schema.org/draft/2020-12/schema", "$comment": "c", "type": "string", "x-y": 1},
        GEMINI_JSON_SCHEMA,
        {"type": "string"},
        {"~DROPPED .x-y"},
    ),
    ({"type": "string", "not": {"const": "a"}}, CHAT_STRICT, {"type": "string"}, {"DROPPED .not"}),
    # arrays of fixed places
    (
        {"type": "array", "items": [{"type": "string"}, {"type": "number"}]},
        GEMINI_JSON_SCHEMA,
        {"type": "array", "prefixItems": [{"type": "string"}, {"type": "number"}]},
        set(),
    ),
    (
        {"type": "array", "prefixItems": [{"type": "string"}]},
        CHAT_STRICT,
        {"type": "array", "items": {"anyOf": [{"type": "string"}]}},
        {"APPROXIMATED .prefixItems"},
    ),
    (
        {"type": "array", "prefixItems": [True], "items": {"type": "string"}},
        CHAT_STRICT,
        {"type": "array", "items": {"type": "string"}},
        {"DROPPED .prefixItems"},
    ),
    ({"type": "array"}, GEMINI_SCHEMA, {"type": "ARRAY", "items": {"type": "STRING"}}, {"APPROXIMATED .items"}),
    # unions
    (
        {"anyOf": [{"type": "string"}], "oneOf": [{"type": "string"}]},
        CHAT_STRICT,
        {"anyOf": [{"type": "string"}]},
        {"DROPPED .oneOf"},
    ),
    (
        {"oneOf": [{"type": "string", "minLength": 1}]},
        GEMINI_JSON_SCHEMA,
        {"oneOf": [{"type": "string", "description": "minLength: 1"}]},
        {"APPROXIMATED .oneOf[0].minLength"},
    ),
    (
        {"type": ["array", "null"], "items": {"type": "string"}, "description": "d"},
        ANTHROPIC_STRICT,
        {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}], "description": "d"},
        set(),
    ),
    (
        {"type": ["array", "null"], "items": {"type": "string"}},
        GEMINI_SCHEMA,
        {"type": "ARRAY", "items": {"type": "STRING"}, "nullable": True},
        set(),
    ),
    (
        {"type": ["string", "integer", "null"], "maximum": 3, "maxLength": 4},
        GEMINI_SCHEMA,
        {"anyOf": [{"type": "STRING", "maxLength": 4}, {"type": "INTEGER", "maximum": 3}], "nullable": True},
        set(),
    ),
    ({"type": "null"}, GEMINI_SCHEMA, {"type": "NULL"}, set()),
    ({"type": ["string"]}, ANTHROPIC_STRICT, {"type": "string"}, set()),
    (
        {"type": ["string", "null"], "anyOf": [{"minLength": 1}]},
        ANTHROPIC_STRICT,
        {"anyOf": [{"description": "minLength: 1"}]},
        {"DROPPED .type", "APPROXIMATED .anyOf[0].minLength"},
    ),
    (
        {"type": ["string", "number"], "anyOf": [{"title": "x"}]},
        GEMINI_SCHEMA,
        {"anyOf": [{"title": "x"}]},
        {"DROPPED .type"},
    ),
    (
        {"anyOf": [{"type": "string", "maxLength": 2, "description": "in"}, {"type": "null"}], "description": "out"},
        GEMINI_SCHEMA,
        {"type": "STRING", "maxLength": 2, "description": "out", "nullable": True},
        set(),
    ),
    (
        {"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "null"}]},
        GEMINI_SCHEMA,
        {"anyOf": [{"type": "STRING"}, {"type": "NUMBER"}], "nullable": True},
        set(),
    ),
    (
        {"properties": {"a": {}}, "anyOf": [{"properties": {"b": {}}}, {"type": "null"}]},
        GEMINI_SCHEMA,
        {
            "type": "OBJECT",
            "properties": {"a": {}},
            "anyOf": [{"type": "OBJECT", "properties": {"b": {}}}],
            "nullable": True,
        },
        set(),
    ),
    # enums and constants
    ({"enum": ["fast", "slow"]}, GEMINI_SCHEMA, {"type": "STRING", "enum": ["fast", "slow"]}, set()),
    ({"enum": ["fast", "slow"]}, GEMINI_JSON_SCHEMA, {"enum": ["fast", "slow"]}, set()),
    ({"const": "x"}, GEMINI_JSON_SCHEMA, {"enum": ["x"]}, set()),
    (
        {"const": 1, "enum": [1, 2]},
        GEMINI_JSON_SCHEMA,
        {"enum": [1, 2], "description": "const: 1"},
        {"APPROXIMATED .const"},
    ),
    (
        {"type": ["string", "null"], "enum": ["a", None]},
        ANTHROPIC_STRICT,
        {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]},
        set(),
    ),
    (
        {"type": ["string", "null"], "enum": ["a"]},
        ANTHROPIC_STRICT,
        {"type": "string", "enum": ["a"]},
        set(),
    ),
    (
        {"enum": ["a", 1, None]},
        GEMINI_JSON_SCHEMA,
        {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "number", "enum": [1]}, {"type": "null"}]},
        set(),
    ),
    ({"type": "string", "enum": ["a", None]}, GEMINI_JSON_SCHEMA, {"type": "string", "enum": ["a"]}, set()),
    (
        {"type": "boolean", "enum": [True]},
        GEMINI_JSON_SCHEMA,
        {"type": "boolean", "description": "enum: [true]"},
        {"APPROXIMATED .enum"},
    ),
    (
        {"type": ["integer", "null"], "enum": [1, None]},
        GEMINI_SCHEMA,
        {"type": "STRING", "enum": ["1"], "nullable": True},
        {"APPROXIMATED .enum"},
    ),
    # what contradicts itself
    (
        {"type": ["string", "null"], "enum": [1]},
        ANTHROPIC_STRICT,
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
        set(),
    ),
    ({"type": []}, ANTHROPIC_STRICT, {}, set()),
    (
        {"items": {}, "properties": {}},
        GEMINI_SCHEMA,
        {"anyOf": [{"type": "ARRAY", "items": {}}, {"type": "OBJECT", "properties": {}}]},
        set(),
    ),
    ({"enum": ["a", None], "anyOf": [{}]}, GEMINI_JSON_SCHEMA, {"anyOf": [{}]}, {"DROPPED .enum"}),
    # allOf
    (
        {"allOf": [{"type": "string"}], "description": "d"},
        COHERE,
        {"description": "d", "type": "string"},
        set(),
    ),
    (
        {
            "allOf": [
                {"type": "object", "properties": {"a": {"type": "string"}, "b": {}}, "required": ["a"], "title": "A"},
                {"type": "object", "properties": {"a": {"minLength": 1}}, "required": ["b", "a"], "title": "B"},
                {"allOf": [{"type": "string", "allOf": [{"title": "C"}]}]},
            ]
        },
        GEMINI_JSON_SCHEMA,
        {
            "type": "object",
            "properties": {"a": {"type": "string", "description": "minLength: 1"}, "b": {}},
            "required": ["a", "b"],
            "title": "A",
        },
        {
            "~DROPPED .allOf[1].title",
            "~DROPPED .allOf[2].title",
            "DROPPED .allOf[2].type",
            "APPROXIMATED .properties.a.minLength",
        },
    ),
    # what is no schema is left alone
    (
        {"type": 5, "properties": [], "required": "a", "items": True, "anyOf": {}, "description": 1, "enum": 2},
        GEMINI_JSON_SCHEMA,
        {"type": 5, "properties": [], "required": "a", "items": True, "anyOf": {}, "description": 1, "enum": 2},
        set(),
    ),
]


@pytest.mark.parametrize(("schema", "profile", "expected", "notes"), KEYWORDS)
def test_keywords(schema: Any, profile: SchemaProfile, expected: Any, notes: set[str]) -> None:
    text, said = converted(schema, profile)
    assert json.loads(text) == expected
    assert said == notes


def test_which_changes_alter_arguments() -> None:
    optional, closed = '{"properties":{"a":{"type":"string"}}}', '{"properties":{"a":{}},"required":["a"]}'
    json_schema, openapi = SCHEMA_DIALECT_JSON_SCHEMA, SCHEMA_DIALECT_OPENAPI_SUBSET
    assert alters_arguments(optional, json_schema, CHAT_STRICT)
    assert alters_arguments(optional, openapi, COHERE)
    assert alters_arguments(f'{{"title":"{"x" * 40_000}",{optional[1:]}', json_schema, CHAT_STRICT)
    assert not alters_arguments(closed, json_schema, CHAT_STRICT)
    assert not alters_arguments(optional, json_schema, ANTHROPIC_STRICT)
    assert not alters_arguments(optional, openapi, PLAIN)
    assert alters_arguments('{"enum":[1]}', json_schema, GEMINI_SCHEMA)
    assert not alters_arguments(optional, json_schema, GEMINI_SCHEMA)
    assert not alters_arguments('{"enum":["1"]}', openapi, GEMINI_SCHEMA)


def test_numbers_and_key_order_survive_a_change() -> None:
    schema = (
        '{"z":1,"type":"object","properties":{"b":{"maximum":1.50e+2,"pattern":"x"},"a":{"enum":[90071992547409931]}}}'
    )
    expected = (
        '{"type":"object","properties":{"b":{"maximum":1.50e+2,"description":"pattern: \\"x\\""},'
        '"a":{"enum":[90071992547409931]}}}'
    )
    assert converted(schema, GEMINI_JSON_SCHEMA) == (
        expected,
        {"~DROPPED .z", "APPROXIMATED .properties.b.pattern"},
    )


@pytest.mark.parametrize("profile", [PLAIN, GEMINI_JSON_SCHEMA])
def test_the_openapi_subset_is_read_as_json_schema(profile: SchemaProfile) -> None:
    schema = {
        "type": "OBJECT",
        "properties": {
            "a": {"type": "STRING", "nullable": True},
            "b": {"any_of": [{"type": "INTEGER"}, {"type": "NUMBER"}], "nullable": True},
            "c": {"type": "TYPE_UNSPECIFIED", "nullable": False},
            "d": {"type": "ARRAY", "min_items": "1", "maxItems": 2, "items": {"type": "STRING", "enum": ["x"]}},
            "e": {"ref": "#/defs/E"},
            "f": {"type": "string", "items": True},
        },
        "defs": {"E": {"type": "BOOLEAN"}},
        "propertyOrdering": ["b", "a"],
    }
    text, notes = converted(schema, profile, SCHEMA_DIALECT_OPENAPI_SUBSET)
    assert json.loads(text) == {
        "type": "object",
        "properties": {
            "a": {"type": ["string", "null"]},
            "b": {"anyOf": [{"type": "integer"}, {"type": "number"}, {"type": "null"}]},
            "c": {},
            "d": {"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "string", "enum": ["x"]}},
            "e": {"$ref": "#/$defs/E"},
            "f": {"type": "string", "items": True},
        },
        "$defs": {"E": {"type": "boolean"}},
        "propertyOrdering": ["b", "a"],
    }
    assert not notes


def test_odd_spellings_of_the_openapi_subset() -> None:
    schema = '{"type":"STRING","maxLength":"x","example":"e"}'
    text, _ = converted(schema, PLAIN, SCHEMA_DIALECT_OPENAPI_SUBSET)
    assert text == '{"type":"string","maxLength":"x","examples":["e"]}'
    text, notes = converted('{"type":"string"}', PLAIN, SCHEMA_DIALECT_OPENAPI_SUBSET)
    assert (text, notes) == ('{"type":"string"}', set())


@pytest.mark.parametrize(
    "schema", ["", "{", '{"a":}', '{"\\ud800":1}', '{"type":"\\ud800"}', "[]", '{"a":' * 5000 + "1" + "}" * 5000]
)
def test_what_is_no_json_is_the_callers_mistake(schema: str) -> None:
    with pytest.raises((InvalidRequest, NotExpressible)) as caught:
        converted(schema, GEMINI_SCHEMA)
    refusal: Any = caught.value
    assert refusal.violations[0].path == PATH


def test_large_schemas_are_converted_too() -> None:
    schema = {"properties": {f"property_{number}": {"pattern": "x" * 100} for number in range(400)}}
    text, notes = converted(schema, GEMINI_JSON_SCHEMA)
    assert len(notes) == 400
    assert json.loads(text)["properties"]["property_7"] == {"description": f'pattern: "{"x" * 100}"'}


def test_the_deepest_schema_fits_on_the_stack() -> None:
    schema = '{"items":' * 126 + '{"minLength":1}' + "}" * 126
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(800)
    try:
        text, notes = converted(schema, ANTHROPIC_STRICT)
    finally:
        sys.setrecursionlimit(limit)
    assert text == '{"items":' * 126 + '{"description":"minLength: 1"}' + "}" * 126
    assert notes == {"APPROXIMATED " + ".items" * 126 + ".minLength"}


def test_there_is_an_end_to_size() -> None:
    schema: dict[str, Any] = {"properties": {str(number): {} for number in range(10_001)}}
    with pytest.raises(NotExpressible, match="more than 10000 schemas"):
        converted(schema, COHERE)
