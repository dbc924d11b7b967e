"""What becomes of each concept that OpenAI Responses cannot say, and how it names the fields of the IR.

Fields: https://platform.openai.com/docs/api-reference/responses/create.
"""

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
    NoteAction,
)

__all__ = ["FATES", "FIELDS"]


def _dropped(reason: str) -> dict[NoteAction.ValueType, str]:
    return {NOTE_ACTION_DROPPED: reason}


def _approximated(reason: str) -> dict[NoteAction.ValueType, str]:
    return {NOTE_ACTION_APPROXIMATED: reason}


_NO_FIELD = "OpenAI Responses has no such field"
_NOT_TAKEN = "this model does not take it"
_NO_WORD = "OpenAI does not know this word"
_NO_PLACE = "items of the model have no place for it"
_KEYWORDS = {
    **_dropped("OpenAI does not know this keyword"),
    **_approximated("said in the keywords that OpenAI knows"),
}

FATES: Fates = {
    # --- the envelope of a request ---
    "END_USER_ID": _dropped("ids of end users have at most 128 characters"),
    "METADATA": _dropped("16 labels at most, keys of 64 and values of 512 characters"),
    "SERVICE_TIER": _dropped(_NO_WORD),
    "PROVIDER_STATE": _dropped("it lies at another provider"),
    # --- instructions and roles ---
    "PARTICIPANT_NAME": _dropped(_NO_FIELD),
    "PREFILL": _dropped("OpenAI answers anew and does not go on from a beginning"),
    "EMPTY_CONTENT": _dropped("a message of the model that says nothing"),
    "TEXT_PHASE": _approximated("written as plain text"),
    # --- content ---
    "IMAGE": _dropped("messages of the model hold no images"),
    "IMAGE_URL": _dropped("OpenAI reads images from http and https URLs only"),
    "IMAGE_DETAIL": _approximated("OpenAI knows low, high, original and auto"),
    "AUDIO": _dropped("OpenAI Responses takes no sound"),
    "VIDEO": _dropped("OpenAI Responses takes no video"),
    "DOCUMENT": {**_dropped("messages of the model hold no documents"), **_approximated("written as text")},
    "DOCUMENT_URL": _dropped("OpenAI reads documents from http and https URLs only"),
    "DOCUMENT_PARTS": _approximated("the passages are joined"),
    "DOCUMENT_DATA": _approximated("written as text"),
    "DOCUMENT_CITATIONS": _dropped("OpenAI cites files of its own search only"),
    "DOCUMENT_TITLE": _dropped("a document has a file name at most"),
    "FILE_ID": _dropped("the file lies at another provider"),
    "FILE_NAME": {NOTE_ACTION_INJECTED: "OpenAI demands a file name"},
    "REFUSAL_HISTORY": _approximated("written as text, because a refusal needs an item with an id"),
    "CITATION_HISTORY": _dropped("citations stand in items with an id, or are of a kind that OpenAI does not know"),
    "RAW_PART": _dropped("another protocol's part"),
    "EXTRA_FIELD": _dropped("another protocol's field"),
    "COMPACTION": {**_dropped("only its provider can read it"), **_approximated("the summary stands as text")},
    # --- tools ---
    "TOOL_NAME": {NOTE_ACTION_RENAMED: "OpenAI takes letters, digits, _ and -, at most 64"},
    "TOOL_SCHEMA": {**_KEYWORDS, NOTE_ACTION_INJECTED: "OpenAI's strict schemas demand it"},
    "TOOL_DEFERRAL": _dropped("it needs a tool of the provider that is named otherwise here"),
    "SERVER_TOOL": _dropped("OpenAI has no such tool, or wants to know more about it"),
    "SERVER_TOOL_OPTIONS": _dropped(_NO_FIELD),
    "SERVER_TOOL_HISTORY": _dropped("calls of another provider's tools cannot be replayed"),
    "PROVIDER_TOOL": _dropped("no provider but its own knows it"),
    "MCP_SERVER": {NOTE_ACTION_INJECTED: "calls would wait for an approval that the caller's protocol does not know"},
    "TOOL_CHOICE": {**_dropped(_NO_WORD), **_approximated("the nearest is that the model decides")},
    "TOOL_CHOICE_NAMED": _dropped("there is no such tool"),
    "PARALLEL_TOOL_CALLS": _dropped(_NOT_TAKEN),
    "MAX_TOOL_CALLS": _dropped(_NOT_TAKEN),
    "TOOL_CALL_ID": {NOTE_ACTION_RENAMED: "OpenAI takes 64 characters"},
    "TOOL_RESULT_ERROR": _approximated("said in front of the result's text"),
    "TOOL_RESULT_MISSING": {NOTE_ACTION_INJECTED: "OpenAI wants a result for each call"},
    "TOOL_RESULT_ORPHAN": _approximated("OpenAI refuses results without a call: written as text of the user"),
    "TOOL_RESULT_ORDER": {NOTE_ACTION_REORDERED: "results follow their calls"},
    # --- reasoning ---
    "REASONING_EFFORT": {**_dropped(_NOT_TAKEN), NOTE_ACTION_CLAMPED: "the nearest effort that this model takes"},
    "REASONING_BUDGET": _approximated("an effort stands for it, by its share of the answer's limit"),
    "REASONING_MODE": _approximated("the nearest is that the model decides"),
    "REASONING_DISPLAY": {**_dropped(_NO_WORD), **_approximated("the most that OpenAI shows is a detailed summary")},
    "REASONING_HISTORY": _dropped("reasoning goes back to the provider that it came from only"),
    "REASONING_STATE": _dropped("state goes back to the provider that it came from only"),
    # --- sampling, limits, output ---
    "MAX_OUTPUT_TOKENS": _dropped(_NOT_TAKEN),
    "TEMPERATURE": _dropped(_NOT_TAKEN),
    "TOP_P": _dropped(_NOT_TAKEN),
    "TOP_K": _dropped(_NO_FIELD),
    "PRESENCE_PENALTY": _dropped(_NO_FIELD),
    "FREQUENCY_PENALTY": _dropped(_NO_FIELD),
    "SEED": _dropped(_NO_FIELD),
    "STOP_SEQUENCES": {NOTE_ACTION_EMULATED: "OpenAI Responses takes none: the answer is cut at the first that is met"},
    "CHOICE_COUNT": _dropped("OpenAI Responses gives one answer"),
    "LOGPROBS": _dropped(_NOT_TAKEN),
    "TOP_LOGPROBS": _dropped(_NOT_TAKEN),
    "VERBOSITY": _dropped(_NO_WORD),
    "OUTPUT_SCHEMA_KEYWORDS": {**_KEYWORDS, NOTE_ACTION_INJECTED: "OpenAI's strict schemas demand it"},
    "SCHEMA_ANNOTATION": _KEYWORDS,
    "OUTPUT_SCHEMA_NAME": {
        NOTE_ACTION_INJECTED: "OpenAI demands a name",
        **_approximated("names are letters, digits, _ and -, at most 64"),
    },
    "OUTPUT_JSON": {NOTE_ACTION_INJECTED: "JSON is refused unless the input asks for it"},
    "OUTPUT_ENUM": {NOTE_ACTION_EMULATED: "an object with the word under one key"},
    "OUTPUT_MODALITIES": _dropped("OpenAI Responses answers in text"),
    "SPEECH": _dropped("OpenAI Responses answers in text"),
    "RAG_DOCUMENTS": _approximated("written at the head of the last message of the user"),
    "CITATION_MODE": _dropped(_NO_FIELD),
    "CACHE_BREAKPOINT": {
        **_dropped("only content of users and instructions takes one, four in all, and not with older models"),
        **_approximated("OpenAI knows 30 minutes and 12 hours"),
    },
    "CACHE_OPTIONS": _approximated("OpenAI knows 30 minutes and 12 hours"),
    # --- answers ---
    "LONE_SURROGATE": _approximated("half of a surrogate pair is no text; U+FFFD stands in its place"),
    "TOOL_CALL_CUT": _dropped("a call beyond the one that was allowed is left out of the answer"),
    "FINISH_REASON": _approximated("the nearest status that OpenAI Responses has"),
    "MATCHED_STOP": _dropped(_NO_FIELD),
    "FINISH_DETAILS": _dropped(_NO_FIELD),
    "CITATION": _dropped("OpenAI cites addresses and its own files only, and nothing once its message is done"),
    "CITATION_SPAN": _approximated("the whole text stands for the place"),
    "ANSWER_IMAGE": _dropped("there are no bytes of it"),
    "ANSWER_AUDIO": _dropped("answers of OpenAI Responses hold no sound"),
    "ANSWER_SERVER_TOOLS": _dropped("OpenAI has no such tool"),
    "ANSWER_CHOICES": _dropped("OpenAI Responses gives one answer"),
    "ANSWER_EXTRA": _dropped("another protocol's field"),
    "ANSWER_RAW_PART": _dropped(_NO_PLACE),
    "USAGE_DETAIL": {**_dropped(_NO_FIELD), **_approximated("OpenAI knows 30 minutes and 12 hours")},
}

