"""How a model of Cohere is to reason: on or off, with or without a budget. It knows no efforts."""

from __future__ import annotations

from typing import Any, Final

from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.cohere.words import REASONING_MODES
from fluxrpc.protocols.context import Context
from fluxrpc.protocols.notes import Notes
from fluxrpc.protocols.reasoning import budget_of_effort, word_of_effort
from fluxrpc.v1.message_pb2 import (
    REASONING_DISPLAY_FULL,
    REASONING_DISPLAY_UNSPECIFIED,
    REASONING_EFFORT_NONE,
    REASONING_EFFORT_UNSPECIFIED,
    REASONING_MODE_ADAPTIVE,
    REASONING_MODE_BETWEEN_TOOLS,
    REASONING_MODE_OFF,
    REASONING_MODE_ON,
    REASONING_MODE_UNSPECIFIED,
    MessageRequest,
    ReasoningOptions,
)

__all__ = ["is_off", "written_thinking"]

_OFF: Final = frozenset({REASONING_MODE_OFF, REASONING_MODE_BETWEEN_TOOLS})
_ON: Final = frozenset({REASONING_MODE_ON, REASONING_MODE_ADAPTIVE})
_INEXACT: Final = frozenset({REASONING_MODE_BETWEEN_TOOLS, REASONING_MODE_ADAPTIVE})
_SHOWN: Final = frozenset({REASONING_DISPLAY_UNSPECIFIED, REASONING_DISPLAY_FULL})


def is_off(options: ReasoningOptions) -> bool:
    """Whether the request wants no reasoning."""
    if options.mode:
        return options.mode in _OFF
    return options.effort == REASONING_EFFORT_NONE or (options.HasField("budget_tokens") and not options.budget_tokens)


def written_thinking(request: MessageRequest, context: Context, notes: Notes) -> dict[str, Any] | None:
    """`thinking`; None where nothing is asked for."""
    options = request.reasoning
    if context.caller is Protocol.COHERE:
        return _as_it_is(options)
    if options.display not in _SHOWN:
        notes.dropped("REASONING_DISPLAY", "reasoning.display")
    if options.mode in _INEXACT:
        notes.approximated("REASONING_MODE", "reasoning.mode")
    if is_off(options):
        return _off(options, context, notes)
    if options.mode not in _ON and options.mode != REASONING_MODE_UNSPECIFIED:
        notes.dropped("REASONING_MODE", "reasoning.mode")
    is_on = options.mode in _ON or options.budget_tokens != 0
    return _on(request, context, notes, is_on=is_on)


def _as_it_is(options: ReasoningOptions) -> dict[str, Any] | None:
    fields: dict[str, Any] = {}
    word = options.mode_raw or REASONING_MODES.written(options.mode)
    if word:
        fields["type"] = word
    if options.HasField("budget_tokens"):
        fields["token_budget"] = options.budget_tokens
    return fields or None


def _off(options: ReasoningOptions, context: Context, notes: Notes) -> dict[str, Any] | None:
    """A model that does not reason anyway is not told so, unless the caller speaks of it."""
    gates = context.target.gates
    if not gates.can_switch_reasoning_off:
        notes.dropped("REASONING_MODE", "reasoning")
        return None
    is_told = bool(options.mode) or options.HasField("budget_tokens")
    return {"type": "disabled"} if is_told or gates.is_reasoning else None


def _on(request: MessageRequest, context: Context, notes: Notes, *, is_on: bool) -> dict[str, Any] | None:
    options, gates = request.reasoning, context.target.gates
    fields: dict[str, Any] = {"type": "enabled"}
    if options.budget_tokens > 0:
        if gates.takes_budget:
            fields["token_budget"] = options.budget_tokens
        else:
            notes.dropped("REASONING_BUDGET", "reasoning.budget_tokens")
    if options.effort == REASONING_EFFORT_UNSPECIFIED:
        return fields if is_on else None
    if options.budget_tokens > 0 or not (is_on or gates.is_reasoning):
        notes.dropped("REASONING_EFFORT", "reasoning.effort")
        return fields if is_on else None
    if gates.takes_budget and request.HasField("max_output_tokens"):
        budget = budget_of_effort(word_of_effort(options.effort), request.max_output_tokens)
        fields["token_budget"] = max(1, budget)
    notes.approximated("REASONING_EFFORT", "reasoning.effort")
    return fields
