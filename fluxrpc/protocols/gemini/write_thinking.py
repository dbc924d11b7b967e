"""How hard to think: a level or a budget, never both (that is a 400), as the model takes them."""

from __future__ import annotations

from typing import Any

from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.context import Context
from fluxrpc.protocols.gemini.wire import LEVELS
from fluxrpc.protocols.notes import Notes
from fluxrpc.protocols.reasoning import budget_of_effort, effort_of_budget, nearest_effort, word_of_effort
from fluxrpc.v1 import message_pb2 as msg
from fluxrpc.v1.message_pb2 import MessageRequest, ReasoningOptions

__all__ = ["is_off", "write_thinking"]

_LOWEST_BUDGET = 128
"""The least that a model takes whose thinking cannot be switched off (2.5 Pro)."""
_USUAL_LIMIT = 16_384
"""Tokens of an answer, where the caller sets no limit: what a share of it is taken of."""
_OFF_MODES = frozenset({msg.REASONING_MODE_OFF, msg.REASONING_MODE_BETWEEN_TOOLS})
_ON_MODES = frozenset({msg.REASONING_MODE_ON, msg.REASONING_MODE_ADAPTIVE})
_SHOWN = {
    msg.REASONING_DISPLAY_OMITTED: False,
    msg.REASONING_DISPLAY_SUMMARY: True,
    msg.REASONING_DISPLAY_CONCISE_SUMMARY: True,
    msg.REASONING_DISPLAY_DETAILED_SUMMARY: True,
    msg.REASONING_DISPLAY_FULL: True,
}
_WISHES = (
    ("mode", "REASONING_MODE"),
    ("effort", "REASONING_EFFORT"),
    ("budget_tokens", "REASONING_BUDGET"),
    ("display", "REASONING_DISPLAY"),
)
_NO_EFFORTS = frozenset({msg.REASONING_EFFORT_UNSPECIFIED, msg.REASONING_EFFORT_NONE})
_EXACT_DISPLAYS = frozenset({
    msg.REASONING_DISPLAY_UNSPECIFIED, msg.REASONING_DISPLAY_OMITTED, msg.REASONING_DISPLAY_SUMMARY,
})  # fmt: skip


def is_off(reasoning: ReasoningOptions) -> bool:
    """Whether no reasoning is asked for."""
    has_no_budget = reasoning.HasField("budget_tokens") and reasoning.budget_tokens == 0
    return reasoning.mode in _OFF_MODES or reasoning.effort == msg.REASONING_EFFORT_NONE or has_no_budget


def write_thinking(request: MessageRequest, context: Context, notes: Notes) -> dict[str, Any]:
    """`thinkingConfig`; empty where nothing is said."""
    reasoning = request.reasoning
    own = context.caller is Protocol.GEMINI
    thinking: dict[str, Any] = {}
    if not (context.target.gates.takes_level or context.target.gates.takes_budget):
        _note_unable(reasoning, notes)
        return thinking
    _note_mode(reasoning, notes)
    if is_off(reasoning):
        thinking = _written_off(context, notes)
    elif reasoning.effort:
        thinking = _written_effort(request, context, notes, own=own)
    elif reasoning.HasField("budget_tokens") or reasoning.mode in _ON_MODES:
        thinking = _written_budget(request, context, notes)
    shows = _SHOWN.get(reasoning.display)
    if shows is None and reasoning.mode == msg.REASONING_MODE_ON and not own:
        shows = True  # who asks for thinking by name sees it elsewhere
    if shows is not None:
        thinking["includeThoughts"] = shows
    if reasoning.display not in _EXACT_DISPLAYS:
        notes.approximated("REASONING_DISPLAY", "reasoning.display")
    return thinking


def _note_mode(reasoning: ReasoningOptions, notes: Notes) -> None:
    """Modes that Gemini does not know, and what they leave no room for."""
    if reasoning.mode == msg.REASONING_MODE_OTHER:
        notes.dropped("REASONING_MODE", "reasoning.mode", "the mode is not known")
    if reasoning.mode in _OFF_MODES and reasoning.effort not in _NO_EFFORTS:
        notes.dropped("REASONING_EFFORT", "reasoning.effort", "reasoning is switched off")
    if reasoning.mode == msg.REASONING_MODE_BETWEEN_TOOLS:
        notes.approximated("REASONING_MODE", "reasoning.mode")


def _note_unable(reasoning: ReasoningOptions, notes: Notes) -> None:
    """The model does not think."""
    if is_off(reasoning):
        return
    for name, code in _WISHES:
        if any(field.name == name for field, _ in reasoning.ListFields()):
            notes.dropped(code, f"reasoning.{name}", "this model does not think")


def _written_off(context: Context, notes: Notes) -> dict[str, Any]:
    gates = context.target.gates
    if gates.can_switch_reasoning_off and gates.takes_budget:
        return {"thinkingBudget": 0}
    notes.approximated("REASONING_MODE", "reasoning.mode", "the model always thinks: as little as it can")
    if gates.takes_level:
        return {"thinkingLevel": nearest_effort("minimal", gates.efforts or LEVELS).upper()}
    return {"thinkingBudget": _LOWEST_BUDGET}


def _written_effort(request: MessageRequest, context: Context, notes: Notes, *, own: bool) -> dict[str, Any]:
    reasoning, gates = request.reasoning, context.target.gates
    word = word_of_effort(reasoning.effort)
    if not word:
        if own:
            return {"thinkingLevel": reasoning.effort_raw}
        notes.dropped("REASONING_EFFORT", "reasoning.effort")
        return {}
    if not gates.takes_level:
        if reasoning.HasField("budget_tokens"):
            notes.approximated("REASONING_EFFORT", "reasoning.effort", "the budget stands for it")
            return {"thinkingBudget": reasoning.budget_tokens}
        notes.approximated("REASONING_EFFORT", "reasoning.effort")
        limit = request.max_output_tokens if request.HasField("max_output_tokens") else _USUAL_LIMIT
        return {"thinkingBudget": budget_of_effort(word, limit)}
    if reasoning.HasField("budget_tokens"):
        notes.dropped("REASONING_BUDGET", "reasoning.budget_tokens", "a level and a budget together are refused")
    level = nearest_effort(word, gates.efforts or LEVELS)
    if level != word:
        notes.clamped("REASONING_EFFORT", "reasoning.effort")
    return {"thinkingLevel": level.upper()}


def _written_budget(request: MessageRequest, context: Context, notes: Notes) -> dict[str, Any]:
    """A budget, or the wish that the model decides."""
    reasoning, gates = request.reasoning, context.target.gates
    budget = reasoning.budget_tokens if reasoning.HasField("budget_tokens") else -1
    if gates.takes_budget:
        return {"thinkingBudget": budget}
    if budget < 0:
        return {}  # which is what such models do anyhow
    notes.approximated("REASONING_BUDGET", "reasoning.budget_tokens")
    limit = request.max_output_tokens if request.HasField("max_output_tokens") else None
    level = nearest_effort(effort_of_budget(budget, limit), gates.efforts or LEVELS)
    return {"thinkingLevel": level.upper()}
