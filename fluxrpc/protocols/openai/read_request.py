"""A request body of OpenAI Chat Completions, or of one of its copies, into the IR.

What the IR says in one way only is kept as a spelling, so that the same protocol gets back the same JSON value. Not
kept: `stream` and `stream_options.include_usage`, which are the caller's business with us, and base64 that is not
canonical.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from fluxrpc.protocols.base import ReadRequest
from fluxrpc.protocols.node import Node
from fluxrpc.protocols.notes import Places
from fluxrpc.protocols.openai.read_messages import MessageReader
from fluxrpc.protocols.openai.read_tools import TOOL_FIELDS, read_tools
from fluxrpc.protocols.openai.wire_fields import INT64, UINT32, Spelled, bounded, json_of, required_text
from fluxrpc.protocols.openai.words import MODALITY, OPENAI, REASONING_MODE, SERVICE_TIER, VERBOSITY, seconds_of_ttl
from fluxrpc.protocols.reasoning import effort_of_word, word_of_effort
from fluxrpc.v1.message_pb2 import (
    OUTPUT_KIND_JSON,
    OUTPUT_KIND_JSON_SCHEMA,
    OUTPUT_KIND_TEXT,
    REASONING_DISPLAY_OMITTED,
    MessageRequest,
    OutputKind,
    ReasoningOptions,
)
from fluxrpc.v1.protocol_pb2 import Extra

__all__ = ["read_request"]

_NUMBERS = ("temperature", "top_p", "presence_penalty", "frequency_penalty")
_COUNTS: Mapping[str, tuple[str, tuple[int, int]]] = {
    "seed": ("seed", INT64),
    "n": ("choice_count", UINT32),
    "top_logprobs": ("top_logprobs", UINT32),
    "top_k": ("top_k", INT64),
}
"""Their field to ours, and what ours has room for. `top_k` is that of vLLM, OpenRouter and others."""
_FLAGS = ("logprobs", "store")
_COUNTED, _FLAGGED = frozenset(_COUNTS), frozenset(_FLAGS)
_FORMATS: Mapping[str, OutputKind.ValueType] = {
    "text": OUTPUT_KIND_TEXT,
    "json_object": OUTPUT_KIND_JSON,
    "json_schema": OUTPUT_KIND_JSON_SCHEMA,
}
_MODES: Mapping[str, bool] = {"implicit": True, "explicit": False}


def read_request(body: bytes, *, version: str = "", places: Places | None = None) -> ReadRequest:  # noqa: ARG001  # this protocol has no versions
    """See `Translator.read_request`."""
    node = Node.root(body)
    spelled = Spelled()
    request = MessageRequest()
    model = node.text("model") or ""
    if "messages" not in node:
        raise node.fault("messages", "a list")
    messages = MessageReader(places)
    for at, each in enumerate(node.nodes("messages")):
        messages.read(each, at, request.messages.add())
    if node.has_any(TOOL_FIELDS):
        read_tools(node, request, spelled, places)
    for keys, read in _GROUPS:
        if node.has_any(keys):
            read(node, request, spelled)
    stream = node.flag("stream") is True
    show_usage = _read_stream_options(node, spelled)
    node.carry(request, OPENAI)
    if spelled:
        request.extras.extend(spelled)
    return ReadRequest(message=request, model=model, stream=stream, show_usage=show_usage)


def _read_limits(node: Node, request: MessageRequest, spelled: Spelled) -> None:
    limit = bounded(node, "max_completion_tokens", INT64)
    old = bounded(node, "max_tokens", INT64)
    if old is not None:
        if limit is None:
            spelled.add("max_tokens", str(old))
        else:
            spelled.append(Extra(protocol=OPENAI, key="max_tokens", value_json=str(old)))
    _set(request, "max_output_tokens", old if limit is None else limit)
    if "stop" not in node:
        return
    if node.is_list("stop"):
        request.stop_sequences.extend(node.texts("stop"))
        if not request.stop_sequences:
            spelled.add("stop", "[]")
    else:
        request.stop_sequences.append(required_text(node, "stop"))
        spelled.add("stop", json_of(request.stop_sequences[0]))


def _read_sampling(node: Node, request: MessageRequest, spelled: Spelled) -> None:  # noqa: ARG001  # one signature
    for name in _NUMBERS:
        _set(request, name, node.number(name))
    if node.has_any(_COUNTED):
        for key, (name, limits) in _COUNTS.items():
            _set(request, name, bounded(node, key, limits))
    if node.has_any(_FLAGGED):
        for name in _FLAGS:
            _set(request, name, node.flag(name))


def _set(request: MessageRequest, name: str, value: float | None) -> None:
    if value is not None:
        setattr(request, name, value)


def _read_output(node: Node, request: MessageRequest, spelled: Spelled) -> None:
    form = node.node("response_format")
    if form is not None:
        _read_format(form, request, spelled)
    verbosity = spelled.text(node, "verbosity")
    if verbosity:
        request.verbosity, request.verbosity_raw = VERBOSITY.read(verbosity)
    is_list = node.is_list("modalities")
    words = node.texts("modalities")
    request.output_modalities.extend(MODALITY.read(word)[0] for word in words)
    if is_list and (not words or any(MODALITY.read(word)[1] for word in words)):
        spelled.add("modalities", json_of(words))
    audio = node.node("audio")
    if audio is not None:
        request.speech.SetInParent()
        if audio.is_text("voice"):
            request.speech.voice = required_text(audio, "voice")
        request.speech.format = spelled.text(audio, "format", "audio.")
        spelled.extend(audio.extras(OPENAI, "audio."))


def _read_format(node: Node, request: MessageRequest, spelled: Spelled) -> None:
    word = required_text(node, "type")
    kind = _FORMATS.get(word)
    if kind is None:
        spelled.append(Extra(protocol=OPENAI, key="response_format.type", value_json=json_of(word)))
        spelled.extend(node.extras(OPENAI, "response_format."))
        return
    form = request.output_format
    form.kind = kind
    if kind == OUTPUT_KIND_JSON_SCHEMA:
        inner = node.node("json_schema")
        if inner is None:
            raise node.fault("json_schema", "an object")
        prefix = "response_format.json_schema."
        form.name = spelled.text(inner, "name", prefix)
        form.description = spelled.text(inner, "description", prefix)
        strict = inner.flag("strict")
        if strict is not None:
            form.strict = strict
        if inner.is_object("schema"):
            form.schema_json = inner.json("schema")
        spelled.extend(inner.extras(OPENAI, prefix))
    spelled.extend(node.extras(OPENAI, "response_format."))


def _read_reasoning(node: Node, request: MessageRequest, spelled: Spelled) -> None:
    """`reasoning_effort`; DeepSeek's `thinking` and OpenRouter's `reasoning` come back just as they were."""
    word = spelled.text(node, "reasoning_effort")
    if word:
        _set_effort(request.reasoning, word)
    if node.is_object("thinking"):
        spelled.add("thinking", found := node.json("thinking"))
        mode = Node.root(found.encode()).text("type") or ""
        request.reasoning.mode, request.reasoning.mode_raw = REASONING_MODE.read(mode)
    if node.is_object("reasoning"):
        spelled.add("reasoning", found := node.json("reasoning"))
        options = Node.root(found.encode())
        _set_effort(request.reasoning, options.text("effort") or "")
        budget = bounded(options, "max_tokens", INT64)
        if budget is not None:
            request.reasoning.budget_tokens = budget
        if options.flag("exclude"):
            request.reasoning.display = REASONING_DISPLAY_OMITTED


def _set_effort(options: ReasoningOptions, word: str) -> None:
    if word:
        options.effort = effort_of_word(word)
        options.effort_raw = "" if word_of_effort(options.effort) == word else word


def _read_envelope(node: Node, request: MessageRequest, spelled: Spelled) -> None:
    """Who asks, what is kept, what it may cost."""
    tier = spelled.text(node, "service_tier")
    if tier:
        request.service_tier, request.service_tier_raw = SERVICE_TIER.read(tier)
    end_user = spelled.text(node, "safety_identifier")
    user = spelled.text(node, "user")
    request.end_user_id = end_user or user
    if user and end_user:
        spelled.append(Extra(protocol=OPENAI, key="user", value_json=json_of(user)))
    elif user:
        spelled.add("user", json_of(user))
    if node.is_object("metadata"):
        labels = _texts_by_key(node, "metadata")
        request.metadata.update(labels)
        if not labels:
            spelled.add("metadata", "{}")
    request.cache.key = spelled.text(node, "prompt_cache_key")
    options = node.node("prompt_cache_options")
    if options is not None:
        _read_cache(options, request, spelled)
    if not request.cache.ListFields():
        request.ClearField("cache")


def _read_cache(node: Node, request: MessageRequest, spelled: Spelled) -> None:
    prefix = "prompt_cache_options."
    mode = spelled.text(node, "mode", prefix)
    if mode in _MODES:
        request.cache.automatic = _MODES[mode]
    elif mode:
        spelled.add(f"{prefix}mode", json_of(mode))
    ttl = spelled.text(node, "ttl", prefix)
    seconds = seconds_of_ttl(ttl)
    if seconds is not None:
        request.cache.ttl.seconds = seconds
    if ttl not in ("", "30m"):
        spelled.add(f"{prefix}ttl", json_of(ttl))
    spelled.extend(node.extras(OPENAI, prefix))


def _texts_by_key(node: Node, key: str) -> dict[str, str]:
    try:
        return msgspec.json.decode(node.json(key), type=dict[str, str])
    except msgspec.ValidationError:
        raise node.fault(key, "an object of strings") from None


def _read_stream_options(node: Node, spelled: Spelled) -> bool:
    """Whether the caller wants to see usage. The other options are kept for a stream of this protocol."""
    options = node.node("stream_options")
    if options is None:
        return False
    show = options.flag("include_usage")
    spelled.extend(options.extras(OPENAI, "stream_options."))
    return show is True


_Group = tuple[frozenset[str], Callable[[Node, MessageRequest, Spelled], None]]
_GROUPS: tuple[_Group, ...] = (
    (frozenset({"max_completion_tokens", "max_tokens", "stop"}), _read_limits),
    (frozenset({*_NUMBERS, *_COUNTS, *_FLAGS}), _read_sampling),
    (frozenset({"response_format", "verbosity", "modalities", "audio"}), _read_output),
    (frozenset({"reasoning_effort", "thinking", "reasoning"}), _read_reasoning),
    (
        frozenset({
            "service_tier", "safety_identifier", "user", "metadata", "prompt_cache_key", "prompt_cache_options",
        }),
        _read_envelope,
    ),
)  # fmt: skip
"""The fields that are read together, and what reads them: most bodies hold few of them."""
