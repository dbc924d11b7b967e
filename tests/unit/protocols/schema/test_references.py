from __future__ import annotations

import json
from typing import Any

import pytest

from fluxrpc.errors import NotExpressible
from fluxrpc.protocols.notes import Notes
from fluxrpc.protocols.schema import (
    ANTHROPIC_STRICT,
    CHAT_STRICT,
    COHERE,
    GEMINI_JSON_SCHEMA,
    GEMINI_SCHEMA,
    SchemaProfile,
    convert,
)
from fluxrpc.v1.tool_pb2 import SCHEMA_DIALECT_JSON_SCHEMA

POINT = {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"], "additionalProperties": False}
LIST = {
    "type": "object",
    "properties": {"next": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]}},
    "required": ["next"],
    "additionalProperties": False,
}


def converted(schema: Any, profile: SchemaProfile) -> tuple[Any, list[str]]:
    notes = Notes({})
    text = convert(
        json.dumps(schema), SCHEMA_DIALECT_JSON_SCHEMA, profile, notes, code="OUTPUT_SCHEMA_KEYWORDS", path="schema"
    )
    return json.loads(text), [note.path for note in notes]


def refused(schema: Any, profile: SchemaProfile) -> tuple[str, str]:
    with pytest.raises(NotExpressible) as caught:
        converted(schema, profile)
    return caught.value.violations[0].path, caught.value.violations[0].message


@pytest.mark.parametrize("profile", [ANTHROPIC_STRICT, CHAT_STRICT, COHERE, GEMINI_JSON_SCHEMA])
def test_a_bare_reference_stays(profile: SchemaProfile) -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/P"}},
        "required": ["a"],
        "additionalProperties": False,
        "$defs": {"P": POINT},
    }
    assert converted(schema, profile) == (schema, [])


def test_what_is_beside_a_reference_goes_into_what_it_names() -> None:
    schema = {"properties": {"a": {"$ref": "#/$defs/P", "description": "start"}}, "$defs": {"P": POINT}}
    done, notes = converted(schema, GEMINI_JSON_SCHEMA)
    assert done["properties"]["a"] == POINT | {"description": "start"}
    assert not notes
    lists = {
        "items": {"$ref": "#/$defs/A", "allOf": [{"title": "t"}]},
        "$defs": {"A": {"allOf": [{"type": "string"}]}},
    }
    assert converted(lists, GEMINI_SCHEMA) == (
        {"items": {"title": "t", "type": "STRING"}, "type": "ARRAY"},
        [],
    )
    own = {"$ref": "#/$defs/O", "$defs": {"O": {"type": "string", "$defs": {"P": {}}}, "P": {"type": "number"}}}
    assert converted(own, COHERE)[0] == {"type": "string"} | {"$defs": own["$defs"]}
    both = {"$ref": "#/$defs/P", "type": "array", "properties": {"y": {}}, "required": ["y"], "title": "t"}
    done, notes = converted({"items": both, "$defs": {"P": POINT | {"title": "P"}}}, GEMINI_JSON_SCHEMA)
    assert done["items"] == {
        "type": "array",
        "properties": {"x": {"type": "number"}, "y": {}},
        "required": ["y", "x"],
        "additionalProperties": False,
        "title": "t",
    }
    assert notes == ["schema.items.type"]


def test_references_are_written_out_where_there_are_none() -> None:
    schema = {
        "properties": {
            "a": {"$ref": "#/$defs/b~1c%20d"},
            "b": {"$ref": "#/properties/c/anyOf/1"},
            "c": {"anyOf": [{}, {"type": "string"}]},
        },
        "$defs": {"b/c d": {"allOf": [{"$ref": "#/$defs/N"}]}, "N": {"type": "number"}},
    }
    done, notes = converted(schema, GEMINI_SCHEMA)
    assert done == {
        "type": "OBJECT",
        "properties": {"a": {"type": "NUMBER"}, "b": {"type": "STRING"}, "c": {"anyOf": [{}, {"type": "STRING"}]}},
    }
    assert not notes


