from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.gates import (
    EFFORTS,
    Gates,
    ModelCapabilities,
    data_date,
    gate_rows,
    gates_of,
    known_rows,
    model_capabilities,
    model_names,
    overridden,
)

SAMPLING = {"temperature", "top_p", "top_k"}
FIELDS = SAMPLING | {
    "presence_penalty",
    "frequency_penalty",
    "choice_count",
    "stop_sequences",
    "logprobs",
    "seed",
    "safety_mode_off",
    "cache_breakpoint",
}
"""What the writers ask about."""


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("claude-opus-4-7", "claude-opus-4-7"),
        ("claude-opus-4-7-20260416", "claude-opus-4-7"),
        ("claude-opus-4-7@20260416", "claude-opus-4-7"),
        ("Anthropic/Claude-Opus-4.7", "claude-opus-4-7"),
        ("anthropic/claude-3.7-sonnet:thinking", "claude-3-7-sonnet"),
        ("us.anthropic.claude-opus-4-7-20260416-v1:0", "claude-opus-4-7"),
        ("arn:aws:bedrock:eu-west-1:1:inference-profile/eu.anthropic.claude-opus-4-7-v1:0", "claude-opus-4-7"),
        ("publishers/anthropic/models/claude-opus-4-7@default", "claude-opus-4-7"),
        ("claude-3-5-sonnet-v2@20241022", "claude-3-5-sonnet"),
        ("claude-opus-4-20250514", "claude-opus-4"),
        ("gpt-5-2025-08-07", "gpt-5"),
        ("gpt-5.2-2025-12-11", "gpt-5.2"),
        ("openai/gpt-5.6-luna", "gpt-5.6-luna"),
        ("gpt-4-1106-preview", "gpt-4"),
        ("models/gemini-3-pro-preview", "gemini-3-pro"),
        ("gemini-2.5-flash-preview-09-2025", "gemini-2.5-flash"),
        ("gemini-2.0-flash-001", "gemini-2.0-flash"),
        ("command-a-reasoning-08-2025", "command-a-reasoning"),
        ("cohere.command-r-plus-v1:0", "command-r-plus"),
        ("deepseek/deepseek-chat:free", "deepseek-chat"),
    ],
)
def test_families(model: str, family: str) -> None:
    assert model_names(model)[-1] == family
    assert model_names(model)[0] == model.lower()


