from __future__ import annotations

import pytest

from fluxrpc.protocols.gates import EFFORTS
from fluxrpc.protocols.reasoning import (
    budget_of_effort,
    effort_of_budget,
    effort_of_word,
    nearest_effort,
    word_of_effort,
)
from fluxrpc.v1.message_pb2 import (
    REASONING_EFFORT_HIGH,
    REASONING_EFFORT_OTHER,
    REASONING_EFFORT_UNSPECIFIED,
)


def test_words() -> None:
    assert [word_of_effort(effort_of_word(word)) for word in EFFORTS] == list(EFFORTS)
    assert effort_of_word("HIGH") == REASONING_EFFORT_HIGH
    assert effort_of_word("turbo") == REASONING_EFFORT_OTHER
    assert word_of_effort(REASONING_EFFORT_OTHER) == word_of_effort(REASONING_EFFORT_UNSPECIFIED) == ""


@pytest.mark.parametrize(
    ("word", "allowed", "nearest"),
    [
        ("high", ("low", "high"), "high"),
        ("turbo", (), "turbo"),
        ("none", ("low", "medium"), "low"),
        ("minimal", ("none", "low", "high"), "low"),
        ("max", ("low", "high"), "high"),
        ("max", ("low", "high", "xhigh"), "xhigh"),
        ("medium", ("low", "high"), "low"),
        ("low", ("none", "medium", "high"), "medium"),
        ("high", ("none",), "none"),
        ("turbo", ("low", "high"), "low"),
        ("turbo", ("low", "medium"), "medium"),
    ],
)
def test_the_nearest_that_is_allowed(word: str, allowed: tuple[str, ...], nearest: str) -> None:
    assert nearest_effort(word, allowed) == nearest


@pytest.mark.parametrize(
    ("budget", "limit", "word"),
    [
        (0, 100, "none"),
        (-1, 100, ""),
        (10, 100, "minimal"),
        (11, 100, "low"),
        (25, 100, "low"),
        (1024, 4000, "medium"),
        (50, 100, "medium"),
        (51, 100, "high"),
        (1, 0, "high"),
        (4096, None, "low"),
        (4097, None, "medium"),
    ],
)
def test_budgets_as_efforts(budget: int, limit: int | None, word: str) -> None:
    assert effort_of_budget(budget, limit) == word


@pytest.mark.parametrize(
    ("word", "limit", "budget"),
    [
        ("none", 20_000, 0),
        ("minimal", 20_000, 2000),
        ("low", 20_000, 4000),
        ("medium", 20_000, 10_000),
        ("high", 20_000, 16_000),
        ("xhigh", 20_000, 19_000),
        ("max", 20_000, 19_000),
        ("turbo", 20_000, 10_000),
        ("minimal", 4000, 1024),
        ("max", 1024, 1023),
        ("low", 500, 499),
        ("low", 0, 0),
    ],
)
def test_efforts_as_budgets(word: str, limit: int, budget: int) -> None:
    assert budget_of_effort(word, limit) == budget
