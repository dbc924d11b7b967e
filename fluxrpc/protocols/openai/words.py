"""The words of OpenAI Chat Completions for the enums of the IR, each table read in both directions.

Invariant: `say(*read(word)) == word` for every word, known or not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeVar

from fluxrpc.v1 import message_pb2 as message_pb
from fluxrpc.v1 import part_pb2 as part_pb
from fluxrpc.v1 import tool_pb2 as tool_pb
from fluxrpc.v1 import usage_pb2 as usage_pb
from fluxrpc.v1.protocol_pb2 import PROTOCOL_OPENAI

__all__ = [
    "CONTEXT_SIZE",
    "DETAIL",
    "MODALITY",
    "OPENAI",
    "REASONING_MODE",
    "SERVICE_TIER",
    "SYNTAX",
    "TOOL_CHOICE",
    "VERBOSITY",
    "Words",
    "seconds_of_ttl",
]

OPENAI = PROTOCOL_OPENAI
"""This protocol, as extras and states are tagged with it."""

E = TypeVar("E", bound=int)


class Words(Generic[E]):
    """One enum. `other` is its value for words that are not in the table."""

    def __init__(self, other: E, table: Mapping[str, E]) -> None:
        self._other = other
        self._values = dict(table)
        self._words = {value: word for word, value in reversed(list(table.items()))}

    def read(self, word: str) -> tuple[E, str]:
        """The value, and the raw word where the value does not say it."""
        value = self._values.get(word)
        if value is None:
            return self._other, word
        return value, "" if self._words[value] == word else word

    def say(self, value: E, raw: str = "") -> str:
        """The word; "" where there is none for this value."""
        return raw if raw and self._values.get(raw, self._other) == value else self._words.get(value, "")


SERVICE_TIER = Words(
    message_pb.SERVICE_TIER_OTHER,
    {
        "auto": message_pb.SERVICE_TIER_AUTO,
        "default": message_pb.SERVICE_TIER_STANDARD,
        "flex": message_pb.SERVICE_TIER_FLEX,
        "priority": message_pb.SERVICE_TIER_PRIORITY,
        "fast": message_pb.SERVICE_TIER_FAST,
        "scale": message_pb.SERVICE_TIER_SCALE,
    },
)
VERBOSITY = Words(
    message_pb.VERBOSITY_OTHER,
    {
        "low": message_pb.VERBOSITY_LOW,
        "medium": message_pb.VERBOSITY_MEDIUM,
        "high": message_pb.VERBOSITY_HIGH,
    },
)
REASONING_MODE = Words(
    message_pb.REASONING_MODE_OTHER,
    {
        "disabled": message_pb.REASONING_MODE_OFF,
        "enabled": message_pb.REASONING_MODE_ON,
        "adaptive": message_pb.REASONING_MODE_ADAPTIVE,
        "auto": message_pb.REASONING_MODE_ADAPTIVE,
    },
)
"""DeepSeek's `thinking.type`, and the servers that copied it."""
DETAIL = Words(
    part_pb.MEDIA_DETAIL_OTHER,
    {
        "auto": part_pb.MEDIA_DETAIL_AUTO,
        "low": part_pb.MEDIA_DETAIL_LOW,
        "high": part_pb.MEDIA_DETAIL_HIGH,
        "original": part_pb.MEDIA_DETAIL_ORIGINAL,
    },
)
CONTEXT_SIZE = Words(
    tool_pb.SEARCH_CONTEXT_SIZE_OTHER,
    {
        "low": tool_pb.SEARCH_CONTEXT_SIZE_LOW,
        "medium": tool_pb.SEARCH_CONTEXT_SIZE_MEDIUM,
        "high": tool_pb.SEARCH_CONTEXT_SIZE_HIGH,
    },
)
SYNTAX = Words(
    tool_pb.GRAMMAR_SYNTAX_OTHER,
    {"lark": tool_pb.GRAMMAR_SYNTAX_LARK, "regex": tool_pb.GRAMMAR_SYNTAX_REGEX},
)
TOOL_CHOICE = Words(
    tool_pb.TOOL_CHOICE_MODE_OTHER,
    {
        "auto": tool_pb.TOOL_CHOICE_MODE_AUTO,
        "required": tool_pb.TOOL_CHOICE_MODE_REQUIRED,
        "any": tool_pb.TOOL_CHOICE_MODE_REQUIRED,
        "none": tool_pb.TOOL_CHOICE_MODE_NONE,
    },
)
"""`any` is what Mistral and older copies say for `required`."""
MODALITY = Words(
    usage_pb.MODALITY_OTHER,
    {
        "text": usage_pb.MODALITY_TEXT,
        "image": usage_pb.MODALITY_IMAGE,
        "audio": usage_pb.MODALITY_AUDIO,
    },
)
"""OpenAI knows text and audio; `image` is OpenRouter's."""

_UNIT_SECONDS = {"s": 1, "m": 60, "h": 3600}


def seconds_of_ttl(word: str) -> int | None:
    """Seconds of a time to live such as `30m`; None for what is none."""
    number, unit = word[:-1], _UNIT_SECONDS.get(word[-1:])
    return int(number) * unit if unit and number.isascii() and number.isdecimal() and len(number) < 8 else None
