"""How Gemini spells things: keys in two spellings, the kinds of parts, and its words for the enums of the IR.

Proto JSON takes `maxOutputTokens` and `max_output_tokens` alike; what we write is always the former.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple, Self, TypeVar

import msgspec

from fluxrpc.protocols.node import Node
from fluxrpc.v1 import message_pb2 as msg
from fluxrpc.v1 import part_pb2, tool_pb2, usage_pb2
from fluxrpc.v1.protocol_pb2 import PROTOCOL_GEMINI

__all__ = [
    "CODE_PARTS",
    "CONTINUED",
    "DETAILS",
    "ENVELOPE",
    "GEMINI",
    "INTEGERS",
    "LEVELS",
    "MODALITIES",
    "NUMBERS",
    "SENTINEL",
    "SERVER_KINDS",
    "SERVER_PARTS",
    "TIERS",
    "TOOL_MODES",
    "TRAFFIC",
    "CamelNode",
    "Knob",
    "as_object",
    "inverse",
    "is_made_up",
    "put_integer",
    "quoted",
]

GEMINI = PROTOCOL_GEMINI
SENTINEL = "skip_thought_signature_validator"
"""Stands for the signature of a call that Gemini did not make (https://ai.google.dev/gemini-api/docs/thought-signatures)."""
ENVELOPE = "Z3cxL"
"""How base64 of an envelope begins. A signature is base64 to the SDKs, which refuse an envelope as it stands."""
CONTINUED = "continued"
"""Key of a spelling: the message stood in the same content as the one before it."""

K = TypeVar("K")
V = TypeVar("V")
_SNAKE = re.compile(r"(?<=[a-z0-9])_([a-z0-9])")
_MADE_UP = re.compile(r"call_gw_\d+_\d+")
_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])


class CamelNode(Node):
    """A node whose keys may be spelt in snake_case."""

    __slots__ = ()

    def __init__(self, fields: dict[str, msgspec.Raw], parent: Node | None = None, key: str = "") -> None:
        if "_" in "".join(fields):
            fields = {_SNAKE.sub(_upper, name): value for name, value in fields.items()}
        super().__init__(fields, parent, key)

    def inner(self, key: str) -> Self:
        """The object under a key that is known to be there."""
        return self.node(key) or self


class Knob(NamedTuple):
    """A number of `generationConfig`: its name there, that in the IR (also of its gate), and its concept."""

    wire: str
    field: str
    code: str
    low: float = 0.0
    high: float = 0.0
    """Both 0: any."""


NUMBERS = (
    Knob("temperature", "temperature", "TEMPERATURE", 0.0, 2.0),
    Knob("topP", "top_p", "TOP_P", 0.0, 1.0),
    Knob("presencePenalty", "presence_penalty", "PRESENCE_PENALTY", -2.0, 2.0),
    Knob("frequencyPenalty", "frequency_penalty", "FREQUENCY_PENALTY", -2.0, 2.0),
)
INTEGERS = (
    Knob("maxOutputTokens", "max_output_tokens", "MAX_OUTPUT_TOKENS"),
    Knob("topK", "top_k", "TOP_K"),
    Knob("candidateCount", "choice_count", "CHOICE_COUNT"),
    Knob("seed", "seed", "SEED"),
    Knob("logprobs", "top_logprobs", "TOP_LOGPROBS", 0, 20),
)

LEVELS = ("minimal", "low", "medium", "high", "xhigh")
"""Words of `thinkingLevel`, in lower case; single models take fewer."""

