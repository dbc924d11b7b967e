"""What each provider takes of JSON Schema, as data."""

from __future__ import annotations

from msgspec import Struct

__all__ = ["ANTHROPIC_STRICT", "CHAT_STRICT", "COHERE", "GEMINI_JSON_SCHEMA", "GEMINI_SCHEMA", "PLAIN", "SchemaProfile"]


class SchemaProfile(Struct, frozen=True, kw_only=True):
    """The keywords and forms that one kind of place takes."""

    name: str


PLAIN = SchemaProfile(name="plain")
"""Takes any JSON Schema: only the OpenAPI subset is turned into it (`type: OBJECT` to `object`, `nullable`)."""
CHAT_STRICT = SchemaProfile(name="openai strict")
ANTHROPIC_STRICT = SchemaProfile(name="anthropic strict and output format")
GEMINI_JSON_SCHEMA = SchemaProfile(name="gemini parametersJsonSchema, responseJsonSchema")
GEMINI_SCHEMA = SchemaProfile(name="gemini parameters, responseSchema")
COHERE = SchemaProfile(name="cohere strict tools and json_object")
