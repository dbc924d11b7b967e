"""The form of an answer that is asked of Cohere: text, JSON, JSON of a schema; not together with tools or documents."""

from __future__ import annotations

from typing import Any, Final

from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.context import Context
from fluxrpc.protocols.node import raw
from fluxrpc.protocols.notes import Notes
from fluxrpc.protocols.schema import COHERE, convert
from fluxrpc.v1.message_pb2 import OUTPUT_KIND_ENUM, OUTPUT_KIND_JSON, OUTPUT_KIND_TEXT, OutputFormat

__all__ = ["written_format"]

_TEXT: Final = "text"
_JSON: Final = "json_object"
_KEY: Final = "value"


def written_format(output: OutputFormat, context: Context, notes: Notes, *, is_crowded: bool) -> dict[str, Any] | None:
    """`response_format`; None for none. `is_crowded`: there are tools or documents."""
    if not output.kind:
        return None
    if output.kind == OUTPUT_KIND_TEXT:
        return {"type": _TEXT}
    is_own = context.caller is Protocol.COHERE
    if is_crowded and not is_own:
        code = "OUTPUT_JSON" if output.kind == OUTPUT_KIND_JSON else "OUTPUT_SCHEMA"
        notes.dropped(code, "output_format")
        return None
    if output.kind == OUTPUT_KIND_JSON:
        return {"type": _JSON}
    if is_own:
        return {"type": _JSON, "json_schema": raw(output.schema_json)}
    if output.name or output.description:
        notes.dropped("OUTPUT_SCHEMA_NAME", "output_format.name" if output.name else "output_format.description")
    if output.HasField("strict") and not output.strict:
        notes.dropped("OUTPUT_SCHEMA_STRICT", "output_format.strict")
    return {"type": _JSON, "json_schema": raw(_schema(output, context, notes))}


def _schema(output: OutputFormat, context: Context, notes: Notes) -> str:
    """The schema on top of which an object must stand; a word of a list is wrapped into one."""
    place = "output_format.schema_json"
    schema = convert(output.schema_json, output.dialect, COHERE, notes, code="OUTPUT_SCHEMA_KEYWORDS", path=place)
    if output.kind != OUTPUT_KIND_ENUM:
        return schema
    context.unwrap_key = _KEY
    notes.emulated("OUTPUT_ENUM", "output_format")
    return f'{{"type":"object","properties":{{"{_KEY}":{schema}}},"required":["{_KEY}"]}}'