# protocol, model, gates that differ from none
GATES: list[tuple[Protocol, str, dict[str, Any]]] = [
    (Protocol.ANTHROPIC, "m-test", {}),
    (Protocol.OPENAI, "m-test", {}),
    # Claude
    (
        Protocol.ANTHROPIC,
        "claude-3-5-haiku-20241022",
        {"takes_budget": False, "takes_adaptive": False, "takes_effort": False},
    ),
    (Protocol.ANTHROPIC, "claude-3-7-sonnet-latest", {"takes_adaptive": False, "takes_effort": False}),
    (
        Protocol.ANTHROPIC,
        "claude-opus-4-20250514",
        {"takes_adaptive": False, "takes_effort": False, "one_of_temperature_and_top_p": True},
    ),
    (
        Protocol.ANTHROPIC,
        "claude-haiku-4-5-20251001",
        {"takes_adaptive": False, "takes_effort": False, "one_of_temperature_and_top_p": True},
    ),
    (
        Protocol.ANTHROPIC,
        "claude-opus-4-5",
        {"takes_adaptive": False, "efforts": ("low", "medium", "high"), "one_of_temperature_and_top_p": True},
    ),
    (
        Protocol.ANTHROPIC,
        "claude-sonnet-4-6",
        {"prefill": False, "efforts": ("low", "medium", "high", "max"), "one_of_temperature_and_top_p": True},
    ),
    (
        Protocol.ANTHROPIC,
        "anthropic/claude-opus-4.7",
        {"prefill": False, "refused": SAMPLING, "takes_budget": False, "one_of_temperature_and_top_p": True},
    ),
    (
        Protocol.ANTHROPIC,
        "eu.anthropic.claude-opus-4-8-20260601-v1:0",
        {
            "prefill": False,
            "refused": SAMPLING,
            "takes_budget": False,
            "late_system": True,
            "one_of_temperature_and_top_p": True,
        },
    ),
    (
        Protocol.ANTHROPIC,
        "claude-opus-5",
        {"prefill": False, "refused": SAMPLING, "takes_budget": False, "late_system": True},
    ),
    (
        Protocol.ANTHROPIC,
        "claude-sonnet-5-20260801",
        {"prefill": False, "refused": SAMPLING, "takes_budget": False},
    ),
    (
        Protocol.ANTHROPIC,
        "claude-opus-5-5@20261001",
        {
            "prefill": False,
            "refused": SAMPLING,
            "takes_budget": False,
            "late_system": True,
            "can_switch_reasoning_off": False,
            "is_reasoning": True,
            "forced_tool_choice": False,
        },
    ),
    (
        Protocol.ANTHROPIC,
        "claude-sonnet-5-5",
        {
            "prefill": False,
            "refused": SAMPLING,
            "takes_budget": False,
            "late_system": True,
            "between_tools": True,
            "is_reasoning": True,
            "forced_tool_choice": False,
        },
    ),
    (
        Protocol.ANTHROPIC,
        "claude-haiku-5-5",
        {"prefill": False, "refused": SAMPLING, "takes_budget": False, "late_system": True},
    ),
    (
        Protocol.ANTHROPIC,
        "claude-fable-5-20260701",
        {
            "prefill": False,
            "refused": SAMPLING,
            "takes_budget": False,
            "late_system": True,
            "can_switch_reasoning_off": False,
            "is_reasoning": True,
        },
    ),
    (
        Protocol.ANTHROPIC,
        "claude-fable-5-1",
        {
            "prefill": False,
            "refused": SAMPLING,
            "takes_budget": False,
            "late_system": True,
            "can_switch_reasoning_off": False,
            "is_reasoning": True,
            "forced_tool_choice": False,
        },
    ),
    (
        Protocol.ANTHROPIC,
        "claude-mythos-5",
        {
            "prefill": False,
            "refused": SAMPLING,
            "takes_budget": False,
            "late_system": True,
            "can_switch_reasoning_off": False,
            "is_reasoning": True,
        },
    ),
    # OpenAI
    (
        Protocol.OPENAI,
        "gpt-4.1-2025-04-14",
        {"prefill": False, "takes_effort": False, "refused": {"cache_breakpoint"}},
    ),
    (
        Protocol.OPENAI,
        "gpt-5-chat-latest",
        {"prefill": False, "takes_effort": False, "refused": {"cache_breakpoint"}},
    ),
    (
        Protocol.OPENAI,
        "o4-mini",
        {
            "prefill": False,
            "is_reasoning": True,
            "refused_while_reasoning": {
                "temperature",
                "top_p",
                "logprobs",
                "presence_penalty",
                "frequency_penalty",
            },
            "refused": {"stop_sequences", "cache_breakpoint"},
            "can_switch_reasoning_off": False,
            "efforts": ("low", "medium", "high"),
        },
    ),
]


@pytest.mark.parametrize(("protocol", "model", "expected"), GATES)
def test_gates(protocol: Protocol, model: str, expected: dict[str, Any]) -> None:
    usual = msgspec.structs.asdict(Gates())
    found = msgspec.structs.asdict(gates_of(protocol, model))
    assert {name: value for name, value in found.items() if value != usual[name]} == expected


