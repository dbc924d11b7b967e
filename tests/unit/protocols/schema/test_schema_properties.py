from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
    convert,
)
from fluxrpc.protocols.schema.vocabulary import CHILDREN, Shape
from fluxrpc.v1.tool_pb2 import (
    SCHEMA_DIALECT_JSON_SCHEMA,
    SCHEMA_DIALECT_OPENAPI_SUBSET,
    SchemaDialect,
)

NARROW = [ANTHROPIC_STRICT, CHAT_STRICT, COHERE, GEMINI_JSON_SCHEMA, GEMINI_SCHEMA]
NAMES = ("string", "integer", "number", "boolean", "null", "array", "object")
ODD: st.SearchStrategy[Any] = st.sampled_from([None, True, 0, "x", [], {}])

types = st.sampled_from(NAMES) | st.lists(st.sampled_from(NAMES), max_size=3, unique=True)
pointers = st.sampled_from(["#", "#/$defs/a", "#/$defs/b", "#/definitions/a", "#/properties/a", "#/nowhere"])


def grown(schemas: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    named = st.dictionaries(st.sampled_from("ab"), schemas, max_size=2)
    several = st.lists(schemas, max_size=3)
    words: dict[str, st.SearchStrategy[Any]] = {
        "type": types | ODD,
        "enum": st.lists(ODD, max_size=3) | ODD,
        "const": ODD,
        "properties": named | ODD,
        "required": st.lists(st.sampled_from("abc"), max_size=2) | ODD,
        "additionalProperties": st.booleans() | schemas | ODD,
        "items": schemas | several | ODD,
        "prefixItems": several | ODD,
        "anyOf": several | ODD,
        "oneOf": several | ODD,
        "allOf": several | ODD,
        "not": schemas,
        "$ref": pointers,
        "$defs": named,
        "definitions": named,
        "nullable": st.booleans(),
        "description": st.just("d") | ODD,
        "default": ODD,
        "minLength": st.integers(0, 3) | ODD,
        "minItems": st.integers(0, 3),
        "maximum": st.integers(0, 3),
        "pattern": st.sampled_from(["^a", "a"]),
        "format": st.sampled_from(["uuid", "x"]),
        "x-unknown": ODD,
    }
    keys = st.lists(st.sampled_from(sorted(words)), max_size=5, unique=True)
    return keys.flatmap(lambda chosen: st.fixed_dictionaries({key: words[key] for key in chosen}))


schemas = st.recursive(st.just({}) | st.builds(lambda each: {"type": each}, types), grown, max_leaves=12)


def nodes(schema: Any) -> Iterator[dict[str, Any]]:
    if not isinstance(schema, dict):
        return
    yield schema
    for key, value in schema.items():
        match CHILDREN.get(key), value:
            case Shape.ONE, dict():
                yield from nodes(value)
            case Shape.LIST, list():
                for each in value:
                    yield from nodes(each)
            case Shape.MAP, dict():
                for each in value.values():
                    yield from nodes(each)


@pytest.mark.parametrize("profile", NARROW, ids=lambda profile: profile.name)
@given(
    schema=schemas.filter(lambda each: isinstance(each, dict)),
    dialect=st.sampled_from([SCHEMA_DIALECT_JSON_SCHEMA, SCHEMA_DIALECT_OPENAPI_SUBSET]),
)
@settings(max_examples=40, deadline=None)
def test_any_schema_comes_down_to_what_is_taken_or_is_refused(
    profile: SchemaProfile, schema: Any, dialect: SchemaDialect.ValueType
) -> None:
    if profile is GEMINI_SCHEMA:
        dialect = SCHEMA_DIALECT_JSON_SCHEMA
    try:
        text = convert(json.dumps(schema), dialect, profile, Notes({}), code="TOOL_SCHEMA", path="p")
    except (InvalidRequest, NotExpressible):
        return
    for node in nodes(json.loads(text)):
        assert node.keys() <= profile.keywords
        if profile.closed and "properties" in node:
            assert node["additionalProperties"] is False
        if profile.is_openapi and isinstance(node.get("type"), str):
            assert node["type"] == node["type"].upper()
    if not profile.is_openapi:
        notes = Notes({})
        again = convert(text, SCHEMA_DIALECT_JSON_SCHEMA, profile, notes, code="TOOL_SCHEMA", path="p")
        assert (again, list(notes)) == (text, []), "what is taken stays as it is"


@given(schema=schemas.filter(lambda each: isinstance(each, dict)))
@settings(max_examples=40, deadline=None)
def test_the_openapi_subset_is_read_without_notes(schema: Any) -> None:
    notes = Notes({})
    convert(json.dumps(schema), SCHEMA_DIALECT_OPENAPI_SUBSET, PLAIN, notes, code="TOOL_SCHEMA", path="p")
    assert not list(notes)
