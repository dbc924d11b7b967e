"""The words of OpenAI Responses and what they are in the IR: tables in both directions, shared by readers and writers.

No rules stand here. Invariant: each word has one value and each value one word; what has no row is `OTHER` with the
word beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from google.protobuf.duration_pb2 import Duration

from fluxrpc.v1 import message_pb2 as request_pb
from fluxrpc.v1 import part_pb2 as part_pb
from fluxrpc.v1 import tool_pb2 as tool_pb
from fluxrpc.v1.protocol_pb2 import PROTOCOL_RESPONSES, Extra

__all__ = [
    "CHOICE_MODES",
    "DETAILS",
    "DISPLAYS",
    "EFFORTS",
    "HOSTED_TOOLS",
    "ITEM",
    "OUTPUT_KINDS",
    "PHASES",
    "ROLES",
    "SEARCH_SIZES",
    "SYNTAXES",
    "TIERS",
    "TTLS",
    "VENDOR_TOOLS",
    "VERBOSITIES",
    "Words",
    "extra",
    "extras_of",
    "find_extra",
    "nearest_ttl",
]

ITEM = "item."
"""Begins the keys of extras that a part of a message carries for the item around it, on the item's last part."""


class Words:
    """One vocabulary."""

    __slots__ = ("_names", "_other", "_values")

    def __init__(self, values: Mapping[str, int], other: int) -> None:
        self._values = values
        self._names = {value: word for word, value in values.items()}
        self._other = other

    def read(self, word: str | None) -> tuple[int, str]:
        """Value and raw word; 0 and "" for none."""
        if word is None:
            return 0, ""
        value = self._values.get(word)
        return (self._other, word) if value is None else (value, "")

    def write(self, value: int, raw: str) -> str:
        """The word; "" where there is none."""
        return raw if value == self._other else self._names.get(value, "")


ROLES = {
    "system": request_pb.ROLE_SYSTEM,
    "developer": request_pb.ROLE_DEVELOPER,
    "user": request_pb.ROLE_USER,
    "assistant": request_pb.ROLE_ASSISTANT,
}
PHASES = Words(
    {"commentary": part_pb.TEXT_PHASE_COMMENTARY, "final_answer": part_pb.TEXT_PHASE_FINAL_ANSWER},
    part_pb.TEXT_PHASE_OTHER,
)
DETAILS = Words(
    {
        "auto": part_pb.MEDIA_DETAIL_AUTO,
        "low": part_pb.MEDIA_DETAIL_LOW,
        "high": part_pb.MEDIA_DETAIL_HIGH,
        "original": part_pb.MEDIA_DETAIL_ORIGINAL,
    },
    part_pb.MEDIA_DETAIL_OTHER,
)
TIERS = Words(
    {
        "auto": request_pb.SERVICE_TIER_AUTO,
        "default": request_pb.SERVICE_TIER_STANDARD,
        "flex": request_pb.SERVICE_TIER_FLEX,
        "priority": request_pb.SERVICE_TIER_PRIORITY,
        "fast": request_pb.SERVICE_TIER_FAST,
        "ultrafast": request_pb.SERVICE_TIER_ULTRAFAST,
        "scale": request_pb.SERVICE_TIER_SCALE,
    },
    request_pb.SERVICE_TIER_OTHER,
)
VERBOSITIES = Words(
    {
        "low": request_pb.VERBOSITY_LOW,
        "medium": request_pb.VERBOSITY_MEDIUM,
        "high": request_pb.VERBOSITY_HIGH,
    },
    request_pb.VERBOSITY_OTHER,
)
DISPLAYS = Words(
    {
        "auto": request_pb.REASONING_DISPLAY_SUMMARY,
        "concise": request_pb.REASONING_DISPLAY_CONCISE_SUMMARY,
        "detailed": request_pb.REASONING_DISPLAY_DETAILED_SUMMARY,
    },
    request_pb.REASONING_DISPLAY_OTHER,
)
EFFORTS = Words(
    {
        "none": request_pb.REASONING_EFFORT_NONE,
        "minimal": request_pb.REASONING_EFFORT_MINIMAL,
        "low": request_pb.REASONING_EFFORT_LOW,
        "medium": request_pb.REASONING_EFFORT_MEDIUM,
        "high": request_pb.REASONING_EFFORT_HIGH,
        "xhigh": request_pb.REASONING_EFFORT_XHIGH,
        "max": request_pb.REASONING_EFFORT_MAX,
    },
    request_pb.REASONING_EFFORT_OTHER,
)
SEARCH_SIZES = Words(
    {
        "low": tool_pb.SEARCH_CONTEXT_SIZE_LOW,
        "medium": tool_pb.SEARCH_CONTEXT_SIZE_MEDIUM,
        "high": tool_pb.SEARCH_CONTEXT_SIZE_HIGH,
    },
    tool_pb.SEARCH_CONTEXT_SIZE_OTHER,
)
SYNTAXES = Words(
    {"lark": tool_pb.GRAMMAR_SYNTAX_LARK, "regex": tool_pb.GRAMMAR_SYNTAX_REGEX}, tool_pb.GRAMMAR_SYNTAX_OTHER
)
CHOICE_MODES = Words(
    {
        "auto": tool_pb.TOOL_CHOICE_MODE_AUTO,
        "required": tool_pb.TOOL_CHOICE_MODE_REQUIRED,
        "none": tool_pb.TOOL_CHOICE_MODE_NONE,
    },
    tool_pb.TOOL_CHOICE_MODE_OTHER,
)
OUTPUT_KINDS = {
    "text": request_pb.OUTPUT_KIND_TEXT,
    "json_object": request_pb.OUTPUT_KIND_JSON,
    "json_schema": request_pb.OUTPUT_KIND_JSON_SCHEMA,
}
HOSTED_TOOLS: Mapping[str, tool_pb.ServerToolKind.ValueType] = {
    "web_search": tool_pb.SERVER_TOOL_KIND_WEB_SEARCH,
    "file_search": tool_pb.SERVER_TOOL_KIND_FILE_SEARCH,
    "code_interpreter": tool_pb.SERVER_TOOL_KIND_CODE,
    "image_generation": tool_pb.SERVER_TOOL_KIND_IMAGE_GENERATION,
    "tool_search": tool_pb.SERVER_TOOL_KIND_TOOL_SEARCH,
}
"""Tools that the provider runs. `web_search` has older and dated names too."""
VENDOR_TOOLS = frozenset({"computer", "computer_use_preview", "shell", "local_shell", "apply_patch"})
"""Tools that the provider defines and the caller runs."""
TTLS = {"30m": 1800, "12h": 43200}
"""How long entries of the prompt cache live, in seconds."""


def nearest_ttl(ttl: Duration) -> str:
    """The word for a time to live: the shortest that is long enough, else the longest."""
    return next((word for word, seconds in TTLS.items() if ttl.seconds <= seconds), "12h")


def extra(key: str, value_json: str) -> Extra:
    """A field that only this protocol knows."""
    return Extra(protocol=PROTOCOL_RESPONSES, key=key, value_json=value_json)


def extras_of(extras: Iterable[Extra]) -> list[Extra]:
    """Those of this protocol."""
    return [each for each in extras if each.protocol == PROTOCOL_RESPONSES]


def find_extra(extras: Iterable[Extra], key: str) -> str:
    """The value of one of them; "" where it is not there."""
    for each in extras:
        if each.key == key and each.protocol == PROTOCOL_RESPONSES:
            return each.value_json
    return ""
