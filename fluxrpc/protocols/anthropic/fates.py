"""What becomes of each concept that Anthropic Messages cannot say, and how it names the fields of the IR."""

from __future__ import annotations

from collections.abc import Mapping

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

_NO_FIELD = "Anthropic has no field for it"
_NO_BLOCK = "Anthropic has no content block for it"

FATES: Fates = {
    # --- the envelope ---
    "END_USER_ID": {NOTE_ACTION_DROPPED: "ids of end users have at most 128 characters"},
    "METADATA": {NOTE_ACTION_DROPPED: "Anthropic's metadata holds the user's id and no labels"},
    "STORE": {NOTE_ACTION_DROPPED: "Anthropic does not store answers"},
    "SERVICE_TIER": {
        NOTE_ACTION_APPROXIMATED: "`auto` takes the best tier that the account has",
        NOTE_ACTION_DROPPED: "Anthropic has no such tier",
    },
    "PROVIDER_STATE": {NOTE_ACTION_DROPPED: "it is held by another provider"},
    "EXTRA_FIELD": {NOTE_ACTION_DROPPED: "only another protocol knows this field"},
    # --- instructions and turns ---
    "LATE_INSTRUCTIONS": {
        NOTE_ACTION_EMULATED: "the model takes no system message at this place: it stands as marked text of the user"
    },
    "INSTRUCTION_MEDIA": {NOTE_ACTION_DROPPED: "instructions are text only"},
    "PARTICIPANT_NAME": {NOTE_ACTION_DROPPED: "messages have no names"},
    "FIRST_TURN": {NOTE_ACTION_INJECTED: "the user must speak first"},
    "PREFILL": {NOTE_ACTION_DROPPED: "the model does not go on from an answer that is begun"},
    "EMPTY_CONTENT": {NOTE_ACTION_DROPPED: "empty text is refused"},
    "TEXT_PHASE": {NOTE_ACTION_DROPPED: _NO_FIELD},
    # --- content ---
    "IMAGE": {NOTE_ACTION_DROPPED: _NO_BLOCK},
    "IMAGE_URL": {NOTE_ACTION_DROPPED: "images are fetched from http and https addresses only"},
    "IMAGE_DETAIL": {NOTE_ACTION_DROPPED: _NO_FIELD},
    "MEDIA_TYPE": {NOTE_ACTION_DROPPED: "images are JPEG, PNG, GIF or WebP, documents PDF or text"},
    "AUDIO": {
        NOTE_ACTION_APPROXIMATED: "its transcript stands for it",
        NOTE_ACTION_DROPPED: _NO_BLOCK,
    },
    "VIDEO": {NOTE_ACTION_DROPPED: _NO_BLOCK},
    "DOCUMENT": {NOTE_ACTION_DROPPED: _NO_BLOCK},
    "DOCUMENT_TITLE": {NOTE_ACTION_DROPPED: "a search result has no context, and a file no source"},
    "DOCUMENT_URL": {NOTE_ACTION_DROPPED: "documents are fetched from http and https addresses only"},
    "FILE_ID": {NOTE_ACTION_DROPPED: "the file is held by another provider"},
    "REFUSAL_HISTORY": {NOTE_ACTION_APPROXIMATED: "the refusal stands as text"},
    "CITATION_HISTORY": {NOTE_ACTION_DROPPED: "only citations that Anthropic made can be sent back, by the model"},
    "RAW_PART": {NOTE_ACTION_DROPPED: "only another protocol knows this part"},
    "COMPACTION": {
        NOTE_ACTION_APPROXIMATED: "the summary stands as text",
        NOTE_ACTION_DROPPED: "only the provider that made it can read it",
    },
    "RAG_DOCUMENTS": {NOTE_ACTION_REORDERED: "they stand at the head of the last message of the user"},
    "CITATION_MODE": {NOTE_ACTION_DROPPED: "citations are on or off"},
    # --- tools ---
    "TOOL_NAME": {NOTE_ACTION_RENAMED: "names hold letters, digits, `_` and `-`, at most 64"},
    "TOOL_SCHEMA": {
        NOTE_ACTION_APPROXIMATED: "said in another way that Anthropic takes",
        NOTE_ACTION_DROPPED: "Anthropic does not take this keyword",
        NOTE_ACTION_INJECTED: "Anthropic demands this keyword",
    },
    "TOOL_OUTPUT_SCHEMA": {NOTE_ACTION_DROPPED: _NO_FIELD},
    "CUSTOM_TOOL": {NOTE_ACTION_EMULATED: "a function with one string property `input` stands for it"},
    "TOOL_GRAMMAR": {NOTE_ACTION_DROPPED: _NO_FIELD},
    "SERVER_TOOL": {NOTE_ACTION_DROPPED: "Anthropic does not run this tool"},
    "SERVER_TOOL_OPTIONS": {NOTE_ACTION_DROPPED: _NO_FIELD},
    "SERVER_TOOL_HISTORY": {NOTE_ACTION_DROPPED: "another provider ran the tool"},
    "PROVIDER_TOOL": {NOTE_ACTION_DROPPED: "another provider defines this tool"},
    "TOOL_CHOICE": {
        NOTE_ACTION_APPROXIMATED: "the model decides, and arguments are not checked",
        NOTE_ACTION_DROPPED: "the choice is not known",
        NOTE_ACTION_EMULATED: "the model cannot be forced now: it is asked to call a tool",
    },
    "TOOL_CHOICE_NAMED": {
        NOTE_ACTION_DROPPED: "there is no such tool",
        NOTE_ACTION_EMULATED: "the model cannot be forced now: it is asked to call the tool",
    },
    "TOOL_CHOICE_ALLOWED": {NOTE_ACTION_EMULATED: "the other tools are left out"},
    "MCP_SERVER": {NOTE_ACTION_APPROXIMATED: "its tools are called without asking for approval"},
    "MAX_TOOL_CALLS": {
        NOTE_ACTION_APPROXIMATED: "the limit holds for each tool",
        NOTE_ACTION_DROPPED: "the provider runs no tool",
    },
    "TOOL_ARGUMENTS": {NOTE_ACTION_APPROXIMATED: "the input of a tool must be an object"},
    "TOOL_CALL_ID": {NOTE_ACTION_RENAMED: "ids hold letters, digits, `_` and `-`"},
    "TOOL_RESULT_MEDIA": {NOTE_ACTION_DROPPED: _NO_BLOCK},
    "TOOL_RESULT_MISSING": {NOTE_ACTION_INJECTED: "every call must have a result"},
    "TOOL_RESULT_ORPHAN": {NOTE_ACTION_APPROXIMATED: "a result without its call stands as text of the user"},
    "TOOL_RESULT_ORDER": {NOTE_ACTION_REORDERED: "results follow their calls, in the same order"},
    # --- reasoning ---
    "REASONING_EFFORT": {
        NOTE_ACTION_APPROXIMATED: "this model takes a number of tokens",
        NOTE_ACTION_CLAMPED: "the nearest effort that this model takes",
        NOTE_ACTION_DROPPED: "this model takes no effort",
    },
    "REASONING_BUDGET": {
        NOTE_ACTION_APPROXIMATED: "this model takes an effort",
        NOTE_ACTION_CLAMPED: "a budget is at least 1024, and below the limit of the answer",
        NOTE_ACTION_DROPPED: "the limit of the answer leaves no room for reasoning",
    },
    "REASONING_MODE": {
        NOTE_ACTION_APPROXIMATED: "the nearest that this model can do",
        NOTE_ACTION_DROPPED: "the mode is not known",
    },
    "REASONING_DISPLAY": {
        NOTE_ACTION_APPROXIMATED: "a summary is all that is shown",
        NOTE_ACTION_DROPPED: "it is said together with a mode of reasoning only",
    },
    "REASONING_HISTORY": {NOTE_ACTION_DROPPED: "reasoning must carry a signature of Anthropic's"},
    "REASONING_STATE": {NOTE_ACTION_DROPPED: "only the provider that gave it can read it"},
    # --- sampling, limits, output ---
    "MAX_OUTPUT_TOKENS": {NOTE_ACTION_INJECTED: "Anthropic demands a limit"},
    "TEMPERATURE": {
        NOTE_ACTION_CLAMPED: "the temperature ends at 1",
        NOTE_ACTION_DROPPED: "this model or version takes no temperature",
    },
    "TOP_P": {NOTE_ACTION_DROPPED: "this model or version takes no top_p"},
    "TOP_K": {NOTE_ACTION_DROPPED: "this model or version takes no top_k, or not while the model thinks"},
    "PRESENCE_PENALTY": {NOTE_ACTION_DROPPED: _NO_FIELD},
    "FREQUENCY_PENALTY": {NOTE_ACTION_DROPPED: _NO_FIELD},
    "SEED": {NOTE_ACTION_DROPPED: _NO_FIELD},
    "STOP_SEQUENCES": {
        NOTE_ACTION_DROPPED: "a stop sequence of white space is refused",
        NOTE_ACTION_EMULATED: "this model takes none: the answer is cut here",
    },
    "CHOICE_COUNT": {NOTE_ACTION_DROPPED: "Anthropic gives one answer"},
    "LOGPROBS": {NOTE_ACTION_DROPPED: _NO_FIELD},
    "TOP_LOGPROBS": {NOTE_ACTION_DROPPED: _NO_FIELD},
    "VERBOSITY": {NOTE_ACTION_DROPPED: _NO_FIELD},
    "SCHEMA_ANNOTATION": {
        NOTE_ACTION_APPROXIMATED: "said in the description",
        NOTE_ACTION_DROPPED: "Anthropic does not take this keyword",
    },
    "OUTPUT_SCHEMA_KEYWORDS": {
        NOTE_ACTION_APPROXIMATED: "said in another way that Anthropic takes",
        NOTE_ACTION_DROPPED: "Anthropic does not take this keyword",
        NOTE_ACTION_INJECTED: "Anthropic demands this keyword",
    },
    "OUTPUT_SCHEMA_NAME": {NOTE_ACTION_DROPPED: _NO_FIELD},
    "OUTPUT_SCHEMA_STRICT": {NOTE_ACTION_APPROXIMATED: "answers of a schema always match it"},
    "OUTPUT_JSON": {NOTE_ACTION_EMULATED: "asked for among the instructions, for there is no schema"},
    "OUTPUT_ENUM": {NOTE_ACTION_EMULATED: "the word stands in an object, and is taken out of it"},
    "OUTPUT_MODALITIES": {NOTE_ACTION_DROPPED: "answers are text"},
    "SPEECH": {NOTE_ACTION_DROPPED: "answers are text"},
    "CACHE_BREAKPOINT": {
        NOTE_ACTION_APPROXIMATED: "entries live 5 minutes or 1 hour",
        NOTE_ACTION_DROPPED: "at most four are taken: the last ones",
    },
    "CACHE_OPTIONS": {
        NOTE_ACTION_APPROXIMATED: "entries live 5 minutes or 1 hour",
        NOTE_ACTION_DROPPED: _NO_FIELD,
    },
    # --- answers to callers of this protocol ---
    "FINISH_REASON": {NOTE_ACTION_APPROXIMATED: "the nearest word of Anthropic's"},
    "CITATION": {NOTE_ACTION_DROPPED: "a source without an address cannot be said"},
    "CITATION_SPAN": {NOTE_ACTION_DROPPED: "citations hold for the whole text block"},
    "ANSWER_REFUSAL": {NOTE_ACTION_APPROXIMATED: "the refusal stands as text, and is the reason of the end"},
    "ANSWER_LOGPROBS": {NOTE_ACTION_DROPPED: _NO_FIELD},
    "ANSWER_IMAGE": {NOTE_ACTION_DROPPED: _NO_BLOCK},
    "ANSWER_AUDIO": {
        NOTE_ACTION_APPROXIMATED: "its transcript stands for it",
        NOTE_ACTION_DROPPED: _NO_BLOCK,
    },
    "ANSWER_SERVER_TOOLS": {NOTE_ACTION_DROPPED: "another provider ran the tool"},
    "ANSWER_CHOICES": {NOTE_ACTION_DROPPED: "Anthropic gives one answer"},
    "FINISH_DETAILS": {NOTE_ACTION_DROPPED: "only a refusal is explained, and only in words of Anthropic's"},
    "USAGE_DETAIL": {NOTE_ACTION_DROPPED: "there is no such counter"},
    "ANSWER_EXTRA": {NOTE_ACTION_DROPPED: "only another protocol knows this field"},
    "ANSWER_RAW_PART": {NOTE_ACTION_DROPPED: "only another protocol knows this part"},
    "TOOL_CALL_CUT": {NOTE_ACTION_DROPPED: "a call beyond the one that was allowed is left out of the answer"},
}

