"""Efforts and budgets of reasoning, from one into the other and to what a model takes.

The ladder is none < minimal < low < medium < high < xhigh < max. A budget is a share of the limit of the answer.
"""

from __future__ import annotations

from collections.abc import Sequence

from fluxrpc.v1.message_pb2 import ReasoningEffort

__all__ = ["budget_of_effort", "effort_of_budget", "effort_of_word", "nearest_effort", "word_of_effort"]


def effort_of_word(word: str) -> ReasoningEffort.ValueType:
    """The effort of a wire word in any case; REASONING_EFFORT_OTHER for one that is not known."""
    raise NotImplementedError


def word_of_effort(effort: ReasoningEffort.ValueType) -> str:
    """`none` … `max`; "" for unspecified and other."""
    raise NotImplementedError


def nearest_effort(word: str, allowed: Sequence[str]) -> str:
    """The word itself where it is allowed; else upward from `none`/`minimal` to the lowest allowed, else downward."""
    raise NotImplementedError


def effort_of_budget(budget: int, max_output_tokens: int | None) -> str:
    """The effort that a budget stands for: up to 10 % of the limit minimal, 25 % low, 50 % medium, else high; 0 none.

    Without a limit, the limit is taken to be 16,384.
    """
    raise NotImplementedError


def budget_of_effort(word: str, max_output_tokens: int) -> int:
    """10, 20, 50, 80, 95 % of the limit for minimal, low, medium, high, xhigh and max; at least 1024, below the limit."""
    raise NotImplementedError
