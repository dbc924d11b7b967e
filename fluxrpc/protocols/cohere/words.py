"""The words of Cohere for what the IR has values for, both ways.

Invariant: a word that is read comes back as it was, by its value or by the `_raw` sibling beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from fluxrpc.protocols.node import Node
from fluxrpc.v1.message_pb2 import (
    CITATION_MODE_ACCURATE,
    CITATION_MODE_FAST,
    CITATION_MODE_OFF,
    CITATION_MODE_ON,
    CITATION_MODE_OTHER,
    REASONING_MODE_OFF,
    REASONING_MODE_ON,
    REASONING_MODE_OTHER,
)
from fluxrpc.v1.part_pb2 import MEDIA_DETAIL_AUTO, MEDIA_DETAIL_HIGH, MEDIA_DETAIL_LOW, MEDIA_DETAIL_OTHER
from fluxrpc.v1.tool_pb2 import TOOL_CHOICE_MODE_NONE, TOOL_CHOICE_MODE_OTHER, TOOL_CHOICE_MODE_REQUIRED

__all__ = [
    "CITATION_MODES",
    "DETAILS",
    "REASONING_MODES",
    "TOOL_CHOICES",
    "Words",
    "object_json",
    "required_text",
    "whole_number",
]

_INT64_LIMIT: Final = 2**63


class Words:
    """One vocabulary: words to values, and the first word of each value back."""

    __slots__ = ("_other", "_values", "_words")

    def __init__(self, values: Mapping[str, int], other: int) -> None:
        self._values = values
        self._other = other
        self._words: dict[int, str] = {}
        for word, value in values.items():
            self._words.setdefault(value, word)

    def read(self, word: str) -> tuple[int, str]:
        """The value, and the word itself where the value does not say it exactly."""
        value = self._values.get(word, self._other)
        return value, "" if self._words.get(value) == word else word

    def written(self, value: int) -> str:
        """The word for a value; "" where there is none."""
        return self._words.get(value, "")


CITATION_MODES: Final = Words(
    MappingProxyType(
        {
            "OFF": CITATION_MODE_OFF,
            "DISABLED": CITATION_MODE_OFF,
            "ENABLED": CITATION_MODE_ON,
            "FAST": CITATION_MODE_FAST,
            "ACCURATE": CITATION_MODE_ACCURATE,
        }
    ),
    CITATION_MODE_OTHER,
)
DETAILS: Final = Words(
    MappingProxyType({"auto": MEDIA_DETAIL_AUTO, "low": MEDIA_DETAIL_LOW, "high": MEDIA_DETAIL_HIGH}),
    MEDIA_DETAIL_OTHER,
)
REASONING_MODES: Final = Words(
    MappingProxyType({"enabled": REASONING_MODE_ON, "disabled": REASONING_MODE_OFF}), REASONING_MODE_OTHER
)
TOOL_CHOICES: Final = Words(
    MappingProxyType({"REQUIRED": TOOL_CHOICE_MODE_REQUIRED, "NONE": TOOL_CHOICE_MODE_NONE}), TOOL_CHOICE_MODE_OTHER
)


def whole_number(node: Node, key: str, *, most: int = _INT64_LIMIT - 1) -> int | None:
    """A whole number that the IR has room for.

    Raises:
        JsonFault: it is none, or beyond `most`.
    """
    number = node.integer(key)
    if number is not None and not -_INT64_LIMIT <= number <= most:
        raise node.fault(key, "a smaller number")
    return number


def required_text(node: Node, key: str) -> str:
    """A string that must be there.

    Raises:
        JsonFault: it is missing, or none.
    """
    found = node.text(key)
    if found is None:
        raise node.fault(key, "a string")
    return found


def object_json(node: Node, key: str) -> str:
    """The text of an object; "" where it is absent.

    Raises:
        JsonFault: it is none.
    """
    if key in node and not node.is_object(key):
        raise node.fault(key, "an object")
    return node.json(key)
