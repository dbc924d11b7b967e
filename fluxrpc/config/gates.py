"""The `gates` of a route: what its model refuses or demands, where the built-in data has it otherwise.

What is allowed there is read off `fluxrpc.protocols.gates.Gates` itself: a gate that is added to it can be set at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from msgspec.structs import fields

from fluxrpc.config.nodes import MappingNode, Node, ScalarNode, join
from fluxrpc.config.sections import ABSENT, Reading, nearest
from fluxrpc.config.values import Unfit, read_count, read_flag, read_name
from fluxrpc.protocols.gates import EFFORTS, Gates

__all__ = ["read_gates"]

_REFUSABLE = frozenset(
    {
        "temperature", "top_p", "top_k", "presence_penalty", "frequency_penalty", "choice_count", "stop_sequences",
        "logprobs", "seed", "safety_mode_off", "cache_breakpoint",
    }
)  # fmt: skip
_NAMES: Mapping[str, frozenset[str]] = {
    "refused": _REFUSABLE,
    "refused_while_reasoning": _REFUSABLE,
    "ignored": _REFUSABLE,
    "efforts": frozenset(EFFORTS),
}
"""What the members of each list may be."""
_SCALARS: Mapping[Any, Callable[[ScalarNode], Any]] = {bool: read_flag, int: read_count, str: read_name}
_GATES = {gate.name: gate.type for gate in fields(Gates)}


def read_gates(route: MappingNode, reading: Reading, path: str) -> Mapping[str, Any]:
    """The gates that a route sets."""
    place = join(path, "gates")
    node = route.entries.get("gates")
    mapping = None if node is None else reading.mapping(node, place)
    if mapping is None:
        return MappingProxyType({})
    reading.keys(mapping, place, allowed=_GATES)
    read = {
        name: _read_gate(name, entry, reading, join(place, name))
        for name, entry in mapping.entries.items()
        if name in _GATES
    }
    return MappingProxyType({name: value for name, value in read.items() if value is not ABSENT})


def _read_gate(name: str, node: Node, reading: Reading, path: str) -> Any:
    if name not in _NAMES:
        return reading.scalar(node, _SCALARS[_GATES[name]], path)

    def known(scalar: ScalarNode) -> str:
        word = read_name(scalar)
        if word not in _NAMES[name]:
            raise Unfit(f"unknown{nearest(word, _NAMES[name])}")
        return word

    return list(reading.several(node, known, path))