# protocol, model, some of its gates
SOME: list[tuple[Protocol, str, dict[str, Any]]] = [
    (Protocol.OPENAI, "gpt-5", {"efforts": ("minimal", "low", "medium", "high"), "can_switch_reasoning_off": False}),
    (Protocol.OPENAI, "gpt-5.1", {"efforts": ("none", "low", "medium", "high"), "can_switch_reasoning_off": True}),
    (Protocol.OPENAI, "gpt-5.1-codex-max", {"efforts": ()}),
    (Protocol.OPENAI, "gpt-5.6-terra", {"refused": {"stop_sequences"}, "tools_need_no_reasoning": False}),
    (Protocol.OPENAI, "gpt-5.6-luna", {"tools_need_no_reasoning": True}),
    (Protocol.OPENAI, "gpt-6-sol", {"tools_need_no_reasoning": True, "takes_tools": True}),
    (Protocol.OPENAI, "gpt-6-luna", {"tools_need_no_reasoning": True}),
    (Protocol.OPENAI, "gpt-6-astra", {"takes_tools": False, "can_switch_reasoning_off": False}),
    (Protocol.OPENAI, "gpt-6.1-sol", {"takes_tools": False, "can_switch_reasoning_off": False}),
    (Protocol.OPENAI, "gpt-6.1-terra", {"takes_tools": True, "can_switch_reasoning_off": True}),
    (Protocol.OPENAI, "gpt-6.2-sol", {"efforts": ("low", "medium", "high", "xhigh"), "takes_tools": True}),
    (Protocol.RESPONSES, "gpt-6.2-sol", {"efforts": EFFORTS[1:], "refused": set()}),
    (Protocol.RESPONSES, "gpt-6-astra", {"takes_tools": True}),
    (Protocol.RESPONSES, "gpt-5-mini", {"refused": {"cache_breakpoint"}}),
    (Protocol.OPENAI, "deepseek-chat", {"max_tokens_field": "max_tokens", "ignored": set()}),
    (
        Protocol.OPENAI,
        "deepseek/deepseek-r1:free",
        {"ignored": {"temperature", "top_p", "presence_penalty", "frequency_penalty"}},
    ),
    (Protocol.OPENAI, "anthropic/claude-opus-4.7", {"refused": set(), "takes_budget": True}),
    (Protocol.GEMINI, "gemini-2.0-flash-001", {"takes_budget": False, "takes_level": False, "result_media": False}),
    (
        Protocol.GEMINI,
        "gemini-2.5-flash",
        {"takes_level": False, "takes_budget": True, "can_switch_reasoning_off": True, "needs_signatures": False},
    ),
    (Protocol.GEMINI, "gemini-2.5-pro", {"can_switch_reasoning_off": False, "result_media": False}),
    (
        Protocol.GEMINI,
        "models/gemini-3-pro-preview",
        {
            "takes_budget": False,
            "takes_level": True,
            "needs_signatures": True,
            "refused": {"choice_count"},
            "ignored": set(),
            "efforts": ("low", "medium", "high"),
            "prefill": True,
            "result_media": True,
        },
    ),
    (Protocol.GEMINI, "gemini-3-flash", {"efforts": ("minimal", "low", "medium", "high")}),
    (
        Protocol.GEMINI,
        "gemini-4-argon",
        {
            "takes_budget": False,
            "refused": {"choice_count", "presence_penalty", "frequency_penalty"},
            "ignored": SAMPLING,
            "efforts": ("low", "medium", "high"),
            "prefill": False,
        },
    ),
    (Protocol.COHERE, "command-r-08-2024", {"refused": set(), "takes_budget": False, "is_reasoning": False}),
    (Protocol.COHERE, "command-r7b-12-2024", {"refused": {"safety_mode_off"}}),
    (Protocol.COHERE, "command-a-03-2025", {"refused": {"safety_mode_off"}, "takes_budget": False}),
    (
        Protocol.COHERE,
        "command-a-reasoning-08-2025",
        {"refused": {"safety_mode_off"}, "takes_budget": True, "is_reasoning": True},
    ),
    (Protocol.COHERE, "command-a-plus-05-2026", {"refused": {"safety_mode_off"}, "is_reasoning": True}),
]


@pytest.mark.parametrize(("protocol", "model", "expected"), SOME)
def test_some_gates(protocol: Protocol, model: str, expected: dict[str, Any]) -> None:
    found = gates_of(protocol, model)
    assert {name: getattr(found, name) for name in expected} == expected


def test_a_version_of_the_protocol_has_gates_of_its_own() -> None:
    assert gates_of(Protocol.ANTHROPIC, "claude-haiku-4-5", "2026-10-21").refused == SAMPLING
    assert gates_of(Protocol.ANTHROPIC, "claude-haiku-4-5", "2023-06-01").refused == set()
    assert "2026-10-21" in gate_rows(Protocol.ANTHROPIC, "m", "2026-10-21")[0].name


