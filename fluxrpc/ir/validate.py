"""Check a typed request against what the comments of the contract state.

One walk over the request does what holds for every field (enum values are known, JSON is JSON, durations are
positive); `rules` adds what holds for one message. Not a check of what a provider allows: that is the translators'
and the provider's word. A request that passes has one meaning, so translators need no checks of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message as ProtoMessage

from fluxrpc.errors import FieldViolation
from fluxrpc.ir.rules import RULES
from fluxrpc.v1.message_pb2 import MessageRequest

__all__ = ["validate_request"]

_JSON_OBJECTS: Final = frozenset({
    "body_json",
    "data_json",
    "object_json",
    "output_schema_json",
    "parameters_json",
    "schema_json",
})  # fmt: skip
_JSON_VALUES: Final = frozenset({"content_json", "input_json", "value_json"})
# `arguments_json` is missing on purpose: models write invalid JSON, and a conversation must survive it.


def validate_request(request: MessageRequest) -> list[FieldViolation]:
    """Every fault of `request`, in the order of its fields; none = the request is well formed.

    Paths begin at the request itself: `messages[2].parts[0].image`.
    """
    return list(_walk(request, ""))


def _walk(message: ProtoMessage, path: str) -> Iterator[FieldViolation]:
    rule = RULES.get(message.DESCRIPTOR.full_name)
    if rule is not None:
        for place, fault in rule(message):
            yield FieldViolation(path=_join(path, place), message=fault)
    for field, value in message.ListFields():
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            continue
        place = _join(path, field.name)
        if isinstance(value, str | bytes | int | float | ProtoMessage):
            yield from _check(field, value, place)
        else:
            for index, item in enumerate(value):
                yield from _check(field, item, f"{place}[{index}]")


def _check(field: FieldDescriptor, value: Any, path: str) -> Iterator[FieldViolation]:
    """What holds for one value of any field."""
    if isinstance(value, Duration):
        fault = None if value.ToNanoseconds() > 0 else "must be longer than 0"
    elif isinstance(value, ProtoMessage):
        yield from _walk(value, path)
        return
    elif field.enum_type is not None:
        fault = None if value in field.enum_type.values_by_number else f"{value} is not a known {field.enum_type.name}"
    else:
        fault = _json_fault(field.name, value)
    if fault is not None:
        yield FieldViolation(path=path, message=fault)


def _json_fault(name: str, value: Any) -> str | None:
    if name in _JSON_OBJECTS:
        return _decoding_fault(value, dict[str, msgspec.Raw]) if value else None
    if name in _JSON_VALUES:
        return _decoding_fault(value, msgspec.Raw) if value else None
    return None


def _decoding_fault(text: str, kind: Any) -> str | None:
    """Why `text` is not JSON of `kind`; `Raw` reads all of it and keeps nothing."""
    try:
        msgspec.json.decode(text, type=kind)
    except msgspec.ValidationError:
        return "must be a JSON object"
    except msgspec.DecodeError as error:
        return f"is not valid JSON: {error}"
    except RecursionError:
        return "is nested too deeply"
    return None


def _join(path: str, place: str) -> str:
    return ".".join(filter(None, (path, place)))
