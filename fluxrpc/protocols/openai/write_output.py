"""How an answer of OpenAI Chat Completions is to look, and how the model reasons: the fields for both."""

from __future__ import annotations

import re
from typing import Any

from fluxrpc.protocols.gates import EFFORTS
from fluxrpc.protocols.node import raw
from fluxrpc.protocols.openai.words import MODALITY, REASONING_MODE, VERBOSITY
from fluxrpc.protocols.openai.writing import Writing
from fluxrpc.protocols.reasoning import effort_of_budget, nearest_effort, word_of_effort
from fluxrpc.protocols.schema import CHAT_STRICT, PLAIN, SchemaProfile, convert
from fluxrpc.v1.message_pb2 import (
    OUTPUT_KIND_ENUM,
    OUTPUT_KIND_JSON,
    OUTPUT_KIND_JSON_SCHEMA,
    REASONING_DISPLAY_OMITTED,
    REASONING_DISPLAY_UNSPECIFIED,
    REASONING_MODE_BETWEEN_TOOLS,
    REASONING_MODE_OFF,
    REASONING_MODE_ON,
    REASONING_MODE_OTHER,
    OutputFormat,
)
from fluxrpc.v1.usage_pb2 import MODALITY_AUDIO, MODALITY_TEXT

__all__ = ["write_effort", "write_output"]

Fields = dict[str, Any]
_ILLEGAL_NAME = re.compile(r"[^A-Za-z0-9_-]")
_MAX_NAME = 64
_UNWRAP_KEY = "value"
_SOUND_FORMAT = "wav"


def write_output(writing: Writing, body: Fields) -> None:
    """`response_format`, `verbosity`, `modalities`, `audio`."""
    request = writing.request
    if request.HasField("output_format"):
        body["response_format"] = _format(request.output_format, writing)
    if request.verbosity:
        if writing.dialect.is_original or writing.is_own:
            body["verbosity"] = VERBOSITY.say(request.verbosity, request.verbosity_raw)
        else:
            writing.notes.dropped("VERBOSITY", "verbosity")
    _write_modalities(writing, body)


def _format(form: OutputFormat, writing: Writing) -> Fields:
    if form.kind == OUTPUT_KIND_JSON:
        _ask_for_json(writing)
        return {"type": "json_object"}
    if form.kind == OUTPUT_KIND_ENUM:
        writing.context.unwrap_key = _UNWRAP_KEY
        writing.notes.emulated("OUTPUT_ENUM", "output_format")
        word = _converted(form, CHAT_STRICT, writing)
        schema = (
            f'{{"type":"object","properties":{{"{_UNWRAP_KEY}":{word}}},'
            f'"required":["{_UNWRAP_KEY}"],"additionalProperties":false}}'
        )
        return {"type": "json_schema", "json_schema": {"name": "response", "schema": raw(schema), "strict": True}}
    if form.kind != OUTPUT_KIND_JSON_SCHEMA:
        return {"type": "text"}
    if not (writing.dialect.output_schema or writing.is_own):
        writing.notes.approximated("OUTPUT_SCHEMA", "output_format.schema_json")
        _ask_for_json(writing)
        return {"type": "json_object"}
    return {"type": "json_schema", "json_schema": _schema(form, writing)}


def _schema(form: OutputFormat, writing: Writing) -> Fields:
    if writing.is_own:
        written: Fields = {"name": form.name} if form.name else {}
    else:
        name = _ILLEGAL_NAME.sub("_", form.name)[:_MAX_NAME] or "response"
        if form.name not in ("", name):
            writing.notes.approximated("OUTPUT_SCHEMA_NAME", "output_format.name")
        written = {"name": name}
    if form.description:
        written["description"] = form.description
    if form.schema_json:
        written["schema"] = raw(_schema_text(form, writing))
    if form.HasField("strict"):
        written["strict"] = form.strict
    return written


def _schema_text(form: OutputFormat, writing: Writing) -> str:
    if writing.is_own:
        return form.schema_json
    return _converted(form, CHAT_STRICT if form.strict else PLAIN, writing)


def _converted(form: OutputFormat, profile: SchemaProfile, writing: Writing) -> str:
    path = "output_format.schema_json"
    return convert(form.schema_json, form.dialect, profile, writing.notes, code="OUTPUT_SCHEMA_KEYWORDS", path=path)


def _ask_for_json(writing: Writing) -> None:
    """JSON without a schema is refused unless the conversation holds the word."""
    if not writing.is_own:
        writing.asks_for_json = True


