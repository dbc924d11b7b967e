"""Token counts of Gemini. The answer there leaves thoughts out, the prompt leaves tool results out; ours hold them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from fluxrpc.ir.presence import present
from fluxrpc.protocols.counters import total, usage, whole
from fluxrpc.protocols.gemini.wire import GEMINI, MODALITIES, TRAFFIC, inverse
from fluxrpc.protocols.node import merge_extras
from fluxrpc.protocols.notes import Notes
from fluxrpc.protocols.whole_answer import read_loosely, says_something
from fluxrpc.v1.message_pb2 import SERVICE_TIER_OTHER, SERVICE_TIER_UNSPECIFIED, ServiceTier
from fluxrpc.v1.usage_pb2 import MODALITY_OTHER, ModalityTokens, Usage

ABSENT = msgspec.Raw(b"")
"""No JSON at all."""


class _Detail(msgspec.Struct, rename="camel"):
    modality: str | None = None
    token_count: Any = None


class WireUsage(msgspec.Struct, rename="camel"):
    """`usageMetadata` as it stands on the wire. Counters that are zero are left out there."""

    prompt_token_count: Any = None
    tool_use_prompt_token_count: Any = None
    candidates_token_count: Any = None
    thoughts_token_count: Any = None
    cached_content_token_count: Any = None
    total_token_count: Any = None
    prompt_tokens_details: msgspec.Raw = ABSENT
    candidates_tokens_details: msgspec.Raw = ABSENT
    cache_tokens_details: msgspec.Raw = ABSENT
    tool_use_prompt_tokens_details: msgspec.Raw = ABSENT
    traffic_type: Any = None


USAGE = msgspec.json.Decoder(WireUsage)
_DETAILS = msgspec.json.Decoder(list[_Detail])


def to_usage(wire: WireUsage) -> Usage:
    """The counters in our words."""
    candidates = wire.candidates_token_count
    if candidates is None and wire.thoughts_token_count is not None:
        candidates = 0
    counts = usage(
        total(wire.prompt_token_count, wire.tool_use_prompt_token_count),
        total(candidates, wire.thoughts_token_count),
        total_tokens=whole(wire.total_token_count),
        cache_read=wire.cached_content_token_count,
        reasoning=wire.thoughts_token_count,
    )
    if (tool_use := whole(wire.tool_use_prompt_token_count)) is not None:
        counts.tool_use_input_tokens = tool_use
    for name, text in (
        ("input_modalities", wire.prompt_tokens_details),
        ("output_modalities", wire.candidates_tokens_details),
    ):
        if text is not ABSENT:
            getattr(counts, name).extend(_modalities(text))
    for key, text in (
        ("cacheTokensDetails", wire.cache_tokens_details),
        ("toolUsePromptTokensDetails", wire.tool_use_prompt_tokens_details),
    ):
        if text is not ABSENT and says_something(text):
            counts.extras.add(protocol=GEMINI, key=key, value_json=bytes(text).decode())
    return counts


def served_tier(wire: WireUsage | None) -> tuple[ServiceTier.ValueType, str]:
    """The tier that served the answer, and the word for it where the tier does not say it."""
    word = wire.traffic_type if wire and isinstance(wire.traffic_type, str) else ""
    tier = TRAFFIC.get(word, SERVICE_TIER_OTHER if word else SERVICE_TIER_UNSPECIFIED)
    return tier, word if tier == SERVICE_TIER_OTHER else ""


def written_usage(usage: Usage, notes: Notes, traffic: str = "") -> dict[str, Any]:
    """`usageMetadata`: thoughts and results of tools taken out again. Counters that are not known stay away."""
    wire: dict[str, Any] = {}
    said = present(usage)
    if "input_tokens" in said:
        wire["promptTokenCount"] = max(0, usage.input_tokens - usage.tool_use_input_tokens)
    if "output_tokens" in said:
        candidates = max(0, usage.output_tokens - usage.reasoning_tokens)
        if candidates or not usage.reasoning_tokens:
            wire["candidatesTokenCount"] = candidates
    for name, key in _COUNTERS.items():
        if name in said:
            wire[key] = getattr(usage, name)
    if not said.isdisjoint(_MODALITIES):
        wire.update(_written_modalities(usage))
    if traffic:
        wire["trafficType"] = traffic
    for name in sorted(_UNSAID & said):
        notes.dropped("USAGE_DETAIL", f"usage.{name}")
    if "extras" in said:
        notes.foreign_extras(usage.extras, GEMINI, "usage", "USAGE_DETAIL")
        merge_extras(wire, usage.extras, GEMINI)
    return wire


def _written_modalities(usage: Usage) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    for key, modalities in (
        ("promptTokensDetails", usage.input_modalities),
        ("candidatesTokensDetails", usage.output_modalities),
    ):
        if modalities:
            yield (
                key,
                [
                    {"modality": _MODALITY_WORDS.get(each.modality) or each.modality_raw, "tokenCount": each.tokens}
                    for each in modalities
                ],
            )


def _modalities(text: msgspec.Raw) -> list[ModalityTokens]:
    found: list[ModalityTokens] = []
    for each in read_loosely(_DETAILS, text) or ():
        word = each.modality or ""
        modality = MODALITIES.get(word, MODALITY_OTHER)
        raw = word if modality == MODALITY_OTHER else ""
        found.append(ModalityTokens(modality=modality, modality_raw=raw, tokens=whole(each.token_count) or 0))
    return found


_COUNTERS = {
    "cache_read_tokens": "cachedContentTokenCount",
    "reasoning_tokens": "thoughtsTokenCount",
    "tool_use_input_tokens": "toolUsePromptTokenCount",
    "total_tokens": "totalTokenCount",
}
_MODALITIES = frozenset({"input_modalities", "output_modalities"})
_UNSAID = frozenset({"cache_write_tokens", "web_search_requests", "web_fetch_requests"})
_MODALITY_WORDS = inverse(MODALITIES)