DETAILS: Mapping[str, part_pb2.MediaDetail.ValueType] = {
    "MEDIA_RESOLUTION_LOW": part_pb2.MEDIA_DETAIL_LOW,
    "MEDIA_RESOLUTION_MEDIUM": part_pb2.MEDIA_DETAIL_MEDIUM,
    "MEDIA_RESOLUTION_HIGH": part_pb2.MEDIA_DETAIL_HIGH,
    "MEDIA_RESOLUTION_ULTRA_HIGH": part_pb2.MEDIA_DETAIL_ORIGINAL,
}
MODALITIES: Mapping[str, usage_pb2.Modality.ValueType] = {
    "TEXT": usage_pb2.MODALITY_TEXT,
    "IMAGE": usage_pb2.MODALITY_IMAGE,
    "AUDIO": usage_pb2.MODALITY_AUDIO,
    "VIDEO": usage_pb2.MODALITY_VIDEO,
    "DOCUMENT": usage_pb2.MODALITY_DOCUMENT,
}
TIERS: Mapping[str, msg.ServiceTier.ValueType] = {
    "standard": msg.SERVICE_TIER_STANDARD,
    "flex": msg.SERVICE_TIER_FLEX,
    "priority": msg.SERVICE_TIER_PRIORITY,
}
TRAFFIC: Mapping[str, msg.ServiceTier.ValueType] = {
    "ON_DEMAND": msg.SERVICE_TIER_STANDARD,
    "ON_DEMAND_FLEX": msg.SERVICE_TIER_FLEX,
    "ON_DEMAND_PRIORITY": msg.SERVICE_TIER_PRIORITY,
    "PROVISIONED_THROUGHPUT": msg.SERVICE_TIER_SCALE,
}
TOOL_MODES: Mapping[str, tool_pb2.ToolChoiceMode.ValueType] = {
    "AUTO": tool_pb2.TOOL_CHOICE_MODE_AUTO,
    "ANY": tool_pb2.TOOL_CHOICE_MODE_REQUIRED,
    "NONE": tool_pb2.TOOL_CHOICE_MODE_NONE,
    "VALIDATED": tool_pb2.TOOL_CHOICE_MODE_VALIDATED,
}
SERVER_KINDS: Mapping[str, tool_pb2.ServerToolKind.ValueType] = {
    "googleSearchRetrieval": tool_pb2.SERVER_TOOL_KIND_WEB_SEARCH,
    "googleSearch": tool_pb2.SERVER_TOOL_KIND_WEB_SEARCH,
    "urlContext": tool_pb2.SERVER_TOOL_KIND_WEB_FETCH,
    "codeExecution": tool_pb2.SERVER_TOOL_KIND_CODE,
    "fileSearch": tool_pb2.SERVER_TOOL_KIND_FILE_SEARCH,
    "googleMaps": tool_pb2.SERVER_TOOL_KIND_MAPS,
}
"""Keys of a Tool object; where two mean the same the later one is written."""
CODE_PARTS = ("executableCode", "codeExecutionResult")
SERVER_PARTS: Mapping[str, tool_pb2.ServerToolKind.ValueType] = {
    "GOOGLE_SEARCH_WEB": tool_pb2.SERVER_TOOL_KIND_WEB_SEARCH,
    "GOOGLE_SEARCH_IMAGE": tool_pb2.SERVER_TOOL_KIND_WEB_SEARCH,
    "URL_CONTEXT": tool_pb2.SERVER_TOOL_KIND_WEB_FETCH,
    "GOOGLE_MAPS": tool_pb2.SERVER_TOOL_KIND_MAPS,
    "FILE_SEARCH": tool_pb2.SERVER_TOOL_KIND_FILE_SEARCH,
}
"""Words of `toolCall.toolType`."""


def inverse(words: Mapping[K, V]) -> dict[V, K]:
    """From a value to its word, the last one where there are several."""
    return {value: word for word, value in words.items()}


def is_made_up(call_id: str) -> bool:
    """Whether an id was made up for a call that came without one: Gemini never sees it."""
    return _MADE_UP.fullmatch(call_id) is not None


def as_object(text: str) -> msgspec.Raw | None:
    """JSON text of an object as it stands, to be embedded; None where it is none."""
    try:
        _OBJECT.decode(text)
    except (msgspec.MsgspecError, RecursionError):
        return None
    return msgspec.Raw(text.encode())


def put_integer(message: Any, field: str, node: Node, key: str) -> None:
    """Read a whole number into a field, where it is there.

    Raises:
        JsonFault: it is none, or the field cannot hold it.
    """
    number = node.integer(key)
    if number is None:
        return
    try:
        setattr(message, field, number)
    except ValueError:
        raise node.fault(key, "a smaller whole number") from None


def quoted(value: object) -> str:
    """A value as JSON text."""
    return msgspec.json.encode(value).decode()


def _upper(match: re.Match[str]) -> str:
    return match.group(1).upper()
