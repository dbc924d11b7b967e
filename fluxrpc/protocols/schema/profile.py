"""What each provider takes of JSON Schema, as data.

Sources: OpenAI "Structured model outputs" (supported schemas) and the strict conversion of its SDK; Anthropic
"Structured outputs" (JSON Schema limitations) and `transform_schema` of its SDK; Google `FunctionDeclaration`,
`GenerationConfig.responseJsonSchema`, `Schema`; Cohere "Structured outputs" (unsupported schema features).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto

from msgspec import Struct

__all__ = [
    "ANTHROPIC_STRICT",
    "CHAT_STRICT",
    "COHERE",
    "GEMINI_JSON_SCHEMA",
    "GEMINI_SCHEMA",
    "PLAIN",
    "Recursion",
    "Required",
    "SchemaProfile",
    "Unions",
]


class Unions(Enum):
    """How several types are said."""

    LIST = auto()
    """`type: [string, null]`."""
    ANY_OF = auto()
    """`anyOf: [{type: string}, {type: null}]`."""
    NULLABLE = auto()
    """`type: STRING, nullable: true`."""


class Recursion(Enum):
    """What becomes of references."""

    ALLOWED = auto()
    """They stay."""
    REFUSED = auto()
    """They stay, but must not lead back to themselves."""
    UNKNOWN = auto()
    """There are none: what they name is put in their place."""


class Required(Enum):
    """Which properties of an object must be required."""

    ANY = auto()
    ONE = auto()
    ALL = auto()


class SchemaProfile(Struct, frozen=True, kw_only=True, eq=False):
    """The keywords and forms that one kind of place takes."""

    name: str
    keywords: frozenset[str] = frozenset()
    """What it takes; empty = everything."""
    values: Mapping[str, frozenset[str]] = {}
    """Keywords of which it takes only these values, as JSON text."""
    pattern_without: tuple[str, ...] = ()
    """What a `pattern` must not contain."""
    enum_kinds: frozenset[str] = frozenset({"string", "number", "boolean", "null", "object", "array"})
    """Kinds of the values of an `enum`; where only strings are allowed, others are written as strings."""
    unions: Unions = Unions.LIST
    recursion: Recursion = Recursion.ALLOWED
    closed: bool = False
    """Every object says `additionalProperties: false`."""
    required: Required = Required.ANY
    is_openapi: bool = False
    """Types in upper case, and never missing."""


_CORE = frozenset({"type", "enum", "anyOf", "properties", "required", "items", "description"})
_REFERENCES = frozenset({"$ref", "$defs"})
_NUMBER_BOUNDS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})
_STRING_FORMATS = frozenset(
    f'"{name}"' for name in ("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid")
)
_ONLY_FALSE = frozenset({"false"})

PLAIN = SchemaProfile(name="plain")
"""Takes any JSON Schema: only the OpenAPI subset is turned into it (`type: OBJECT` to `object`, `nullable`)."""

CHAT_STRICT = SchemaProfile(
    name="openai strict",
    keywords=_CORE
    | _REFERENCES
    | _NUMBER_BOUNDS
    | {"const", "title", "definitions", "additionalProperties", "format"}
    | {"minLength", "maxLength", "pattern", "minItems", "maxItems"},
    values={"format": _STRING_FORMATS, "additionalProperties": _ONLY_FALSE},
    closed=True,
    required=Required.ALL,
)
"""`strict: true` of openai and responses."""

ANTHROPIC_STRICT = SchemaProfile(
    name="anthropic strict and output format",
    keywords=_CORE | _REFERENCES | {"const", "title", "definitions", "additionalProperties", "format", "minItems"},
    values={
        "format": _STRING_FORMATS | {'"uri"'},
        "additionalProperties": _ONLY_FALSE,
        "minItems": frozenset({"0", "1"}),
    },
    enum_kinds=frozenset({"string", "number", "boolean", "null"}),
    unions=Unions.ANY_OF,
    recursion=Recursion.REFUSED,
    closed=True,
)
"""`strict: true` and `output_config.format` of anthropic."""

GEMINI_JSON_SCHEMA = SchemaProfile(
    name="gemini parametersJsonSchema, responseJsonSchema",
    keywords=_CORE
    | _REFERENCES
    | {"$id", "$anchor", "format", "title", "prefixItems", "minItems", "maxItems", "minimum", "maximum"}
    | {"oneOf", "additionalProperties", "propertyOrdering"},
    enum_kinds=frozenset({"string", "number"}),
)
"""The JSON Schema fields of gemini."""

GEMINI_SCHEMA = SchemaProfile(
    name="gemini parameters, responseSchema",
    keywords=_CORE
    | {"format", "title", "nullable", "default", "example", "minItems", "maxItems", "propertyOrdering"}
    | {"minProperties", "maxProperties", "minimum", "maximum", "minLength", "maxLength", "pattern"},
    enum_kinds=frozenset({"string"}),
    unions=Unions.NULLABLE,
    recursion=Recursion.UNKNOWN,
    is_openapi=True,
)
"""The subset of OpenAPI 3.0 of gemini, for models and services without the JSON Schema fields."""

COHERE = SchemaProfile(
    name="cohere strict tools and json_object",
    keywords=_CORE
    | _REFERENCES
    | {"const", "title", "default", "examples", "definitions", "additionalProperties", "format", "pattern"},
    values={"format": frozenset({'"date-time"', '"uuid"', '"date"', '"time"'})},
    pattern_without=("^", "$", "?=", "?!"),
    unions=Unions.ANY_OF,
    required=Required.ONE,
)
"""`strict_tools` and `response_format.json_schema` of cohere."""
