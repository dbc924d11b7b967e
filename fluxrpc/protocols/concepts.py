"""What a request or an answer can say, as far as some protocol cannot say it: the codes of translation notes.

One row for each concept. What becomes of it in a protocol stands in that protocol's `fates`; both together drive the
notes of the writers, strict fidelity and `docs/translation.md`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

__all__ = ["CONCEPTS", "Concept"]


class Concept(NamedTuple):
    """One row."""

    code: str
    """Stable, UPPER_SNAKE: what programs look for."""
    title: str
    """For people."""
    semantic: bool = True
    """Dropping or approximating it changes what is asked or answered: strict callers do not want that."""


_ROWS = (
    # --- the envelope of a request ---
    Concept("END_USER_ID", "id of the end user", semantic=False),
    Concept("METADATA", "labels kept with the request", semantic=False),
    Concept("STORE", "storing the answer at the provider", semantic=False),
    Concept("SERVICE_TIER", "service tier", semantic=False),
    Concept("PROVIDER_STATE", "state held by one provider (earlier answers, conversations, caches, containers)"),
    # --- instructions and roles ---
    Concept("INSTRUCTION_RANK", "developer instructions told apart from system instructions", semantic=False),
    Concept("LATE_INSTRUCTIONS", "instructions in the middle of a conversation"),
    Concept("INSTRUCTION_MEDIA", "images and documents in instructions"),
    Concept("PARTICIPANT_NAME", "name of a speaker"),
    Concept("FIRST_TURN", "a conversation that the model begins"),
    Concept("PREFILL", "an answer that is begun for the model"),
    Concept("EMPTY_CONTENT", "empty text", semantic=False),
    Concept("TEXT_PHASE", "plan, commentary and final answer told apart", semantic=False),
    # --- content ---
    Concept("IMAGE", "images"),
    Concept("IMAGE_URL", "images by URL"),
    Concept("MEDIA_TYPE", "media types beyond the common ones"),
    Concept("IMAGE_DETAIL", "how closely an image is looked at", semantic=False),
    Concept("AUDIO", "sound"),
    Concept("VIDEO", "moving images"),
    Concept("DOCUMENT", "documents"),
    Concept("DOCUMENT_URL", "documents by URL"),
    Concept("DOCUMENT_PARTS", "documents in passages, search results"),
    Concept("DOCUMENT_DATA", "documents as records"),
    Concept("DOCUMENT_CITATIONS", "whether a document may be cited"),
    Concept("DOCUMENT_TITLE", "title, source and context of a document", semantic=False),
    Concept("FILE_ID", "files held by one provider"),
    Concept("FILE_NAME", "file names", semantic=False),
    Concept("REFUSAL_HISTORY", "earlier refusals"),
    Concept("CITATION_HISTORY", "citations of earlier answers", semantic=False),
    Concept("RAW_PART", "parts that one protocol knows"),
    Concept("EXTRA_FIELD", "fields that one protocol knows"),
    Concept("COMPACTION", "compacted history"),
    # --- tools ---
    Concept("TOOLS", "tools that the caller runs"),
    Concept("TOOL_NAME", "tool names beyond the common rules", semantic=False),
    Concept("TOOL_STRICT", "arguments that must match their schema", semantic=False),
    Concept("TOOL_SCHEMA", "keywords of argument schemas"),
    Concept("SCHEMA_ANNOTATION", "titles, defaults and unknown words in schemas", semantic=False),
    Concept("TOOL_OUTPUT_SCHEMA", "schema of a tool's result", semantic=False),
    Concept("TOOL_DEFERRAL", "tools that are found by search, and who may call a tool", semantic=False),
    Concept("CUSTOM_TOOL", "tools that take free text"),
    Concept("TOOL_GRAMMAR", "grammar of free text"),
    Concept("SERVER_TOOL", "tools that the provider runs"),
    Concept("SERVER_TOOL_OPTIONS", "options of the provider's tools"),
    Concept("SERVER_TOOL_HISTORY", "earlier calls of the provider's tools, and their results"),
    Concept("PROVIDER_TOOL", "tools that the provider defines and the caller runs"),
    Concept("MCP_SERVER", "remote MCP servers"),
    Concept("TOOL_CHOICE", "forcing or restricting the choice of tools"),
    Concept("TOOL_CHOICE_NAMED", "forcing one tool"),
    Concept("TOOL_CHOICE_ALLOWED", "restricting the choice to some tools"),
    Concept("PARALLEL_TOOL_CALLS", "forbidding parallel calls"),
    Concept("MAX_TOOL_CALLS", "limit of calls of the provider's tools"),
    Concept("TOOL_ARGUMENTS", "arguments that are no JSON object"),
    Concept("TOOL_CALL_ID", "ids of tool calls", semantic=False),
    Concept("TOOL_RESULT_MEDIA", "images and documents in tool results"),
    Concept("TOOL_RESULT_ERROR", "tool results that are errors", semantic=False),
    Concept("TOOL_RESULT_MISSING", "calls without a result"),
    Concept("TOOL_RESULT_ORPHAN", "results without a call"),
    Concept("TOOL_RESULT_ORDER", "order of tool results", semantic=False),
    # --- reasoning ---
    Concept("REASONING_EFFORT", "how hard the model reasons"),
    Concept("REASONING_BUDGET", "tokens for reasoning"),
    Concept("REASONING_MODE", "switching reasoning on or off"),
    Concept("REASONING_DISPLAY", "how much of the reasoning is shown", semantic=False),
    Concept("REASONING_HISTORY", "earlier reasoning", semantic=False),
    Concept("REASONING_STATE", "signatures and encrypted reasoning", semantic=False),
    Concept("REASONING_SUMMARY", "summaries told apart from the reasoning", semantic=False),
    # --- sampling, limits, output ---
    Concept("MAX_OUTPUT_TOKENS", "limit of the answer", semantic=False),
    Concept("TEMPERATURE", "temperature"),
    Concept("TOP_P", "top_p"),
    Concept("TOP_K", "top_k"),
    Concept("PRESENCE_PENALTY", "presence penalty"),
    Concept("FREQUENCY_PENALTY", "frequency penalty"),
    Concept("SEED", "seed"),
    Concept("STOP_SEQUENCES", "stop sequences"),
    Concept("CHOICE_COUNT", "several answers"),
    Concept("LOGPROBS", "probabilities of tokens"),
    Concept("TOP_LOGPROBS", "probabilities of alternative tokens"),
    Concept("VERBOSITY", "verbosity", semantic=False),
    Concept("OUTPUT_SCHEMA", "answers of a schema"),
    Concept("OUTPUT_SCHEMA_KEYWORDS", "keywords of answer schemas"),
    Concept("OUTPUT_SCHEMA_NAME", "name and description of a schema", semantic=False),
    Concept("OUTPUT_SCHEMA_STRICT", "whether answers must match exactly", semantic=False),
    Concept("OUTPUT_JSON", "answers in JSON without a schema"),
    Concept("OUTPUT_ENUM", "answers of one word of a list"),
    Concept("OUTPUT_MODALITIES", "answers in sound or images"),
    Concept("SPEECH", "voice of spoken answers"),
    Concept("RAG_DOCUMENTS", "documents for the whole conversation"),
    Concept("CITATION_MODE", "how statements are linked to documents", semantic=False),
    Concept("CACHE_BREAKPOINT", "breakpoints of the prompt cache", semantic=False),
    Concept("CACHE_OPTIONS", "options of the prompt cache", semantic=False),
    # --- answers ---
    Concept("FINISH_REASON", "why the answer ended", semantic=False),
    Concept("MATCHED_STOP", "which stop sequence was met", semantic=False),
    Concept("FINISH_DETAILS", "explanation of the end", semantic=False),
    Concept("CITATION", "citations"),
    Concept("CITATION_SPAN", "the place of a citation in the answer", semantic=False),
    Concept("ANSWER_REFUSAL", "the model's own words of refusal", semantic=False),
    Concept("ANSWER_REASONING", "reasoning in the answer", semantic=False),
    Concept("ANSWER_LOGPROBS", "probabilities of the answer's tokens", semantic=False),
    Concept("ANSWER_IMAGE", "images in the answer"),
    Concept("ANSWER_AUDIO", "sound in the answer"),
    Concept("ANSWER_SERVER_TOOLS", "calls of the provider's tools in the answer", semantic=False),
    Concept("ANSWER_CHOICES", "several answers in one"),
    Concept("ANSWER_EXTRA", "fields of the answer that one protocol knows", semantic=False),
    Concept("ANSWER_RAW_PART", "parts of the answer that one protocol knows", semantic=False),
    Concept("USAGE_DETAIL", "token counters", semantic=False),
    Concept("LONE_SURROGATE", "half of a surrogate pair", semantic=False),
    Concept("TOOL_CALL_CUT", "calls beyond the first, where only one is allowed"),
)

CONCEPTS: Mapping[str, Concept] = MappingProxyType({row.code: row for row in _ROWS})
"""Every concept by its code."""
