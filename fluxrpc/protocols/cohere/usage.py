"""Token counts of Cohere, as floats. `tokens` counts the whole prompt, `billed_units` only what is charged."""

from __future__ import annotations

from typing import Any

import msgspec

from fluxrpc.protocols.counters import usage, whole
from fluxrpc.v1.protocol_pb2 import PROTOCOL_COHERE, Extra
from fluxrpc.v1.usage_pb2 import Usage


class _Tokens(msgspec.Struct):
    input_tokens: Any = None
    output_tokens: Any = None


class WireUsage(msgspec.Struct):
    """`usage` as it stands on the wire."""

    tokens: _Tokens | None = None
    billed_units: msgspec.Raw = msgspec.Raw(b"")
    cached_tokens: Any = None


USAGE = msgspec.json.Decoder(WireUsage)


def to_usage(wire: WireUsage) -> Usage:
    """The counters in our words; billed units are an extra."""
    tokens = wire.tokens or _Tokens()
    counts = usage(whole(tokens.input_tokens), whole(tokens.output_tokens), cache_read=wire.cached_tokens)
    billed = bytes(wire.billed_units).decode()
    if billed not in ("", "null"):
        counts.extras.append(Extra(protocol=PROTOCOL_COHERE, key="billed_units", value_json=billed))
    return counts
