"""What becomes of each concept that OpenAI Chat Completions cannot say, and how it names the fields of the IR."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from fluxrpc.protocols.notes import Fates
from fluxrpc.v1.outcome_pb2 import (
    NOTE_ACTION_APPROXIMATED,
    NOTE_ACTION_CLAMPED,
    NOTE_ACTION_DROPPED,
    NOTE_ACTION_EMULATED,
    NOTE_ACTION_INJECTED,
    NOTE_ACTION_RENAMED,
    NOTE_ACTION_REORDERED,
)

__all__ = ["FATES", "FIELDS"]

_GATED = "this model refuses it"
_ORIGINAL_ONLY = "this server is a copy of OpenAI that does not know it"
_STRICT = {
    NOTE_ACTION_DROPPED: "strict schemas do not take it",
    NOTE_ACTION_APPROXIMATED: "strict schemas say it in another way, or in the description",
    NOTE_ACTION_INJECTED: "strict schemas demand it",
}

FATES: Fates = MappingProxyType({
    # --- the envelope of a request ---
    "END_USER_ID": {NOTE_ACTION_DROPPED: "ids of end users have at most 128 characters"},
    "METADATA": {NOTE_ACTION_DROPPED: "16 labels at most, keys of 64 and values of 512 characters; copies take none"},
    "STORE": {NOTE_ACTION_DROPPED: _ORIGINAL_ONLY},
    "SERVICE_TIER": {
        NOTE_ACTION_DROPPED: "there is no such tier",
        NOTE_ACTION_APPROXIMATED: "the fastest tier is `fast`",
    },
    "PROVIDER_STATE": {NOTE_ACTION_DROPPED: "the state is held by another provider"},
    # --- instructions and roles ---
    "INSTRUCTION_RANK": {NOTE_ACTION_APPROXIMATED: "this server knows system instructions only"},
    "INSTRUCTION_MEDIA": {NOTE_ACTION_DROPPED: "instructions hold text only"},
    "PREFILL": {NOTE_ACTION_DROPPED: "an answer that is begun is not gone on with: the model writes a new one"},
    "TEXT_PHASE": {NOTE_ACTION_DROPPED: "texts are not told apart by what they are for"},
    # --- content ---
    "IMAGE": {NOTE_ACTION_DROPPED: "answers hold text only"},
    "IMAGE_URL": {NOTE_ACTION_DROPPED: "images are read from http and https URLs only"},
    "IMAGE_DETAIL": {
        NOTE_ACTION_DROPPED: "there is no such detail",
        NOTE_ACTION_APPROXIMATED: "there is nothing between low and high: the provider decides",
    },
    "AUDIO": {NOTE_ACTION_DROPPED: "sound is taken as wav or mp3, inline, and from the user only"},
    "VIDEO": {NOTE_ACTION_DROPPED: "there are no moving images"},
    "DOCUMENT": {
        NOTE_ACTION_DROPPED: "answers hold text only",
        NOTE_ACTION_APPROXIMATED: "a document that is text becomes text under its title",
    },
    "DOCUMENT_URL": {NOTE_ACTION_DROPPED: "documents are not read from URLs"},
    "DOCUMENT_PARTS": {NOTE_ACTION_APPROXIMATED: "passages become one text"},
    "DOCUMENT_DATA": {NOTE_ACTION_APPROXIMATED: "a record becomes text"},
    "DOCUMENT_CITATIONS": {NOTE_ACTION_DROPPED: "documents are not cited"},
    "DOCUMENT_TITLE": {NOTE_ACTION_DROPPED: "a file has a name, no source and no context"},
    "FILE_ID": {NOTE_ACTION_DROPPED: "the file is held by another provider, or is an image"},
    "CITATION_HISTORY": {NOTE_ACTION_DROPPED: "earlier answers have no citations"},
    "RAW_PART": {NOTE_ACTION_DROPPED: "only the protocol that it came from knows it"},
    "EXTRA_FIELD": {NOTE_ACTION_DROPPED: "only the protocol that it came from knows it"},
    "COMPACTION": {
        NOTE_ACTION_DROPPED: "conversations are not compacted",
        NOTE_ACTION_APPROXIMATED: "the summary stands as text",
    },
    # --- tools ---
    "TOOLS": {NOTE_ACTION_DROPPED: "this model takes no tools here"},
    "TOOL_NAME": {NOTE_ACTION_RENAMED: "names are letters, digits, `_` and `-`, at most 64; undone in the answer"},
    "TOOL_SCHEMA": _STRICT,
    "SCHEMA_ANNOTATION": {
        NOTE_ACTION_DROPPED: _STRICT[NOTE_ACTION_DROPPED],
        NOTE_ACTION_APPROXIMATED: _STRICT[NOTE_ACTION_APPROXIMATED],
    },
    "TOOL_OUTPUT_SCHEMA": {NOTE_ACTION_DROPPED: "results have no schema"},
    "TOOL_DEFERRAL": {NOTE_ACTION_DROPPED: "the model sees every tool, and is the only one to call it"},
    "CUSTOM_TOOL": {NOTE_ACTION_EMULATED: "it becomes a function that takes one string"},
    "TOOL_GRAMMAR": {NOTE_ACTION_DROPPED: "a function's string follows no grammar"},
    "SERVER_TOOL": {NOTE_ACTION_DROPPED: "the provider runs web searches only, and most copies not even those"},
    "SERVER_TOOL_OPTIONS": {NOTE_ACTION_DROPPED: "a web search takes a location and a size only"},
    "SERVER_TOOL_HISTORY": {NOTE_ACTION_DROPPED: "calls of the provider's tools are not told"},
    "PROVIDER_TOOL": {NOTE_ACTION_DROPPED: "the provider defines no tools"},
    "MCP_SERVER": {NOTE_ACTION_DROPPED: "the provider calls no MCP servers here"},
    "TOOL_CHOICE": {
        NOTE_ACTION_DROPPED: "there is no such choice, or no tool to choose",
        NOTE_ACTION_APPROXIMATED: "the model decides",
    },
    "TOOL_CHOICE_NAMED": {NOTE_ACTION_DROPPED: "only functions and custom tools can be named"},
    "TOOL_CHOICE_ALLOWED": {NOTE_ACTION_EMULATED: "only the allowed tools are sent"},
    "MAX_TOOL_CALLS": {NOTE_ACTION_DROPPED: "calls of the provider's tools have no limit"},
    "TOOL_RESULT_MEDIA": {NOTE_ACTION_EMULATED: "results hold text only: it moves to the user's next message"},
    "TOOL_RESULT_MISSING": {NOTE_ACTION_INJECTED: "every call must have a result"},
    "TOOL_RESULT_ORDER": {NOTE_ACTION_REORDERED: "results follow their calls at once"},
    "TOOL_RESULT_ORPHAN": {NOTE_ACTION_APPROXIMATED: "a result without a call becomes text of the user"},
    "TOOL_RESULT_ERROR": {NOTE_ACTION_APPROXIMATED: "a failure is said in words: `Error: `"},
    # --- reasoning ---
    "REASONING_EFFORT": {
        NOTE_ACTION_DROPPED: _GATED,
        NOTE_ACTION_CLAMPED: "the nearest effort that this model takes",
        NOTE_ACTION_APPROXIMATED: "with tools this model takes no reasoning",
    },
    "REASONING_BUDGET": {NOTE_ACTION_APPROXIMATED: "a budget becomes the effort that its share stands for"},
    "REASONING_MODE": {
        NOTE_ACTION_DROPPED: "reasoning is switched on by its effort only",
        NOTE_ACTION_APPROXIMATED: "there is no reasoning between calls only: it is off",
    },
    "REASONING_DISPLAY": {NOTE_ACTION_DROPPED: "the provider decides what it shows"},
    "REASONING_HISTORY": {NOTE_ACTION_DROPPED: "earlier reasoning is not taken back"},
    "REASONING_STATE": {NOTE_ACTION_DROPPED: "the state belongs to another provider"},
    # --- sampling, limits, output ---
    "TEMPERATURE": {NOTE_ACTION_DROPPED: _GATED},
    "TOP_P": {NOTE_ACTION_DROPPED: _GATED},
    "TOP_K": {NOTE_ACTION_DROPPED: "only some copies know it"},
    "PRESENCE_PENALTY": {NOTE_ACTION_DROPPED: _GATED},
    "FREQUENCY_PENALTY": {NOTE_ACTION_DROPPED: _GATED},
    "SEED": {NOTE_ACTION_DROPPED: _GATED},
    "STOP_SEQUENCES": {NOTE_ACTION_EMULATED: "more than four, or refused by this model: the answer is cut here"},
    "CHOICE_COUNT": {NOTE_ACTION_DROPPED: _GATED},
    "LOGPROBS": {NOTE_ACTION_DROPPED: _GATED},
    "TOP_LOGPROBS": {NOTE_ACTION_DROPPED: _GATED},
    "VERBOSITY": {NOTE_ACTION_DROPPED: _ORIGINAL_ONLY},
    "OUTPUT_SCHEMA": {NOTE_ACTION_APPROXIMATED: "this server answers in JSON, but by no schema"},
    "OUTPUT_SCHEMA_KEYWORDS": _STRICT,
    "OUTPUT_SCHEMA_NAME": {NOTE_ACTION_APPROXIMATED: "names are letters, digits, `_` and `-`, at most 64"},
    "OUTPUT_JSON": {NOTE_ACTION_INJECTED: "JSON is refused unless the conversation asks for it"},
    "OUTPUT_ENUM": {NOTE_ACTION_EMULATED: "the word comes in an object, and is taken out of it"},
    "OUTPUT_MODALITIES": {NOTE_ACTION_DROPPED: "answers are text or sound"},
    "SPEECH": {
        NOTE_ACTION_DROPPED: "no sound was asked for",
        NOTE_ACTION_INJECTED: "sound needs a format",
    },
    "RAG_DOCUMENTS": {NOTE_ACTION_APPROXIMATED: "documents become parts of the user's last message"},
    "CITATION_MODE": {NOTE_ACTION_DROPPED: "documents are not cited"},
    "CACHE_BREAKPOINT": {
        NOTE_ACTION_DROPPED: "breakpoints stand on content, the last four count, and older models and copies know none",
        NOTE_ACTION_APPROXIMATED: "entries live 30 minutes",
    },
    "CACHE_OPTIONS": {
        NOTE_ACTION_DROPPED: _ORIGINAL_ONLY,
        NOTE_ACTION_APPROXIMATED: "entries live 30 minutes",
    },
    # --- answers ---
    "FINISH_REASON": {NOTE_ACTION_APPROXIMATED: "SDKs know stop, length, tool_calls and content_filter"},
    "MATCHED_STOP": {NOTE_ACTION_DROPPED: "which sequence was met is not told"},
    "FINISH_DETAILS": {NOTE_ACTION_DROPPED: "why an answer ended is told in one word"},
    "CITATION": {NOTE_ACTION_DROPPED: "only web pages are cited"},
    "CITATION_SPAN": {NOTE_ACTION_APPROXIMATED: "a citation that names no place stands for the whole text"},
    "ANSWER_IMAGE": {NOTE_ACTION_DROPPED: "answers hold no images"},
    "ANSWER_SERVER_TOOLS": {NOTE_ACTION_DROPPED: "calls of the provider's tools are not told"},
    "ANSWER_EXTRA": {NOTE_ACTION_DROPPED: "only the protocol that it came from knows it"},
    "ANSWER_RAW_PART": {NOTE_ACTION_DROPPED: "only the protocol that it came from knows it"},
    "TOOL_CALL_CUT": {NOTE_ACTION_DROPPED: "a call beyond the one that was allowed is left out of the answer"},
    "USAGE_DETAIL": {NOTE_ACTION_DROPPED: "there is no such counter"},
    "LONE_SURROGATE": {NOTE_ACTION_APPROXIMATED: "half of a surrogate pair is no text; U+FFFD stands in its place"},
})  # fmt: skip
"""Concept to what can become of it here."""

FIELDS: Mapping[str, str] = MappingProxyType({
    "max_output_tokens": "max_completion_tokens",
    "stop_sequences": "stop",
    "choice_count": "n",
    "output_format": "response_format",
    "output_format.name": "response_format.json_schema.name",
    "output_format.description": "response_format.json_schema.description",
    "output_format.strict": "response_format.json_schema.strict",
    "output_format.schema_json": "response_format.json_schema.schema",
    "output_modalities": "modalities",
    "speech": "audio",
    "speech.format": "audio.format",
    "reasoning": "reasoning_effort",
    "reasoning.effort": "reasoning_effort",
    "reasoning.budget_tokens": "reasoning.max_tokens",
    "reasoning.mode": "thinking.type",
    "end_user_id": "safety_identifier",
    "cache": "prompt_cache_options",
    "cache.key": "prompt_cache_key",
    "cache.ttl": "prompt_cache_options.ttl",
    "tool_choice.mode": "tool_choice",
    "tool_choice.names": "tool_choice",
    "image": "image_url",
    "image.detail": "image_url.detail",
    "audio": "input_audio",
    "document": "file",
    "document.title": "file.filename",
    "document.media": "file",
    "document.media.filename": "file.filename",
    "document.media.file_id": "file.file_id",
    "document.media.mime_type": "file.file_data",
    "image.mime_type": "image_url.url",
    "image.url": "image_url.url",
    "audio.file_id": "id",
    "cache_breakpoint": "prompt_cache_breakpoint",
    "cache_breakpoint.ttl": "prompt_cache_breakpoint.ttl",
    "tool_call.id": "id",
    "tool_call.name": "function.name",
    "tool_call.arguments_json": "function.arguments",
    "tool_call.custom_text": "custom.input",
    "tool_result": "content",
    "tool_result.call_id": "tool_call_id",
    "function.parameters_json": "function.parameters",
    "server.context_size": "search_context_size",
    "server.user_location": "user_location",
    "custom.grammar": "custom.format.grammar",
    "tool_result.is_error": "content",
})  # fmt: skip
"""A field of the IR, as it is called within the node that it belongs to, to its name in bodies of this protocol."""
