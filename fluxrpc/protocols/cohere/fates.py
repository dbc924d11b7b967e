"""What becomes of each concept that Cohere Chat, version 2 cannot say, and how it names the fields of the IR.

Ranges and fields: https://docs.cohere.com/reference/chat.
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


def _clamped(reason: str) -> dict[NoteAction.ValueType, str]:
    return {NOTE_ACTION_CLAMPED: reason}


def _emulated(reason: str) -> dict[NoteAction.ValueType, str]:
    return {NOTE_ACTION_EMULATED: reason}


_NO_FIELD = "Cohere has no such field"
_NOT_TAKEN = "this model refuses or ignores it"
_ONLY_TEXT = "an answer of Cohere holds text, thinking and calls"
_CROWDED = "Cohere takes no response_format together with tools or documents"
_PENALTIES = "Cohere takes 0 to 1"

FATES: Fates = {
    # --- the envelope of a request ---
    "END_USER_ID": _dropped(_NO_FIELD),
    "METADATA": _dropped(_NO_FIELD),
    "STORE": _dropped(_NO_FIELD),
    "SERVICE_TIER": _dropped("Cohere knows a number for its queue, but no tiers"),
    "PROVIDER_STATE": _dropped("it lies at another provider"),
    "VERBOSITY": _dropped(_NO_FIELD),
    "CITATION_MODE": _dropped("Cohere does not know this mode"),
    "CACHE_OPTIONS": _dropped("Cohere caches by itself"),
    "CACHE_BREAKPOINT": _dropped("Cohere caches by itself"),
    # --- instructions and roles ---
    "INSTRUCTION_RANK": _approximated("Cohere has one rank of instructions"),
    "INSTRUCTION_MEDIA": _dropped("Cohere's instructions are text"),
    "PARTICIPANT_NAME": _dropped(_NO_FIELD),
    "PREFILL": _dropped("Cohere answers anew and does not go on from a beginning"),
    "EMPTY_CONTENT": _dropped("Cohere refuses empty content"),
    "TEXT_PHASE": _dropped("Cohere tells only plans apart"),
    # --- content ---
    "IMAGE": _dropped("the model's own turns hold no images"),
    "IMAGE_URL": _dropped("Cohere fetches https addresses only"),
    "IMAGE_DETAIL": {
        **_dropped("Cohere does not know this detail"),
        **_approximated("the finest that Cohere has is high"),
    },
    "AUDIO": {**_dropped("Cohere takes no sound"), **_approximated("its words stand for the sound")},
    "VIDEO": _dropped("Cohere takes no video"),
    "DOCUMENT": {
        **_dropped("Cohere takes documents as text only"),
        **_approximated("written as text"),
        NOTE_ACTION_REORDERED: "moved to the documents of the request, where Cohere can cite it",
    },
    "DOCUMENT_URL": _dropped("Cohere fetches no documents"),
    "DOCUMENT_PARTS": _approximated("the passages are joined"),
    "DOCUMENT_TITLE": _dropped("a document of Cohere has a title at most"),
    "FILE_ID": _dropped("the file lies at another provider"),
    "FILE_NAME": _dropped(_NO_FIELD),
    "REFUSAL_HISTORY": _approximated("written as text"),
    "CITATION_HISTORY": _dropped("Cohere cites documents and results of tools only"),
    "RAW_PART": _dropped("another protocol's part"),
    "EXTRA_FIELD": _dropped("another protocol's field, or one that this model refuses"),
    "COMPACTION": {**_dropped("only its provider can read it"), **_approximated("its summary is written as text")},
    # --- tools ---
    "TOOL_NAME": {NOTE_ACTION_RENAMED: "Cohere takes letters, digits and underscores, no digit in front"},
    "TOOL_STRICT": _dropped("strict_tools is for all tools, and each needs a required parameter"),
    "TOOL_SCHEMA": {
        **_dropped("Cohere's strict tools do not know this keyword"),
        **_approximated("said in the keywords that Cohere's strict tools know"),
    },
    "SCHEMA_ANNOTATION": _dropped("Cohere does not know this keyword"),
    "TOOL_OUTPUT_SCHEMA": _dropped(_NO_FIELD),
    "TOOL_DEFERRAL": _dropped(_NO_FIELD),
    "CUSTOM_TOOL": _emulated("a function with one string, input"),
    "TOOL_GRAMMAR": _dropped("the text of a function's argument is free"),
    "SERVER_TOOL": _dropped("Cohere runs no tools"),
    "SERVER_TOOL_HISTORY": _dropped("Cohere runs no tools"),
    "PROVIDER_TOOL": _dropped("no provider but its own knows it"),
    "MCP_SERVER": _dropped("Cohere calls no MCP servers"),
    "TOOL_CHOICE": _dropped("Cohere knows REQUIRED and NONE, and only with tools"),
    "TOOL_CHOICE_NAMED": {
        **_dropped("there is no such tool"),
        **_emulated("only this tool is sent, with REQUIRED"),
    },
    "TOOL_CHOICE_ALLOWED": _emulated("only these tools are sent"),
    "PARALLEL_TOOL_CALLS": _emulated("calls after the first are left out of the answer"),
    "MAX_TOOL_CALLS": _dropped("Cohere runs no tools"),
    "TOOL_RESULT_MEDIA": {
        **_dropped("results hold text and documents only"),
        **_emulated("moved to the user's turn behind the result"),
    },
    "TOOL_RESULT_ERROR": _approximated("said in front of the result's text"),
    "TOOL_RESULT_MISSING": {NOTE_ACTION_INJECTED: "Cohere wants a result for each call"},
    "TOOL_RESULT_ORPHAN": _approximated("Cohere refuses results without a call: written as text of the user"),
    "TOOL_RESULT_ORDER": {NOTE_ACTION_REORDERED: "results follow their calls"},
    # --- reasoning ---
    "REASONING_EFFORT": {
        **_dropped("this model does not reason, or a budget is set"),
        **_approximated("a budget of tokens stands for it, or just that it reasons"),
    },
    "REASONING_BUDGET": _dropped("this model takes no budget"),
    "REASONING_MODE": {
        **_dropped("this model cannot do so"),
        **_approximated("Cohere knows enabled and disabled"),
    },
    "REASONING_DISPLAY": _dropped("Cohere always shows its reasoning"),
    "REASONING_HISTORY": _dropped("there is nothing in it that can be read"),
    "REASONING_STATE": _dropped("Cohere has no place for state of a provider"),
    "REASONING_SUMMARY": _approximated("written as the reasoning itself"),
    # --- sampling, limits, output ---
    "MAX_OUTPUT_TOKENS": {**_clamped("at least 1"), **_dropped(_NOT_TAKEN)},
    "TEMPERATURE": {**_clamped("Cohere takes 0 to 1"), **_dropped(_NOT_TAKEN)},
    "TOP_P": {**_clamped("Cohere takes 0.01 to 0.99"), **_dropped(_NOT_TAKEN)},
    "TOP_K": {**_clamped("Cohere takes 0 to 500"), **_dropped(_NOT_TAKEN)},
    "PRESENCE_PENALTY": {**_clamped(_PENALTIES), **_dropped(_PENALTIES)},
    "FREQUENCY_PENALTY": {**_clamped(_PENALTIES), **_dropped(_PENALTIES)},
    "SEED": {**_approximated("seeds of Cohere are not negative"), **_dropped(_NOT_TAKEN)},
    "STOP_SEQUENCES": _emulated("Cohere takes five: the answer is cut at the others"),
    "CHOICE_COUNT": _dropped("Cohere gives one answer"),
    "LOGPROBS": _dropped(_NOT_TAKEN),
    "TOP_LOGPROBS": _dropped("Cohere tells of the chosen tokens only"),
    "OUTPUT_SCHEMA": _dropped(_CROWDED),
    "OUTPUT_SCHEMA_KEYWORDS": {
        **_dropped("Cohere does not know this keyword"),
        **_approximated("said in the keywords that Cohere knows"),
    },
    "OUTPUT_SCHEMA_NAME": _dropped(_NO_FIELD),
    "OUTPUT_SCHEMA_STRICT": _dropped("Cohere always keeps to the schema"),
    "OUTPUT_JSON": _dropped(_CROWDED),
    "OUTPUT_ENUM": _emulated("an object with the word under one key"),
    "OUTPUT_MODALITIES": _dropped("Cohere answers in text"),
    "SPEECH": _dropped("Cohere answers in text"),
    "RAG_DOCUMENTS": _dropped("Cohere takes documents as text or records only"),
    # --- answers ---
    "FINISH_REASON": _approximated("the nearest that Cohere has"),
    "MATCHED_STOP": _dropped(_NO_FIELD),
    "FINISH_DETAILS": _dropped(_NO_FIELD),
    "CITATION": _approximated("the source is written as a document with its title and address"),
    "ANSWER_REFUSAL": _approximated("written as text"),
    "ANSWER_REASONING": _dropped("there is nothing in it that can be read"),
    "ANSWER_LOGPROBS": _dropped("Cohere tells of the chosen tokens only"),
    "ANSWER_IMAGE": _dropped(_ONLY_TEXT),
    "ANSWER_AUDIO": {**_dropped(_ONLY_TEXT), **_approximated("its words stand for the sound")},
    "ANSWER_SERVER_TOOLS": _dropped(_ONLY_TEXT),
    "ANSWER_CHOICES": _dropped("Cohere gives one answer"),
    "ANSWER_EXTRA": _dropped("another protocol's field"),
    "ANSWER_RAW_PART": _dropped(_ONLY_TEXT),
    "TOOL_CALL_CUT": _dropped("a call beyond the one that was allowed is left out of the answer"),
    "USAGE_DETAIL": _dropped(_NO_FIELD),
}

FIELDS: Mapping[str, str] = MappingProxyType(
    {
        "max_output_tokens": "max_tokens",
        "top_p": "p",
        "top_k": "k",
        "reasoning": "thinking",
        "reasoning.mode": "thinking.type",
        "reasoning.budget_tokens": "thinking.token_budget",
        "output_format": "response_format",
        "output_format.schema_json": "response_format.json_schema",
        "tool_choice.mode": "tool_choice",
        "tool_choice.names": "tool_choice",
        "citation_mode": "citation_options.mode",
        # --- of messages and parts ---
        "image": "image_url",
        "image.detail": "image_url.detail",
        "reasoning.text": "thinking",
        "tool_call": "function",
        "tool_call.id": "id",
        "tool_call.name": "function.name",
        "tool_call.custom_text": "function.arguments",
        "tool_result.call_id": "tool_call_id",
        "tool_call.arguments_json": "function.arguments",
        "tool_result": "content",
        # --- of tools ---
        "function.parameters_json": "function.parameters",
        "function.strict": "strict_tools",
    }
)
"""Names of IR fields to those of this protocol's bodies."""