def test_old_definitions_get_their_new_name_where_only_that_is_known() -> None:
    schema = {"items": {"$ref": "#/definitions/P"}, "definitions": {"P": POINT}}
    assert converted(schema, GEMINI_JSON_SCHEMA) == ({"items": {"$ref": "#/$defs/P"}, "$defs": {"P": POINT}}, [])
    assert converted(schema, COHERE) == (schema, [])
    both = schema | {"$defs": {}}
    assert converted(both, GEMINI_JSON_SCHEMA) == ({"items": POINT, "$defs": {}}, [])


def test_a_recursion_stays_where_it_may_and_the_root_is_no_reference() -> None:
    schema = {"$ref": "#/$defs/Node", "$defs": {"Node": LIST}}
    for profile in (CHAT_STRICT, COHERE, GEMINI_JSON_SCHEMA):
        assert converted(schema, profile) == (LIST | {"$defs": {"Node": LIST}}, [])
    itself = {"items": {"$ref": "#", "description": "again", "minItems": 1}}
    assert converted(itself, GEMINI_JSON_SCHEMA) == (
        {"items": {"$ref": "#"}},
        ["schema.items.description", "schema.items.minItems"],
    )


def test_a_recursion_is_refused_where_it_may_not_be() -> None:
    recursive = "the schema is recursive, which the provider does not take"
    schema = {"$ref": "#/$defs/Node", "$defs": {"Node": LIST}}
    assert refused(schema, ANTHROPIC_STRICT) == ("schema.$defs.Node", recursive)
    assert refused(schema, GEMINI_SCHEMA) == ("schema.properties.next.anyOf[0].$ref", recursive)
    assert refused({"items": {"$ref": "#"}}, ANTHROPIC_STRICT) == ("schema", recursive)
    pair = {"$defs": {"A": {"items": {"$ref": "#/$defs/B"}}, "B": {"items": {"$ref": "#/$defs/A"}}}}
    assert refused(pair, ANTHROPIC_STRICT) == ("schema.$defs.A", recursive)
    chain = {"$defs": {"A": {"items": {"$ref": "#/$defs/B"}}, "B": {}}, "items": {"$ref": "#/$defs/A"}}
    assert converted(chain, ANTHROPIC_STRICT) == (chain, [])
    place = {"properties": {"a": {"items": {"$ref": "#/properties/a"}}}}
    assert refused(place, CHAT_STRICT)[1] == recursive


@pytest.mark.parametrize("pointer", ["#/$defs/Q", "https://example.com/schema", "#/properties/a/0", 7])
def test_a_reference_to_nothing_is_the_callers_mistake(pointer: object) -> None:
    path, message = refused({"properties": {"a": {"$ref": pointer, "title": "t"}}}, GEMINI_SCHEMA)
    assert path == "schema.properties.a.$ref"
    assert message.startswith("the schema has no ")


def test_references_that_make_a_schema_grow_beyond_all_bounds_are_refused() -> None:
    schema = {
        "anyOf": [{"$ref": "#/$defs/a"}] * 10,
        "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}] * 20}, "b": {"description": "x" * 10_000}},
    }
    path, message = refused(schema, GEMINI_SCHEMA)
    assert path == "schema.anyOf[5].anyOf[4].$ref"
    assert message == "the schema is too large with its references written out"


@pytest.mark.parametrize("way", ["items", "allOf"])
def test_a_chain_of_definitions_ends_somewhere(way: str) -> None:
    def link(target: Any) -> Any:
        return {way: [target] if way == "allOf" else target}

    chain = {f"d{n}": link({"$ref": f"#/$defs/d{n + 1}"}) for n in range(600)}
    path, message = refused({"$defs": chain, "items": {"$ref": "#/$defs/d0"}}, GEMINI_SCHEMA)
    assert message == "the schema is nested more than 128 deep"
    assert path.startswith("schema.items")
