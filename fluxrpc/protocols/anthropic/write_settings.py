"""The settings of a request beside tools and reasoning: sampling, limits, the form of the answer, the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from fluxrpc.protocols.anthropic.draft import Draft, cache_control
from fluxrpc.protocols.gates import is_neutral
from fluxrpc.protocols.node import raw
from fluxrpc.protocols.schema import ANTHROPIC_STRICT, convert
from fluxrpc.v1 import message_pb2 as pb
from fluxrpc.v1.usage_pb2 import MODALITY_TEXT

__all__ = ["write_output", "write_settings"]

JSON_SENTENCE = "Answer with one bare JSON object and nothing else: no words around it, no Markdown fence."
"""Asks for JSON where there is no schema: the API binds answers to schemas only."""
ENUM_KEY = "value"
"""The one key of the object that stands for an answer of one word."""


class _Field(NamedTuple):
    """A field of the request that this protocol does not have."""

    name: str
    code: str
    neutral: float | None
    """The value that asks for nothing."""


_UNSAYABLE = (
    _Field("choice_count", "CHOICE_COUNT", 1),
    _Field("seed", "SEED", None),
    _Field("presence_penalty", "PRESENCE_PENALTY", 0),
    _Field("frequency_penalty", "FREQUENCY_PENALTY", 0),
    _Field("logprobs", "LOGPROBS", 0),
    _Field("top_logprobs", "TOP_LOGPROBS", 0),
    _Field("store", "STORE", 0),
    _Field("speech", "SPEECH", None),
)
_TIERS = {
    pb.SERVICE_TIER_AUTO: "auto",
    pb.SERVICE_TIER_STANDARD: "standard_only",
    pb.SERVICE_TIER_PRIORITY: "auto",
    pb.SERVICE_TIER_FAST: "auto",
}
_THINKS = frozenset({"enabled", "adaptive"})
_MAX_ID = 128
_MIN_TOP_P = 0.95
"""With thinking (https://platform.claude.com/docs/en/build-with-claude/extended-thinking#feature-compatibility)."""
_MODES_WITH_LOSS = frozenset({pb.CITATION_MODE_OTHER, pb.CITATION_MODE_FAST, pb.CITATION_MODE_ACCURATE})


def write_settings(draft: Draft) -> None:
    """Fill what is left. `thinking` is decided before: it refuses sampling parameters."""
    for names, write in _WRITERS:
        if not names.isdisjoint(draft.said):
            write(draft)


def _write_identity(draft: Draft) -> None:
    end_user_id = draft.request.end_user_id
    if len(end_user_id) > _MAX_ID and not draft.exact:
        draft.notes.dropped("END_USER_ID", "end_user_id")
    else:
        draft.body["metadata"] = {"user_id": end_user_id}


def _note_unsayable(draft: Draft) -> None:
    """Fields that this protocol has nothing for."""
    request, notes = draft.request, draft.notes
    for field in _UNSAYABLE:
        if field.name in draft.said and getattr(request, field.name) != field.neutral:
            notes.dropped(field.code, field.name)
    if request.verbosity:
        notes.dropped("VERBOSITY", "verbosity")
    if any(modality != MODALITY_TEXT for modality in request.output_modalities):
        notes.dropped("OUTPUT_MODALITIES", "output_modalities")
    if request.metadata:
        notes.dropped("METADATA", "metadata")
    if request.citation_mode in _MODES_WITH_LOSS:
        notes.dropped("CITATION_MODE", "citation_mode")
    if request.HasField("max_tool_calls") and not draft.limits_tools:
        notes.dropped("MAX_TOOL_CALLS", "max_tool_calls")


# --- sampling ---


def _is_refused(draft: Draft, name: str) -> bool:
    gates = draft.gates
    is_thinking = draft.body.get("thinking", {}).get("type") not in ("disabled", "between_tools")
    return name in gates.refused or name in gates.ignored or (is_thinking and name in gates.refused_while_reasoning)


def _write_sampling(draft: Draft) -> None:
    request, notes, said = draft.request, draft.notes, draft.said
    is_thinking = not draft.exact and draft.body.get("thinking", {}).get("type") in _THINKS
    if "temperature" in said:
        if _is_refused(draft, "temperature"):
            _drop(draft, "TEMPERATURE", "temperature")
        elif is_thinking and request.temperature != 1:
            notes.dropped("TEMPERATURE", "temperature", "it must be 1 while the model thinks")
        else:
            draft.body["temperature"] = _clamped(draft, request.temperature)
    if "top_p" in said:
        if _is_refused(draft, "top_p"):
            _drop(draft, "TOP_P", "top_p")
        elif draft.gates.one_of_temperature_and_top_p and "temperature" in draft.body:
            notes.dropped("TOP_P", "top_p", "this model takes either temperature or top_p")
        elif is_thinking and request.top_p < _MIN_TOP_P:
            notes.dropped("TOP_P", "top_p", "it must be at least 0.95 while the model thinks")
        else:
            draft.body["top_p"] = request.top_p
    if "top_k" in said:
        _write_top_k(draft, is_thinking=is_thinking)


def _write_top_k(draft: Draft, *, is_thinking: bool) -> None:
    if _is_refused(draft, "top_k") or is_thinking:
        _drop(draft, "TOP_K", "top_k")
    elif draft.request.top_k or draft.exact:  # elsewhere 0 is off
        draft.body["top_k"] = draft.request.top_k


def _drop(draft: Draft, code: str, name: str) -> None:
    """Leave a number out; where it asks for nothing, that is no loss."""
    draft.notes.dropped(code, name, minor=is_neutral(name, getattr(draft.request, name)))


def _clamped(draft: Draft, temperature: float) -> float:
    if draft.exact or temperature <= 1:
        return temperature
    draft.notes.clamped("TEMPERATURE", "temperature")
    return 1.0


def _write_stops(draft: Draft) -> None:
    stops = []
    for index, stop in enumerate(draft.request.stop_sequences):
        if stop.strip() or draft.exact:
            stops.append(stop)
        else:
            draft.notes.dropped("STOP_SEQUENCES", f"stop_sequences[{index}]")
    if not stops:
        return
    if _is_refused(draft, "stop_sequences"):
        draft.notes.emulated("STOP_SEQUENCES", "stop_sequences")
        draft.context.stops = tuple(stops)
    else:
        draft.body["stop_sequences"] = stops


# --- the form of the answer ---


def write_output(draft: Draft) -> None:
    """Fill `output_config.format`, or ask for JSON among the instructions."""
    output = draft.request.output_format
    notes = draft.notes
    if output.name or output.description:
        notes.dropped("OUTPUT_SCHEMA_NAME", "output_format.name" if output.name else "output_format.description")
    match output.kind:
        case pb.OUTPUT_KIND_JSON:
            notes.emulated("OUTPUT_JSON", "output_format")
            draft.sentences.append(JSON_SENTENCE)
        case pb.OUTPUT_KIND_JSON_SCHEMA:
            if output.HasField("strict") and not output.strict:
                notes.approximated("OUTPUT_SCHEMA_STRICT", "output_format.strict")
            _bind(draft, output.schema_json if draft.exact else _converted(draft))
        case pb.OUTPUT_KIND_ENUM:
            notes.emulated("OUTPUT_ENUM", "output_format")
            draft.context.unwrap_key = ENUM_KEY
            key = msgspec.json.encode(ENUM_KEY).decode()
            _bind(
                draft,
                f'{{"type":"object","properties":{{{key}:{_converted(draft)}}},"required":[{key}],'
                '"additionalProperties":false}',
            )


def _converted(draft: Draft) -> str:
    output = draft.request.output_format
    return convert(
        output.schema_json,
        output.dialect,
        ANTHROPIC_STRICT,
        draft.notes,
        code="OUTPUT_SCHEMA_KEYWORDS",
        path="output_format.schema_json",
    )


def _bind(draft: Draft, schema: str) -> None:
    bound: dict[str, Any] = {"type": "json_schema"}
    if schema:
        bound["schema"] = raw(schema)
    draft.body.setdefault("output_config", {})["format"] = bound


# --- the rest ---


def _write_tier(draft: Draft) -> None:
    tier = draft.request.service_tier
    if draft.exact and tier == pb.SERVICE_TIER_FAST:
        draft.body["speed"] = "fast"
        return
    word = _TIERS.get(tier, draft.request.service_tier_raw if draft.exact else "")
    if not word:
        draft.notes.dropped("SERVICE_TIER", "service_tier")
        return
    if tier in (pb.SERVICE_TIER_PRIORITY, pb.SERVICE_TIER_FAST):
        draft.notes.approximated("SERVICE_TIER", "service_tier")
    draft.body["service_tier"] = word


def _write_cache(draft: Draft) -> None:
    cache = draft.request.cache
    ttl = cache.ttl if cache.HasField("ttl") else None
    if cache.automatic:
        draft.body["cache_control"] = cache_control(ttl, draft.notes, "cache", "CACHE_OPTIONS")
    elif ttl is not None:
        draft.notes.dropped("CACHE_OPTIONS", "cache.ttl")
    if cache.key:
        draft.notes.dropped("CACHE_OPTIONS", "cache.key")


def _write_state(draft: Draft) -> None:
    state = draft.request.provider_state
    for field, value in state.ListFields():
        if field.name == "container_id" and draft.is_at_home:
            draft.body["container"] = value
        else:
            draft.notes.dropped("PROVIDER_STATE", f"provider_state.{field.name}")


_WRITERS: tuple[tuple[frozenset[str], Callable[[Draft], None]], ...] = (
    (frozenset({"temperature", "top_p", "top_k"}), _write_sampling),
    (frozenset({"stop_sequences"}), _write_stops),
    (frozenset({"end_user_id"}), _write_identity),
    (frozenset({"service_tier"}), _write_tier),
    (frozenset({"cache"}), _write_cache),
    (frozenset({"provider_state"}), _write_state),
    (
        frozenset({
            *(field.name for field in _UNSAYABLE),
            "verbosity", "output_modalities", "metadata", "citation_mode", "max_tool_calls",
        }),
        _note_unsayable,
    ),
)  # fmt: skip
"""The fields that are written together, and what writes them: most requests say few of them."""
