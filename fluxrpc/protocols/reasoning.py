"""Efforts and budgets of reasoning, from one into the other and to what a model takes.

The ladder is none < minimal < low < medium < high < xhigh < max. A budget is a share of the limit of the answer.
Whether a model can switch its reasoning off or takes a budget at all is not decided here (`gates`).
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

from fluxrpc.protocols.gates import EFFORTS
from fluxrpc.v1.message_pb2 import (
    REASONING_EFFORT_HIGH,
    REASONING_EFFORT_LOW,
    REASONING_EFFORT_MAX,
    REASONING_EFFORT_MEDIUM,
    REASONING_EFFORT_MINIMAL,
    REASONING_EFFORT_NONE,
    REASONING_EFFORT_OTHER,
    REASONING_EFFORT_XHIGH,
    ReasoningEffort,
)

__all__ = ["budget_of_effort", "effort_of_budget", "effort_of_word", "nearest_effort", "word_of_effort"]

_BY_WORD = MappingProxyType(
    {
        "none": REASONING_EFFORT_NONE,
        "minimal": REASONING_EFFORT_MINIMAL,
        "low": REASONING_EFFORT_LOW,
        "medium": REASONING_EFFORT_MEDIUM,
        "high": REASONING_EFFORT_HIGH,
        "xhigh": REASONING_EFFORT_XHIGH,
        "max": REASONING_EFFORT_MAX,
    }
)
_WORDS = MappingProxyType({effort: word for word, effort in _BY_WORD.items()})
_RANKS = MappingProxyType({word: rank for rank, word in enumerate(EFFORTS)})
_MIDDLE = "medium"
"""What a word that is not on the ladder counts as: nothing is known of it."""
_UPWARD = frozenset({"none", "minimal"})
_CEILINGS_PERCENT = ((10, "minimal"), (25, "low"), (50, "medium"))
_SHARES_PERCENT = MappingProxyType({"minimal": 10, "low": 20, "medium": 50, "high": 80, "xhigh": 95, "max": 95})
_ASSUMED_LIMIT_TOKENS = 16_384
_MIN_BUDGET_TOKENS = 1024
"""Anthropic refuses less: https://docs.anthropic.com/en/docs/build-with-claude/extended-thinking."""


def effort_of_word(word: str) -> ReasoningEffort.ValueType:
    """The effort of a wire word in any case; REASONING_EFFORT_OTHER for one that is not known."""
    return _BY_WORD.get(word.lower(), REASONING_EFFORT_OTHER)


def word_of_effort(effort: ReasoningEffort.ValueType) -> str:
    """`none` … `max`; "" for unspecified and other."""
    return _WORDS.get(effort, "")


def nearest_effort(word: str, allowed: Sequence[str]) -> str:
    """The word itself where it is allowed; else upward from `none`/`minimal` to the lowest allowed, else downward.

    Nothing is moved down to `none`, which would switch reasoning off, unless no other effort is allowed. A word that is
    not on the ladder counts as `medium`. An empty `allowed` allows all.
    """
    if not allowed or word in allowed:
        return word
    if word not in _RANKS:
        return nearest_effort(_MIDDLE, allowed)
    rank = _RANKS[word]
    steps = sorted((each for each in allowed if each != "none"), key=lambda each: _RANKS[each])
    above = [each for each in steps if _RANKS[each] >= rank]
    below = [each for each in steps if _RANKS[each] < rank]
    if above and (word in _UPWARD or not below):
        return above[0]
    return below[-1] if below else "none"


def effort_of_budget(budget: int, max_output_tokens: int | None) -> str:
    """The effort that a budget stands for: up to 10 % of the limit minimal, 25 % low, 50 % medium, else high; 0 none.

    Without a limit, the limit is taken to be 16,384. A negative budget leaves it to the model: "".
    """
    if budget <= 0:
        return "" if budget else "none"
    limit = _ASSUMED_LIMIT_TOKENS if max_output_tokens is None else max_output_tokens
    return next((word for ceiling, word in _CEILINGS_PERCENT if budget * 100 <= ceiling * limit), "high")


def budget_of_effort(word: str, max_output_tokens: int) -> int:
    """10, 20, 50, 80, 95 % of the limit for minimal, low, medium, high, xhigh and max; at least 1024, below the limit.

    `none` is 0; a word that is not on the ladder counts as `medium`. With a limit of 1024 or less the budget is less
    than 1024: whoever refuses that cannot reason within the limit.
    """
    if word == "none":
        return 0
    share = max_output_tokens * _SHARES_PERCENT.get(word, _SHARES_PERCENT[_MIDDLE]) // 100
    return max(0, min(max(share, _MIN_BUDGET_TOKENS), max_output_tokens - 1))
