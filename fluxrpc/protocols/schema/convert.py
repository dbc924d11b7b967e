"""The conversion itself."""

from __future__ import annotations

from fluxrpc.protocols.notes import Notes
from fluxrpc.protocols.schema.profile import SchemaProfile
from fluxrpc.v1.tool_pb2 import SchemaDialect

__all__ = ["convert"]


def convert(
    schema_json: str, dialect: SchemaDialect.ValueType, profile: SchemaProfile, notes: Notes, *, code: str, path: str
) -> str:
    """The schema as JSON text for a place of `profile`; the very same text where nothing has to change.

    What changes is noted under `code` (TOOL_SCHEMA, OUTPUT_SCHEMA_KEYWORDS) at `path` + the place in the schema. Numbers
    keep their spelling, keys their order.

    Raises:
        InvalidRequest: the schema cannot be said at all (a recursion where references must be inlined), at `path`.
    """
    raise NotImplementedError
