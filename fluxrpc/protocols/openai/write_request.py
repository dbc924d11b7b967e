"""A request of the IR as a body of OpenAI Chat Completions, for one model and one of the protocol's copies.

Only what the target takes is written; the rest is noted. Stop sequences that it cannot take are left to the undoing of
the answer (`context.stops`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from fluxrpc.protocols.base import WireRequest
from fluxrpc.protocols.context import Context
from fluxrpc.protocols.gates import is_neutral
from fluxrpc.protocols.notes import Notes
from fluxrpc.protocols.openai.native import PATH
from fluxrpc.protocols.openai.words import SERVICE_TIER
from fluxrpc.protocols.openai.write_messages import write_messages
from fluxrpc.protocols.openai.write_output import write_effort, write_output
from fluxrpc.protocols.openai.write_tools import write_tools
from fluxrpc.protocols.openai.writing import Writing
from fluxrpc.v1.message_pb2 import SERVICE_TIER_ULTRAFAST, CitationMode, MessageRequest

__all__ = ["write_request"]

Fields = dict[str, Any]
_MAX_STOPS = 4
_MAX_ID_CHARACTERS = 128
_MAX_LABELS, _MAX_LABEL_KEY, _MAX_LABEL_VALUE = 16, 64, 512
_SAMPLING: Mapping[str, tuple[str, str]] = {
    "temperature": ("temperature", "TEMPERATURE"),
    "top_p": ("top_p", "TOP_P"),
    "presence_penalty": ("presence_penalty", "PRESENCE_PENALTY"),
    "frequency_penalty": ("frequency_penalty", "FREQUENCY_PENALTY"),
    "seed": ("seed", "SEED"),
    "logprobs": ("logprobs", "LOGPROBS"),
    "top_logprobs": ("top_logprobs", "TOP_LOGPROBS"),
    "choice_count": ("n", "CHOICE_COUNT"),
}
"""Our field to theirs, and what a note calls it."""
_JSON_HINT = "Answer in JSON."


def write_request(request: MessageRequest, context: Context, notes: Notes) -> WireRequest:
    """See `Translator.write_request`."""
    writing = Writing(request, context, notes)
    body: Fields = {"model": context.target.model, "messages": write_messages(writing)}
    effort = "" if writing.said.isdisjoint(_EFFORT) else write_effort(writing, body)
    gates = writing.gates
    refused = gates.refused | gates.ignored
    writing.refused = set(refused if effort == "none" else refused | gates.refused_while_reasoning)
    for names, write in _GROUPS:
        if not writing.said.isdisjoint(names):
            write(writing, body)
    _write_stream(writing, body)
    if writing.asks_for_json:
        _hint_at_json(writing, body)
    if "extras" in writing.said:
        extras = [extra for extra in request.extras if extra.key.lstrip("~").partition(".")[0] not in writing.gone]
        writing.merge(body, extras, "")
    return WireRequest(path=PATH, body=msgspec.json.encode(body))


def _write_limits(writing: Writing, body: Fields) -> None:
    request = writing.request
    if request.HasField("max_output_tokens"):
        field = writing.gates.max_tokens_field
        if writing.gates.is_reasoning:
            writing.gone.add("max_tokens")  # refused, even at the side of the new field
        elif writing.is_spelt("max_tokens"):
            field = "max_tokens"
        body[field] = request.max_output_tokens
    stops = list(request.stop_sequences)
    if not stops:
        return
    if "stop_sequences" in writing.refused or len(stops) > _MAX_STOPS:
        writing.notes.emulated("STOP_SEQUENCES", "stop_sequences")
        writing.context.stops = tuple(stops)
        writing.gone.add("stop")
    else:
        body["stop"] = stops


def _write_sampling(writing: Writing, body: Fields) -> None:
    request = writing.request
    for name, (key, code) in _SAMPLING.items():
        if name not in writing.said:
            continue
        value = getattr(request, name)
        if _is_refused(name, value, writing):
            writing.notes.dropped(code, name, minor=is_neutral(name, value))
        else:
            body[key] = value
    if request.HasField("top_k"):
        if writing.dialect.top_k or writing.is_own:
            body["top_k"] = request.top_k
        elif request.top_k:
            writing.notes.dropped("TOP_K", "top_k")


def _is_refused(name: str, value: Any, writing: Writing) -> bool:
    refused = writing.refused
    if name == "choice_count":
        return value > 1 and name in refused
    if name == "top_logprobs":
        return name in refused or "logprobs" in refused
    if name == "top_p" and writing.gates.one_of_temperature_and_top_p and writing.request.HasField("temperature"):
        return True
    return name in refused


def _write_envelope(writing: Writing, body: Fields) -> None:
    """Who asks, what is kept, what it may cost."""
    request = writing.request
    notes = writing.notes
    is_original = writing.dialect.is_original or writing.is_own
    if request.HasField("store"):
        if is_original:
            body["store"] = request.store
        else:
            notes.dropped("STORE", "store")
    if request.service_tier:
        _write_tier(writing, body, is_original=is_original)
    if request.end_user_id:
        if len(request.end_user_id) > _MAX_ID_CHARACTERS and not writing.is_own:
            notes.dropped("END_USER_ID", "end_user_id")
        elif not writing.is_spelt("user"):
            body["safety_identifier" if is_original else "user"] = request.end_user_id
    if request.metadata:
        _write_metadata(writing, body, is_original=is_original)
    if "cache" in writing.said:
        _write_cache(writing, body, is_original=is_original)


def _write_tier(writing: Writing, body: Fields, *, is_original: bool) -> None:
    request = writing.request
    word = SERVICE_TIER.say(request.service_tier, request.service_tier_raw if writing.is_own else "")
    if request.service_tier == SERVICE_TIER_ULTRAFAST:
        writing.notes.approximated("SERVICE_TIER", "service_tier")
        word = "fast"
    if is_original and word:
        body["service_tier"] = word
    else:
        writing.notes.dropped("SERVICE_TIER", "service_tier")


def _write_metadata(writing: Writing, body: Fields, *, is_original: bool) -> None:
    labels = dict(writing.request.metadata)
    if not is_original:
        writing.notes.dropped("METADATA", "metadata")
        return
    if not writing.is_own:
        fitting = [
            (key, value)
            for key, value in sorted(labels.items())
            if len(key) <= _MAX_LABEL_KEY and len(value) <= _MAX_LABEL_VALUE
        ]
        if len(fitting[:_MAX_LABELS]) < len(labels):
            writing.notes.dropped("METADATA", "metadata")
        labels = dict(fitting[:_MAX_LABELS])
    if labels:
        body["metadata"] = labels


def _write_cache(writing: Writing, body: Fields, *, is_original: bool) -> None:
    cache = writing.request.cache
    if cache.key:
        if is_original:
            body["prompt_cache_key"] = cache.key
        else:
            writing.notes.dropped("CACHE_OPTIONS", "cache.key")
    options: Fields = {}
    if cache.HasField("automatic") and (writing.is_own or not cache.automatic):
        options["mode"] = "implicit" if cache.automatic else "explicit"
    if cache.HasField("ttl"):
        options["ttl"] = "30m"
    if not options:
        return
    if is_original and "cache" not in writing.refused:
        body["prompt_cache_options"] = options
        if cache.ttl.seconds not in (0, 1800) and not writing.is_own:
            writing.notes.approximated("CACHE_OPTIONS", "cache.ttl")
    else:
        writing.notes.dropped("CACHE_OPTIONS", "cache")
        writing.gone.add("prompt_cache_options")


def _write_stream(writing: Writing, body: Fields) -> None:
    context = writing.context
    if not context.stream:
        writing.gone.add("stream_options")
        return
    body["stream"] = True
    if context.target.force_usage:
        body["stream_options"] = {"include_usage": True}


def _note_unsayable(writing: Writing, body: Fields) -> None:
    """Fields of the IR that this protocol has nothing for."""
    del body
    request = writing.request
    if request.HasField("max_tool_calls"):
        writing.notes.dropped("MAX_TOOL_CALLS", "max_tool_calls")
    if request.citation_mode not in (CitationMode.CITATION_MODE_UNSPECIFIED, CitationMode.CITATION_MODE_OFF):
        writing.notes.dropped("CITATION_MODE", "citation_mode")
    for field, _ in request.provider_state.ListFields():
        writing.notes.dropped("PROVIDER_STATE", f"provider_state.{field.name}")


_EFFORT = frozenset({"reasoning", "tools"})
_GROUPS: tuple[tuple[frozenset[str], Callable[[Writing, Fields], None]], ...] = (
    (frozenset({"max_output_tokens", "stop_sequences"}), _write_limits),
    (frozenset({*_SAMPLING, "top_k"}), _write_sampling),
    (frozenset({"tools", "tool_choice", "parallel_tool_calls"}), write_tools),
    (frozenset({"output_format", "verbosity", "output_modalities", "speech"}), write_output),
    (frozenset({"store", "service_tier", "end_user_id", "metadata", "cache"}), _write_envelope),
    (frozenset({"max_tool_calls", "citation_mode", "provider_state"}), _note_unsayable),
)
"""The fields that are written together, and what writes them: most requests say few of them."""


def _hint_at_json(writing: Writing, body: Fields) -> None:
    if b"json" not in msgspec.json.encode(body["messages"]).lower():
        writing.notes.injected("OUTPUT_JSON", "output_format")
        body["messages"].insert(0, {"role": "system", "content": _JSON_HINT})
