"""Opaque state of one provider on its way through a protocol that has a place for another provider's.

`gw1.<origin protocol>.<service>.<model>.<kind>.<base64url of the octets>`; service and model are percent-encoded. What is
no envelope is the protocol's own state.
"""

from __future__ import annotations

from fluxrpc.v1.protocol_pb2 import OpaqueState
from fluxrpc.v1.protocol_pb2 import Protocol as WireProtocol

__all__ = ["is_replayable", "seal", "unseal"]


def seal(state: OpaqueState) -> str:
    """The envelope for a state."""
    raise NotImplementedError


def unseal(text: str) -> OpaqueState | None:
    """The state in an envelope; None where `text` is none (the protocol's own state). Broken envelopes are None too."""
    raise NotImplementedError


def is_replayable(state: OpaqueState, origin: WireProtocol.ValueType, service: str = "") -> bool:
    """Whether a state may be sent to a target: its protocol is the origin, and its service where both are known."""
    raise NotImplementedError
