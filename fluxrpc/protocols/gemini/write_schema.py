"""Schemas where Gemini takes them: as JSON Schema, or as the subset of OpenAPI that it has had from the beginning.

JSON Schema says more, so it is chosen wherever the model takes it. Each of the two has a field of its own, and never
both are written.
"""

from __future__ import annotations

import msgspec

from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.context import Context
from fluxrpc.protocols.node import raw
from fluxrpc.protocols.notes import Notes
from fluxrpc.protocols.schema import (
    GEMINI_JSON_SCHEMA,
    GEMINI_SCHEMA,
    PLAIN,
    SchemaProfile,
    alters_arguments,
    convert,
)
from fluxrpc.v1.tool_pb2 import SCHEMA_DIALECT_OPENAPI_SUBSET, FunctionTool, SchemaDialect

__all__ = ["is_subset", "write_parameters", "write_schema"]


def is_subset(dialect: SchemaDialect.ValueType, context: Context) -> bool:
    """Whether a schema is written in the subset (`parameters`, `response`, `responseSchema`)."""
    return dialect == SCHEMA_DIALECT_OPENAPI_SUBSET or not context.target.gates.takes_json_schema


def write_schema(
    text: str, dialect: SchemaDialect.ValueType, context: Context, notes: Notes, *, code: str, path: str
) -> msgspec.Raw:
    """A schema for the field that `is_subset` tells.

    Raises:
        InvalidRequest: it cannot be said at all.
    """
    return raw(convert(text, dialect, _profile(dialect, context), notes, code=code, path=path))


def write_parameters(function: FunctionTool, context: Context, notes: Notes, *, path: str) -> msgspec.Raw:
    """The schema of a function's arguments, which are restored in the answer where they come out otherwise.

    Raises:
        InvalidRequest: it cannot be said at all.
    """
    text, dialect = function.parameters_json, function.dialect
    written = write_schema(text, dialect, context, notes, code="TOOL_SCHEMA", path=path)
    if alters_arguments(text, dialect, _profile(dialect, context)):
        context.narrowed_tools[function.name] = function
    return written


def _profile(dialect: SchemaDialect.ValueType, context: Context) -> SchemaProfile:
    if is_subset(dialect, context):
        return GEMINI_SCHEMA
    return PLAIN if context.caller is Protocol.GEMINI else GEMINI_JSON_SCHEMA