FIELDS: Mapping[str, str] = MappingProxyType(
    {
        "messages": "input",
        "end_user_id": "safety_identifier",
        "reasoning.display": "reasoning.summary",
        "reasoning.mode": "reasoning.effort",
        "output_format": "text.format",
        "output_format.name": "text.format.name",
        "output_format.description": "text.format.description",
        "output_format.schema_json": "text.format.schema",
        "output_format.strict": "text.format.strict",
        "verbosity": "text.verbosity",
        "logprobs": "include",
        "tool_choice.mode": "tool_choice",
        "tool_choice.names": "tool_choice",
        "cache": "prompt_cache_options",
        "cache.key": "prompt_cache_key",
        "cache.automatic": "prompt_cache_options.mode",
        "cache.ttl": "prompt_cache_options.ttl",
        "provider_state": "previous_response_id",
        "provider_state.previous_response_id": "previous_response_id",
        "provider_state.conversation_id": "conversation",
        # --- of messages and parts ---
        "image": "image_url",
        "image.detail": "detail",
        "image.url": "image_url",
        "image.file_id": "file_id",
        "image.mime_type": "image_url",
        "document": "file_data",
        "document.media": "file_data",
        "document.media.filename": "filename",
        "document.media.file_id": "file_id",
        "document.media.url": "file_url",
        "document.media.mime_type": "file_data",
        "document.title": "filename",
        "citations": "annotations",
        "cache_breakpoint": "prompt_cache_breakpoint",
        "cache_breakpoint.ttl": "prompt_cache_breakpoint.ttl",
        "opaque": "encrypted_content",
        "reasoning.text": "content",
        "reasoning.summaries": "summary",
        "tool_call.id": "call_id",
        "tool_call.name": "name",
        "tool_call.arguments_json": "arguments",
        "tool_call.custom_text": "input",
        "tool_result": "output",
        "tool_result.call_id": "call_id",
        "tool_result.name": "name",
        "tool_result.parts": "output",
        "tool_result.parts.parts": "output",
        # --- of tools ---
        "function": "type",
        "function.name": "name",
        "function.description": "description",
        "function.parameters_json": "parameters",
        "function.strict": "strict",
        "function.output_schema_json": "output_schema",
        "function.defer_loading": "defer_loading",
        "function.allowed_callers": "allowed_callers",
        "custom": "type",
        "custom.name": "name",
        "custom.grammar": "format.definition",
        "server": "type",
        "server.max_uses": "max_uses",
        "server.allowed_domains": "filters.allowed_domains",
        "server.user_location": "user_location",
        "server.context_size": "search_context_size",
        "mcp": "server_label",
    }
)
"""Names of IR fields to those of this protocol's bodies."""
