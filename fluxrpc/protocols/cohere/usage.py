"""Token counts of Cohere, as floats. `tokens` counts the whole prompt, `billed_units` only what is charged."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from fluxrpc.protocols.counters import usage, whole
from fluxrpc.protocols.node import Node, merge_extras
from fluxrpc.protocols.notes import Notes
from fluxrpc.protocols.whole_answer import read_loosely
from fluxrpc.v1.protocol_pb2 import PROTOCOL_COHERE, Extra
from fluxrpc.v1.usage_pb2 import Usage

_UNSAYABLE: Final = (
    "cache_write_tokens",
    "reasoning_tokens",
    "tool_use_input_tokens",
    "web_search_requests",
    "web_fetch_requests",
)
"""Counters that Cohere has no place for."""


class _Tokens(msgspec.Struct):
    input_tokens: Any = None
    output_tokens: Any = None


class WireUsage(msgspec.Struct):
    """`usage` as it stands on the wire."""

    tokens: _Tokens | None = None
    billed_units: msgspec.Raw = msgspec.Raw(b"")
    cached_tokens: Any = None


_KNOWN: Final = frozenset({"tokens", "billed_units", "cached_tokens", "input_tokens", "output_tokens"})
_FIELDS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_NULL: Final = msgspec.Raw(b"null")
USAGE = msgspec.json.Decoder(WireUsage)


def to_usage(wire: WireUsage) -> Usage:
    """The counters in our words; billed units are an extra."""
    tokens = wire.tokens or _Tokens()
    counts = usage(whole(tokens.input_tokens), whole(tokens.output_tokens), cache_read=wire.cached_tokens)
    billed = bytes(wire.billed_units).decode()
    if billed not in ("", "null"):
        counts.extras.append(Extra(protocol=PROTOCOL_COHERE, key="billed_units", value_json=billed))
    return counts


def read_usage(text: msgspec.Raw) -> Usage | None:
    """The counters of a `usage`; None where it is absent or odd."""
    wire = read_loosely(USAGE, text)
    if wire is None:
        return None
    found = to_usage(wire)
    fields = read_loosely(_FIELDS, text) or {}
    found.extras.extend(_rest(fields, ""))
    found.extras.extend(_rest(read_loosely(_FIELDS, fields.get("tokens", _NULL)) or {}, "tokens."))
    return found


def _rest(fields: dict[str, msgspec.Raw], prefix: str) -> list[Extra]:
    """Counters that are newer than this code."""
    return Node({key: fields[key] for key in fields if key not in _KNOWN}).extras(PROTOCOL_COHERE, prefix)


def written_usage(usage: Usage, notes: Notes) -> dict[str, Any]:
    """`usage`; what was billed is told only where Cohere itself told it."""
    tokens = {name: getattr(usage, name) for name in ("input_tokens", "output_tokens") if usage.HasField(name)}
    fields: dict[str, Any] = {"tokens": tokens} if tokens else {}
    if usage.HasField("cache_read_tokens"):
        fields["cached_tokens"] = usage.cache_read_tokens
    for name in _UNSAYABLE:
        if getattr(usage, name):
            notes.dropped("USAGE_DETAIL", f"usage.{name}")
    notes.foreign_extras(usage.extras, PROTOCOL_COHERE, "usage", "USAGE_DETAIL")
    merge_extras(fields, usage.extras, PROTOCOL_COHERE)
    return fields
