"""How other callers ask for reasoning, and what each kind of model is told."""

from __future__ import annotations

from typing import Any

import pytest

from fluxrpc.ir.build import assistant, tool_result, user
from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.gates import Gates
from fluxrpc.v1 import message_pb2 as msg
from fluxrpc.v1 import part_pb2 as pb
from fluxrpc.v1 import tool_pb2 as tl
from fluxrpc.v1.message_pb2 import MessageRequest, ReasoningOptions, Tool
from fluxrpc.v1.part_pb2 import Part
from fluxrpc.v1.protocol_pb2 import PROTOCOL_ANTHROPIC, OpaqueState
from tests.unit.protocols.anthropic.saying import HI, settings_of, write, write_as_it_is

OPENAI = Protocol.OPENAI

HAIKU = Gates(takes_effort=False, takes_adaptive=False)
"""A number of tokens is all it takes."""
OPUS = Gates(takes_budget=False)
SONNET_5_5 = Gates(takes_budget=False, between_tools=True, is_reasoning=True)
OPUS_5_5 = Gates(takes_budget=False, can_switch_reasoning_off=False, is_reasoning=True)
MUTE = Gates(takes_effort=False, takes_adaptive=False, takes_budget=False)

EFFORT = "reasoning.effort"
ADAPTIVE = {"thinking": {"type": "adaptive"}}


def effort(word: str) -> dict[str, Any]:
    return {"output_config": {"effort": word}}


def enabled(budget: int) -> dict[str, Any]:
    return {"thinking": {"type": "enabled", "budget_tokens": budget}}


def asks(**fields: Any) -> ReasoningOptions:
    return ReasoningOptions(**fields)


def tries(word: str) -> ReasoningOptions:
    return ReasoningOptions(effort=msg.ReasoningEffort.Value(f"REASONING_EFFORT_{word}"))


BUDGETED = [f"approximated REASONING_EFFORT {EFFORT}"]
OTHER_MODE = asks(mode=msg.REASONING_MODE_OTHER, mode_raw="x")
BETWEEN = asks(mode=msg.REASONING_MODE_BETWEEN_TOOLS)
MODE = "approximated REASONING_MODE reasoning.mode"
SHOWN = msg.REASONING_DISPLAY_SUMMARY

REASONING: list[tuple[ReasoningOptions, Gates, int | None, dict[str, Any], list[str]]] = [
    (tries("NONE"), HAIKU, 8000, {"thinking": {"type": "disabled"}}, []),
    (asks(mode=msg.REASONING_MODE_OFF), SONNET_5_5, 8000, {"thinking": {"type": "between_tools"}}, [MODE]),
    (tries("NONE"), OPUS, 8000, {"thinking": {"type": "disabled"}}, []),
    (
        tries("NONE"),
        SONNET_5_5,
        8000,
        {"thinking": {"type": "between_tools"}},
        [f"approximated REASONING_MODE {EFFORT}"],
    ),
    (tries("NONE"), OPUS_5_5, 8000, effort("low"), [f"approximated REASONING_MODE {EFFORT}"]),
    (tries("MINIMAL"), HAIKU, 8000, enabled(1024), BUDGETED),
    (tries("MINIMAL"), OPUS, 8000, ADAPTIVE | effort("low"), [f"clamped REASONING_EFFORT {EFFORT}"]),
    (tries("MINIMAL"), OPUS_5_5, 8000, effort("low"), [f"clamped REASONING_EFFORT {EFFORT}"]),
    (tries("MEDIUM"), HAIKU, 8000, enabled(4000), BUDGETED),
    (tries("MEDIUM"), OPUS, 8000, ADAPTIVE | effort("medium"), []),
    (tries("MEDIUM"), SONNET_5_5, 8000, effort("medium"), []),
    (tries("MAX"), HAIKU, 8000, enabled(7600), BUDGETED),
    (tries("HIGH"), HAIKU, 1024, {}, [f"dropped REASONING_EFFORT {EFFORT}"]),
    (tries("HIGH"), MUTE, 8000, {}, [f"dropped REASONING_EFFORT {EFFORT}"]),
    (asks(effort=msg.REASONING_EFFORT_OTHER, effort_raw="x"), OPUS, 8000, {}, [f"dropped REASONING_EFFORT {EFFORT}"]),
    (asks(mode=msg.REASONING_MODE_OFF), OPUS_5_5, 8000, effort("low"), [MODE]),
    (asks(budget_tokens=0), OPUS_5_5, 8000, effort("low"), ["approximated REASONING_MODE reasoning.budget_tokens"]),
    (asks(budget_tokens=2000), HAIKU, 8000, enabled(2000), []),
    (asks(budget_tokens=10), HAIKU, 8000, enabled(1024), ["clamped REASONING_BUDGET reasoning.budget_tokens"]),
    (asks(budget_tokens=9000), HAIKU, 8000, enabled(7999), ["clamped REASONING_BUDGET reasoning.budget_tokens"]),
    (asks(budget_tokens=2000), HAIKU, 900, {}, ["dropped REASONING_BUDGET reasoning.budget_tokens"]),
    (
        asks(budget_tokens=2000),
        OPUS,
        8000,
        ADAPTIVE | effort("low"),
        ["approximated REASONING_BUDGET reasoning.budget_tokens"],
    ),
    (
        asks(budget_tokens=2000),
        Gates(takes_budget=False, takes_adaptive=False),
        8000,
        effort("low"),
        ["approximated REASONING_BUDGET reasoning.budget_tokens"],
    ),
    (asks(budget_tokens=-1), OPUS, 8000, ADAPTIVE, []),
    (asks(mode=msg.REASONING_MODE_ADAPTIVE), HAIKU, 8000, enabled(4000), [MODE]),
    (asks(mode=msg.REASONING_MODE_ADAPTIVE), HAIKU, 1000, {}, [MODE, "dropped REASONING_MODE reasoning.mode"]),
    (asks(mode=msg.REASONING_MODE_ON), HAIKU, 8000, enabled(4000), []),
    (asks(mode=msg.REASONING_MODE_ON), OPUS, 8000, ADAPTIVE, []),
    (BETWEEN, SONNET_5_5, 8000, {"thinking": {"type": "between_tools"}}, []),
    (BETWEEN, OPUS, 8000, {"thinking": {"type": "disabled"}}, [MODE]),
    (OTHER_MODE, OPUS, 8000, {}, ["dropped REASONING_MODE reasoning.mode"]),
    (asks(display=SHOWN), OPUS, 8000, {"thinking": {"type": "adaptive", "display": "summarized"}}, []),
    (asks(display=SHOWN), HAIKU, 8000, {}, ["dropped REASONING_DISPLAY reasoning.display"]),
    (
        asks(mode=msg.REASONING_MODE_OFF, display=SHOWN),
        OPUS,
        8000,
        {"thinking": {"type": "disabled"}},
        ["dropped REASONING_DISPLAY reasoning.display"],
    ),
    (
        asks(mode=msg.REASONING_MODE_ADAPTIVE, display=msg.REASONING_DISPLAY_FULL),
        OPUS,
        8000,
        {"thinking": {"type": "adaptive", "display": "summarized"}},
        ["approximated REASONING_DISPLAY reasoning.display"],
    ),
    (
        tries("MEDIUM"),
        HAIKU,
        None,
        enabled(2048),
        ["injected MAX_OUTPUT_TOKENS max_output_tokens", *BUDGETED],
    ),
    (
        asks(budget_tokens=9000),
        HAIKU,
        None,
        enabled(9000),
        ["injected MAX_OUTPUT_TOKENS max_output_tokens"],
    ),
]


