"""How a model of Cohere is to reason: on or off, with or without a budget. It knows no efforts."""

from __future__ import annotations

from typing import Any, Final

from fluxrpc.protocols.base import Protocol
from fluxrpc.protocols.cohere.words import REASONING_MODES
from fluxrpc.protocols.context import Context
from fluxrpc.protocols.gates import Gates
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
    gates = context.target.gates
    if is_off(options):
        return _off(options, gates, notes)
    if options.mode and (options.mode not in _ON or not _reasons(gates)):
        notes.dropped("REASONING_MODE", "reasoning.mode")
    if _reasons(gates):
        return _on(request, gates, notes)
    if options.budget_tokens:
        notes.dropped("REASONING_BUDGET", "reasoning.budget_tokens")
    if options.effort:
        notes.dropped("REASONING_EFFORT", "reasoning.effort")
    return None


def _as_it_is(options: ReasoningOptions) -> dict[str, Any] | None:
    fields: dict[str, Any] = {}
    word = options.mode_raw or REASONING_MODES.written(options.mode)
    if word:
        fields["type"] = word
    if options.HasField("budget_tokens"):
        fields["token_budget"] = options.budget_tokens
    return fields or None


def _reasons(gates: Gates) -> bool:
    return gates.is_reasoning or gates.takes_budget


def _off(options: ReasoningOptions, gates: Gates, notes: Notes) -> dict[str, Any] | None:
    """A model that may not reason anyway is told so only by callers that speak of more than an effort."""
    if not _reasons(gates):
        return None
    if not gates.can_switch_reasoning_off:
        notes.dropped("REASONING_MODE", "reasoning")
        return None
    is_told = bool(options.mode) or options.HasField("budget_tokens")
    return {"type": "disabled"} if is_told or gates.is_reasoning else None


def _on(request: MessageRequest, gates: Gates, notes: Notes) -> dict[str, Any] | None:
    """A budget of the caller's, or one that stands for the effort where the length of the answer is known."""
    options = request.reasoning
    fields: dict[str, Any] = {"type": "enabled"}
    is_on = options.mode in _ON or options.budget_tokens != 0
    budget = max(0, options.budget_tokens)
    if options.effort != REASONING_EFFORT_UNSPECIFIED:
        if budget or not (is_on or gates.is_reasoning):
            notes.dropped("REASONING_EFFORT", "reasoning.effort")
        else:
            notes.approximated("REASONING_EFFORT", "reasoning.effort")
            is_on = True
            if gates.takes_budget and request.HasField("max_output_tokens"):
                budget = max(1, budget_of_effort(word_of_effort(options.effort), request.max_output_tokens))
    if budget and gates.takes_budget:
        fields["token_budget"] = budget
    elif budget:
        notes.dropped("REASONING_BUDGET", "reasoning.budget_tokens")
    return fields if is_on else None
