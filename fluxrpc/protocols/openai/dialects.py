"""The copies of OpenAI Chat Completions: what each takes and hands out beyond the original, or does not know of it.

Data, by the name that a service's configuration gives its dialect. A name that is not here is taken for a server that
knows the plain fields and no more. Sources: the providers' API references as of November 2026.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from msgspec import Struct

__all__ = ["DIALECTS", "Dialect", "dialect_of"]


class Dialect(Struct, frozen=True, kw_only=True):
    """One copy. Everything is said of requests."""

    is_original: bool = False
    """It knows what OpenAI alone has: custom tools, allowed tools, cache breakpoints, service tiers, verbosity, …"""
    developer_role: bool = False
    output_schema: bool = True
    web_search: bool = False
    """It takes `web_search_options`."""
    top_k: bool = False
    reasoning_field: str = ""
    """Which field of an assistant message takes earlier reasoning; "" for none."""
    reasoning_only_with_calls: bool = False
    """It wants that field in messages with tool calls, and nowhere else."""
    reasoning_details: bool = False
    """It takes its own `reasoning_details` back."""
    thinking_blocks: bool = False
    """It takes its own `thinking_blocks` back."""
    thought_signatures: bool = False
    """It takes Gemini's signatures in `extra_content`."""
    reasoning_object: bool = False
    """It takes `reasoning: {effort, max_tokens, exclude}` in the place of `reasoning_effort`."""
    thinking_switch: bool = False
    """It takes `thinking: {type}`."""


_ORIGINAL = Dialect(is_original=True, developer_role=True, web_search=True)
_COPY = Dialect()

DIALECTS: Mapping[str, Dialect] = MappingProxyType({
    "": _ORIGINAL,
    "openai": _ORIGINAL,
    "azure": _ORIGINAL,
    # https://api-docs.deepseek.com: JSON mode without schemas; `reasoning_content` goes back with tool calls.
    "deepseek": Dialect(
        output_schema=False,
        reasoning_field="reasoning_content",
        reasoning_only_with_calls=True,
        thinking_switch=True,
    ),
    # https://docs.vllm.ai, OpenAI-compatible server: `reasoning` was `reasoning_content` before.
    "vllm": Dialect(top_k=True, reasoning_field="reasoning"),
    # https://openrouter.ai/docs: `reasoning_details` must go back unchanged.
    "openrouter": Dialect(
        developer_role=True,
        web_search=True,
        top_k=True,
        reasoning_field="reasoning",
        reasoning_details=True,
        reasoning_object=True,
    ),
    # https://ai.google.dev/gemini-api/docs/openai
    "google": Dialect(thought_signatures=True),
    # https://docs.litellm.ai/docs/reasoning_content
    "litellm": Dialect(
        developer_role=True,
        web_search=True,
        top_k=True,
        reasoning_field="reasoning_content",
        thinking_blocks=True,
    ),
})  # fmt: skip
"""Every dialect by its name."""


def dialect_of(name: str) -> Dialect:
    """The dialect of a service."""
    return DIALECTS.get(name, _COPY)
