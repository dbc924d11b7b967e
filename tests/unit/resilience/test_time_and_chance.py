from __future__ import annotations

import ast
from pathlib import Path

import pytest

import fluxrpc.resilience
from fluxrpc.resilience.deadline import Deadline
from fluxrpc.resilience.ewma import Ewma
from fluxrpc.resilience.retry import BackoffSettings, backoff_seconds


@pytest.mark.parametrize(
    ("number", "longest"), [(1, 0.1), (2, 0.2), (3, 0.4), (6, 3.2), (7, 5.0), (100, 5.0), (10_000, 5.0)]
)
def test_back_off_is_drawn_from_an_interval_that_doubles_up_to_its_end(number: int, longest: float) -> None:
    settings = BackoffSettings()
    assert backoff_seconds(number, lambda: 0.0, settings) == 0.0
    assert backoff_seconds(number, lambda: 0.5, settings) == pytest.approx(longest / 2)


def test_back_off_follows_its_settings() -> None:
    assert backoff_seconds(3, lambda: 0.5, BackoffSettings(base_seconds=1.0, max_seconds=3.0)) == 1.5


def test_a_deadline_keeps_its_margins() -> None:
    deadline = Deadline(ends_at=102.0)
    assert deadline.answer_by == pytest.approx(101.95)
    assert (deadline.admits_attempt(101.75), deadline.admits_attempt(101.76)) == (True, False)


def test_the_average_starts_at_the_first_sample_and_follows_by_a_tenth() -> None:
    average = Ewma()
    seen = [average.value]
    for sample in (2.0, 3.0):
        average.add(sample)
        seen.append(average.value)
    assert seen == [None, 2.0, pytest.approx(2.1)]


def test_nothing_here_has_time_chance_or_io_of_its_own() -> None:
    forbidden = {"asyncio", "time", "random", "logging", "grpc", "httpx", "secrets", "threading"}
    for path in Path(fluxrpc.resilience.__file__).parent.glob("*.py"):
        imported = {
            name.split(".")[0]
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Import | ast.ImportFrom)
            for name in ([alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""])
        }
        assert not imported & forbidden, path.name
