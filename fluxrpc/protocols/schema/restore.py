"""Arguments that a model wrote under a narrowed schema, as the caller's own schema has them.

Where optional properties had to be required with null, a null that the caller's schema does not take is left out again;
where enums had to be strings, their values become what they were. Everything else stays as the model wrote it.
"""

from __future__ import annotations

import msgspec

from fluxrpc.protocols.schema.openapi import to_json_schema
from fluxrpc.protocols.schema.profile import PLAIN
from fluxrpc.protocols.schema.references import References, Unsayable
from fluxrpc.protocols.schema.unions import takes_null
from fluxrpc.protocols.schema.vocabulary import Fields, encoded, entries, fields, kind, text_of, texts_of
from fluxrpc.v1.tool_pb2 import SCHEMA_DIALECT_OPENAPI_SUBSET, SchemaDialect

__all__ = ["restored"]

_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_MAX_REFERENCES = 16
"""References that only name references."""


def restored(arguments_json: str, schema_json: str, dialect: SchemaDialect.ValueType) -> str:
    """The arguments as the caller's schema has them; the very same text where nothing has to change.

    Whatever cannot be read (invalid JSON, a schema that names nothing) is left as it is.
    """
    try:
        given = msgspec.Raw(arguments_json.strip().encode())
        _OBJECT.decode(given)
        schema = msgspec.Raw(schema_json.strip().encode())
        if dialect == SCHEMA_DIALECT_OPENAPI_SUBSET:
            schema = to_json_schema(schema)
        root = fields(schema)
        done = _Restoring(root).value(given, root)
    except (msgspec.MsgspecError, IndexError, RecursionError, Unsayable):
        return arguments_json
    return arguments_json if done is given else bytes(done).decode()


class _Restoring:
    def __init__(self, root: Fields) -> None:
        self._references = References(root, PLAIN)

    def value(self, value: msgspec.Raw, schema: Fields) -> msgspec.Raw:
        schema = self._followed(schema)
        match kind(value):
            case "object":
                return self._object(value, schema)
            case "array":
                items = entries(value)
                of_items = fields(schema.get("items"))
                done = [self.value(item, of_items) for item in items]
                return value if done == items else encoded(done)
            case "string":
                return _of_enum(value, schema)
        return value

    def _object(self, value: msgspec.Raw, schema: Fields) -> msgspec.Raw:
        properties = fields(schema.get("properties"))
        required = texts_of(schema.get("required"))
        given = fields(value)
        done: Fields = {}
        for name, each in given.items():
            of_property = self._followed(fields(properties.get(name)))
            is_ours = name not in required and name in properties and not takes_null(of_property)
            if not (is_ours and kind(each) == "null"):
                done[name] = self.value(each, of_property)
        return value if done == given else encoded(done)

    def _followed(self, schema: Fields) -> Fields:
        for _ in range(_MAX_REFERENCES):
            if "$ref" not in schema:
                return schema
            schema = self._references.target(text_of(schema["$ref"]), "")
        return {}


def _of_enum(value: msgspec.Raw, schema: Fields) -> msgspec.Raw:
    values = entries(schema.get("enum")) or [schema[key] for key in ("const",) if key in schema]
    if value in values:
        return value
    return next((each for each in values if bytes(each).decode() == text_of(value)), value)
