"""Reading single fields of request bodies, with the spelling that the IR cannot say kept for the way back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from fluxrpc.protocols.node import Node, spelling
from fluxrpc.protocols.openai.words import OPENAI
from fluxrpc.v1.protocol_pb2 import Extra

__all__ = ["INT64", "UINT32", "Spelled", "bounded", "extras_of", "json_of", "required_text", "whole_part"]

INT64 = (-(2**63), 2**63 - 1)
UINT32 = (0, 2**32 - 1)


class Spelled(list[Extra]):
    """The spellings of one node of the IR, while it is read."""

    def add(self, key: str, value_json: str) -> None:
        """`key` stood there as `value_json`."""
        self.append(spelling(OPENAI, key, value_json))

    def text(self, node: Node, key: str, prefix: str = "") -> str:
        """A string that the IR does not tell from its absence where it is empty."""
        found = node.text(key)
        if found == "":
            self.add(prefix + key, '""')
        return found or ""


def required_text(node: Node, key: str) -> str:
    """A string that must be there."""
    found = node.text(key)
    if found is None:
        raise node.fault(key, "a string")
    return found


def bounded(node: Node, key: str, limits: tuple[int, int]) -> int | None:
    """A whole number that the IR has room for."""
    found = node.integer(key)
    if found is not None and not limits[0] <= found <= limits[1]:
        raise node.fault(key, f"a whole number from {limits[0]} to {limits[1]}")
    return found


def whole_part(node: Node, kind: str) -> str:
    """The text of an object whose `type` was read already."""
    return msgspec.json.encode({"type": kind, **msgspec.json.decode(node.rest(), type=dict[str, msgspec.Raw])}).decode()


def extras_of(fields: Mapping[str, Any], prefix: str = "") -> list[Extra]:
    """Decoded fields that nobody knows, as extras; null says nothing in an answer."""
    left = {key: msgspec.Raw(msgspec.json.encode(value)) for key, value in fields.items() if value is not None}
    return Node(left).extras(OPENAI, prefix)


def json_of(value: Any) -> str:
    """JSON text of a decoded value."""
    return msgspec.json.encode(value).decode()