@pytest.mark.parametrize(("options", "gates", "limit", "expected", "notes"), REASONING)
def test_reasoning(
    options: ReasoningOptions, gates: Gates, limit: int | None, expected: dict[str, Any], notes: list[str]
) -> None:
    request = MessageRequest(messages=[HI], reasoning=options)
    if limit is not None:
        request.max_output_tokens = limit
    written = write_as_it_is(request, caller=OPENAI, gates=gates)
    assert settings_of(written) == expected
    assert written.notes == notes
    if limit is None:
        assert written.body["max_tokens"] == 4096 + expected["thinking"]["budget_tokens"]


def loop(*parts: Part) -> list[msg.Message]:
    call = Part(tool_call=pb.ToolCall(id="c", name="f"))
    return [user("?"), assistant([*parts, call]), tool_result("c", "x"), msg.Message(role=msg.ROLE_SYSTEM, text="s")]


def test_no_thinking_of_a_fixed_budget_in_the_middle_of_unsigned_tool_calls() -> None:
    written = write(MessageRequest(messages=loop(), reasoning=tries("HIGH")), gates=HAIKU)
    assert "thinking" not in written.body
    assert f"dropped REASONING_EFFORT {EFFORT}" in written.notes


def test_thinking_goes_on_after_signed_tool_calls() -> None:
    signed = Part(reasoning=pb.Reasoning(), opaque=[OpaqueState(origin=PROTOCOL_ANTHROPIC, value=b"s")])
    written = write(MessageRequest(messages=loop(signed), reasoning=tries("HIGH")), gates=HAIKU)
    assert written.body["thinking"]["type"] == "enabled"


def test_results_without_their_turn_do_not_matter() -> None:
    request = MessageRequest(messages=[tool_result("c", "x")], reasoning=tries("HIGH"))
    assert write(request, gates=HAIKU).body["thinking"]["type"] == "enabled"


def test_no_force_while_thinking_on_a_fixed_budget() -> None:
    request = MessageRequest(
        tools=[Tool(function=tl.FunctionTool(name="f"))],
        tool_choice=tl.ToolChoice(mode=tl.TOOL_CHOICE_MODE_REQUIRED),
        reasoning=tries("HIGH"),
    )
    written = write(request, gates=HAIKU)
    assert written.body["tool_choice"] == {"type": "auto"}
    assert "emulated TOOL_CHOICE tool_choice.mode" in written.notes
