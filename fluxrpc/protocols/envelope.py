"""Opaque state of one provider on its way through a protocol that has a place for another provider's.

`gw1.<origin protocol>.<service>.<model>.<kind>.<base64url of the octets>`; service and model are percent-encoded, and
so is the provider's own word for the kind, which stands behind the kind's and a `~` where there is one. What is no
envelope is the protocol's own state.

It is neither secret nor signed: a caller could as well have made up the state itself.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from types import MappingProxyType
from urllib.parse import quote, unquote

from fluxrpc.protocols.json_text import JsonFault
from fluxrpc.protocols.media import bytes_of
from fluxrpc.v1.protocol_pb2 import OpaqueKind, OpaqueState
from fluxrpc.v1.protocol_pb2 import Protocol as WireProtocol

__all__ = ["is_replayable", "may_hold_envelope", "seal", "unseal"]

_MARK = "gw1."
_MARKS_IN_BODIES = (b'"gw1.', b'"Z3cxL')  # the latter is base64 of the former
_FIELD_COUNT = 5
_RAW = "~"

_ORIGINS = MappingProxyType({number: name.removeprefix("PROTOCOL_").lower() for name, number in WireProtocol.items()})
_ORIGIN_OF = MappingProxyType({word: number for number, word in _ORIGINS.items()})
_KINDS = MappingProxyType({number: name.removeprefix("OPAQUE_KIND_").lower() for name, number in OpaqueKind.items()})
_KIND_OF = MappingProxyType({word: number for number, word in _KINDS.items()})


def seal(state: OpaqueState) -> str:
    """The envelope for a state. Origins and kinds that are newer than this code are `unspecified` and `other`."""
    kind = _KINDS.get(state.kind, "other")
    if state.kind_raw:
        kind += _RAW + _percent(state.kind_raw)
    origin = _ORIGINS.get(state.origin, "unspecified")
    octets = urlsafe_b64encode(state.value).decode().rstrip("=")
    return f"{_MARK}{origin}.{_percent(state.service)}.{_percent(state.model)}.{kind}.{octets}"


def unseal(text: str) -> OpaqueState | None:
    """The state in an envelope; None where `text` is none (the protocol's own state). Broken envelopes are None too."""
    if not text.startswith(_MARK):
        return None
    fields = text[len(_MARK) :].split(".")
    if len(fields) != _FIELD_COUNT:
        return None
    word, _, kind_raw = fields[3].partition(_RAW)
    origin, kind = _ORIGIN_OF.get(fields[0]), _KIND_OF.get(word)
    if origin is None or kind is None:
        return None
    try:
        value = bytes_of(fields[4], path="")
    except JsonFault:
        return None
    return OpaqueState(
        kind=kind,
        kind_raw=unquote(kind_raw),
        origin=origin,
        service=unquote(fields[1]),
        model=unquote(fields[2]),
        value=value,
    )


def may_hold_envelope(body: bytes) -> bool:
    """Whether an envelope of ours may stand in a body: as it is, or in base64 as Gemini callers get it.

    Its provider would refuse it, so such a body cannot pass as it came.
    """
    return any(mark in body for mark in _MARKS_IN_BODIES)


def is_replayable(state: OpaqueState, origin: WireProtocol.ValueType, service: str = "") -> bool:
    """Whether a state may be sent to a target: its protocol is the origin, and its service where both are known."""
    return state.origin == origin and (not state.service or not service or state.service == service)


def _percent(text: str) -> str:
    """Percent-encoded, the dot too: it parts the fields."""
    return quote(text, safe="").replace(".", "%2E").replace(_RAW, "%7E")