def _write_modalities(writing: Writing, body: Fields) -> None:
    request = writing.request
    words = []
    for index, modality in enumerate(request.output_modalities):
        word = MODALITY.say(modality)
        if writing.is_own or modality in _MODALITIES:
            words.append(word)
        else:
            writing.notes.dropped("OUTPUT_MODALITIES", f"output_modalities[{index}]")
    if words and (writing.is_own or words != ["text"]):
        body["modalities"] = words
    if not request.HasField("speech"):
        return
    speech = {name: value for name in ("voice", "format") if (value := getattr(request.speech, name))}
    if not writing.is_own:
        if "audio" not in words:
            writing.notes.dropped("SPEECH", "speech")
            return
        if "format" not in speech:
            writing.notes.injected("SPEECH", "speech.format")
            speech["format"] = "pcm16" if writing.context.stream else _SOUND_FORMAT
    body["audio"] = speech


_MODALITIES = frozenset({MODALITY_TEXT, MODALITY_AUDIO})


def write_effort(writing: Writing, body: Fields) -> str:
    """`reasoning_effort`, or what a copy has in its place; gives the effort that was written, "" for none."""
    options = writing.request.reasoning
    word = _effort(writing)
    if options.display not in (REASONING_DISPLAY_UNSPECIFIED, REASONING_DISPLAY_OMITTED) and not writing.is_own:
        writing.notes.dropped("REASONING_DISPLAY", "reasoning.display")
    dialect = writing.dialect
    if writing.is_own or not (dialect.reasoning_object or dialect.thinking_switch):
        if word and "reasoning" not in writing.spelt:
            body["reasoning_effort"] = word
    elif dialect.reasoning_object:
        _write_object(writing, body, word)
    else:
        if word and word != "none":
            body["reasoning_effort"] = word
        switch = "disabled" if word == "none" else REASONING_MODE.say(options.mode)
        if switch:
            body["thinking"] = {"type": switch}
    return word


def _effort(writing: Writing) -> str:
    """The effort to write, within the gates."""
    word = _asked_effort(writing)
    needs_none = bool(writing.request.tools) and writing.gates.tools_need_no_reasoning
    if needs_none and word != "none":
        writing.notes.approximated("REASONING_EFFORT", "reasoning.effort", "with tools this model takes no reasoning")
        return _regated(writing, "none")
    if not word:
        return ""
    if not writing.gates.takes_effort:
        writing.notes.dropped("REASONING_EFFORT", "reasoning.effort")
        return _regated(writing, "")
    allowed = writing.gates.efforts or EFFORTS
    if word in allowed or word not in EFFORTS:
        return word
    writing.notes.clamped("REASONING_EFFORT", "reasoning.effort")
    return _regated(writing, nearest_effort(word, allowed))


def _regated(writing: Writing, word: str) -> str:
    writing.gone |= {"reasoning_effort", "reasoning"}
    return word


def _asked_effort(writing: Writing) -> str:
    """The effort that the request asks for, in whichever way it does."""
    options = writing.request.reasoning
    word = word_of_effort(options.effort)
    if writing.shares_words:
        word = options.effort_raw or word
    if writing.is_own:
        return word
    is_off = options.mode == REASONING_MODE_OFF
    if options.effort and (not word or (is_off and word != "none")):
        writing.notes.dropped("REASONING_EFFORT", "reasoning.effort", "no such effort, or reasoning is switched off")
    if is_off:
        return "none"
    if not word:
        return _implied_effort(writing)
    if options.budget_tokens > 0:
        writing.notes.approximated("REASONING_BUDGET", "reasoning.budget_tokens", "the effort stands for it")
    return word


def _implied_effort(writing: Writing) -> str:
    """The effort that a mode or a budget stands for; "" for none."""
    options = writing.request.reasoning
    if options.mode == REASONING_MODE_BETWEEN_TOOLS:
        writing.notes.approximated("REASONING_MODE", "reasoning.mode")
        return "none"
    if options.HasField("budget_tokens"):
        if options.budget_tokens < 0 or writing.dialect.reasoning_object:
            return ""
        writing.notes.approximated("REASONING_BUDGET", "reasoning.budget_tokens")
        request = writing.request
        limit = request.max_output_tokens if request.HasField("max_output_tokens") else None
        return effort_of_budget(options.budget_tokens, limit)
    if options.mode == REASONING_MODE_OTHER or (options.mode == REASONING_MODE_ON and not _can_switch_on(writing)):
        writing.notes.dropped("REASONING_MODE", "reasoning.mode")
    return ""


def _can_switch_on(writing: Writing) -> bool:
    """Whether the model reasons without being told, or has a switch for it."""
    return writing.gates.is_reasoning or writing.dialect.thinking_switch or writing.dialect.reasoning_object


def _write_object(writing: Writing, body: Fields, word: str) -> None:
    """OpenRouter's `reasoning`. See https://openrouter.ai/docs/use-cases/reasoning-tokens ."""
    options = writing.request.reasoning
    fields: Fields = {"effort": word} if word else {}
    if not word and options.budget_tokens > 0:
        fields["max_tokens"] = options.budget_tokens
    elif not word and options.mode == REASONING_MODE_ON:
        fields["enabled"] = True
    if options.display == REASONING_DISPLAY_OMITTED:
        fields["exclude"] = True
    if fields:
        body["reasoning"] = fields
