"""What becomes of each concept that Gemini generateContent cannot say, and how it names the fields of the IR."""

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
    NoteAction,
)

__all__ = ["FATES", "FIELDS"]


def _dropped(reason: str) -> dict[NoteAction.ValueType, str]:
    return {NOTE_ACTION_DROPPED: reason}


def _approximated(reason: str) -> dict[NoteAction.ValueType, str]:
    return {NOTE_ACTION_APPROXIMATED: reason}


def _emulated(reason: str) -> dict[NoteAction.ValueType, str]:
    return {NOTE_ACTION_EMULATED: reason}


_NO_FIELD = "Gemini has no such field"
_NOT_TAKEN = "this model refuses or ignores it"
_BEYOND = "beyond what Gemini takes"

FATES: Fates = {
    # --- the envelope of a request ---
    "END_USER_ID": _dropped(_NO_FIELD),
    "SERVICE_TIER": {
        **_dropped("Gemini knows standard, flex and priority"),
        **_approximated("priority is the fastest that Gemini has"),
    },
    "PROVIDER_STATE": _dropped("it lies at another provider"),
    "VERBOSITY": _dropped(_NO_FIELD),
    "CITATION_MODE": _dropped(_NO_FIELD),
    "CACHE_OPTIONS": _dropped("Gemini caches by itself, or by a handle that was made before"),
    "CACHE_BREAKPOINT": _dropped("Gemini caches by itself, or by a handle that was made before"),
    # --- instructions and roles ---
    "INSTRUCTION_RANK": _approximated("Gemini has one rank of instructions"),
    "LATE_INSTRUCTIONS": _emulated("Gemini takes instructions at the head only: said by the user, with a mark"),
    "INSTRUCTION_MEDIA": _dropped("Gemini's instructions are text"),
    "PARTICIPANT_NAME": _dropped(_NO_FIELD),
    "FIRST_TURN": {NOTE_ACTION_INJECTED: "the user speaks first: a blank turn was put before"},
    "PREFILL": _dropped("this model does not go on from a beginning"),
    "EMPTY_CONTENT": _dropped("Gemini refuses a content without parts"),
    "TEXT_PHASE": _dropped("text is text"),
    # --- content ---
    "IMAGE_URL": _dropped("Gemini fetches nothing from there; the bytes themselves are needed"),
    "AUDIO": _dropped("Gemini fetches nothing from there; the bytes themselves are needed"),
    "VIDEO": _dropped("Gemini fetches nothing from there; the bytes themselves are needed"),
    "DOCUMENT_URL": _dropped("Gemini fetches nothing from there; the bytes themselves are needed"),
    "FILE_ID": _dropped("the file lies at another provider"),
    "FILE_NAME": _dropped("file names are refused by the Developer API"),
    "IMAGE_DETAIL": _dropped("no resolution of Gemini's is meant"),
    "DOCUMENT": _approximated("a plain text under its title"),
    "DOCUMENT_PARTS": _approximated("the passages are joined"),
    "DOCUMENT_DATA": _approximated("the record is text"),
    "DOCUMENT_TITLE": _dropped("a file has neither title nor context"),
    "DOCUMENT_CITATIONS": _dropped("Gemini cites what it searched for only"),
    "REFUSAL_HISTORY": _approximated("a refusal is text like any other"),
    "CITATION_HISTORY": _dropped("citations are not sent back"),
    "RAW_PART": _dropped("the part belongs to another protocol"),
    "EXTRA_FIELD": _dropped("the field belongs to another protocol"),
    "COMPACTION": {**_dropped("only its provider can read it"), **_approximated("the summary stands as text")},
    "RAG_DOCUMENTS": _approximated("they stand at the head of what the user said last"),
    # --- tools ---
    "TOOL_NAME": {NOTE_ACTION_RENAMED: "Gemini takes a letter or _ first, then letters, digits, _ . : -, at most 64"},
    "TOOL_STRICT": {
        **_dropped("Gemini is strict with all tools or none"),
        **_approximated("said by the mode VALIDATED"),
    },
    "TOOL_SCHEMA": {
        **_dropped("Gemini's schemas have no such keyword"),
        **_approximated("Gemini's schemas say it in another way"),
    },
    "TOOL_OUTPUT_SCHEMA": {
        **_dropped("Gemini's schemas have no such keyword"),
        **_approximated("Gemini's schemas say it in another way"),
    },
    "SCHEMA_ANNOTATION": {
        **_dropped("Gemini's schemas have no such keyword"),
        **_approximated("Gemini's schemas say it in another way"),
    },
    "TOOL_DEFERRAL": _dropped("Gemini has no search of tools"),
    "CUSTOM_TOOL": _emulated("a function with one property, input"),
    "TOOL_GRAMMAR": _dropped("Gemini has no grammars"),
    "SERVER_TOOL": {
        **_dropped("Gemini has no such tool"),
        NOTE_ACTION_INJECTED: "functions and tools of Google's go together only with includeServerSideToolInvocations",
    },
    "SERVER_TOOL_OPTIONS": _dropped("Gemini's tool has no such option"),
    "SERVER_TOOL_HISTORY": _dropped("another provider's tools cannot be replayed"),
    "PROVIDER_TOOL": _dropped("Gemini has no such tool"),
    "MCP_SERVER": _approximated("its tools are called without asking for approval"),
    "TOOL_CHOICE": _dropped("there is no function to choose, or the choice means nothing to Gemini"),
    "TOOL_CHOICE_NAMED": _dropped("only functions can be named"),
    "TOOL_CHOICE_ALLOWED": _approximated("said by the mode VALIDATED, which also checks arguments"),
    "PARALLEL_TOOL_CALLS": _emulated("calls after the first are left out of the answer"),
    "MAX_TOOL_CALLS": _dropped(_NO_FIELD),
    "TOOL_ARGUMENTS": _approximated("Gemini takes objects only: wrapped into one"),
    "TOOL_RESULT_MEDIA": _approximated("this model takes them beside the result only"),
    "TOOL_RESULT_MISSING": {NOTE_ACTION_INJECTED: "every call needs a result"},
    "TOOL_RESULT_ORPHAN": _approximated("a result without a call is refused: said by the user"),
    "TOOL_RESULT_ORDER": {NOTE_ACTION_REORDERED: "results stand right behind their calls, in their order"},
    # --- reasoning ---
    "REASONING_EFFORT": {
        **_dropped("no level of Gemini's is meant"),
        **_approximated("this model takes a budget of tokens"),
        NOTE_ACTION_CLAMPED: "the nearest level that the model takes",
    },
    "REASONING_BUDGET": {
        **_dropped("a level and a budget together are refused"),
        **_approximated("this model takes a level"),
    },
    "REASONING_MODE": {
        **_dropped("this model does not think"),
        **_approximated("the nearest that the model can do"),
    },
    "REASONING_DISPLAY": {
        **_dropped("this model does not think"),
        **_approximated("Gemini shows summaries or nothing"),
    },
    "REASONING_HISTORY": _dropped("reasoning of another model"),
    "REASONING_STATE": {
        **_dropped("it means nothing to Gemini"),
        NOTE_ACTION_INJECTED: "the call is not Gemini's own: a sentinel stands for its signature",
    },
    # --- sampling, limits, output ---
    "MAX_OUTPUT_TOKENS": _dropped(_NOT_TAKEN),
    "TEMPERATURE": {**_dropped(_NOT_TAKEN), NOTE_ACTION_CLAMPED: _BEYOND},
    "TOP_P": {**_dropped(_NOT_TAKEN), NOTE_ACTION_CLAMPED: _BEYOND},
    "TOP_K": _dropped(_NOT_TAKEN),
    "PRESENCE_PENALTY": {**_dropped(_NOT_TAKEN), NOTE_ACTION_CLAMPED: _BEYOND},
    "FREQUENCY_PENALTY": {**_dropped(_NOT_TAKEN), NOTE_ACTION_CLAMPED: _BEYOND},
    "SEED": {**_dropped(_NOT_TAKEN), **_approximated("folded into 32 bits")},
    "STOP_SEQUENCES": _emulated("Gemini looks for five at most: the answer is cut here at the others"),
    "CHOICE_COUNT": _dropped(_NOT_TAKEN),
    "LOGPROBS": _dropped(_NOT_TAKEN),
    "TOP_LOGPROBS": {**_dropped(_NOT_TAKEN), NOTE_ACTION_CLAMPED: _BEYOND},
    "OUTPUT_SCHEMA_NAME": _dropped(_NO_FIELD),
    "OUTPUT_SCHEMA_STRICT": _dropped("Gemini always keeps to the schema"),
    "OUTPUT_SCHEMA_KEYWORDS": {
        **_dropped("Gemini's schemas have no such keyword"),
        **_approximated("Gemini's schemas say it in another way"),
    },
    "OUTPUT_MODALITIES": _dropped("Gemini has no such modality"),
    "SPEECH": _dropped("Gemini has no choice of the sound's format"),
    # --- answers ---
    "FINISH_REASON": _approximated("the nearest word that Gemini has"),
    "MATCHED_STOP": _dropped("Gemini does not tell which"),
    "CITATION": _dropped("Gemini has no such source"),
    "ANSWER_REFUSAL": _approximated("a refusal is text, and the finish reason says the rest"),
    "ANSWER_AUDIO": _dropped("Gemini has no transcript beside the sound"),
    "ANSWER_SERVER_TOOLS": _dropped("Gemini has no such part"),
    "ANSWER_EXTRA": _dropped("the field belongs to another protocol"),
    "ANSWER_RAW_PART": _dropped("the part belongs to another protocol"),
    "TOOL_CALL_CUT": _dropped("a call beyond the one that was allowed is left out of the answer"),
    "USAGE_DETAIL": _dropped("Gemini has no such counter"),
}