FIELDS: Mapping[str, str] = {
    # of the request
    "max_output_tokens": "max_tokens",
    "parallel_tool_calls": "tool_choice.disable_parallel_tool_use",
    "tool_choice.mode": "tool_choice.type",
    "tool_choice.names": "tool_choice.name",
    "tool_choice.names[0]": "tool_choice.name",
    "reasoning": "thinking",
    "reasoning.mode": "thinking.type",
    "reasoning.effort": "output_config.effort",
    "reasoning.budget_tokens": "thinking.budget_tokens",
    "reasoning.display": "thinking.display",
    "output_format": "output_config.format",
    "output_format.schema_json": "output_config.format.schema",
    "cache": "cache_control",
    "cache.ttl": "cache_control.ttl",
    "end_user_id": "metadata.user_id",
    "provider_state": "container",
    "provider_state.container_id": "container",
    # of a message
    "text": "content",
    # of a part
    "image": "source",
    "image.mime_type": "source.media_type",
    "image.url": "source.url",
    "image.file_id": "source.file_id",
    "document": "source",
    "document.media": "source",
    "document.media.mime_type": "source.media_type",
    "document.media.url": "source.url",
    "document.media.file_id": "source.file_id",
    "document.title": "title",
    "document.context": "context",
    "document.citations": "citations.enabled",
    "document.source": "source",
    "tool_call.id": "id",
    "tool_call.name": "name",
    "tool_call.arguments_json": "input",
    "tool_result.call_id": "tool_use_id",
    "tool_result.is_error": "is_error",
    "opaque": "signature",
    "cache_breakpoint": "cache_control",
    "cache_breakpoint.ttl": "cache_control.ttl",
    # of a tool
    "function": "name",
    "function.name": "name",
    "function.description": "description",
    "function.parameters_json": "input_schema",
    "function.strict": "strict",
    "function.defer_loading": "defer_loading",
    "function.allowed_callers": "allowed_callers",
    "server": "type",
    "server.max_uses": "max_uses",
    "server.allowed_domains": "allowed_domains",
    "server.blocked_domains": "blocked_domains",
    "server.user_location": "user_location",
    "provider": "type",
    "mcp.allowed_tools": "tool_configuration.allowed_tools",
}
"""Of the request, of a message, of a part, of a tool: whatever stands behind the place that a reader has named."""
