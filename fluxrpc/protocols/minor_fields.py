"""Fields of one protocol whose loss is none: those that say nothing, and those that change nothing of an answer.

What a reader does not know it carries as an `Extra`, and a writer of another protocol leaves it out with a note. Most
of such fields mean something, so strict callers do not accept that; the tables here name the others. Keys are those of
`Extra.key`, values are JSON without white space.

Not for fields that the IR says: whether those matter is decided by `concepts`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from fluxrpc.v1.protocol_pb2 import (
    PROTOCOL_ANTHROPIC,
    PROTOCOL_COHERE,
    PROTOCOL_GEMINI,
    PROTOCOL_OPENAI,
    PROTOCOL_RESPONSES,
    Extra,
)
from fluxrpc.v1.protocol_pb2 import Protocol as WireProtocol

__all__ = ["is_minor", "says_nothing"]

_Keys = Mapping[WireProtocol.ValueType, Mapping[str, tuple[str, ...]]]

_NOTHING: _Keys = MappingProxyType({
    PROTOCOL_OPENAI: {
        "stream_options.include_obfuscation": ("true", "false"),
        "logit_bias": ("{}",),
        "annotations": ("[]",),
    },
    PROTOCOL_ANTHROPIC: {"speed": ('"standard"',), "tool_configuration.enabled": ("true",)},
    PROTOCOL_GEMINI: {"safetySettings": ("[]",), "generationConfig.audioTimestamp": ("false",)},
    PROTOCOL_COHERE: {"raw_prompting": ("false",), "priority": ("0",)},
    PROTOCOL_RESPONSES: {
        "stream_options": ('{"include_obfuscation":true}', '{"include_obfuscation":false}', "{}"),
        "background": ("false",),
        "truncation": ('"disabled"',),
        "reasoning.context": ('"auto"',),
        "reasoning.mode": ('"standard"',),
        "require_approval": ('"never"',),
    },
})  # fmt: skip
"""Values of a field that are the default everywhere, or mean nothing outside their protocol (padding of streams)."""

_MINOR: Mapping[WireProtocol.ValueType, frozenset[str]] = MappingProxyType({
    # `user` beside `safety_identifier`, `max_tokens` beside `max_completion_tokens`: the newer of the two is heeded.
    PROTOCOL_OPENAI: frozenset({"user", "max_tokens", "prompt_cache_retention", "annotations"}),
    PROTOCOL_ANTHROPIC: frozenset({
        "diagnostics", "caller", "eager_input_streaming", "transformations", "cache_control.ttl",
    }),
    PROTOCOL_GEMINI: frozenset({
        "generationConfig.mediaResolution", "partMetadata", "toolConfig.includeServerSideToolInvocations",
    }),
    PROTOCOL_COHERE: frozenset({"priority"}),
    PROTOCOL_RESPONSES: frozenset({
        "user", "prompt_cache_retention", "prompt_cache_options.prewarm", "include", "reasoning.generate_summary",
    }),
})  # fmt: skip
"""Fields about cost, caching, diagnosis, display and what was said before: no answer differs in its content."""


def says_nothing(extra: Extra) -> bool:
    """Whether the field could as well be absent."""
    known = _NOTHING.get(extra.protocol, {}).get(extra.key, ())
    return extra.value_json == "null" or (bool(known) and "".join(extra.value_json.split()) in known)


def is_minor(extra: Extra) -> bool:
    """Whether strict callers accept that the field is left out."""
    return extra.key in _MINOR.get(extra.protocol, ())