# model, capabilities that are known, over all protocols that have the model
CAPABILITIES: list[tuple[Protocol, str, dict[str, Any]]] = [
    (Protocol.OPENAI, "m-test", {}),
    (
        Protocol.ANTHROPIC,
        "claude-2.1",
        {
            "vision": False,
            "audio": False,
            "documents": False,
            "tools": False,
            "json_schema": False,
            "reasoning": False,
            "prefill": True,
            "context_tokens": 100000,
        },
    ),
    (
        Protocol.OPENAI,
        "anthropic/claude-haiku-4.5",
        {
            "vision": True,
            "audio": False,
            "documents": True,
            "tools": True,
            "json_schema": True,
            "reasoning": True,
            "prefill": True,
            "context_tokens": 200000,
        },
    ),
    (
        Protocol.OPENAI,
        "gpt-4-0613",
        {
            "vision": False,
            "audio": False,
            "documents": False,
            "tools": True,
            "json_schema": False,
            "reasoning": False,
            "prefill": False,
        },
    ),
    (
        Protocol.RESPONSES,
        "gpt-5.6-sol",
        {
            "vision": True,
            "audio": False,
            "documents": True,
            "tools": True,
            "json_schema": True,
            "reasoning": True,
            "prefill": False,
        },
    ),
    (
        Protocol.GEMINI,
        "gemini-4-neon",
        {
            "vision": True,
            "audio": True,
            "documents": True,
            "tools": True,
            "json_schema": True,
            "reasoning": True,
            "prefill": False,
            "context_tokens": 1048576,
        },
    ),
    (
        Protocol.COHERE,
        "command-a-03-2025",
        {
            "vision": False,
            "audio": False,
            "tools": True,
            "json_schema": True,
            "reasoning": False,
            "prefill": False,
            "context_tokens": 256000,
        },
    ),
    (
        Protocol.OPENAI,
        "deepseek-reasoner",
        {
            "vision": False,
            "audio": False,
            "documents": False,
            "tools": True,
            "json_schema": False,
            "reasoning": True,
            "context_tokens": 128000,
        },
    ),
]


@pytest.mark.parametrize(("protocol", "model", "expected"), CAPABILITIES)
def test_capabilities(protocol: Protocol, model: str, expected: dict[str, Any]) -> None:
    found = msgspec.structs.asdict(model_capabilities(protocol, model))
    assert {name: value for name, value in found.items() if value is not None} == expected


@pytest.mark.parametrize(
    ("model", "capability", "value"),
    [
        ("claude-3-opus-20240229", "vision", True),
        ("claude-opus-4-1", "json_schema", True),
        ("claude-opus-4-20250514", "json_schema", False),
        ("claude-opus-4-6", "prefill", False),
        ("gpt-4o-2024-05-13", "json_schema", False),
        ("gpt-4o-2024-08-06", "json_schema", True),
        ("gpt-4-turbo-2024-04-09", "vision", True),
        ("gpt-4o-audio-preview", "audio", True),
        ("gpt-4.1-mini", "context_tokens", 1047576),
        ("chatgpt-4o-latest", "tools", False),
        ("o1-2024-12-17", "tools", True),
        ("o1-preview-2024-09-12", "tools", False),
        ("o3-mini", "vision", False),
        ("o3", "vision", True),
        ("gpt-5-chat-latest", "reasoning", False),
        ("gemini-1.5-pro-002", "context_tokens", 2097152),
        ("gemini-2.0-flash", "reasoning", False),
        ("gemma-3-27b-it", "tools", False),
        ("command-a-vision-07-2025", "vision", True),
        ("c4ai-aya-vision-8b", "vision", True),
        ("mistral-large-latest", "tools", True),
    ],
)
def test_single_capabilities(model: str, capability: str, value: object) -> None:
    assert getattr(model_capabilities(Protocol.OPENAI, model), capability) == value


def test_gpt_6_has_tools_in_responses_only() -> None:
    assert model_capabilities(Protocol.OPENAI, "gpt-6-astra").tools is False
    assert model_capabilities(Protocol.RESPONSES, "gpt-6-astra").tools is True


def test_the_data_names_nothing_that_nobody_asks_for() -> None:
    assert data_date() == "2026-11-30"
    names: set[str] = set()
    for row in known_rows():
        assert row.name not in names, "names are unique"
        names.add(row.name)
        assert row.source
        assert set(row.gates) <= set(Gates.__struct_fields__)
        assert set(row.capabilities) <= set(ModelCapabilities.__struct_fields__)
        for field in ("refused", "refused_while_reasoning", "ignored"):
            assert set(row.gates.get(field, ())) <= FIELDS
        efforts = row.gates.get("efforts", [])
        assert efforts == [effort for effort in EFFORTS if effort in efforts], "in the order of the ladder"
        assert row.gates or row.capabilities
        assert all(pattern == pattern.lower() for pattern in (*row.models, *row.except_models))


def test_a_configuration_replaces_single_gates() -> None:
    gates = gates_of(Protocol.GEMINI, "gemini-4-argon")
    changed = overridden(gates, {"ignored": [], "prefill": True, "efforts": ["low"]})
    assert (changed.ignored, changed.prefill, changed.efforts) == (frozenset(), True, ("low",))
    assert changed.refused == gates.refused
    assert overridden(gates, {}) == gates
    for wrong in ({"colour": 1}, {"prefill": "yes"}):
        with pytest.raises(msgspec.ValidationError):
            overridden(gates, wrong)
