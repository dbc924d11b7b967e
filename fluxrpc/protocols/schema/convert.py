"""The conversion itself: one pass over the schema, node by node, each with a copy of its keywords.

Results are kept: tools repeat from request to request.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import msgspec

from fluxrpc.errors import FieldViolation, InvalidRequest, NotExpressible
from fluxrpc.protocols.notes import Notes
from fluxrpc.protocols.schema.node import Change, Converter
from fluxrpc.protocols.schema.openapi import to_json_schema
from fluxrpc.protocols.schema.profile import PLAIN, Required, SchemaProfile
from fluxrpc.protocols.schema.references import Unsayable
from fluxrpc.v1.tool_pb2 import SCHEMA_DIALECT_OPENAPI_SUBSET, SchemaDialect

__all__ = ["ANNOTATION", "alters_arguments", "convert"]

ANNOTATION = "SCHEMA_ANNOTATION"
"""The code for keywords that allow and forbid nothing."""

_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_MAX_CACHED_CHARACTERS = 32 * 1024


class _Converted(NamedTuple):
    text: str
    changes: tuple[Change, ...]


def convert(
    schema_json: str, dialect: SchemaDialect.ValueType, profile: SchemaProfile, notes: Notes, *, code: str, path: str
) -> str:
    """The schema as JSON text for a place of `profile`; the very same text where nothing has to change.

    What changes is noted under `code` (TOOL_SCHEMA, OUTPUT_SCHEMA_KEYWORDS), or as SCHEMA_ANNOTATION where it only
    tells of the schema, at `path` + the place in the schema. Numbers keep their spelling, keys their order.

    Raises:
        NotExpressible: the schema cannot be said there at all (a recursion where references must be inlined); another
            route may take it. With the place in the IR.
        InvalidRequest: it is no JSON Schema.
    """
    is_openapi = dialect == SCHEMA_DIALECT_OPENAPI_SUBSET
    if is_openapi == profile.is_openapi and (is_openapi or profile is PLAIN):
        return schema_json
    call = _cached if len(schema_json) <= _MAX_CACHED_CHARACTERS else _converted
    try:
        converted = call(schema_json, profile, is_openapi=is_openapi)
    except Unsayable as found:
        violation = FieldViolation(path=path + found.place, message=found.message)
        raise NotExpressible(f"{violation.path}: {found.message}", violations=[violation]) from found
    except (msgspec.MsgspecError, RecursionError) as found:
        raise InvalidRequest.at(path, "a JSON Schema is expected") from found
    for change in converted.changes:
        notes.add(ANNOTATION if change.is_annotation else code, change.action, path + change.place, change.reason)
    return converted.text


def alters_arguments(schema_json: str, dialect: SchemaDialect.ValueType, profile: SchemaProfile) -> bool:
    """Whether what a model writes under the converted schema has to be `restored` to the caller's.

    For schemas that `convert` has converted.
    """
    is_openapi = dialect == SCHEMA_DIALECT_OPENAPI_SUBSET
    if profile.required is Required.ANY and (is_openapi or not profile.is_openapi):
        return False
    call = _cached if len(schema_json) <= _MAX_CACHED_CHARACTERS else _converted
    return any(change.alters_arguments for change in call(schema_json, profile, is_openapi=is_openapi).changes)


def _converted(schema_json: str, profile: SchemaProfile, *, is_openapi: bool) -> _Converted:
    given = msgspec.Raw(schema_json.strip().encode())
    _OBJECT.decode(given)
    text = to_json_schema(given) if is_openapi else given
    converter = Converter(text, profile)
    done = text if profile is PLAIN else converter.whole()
    return _Converted(schema_json if done is given else bytes(done).decode(), tuple(converter.changes))


_cached = lru_cache(maxsize=256)(_converted)
