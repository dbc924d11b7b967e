"""Token counts of OpenAI Chat Completions. Totals include cached and reasoning tokens already."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from fluxrpc.ir.presence import present
from fluxrpc.protocols.counters import usage, whole
from fluxrpc.protocols.node import merge_extras
from fluxrpc.protocols.notes import Notes
from fluxrpc.protocols.openai.wire_fields import extras_of
from fluxrpc.protocols.openai.words import MODALITY, OPENAI
from fluxrpc.v1.usage_pb2 import MODALITY_AUDIO, MODALITY_IMAGE, MODALITY_TEXT, ModalityTokens, Usage


class _PromptDetails(msgspec.Struct):
    cached_tokens: Any = None
    cache_write_tokens: Any = None


class _CompletionDetails(msgspec.Struct):
    reasoning_tokens: Any = None


class WireUsage(msgspec.Struct):
    """`usage` as it stands on the wire."""

    prompt_tokens: Any = None
    completion_tokens: Any = None
    total_tokens: Any = None
    prompt_cache_hit_tokens: Any = None
    """DeepSeek's word for cached tokens."""
    prompt_tokens_details: _PromptDetails | None = None
    completion_tokens_details: _CompletionDetails | None = None


USAGE = msgspec.json.Decoder(WireUsage)

_PROMPT, _COMPLETION = "prompt_tokens_details", "completion_tokens_details"
_MODALITIES: Mapping[str, Any] = {
    "audio_tokens": MODALITY_AUDIO,
    "image_tokens": MODALITY_IMAGE,
    "text_tokens": MODALITY_TEXT,
}
_KNOWN = frozenset({"prompt_tokens", "completion_tokens", "total_tokens", "prompt_cache_hit_tokens"})
_KNOWN_DETAILS = frozenset({"cached_tokens", "cache_write_tokens", "reasoning_tokens", *_MODALITIES})


def to_usage(wire: WireUsage) -> Usage:
    """The counters in our words."""
    prompt = wire.prompt_tokens_details or _PromptDetails()
    completion = wire.completion_tokens_details or _CompletionDetails()
    cached = prompt.cached_tokens
    return usage(
        whole(wire.prompt_tokens),
        whole(wire.completion_tokens),
        total_tokens=whole(wire.total_tokens),
        cache_read=wire.prompt_cache_hit_tokens if cached is None else cached,
        cache_write=prompt.cache_write_tokens,
        reasoning=completion.reasoning_tokens,
    )


def usage_of(value: Any) -> Usage | None:
    """All counters of a decoded `usage`, the unknown ones as extras; None where it is none.

    Odd counters are unknown: they are good to know, and no reason to refuse an answer.
    """
    if not isinstance(value, dict) or not value:
        return None
    details = {key: found for key in (_PROMPT, _COMPLETION) if isinstance(found := value.get(key), dict)}
    prompt, completion = details.get(_PROMPT, {}), details.get(_COMPLETION, {})
    cached = prompt.get("cached_tokens")
    found = usage(
        whole(value.get("prompt_tokens")),
        whole(value.get("completion_tokens")),
        total_tokens=whole(value.get("total_tokens")),
        cache_read=value.get("prompt_cache_hit_tokens") if cached is None else cached,
        cache_write=prompt.get("cache_write_tokens"),
        reasoning=completion.get("reasoning_tokens"),
    )
    if prompt:
        found.input_modalities.extend(_modalities(prompt))
    if completion:
        found.output_modalities.extend(_modalities(completion))
    if unknown := {key: left for key, left in value.items() if key not in _KNOWN and key not in details}:
        found.extras.extend(extras_of(unknown))
    for name, inner in details.items():
        rest = {key: left for key, left in inner.items() if key not in _KNOWN_DETAILS}
        found.extras.extend(extras_of(rest, f"{name}."))
    return found


def write_usage(known: Usage, notes: Notes) -> dict[str, Any]:
    """`usage`: the three totals, which are demanded, and of the rest what is known."""
    said = present(known)
    written: dict[str, Any] = {
        "prompt_tokens": known.input_tokens,
        "completion_tokens": known.output_tokens,
        "total_tokens": known.total_tokens if "total_tokens" in said else known.input_tokens + known.output_tokens,
    }
    if said <= _TOTALS:
        return written
    prompt = {theirs: getattr(known, ours) for ours, theirs in _PROMPT_DETAILS.items() if ours in said}
    prompt |= _modality_counts(known.input_modalities)
    completion = {theirs: getattr(known, ours) for ours, theirs in _COMPLETION_DETAILS.items() if ours in said}
    completion |= _modality_counts(known.output_modalities)
    if prompt:
        written[_PROMPT] = prompt
    if completion:
        written[_COMPLETION] = completion
    merge_extras(written, known.extras, OPENAI)
    if not said.isdisjoint(_UNSAYABLE) or _has_foreign(known):
        notes.dropped("USAGE_DETAIL", "usage")
    return written


_TOTALS = frozenset({"input_tokens", "output_tokens", "total_tokens"})
_PROMPT_DETAILS: Mapping[str, str] = {
    "cache_read_tokens": "cached_tokens",
    "cache_write_tokens": "cache_write_tokens",
}
_COMPLETION_DETAILS: Mapping[str, str] = {"reasoning_tokens": "reasoning_tokens"}
_UNSAYABLE = frozenset({"cache_writes", "tool_use_input_tokens", "web_search_requests", "web_fetch_requests"})


def _modalities(details: Mapping[str, Any]) -> list[ModalityTokens]:
    counts = [(modality, whole(details.get(key))) for key, modality in _MODALITIES.items()]
    return [ModalityTokens(modality=modality, tokens=count) for modality, count in counts if count is not None]


def _modality_counts(counts: Any) -> dict[str, int]:
    words = [(MODALITY.say(count.modality), count.tokens) for count in counts]
    return {f"{word}_tokens": tokens for word, tokens in words if word}


def _has_foreign(known: Usage) -> bool:
    modalities = (*known.input_modalities, *known.output_modalities)
    return any(not MODALITY.say(count.modality) for count in modalities) or any(
        extra.protocol != OPENAI for extra in known.extras
    )