_CONFIG = "generationConfig."
_SCHEMA_FIELDS = {"parameters_json": "parametersJsonSchema", "output_schema_json": "responseJsonSchema"}

_MEDIA = ("image", "audio", "video", "document.media")
FIELDS: Mapping[str, str] = {
    "messages": "contents",
    "max_output_tokens": f"{_CONFIG}maxOutputTokens",
    "temperature": f"{_CONFIG}temperature",
    "top_p": f"{_CONFIG}topP",
    "top_k": f"{_CONFIG}topK",
    "stop_sequences": f"{_CONFIG}stopSequences",
    "tool_choice": "toolConfig.functionCallingConfig",
    "tool_choice.mode": "toolConfig.functionCallingConfig.mode",
    "tool_choice.names": "toolConfig.functionCallingConfig.allowedFunctionNames",
    "reasoning": f"{_CONFIG}thinkingConfig",
    "reasoning.mode": f"{_CONFIG}thinkingConfig.thinkingBudget",
    "reasoning.effort": f"{_CONFIG}thinkingConfig.thinkingLevel",
    "reasoning.budget_tokens": f"{_CONFIG}thinkingConfig.thinkingBudget",
    "reasoning.display": f"{_CONFIG}thinkingConfig.includeThoughts",
    "output_format": f"{_CONFIG}responseMimeType",
    "output_format.schema_json": f"{_CONFIG}responseJsonSchema",
    "output_modalities": f"{_CONFIG}responseModalities",
    "speech": f"{_CONFIG}speechConfig",
    "speech.voice": f"{_CONFIG}speechConfig.voiceConfig.prebuiltVoiceConfig.voiceName",
    "choice_count": f"{_CONFIG}candidateCount",
    "seed": f"{_CONFIG}seed",
    "presence_penalty": f"{_CONFIG}presencePenalty",
    "frequency_penalty": f"{_CONFIG}frequencyPenalty",
    "logprobs": f"{_CONFIG}responseLogprobs",
    "top_logprobs": f"{_CONFIG}logprobs",
    "service_tier": "serviceTier",
    "metadata": "labels",
    "provider_state": "cachedContent",
    "provider_state.cached_content": "cachedContent",
    "provider_state.continuation": "continuationToken",
    # --- of parts ---
    "image": "inlineData",
    "image.detail": "mediaResolution",
    **{f"{kind}.{field}": "fileData.fileUri" for kind in _MEDIA for field in ("url", "file_id")},
    **{f"{kind}.mime_type": "inlineData.mimeType" for kind in _MEDIA},
    **{f"{kind}.filename": "inlineData.displayName" for kind in _MEDIA},
    "audio": "inlineData",
    "video": "inlineData",
    "document": "inlineData",
    "document.media": "inlineData",
    "opaque": "thoughtSignature",
    "tool_call": "functionCall",
    "tool_call.arguments_json": "functionCall.args",
    "tool_result": "functionResponse",
    "tool_result.is_error": "functionResponse.response.error",
    "tool_result.parts": "functionResponse.parts",
    "tool_result.parts.parts": "functionResponse.parts",
    # --- of tools ---
    "function": "name",
    "function.name": "name",
    "function.description": "description",
    **{f"function.{field}": wire for field, wire in _SCHEMA_FIELDS.items()},
    "mcp.url": "streamableHttpTransport.url",
    "mcp.authorization_token": "streamableHttpTransport.headers.Authorization",
}
"""Names of IR fields to those of this protocol's bodies."""
