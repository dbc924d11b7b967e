"""Settings of other callers as `generationConfig`, under the gates of models."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.protocols.gemini.gemini_ways import asked, context_of, write


def _config(request: dict[str, Any], **options: Any) -> tuple[dict[str, Any], set[str]]:
    body, notes = asked(request, **options)
    return body.get("generationConfig", {}), notes


KNOBS: dict[str, tuple[dict[str, Any], dict[str, Any], set[str]]] = {
    "as they are": (
        {"temperature": 0, "topP": 1, "topK": 40, "maxOutputTokens": 9, "choiceCount": 2, "presencePenalty": -2,
         "frequencyPenalty": 2, "seed": 5, "logprobs": True, "topLogprobs": 20},
        {"temperature": 0, "topP": 1, "topK": 40, "maxOutputTokens": 9, "candidateCount": 2, "presencePenalty": -2,
         "frequencyPenalty": 2, "seed": 5, "responseLogprobs": True, "logprobs": 20},
        set(),
    ),
    "beyond": (
        {"temperature": 2.5, "presencePenalty": -3, "topLogprobs": 21}, {"temperature": 2.0, "presencePenalty": -2.0,
            "logprobs": 20},
        {"CLAMPED TEMPERATURE temperature", "CLAMPED PRESENCE_PENALTY presence_penalty",
            "CLAMPED TOP_LOGPROBS top_logprobs"},
    ),
    "long seed": ({"seed": 2**32 + 7}, {"seed": 7}, {"APPROXIMATED SEED seed"}),
    "negative seed": ({"seed": -3}, {"seed": -3}, set()),
    "text": ({"outputFormat": {"kind": "OUTPUT_KIND_TEXT"}}, {"responseMimeType": "text/plain"}, set()),
    "schema": (
        {"outputFormat": {"kind": "OUTPUT_KIND_JSON_SCHEMA", "name": "n", "description": "d", "strict": True,
            "schemaJson": '{"type":"object","not":{}}'}},
        {"responseMimeType": "application/json", "responseJsonSchema": {"type": "object"}},
        {"DROPPED OUTPUT_SCHEMA_NAME output_format.name", "DROPPED OUTPUT_SCHEMA_NAME output_format.description",
         "DROPPED OUTPUT_SCHEMA_STRICT output_format.strict",
             "DROPPED OUTPUT_SCHEMA_KEYWORDS output_format.schema_json.not"},
    ),
    "modalities": (
        {"outputModalities": ["MODALITY_AUDIO", "MODALITY_OTHER"], "speech": {"voice": "K", "format": "wav"}},
        {"responseModalities": ["AUDIO"], "speechConfig": {"voiceConfig": {"prebuiltVoiceConfig": {"voiceName": "K"}}}},
        {"DROPPED OUTPUT_MODALITIES output_modalities", "DROPPED SPEECH speech.format"},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("request_", "expected", "noted"), KNOBS.values(), ids=KNOBS)
def test_settings(request_: dict[str, Any], expected: dict[str, Any], noted: set[str]) -> None:
    config, notes = _config(request_)
    assert config == expected
    assert notes == noted


@pytest.mark.parametrize("gate", ["refused", "ignored", "refused_while_reasoning"])
def test_gates(gate: str) -> None:
    asked_for = {"temperature": 1, "topK": 3, "choiceCount": 2, "logprobs": True}
    gates = {gate: frozenset({"temperature", "choice_count", "logprobs"})}
    config, notes = _config(asked_for, **gates)
    assert config == {"topK": 3}
    assert notes == {
        "DROPPED TEMPERATURE temperature",
        "DROPPED CHOICE_COUNT choice_count",
        "DROPPED LOGPROBS logprobs",
    }
    config, notes = _config({"choiceCount": 1}, **gates)
    assert (config, notes) == ({}, set())


def test_gates_of_reasoning_open_without_it() -> None:
    gates = {"refused_while_reasoning": frozenset({"temperature"})}
    config, notes = _config({"temperature": 1, "reasoning": {"effort": "REASONING_EFFORT_NONE"}}, **gates)
    assert config == {"temperature": 1, "thinkingConfig": {"thinkingBudget": 0}}
    assert notes == set()


@pytest.mark.parametrize(("count", "gates", "written", "kept"), [
    (5, {}, 5, 0), (7, {}, 5, 2), (1, {"refused": frozenset({"stop_sequences"})}, 0, 1),
])  # fmt: skip
def test_stop_sequences(count: int, gates: dict[str, Any], written: int, kept: int) -> None:
    context = context_of({"stopSequences": list("abcdefg"[:count])}, **gates)
    body, notes = write(context)
    assert len(body.get("generationConfig", {}).get("stopSequences", [])) == written
    assert len(context.stops) == kept
    assert notes == ({"EMULATED STOP_SEQUENCES stop_sequences"} if kept else set())


LEVEL = {"takes_budget": False, "can_switch_reasoning_off": False}
BUDGET = {"takes_level": False}
NONE = {"takes_level": False, "takes_budget": False}
EFFORT = {"effort": "REASONING_EFFORT_HIGH"}
THINKING: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any], set[str]]] = {
    "level": (EFFORT, {}, {"thinkingLevel": "HIGH"}, set()),
    "nearest level": (
        {"effort": "REASONING_EFFORT_MINIMAL"}, {**LEVEL, "efforts": ("low", "high")}, {"thinkingLevel": "LOW"},
        {"CLAMPED REASONING_EFFORT reasoning.effort"},
    ),
    "level and budget": (
        {**EFFORT, "budgetTokens": 9}, {}, {"thinkingLevel": "HIGH"},
            {"DROPPED REASONING_BUDGET reasoning.budget_tokens"},
    ),
    "effort as budget": (EFFORT, BUDGET, {"thinkingBudget": 3200}, {"APPROXIMATED REASONING_EFFORT reasoning.effort"}),
    "effort beside its budget": ({**EFFORT, "budgetTokens": 9}, BUDGET, {"thinkingBudget": 9},
        {"APPROXIMATED REASONING_EFFORT reasoning.effort"}),
    "unknown effort": ({"effort": "REASONING_EFFORT_OTHER", "effortRaw": "x"}, {}, {},
        {"DROPPED REASONING_EFFORT reasoning.effort"}),
    "budget": ({"mode": "REASONING_MODE_ON", "budgetTokens": 1024}, {}, {"thinkingBudget": 1024,
        "includeThoughts": True}, set()),
    "budget as level": (
        {"budgetTokens": 1024}, LEVEL, {"thinkingLevel": "MEDIUM"},
            {"APPROXIMATED REASONING_BUDGET reasoning.budget_tokens"},
    ),
    "adaptive": ({"mode": "REASONING_MODE_ADAPTIVE"}, BUDGET, {"thinkingBudget": -1}, set()),
    "adaptive without budgets": ({"mode": "REASONING_MODE_ADAPTIVE"}, LEVEL, {}, set()),
    "off": ({"mode": "REASONING_MODE_OFF"}, BUDGET, {"thinkingBudget": 0}, set()),
    "no budget": ({"budgetTokens": 0}, BUDGET, {"thinkingBudget": 0}, set()),
    "never off, by level": (
        {"effort": "REASONING_EFFORT_NONE"}, LEVEL, {"thinkingLevel": "MINIMAL"},
            {"APPROXIMATED REASONING_MODE reasoning.mode"},
    ),
    "never off, by budget": (
        {"mode": "REASONING_MODE_OFF"}, {**BUDGET, "can_switch_reasoning_off": False}, {"thinkingBudget": 128},
        {"APPROXIMATED REASONING_MODE reasoning.mode"},
    ),
    "between tools": (
        {"mode": "REASONING_MODE_BETWEEN_TOOLS"}, BUDGET, {"thinkingBudget": 0},
            {"APPROXIMATED REASONING_MODE reasoning.mode"},
    ),
    "hidden": ({"display": "REASONING_DISPLAY_OMITTED"}, {}, {"includeThoughts": False}, set()),
    "in full": (
        {"display": "REASONING_DISPLAY_FULL"}, {}, {"includeThoughts": True},
            {"APPROXIMATED REASONING_DISPLAY reasoning.display"},
    ),
    "no thinking": (
        {"mode": "REASONING_MODE_ON", "effort": "REASONING_EFFORT_LOW", "budgetTokens": 9,
            "display": "REASONING_DISPLAY_SUMMARY"}, NONE, {},
        {"DROPPED REASONING_MODE reasoning.mode", "DROPPED REASONING_EFFORT reasoning.effort",
         "DROPPED REASONING_BUDGET reasoning.budget_tokens", "DROPPED REASONING_DISPLAY reasoning.display"},
    ),
    "no thinking, one wish": (EFFORT, NONE, {}, {"DROPPED REASONING_EFFORT reasoning.effort"}),
    "no thinking, as asked": ({"mode": "REASONING_MODE_OFF"}, NONE, {}, set()),
}  # fmt: skip


@pytest.mark.parametrize(("reasoning", "gates", "expected", "noted"), THINKING.values(), ids=THINKING)
def test_thinking(reasoning: dict[str, Any], gates: dict[str, Any], expected: dict[str, Any], noted: set[str]) -> None:
    config, notes = _config({"reasoning": reasoning, "maxOutputTokens": 4000}, **gates)
    assert config.get("thinkingConfig", {}) == expected
    assert notes == noted


def test_budgets_without_a_limit() -> None:
    config, _ = _config({"reasoning": EFFORT}, **BUDGET)
    assert config["thinkingConfig"] == {"thinkingBudget": 13107}
    config, _ = _config({"reasoning": {"budgetTokens": 1024}}, **LEVEL)
    assert config["thinkingConfig"] == {"thinkingLevel": "MINIMAL"}
